//! Where a message ends and what may stand around it: lengths, trailers, interim heads.

use std::io::Write;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, StreamBody};

use super::{
    gate::Lab,
    h2::{self, Server},
    raw::Raw,
    scripted::{Scripted, read_head},
};

#[test]
fn trailers_that_follow_a_body_of_known_length_reach_the_client_and_the_cassette() {
    let upstream = Server::start("known.test", || {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", "0".parse().unwrap());
        let frames = [Ok(Frame::data(Bytes::from_static(b"seven b"))), Ok(Frame::trailers(trailers))];
        let body = StreamBody::new(stream::iter(frames)).boxed_unsync();
        Response::builder().header("content-length", "7").body(body).unwrap()
    });
    let lab = Lab::new().map("known.test:443", upstream.addr);
    let ca = lab.home.write("ca.pem", &upstream.certificate);
    let both = lab.record_with(&["--upstream-ca", ca.to_str().unwrap()]).both(|gate| {
        h2::speak(gate, "known.test", async |mut sender| {
            let request = Request::get("https://known.test/").body(Empty::new().boxed_unsync()).unwrap();
            let body = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
            (body.trailers().cloned(), body.to_bytes())
        })
    });
    let trailers = both.recorded.0.as_ref().unwrap();
    assert_eq!((trailers.len(), trailers["grpc-status"].as_bytes()), (1, b"0".as_slice()));
    assert_eq!(both.recorded.1, "seven b");
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("trailers:").cassette_says("grpc-status: '0'");
}

#[test]
fn a_flood_of_interim_heads_is_kept_in_part_and_the_answer_whole() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        let hint = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n";
        stream.write_all(hint.repeat(10_000).as_bytes()).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone").unwrap();
    });
    let both = Lab::new().map("flood.test:80", upstream.addr).both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("flood.test", "http://flood.test/", "");
        loop {
            // A proxy may forward them or not.
            match raw.answer().unwrap() {
                hint if hint.status() == 103 => {}
                answer => return (answer.status(), answer.text().to_owned()),
            }
        }
    });
    assert_eq!(both.recorded, (200, "done".to_owned()));
    assert_eq!(both.replayed, both.recorded);
    assert_eq!(both.cassette.matches("status: 103").count(), 16, "{}", both.cassette);
}

#[test]
fn chunks_count_where_a_length_says_otherwise() {
    let upstream = Scripted::start(|mut stream| {
        // Stays open for the next request, as the framing allows.
        while !read_head(&stream).is_empty() {
            stream.write_all(TWO_FRAMINGS.as_bytes()).unwrap();
        }
    });
    let both = Lab::new().map("both.test:80", upstream.addr).both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("both.test", "http://both.test/", "");
        let body = raw.answer().unwrap().body;
        // Another answer on the same connection shows that nothing was left over.
        raw.get("both.test", "http://both.test/again", "");
        (body, raw.answer().unwrap().body)
    });
    assert_eq!(both.recorded, (b"abc".to_vec(), b"abc".to_vec()));
    assert_eq!(both.replayed, both.recorded);
    assert_eq!(both.cassette.matches("        text: abc\n").count(), 2, "{}", both.cassette);
    assert!(!both.cassette.contains("content-length"), "{}", both.cassette);
}

const TWO_FRAMINGS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\
                            transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
