//! `api.openai.com`: chat completions and responses, whole and streamed, and the list of models.

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
        (&Method::GET, "/v1/models") => Reply::json(StatusCode::OK, &models(fresh)),
        (&Method::POST, "/v1/chat/completions") => chat(&asked.json(), fresh, control),
        (&Method::POST, "/v1/responses") => responses(&asked.json(), fresh, control),
        (_, path) => {
            let error = json!({"message": format!("Unknown request URL: {path}"), "type": "invalid_request_error", "param": null, "code": "unknown_url"});
            Reply::json(StatusCode::NOT_FOUND, &json!({ "error": error }))
        }
    };
    with_account_headers(reply, fresh).answer()
}

fn chat(request: &Value, fresh: &Fresh, control: &Control) -> Reply {
    let last =
        &request["messages"][request["messages"].as_array().map_or(0, |all| all.len().saturating_sub(1))];
    let wants_tool = request.get("tools").is_some() && last["role"] != "tool";
    let head = json!({
        "id": fresh.id("chatcmpl-", 29),
        "object": "chat.completion",
        "created": fresh.epoch(),
        "model": request["model"],
        "system_fingerprint": fresh.hex("fp_", 10),
    });
    if request["stream"] == true {
        return Reply::events(chat_events(head, &spoken(last, fresh)), control);
    }
    let (message, finish) = if wants_tool {
        (
            json!({"role": "assistant", "content": null, "tool_calls": [tool_call(request, fresh)]}),
            "tool_calls",
        )
    } else {
        (json!({"role": "assistant", "content": spoken(last, fresh), "refusal": null}), "stop")
    };
    let mut body = head;
    body["choices"] = json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}]);
    body["usage"] = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
    Reply::json(StatusCode::OK, &body)
}

fn chat_events(mut head: Value, text: &str) -> Vec<String> {
    head["object"] = "chat.completion.chunk".into();
    let chunk = |delta: Value, finish: Value| {
        let mut chunk = head.clone();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        format!("data: {chunk}\n\n")
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(text.split_inclusive(' ').map(|word| chunk(json!({ "content": word }), Value::Null)));
    events.push(chunk(json!({}), "stop".into()));
    events.push("data: [DONE]\n\n".into());
    events
}

fn tool_call(request: &Value, fresh: &Fresh) -> Value {
    let name = &request["tools"][0]["function"]["name"];
    let arguments = json!({ "city": fresh.word() }).to_string();
    json!({"id": fresh.id("call_", 24), "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn responses(request: &Value, fresh: &Fresh, control: &Control) -> Reply {
    let text = format!("pong {} to {}", fresh.word(), request["input"]);
    let message = json!({
        "id": fresh.hex("msg_", 48), "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "annotations": [], "text": text}],
    });
    let mut response = json!({
        "id": fresh.hex("resp_", 48), "object": "response", "created_at": fresh.epoch(), "status": "completed",
        "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "model": request["model"],
        "output": [message], "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [],
        "top_p": 1.0,
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
                  "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 14},
    });
    if request["stream"] != true {
        return Reply::json(StatusCode::OK, &response);
    }
    let completed = json!({"type": "response.completed", "response": response});
    response["status"] = "in_progress".into();
    response["output"] = json!([]);
    let mut events = vec![json!({"type": "response.created", "response": response})];
    events.extend(text.split_inclusive(' ').map(|word| {
        json!({"type": "response.output_text.delta", "item_id": message["id"], "output_index": 0, "content_index": 0, "delta": word, "logprobs": []})
    }));
    events.push(json!({"type": "response.output_text.done", "item_id": message["id"], "output_index": 0, "content_index": 0, "text": text, "logprobs": []}));
    events.push(completed);
    let framed = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    });
    Reply::events(framed.collect::<Vec<_>>(), control)
}

fn models(fresh: &Fresh) -> Value {
    let model =
        |id: String| json!({"id": id, "object": "model", "created": fresh.epoch(), "owned_by": "system"});
    json!({"object": "list", "data": [model("gpt-4o-mini".into()), model(format!("gpt-{}", fresh.word()))]})
}

/// What the model says: a fresh word, and what it was asked, so that a mix-up of replies shows.
fn spoken(last: &Value, fresh: &Fresh) -> String {
    let asked = last["content"].as_str().unwrap_or("nothing");
    format!("pong {} to {asked}", fresh.word())
}

fn with_account_headers(reply: Reply, fresh: &Fresh) -> Reply {
    let (request_id, organization) = (fresh.hex("req_", 32), fresh.id("org-", 24));
    let session = fresh.id("__cf_bm=", 43);
    reply
        .named("x-request-id", request_id)
        .named("openai-organization", organization)
        .named("openai-processing-ms", "137")
        .named("openai-version", "2020-10-01")
        .named("x-ratelimit-limit-requests", "10000")
        .named("x-ratelimit-remaining-requests", fresh.remaining(10000).to_string())
        .named("x-ratelimit-reset-requests", "8.64s")
        .named("set-cookie", format!("{session}; path=/; HttpOnly; Secure; SameSite=None"))
}
