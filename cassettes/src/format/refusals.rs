//! What is not a cassette is refused, with its place and what to do.

use super::*;

fn refusal(source: &str) -> (String, String, String) {
    let problem = read(source, &|_| Ok(None)).unwrap_err();
    (problem.span.position(source).to_string(), problem.message, problem.help.unwrap_or_default())
}

fn assert_refused(source: &str, place: &str, message: &str, help: &str) {
    assert_eq!(refusal(source), (place.to_owned(), message.to_owned(), help.to_owned()), "in\n{source}");
}

/// A cassette of one exchange, `edit` put in place of the line that is `line`.
fn edited(line: &str, edit: &str) -> String {
    let good = "\
wiretape: cassette/1
exchanges:
  - id: 1
    request:
      method: GET
      url: https://a/
      headers:
        x-a: b
    response:
      status: 200
      body:
        text: hi
";
    read(good, &|_| Ok(None)).unwrap();
    assert!(good.contains(line), "{line}");
    good.replace(line, edit)
}

#[test]
fn a_cut_at_any_byte_is_noticed() {
    let whole =
        format!("{}{}", header(None, None), edited("", "").split_once("exchanges:\n").unwrap().1) + FOOTER;
    assert!(read(&whole, &|_| Ok(None)).is_ok());
    // Without its very last line break the cassette is still whole.
    for end in 0..whole.len() - 1 {
        assert!(read(&whole[..end], &|_| Ok(None)).is_err(), "cut at byte {end}");
    }
    // Dots at the end of a value are not the closing line.
    let dots = whole.replace("text: hi\n...\n", "text: hi...\n");
    assert_eq!(refusal(&dots).0, "13:20");
    let cut = &whole[..whole.len() - FOOTER.len()];
    assert_refused(
        cut,
        "13:17",
        "the cassette is cut short: it opens with `---`, and its last line is not `...`",
        "restore it from version control, or delete it and record again; if it is whole, end it with the line `...`",
    );
}

#[test]
fn places_count_from_the_opening_line() {
    let source = format!("---\n{}...\n", edited("status: 200", "status: 99"));
    assert_refused(&source, "11:15", "expected the status between 100 and 999, found 99", "");
}

#[test]
fn another_format_is_named() {
    assert_refused(
        &edited("cassette/1", "cassette/2"),
        "1:11",
        "this cassette has format 2; this wiretape reads up to format 1",
        "upgrade wiretape",
    );
    let help = "a cassette has the key `wiretape: cassette/1`";
    assert_refused("wiretape: overlay/1\n", "1:11", "not a wiretape cassette", help);
    assert_refused("wiretape: cassette/01\n", "1:11", "not a wiretape cassette", help);
    assert_refused("wiretape: cassette/0\n", "1:11", "not a wiretape cassette", help);
    assert_refused("- a\n", "1:1", "not a wiretape cassette", help);
    assert_refused("", "1:1", "not a wiretape cassette", help);
}

#[test]
fn keys_are_known_and_stand_once() {
    assert_refused(
        &edited("status: 200", "staus: 200"),
        "10:7",
        "missing key `status` in the response",
        "did you mean `status` where `staus` stands?",
    );
    assert_refused(
        &edited("status: 200", "status: 200\n      trailer: {}"),
        "11:7",
        "unknown key `trailer` in the response",
        "did you mean `trailers`?",
    );
    assert_refused(
        &edited("method: GET", "method: GET\n      method: PUT"),
        "6:7",
        "the key `method` is defined twice",
        "remove one of the two, or rename it",
    );
    // A key beside the wrong kind of body is as unknown as any other.
    let (place, message, _) = refusal(&edited("text: hi", "text: hi\n        size: 2"));
    assert_eq!((place.as_str(), message.as_str()), ("13:9", "unknown key `size` in the body"));
    let (place, message, _) = refusal(&edited("    request:", "    after: 5ms\n    request:"));
    assert_eq!((place.as_str(), message.as_str()), ("4:5", "unknown key `after` in the exchange"));
}

#[test]
fn types_are_those_of_the_format() {
    for (line, edit, place, message) in [
        ("id: 1", "id: one", "3:9", "expected the id as a whole number, found text"),
        ("id: 1", "id: '1'", "3:9", "expected the id as a whole number, found quoted text"),
        ("status: 200", "status: 1000", "10:15", "expected the status between 100 and 999, found 1000"),
        ("text: hi", "text: [hi]", "12:15", "expected the text as text, found a list"),
        (
            "status: 200",
            "status: 200\n      after: 5",
            "11:14",
            "expected the delay of the response as a duration, found `5`",
        ),
        (
            "status: 200",
            "status: 200\n      ends: whole",
            "11:13",
            "unknown value `whole` for how the response ends",
        ),
        ("  - id: 1", "  - 1\n  - id: 1", "3:5", "expected the exchange as a mapping, found a number"),
        (
            "text: hi",
            "text: hi\n        as_sent: yes",
            "13:18",
            "expected as_sent as true or false, found text",
        ),
    ] {
        let (found_place, found, _) = refusal(&edited(line, edit));
        assert_eq!((found_place.as_str(), found.as_str()), (place, message), "{edit}");
    }
}

