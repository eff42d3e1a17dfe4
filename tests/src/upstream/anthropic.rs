//! `api.anthropic.com`: messages, whole and streamed with named events, with a tool if one is offered.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Fresh,
    connection::Control,
    reply::{Answer, Reply},
    routes::Asked,
};

pub(super) fn answer(asked: &Asked, fresh: &Fresh, control: &Control) -> Answer {
    let reply = match (asked.method(), asked.path()) {
        (&Method::POST, "/v1/messages") => messages(&asked.json(), fresh, control),
        (_, path) => {
            let error = json!({"type": "not_found_error", "message": format!("no such path: {path}")});
            Reply::json(StatusCode::NOT_FOUND, &json!({"type": "error", "error": error}))
        }
    };
    let (request_id, organization) = (fresh.id("req_01", 22), fresh.uuid());
    reply
        .named("request-id", request_id)
        .named("anthropic-organization-id", organization)
        .named("anthropic-ratelimit-requests-limit", "4000")
        .named("anthropic-ratelimit-requests-remaining", fresh.remaining(4000).to_string())
        .named("anthropic-ratelimit-requests-reset", fresh.iso_time())
        .answer()
}

fn messages(request: &Value, fresh: &Fresh, control: &Control) -> Reply {
    let turns = request["messages"].as_array().map_or(0, Vec::len);
    let last = &request["messages"][turns.saturating_sub(1)]["content"];
    let wants_tool = request.get("tools").is_some() && turns == 1;
    let mut message = json!({
        "id": fresh.id("msg_01", 22), "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1},
    });
    let asked = last.as_str().map_or_else(|| "a tool result".to_owned(), ToOwned::to_owned);
    let text = format!("pong {} to {asked}", fresh.word());
    if request["stream"] == true {
        return Reply::events(events(&message, &text), control);
    }
    if wants_tool {
        let input = json!({ "city": fresh.word() });
        message["content"] = json!([{"type": "tool_use", "id": fresh.id("toolu_01", 22), "name": request["tools"][0]["name"], "input": input}]);
        message["stop_reason"] = "tool_use".into();
    } else {
        message["content"] = json!([{"type": "text", "text": text}]);
        message["stop_reason"] = "end_turn".into();
    }
    message["usage"]["output_tokens"] = 8.into();
    Reply::json(StatusCode::OK, &message)
}

fn events(message: &Value, text: &str) -> Vec<String> {
    let event =
        |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    let mut events = vec![
        event(json!({"type": "message_start", "message": message})),
        event(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        event(json!({"type": "ping"})),
    ];
    events.extend(text.split_inclusive(' ').map(|word| {
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}),
        )
    }));
    events.extend([
        event(json!({"type": "content_block_stop", "index": 0})),
        event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 8}})),
        event(json!({"type": "message_stop"})),
    ]);
    events
}
