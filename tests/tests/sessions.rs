//! Sessions: one proxy, many tests, and nothing of one in another.

use std::thread;

use serde_json::{Value, json};
use wiretape_tests::{
    clients,
    sandbox::Sandbox,
    served::{Served, cassette},
    traces::urls,
    upstream::Upstream,
};

#[test]
fn a_user_name_selects_a_session_with_a_cassette_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("tapes/one.yaml", cassette(&[("/", "first")]));
    sandbox.write("tapes/two.yaml", cassette(&[("/", "second")]));
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes"]);
    let url = "https://api.test/";
    assert_eq!([proxy.get("one", url), proxy.get("two", url)], ["first 200", "second 200"]);
    // A tape is played once in a session, and missing it in one is no fault of the other.
    assert!(proxy.get("one", url).ends_with(" 424"), "played twice");
    assert_eq!(proxy.ctl(&["verdict", "two"]).code(), Some(0));
    assert_eq!(proxy.ctl(&["verdict", "one"]).code(), Some(1));
    let said = proxy.stop().exits(1);
    assert!(said.stderr().contains("session one:\n") && !said.stderr().contains("session two:\n"), "{said}");
}

#[test]
fn sessions_over_one_cassette_each_play_it_from_its_start() {
    let sandbox = Sandbox::new();
    sandbox.write("all.yaml", cassette(&[("/", "first"), ("/", "second")]));
    let proxy = Served::replaying(&sandbox, &["-c", "all.yaml"]);
    let names: Vec<String> = (0..8).map(|n| format!("case-{n}")).collect();
    thread::scope(|scope| {
        let clients: Vec<_> = names
            .iter()
            .map(|name| {
                let proxy = &proxy;
                scope.spawn(move || [0, 1].map(|_| proxy.get(name, "https://api.test/")))
            })
            .collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), ["first 200", "second 200"]);
        }
    });
    assert_eq!(proxy.get("", "https://api.test/"), "first 200");
    let listed = proxy.told(&["sessions"]);
    let listed: Vec<(&str, u64, u64)> = listed["sessions"].as_array().unwrap().iter().map(counted).collect();
    assert_eq!(listed[0], ("default", 1, 1));
    assert_eq!(listed[1..], names.iter().map(|name| (name.as_str(), 2, 0)).collect::<Vec<_>>());
    proxy.stop().exits(0);
}

fn counted(session: &Value) -> (&str, u64, u64) {
    let number = |key: &str| session[key].as_u64().unwrap();
    (session["name"].as_str().unwrap(), number("played"), number("unplayed"))
}

#[test]
fn python_and_node_clients_name_their_session_with_the_first_request() {
    let sandbox = Sandbox::new();
    let (python, node) = (clients::python(), clients::command("node"));
    let programs = [
        ("requests", &python, "-c", "import requests; print(requests.get('https://api.test/').text)"),
        ("httpx", &python, "-c", "import httpx; print(httpx.get('https://api.test/').text)"),
        (
            "urllib",
            &python,
            "-c",
            "import urllib.request as u; print(u.urlopen('https://api.test/').read().decode())",
        ),
        ("fetch", &node, "-e", "fetch('https://api.test/').then(r => r.text()).then(console.log)"),
    ];
    for (name, ..) in programs {
        sandbox.write(format!("tapes/{name}.yaml"), cassette(&[("/", name)]));
    }
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes", "--strict"]);
    for (name, program, flag, code) in programs {
        let run = proxy.program(name, &[program.to_str().unwrap(), flag, code]).run().exits(0);
        assert_eq!(run.stdout(), format!("{name}\n"));
    }
    proxy.stop().exits(0);
}

#[test]
fn what_is_no_session_is_refused_with_words_and_fails_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("tapes/broken.yaml", "---\nwiretape: cassette/1\nexchanges: 7\n...\n");
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes"]);
    let plain = "http://api.test/";
    assert_eq!(
        proxy.get("", plain),
        "wiretape: this proxy has no session for calls without a user name: set it as http://NAME:x@HOST:PORT\n 407"
    );
    assert_eq!(
        proxy.get("a%2Fb", plain),
        "wiretape: a session's name is 1 to 100 of A-Z, a-z, 0-9, dot, underscore and hyphen, and starts with no dot\n 400"
    );
    let missing = proxy.get("missing", plain);
    assert!(missing.contains("tapes/missing.yaml") && missing.ends_with(" 424"), "{missing}");
    let broken = proxy.get("broken", plain);
    assert!(broken.contains("tapes/broken.yaml:3:12: ") && broken.ends_with(" 424"), "{broken}");
    assert_eq!(proxy.get("missing", "https://api.test/").trim(), "424");
    // A cassette that was put right meanwhile is taken.
    sandbox.write("tapes/missing.yaml", cassette(&[("/", "found")]));
    assert_eq!(proxy.get("missing", "https://api.test/"), "found 200");
    let said = proxy.stop().exits(1);
    assert!(said.stderr().contains("error: session broken: "), "{said}");
}

