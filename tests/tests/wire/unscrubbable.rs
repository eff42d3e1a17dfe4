//! What cannot be looked into is passed on, and never written down.

use std::io::Write;

use wiretape_tests::{
    sandbox::Sandbox,
    shell::shell,
    traces::{journals, urls},
};

use super::scripted::{Scripted, read_head};

#[test]
fn a_body_that_cannot_be_decoded_reaches_the_client_and_no_file_and_fails_the_run() {
    let sandbox = Sandbox::new();
    // Neither Brotli, as it says, nor text.
    let odd = [0xff, 0xfe, 0x00, 0x81, b'h', b'u', b's', b'h'];
    let upstream = Scripted::start(move |mut stream| {
        let is_plain = read_head(&stream)[0].contains("/plain");
        let head = if is_plain { "" } else { "content-encoding: br\r\n" };
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}content-length: 8\r\n\r\n").as_bytes()).unwrap();
        stream.write_all(&odd).unwrap();
    });
    let run = sandbox.wiretape("record").args(["--connect-to", &format!("odd.test:80:{}", upstream.addr)]);
    let script = "curl -sS http://odd.test/plain -o plain; curl -sS http://odd.test/coded -o coded";
    let outcome = shell(run, "odd.yaml", script).run().exits(1);
    assert_eq!(std::fs::read(sandbox.path("coded")).unwrap(), odd);
    assert!(
        outcome.stderr().contains(
            "error: call 2: GET http://odd.test/coded is not kept: the reply says that it is coded as br, and cannot be decoded: \
             nobody can tell what is in it\n"
        ),
        "{outcome}"
    );
    assert_eq!(urls(&sandbox.read("odd.yaml")), ["http://odd.test/plain"]);
    assert!(journals(&sandbox).is_empty());
}
