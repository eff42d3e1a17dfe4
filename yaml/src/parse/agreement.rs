//! The law of the two parsers: what the fast pass accepts, the general parser reads the same.

use proptest::prelude::*;

use super::{fast, full};
use crate::{
    limits::Limits,
    node::{Node, Value},
    out::{Out, to_string},
    span::Span,
};

/// The tree with every span cut down to its start: the two may disagree on where a node ends.
fn starts(node: Node<'_>) -> Node<'_> {
    let value = match node.value {
        Value::Scalar(scalar) => Value::Scalar(scalar),
        Value::Sequence(items) => Value::Sequence(items.into_iter().map(starts).collect()),
        Value::Mapping(entries) => {
            Value::Mapping(entries.into_iter().map(|(key, value)| (starts(key), starts(value))).collect())
        }
    };
    Node { span: Span::new(node.span.start, node.span.start), value }
}

/// Whether the fast pass read it; fails if the general parser reads anything else.
fn agree(source: &str, limits: &Limits) -> bool {
    let Some(fast) = fast::parse(source, limits) else {
        return false;
    };
    match full::parse(source, limits, full::Dialect::Ours) {
        Ok(full) => assert_eq!(starts(fast), starts(full), "source: {source:?}"),
        Err(problem) => panic!("the fast pass accepts what is refused: {problem}\nsource: {source:?}"),
    }
    true
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "", "a", "no", "1", "a: b", "a #b", "# a", "- a", "-", "--- a", "...", "data: [DONE]", "{\"a\": [1, 2]}",
            "it's", "\"", "a\nb", "a\nb\n", "a\n\n\n", "\n\na", " a\n b\n", "a\n  b\n\n c", "#a\n#b\n", "- a\n- b\n",
            "k: v\nw: x", "\ta", "a\n\tb", "a \nb", "\n", "ä ö", "日本", "\u{a0}x", "\0", "a\r\nb", "\u{85}", "\u{feff}",
            "|", ">", "? a", "<<", "~", "?", "\\", "a\\nb", "x\ny: |\n  z\n", "'", "''", "\u{1F600}", "a:", ":a",
        ]).prop_map(str::to_owned),
        2 => "[a-c:#'\" \\-|\n\t]{0,12}",
        1 => "\\PC{0,8}",
    ]
}

fn tree() -> impl Strategy<Value = Out<'static>> {
    let leaf = prop_oneof![
        4 => text().prop_map(Out::text),
        1 => any::<i32>().prop_map(Out::plain),
        1 => prop::sample::select(vec!["true", "null", "1.5e3", "180ms"]).prop_map(Out::plain),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Out::Sequence),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(Out::mapping),
        ]
    })
}

fn document() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(tree(), 1..4).prop_map(Out::Sequence),
        prop::collection::btree_map(text(), tree(), 1..4).prop_map(Out::mapping),
    ]
    .prop_map(|out| to_string(&out))
}

