//! Node with the preload, from `fetch` to the agents that programs make themselves.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::run::{Setup, output, printed};

/// Shared by the scripts: `read` collects a response, `ask` makes a request and prints what came.
const HELPERS: &str = r#"
const http = require('http'), https = require('https'), http2 = require('http2'), net = require('net'), tls = require('tls');
const read = (response) => new Promise((done, fail) => {
  let text = '';
  response.setEncoding('utf8').on('data', (chunk) => (text += chunk)).on('end', () => done(text)).on('error', fail);
});
const ask = (module, url, options = {}) => new Promise((done, fail) => {
  module.request(url, options, (response) => read(response).then(done, fail)).on('error', fail).end();
});
const ask2 = (url, connect = http2.connect) => new Promise((done, fail) => {
  const session = connect(url).on('error', fail);
  const stream = session.request({ ':path': '/' }).on('error', fail);
  read(stream).then((text) => { session.close(); done(text); }, fail);
});
"#;

/// Runs a script, which may await, and gives its lines.
fn run(setup: &Setup, body: &str) -> Vec<String> {
    printed(setup.command("node", &["-e", &script(body)])).lines().map(str::to_owned).collect()
}

fn script(body: &str) -> String {
    format!(
        "{HELPERS}\n(async () => {{ {body} }})().catch((error) => {{ console.error(error); process.exit(1); }});"
    )
}

#[test]
fn fetch_goes_through_the_proxy() {
    let setup = Setup::new();
    let lines = run(
        &setup,
        "for (const url of ['https://api.example.com/', 'https://10.1.2.3:8443/', 'http://plain.example/'])
           console.log(await (await fetch(url)).text());",
    );
    let targets = ["api.example.com:443", "10.1.2.3:8443", "plain.example:80"];
    assert_eq!(lines, targets.map(|target| format!("hello from {target}")));
    let seen = setup.seen();
    assert_eq!(seen.iter().map(|seen| seen.target.as_str()).collect::<Vec<_>>(), targets);
    assert_eq!(seen[2].protocol, "http/1.1");
}

#[test]
fn ipv6_addresses_are_verified_as_such() {
    let setup = Setup::new();
    // Node 22.23 cannot verify any certificate for an IPv6 address, with or without a proxy.
    let able =
        "!tls.checkServerIdentity('::1', { subjectaltname: 'IP Address:0:0:0:0:0:0:0:1', subject: {} })";
    if setup.printed("node", &["-p", able]) == "false\n" {
        println!("skipped: this Node cannot verify IPv6 addresses");
        return;
    }
    let lines = run(
        &setup,
        "const url = 'https://[2001:db8::1]/';
         console.log(await (await fetch(url)).text());
         for (const agent of [undefined, new https.Agent()]) console.log(await ask(https, url, { agent }));
         console.log(await ask2(url));",
    );
    assert_eq!(lines, ["hello from [2001:db8::1]:443"; 4]);
}

#[test]
fn the_session_in_the_proxy_address_is_passed_on() {
    let setup = Setup::new();
    run(
        &setup,
        "for (const scheme of ['http', 'https']) await (await fetch(scheme + '://a.example/')).text();
         for (const agent of [undefined, new https.Agent()]) await ask(https, 'https://b.example/', { agent });
         for (const agent of [undefined, new http.Agent()]) await ask(http, 'http://b.example/', { agent });
         await ask2('https://c.example/');",
    );
    // `case-7:x` in base64
    let expected = Some("Basic Y2FzZS03Ong=".to_owned());
    let seen = setup.seen();
    assert_eq!(seen.len(), 7);
    assert!(seen.iter().all(|seen| seen.authorization == expected), "{seen:?}");
}

#[test]
fn the_global_agents_go_through_the_proxy() {
    let setup = Setup::new();
    let lines = run(
        &setup,
        "console.log(await ask(https, 'https://api.example.com/'));
         console.log(await ask(https, 'https://10.1.2.3/'));
         console.log(await ask(http, 'http://plain.example/'));
         console.log(await ask(http, 'http://plain.example/again'));",
    );
    let targets = ["api.example.com:443", "10.1.2.3:443", "plain.example:80", "plain.example:80"];
    assert_eq!(lines, targets.map(|target| format!("hello from {target}")));
    assert_eq!(setup.seen().len(), 4);
}

#[test]
fn agents_that_a_program_makes_go_through_the_proxy() {
    let setup = Setup::new();
    // Neither may the idle connections of these agents keep the process from ending.
    let lines = run(
        &setup,
        "const agent = new https.Agent({ keepAlive: true });
         for (const path of ['1', '2']) console.log(await ask(https, 'https://api.example.com/' + path, { agent }));
         console.log(Object.keys(agent.freeSockets).length);
         console.log(await ask(http, 'http://plain.example/', { agent: new http.Agent({ keepAlive: true, timeout: 5000 }) }));",
    );
    let expected = [
        "hello from api.example.com:443",
        "hello from api.example.com:443",
        "1",
        "hello from plain.example:80",
    ];
    assert_eq!(lines, expected);
    assert_eq!(setup.seen().len(), 3);
}

#[test]
fn an_agent_that_needs_its_socket_at_once_gets_it() {
    let setup = Setup::new();
    let lines = run(
        &setup,
        "class Marking extends https.Agent {
           createConnection(options, oncreate) {
             const socket = super.createConnection(options, oncreate);
             socket.marked = true;
             return socket;
           }
         }
         console.log(await ask(https, 'https://api.example.com/', { agent: new Marking() }));",
    );
    assert_eq!(lines, ["hello from api.example.com:443"]);
}