#[test]
fn ids_are_in_order() {
    assert_refused(
        &edited("id: 1", "id: 2"),
        "3:9",
        "expected id 1, found 2",
        "number the exchanges 1, 2, 3 … in the order of the file",
    );
}

#[test]
fn an_exchange_has_one_reply() {
    assert_refused(
        &edited("    response:", "    fault: reset\n    response:"),
        "9:5",
        "an exchange has a response or a fault, not both",
        "write a response that broke off with `ends` inside the response",
    );
    let source = edited("", "");
    let (request, _) = source.split_once("    response:").unwrap();
    assert_refused(
        request,
        "3:5",
        "the exchange has no `response` and no `fault`",
        "write `response` for what came back, or `fault` if nothing did",
    );
    assert_refused(
        &format!("{request}    fault: rest\n"),
        "9:12",
        "unknown value `rest` for the fault",
        "did you mean `reset`?",
    );
}

#[test]
fn a_body_has_one_kind_of_content() {
    assert_refused(
        &edited("text: hi", "text: hi\n        json: {}"),
        "12:9",
        "the body has both `json` and `text`",
        "keep one of the two",
    );
    assert_refused(
        &edited("text: hi", "as_sent: true"),
        "12:9",
        "the body has no content",
        "write one of `json`, `text`, `base64`, `events`, `lines`, `chunks`, `blob`, `omitted`",
    );
    assert_refused(
        &edited("text: hi", "base64: /w"),
        "12:17",
        "not base64: invalid padding",
        "write it in the standard alphabet, padded, on one line",
    );
    assert_refused(
        &edited("text: hi", "json: {}\n        json_style: fancy"),
        "13:21",
        "unknown JSON style",
        "write `compact`, `spaced`, `indent2` or `tab`, then `ascii` or `html`, then `newline`, as needed",
    );
}

#[test]
fn no_header_can_bring_a_second_one() {
    let help = "write the value on one line; another header needs a key of its own";
    let message = "value of header `x-a` holds a line break or a control character";
    assert_refused(&edited("x-a: b", "x-a: \"b\\r\\nx-c: d\""), "8:14", message, help);
    assert_refused(&edited("x-a: b", "x-a: {base64: YgpjCg==}"), "8:14", message, help);
    assert_refused(&edited("x-a: b", "x-a:\n          - ok\n          - \"b\\nc\""), "10:13", message, help);
    assert_refused(
        &edited("x-a: b", "'x a': b"),
        "8:9",
        "header name \"x a\" is empty or holds a character that no header name may hold",
        "a header name is made of letters, digits and !#$%&'*+-.^_`|~",
    );
    assert_refused(
        &edited("x-a: b", "X-A: b"),
        "8:9",
        "header name `X-A` is not in lower case",
        "write `x-a`",
    );
    assert_refused(
        &edited("x-a: b", "x-a: []"),
        "8:14",
        "a header needs a value",
        "write '' for an empty value, or remove the header",
    );
    assert_refused(
        &edited("status: 200", "status: 200\n      reason: \"a\\r\\nb\""),
        "11:15",
        "the reason holds a line break or a control character",
        "write it on one line, or leave it out",
    );
    assert_refused(
        &edited("method: GET", "method: GET /"),
        "5:15",
        "the method holds a character that no method may hold",
        "write it as it was sent, such as GET or POST",
    );
    assert_refused(
        &edited("url: https://a/", "url: /a"),
        "6:12",
        "url does not start with http:// or https://",
        "write the whole url, such as https://api.github.com/repos/a/b?page=2",
    );
}

#[test]
fn aliases_and_depth_are_refused() {
    assert_refused(
        &edited("text: hi", "json: &a [1]"),
        "12:15",
        "the anchor `&a` is not allowed",
        "write the value out wherever it is needed, or put it in quotes if it is text",
    );
    let bomb = "wiretape: cassette/1\na: &a [x, x]\nb: &b [*a, *a]\nexchanges: []\n";
    assert_eq!(refusal(bomb).0, "2:4");
    let deep = edited("text: hi", &format!("json: {}{}", "[".repeat(100), "]".repeat(100)));
    assert_eq!(refusal(&deep).1, "nested more than 48 levels deep");
}

