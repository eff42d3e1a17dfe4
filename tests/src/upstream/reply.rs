//! How answers are put together: heads, whole bodies, and bodies that take their time or break off.

use std::{collections::VecDeque, error::Error, io, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use serde_json::Value;

use super::connection::Control;

pub(super) type BoxError = Box<dyn Error + Send + Sync>;
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;
/// An answer, or an error that ends the connection (HTTP/1.1) or the stream (HTTP/2) without one.
pub(super) type Answer = Result<Response<Body>, BoxError>;

/// An answer under construction.
#[derive(Debug)]
pub(super) struct Reply(Response<Body>);

impl Reply {
    pub(super) fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::with_body(status, Full::new(body.into()).map_err(|never| match never {}).boxed_unsync())
    }

    pub(super) fn text(body: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, body).header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
    }

    /// Compact JSON.
    pub(super) fn json(status: StatusCode, body: &Value) -> Self {
        Self::new(status, body.to_string()).header(header::CONTENT_TYPE, "application/json")
    }

    pub(super) fn not_found(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("the stand-in has nothing at {path}"))
    }

    /// A body that goes by a script.
    pub(super) fn script(script: Script, control: &Control) -> Self {
        Self::with_body(StatusCode::OK, script.into_body(control.clone()))
    }

    /// An event stream with a few milliseconds between its events.
    pub(super) fn events(events: impl IntoIterator<Item = String>, control: &Control) -> Self {
        Self::script(Script::events(events, EVENT_GAP), control)
            .header(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")
            .header(header::CACHE_CONTROL, "no-cache")
    }

    pub(super) fn with_body(status: StatusCode, body: Body) -> Self {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Self(response)
    }

    /// Adds a header; a name that is there already gets a second value.
    pub(super) fn header(mut self, name: HeaderName, value: impl AsRef<str>) -> Self {
        let value = HeaderValue::from_str(value.as_ref()).expect("a header value of the stand-in");
        self.0.headers_mut().append(name, value);
        self
    }

    pub(super) fn named(self, name: &'static str, value: impl AsRef<str>) -> Self {
        self.header(HeaderName::from_static(name), value)
    }

    pub(super) fn answer(self) -> Answer {
        Ok(self.0)
    }
}

/// What happens on the wire after the head, step by step.
#[derive(Debug, Default)]
pub(super) struct Script(VecDeque<Step>);

#[derive(Debug)]
enum Step {
    Wait(Duration),
    Data(Bytes),
    Trailers(HeaderMap),
    Close,
    Reset,
    Stall,
}

impl Script {
    pub(super) fn events(events: impl IntoIterator<Item = String>, gap: Duration) -> Self {
        events.into_iter().fold(Self::default(), |script, event| script.data(event).wait(gap))
    }

    pub(super) fn data(self, data: impl Into<Bytes>) -> Self {
        self.then(Step::Data(data.into()))
    }

    pub(super) fn wait(self, time: Duration) -> Self {
        self.then(Step::Wait(time))
    }

    pub(super) fn trailers(self, trailers: HeaderMap) -> Self {
        self.then(Step::Trailers(trailers))
    }

    /// Ends the connection with a FIN although the body is not complete.
    pub(super) fn close(self) -> Self {
        self.wait(BEFORE_BREAK).then(Step::Close)
    }

    /// Ends the connection with a RST.
    pub(super) fn reset(self) -> Self {
        self.wait(BEFORE_BREAK).then(Step::Reset)
    }

    /// Sends nothing more and never ends.
    pub(super) fn stall(self) -> Self {
        self.then(Step::Stall)
    }

    fn then(mut self, step: Step) -> Self {
        self.0.push_back(step);
        self
    }

    fn into_body(self, control: Control) -> Body {
        let steps = stream::unfold((self.0, control), async |(mut steps, control)| {
            loop {
                let frame = match steps.pop_front()? {
                    Step::Wait(time) => {
                        tokio::time::sleep(time).await;
                        continue;
                    }
                    Step::Stall => std::future::pending().await,
                    Step::Data(data) => Ok(Frame::data(data)),
                    Step::Trailers(trailers) => Ok(Frame::trailers(trailers)),
                    Step::Close => {
                        control.close();
                        Err(broken())
                    }
                    Step::Reset => {
                        control.reset();
                        Err(broken())
                    }
                };
                return Some((frame, (steps, control)));
            }
        });
        StreamBody::new(steps.boxed()).boxed_unsync()
    }
}

/// The error of a body or service that breaks off on purpose.
pub(super) fn broken() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

const EVENT_GAP: Duration = Duration::from_millis(4);
/// hyper drops what it has buffered if the error comes at once; the bytes must be on the wire first.
const BEFORE_BREAK: Duration = Duration::from_millis(50);