#[test]
fn http2_goes_through_the_proxy() {
    let setup = Setup::new();
    let lines = run(&setup, "console.log(await ask2('https://api.example.com/'));");
    assert_eq!(lines, ["hello from api.example.com:443"]);
    let seen = setup.seen();
    assert_eq!((seen.len(), seen[0].protocol), (1, "h2"));
}

#[test]
fn named_imports_of_a_module_go_through_the_proxy() {
    let setup = Setup::new();
    let code = "import { connect } from 'node:http2';
        const session = connect('https://api.example.com/');
        session.request({ ':path': '/' }).on('data', (chunk) => console.log(String(chunk))).on('end', () => session.close());";
    let printed = setup.printed("node", &["--input-type=module", "-e", code]);
    assert_eq!(printed, "hello from api.example.com:443\n");
}

#[test]
fn a_websocket_package_with_its_own_connections_goes_through_the_proxy() {
    let setup = Setup::new();
    let lines = run(
        &setup,
        "const upgrade = (module, url, createConnection) => new Promise((done, fail) => {
           const headers = { Connection: 'Upgrade', Upgrade: 'websocket' };
           const request = module.request(url, { headers, createConnection }, (response) => {
             const { socket } = response;
             read(response).then((text) => { socket.destroy(); done(text); }, fail);
           });
           request.on('error', fail).end();
         });
         console.log(await upgrade(https, 'https://api.example.com/', (options) => tls.connect(options)));
         console.log(await upgrade(http, 'http://plain.example/', (options) => net.connect(options)));",
    );
    assert_eq!(lines, ["hello from api.example.com:443", "hello from plain.example:80"]);
}

#[test]
fn many_requests_at_once_pass() {
    let setup = Setup::new();
    let lines = run(
        &setup,
        "const headers = { 'x-large': 'a'.repeat(12000) };
         const all = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(https, `https://host-${n}.example/`, { headers })));
         console.log(new Set(all).size);",
    );
    assert_eq!(lines, ["20"]);
}

#[test]
fn what_no_proxy_names_is_reached_directly() {
    let setup = Setup::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 6\r\n\r\ndirect");
        }
    });
    let body = format!(
        "console.log(await (await fetch('http://127.0.0.1:{port}/')).text());
         console.log(await ask(http, 'http://127.0.0.1:{port}/'));
         console.log(await ask(http, 'http://127.0.0.1:{port}/', {{ agent: new http.Agent() }}));"
    );
    assert_eq!(run(&setup, &body), ["direct"; 3]);
    assert_eq!(setup.targets(), [""; 0]);

    let all = Setup { no_proxy: "", ..setup };
    assert_eq!(run(&all, &body), vec![format!("hello from 127.0.0.1:{port}"); 3]);
}

#[test]
fn a_connection_to_the_proxy_itself_is_not_tunnelled() {
    let setup = Setup { no_proxy: "", ..Setup::new() };
    let address = setup.proxy.address();
    let body = format!(
        "const agent = new http.Agent();
         console.log(await ask(http, 'http://{address}/', {{ path: 'http://plain.example/', agent }}));"
    );
    assert_eq!(run(&setup, &body), ["hello from plain.example:80"]);
    assert_eq!(setup.targets(), ["plain.example:80"]);
}

#[test]
fn a_refused_tunnel_is_an_error_that_says_so() {
    let setup = Setup::new();
    let lines = run(
        &setup,
        "const agent = new https.Agent();
         await ask(https, 'https://refused.example/', { agent }).catch((error) => console.log(error.code, error.message));
         await ask2('https://refused.example/').catch((error) => console.log(error.cause.code));
         await fetch('https://refused.example/').catch((error) => console.log(error.name));",
    );
    assert_eq!(
        lines,
        [
            "ERR_PROXY_TUNNEL the proxy answered CONNECT refused.example:443 with HTTP/1.1 502 Bad Gateway",
            "ERR_PROXY_TUNNEL",
            "TypeError"
        ]
    );
}

#[test]
fn a_dead_proxy_is_an_error_and_not_a_way_out() {
    let setup = Setup::new();
    let mut command = setup.command(
        "node",
        &[
            "-e",
            &script(
                "for (const agent of [undefined, new https.Agent()])
                   await ask(https, 'https://localhost.example/', { agent }).catch((error) => console.log(error.code));
                 await fetch('https://localhost.example/').catch((error) => console.log(error.cause.code));",
            ),
        ],
    );
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for name in ["HTTPS_PROXY", "https_proxy"] {
        command.env(name, format!("http://{free}"));
    }
    assert_eq!(printed(command), "ECONNREFUSED\n".repeat(3));
}

#[test]
fn a_server_we_do_not_vouch_for_is_refused() {
    let setup = Setup::new();
    let mut command = setup.command(
        "node",
        &[
            "-e",
            &script(
                "await fetch('https://a.example/').catch((error) => console.log(error.cause.code));
                         await ask(https, 'https://a.example/').catch((error) => console.log(error.code));",
            ),
        ],
    );
    command.env_remove("NODE_EXTRA_CA_CERTS");
    let printed = printed(command);
    assert!(!printed.contains("hello") && printed.lines().count() == 2, "{printed}");
    assert_eq!(setup.seen(), []);
}

#[test]
fn a_kit_in_a_folder_with_blanks_and_quotes_works() {
    let home = tempfile::TempDir::new().unwrap();
    let setup = Setup::kept_in(&home.path().join("it's a kit"));
    let lines = run(&setup, "console.log(await (await fetch('https://api.example.com/')).text());");
    assert_eq!(lines, ["hello from api.example.com:443"]);
}

#[test]
fn without_a_proxy_the_preload_does_nothing() {
    let setup = Setup::new();
    let mut command = setup.command("node", &["-p", "Symbol.for('wiretape.preload') in globalThis"]);
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
        command.env_remove(name);
    }
    let output = output(command);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "false\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
