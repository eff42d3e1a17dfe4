//! What is refused, where the finger points, and what is said.

use wiretape_yaml::{Limits, Problem, Value, parse};

fn refused(source: &str) -> Problem {
    match parse(source, &Limits::small()) {
        Err(problem) => problem,
        Ok(node) => panic!("accepted {source:?} as {node:?}"),
    }
}

/// Position, message, and the text under the span.
fn told(source: &str) -> (String, String, &str) {
    let problem = refused(source);
    let under = &source[problem.span.start..problem.span.end];
    (problem.span.position(source).to_string(), problem.message, under)
}

fn line(position: &str, message: &str, under: &'static str) -> (String, String, &'static str) {
    (position.to_owned(), message.to_owned(), under)
}

#[test]
fn the_parts_of_yaml_we_leave_out_are_named_and_located() {
    assert_eq!(told("a: 1\nb: &x 2\n"), line("2:4", "the anchor `&x` is not allowed", "&x"));
    assert_eq!(told("a: &x\n  b: 2\n"), line("1:4", "the anchor `&x` is not allowed", "&x"));
    assert_eq!(told("a: *x\n"), line("1:4", "the alias `*x` is not allowed", "*x"));
    assert_eq!(told("a: !!binary aGk=\n"), line("1:4", "the tag `!!binary` is not allowed", "!!binary"));
    assert_eq!(told("a: !t\n  - b\n"), line("1:4", "the tag `!t` is not allowed", "!t"));
    assert_eq!(told("a:\n  <<: {b: 1}\n"), line("2:3", "the merge key `<<` is not allowed", "<<"));
    assert_eq!(told("? [a]\n: b\n"), line("1:3", "a key must be a scalar, not a list or a mapping", "["));
    assert_eq!(told("{a: 1}: b\n"), line("1:1", "a key must be a scalar, not a list or a mapping", "{"));
    assert_eq!(told("a:\n  : b\n"), line("2:3", "a key is missing here", ""));
    assert_eq!(told("a: 1\n---\nb: 2\n"), line("2:1", "a second document in the same file", "---"));
    for source in
        ["a: &x 1\n", "a: *x\n", "a: !t 1\n", "<<: 1\n", "? [a]\n: b\n", "a: 1\n---\nb: 2\n", "a: 1\na: 2\n"]
    {
        assert!(refused(source).help.is_some(), "{source:?}");
    }
}

#[test]
fn a_repeated_key_points_at_both_places() {
    for source in ["a: 1\nb: 2\n'a': 3\n", "a: 1\nb: [2]\n'a': 3\n"] {
        let problem = refused(source);
        assert_eq!(problem.to_string(), "the key `a` is defined twice");
        assert_eq!(problem.span.position(source).to_string(), "3:1");
        let (first, label) = problem.related.unwrap();
        assert_eq!(
            (first.position(source).to_string(), label.as_str()),
            ("1:1".to_owned(), "first defined here")
        );
    }
}

#[test]
fn broken_syntax_is_located() {
    assert_eq!(told("a: 1\nb: [1, 2\n").0, "2:4");
    assert_eq!(told("a: 1\nb: 'x"), line("2:4", "unclosed quote", "'"));
    assert_eq!(
        refused("a: 'x\nb: 2\n").help.as_deref(),
        Some("close the quote opened above, or indent this line further")
    );
    assert_eq!(told("a:\n\tb: 1\n").0, "2:2");
    assert_eq!(refused("a:\n\tb: 1\n").help.as_deref(), Some("indent with spaces"));
    assert_eq!(told("a: b: c\n").0, "1:5");
    assert_eq!(told("a:\n    b: 1\n  c: 2\n").0, "3:3");
    assert_eq!(told("ä: @x\n"), line("1:4", "unexpected character: `@'", "@"));
    assert_eq!(told("a: \"\\q\"\n").0, "1:4");
}

