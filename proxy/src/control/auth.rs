//! Who may use the control API, and nothing else.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

use super::reply::Answer;

/// A request of somebody who may ask, read to its end. Only [`admit`] makes one.
pub(super) struct Authenticated {
    head: Parts,
    body: Bytes,
}

/// The way by which a request came in.
#[derive(Clone)]
pub(super) enum Entrance {
    /// The Unix socket, with the user at the other end.
    Socket {
        peer: Option<u32>,
    },
    Tcp {
        port: u16,
        token: Arc<str>,
    },
}

impl Authenticated {
    pub(super) fn head(&self) -> &Parts {
        &self.head
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }
}

/// Lets a request in, or says why not. Nothing of its body is read before that is decided.
pub(super) async fn admit(request: Request<Incoming>, entrance: &Entrance) -> Result<Authenticated, Answer> {
    check(entrance, request.uri(), request.headers(), rustix::process::geteuid().as_raw())?;
    let (head, body) = request.into_parts();
    let too_large =
        || Answer::error(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {MAX_BODY} bytes"));
    if hyper::body::Body::size_hint(&body).lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(body)) => Ok(Authenticated { head, body: body.to_bytes() }),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Answer::error(StatusCode::BAD_REQUEST, "the body broke off")),
        Err(_) => Err(Answer::error(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}

fn check(entrance: &Entrance, uri: &Uri, headers: &HeaderMap, us: u32) -> Result<(), Answer> {
    match entrance {
        Entrance::Socket { peer } if *peer == Some(us) => Ok(()),
        Entrance::Socket { .. } => Err(unauthorized("this socket is its owner's alone")),
        Entrance::Tcp { port, token } => {
            // A page in a browser can reach loopback, and by DNS under a name of its own.
            if headers.contains_key(header::ORIGIN) {
                return Err(Answer::error(StatusCode::BAD_REQUEST, "this is no API for web pages"));
            }
            if !is_addressed_to_us(uri, headers, *port) {
                let message =
                    format!("the host must be localhost:{port} or a loopback address with that port");
                return Err(Answer::error(StatusCode::BAD_REQUEST, message));
            }
            if !bears(headers, token) {
                return Err(unauthorized("a token is needed").help(
                    "`wiretape env` prints it as WIRETAPE_CONTROL_TOKEN; send `authorization: Bearer TOKEN`",
                ));
            }
            Ok(())
        }
    }
}

fn unauthorized(message: &str) -> Answer {
    Answer::error(StatusCode::UNAUTHORIZED, message).header(header::WWW_AUTHENTICATE, "Bearer")
}

fn is_addressed_to_us(uri: &Uri, headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else {
        return false;
    };
    is_loopback(host, port) && uri.authority().is_none_or(|named| is_loopback(named.as_str(), port))
}

fn is_loopback(authority: &str, port: u16) -> bool {
    let Some((host, named)) = authority.rsplit_once(':') else { return false };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_here =
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_here && named.parse() == Ok(port)
}

fn bears(headers: &HeaderMap, token: &str) -> bool {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Some((scheme, given)) = value.as_bytes().split_at_checked("Bearer ".len()) else { return false };
    scheme.eq_ignore_ascii_case(b"Bearer ") && is_same(given, token.as_bytes())
}

/// Takes as long for a wrong token as for the right one: nothing is learned from how soon the answer comes.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (x, y)| std::hint::black_box(all | (x ^ y)));
    a.len() == b.len() && differences == 0
}

const MAX_BODY: usize = 1 << 20;
/// How long a client may take for the body of its request.
const BODY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn status(entrance: &Entrance, uri: &str, headers: &[(&'static str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        check(entrance, &uri.parse().unwrap(), &map, 1000).map_or_else(|answer| answer.status(), |()| 200)
    }

    #[test]
    fn the_socket_is_for_the_user_who_runs_the_proxy_and_not_even_for_root() {
        let by = |peer| status(&Entrance::Socket { peer }, "/v1/health", &[]);
        assert_eq!([by(Some(1000)), by(Some(1001)), by(Some(0)), by(None)], [200, 401, 401, 401]);
    }

    #[test]
    fn the_port_asks_for_the_whole_token() {
        let entrance = Entrance::Tcp { port: 7, token: "secret".into() };
        let with = |values: &[&str]| {
            let given = values.iter().map(|value| ("authorization", *value));
            let headers: Vec<_> = [("host", "127.0.0.1:7")].into_iter().chain(given).collect();
            status(&entrance, "/v1/health", &headers)
        };
        assert_eq!([with(&["Bearer secret"]), with(&["bearer secret"])], [200, 200]);
        for wrong in ["Bearer secre", "Bearer secret2", "Bearer ", "Bearer", "secret", "Basic secret", ""] {
            assert_eq!(with(&[wrong]), 401, "{wrong}");
        }
        assert_eq!([with(&[]), with(&["Bearer secret", "Bearer secret"])], [401, 401]);
    }

    #[test]
    fn the_port_is_asked_by_a_name_of_this_machine_and_by_no_web_page() {
        let entrance = Entrance::Tcp { port: 7, token: "secret".into() };
        let bearer = ("authorization", "Bearer secret");
        for host in ["127.0.0.1:7", "localhost:7", "LOCALHOST:7", "[::1]:7", "127.8.8.8:7"] {
            assert_eq!(status(&entrance, "/", &[("host", host), bearer]), 200, "{host}");
        }
        for host in [
            "evil.test:7",
            "evil.test",
            "127.0.0.1",
            "127.0.0.1:8",
            "10.0.0.1:7",
            "localhost.evil.test:7",
            "",
        ] {
            assert_eq!(status(&entrance, "/", &[("host", host), bearer]), 400, "{host}");
        }
        assert_eq!(status(&entrance, "/", &[bearer]), 400);
        assert_eq!(status(&entrance, "/", &[("host", "localhost:7"), ("host", "evil.test:7"), bearer]), 400);
        assert_eq!(status(&entrance, "http://evil.test:7/", &[("host", "localhost:7"), bearer]), 400);
        let from_a_page = [("host", "localhost:7"), ("origin", "http://localhost:7"), bearer];
        assert_eq!(status(&entrance, "/", &from_a_page), 400);
    }
}
