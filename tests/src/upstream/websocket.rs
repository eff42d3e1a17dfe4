//! The WebSocket at `/ws`: greets first, echoes, pushes when told to, and says goodbye.

use futures_util::{SinkExt, StreamExt};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Incoming, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, frame::coding::CloseCode},
    },
};

use super::{
    Fresh,
    reply::{Answer, Reply},
};

/// Accepts the upgrade and talks on a task of its own.
pub(super) fn accept(mut request: Request<Incoming>, fresh: &Fresh) -> Answer {
    let Some(key) = request.headers().get(header::SEC_WEBSOCKET_KEY) else {
        return Reply::new(StatusCode::UPGRADE_REQUIRED, "a WebSocket is spoken here")
            .header(header::UPGRADE, "websocket")
            .answer();
    };
    let accept_key = derive_accept_key(key.as_bytes());
    let greeting = format!("hello {}", fresh.word());
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(&mut request).await {
            let io = TokioIo::new(upgraded);
            let socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
            // The client's to notice: it may leave at any time.
            let _ = converse(socket, greeting).await;
        }
    });
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, header::HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept_key.parse()?);
    Ok(response)
}

/// `push N` gets N messages unasked, `bye` a close with a reason, anything else comes back.
async fn converse(
    mut socket: WebSocketStream<TokioIo<Upgraded>>,
    greeting: String,
) -> Result<(), tungstenite::Error> {
    socket.send(Message::text(greeting)).await?;
    while let Some(message) = socket.next().await {
        match message? {
            Message::Text(text) if text.as_str() == "bye" => {
                let frame = CloseFrame { code: CloseCode::Normal, reason: "goodbye".into() };
                return socket.close(Some(frame)).await;
            }
            Message::Text(text) => {
                match text.strip_prefix("push ").and_then(|count| count.parse::<u32>().ok()) {
                    Some(count) => {
                        for number in 1..=count {
                            socket.send(Message::text(format!("pushed {number}"))).await?;
                        }
                    }
                    None => socket.send(Message::text(format!("echo {text}"))).await?,
                }
            }
            Message::Binary(data) => socket.send(Message::binary(data)).await?,
            _ => {}
        }
    }
    Ok(())
}