#[test]
fn control_characters_are_refused_wherever_they_stand() {
    for (source, position, code) in [
        ("a: b\0c\n", "1:5", "U+0000"),
        ("a: 1\n# \u{1b}\n", "2:3", "U+001B"),
        ("a: '\u{7f}'\n", "1:5", "U+007F"),
        ("a: |\n  b\u{9b}\n", "2:4", "U+009B"),
        ("a: \u{ffff}\n", "1:4", "U+FFFF"),
        ("a: \u{feff}b\n", "1:4", "U+FEFF"),
    ] {
        let problem = refused(source);
        assert_eq!(problem.message, format!("the character {code} is not allowed in the file"));
        assert_eq!(problem.span.position(source).to_string(), position);
    }
}

#[test]
fn limits_are_kept() {
    let limits = Limits { max_bytes: 100, max_depth: 3, max_nodes: 10 };
    let message = |source: &str| parse(source, &limits).unwrap_err().message;
    assert_eq!(message(&"#".repeat(101)), "the file has 101 bytes, more than the 100 allowed");
    assert_eq!(message("a:\n  b:\n    c:\n      d: 1\n"), "nested more than 3 levels deep");
    assert_eq!(message("[[[[[[[[[["), "nested more than 3 levels deep");
    assert_eq!(message("- - - - - - - - a\n"), "nested more than 3 levels deep");
    assert_eq!(message("[1,2,3,4,5,6,7,8,9,10]"), "more than the 10 values allowed in one file");
    assert_eq!(message(&"- 1\n".repeat(10)), "more than the 10 values allowed in one file");
    assert!(parse("a:\n  b:\n    c: 1\n", &limits).is_ok());
}

#[test]
fn absurd_nesting_is_refused_whatever_the_limits_say() {
    let limits = Limits { max_bytes: usize::MAX, max_depth: usize::MAX, max_nodes: usize::MAX };
    for source in
        ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000) + "a\n"]
    {
        assert_eq!(parse(&source, &limits).unwrap_err().message, "nested more than 128 levels deep");
    }
}

#[test]
fn what_a_person_may_write_is_read() {
    let source = "\u{feff}%YAML 1.2\n---\n# a suite\ncases:   # all of them\n- { name: x, run: [python, 'a.py'] }\n- name: >\n    two\n    lines\n  empty:\n...\n";
    let node = parse(source, &Limits::small()).unwrap();
    let cases = node.get("cases").unwrap().sequence("cases").unwrap();
    assert_eq!(cases[0].get("run").unwrap().sequence("run").unwrap()[1].as_text(), Some("a.py"));
    assert_eq!(cases[1].get("name").unwrap().as_text(), Some("two lines\n"));
    assert!(cases[1].get("empty").unwrap().is_null());
    assert_eq!(node.get("cases").unwrap().span.position(source).to_string(), "5:1");
}

#[test]
fn windows_line_breaks_are_read() {
    let node = parse("a: 1\r\nb: |\r\n  x\r\n  y\r\n", &Limits::small()).unwrap();
    assert_eq!(node.get("b").unwrap().as_text(), Some("x\ny\n"));
}

#[test]
fn a_source_without_a_document_is_null() {
    for source in ["", "\n", "# only a comment\n", "\u{feff}", "---\n"] {
        assert!(parse(source, &Limits::small()).unwrap().is_null(), "{source:?}");
    }
}

#[test]
fn spans_cover_what_they_name() {
    let source = "a: 1\nb:\n  - 'x y'\n  - |\n    one\n    two\n\nc: [1, 2]  # tail\n";
    let node = parse(source, &Limits::small()).unwrap();
    let under = |node: &wiretape_yaml::Node<'_>| source[node.span.start..node.span.end].to_owned();
    let Value::Mapping(entries) = &node.value else { panic!("a mapping") };
    assert_eq!(under(&entries[1].0), "b");
    assert_eq!(under(&entries[1].1), "- 'x y'\n  - |\n    one\n    two");
    assert_eq!(under(&entries[1].1.sequence("b").unwrap()[0]), "'x y'");
    assert_eq!(under(&entries[1].1.sequence("b").unwrap()[1]), "one\n    two");
    assert_eq!(under(&entries[2].1), "[1, 2]");
    assert_eq!(under(&node), source.trim_end().strip_suffix("  # tail").unwrap());
}
