//! Which host answers what. Reads the request, enters it in the log, and hands it to the module of its
//! host; the answers themselves are made there.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Version, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use super::{
    FAULTS_HOST, Fresh, Seen, Wire, anthropic,
    connection::Control,
    faults::Faults,
    gemini,
    git::Git,
    github::GitHub,
    openai,
    reply::{Answer, Reply},
    seen::SeenLog,
};

/// All that the upstream answers, and the log of what it was asked.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) log: SeenLog,
    pub(super) fresh: Arc<Fresh>,
    pub(super) git: Git,
    github: GitHub,
    faults: Faults,
}

impl Routes {
    pub(super) fn new(git_folder: PathBuf, fresh: Fresh) -> Self {
        let fresh = Arc::new(fresh);
        Self {
            log: SeenLog::default(),
            git: Git::new(git_folder, &fresh),
            github: GitHub::new(Arc::clone(&fresh)),
            faults: Faults::default(),
            fresh,
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, wire: Wire, control: Control) -> Answer {
        let mut response = self.route(request, wire, control).await?;
        // hyper's own would be the same for a second, and so hide what a changing one does.
        let date = self.fresh.http_date().parse().expect("a date is a header value");
        response.headers_mut().insert(header::DATE, date);
        Ok(response)
    }

    async fn route(&self, request: Request<Incoming>, wire: Wire, control: Control) -> Answer {
        let seen = seen(&request, wire);
        let host = seen.host.clone();
        let entry = self.log.enter(seen);
        if host == FAULTS_HOST && Faults::reads_the_body_itself(request.uri().path()) {
            return Faults::answer_unread(request, &self.fresh).await;
        }

        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        self.log.set_body(entry, body.clone());
        let asked = Asked::new(head, body);
        match host.as_str() {
            "api.openai.com" => openai::answer(&asked, &self.fresh, &control),
            "api.anthropic.com" => anthropic::answer(&asked, &self.fresh, &control),
            "generativelanguage.googleapis.com" => gemini::answer(&asked, &self.fresh, &control),
            "api.github.com" => self.github.answer(&asked),
            "github.com" => self.git.answer(&asked).await,
            FAULTS_HOST => self.faults.answer(&asked, &self.fresh, &control).await,
            _ => Reply::not_found(&format!("{host}{}", asked.path())).answer(),
        }
    }
}

/// A request whose body was read.
#[derive(Debug)]
pub(super) struct Asked {
    head: Parts,
    pub(super) body: Bytes,
}

impl Asked {
    fn new(head: Parts, body: Bytes) -> Self {
        Self { head, body }
    }

    pub(super) fn method(&self) -> &Method {
        &self.head.method
    }

    pub(super) fn is_http1(&self) -> bool {
        self.head.version < Version::HTTP_2
    }

    pub(super) fn path(&self) -> &str {
        self.head.uri.path()
    }

    pub(super) fn query(&self) -> &str {
        self.head.uri.query().unwrap_or_default()
    }

    /// A query parameter, as it is spelled in the URL.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        parameter(self.query(), name)
    }

    /// A query parameter that is a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.parameter(name)?.parse().ok()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON; null if it is not.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A parameter of a query string, as it is spelled there.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn seen<B>(request: &Request<B>, wire: Wire) -> Seen {
    // HTTP/2 names the host in the URI, HTTP/1.1 in a header.
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let host = authority.or_else(|| request.headers().get("host")?.to_str().ok()).unwrap_or_default();
    Seen {
        wire,
        version: request.version(),
        method: request.method().clone(),
        host: host.rsplit_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase(),
        path: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
        headers: request.headers().clone(),
        body: Bytes::new(),
    }
}
