//! What can be asked of the control API. Every route is in one table, which the published description is held against.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use cassettes::Pace;
use exchange::{Call, Outcome};
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{
    auth::Authenticated,
    fields::{Fields, bad},
    reply::Answer,
    shapes,
};
use crate::{
    opener::{Asker, Wish},
    session::{Mode, Session},
    session_name::SessionName,
    sessions::Sessions,
};

/// Everything that the routes work on.
pub(super) struct Desk {
    pub(super) sessions: Arc<Sessions>,
    pub(super) proxy: SocketAddr,
    pub(super) mode: Mode,
}

/// What a route does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Health,
    List,
    Create,
    Show,
    Load,
    Calls,
    Wait,
    Verdict,
    End,
}

/// `{name}` stands for the name of a session.
const ROUTES: [(Method, &str, Action); 9] = [
    (Method::GET, "/v1/health", Action::Health),
    (Method::GET, "/v1/sessions", Action::List),
    (Method::POST, "/v1/sessions", Action::Create),
    (Method::GET, "/v1/sessions/{name}", Action::Show),
    (Method::DELETE, "/v1/sessions/{name}", Action::End),
    (Method::PUT, "/v1/sessions/{name}/cassette", Action::Load),
    (Method::GET, "/v1/sessions/{name}/calls", Action::Calls),
    (Method::POST, "/v1/sessions/{name}/wait", Action::Wait),
    (Method::GET, "/v1/sessions/{name}/verdict", Action::Verdict),
];

pub(super) async fn answer(desk: &Desk, request: Authenticated) -> Answer {
    desk.answer(&request).await.unwrap_or_else(|refused| refused)
}

impl Desk {
    async fn answer(&self, request: &Authenticated) -> Result<Answer, Answer> {
        let (action, name) = route(&request.head().method, request.head().uri.path())?;
        let name = name.parse::<SessionName>();
        let name = || name.clone().map_err(|error| bad(error.to_string()));
        let mut query = Fields::of_query(request.head().uri.query().unwrap_or_default())?;
        let since = if action == Action::Calls { query.number("since")?.unwrap_or(0) } else { 0 };
        query.finish()?;
        let body = Fields::of_body(request.body())?;
        match action {
            Action::Create => return self.create(body).await,
            Action::Load => return self.load(&name()?, body).await,
            Action::Wait => return self.wait(&name()?, body).await,
            // The others take no body.
            _ => body.finish()?,
        }
        Ok(Answer::ok(match action {
            Action::Health => self.health(),
            Action::List => self.list(),
            Action::End => shapes::verdict(&*self.sessions.end(&name()?).await?),
            _ => {
                let name = name()?;
                let session = self.sessions.expect(&name)?;
                session.quiet(IN_FLIGHT).await;
                match action {
                    Action::Calls => session.log().map(|log| shapes::calls(&log.since(since))).into(),
                    Action::Verdict => shapes::verdict(&session),
                    _ => self.shape(&name, &session),
                }
            }
        }))
    }

    fn health(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "proxy": format!("http://{}", self.proxy),
            "mode": self.mode.as_str(),
        })
    }

    fn list(&self) -> Value {
        let is_own = self.sessions.own().is_some();
        let all = self.sessions.all().into_iter();
        let all = all.map(|(name, session)| shapes::session(&name, &session, self.proxy, is_own));
        json!({"sessions": all.collect::<Vec<_>>()})
    }

    fn shape(&self, name: &SessionName, session: &Session) -> Value {
        shapes::session(name.as_str(), session, self.proxy, self.sessions.own().is_some())
    }

    async fn create(&self, mut body: Fields) -> Result<Answer, Answer> {
        let name = body.text("name")?.map(|name| name.parse::<SessionName>());
        let name = name.transpose().map_err(|error| bad(format!("`name`: {error}")))?;
        let modes = Mode::ALL.map(|mode| (mode.as_str(), mode));
        let wish = Wish {
            name: name.unwrap_or_else(|| self.sessions.free_name()),
            by: Asker::Control,
            mode: body.choice("mode", &modes)?,
            cassette: path(&mut body, "cassette")?,
            pace: body.choice("pace", &PACES)?,
        };
        body.finish()?;
        let name = wish.name.clone();
        let session = self.sessions.create(wish).await?;
        Ok(Answer::created(self.shape(&name, &session)))
    }

    async fn load(&self, name: &SessionName, mut body: Fields) -> Result<Answer, Answer> {
        let path = path(&mut body, "path")?;
        body.finish()?;
        let path = path.ok_or_else(|| bad("`path` is missing"))?;
        let session = self.sessions.load(name, path).await?;
        Ok(Answer::ok(self.shape(name, &session)))
    }

    async fn wait(&self, name: &SessionName, mut body: Fields) -> Result<Answer, Answer> {
        let wanted = Wanted {
            since: body.number("since")?.unwrap_or(0),
            method: body.text("method")?,
            url: body.text("url")?,
            status: body.number("status")?,
        };
        let timeout = match body.text("timeout")? {
            None => DEFAULT_WAIT,
            Some(text) => {
                yaml::parse_duration(&text).filter(|timeout| *timeout <= LONGEST_WAIT).ok_or_else(|| {
                    bad("`timeout` must be a number and a unit such as 500ms or 5s, and at most 10m")
                })?
            }
        };
        body.finish()?;
        let session = self.sessions.expect(name)?;
        let Some(log) = session.log() else { return Err(bad("this proxy keeps no calls")) };
        tokio::select! {
            call = log.first(|call| wanted.fits(call)) => Ok(Answer::ok(shapes::call(&call))),
            () = session.ending().cancelled() => {
                let message = format!("session `{name}` ended while its call was waited for");
                Err(Answer::error(StatusCode::NOT_FOUND, message))
            }
            () = tokio::time::sleep(timeout) => {
                let seen = log.since(wanted.since).calls.len();
                let message = format!("no such call within {}", yaml::format_duration(timeout));
                let help = format!("{seen} others have ended after call {}", wanted.since);
                Err(Answer::error(StatusCode::REQUEST_TIMEOUT, message).help(help))
            }
        }
    }
}