#[test]
fn delays_and_cuts_belong_to_a_stream_that_has_them_from_the_start() {
    let events = |items: &str| edited("        text: hi", &format!("        events:\n{items}"));
    let help = "write `after: 0ms` on the first item, or remove every `after` and `cuts`";
    let message = "a delay here needs one on the first item too";
    assert_refused(
        &events("          - text: a\n          - after: 1ms\n            text: b"),
        "14:20",
        message,
        help,
    );
    assert_refused(&events("          - text: a\n            cuts: [{at: 1}]"), "14:20", message, help);
    assert_refused(
        &events("          - after: 0ms\n            text: a\n            cuts: [{at: 2}, {at: 2}]"),
        "15:34",
        "no cut can stand at byte 2 here",
        "cuts are in order, and lie inside the 3 bytes of the item",
    );
    assert_refused(
        &events("          - after: 0ms\n            text: a\n            cuts: [{at: 3}]"),
        "15:25",
        "no cut can stand at byte 3 here",
        "cuts are in order, and lie inside the 3 bytes of the item",
    );
    assert_refused(
        &events("          - text: a\n            open: true\n          - text: b"),
        "14:19",
        "only the last item can be open",
        "remove `open`, or join the text with that of the next item",
    );
    assert_refused(
        &edited("text: hi", "events: []"),
        "12:17",
        "expected the events, found an empty list",
        "leave `body` out when it is empty",
    );
}

#[test]
fn a_blob_must_be_there_and_be_itself() {
    let content = Bytes::from_static(b"big body");
    let sha256 = Sha256::of(&content);
    let source = edited("text: hi", &format!("blob: {sha256}\n        size: 8"));
    let told = |source: &str, blob: io::Result<Option<Bytes>>| {
        let blob = std::cell::RefCell::new(Some(blob));
        let read = read(source, &|_| blob.take().expect("a blob is fetched once"));
        read.map_err(|problem| (problem.span.position(source).to_string(), problem.message, problem.help))
    };
    let help = Some(
        "restore the `.blobs` folder beside the cassette from where the cassette came from, or record again"
            .to_owned(),
    );
    let refused = |message: &str| Err(("12:15".to_owned(), message.to_owned(), help.clone()));
    assert!(told(&source, Ok(Some(content.clone()))).is_ok());
    assert_eq!(told(&source, Ok(None)), refused("the blob is missing"));
    let changed = Bytes::from_static(b"bad body");
    assert_eq!(told(&source, Ok(Some(changed))), refused("the blob was changed: its hash is not its name"));
    assert_eq!(told(&source, Err(io::Error::other("no disk"))), refused("the blob cannot be read: no disk"));
    let short = source.replace("size: 8", "size: 7");
    assert_eq!(told(&short, Ok(Some(content))), refused("the blob has 8 bytes, and `size` says 7"));

    let framed = source.replace("size: 8", "size: 8\n        frames: [4+0ms, 3+1s]");
    assert_refused(
        &framed,
        "14:17",
        "the frames cover 7 bytes, and `size` says 8",
        "make the lengths add up to the size, or remove `frames`",
    );
    let malformed = source.replace("size: 8", "size: 8\n        frames: [8]");
    assert_refused(&malformed, "14:18", "not a frame", "write its length and its delay, such as 1234+5ms");
    let huge = source.replace("size: 8", &format!("size: 8\n        frames: [{0}+0ms, {0}+0ms]", usize::MAX));
    assert_refused(
        &huge,
        "14:17",
        "the frames cover more bytes than can be, and `size` says 8",
        "make the lengths add up to the size, or remove `frames`",
    );
    assert_refused(
        &source.replace(&sha256.to_string(), "../../etc/passwd"),
        "12:15",
        "not a SHA-256 hash",
        "write 64 hexadecimal digits in lower case",
    );
}

#[test]
fn a_policy_says_what_it_does_not_know() {
    let with = |policy: &str| format!("wiretape: cassette/1\nmatch: {policy}\nexchanges: []\n");
    assert_refused(&with("url"), "2:8", "unknown value `url` for the match policy", "did you mean `uri`?");
    assert_refused(
        &with("{on_repeat: lasts}"),
        "2:20",
        "unknown value `lasts` for `on_repeat`",
        "did you mean `last`?",
    );
    assert_refused(
        &with("{volatile: [bodi.x]}"),
        "2:20",
        "not a field path",
        "write it like body.messages[0].content, query.page or headers.x-trace",
    );
}

