//! Documents of other programs: aliases, tags that are plain data, and what is refused.

use std::time::{Duration, Instant};

use wiretape_yaml::{
    Limits, Node, Problem, ScalarStyle, Value, mend_indentation, parse, parse_foreign, parse_json,
};

fn foreign(source: &str) -> Result<Node<'_>, Problem> {
    parse_foreign(source, &Limits::for_foreign(source.len()))
}

fn json(source: &str) -> Result<Node<'_>, Problem> {
    parse_json(source, &Limits::for_foreign(source.len()))
}

fn place(source: &str, problem: &Problem) -> String {
    format!("{}: {}", problem.span.position(source), problem.message)
}

/// A tree as text: `{a: [b, c]}`, bytes as `<base64>`.
fn shown(node: &Node<'_>) -> String {
    match &node.value {
        Value::Scalar(scalar) if scalar.style == ScalarStyle::Binary => format!("<{}>", scalar.text.trim()),
        Value::Scalar(scalar) => scalar.text.to_string(),
        Value::Sequence(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", shown(key), shown(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

#[test]
fn an_alias_is_a_copy_of_what_it_names() {
    let source = "a: &one\n- x\n- y\nb: *one\nc: {d: *one}\n";
    assert_eq!(shown(&foreign(source).unwrap()), "{a: [x, y], b: [x, y], c: {d: [x, y]}}");
}

#[test]
fn an_alias_inside_what_it_names_is_refused() {
    let source = "a: &loop\n  b: *loop\n";
    assert_eq!(
        place(source, &foreign(source).unwrap_err()),
        "2:6: the alias `*loop` stands inside what it names"
    );
}

#[test]
fn aliases_to_aliases_to_aliases_are_refused_before_they_fill_the_memory() {
    let mut source = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let copies = format!("*a{}, ", level - 1).repeat(10);
        source += &format!("a{level}: &a{level} [{}]\n", copies.trim_end_matches(", "));
    }
    let problem = foreign(&source).unwrap_err();
    assert_eq!(problem.message, "the aliases of this file stand for more than is allowed in one file");
    assert!(problem.span.position(&source).line <= 6, "{}", problem.span.position(&source));
}

#[test]
fn a_long_text_cannot_be_multiplied_by_aliases() {
    let source = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), ["*a"; 1000].join(", "));
    let problem = foreign(&source).unwrap_err();
    assert_eq!(problem.message, "the aliases of this file stand for more than is allowed in one file");
}

#[test]
fn tags_that_are_plain_data_become_that_data() {
    for (source, tree) in [
        ("!!binary aGk=\n", "<aGk=>"),
        ("!binary |\n  aGk=\n", "<aGk=>"),
        ("!<tag:yaml.org,2002:binary> aGk=\n", "<aGk=>"),
        ("!!python/unicode 'hi'\n", "hi"),
        ("!!python/tuple [a, b]\n", "[a, b]"),
        ("!!python/object/new:_io.BytesIO\nstate: !!python/tuple\n- !!binary aGk=\n- 0\n- null\n", "<aGk=>"),
        ("!!python/object/apply:builtins.iter\n- - !!binary aGk=\n", "[<aGk=>]"),
        (
            "? !!python/object/apply:multidict._multidict.istr\n- Content-Type\n: [json]\n",
            "{Content-Type: [json]}",
        ),
        ("!!python/object/apply:multidict._multidict.istr\nargs: [A]\nkwds: {}\n", "A"),
        ("!!str 12\n", "12"),
    ] {
        assert_eq!(shown(&foreign(source).unwrap()), tree, "{source}");
    }
    assert_eq!(foreign("!!str 12\n").unwrap().as_plain(), None, "a number that is tagged as text is text");
}

#[test]
fn a_tag_that_would_run_something_is_refused_by_its_name() {
    for tag in [
        "!!python/object/apply:os.system",
        "!!python/object/new:subprocess.Popen",
        "!!python/name:os.system",
        "!!python/module:os",
        "!ruby/object:Gem::Installer",
        "!!timestamp",
    ] {
        let source = format!("interactions:\n- {tag} ['touch /tmp/x']\n");
        let problem = foreign(&source).unwrap_err();
        assert_eq!(place(&source, &problem), format!("2:3: the tag `{tag}` is not allowed"));
        assert_eq!(
            problem.help.as_deref(),
            Some("only tags that stand for plain data are read; none is ever executed")
        );
    }
}

