//! `api.github.com`: enough of REST and GraphQL for `gh`, Octokit and PyGithub, with entity tags,
//! pages and gzip as the real one has them.

use std::sync::{Arc, Mutex};

use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{
    Fresh, codings,
    reply::{Answer, Reply},
    routes::Asked,
};

/// The account, the repository `o/r` and its issues: made up at the start, the same in every reply.
#[derive(Debug)]
pub(super) struct GitHub {
    fresh: Arc<Fresh>,
    user: Value,
    repository: Value,
    /// Newest first, as the API lists them.
    issues: Vec<Value>,
    /// Those that were posted.
    comments: Mutex<Vec<Value>>,
}

impl GitHub {
    pub(super) fn new(fresh: Arc<Fresh>) -> Self {
        let user = user(&fresh);
        let repository = repository(&fresh, &user);
        let issues = (1..=ISSUES).rev().map(|number| issue(&fresh, &user, number)).collect();
        Self { fresh, user, repository, issues, comments: Mutex::default() }
    }

    pub(super) fn answer(&self, asked: &Asked) -> Answer {
        let segments: Vec<&str> = asked.path().trim_matches('/').split('/').collect();
        let repository_id = self.repository["id"].to_string();
        match (asked.method().as_str(), segments.as_slice()) {
            ("GET", ["user"]) => self.found(asked, &self.user, None),
            ("GET", ["repos", "o", "r"]) => self.found(asked, &self.repository, None),
            ("GET", ["repos", "o", "r", "issues"]) => self.issues(asked),
            ("GET", ["repositories", id, "issues"]) if *id == repository_id => self.issues(asked),
            ("GET", ["repos", "o", "r", "issues", number]) => {
                match self.issues.iter().find(|issue| issue["number"].as_u64() == number.parse().ok()) {
                    Some(issue) => self.found(asked, issue, None),
                    None => self.reply(asked, StatusCode::NOT_FOUND, &not_found()).answer(),
                }
            }
            ("POST", ["repos", "o", "r", "issues", number, "comments"]) => self.comment(asked, number),
            ("GET", ["repos", "o", "r", "issues", "comments", id]) => {
                let comments = self.comments.lock().unwrap();
                match comments.iter().find(|comment| comment["id"].as_u64() == id.parse().ok()) {
                    Some(comment) => self.found(asked, comment, None),
                    None => self.reply(asked, StatusCode::NOT_FOUND, &not_found()).answer(),
                }
            }
            ("POST", ["graphql"]) => self.graphql(asked),
            _ => self.reply(asked, StatusCode::NOT_FOUND, &not_found()).answer(),
        }
    }

