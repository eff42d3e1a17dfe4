//! Upstreams behind another proxy.

use std::{
    io::{self, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use wiretape_tests::{
    sandbox::{Invocation, Sandbox},
    upstream::Upstream,
};

use super::scripted::{Scripted, read_head};

#[test]
fn a_named_proxy_gets_a_connect_with_its_credentials() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let proxy = Behind::start(upstream.tls_addr());
    let run = sandbox
        .wiretape("record")
        .args(["--upstream-proxy", &format!("http://me:p%40ss@{}", proxy.server.addr)]);
    let outcome = fetch(run, &upstream).run().exits(0);
    assert_eq!(outcome.stdout(), "call 1");
    let heads = proxy.heads.lock().unwrap().clone();
    assert_eq!(heads.len(), 1, "{heads:?}");
    assert_eq!(heads[0][0], "CONNECT faults.test:443 HTTP/1.1");
    let credentials = format!("proxy-authorization: Basic {}", BASE64.encode("me:p@ss"));
    let sent: Vec<String> = heads[0].iter().map(|line| lower_name(line)).collect();
    assert!(sent.contains(&credentials), "{sent:?}");
    assert!(!sandbox.read(CASSETTE).contains("proxy-authorization"));
}

#[test]
fn the_proxy_of_the_environment_is_used() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let proxy = Behind::start(upstream.tls_addr());
    let run = sandbox.wiretape("record").env("HTTPS_PROXY", format!("http://{}", proxy.server.addr));
    assert_eq!(fetch(run, &upstream).run().exits(0).stdout(), "call 1");
    assert_eq!(proxy.heads.lock().unwrap()[0][0], "CONNECT faults.test:443 HTTP/1.1");
}

#[test]
fn the_proxy_of_the_environment_is_not_used_for_exempt_hosts() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let proxy = Behind::start(upstream.tls_addr());
    let direct = format!("faults.test:443:{}", upstream.tls_addr());
    let run = sandbox
        .wiretape("record")
        .env("HTTPS_PROXY", format!("http://{}", proxy.server.addr))
        .env("NO_PROXY", "other.test,.test")
        .args(["--connect-to", &direct]);
    assert_eq!(fetch(run, &upstream).run().exits(0).stdout(), "call 1");
    assert_eq!(*proxy.heads.lock().unwrap(), Vec::<Vec<String>>::new());
}

#[test]
fn a_proxy_that_refuses_is_an_unreachable_upstream() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let refusing = Scripted::start(|mut stream| {
        read_head(&stream);
        let _ = stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    });
    let run = sandbox.wiretape("record").args(["--upstream-proxy", &format!("http://{}", refusing.addr)]);
    // curl's code for a connection that broke.
    let outcome = fetch(run, &upstream).run().exits(56);
    assert!(outcome.stderr().contains("upstream unreachable"), "{outcome}");
    super::gate::says(&sandbox.read(CASSETTE), "fault: unreachable");
}

fn fetch<'a>(run: Invocation<'a>, upstream: &Upstream) -> Invocation<'a> {
    let run = run.arg("--upstream-ca").arg(upstream.ca_file());
    run.cassette(CASSETTE).child(["curl", "-sS", "--http1.1", "https://faults.test/repeat"])
}

/// A proxy that leads every tunnel to one address and keeps the heads it was sent.
#[derive(Debug)]
struct Behind {
    server: Scripted,
    heads: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Behind {
    fn start(to: SocketAddr) -> Self {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heads);
        let server = Scripted::start(move |mut stream| {
            noted.lock().unwrap().push(read_head(&stream));
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let upstream = TcpStream::connect(to).unwrap();
            let (up, down) = (upstream.try_clone().unwrap(), stream.try_clone().unwrap());
            thread::spawn(move || pump(upstream, stream));
            pump(down, up);
        });
        Self { server, heads }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream) {
    // Either side may leave at any time.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn lower_name(line: &str) -> String {
    match line.split_once(':') {
        Some((name, value)) => format!("{}:{value}", name.to_ascii_lowercase()),
        None => line.to_owned(),
    }
}

const CASSETTE: &str = "cassettes/behind.yaml";