/// The call that somebody waits for.
struct Wanted {
    since: u32,
    method: Option<String>,
    url: Option<String>,
    status: Option<u16>,
}

impl Wanted {
    fn fits(&self, call: &Call) -> bool {
        call.seq > self.since
            && self.method.as_ref().is_none_or(|method| method.eq_ignore_ascii_case(&call.method))
            && self.url.as_ref().is_none_or(|url| call.url.contains(url.as_str()))
            && self.status.is_none_or(|status| call.outcome == Outcome::Status(status))
    }
}

/// What a request asks for, and the name in its path.
fn route<'a>(method: &Method, path: &'a str) -> Result<(Action, &'a str), Answer> {
    let fitting = || {
        ROUTES.iter().filter_map(|(method, template, action)| Some((method, *action, fit(template, path)?)))
    };
    if let Some((_, action, name)) = fitting().find(|(allowed, ..)| *allowed == method) {
        return Ok((action, name));
    }
    let allowed: Vec<&str> = fitting().map(|(method, ..)| method.as_str()).collect();
    if allowed.is_empty() {
        return Err(Answer::error(StatusCode::NOT_FOUND, "there is nothing at this path"));
    }
    let allowed = allowed.join(", ");
    Err(Answer::error(StatusCode::METHOD_NOT_ALLOWED, format!("this path takes {allowed}"))
        .header(header::ALLOW, allowed))
}

/// The part of a path that stands where a template has `{name}`; nothing where it has none.
fn fit<'a>(template: &str, path: &'a str) -> Option<&'a str> {
    let Some((before, after)) = template.split_once("{name}") else {
        return (template == path).then_some("");
    };
    let name = path.strip_prefix(before)?.strip_suffix(after)?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

fn path(body: &mut Fields, key: &str) -> Result<Option<PathBuf>, Answer> {
    match body.text(key)? {
        Some(path) if path.is_empty() || path.contains('\0') => Err(bad(format!("`{key}` must be a path"))),
        path => Ok(path.map(PathBuf::from)),
    }
}

const PACES: [(&str, Pace); 2] = [("instant", Pace::Instant), ("recorded", Pace::Recorded)];
const DEFAULT_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// How long an answer about a session waits for calls that are just ending.
const IN_FLIGHT: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn entries<'n, 's>(node: &'n yaml::Node<'s>) -> Vec<(String, &'n yaml::Node<'s>)> {
        let yaml::Value::Mapping(entries) = &node.value else { return Vec::new() };
        let text = |node: &yaml::Node<'_>| match &node.value {
            yaml::Value::Scalar(scalar) => scalar.text.clone().into_owned(),
            _ => String::new(),
        };
        entries.iter().map(|(key, value)| (text(key), value)).collect()
    }

    #[test]
    fn the_published_description_names_every_route_and_no_other() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/control.openapi.yaml");
        let text = std::fs::read_to_string(file).unwrap();
        let description = yaml::parse(&text, &yaml::Limits::small()).unwrap();
        let paths = entries(&description).into_iter().find(|(key, _)| key == "paths").unwrap().1;
        let published = entries(paths).into_iter().flat_map(|(path, item)| {
            let methods =
                entries(item).into_iter().map(|(method, _)| method).filter(|key| key != "parameters");
            methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
        });
        let served = ROUTES.iter().map(|(method, path, _)| (method.to_string(), (*path).to_owned()));
        assert_eq!(published.collect::<BTreeSet<_>>(), served.collect::<BTreeSet<_>>());
    }
}
