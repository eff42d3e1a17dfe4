//! The law of the emitter: whatever the text, and wherever it stands, reading gives it back.

use proptest::prelude::*;
use wiretape_yaml::{Limits, Node, Out, ScalarKind, Value, parse, to_string, write_item};

/// What a node means, in the terms of the emitter.
fn meaning(node: &Node<'_>) -> Out<'static> {
    match &node.value {
        Value::Scalar(scalar) => match scalar.kind() {
            ScalarKind::Text(text) => Out::text(text.to_owned()),
            _ => Out::plain(&scalar.text),
        },
        Value::Sequence(items) => Out::sequence(items.iter().map(meaning)),
        Value::Mapping(entries) => Out::mapping(
            entries
                .iter()
                .map(|(key, value)| (key.as_text().expect("keys are scalars").to_owned(), meaning(value))),
        ),
    }
}

fn read_back(out: &Out<'_>) -> Out<'static> {
    let source = to_string(out);
    assert!(source.ends_with('\n'), "{source:?}");
    match parse(&source, &Limits::for_cassette(source.len())) {
        Ok(node) => meaning(&node),
        Err(problem) => panic!("{problem} at {}\n{source}", problem.span.position(&source)),
    }
}

fn holds_everywhere(text: &str) {
    let owned = || Out::text(text.to_owned());
    let key = || text.to_owned();
    for out in [
        owned(),
        Out::sequence([owned(), Out::text("after")]),
        Out::sequence([Out::sequence([owned(), owned()]), Out::sequence([owned()])]),
        Out::mapping([("a", owned()), ("b", Out::text("after"))]),
        Out::sequence([Out::mapping([("a", owned()), ("b", owned())]), Out::text("after")]),
        Out::mapping([("a", Out::mapping([("b", Out::sequence([Out::mapping([("c", owned())])]))]))]),
        Out::mapping([(key(), owned())]),
        Out::sequence([Out::mapping([(key(), Out::mapping([(key(), Out::sequence([owned()]))]))])]),
    ] {
        assert_eq!(read_back(&out), out, "{}", to_string(&out));
    }
    let mut items = String::from("list:\n");
    write_item(&mut items, 2, &owned());
    write_item(&mut items, 2, &Out::mapping([("a", owned())]));
    let node = parse(&items, &Limits::small()).expect("what was just written can be read");
    let expected = Out::mapping([("list", Out::sequence([owned(), Out::mapping([("a", owned())])]))]);
    assert_eq!(meaning(&node), expected);
}

const NASTY: &[&str] = &[
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\0",
    "\u{1}",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{a0}",
    "\u{ad}",
    "\u{200b}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10ffff}",
    "\u{1fffe}",
    "\u{202e}x",
    "y",
    "Y",
    "n",
    "yes",
    "No",
    "NO",
    "on",
    "Off",
    "true",
    "True",
    "FALSE",
    "null",
    "Null",
    "~",
    "=",
    "<<",
    "<",
    ".",
    "..",
    "...",
    "---",
    "--- a",
    "... a",
    "-",
    "--",
    "- ",
    "- a",
    "-a",
    "?",
    "? a",
    "?a",
    ":",
    ": a",
    ":a",
    "a:",
    "a: ",
    "a: b",
    "a:b",
    "a :b",
    "a : b",
    "#",
    "# a",
    "a#b",
    "a #b",
    "a# b",
    "&a",
    "*a",
    "!",
    "!a",
    "!!str a",
    "%",
    "%YAML 1.2",
    "@a",
    "`a`",
    "|",
    "|-",
    ">",
    "> a",
    "[",
    "]",
    "[]",
    "[a]",
    "{",
    "}",
    "{}",
    "{a: b}",
    "{{redacted:openai_key:1}}",
    ",",
    ", a",
    "'",
    "''",
    "'a'",
    "a'b",
    "\"",
    "\"a\"",
    "\\",
    "\\n",
    "a\\",
    "0",
    "1",
    "-1",
    "+1",
    "01",
    "0o7",
    "0x1F",
    "0b1",
    "1.",
    ".5",
    "1.5",
    "1e3",
    "1E3",
    "1e",
    "1_000",
    "1:20",
    "190:20:30",
    ".inf",
    "-.INF",
    ".nan",
    "nan",
    "inf",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "12:30:45",
    "1,000",
    "0.",
    "-0",
    "e3",
    "0x",
    "1a",
    "a\nb",
    "a\nb\n",
    "a\n\nb",
    "a\n\n",
    "a\n\n\n",
    "\na",
    "\n\na\n",
    " a\nb",
    "  a\n b\n",
    "\n a",
    "a\n b",
    "a\n  b\n",
    "a \nb",
    "a\n \nb",
    "a\nb ",
    "a\n\t\nb",
    "\ta\nb",
    "a\n\tb",
    "\n\ta\n",
    "a\tb",
    "a\tb\nc",
    "a\r\nb\r\n",
    "a\rb",
    "a\u{85}b\nc",
    "a\u{2028}b\nc",
    "---\na",
    "a\n---\nb",
    "...\na\n",
    "# a\n# b\n",
    "- a\n- b\n",
    "a: b\nc: d\n",
    "%a\nb",
    "|\na",
    "\u{feff}a\nb",
    "data: [DONE]",
    "data: {\"a\":\"b\"}\n\n",
    "{\"a\": \"it's\"}",
    "{\n  \"a\": 1\n}\n",
    "\u{1b}[31mred\u{1b}[0m",
    "Grüße",
    "日本語\nテキスト\n",
    "🙂",
    "e\u{301}",
    "👨‍👩‍👧",
    "a  b",
    " a",
    "a ",
    "a\u{a0}",
    "\u{a0}a",
    "\u{3000}a",
    "É: b",
    "key # no",
    "C:\\Users\\n",
];

#[test]
fn every_nasty_text_comes_back_wherever_it_stands() {
    for text in NASTY {
        holds_everywhere(text);
        for other in NASTY {
            let text = format!("{text}{other}");
            let out = Out::mapping([(text.clone(), Out::sequence([Out::text(text)]))]);
            assert_eq!(read_back(&out), out, "{}", to_string(&out));
        }
    }
}

#[test]
fn a_long_key_comes_back() {
    for length in [800, 898, 899, 900, 901, 1023, 1024, 1025, 5_000] {
        holds_everywhere(&"k".repeat(length));
        holds_everywhere(&"ü\n".repeat(length));
    }
}

#[test]
fn no_line_ends_in_a_blank() {
    for text in NASTY {
        let source =
            to_string(&Out::mapping([("a", Out::text(*text)), ("b", Out::sequence([Out::text(*text)]))]));
        assert!(!source.lines().any(|line| line.ends_with([' ', '\t'])), "{source:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_text_comes_back(text in prop_oneof![
        any::<String>(),
        "[ \n\ta-c:#'\"\\-]{0,20}",
        prop::collection::vec(prop::sample::select(NASTY), 1..5).prop_map(|parts| parts.concat()),
        prop::collection::vec(prop::sample::select(NASTY), 1..5).prop_map(|parts| parts.join("\n")),
    ]) {
        holds_everywhere(&text);
    }

    #[test]
    fn a_number_comes_back_as_it_was_spelled(number in any::<f64>().prop_filter("finite", |number| number.is_finite())) {
        let out = Out::mapping([("a", Out::plain(number)), ("b", Out::plain(format!("{number:e}")))]);
        prop_assert_eq!(read_back(&out), out);
    }
}