    fn issues(&self, asked: &Asked) -> Answer {
        let size = asked.number("per_page").unwrap_or(30).clamp(1, 100) as usize;
        let page = asked.number("page").unwrap_or(1).max(1) as usize;
        let pages = self.issues.len().div_ceil(size);
        let listed: Value = self.issues.iter().skip((page - 1) * size).take(size).cloned().collect();
        let others: Vec<&str> =
            asked.query().split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("page=")).collect();
        let link = |page: usize, rel: &str| {
            let mut query = others.join("&");
            query.push_str(if query.is_empty() { "" } else { "&" });
            format!("<{API}/repositories/{}/issues?{query}page={page}>; rel=\"{rel}\"", self.repository["id"])
        };
        let mut links = Vec::new();
        if page > 1 {
            links.extend([link(page - 1, "prev"), link(1, "first")]);
        }
        if page < pages {
            links.extend([link(page + 1, "next"), link(pages, "last")]);
        }
        self.found(asked, &listed, (!links.is_empty()).then(|| links.join(", ")))
    }

    fn comment(&self, asked: &Asked, number: &str) -> Answer {
        let id = self.fresh.number();
        let created = self.fresh.iso_time();
        let url = format!("{API}/repos/o/r/issues/comments/{id}");
        let comment = json!({
            "url": url, "html_url": format!("https://github.com/o/r/issues/{number}#issuecomment-{id}"),
            "issue_url": format!("{API}/repos/o/r/issues/{number}"),
            "id": id, "node_id": self.fresh.id("IC_kwDO", 16), "user": self.user, "created_at": created,
            "updated_at": created, "author_association": "OWNER", "body": asked.json()["body"],
        });
        self.comments.lock().unwrap().push(comment.clone());
        self.reply(asked, StatusCode::CREATED, &comment).header(header::LOCATION, url).answer()
    }

    fn graphql(&self, asked: &Asked) -> Answer {
        let request = asked.json();
        let query = request["query"].as_str().unwrap_or_default();
        let data = if query.contains("IssueList") {
            let nodes: Value = self.issues.iter().map(issue_node).collect();
            let page = json!({"hasNextPage": false, "endCursor": self.fresh.id("Y3Vyc29yOnYyOp", 16)});
            json!({"repository": {"hasIssuesEnabled": true, "issues": {"totalCount": ISSUES, "nodes": nodes, "pageInfo": page}}})
        } else if query.contains("viewer") {
            json!({"viewer": {"login": self.user["login"], "id": self.user["node_id"]}})
        } else {
            let error =
                json!({"type": "NOT_IMPLEMENTED", "message": "the stand-in does not know this query"});
            return self.reply(asked, StatusCode::OK, &json!({ "errors": [error] })).answer();
        };
        self.reply(asked, StatusCode::OK, &json!({ "data": data })).answer()
    }

    /// A reply to GET: with an entity tag, and 304 to a client that has it already.
    fn found(&self, asked: &Asked, body: &Value, link: Option<String>) -> Answer {
        let etag = format!("W/\"{}\"", self.fresh.mint(digest(&body.to_string())));
        let reply = match asked.header("if-none-match") {
            Some(known) if known == etag => Reply::new(StatusCode::NOT_MODIFIED, ""),
            _ => self.reply(asked, StatusCode::OK, body),
        };
        let reply = reply
            .header(header::ETAG, etag)
            .header(header::CACHE_CONTROL, "private, max-age=60, s-maxage=60")
            .header(header::VARY, "Accept, Authorization, Cookie, Accept-Encoding");
        match link {
            Some(link) => reply.header(header::LINK, link).answer(),
            None => reply.answer(),
        }
    }

    fn reply(&self, asked: &Asked, status: StatusCode, body: &Value) -> Reply {
        let text = body.to_string();
        let accepts_gzip = asked.header("accept-encoding").is_some_and(|codings| codings.contains("gzip"));
        let reply = if accepts_gzip {
            Reply::new(status, codings::gzip(text.as_bytes())).header(header::CONTENT_ENCODING, "gzip")
        } else {
            Reply::new(status, text)
        };
        reply
            .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
            .named("x-github-media-type", "github.v3; format=json")
            .named("x-github-api-version-selected", "2022-11-28")
            .named("x-ratelimit-limit", "5000")
            .named("x-ratelimit-remaining", self.fresh.remaining(5000).to_string())
            .named("x-ratelimit-reset", self.fresh.epoch().to_string())
            .named("x-ratelimit-used", "13")
            .named("x-ratelimit-resource", if asked.method() == Method::POST { "graphql" } else { "core" })
            .named("x-github-request-id", self.fresh.hex("", 24).to_ascii_uppercase())
            .named("x-oauth-scopes", "repo, read:org")
    }
}

fn user(fresh: &Fresh) -> Value {
    json!({
        "login": "octo-tester", "id": fresh.number(), "node_id": fresh.id("U_kgDO", 8), "type": "User",
        "url": format!("{API}/users/octo-tester"), "html_url": "https://github.com/octo-tester",
        "name": format!("Octo {}", fresh.word()), "company": null, "public_repos": 8,
        "created_at": fresh.past_iso_time(), "updated_at": fresh.past_iso_time(),
    })
}

fn repository(fresh: &Fresh, user: &Value) -> Value {
    json!({
        "id": fresh.number(), "node_id": fresh.id("R_kgDO", 8), "name": "r", "full_name": "o/r", "private": false,
        "owner": user, "html_url": "https://github.com/o/r", "description": format!("about {}", fresh.word()),
        "fork": false, "url": format!("{API}/repos/o/r"), "default_branch": "main", "open_issues_count": ISSUES,
        "stargazers_count": 42, "created_at": fresh.past_iso_time(), "pushed_at": fresh.past_iso_time(),
    })
}

fn issue(fresh: &Fresh, user: &Value, number: u64) -> Value {
    let label = json!({"id": fresh.number(), "node_id": fresh.id("LA_kwDO", 8), "name": "bug", "color": "d73a4a", "description": null});
    json!({
        "url": format!("{API}/repos/o/r/issues/{number}"), "repository_url": format!("{API}/repos/o/r"),
        "html_url": format!("https://github.com/o/r/issues/{number}"), "id": fresh.number(),
        "node_id": fresh.id("I_kwDO", 10), "number": number, "title": format!("about {}", fresh.word()),
        "user": user, "labels": [label], "state": "open", "locked": false, "comments": 0,
        "created_at": fresh.past_iso_time(), "updated_at": fresh.past_iso_time(), "closed_at": null, "body": "it does not",
    })
}

/// The same issue as GraphQL spells it.
fn issue_node(issue: &Value) -> Value {
    let labels = json!({"nodes": [{"id": issue["labels"][0]["node_id"], "name": "bug", "description": "", "color": "d73a4a"}], "totalCount": 1});
    json!({
        "number": issue["number"], "title": issue["title"], "url": issue["html_url"], "state": "OPEN",
        "createdAt": issue["created_at"], "updatedAt": issue["updated_at"], "labels": labels,
    })
}

fn not_found() -> Value {
    json!({"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"})
}

fn digest(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

const API: &str = "https://api.github.com";
const ISSUES: u64 = 5;