#[test]
fn a_proxy_that_records_makes_no_session_up() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let run = sandbox.wiretape("proxy").args(["--mode", "record", "-c", "own.yaml"]).upstream(&upstream);
    let proxy = Served::start(&sandbox, run);
    let refused = proxy.get("stranger", "http://faults.test/repeat");
    assert!(refused.starts_with("wiretape: there is no session `stranger`\nhelp: "), "{refused}");
    assert!(refused.ends_with(" 407"), "{refused}");
    assert_eq!(upstream.seen().len(), 0);
    proxy.stop().exits(1);
}

#[test]
fn sessions_record_at_the_same_time_each_into_its_own_cassette() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let run = sandbox.wiretape("proxy").args(["--mode", "record", "--sessions", "tapes"]).upstream(&upstream);
    let proxy = Served::start(&sandbox, run);
    thread::scope(|scope| {
        for name in ["one", "two", "three"] {
            let proxy = &proxy;
            scope.spawn(move || {
                let got = proxy.get(name, &format!("https://faults.test/repeat?{name}"));
                assert!(got.ends_with(" 200"), "{got}");
            });
        }
    });
    // What has ended is on the disk before the answer comes; the others when the proxy ends.
    let ended = proxy.told(&["end", "one"]);
    assert_eq!((&ended["passed"], &ended["recorded"]), (&json!(true), &json!(1)));
    assert_eq!(urls(&sandbox.read("tapes/one.yaml")), ["https://faults.test/repeat?one"]);
    assert!(!sandbox.path("tapes/two.yaml").exists());
    proxy.stop().exits(0);
    for name in ["two", "three"] {
        let recorded = sandbox.read(format!("tapes/{name}.yaml"));
        assert_eq!(urls(&recorded), [format!("https://faults.test/repeat?{name}")]);
    }
    let replaying = Served::replaying(&sandbox, &["--sessions", "tapes", "--strict"]);
    let got = replaying.get("three", "https://faults.test/repeat?three");
    assert!(got.starts_with("call ") && got.ends_with(" 200"), "{got}");
    replaying.stop().exits(0);
}

#[test]
fn a_killed_proxy_loses_nothing_of_any_session() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let record = || sandbox.wiretape("proxy").args(["--mode", "record", "--sessions", "tapes"]);
    let proxy = Served::start(&sandbox, record().upstream(&upstream));
    for name in ["one", "two"] {
        assert!(proxy.get(name, "https://faults.test/repeat").ends_with(" 200"));
    }
    proxy.kill();
    for name in ["one", "two"] {
        let shown = sandbox.wiretape("show").arg(format!("tapes/{name}.yaml")).run().exits(0);
        assert!(shown.stdout().contains("GET faults.test/repeat  200"), "{shown}");
    }
}

#[test]
fn a_session_that_has_ended_answers_no_more_and_its_name_is_free() {
    let sandbox = Sandbox::new();
    sandbox.write("all.yaml", cassette(&[("/", "first")]));
    let proxy = Served::replaying(&sandbox, &["-c", "all.yaml"]);
    assert_eq!(proxy.get("case", "https://api.test/"), "first 200");
    assert_eq!(proxy.told(&["end", "case"])["strict_passed"], true);
    let gone = proxy.ctl(&["show", "case"]).exits(2);
    assert_eq!(gone.stderr(), "error: there is no session `case`\nhelp: open: default\n");
    assert_eq!(proxy.get("case", "https://api.test/"), "first 200");
    let own = proxy.ctl(&["end", "default"]).exits(2);
    assert!(own.stderr().contains("is the proxy's own and ends with it"), "{own}");
    proxy.stop().exits(0);
}

#[test]
fn reverse_ports_need_a_session_that_has_no_name() {
    let sandbox = Sandbox::new();
    let words = ["--mode", "replay", "--sessions", "tapes", "--reverse", "openai=https://api.openai.com"];
    let refused = sandbox.wiretape("proxy").args(words).run().exits(2);
    assert!(refused.stderr().contains("calls to a reverse port have no user name"), "{refused}");
}