#[derive(Debug, Clone)]
enum Change {
    Delete,
    Insert(&'static str),
    Replace(&'static str),
    Indent(usize),
    Dedent(usize),
    DropLine,
    RepeatLine,
    SwapLines,
    Cut,
}

fn change() -> impl Strategy<Value = Change> {
    let piece = prop::sample::select(vec![
        " ",
        "  ",
        "\n",
        "\n\n",
        ":",
        ": ",
        "-",
        "- ",
        "#",
        " #",
        "# c\n",
        "\n  # c\n",
        "'",
        "\"",
        "|",
        ">",
        "|2",
        "|+",
        "\\",
        "{",
        "}",
        "[",
        "]",
        "{}",
        "[]",
        ",",
        "&a ",
        "*a",
        "!t ",
        "%",
        "@",
        "`",
        "?",
        "? ",
        "<<",
        "\t",
        "\r",
        "\0",
        "---\n",
        "--- ",
        "... ",
        "\n--- ",
        "...\n",
        "a",
        "~",
        "1",
        "2",
        "+",
        "=",
        "\u{feff}",
        "\u{85}",
        "ä",
        "a: b",
        "\n ",
        "\n\t\n",
        "\n   \n",
        "\\u12",
        "\\ud83d",
    ]);
    prop_oneof![
        2 => Just(Change::Delete),
        3 => piece.clone().prop_map(Change::Insert),
        3 => piece.prop_map(Change::Replace),
        2 => (1_usize..4).prop_map(Change::Indent),
        2 => (1_usize..4).prop_map(Change::Dedent),
        1 => Just(Change::DropLine),
        1 => Just(Change::RepeatLine),
        1 => Just(Change::SwapLines),
        1 => Just(Change::Cut),
    ]
}

fn changed(source: &str, at: prop::sample::Index, change: &Change) -> String {
    if source.is_empty() {
        return String::new();
    }
    let characters: Vec<(usize, char)> = source.char_indices().collect();
    let (start, character) = *at.get(&characters);
    let end = start + character.len_utf8();
    let mut lines: Vec<String> = source.split_inclusive('\n').map(str::to_owned).collect();
    let line = at.index(lines.len());
    match change {
        Change::Delete => return format!("{}{}", &source[..start], &source[end..]),
        Change::Insert(piece) => return format!("{}{piece}{}", &source[..start], &source[start..]),
        Change::Replace(piece) => return format!("{}{piece}{}", &source[..start], &source[end..]),
        Change::Cut => return source[..start].to_owned(),
        Change::Indent(by) => lines[line].insert_str(0, &" ".repeat(*by)),
        Change::Dedent(by) => {
            let spaces = lines[line].chars().take_while(|character| *character == ' ').count().min(*by);
            lines[line].drain(..spaces);
        }
        Change::DropLine => drop(lines.remove(line)),
        Change::RepeatLine => lines.insert(line, lines[line].clone()),
        Change::SwapLines => {
            let other = (line + 1) % lines.len();
            lines.swap(line, other);
        }
    }
    lines.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_the_emitter_writes_is_read_by_the_fast_pass(source in document()) {
        prop_assert!(agree(&source, &Limits::small()), "not read by the fast pass: {}", source);
    }

    #[test]
    fn a_changed_document_is_read_alike_or_left_alone(
        source in document(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..4),
    ) {
        let mut source = source;
        for (at, change) in &changes {
            source = changed(&source, *at, change);
            agree(&source, &Limits::small());
        }
    }

    #[test]
    fn soup_is_read_alike_or_left_alone(source in "([a-b]|: |:|- |  | |\n|\n  |\n    |'|\"|\\||#|-|\t){1,24}\n") {
        agree(&source, &Limits::small());
    }

    #[test]
    fn both_count_nodes_and_depth_alike(source in document(), nodes in 1_usize..30, depth in 1_usize..6) {
        let limits = Limits { max_bytes: 1 << 20, max_depth: depth, max_nodes: nodes };
        let fast = fast::parse(&source, &limits).is_some();
        prop_assert_eq!(fast, full::parse(&source, &limits, full::Dialect::Ours).is_ok());
    }
}

#[test]
fn every_form_of_the_subset_is_read_by_the_fast_pass() {
    for source in [
        "a: 1\n",
        "- a\n- 'b'\n- \"c\\n\"\n",
        "# c\n\na:\n    - b: 1\n      c: {}\n\n    # d\n    -   - x\n        - []\n",
        "a: |\n  x\n\n  y\n\n# c\nb: |2+\n   x\n\n\nc: |-\n      x\n       y\n",
        "'a''b': \"\\x41\\u00e9\\U0001F600\\/\\_\"\n",
        "a: -1\nb: .5\nc: a#b\nd: http://x:80/y\ne: ~\n",
    ] {
        assert!(agree(source, &Limits::small()), "{source:?}");
    }
}

#[test]
fn what_is_outside_the_subset_is_left_to_the_general_parser() {
    for source in [
        "",
        "a\n",
        "a: 1",
        "a:\n",
        "a: b # c\n",
        "a: [1]\n",
        "a: {b: 1}\n",
        "a: &x 1\n",
        "a: !t 1\n",
        "a: *x\n",
        "a: >\n  b\n",
        "a: b\n  c\n",
        "a: 'b\n  c'\n",
        "? a\n: b\n",
        "a:\tb\n",
        "a: b \n",
        "---\na: 1\n",
        "a: 1\n...\n",
        "--- a: 1\n",
        "... a: 1\n",
        "a: 1\r\n",
        "a: 1\na: 2\n",
        "<<: 1\n",
        "a:\n- b\n",
        "-\n  a\n",
        "a: |\n",
        "a: |\n  \n  b\n",
        "a : b\n",
        "a: b: c\n",
        "\u{feff}a: 1\n",
        "a: \0\n",
        "%YAML 1.2\n---\na: 1\n",
        "- a\nb: 1\n",
        "a: 1\n- b\n",
        "a: 1\n  b: 2\n",
    ] {
        assert!(fast::parse(source, &Limits::small()).is_none(), "{source:?}");
    }
}

#[test]
fn a_repeated_key_is_seen_among_many() {
    let mut source: String = (0..100).map(|number| format!("k{number}: v\n")).collect();
    assert!(agree(&source, &Limits::small()));
    source.push_str("k7: v\n");
    assert!(fast::parse(&source, &Limits::small()).is_none());
    let problem = full::parse(&source, &Limits::small(), full::Dialect::Ours).unwrap_err();
    assert_eq!(problem.message, "the key `k7` is defined twice");
    assert_eq!(problem.related.unwrap().0.position(&source).to_string(), "8:1");
}

#[test]
fn a_text_without_escapes_is_borrowed() {
    use std::borrow::Cow;

    let node = fast::parse("- plain\n- 'single'\n- \"double\"\n", &Limits::small()).unwrap();
    for item in node.sequence("the list").unwrap() {
        assert!(matches!(item.as_scalar().unwrap().text, Cow::Borrowed(_)));
    }
}

#[test]
fn a_key_longer_than_yaml_allows_is_left_to_the_general_parser() {
    let source = |length: usize| format!("{}: 1\n", "k".repeat(length));
    assert!(agree(&source(1024), &Limits::small()));
    assert!(fast::parse(&source(1025), &Limits::small()).is_none());
    assert!(full::parse(&source(1025), &Limits::small(), full::Dialect::Ours).is_err());
}
