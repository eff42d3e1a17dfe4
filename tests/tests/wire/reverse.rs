//! Reverse ports: clients that take a base URL but no proxy.

use super::gate::Lab;

#[test]
fn a_client_with_only_a_base_url_is_recorded_under_the_real_one_and_replays() {
    let lab = Lab::new();
    let script = r#"unset HTTPS_PROXY https_proxy HTTP_PROXY http_proxy ALL_PROXY all_proxy
case $OPENAI_BASE_URL in http://127.0.0.1:*/v1) ;; *) echo "base $OPENAI_BASE_URL"; exit 3;; esac
curl -sS --json '{"model":"m","messages":[{"role":"user","content":"ping"}]}' "$OPENAI_BASE_URL/chat/completions""#;
    let child = ["sh", "-c", script];
    let reverse = ["--reverse", "openai=https://api.openai.com"];
    let run = lab.home.record(lab.upstream()).args(reverse);
    let recorded = run.cassette(CASSETTE).child(child).run().exits(0);
    assert!(recorded.stdout().contains("\"object\":\"chat.completion\""), "{recorded}");

    let seen = lab.upstream().seen();
    assert_eq!((seen[0].host.as_str(), seen[0].path.as_str()), ("api.openai.com", "/v1/chat/completions"));
    let cassette = lab.home.read(CASSETTE);
    super::gate::says(&cassette, "url: https://api.openai.com/v1/chat/completions");
    assert!(!cassette.contains("127.0.0.1"), "{cassette}");

    let away = lab.home.elsewhere();
    drop(lab);
    let run = away.replay().arg("--strict").args(reverse);
    let replayed = run.cassette(CASSETTE).child(child).run().exits(0);
    assert!(replayed.stdout().contains("\"object\":\"chat.completion\""), "{replayed}");
}

const CASSETTE: &str = "cassettes/reverse.yaml";
