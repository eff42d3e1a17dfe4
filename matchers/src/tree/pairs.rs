//! The pairs of a query or a form: decoded, in any order, those of one name in the order they came.

use std::borrow::Cow;

use crate::{
    percent,
    place::Step,
    placeholder,
    policy::Shapes,
    tree::{Member, Node, Text},
    volatile::Scope,
};

pub(super) fn read<'a>(text: &'a str, scope: &Scope<'_>, shapes: Shapes) -> Node<'a> {
    let mut pairs: Vec<(Cow<'a, str>, Cow<'a, str>)> = text
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| {
            (placeholder::without_numbers(percent::decode_pair(name)), percent::decode_pair(value))
        })
        .collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));

    let mut members: Vec<Member<'a>> = Vec::with_capacity(pairs.len());
    let mut before: Option<Cow<'a, str>> = None;
    let mut occurrence = 0;
    for (key, value) in pairs {
        if before.as_ref() != Some(&key) {
            occurrence = 0;
            before = Some(key.clone());
        }
        let Some(scope) = scope.enter(Step::Key(&key)) else {
            continue;
        };
        let index = occurrence;
        let node = if placeholder::is_in(&value) {
            Node::Credential(placeholder::without_numbers(value))
        } else {
            occurrence += 1;
            if scope.enter(Step::Index(index)).is_none() {
                continue;
            }
            Node::Text(Text::value(value, &key, shapes))
        };
        members.push(Member { key, occurrence: index, node });
    }
    Node::Map(members)
}