#[test]
fn frames_whose_sum_no_number_holds_are_refused() {
    let max = u64::MAX;
    let omitted = format!(
        "omitted: {}\n        size: {max}\n        frames: [{max}+0ms, 5+0ms]",
        Sha256::of(b"whatever")
    );
    assert_refused(
        &edited("text: hi", &omitted),
        "14:17",
        "the frames cover more bytes than can be, and `size` says 18446744073709551615",
        "make the lengths add up to the size, or remove `frames`",
    );
}

#[test]
fn an_interim_status_is_no_status_of_a_response() {
    for status in ["100", "102", "103", "199"] {
        assert_refused(
            &edited("status: 200", &format!("status: {status}")),
            "10:15",
            &format!("{status} is no status of a response"),
            "interim responses stand under `informational`",
        );
    }
    assert!(read(&edited("status: 200", "status: 101"), &|_| Ok(None)).is_ok());
}

#[test]
fn only_an_interim_status_stands_under_informational() {
    let with = |status: u16| {
        edited("status: 200", &format!("status: 200\n      informational: [{{status: {status}}}]"))
    };
    for status in [100, 101, 200] {
        assert_refused(
            &with(status),
            "11:32",
            &format!("expected the status of an interim response between 102 and 199, found {status}"),
            "",
        );
    }
    for status in [102, 103, 199] {
        assert!(read(&with(status), &|_| Ok(None)).is_ok(), "{status}");
    }
}

#[test]
fn no_credential_counts_in_a_policy() {
    for name in ["authorization", "Cookie", "X-Api-Key", "x-gitlab-token"] {
        assert_refused(
            &format!("wiretape: cassette/1\nmatch:\n  headers: [x-a, {name}]\nexchanges: []\n"),
            "3:18",
            &format!("`{name}` holds a credential"),
            "a credential is never compared: remove it from the headers that count",
        );
    }
}

#[test]
fn a_redaction_holds_placeholders_and_nothing_else() {
    let with = |redaction: &str| format!("wiretape: cassette/1\nredaction: {redaction}\nexchanges: []\n");
    let placeholder = "'{{redacted:openai_key:1}}'";
    let no_placeholder = "expected a placeholder for the value of a variable";
    let quoted = "write it like '{{redacted:openai_key:1}}', in quotes";
    let name = "letters, digits and `_`, such as OPENAI_API_KEY";
    for (redaction, place, message, help) in [
        ("2", "2:12", "expected the redaction as a mapping, found a number", ""),
        ("{env: {}}", "2:12", "missing key `ruleset` in the redaction", ""),
        (
            "{ruleset: 1, hash: x}",
            "2:25",
            "unknown key `hash` in the redaction",
            "known here: `ruleset`, `env`",
        ),
        (
            "{ruleset: 1, ruleset: 1}",
            "2:25",
            "the key `ruleset` is defined twice",
            "remove one of the two, or rename it",
        ),
        ("{ruleset: 0}", "2:22", "expected the ruleset between 1 and 4294967295, found 0", ""),
        ("{ruleset: one}", "2:22", "expected the ruleset as a whole number, found text", ""),
        (
            "{ruleset: 1, env: [A]}",
            "2:30",
            "expected the variables that were used as a mapping, found a list",
            "",
        ),
        ("{ruleset: 1, env: {A: b}}", "2:34", no_placeholder, quoted),
        ("{ruleset: 1, env: {A: 'x{{redacted:token:1}}'}}", "2:34", no_placeholder, quoted),
        ("{ruleset: 1, env: {A: '{{redacted:token:1}}x'}}", "2:34", no_placeholder, quoted),
        ("{ruleset: 1, env: {A: '{{redacted:token:99999999999}}'}}", "2:34", no_placeholder, quoted),
        ("{ruleset: 1, env: {A: [b]}}", "2:34", no_placeholder, quoted),
        (&format!("{{ruleset: 1, env: {{1A: {placeholder}}}}}"), "2:31", "not the name of a variable", name),
        (
            &format!("{{ruleset: 1, env: {{'A=B': {placeholder}}}}}"),
            "2:31",
            "not the name of a variable",
            name,
        ),
        (&format!("{{ruleset: 1, env: {{'': {placeholder}}}}}"), "2:31", "not the name of a variable", name),
        (
            &format!("{{ruleset: 1, env: {{A: {placeholder}, A: {placeholder}}}}}"),
            "2:63",
            "the key `A` is defined twice",
            "remove one of the two, or rename it",
        ),
    ] {
        assert_refused(&with(redaction), place, message, help);
    }
}
