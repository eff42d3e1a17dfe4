//! Between hyper's messages and ours: what belongs to the hop goes, the rest keeps its order.

use exchange::{Header, Headers, Scheme, Url, UrlError};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Where a request is going.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub scheme: Scheme,
    /// Lower case, an IPv6 address without brackets.
    pub host: String,
    pub port: u16,
}

impl Origin {
    pub fn new(scheme: Scheme, host: &str, port: Option<u16>) -> Self {
        let host =
            host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
        Self { scheme, host, port: port.unwrap_or(scheme.default_port()) }
    }

    pub fn url(&self, uri: &http::Uri) -> Result<Url, UrlError> {
        Url::from_parts(
            self.scheme,
            &self.host,
            self.port,
            uri.path_and_query().map_or("/", |pq| pq.as_str()),
        )
    }

    /// `host` or `host:port`, as a `host` header holds it.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }
}

/// The end-to-end headers of a request or response. Names that `connection` lists belong to the hop too.
pub(crate) fn end_to_end(map: &HeaderMap, upgrade: Upgrade) -> Headers {
    let listed: Vec<String> = map
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut headers = Headers::new();
    for (name, value) in map {
        let name = name.as_str();
        let of_the_hop = exchange::is_hop_by_hop(name) || listed.iter().any(|l| l == name);
        // The one value of `te` that a proxy has to hand on: without it no gRPC server answers.
        let wants_trailers = name == "te" && value.as_bytes().eq_ignore_ascii_case(b"trailers");
        if of_the_hop && !wants_trailers && !(upgrade == Upgrade::Keep && name == "upgrade") {
            continue;
        }
        if name == "cookie" {
            // HTTP/2 may send one field a crumb (RFC 9113, 8.2.3).
            join_cookie(&mut headers, value);
            continue;
        }
        // hyper has checked both already, so nothing is lost here.
        if let Ok(header) = Header::new(name, value.as_bytes()) {
            headers.push(header);
        }
    }
    headers
}

/// Whether `upgrade` is kept: it is part of the meaning of a WebSocket handshake, and of nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    Keep,
    Drop,
}

pub(crate) fn to_map(headers: &Headers) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(headers.len());
    for header in headers {
        let name = HeaderName::from_bytes(header.name().as_bytes());
        let value = HeaderValue::from_bytes(header.value());
        if let (Ok(name), Ok(value)) = (name, value) {
            // Refused only above 32,768 names, which no parser of ours lets through.
            let _ = map.try_append(name, value);
        }
    }
    map
}

fn join_cookie(headers: &mut Headers, value: &HeaderValue) {
    let joined = match headers.all("cookie").next() {
        Some(before) => [before.value(), b"; ", value.as_bytes()].concat(),
        None => value.as_bytes().to_vec(),
    };
    if let Ok(header) = Header::new("cookie", joined) {
        headers.set(header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    fn names(headers: &Headers) -> Vec<&str> {
        headers.iter().map(Header::name).collect()
    }

    #[test]
    fn what_belongs_to_the_hop_goes_and_the_rest_keeps_its_order() {
        let map = map(&[
            ("x-first", "1"),
            ("connection", "x-mine, close"),
            ("x-mine", "2"),
            ("proxy-authorization", "3"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("x-last", "4"),
        ]);
        assert_eq!(names(&end_to_end(&map, Upgrade::Drop)), ["x-first", "te", "x-last"]);
    }

    #[test]
    fn cookie_crumbs_are_joined() {
        let headers =
            end_to_end(&map(&[("cookie", "a=1"), ("accept", "*/*"), ("cookie", "b=2")]), Upgrade::Drop);
        assert_eq!(headers.text("cookie"), Some("a=1; b=2"));
    }

    #[test]
    fn an_ipv6_origin_gets_its_brackets_back() {
        let origin = Origin::new(Scheme::Https, "[::1]", Some(8443));
        assert_eq!((origin.host.as_str(), origin.authority().as_str()), ("::1", "[::1]:8443"));
    }
}
