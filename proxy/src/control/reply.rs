//! Answers of the control API: JSON, and one shape for everything that goes wrong.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::opener::{Refusal, RefusalKind};

#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    /// Boxed, so that an answer is no burden as the error of a result.
    body: Box<Value>,
    more: Option<(HeaderName, String)>,
}

impl Answer {
    pub(super) fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body: Box::new(body), more: None }
    }

    pub(super) fn created(body: Value) -> Self {
        Self { status: StatusCode::CREATED, ..Self::ok(body) }
    }

    pub(super) fn error(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, ..Self::ok(json!({"error": {"message": message.into()}})) }
    }

    /// Says what to do about an error.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.body["error"]["help"] = Value::String(help.into());
        self
    }

    pub(super) fn header(self, name: HeaderName, value: impl Into<String>) -> Self {
        Self { more: Some((name, value.into())), ..self }
    }

    #[cfg(test)]
    pub(super) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(format!("{}\n", self.body))));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some((name, value)) = self.more
            && let Ok(value) = HeaderValue::try_from(value)
        {
            headers.insert(name, value);
        }
        response
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.kind {
            RefusalKind::Bad | RefusalKind::Denied => StatusCode::BAD_REQUEST,
            RefusalKind::Missing => StatusCode::NOT_FOUND,
            RefusalKind::Conflict => StatusCode::CONFLICT,
            RefusalKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let answer = Self::error(status, refusal.message);
        match refusal.help {
            Some(help) => answer.help(help),
            None => answer,
        }
    }
}
