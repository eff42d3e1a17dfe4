//! Multipart bodies.

use exchange::Request;
use wiretape_matchers::Policy;

use crate::{exact, matches, matches_under, post, told, volatile};

/// A part: its header lines and its content.
type Part<'a> = (&'a str, &'a str);

fn upload(boundary: &str, parts: &[Part<'_>]) -> Request {
    let mut body = String::from("a preamble\r\n");
    for (head, content) in parts {
        body += &format!("--{boundary}\r\n{head}\r\n\r\n{content}\r\n");
    }
    body += &format!("--{boundary}--\r\nan epilogue");
    post(&format!("multipart/form-data; boundary=\"{boundary}\""), body)
}

fn field<'a>(head: &'a str, content: &'a str) -> Part<'a> {
    (head, content)
}

const PURPOSE: &str = "Content-Disposition: form-data; name=\"purpose\"";
const FILE: &str =
    "Content-Disposition: form-data; name=\"file\"; filename=\"a;b.txt\"\r\nContent-Type: text/plain";
const DATA: &str = "content-disposition: form-data; name=data\r\ncontent-type: application/json";

#[test]
fn the_boundary_preamble_and_epilogue_do_not_count() {
    let parts = [field(PURPOSE, "batch"), field(FILE, "line\r\n--no boundary\r\n")];
    let recorded = upload("one", &parts);
    let mut live = upload("another-one", &parts);
    assert!(matches(&recorded, &live));
    let text = String::from_utf8(live.body.bytes().unwrap().to_vec()).unwrap();
    let bare = text.trim_start_matches("a preamble\r\n").trim_end_matches("\r\nan epilogue").to_owned();
    live.body = exchange::Body::from_bytes(bare);
    assert!(matches(&recorded, &live));
}

#[test]
fn name_filename_content_type_content_and_order_count() {
    let recorded = upload("b", &[field(PURPOSE, "batch"), field(FILE, "x")]);
    for (parts, difference) in [
        (vec![field(PURPOSE, "batch"), field(FILE, "y")], "body.file: x -> y"),
        (vec![field(PURPOSE, "other"), field(FILE, "x")], "body.purpose: batch -> other"),
        (vec![field(FILE, "x"), field(PURPOSE, "batch")], "body: parts purpose, file -> parts file, purpose"),
        (vec![field(FILE, "x")], "body.purpose: batch -> -"),
        (vec![field(PURPOSE, "batch"), field(FILE, "x"), field(FILE, "z")], "body.file[1]: - -> z"),
        (
            vec![field(PURPOSE, "batch"), field(&FILE.replace("a;b", "c"), "x")],
            "body.file.filename: a;b.txt -> c.txt",
        ),
        (
            vec![field(PURPOSE, "batch"), field(&FILE.replace("plain", "html"), "x")],
            "body.file.content-type: text/plain -> text/html",
        ),
    ] {
        let live = upload("c", &parts);
        assert!(!matches(&recorded, &live), "{difference}");
        assert_eq!(told(&Policy::default(), &recorded, &live), [difference]);
    }
}

#[test]
fn a_json_part_is_compared_by_structure() {
    let recorded = upload("b", &[field(DATA, r#"{"a":1,"b":2}"#)]);
    assert!(matches(&recorded, &upload("c", &[field(DATA, r#"{ "b": 2.0, "a": 1 }"#)])));
    let live = upload("c", &[field(DATA, r#"{"a":1,"b":3}"#)]);
    assert!(!matches(&recorded, &live));
    assert_eq!(told(&Policy::default(), &recorded, &live), ["body.data.b: 2 -> 3"]);
}

#[test]
fn a_text_field_may_hold_a_volatile_shape_but_a_file_may_not() {
    let uuids = ["0b9f6d1c-3f0e-4c57-9d0a-0d5a8f0c7a11", "6f9619ff-8b86-d011-b42d-00c04fc964ff"];
    let [a, b] = uuids.map(|uuid| upload("b", &[field(PURPOSE, uuid)]));
    assert!(matches(&a, &b));
    assert!(!matches_under(&exact(), &a, &b));
    let [a, b] = uuids.map(|uuid| upload("b", &[field(FILE, uuid)]));
    assert!(!matches(&a, &b));
}

#[test]
fn a_part_that_is_a_credential_matches_none() {
    let recorded = upload("b", &[field(PURPOSE, "{{redacted:token:1}}"), field(FILE, "x")]);
    assert!(matches(&recorded, &upload("c", &[field(FILE, "x")])));
    assert!(!matches(&recorded, &upload("c", &[field(PURPOSE, "plain"), field(FILE, "x")])));
}

#[test]
fn a_part_can_be_volatile_and_so_can_its_filename() {
    let recorded = upload("b", &[field(PURPOSE, "batch"), field(FILE, "x")]);
    let renamed = FILE.replace("a;b", "c");
    let live = upload("b", &[field(PURPOSE, "other"), field(&renamed, "x")]);
    assert!(matches_under(&volatile(&["body.purpose", "body.file.filename"]), &recorded, &live));
    assert!(!matches_under(&volatile(&["body.purpose"]), &recorded, &live));
    assert!(!matches_under(&volatile(&["body.file.filename"]), &recorded, &live));
}

#[test]
fn one_of_several_parts_of_a_name_can_be_volatile() {
    let policy = volatile(&["body.purpose[0]"]);
    let recorded = upload("b", &[field(PURPOSE, "one"), field(PURPOSE, "two")]);
    let live = upload("b", &[field(PURPOSE, "other"), field(PURPOSE, "two")]);
    assert!(!matches(&recorded, &live));
    assert!(matches_under(&policy, &recorded, &live));
    // In a JSON part the index is one of its items, and the part keeps its own number.
    let list = upload("b", &[field(PURPOSE, "[1,2]")]);
    assert!(matches_under(&policy, &list, &upload("b", &[field(PURPOSE, "[7,2]")])));
    assert!(!matches_under(&policy, &list, &upload("b", &[field(PURPOSE, "[1,3]")])));
    let second = upload("b", &[field(PURPOSE, "one"), field(PURPOSE, "[1,2]")]);
    assert!(!matches_under(&policy, &list, &second));
}

#[test]
fn parts_may_lack_names_headers_and_content() {
    let mixed = |body: &str| post("multipart/mixed; boundary=b", body);
    let recorded = mixed("--b\r\n\r\none\r\n--b\r\nContent-ID: 1\r\n\r\n--b\r\n--b--");
    assert!(matches(&recorded, &mixed("--b  \r\n\r\none\r\n--b\r\n\r\n\r\n--b\r\n\r\n\r\n--b--\r\n")));
    let live = mixed("--b\r\n\r\ntwo\r\n--b\r\n\r\n\r\n--b\r\n--b--");
    assert_eq!(told(&Policy::default(), &recorded, &live), ["body[0]: one -> two"]);
}

#[test]
fn a_malformed_multipart_body_is_compared_as_it_is() {
    for (media, body) in [
        ("multipart/form-data; boundary=b", "--b\r\n\r\nunfinished"),
        ("multipart/form-data; boundary=other", "--b\r\n\r\nx\r\n--b--"),
        ("multipart/form-data", "--b\r\n\r\nx\r\n--b--"),
        ("multipart/form-data; boundary=b", "--b\r\nno colon\r\n\r\nx\r\n--b--"),
    ] {
        assert!(matches(&post(media, body), &post(media, body)), "{body}");
        assert!(!matches(&post(media, body), &post(media, format!("{body}\r\n"))), "{body}");
    }
}
