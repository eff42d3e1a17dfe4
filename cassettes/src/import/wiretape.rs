//! What an export of ours carries beyond the format it is in.
//!
//! Nothing in it is believed over what stands beside it: a copy of an exchange counts only as long as the entry is what
//! an export writes for that exchange. An entry that a person changed is read as it stands.

use std::time::Duration;

use exchange::Exchange;
use serde_json::Value as Json;
use yaml::{Limits, Node, Problem};

use super::{
    Repair,
    desk::Desk,
    read::{self, Numbers, optional},
};
use crate::format;

/// The exchange that a copy in the entry holds, if there is one and the entry is still what it was.
pub(super) fn restore(
    extension: Option<&Node<'_>>,
    entry: &Node<'_>,
    projection: &dyn Fn(&Exchange) -> Option<Json>,
    desk: &mut Desk<'_>,
) -> Result<Option<Exchange>, Problem> {
    let Some(copy) = extension.and_then(|extension| optional(extension, "exchange")) else { return Ok(None) };
    let text = copy.text("the copy of the exchange")?;
    let exchange = format::read_item(text, &|_| Ok(None))
        .map_err(|problem| Problem::new(copy.span, format!("the copy of the exchange: {problem}")))?
        .into_inner();
    let mut as_it_stands = read::json(entry, Numbers::Json);
    if let Json::Object(members) = &mut as_it_stands {
        members.retain(|key, _| !matches!(key.as_str(), "_wiretape" | "wiretape"));
    }
    if projection(&exchange).as_ref() == Some(&as_it_stands) {
        return Ok(Some(exchange));
    }
    desk.note(Repair::CopyOutdated);
    Ok(None)
}

/// When the request came, and how long the head took.
pub(super) fn times(extension: Option<&Node<'_>>) -> Result<(Duration, Duration), Problem> {
    let time = |key: &str| {
        let node = extension.and_then(|extension| optional(extension, key));
        node.map_or(Ok(Duration::ZERO), |node| node.duration(&format!("`{key}`")))
    };
    Ok((time("at")?, time("after")?))
}

/// How the cassette compared requests, where the file says that it was one.
pub(super) fn policy(extension: Option<&Node<'_>>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let Some(extension) = extension.filter(|extension| extension.get("cassette").is_some()) else {
        return Ok(());
    };
    let Some(written) = optional(extension, "match") else {
        desk.compare_just_as(None);
        return Ok(());
    };
    let text = written.text("the match policy")?;
    let in_it = |problem: Problem| Problem::new(written.span, format!("the match policy: {problem}"));
    let document = yaml::parse(text, &Limits::small()).map_err(in_it)?;
    let policy = document.get("match").map(format::read_policy).transpose().map_err(in_it)?;
    desk.compare_just_as(policy);
    Ok(())
}
