//! `generativelanguage.googleapis.com`: content generation, whole (indented, as Google sends it) and as
//! a stream (with CRLF, as Google sends it).

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Fresh,
    connection::Control,
    reply::{Answer, Reply},
    routes::Asked,
};

pub(super) fn answer(asked: &Asked, fresh: &Fresh, control: &Control) -> Answer {
    let generation = asked.path().split_once("/models/").and_then(|(_, rest)| rest.split_once(':'));
    let Some((model, verb)) = generation.filter(|_| asked.method() == Method::POST) else {
        let error = json!({"code": 404, "message": "Not found.", "status": "NOT_FOUND"});
        return indented(StatusCode::NOT_FOUND, &json!({ "error": error })).answer();
    };
    let request = asked.json();
    let question = request["contents"][0]["parts"][0]["text"].as_str().unwrap_or("nothing").to_owned();
    let text = format!("pong {} to {question}", fresh.word());
    let response_id = fresh.id("", 22);
    let part = |text: &str, finish: Option<&str>| {
        let mut candidate = json!({"content": {"parts": [{"text": text}], "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = finish.into();
        }
        json!({
            "candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 6, "totalTokenCount": 10},
            "modelVersion": model,
            "responseId": response_id,
        })
    };
    let reply = match verb {
        "generateContent" => indented(StatusCode::OK, &part(&text, Some("STOP"))),
        "streamGenerateContent" => {
            let words: Vec<&str> = text.split_inclusive(' ').collect();
            let last = words.len() - 1;
            let parts = words.iter().enumerate().map(|(i, word)| part(word, (i == last).then_some("STOP")));
            if asked.parameter("alt") == Some("sse") {
                Reply::events(parts.map(|part| format!("data: {part}\r\n\r\n")).collect::<Vec<_>>(), control)
            } else {
                indented(StatusCode::OK, &parts.collect())
            }
        }
        _ => Reply::not_found(asked.path()),
    };
    reply
        .named("server-timing", "gfet4t7; dur=412")
        .named("vary", "Origin")
        .named("x-frame-options", "SAMEORIGIN")
        .answer()
}

fn indented(status: StatusCode, body: &Value) -> Reply {
    let text = format!("{body:#}\n");
    Reply::new(status, text).named("content-type", "application/json; charset=UTF-8")
}