#[test]
fn a_tagged_value_that_is_not_what_its_tag_promises_is_refused() {
    for source in [
        "!!binary [a]\n",
        "!!python/object/new:_io.BytesIO {other: 1}\n",
        "!!python/object/apply:builtins.iter {kwds: 1}\n",
        "!!python/object/new:_io.BytesIO text\n",
    ] {
        assert!(foreign(source).is_err(), "{source}");
    }
}

#[test]
fn our_own_language_still_has_no_tags_and_no_aliases() {
    for source in ["!!binary aGk=\n", "a: &a 1\n", "a: *b\n"] {
        assert!(parse(source, &Limits::small()).is_err(), "{source}");
    }
}

#[test]
fn a_quoted_text_that_is_not_indented_enough_is_mended() {
    let source = "a:\n    body: 'one\n    two\n\n    three'\n    next: 1\n";
    assert!(foreign(source).is_err());
    let mended = mend_indentation(source).unwrap();
    assert_eq!(shown(&foreign(&mended).unwrap()), "{a: {body: one two\nthree, next: 1}}");
    assert_eq!(mend_indentation("a: 'one\n"), None);
    assert_eq!(mend_indentation("a: b: c\n"), None);
    // Blanks are not what is missing here, and a line gets them once.
    let began = Instant::now();
    let unclosed = "interactions:\n'''''''U''''''A''''''\u{1}:{ki:Dn message, recta -: 1 }}";
    assert_eq!(mend_indentation(unclosed), None);
    assert!(began.elapsed() < Duration::from_millis(300), "took {:?}", began.elapsed());
}

#[test]
fn json_reads_as_the_same_tree_with_places() {
    let source = "\u{feff}{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\ud83d\\ude00\\n\"], \"b\": {}}\n";
    let node = json(source).unwrap();
    assert_eq!(shown(&node), "{a: [1, -2.5e3, true, null, xé😀\n], b: {}}");
    assert_eq!(node.get("b").unwrap().span.position(source).column, 62);
    assert_eq!(json("[\"1\"]").unwrap().sequence("it").unwrap()[0].as_plain(), None);
}

#[test]
fn json_that_is_none_is_refused_with_its_place() {
    for (source, words) in [
        ("", "1:1: expected a value, found the end of the file"),
        ("{\"a\": 1,}", "1:9: expected a key in double quotes, found '}'"),
        ("[1,]", "1:4: expected a value, found ']'"),
        ("[1 2]", "1:4: expected `,` or `]`, found '2'"),
        ("{\"a\" 1}", "1:6: expected `:`, found '1'"),
        ("{a: 1}", "1:2: expected a key in double quotes, found 'a'"),
        ("\"open", "1:1: the text that starts here has no end"),
        ("\"a\nb\"", "1:3: expected the end of the text, or an escape, found '\\n'"),
        ("[01]", "1:2: expected a value, found '0'"),
        ("[nul]", "1:2: expected a value, found 'n'"),
        ("1 2", "1:3: expected the end of the file, found '2'"),
        ("[\"\\ud800\"]", "1:2: the text holds an escape that is none, or half a surrogate pair"),
        ("{\"a\": 1, \"a\": 2}", "1:10: the key `a` is defined twice"),
        ("[é]", "1:2: expected a value, found 'é'"),
    ] {
        assert_eq!(place(source, &json(source).unwrap_err()), words);
    }
}

#[test]
fn deep_json_and_many_values_are_refused() {
    let deep = "[".repeat(1_000_000);
    assert_eq!(json(&deep).unwrap_err().message, "nested more than 100 levels deep");
    let limits = Limits { max_nodes: 3, ..Limits::for_foreign(100) };
    assert_eq!(
        parse_json("[1,2,3]", &limits).unwrap_err().message,
        "more than the 3 values allowed in one file"
    );
    let deep = "- ".repeat(100_000);
    assert_eq!(foreign(&deep).unwrap_err().message, "nested more than 100 levels deep");
}
