//! What a recording is worth when something goes wrong: a kill at any moment, a signal, a second recorder, a full
//! disk, a failing child. Real processes and real files throughout.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    os::unix::{fs::MetadataExt, process::ExitStatusExt},
    path::Path,
    time::{Duration, Instant},
};

use wiretape_tests::{
    sandbox::{Invocation, Outcome, Running, Sandbox, Stream},
    secret::Secret,
    shell::{binary, calls, shell, wrapped},
    traces::{files, journals, urls},
    tunnel::Tunnel,
    upstream::Upstream,
};

#[test]
fn a_kill_loses_nothing_that_the_client_got_one_call_at_a_time() {
    (0..7).for_each(|seed| kill_while_recording(seed, ""));
}

#[test]
fn a_kill_loses_nothing_that_the_client_got_from_parallel_calls() {
    (7..14).for_each(|seed| kill_while_recording(seed, "--parallel --parallel-max 8"));
}

#[test]
fn a_kill_loses_nothing_that_the_client_got_over_http_1() {
    (14..20).for_each(|seed| kill_while_recording(seed, "--http1.1"));
}

/// Kills a recording at a point that follows from the seed, and holds the cassette against what the client had.
fn kill_while_recording(seed: u64, options: &str) {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["redirected?old"])).run().exits(0);
    let mut random = Random(seed);
    let kind = ["echo", "big", "slow-sse", "gzip"][random.below(4) as usize];
    let last = format!("https://faults.test/{kind}?bytes=70000&gap=1&n={}", random.below(CALLS) + 1);
    // At once, or a little later.
    let wait = Duration::from_micros((seed % 2) * random.below(20_000));

    // Unbuffered: what is printed was received, and is read at once.
    let script = format!(
        "curl -sS {options} -o /dev/null -w '%{{stderr}}got %{{exitcode}} %{{http_code}} %{{url}}\\n' \
         'https://faults.test/{{echo,big,slow-sse,gzip}}?bytes=70000&gap=1&n=[1-{CALLS}]'"
    );
    let running = shell(sandbox.record(&upstream), CASSETTE, &script).spawn();
    running.wait_for(Stream::Stderr, |line| line.ends_with(&format!(" {last}")).then_some(()));
    let until = Instant::now() + wait;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    running.kill();
    let outcome = running.finish();
    assert_eq!(outcome.code(), None, "{outcome}");
    let said = outcome.stderr();
    let got: BTreeSet<&str> =
        said.lines().filter_map(|line| Some(line.split_once("got 0 200 ")?.1)).collect();
    assert!(got.contains(last.as_str()), "seed {seed}: {outcome}");

    // Kept aside: a run that is killed between writing the cassette and removing its journal leaves both.
    let [journal] = &journals(&sandbox)[..] else { panic!("seed {seed}: {:?}", files(sandbox.root())) };
    let left = fs::read(journal).unwrap();
    let shown = sandbox.wiretape("show").arg(CASSETTE).run().exits(0);
    assert!(shown.stderr().starts_with("warning: took in "), "{shown}");
    assert!(!journal.exists(), "seed {seed}");
    let once = sandbox.read(CASSETTE);
    let kept = urls(&once);
    assert_eq!(kept[0], "https://faults.test/redirected?old", "seed {seed}");
    let kept: BTreeSet<&str> = kept.into_iter().collect();
    let lost: Vec<_> = got.difference(&kept).collect();
    assert!(lost.is_empty(), "seed {seed}: lost {lost:?}\n{outcome}");

    fs::write(journal, &left).unwrap();
    sandbox.wiretape("show").arg(CASSETTE).run().exits(0);
    assert_eq!(sandbox.read(CASSETTE), once, "seed {seed}");
    fs::write(journal, [&left, b"torn".as_slice()].concat()).unwrap();
    sandbox.wiretape("show").arg(CASSETTE).run().exits(0);
    assert_eq!(sandbox.read(CASSETTE), once, "seed {seed}");

    drop(upstream);
    let again: Vec<String> = got.iter().map(|url| format!("-o /dev/null '{url}'")).collect();
    shell(sandbox.replay(), CASSETTE, &format!("curl -sSf {}", again.join(" "))).run().exits(0);
}

#[test]
fn a_kill_while_the_cassette_is_written_neither_loses_nor_doubles() {
    let mut left = Vec::new();
    for seed in 0..12 {
        let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
        shell(sandbox.record(&upstream), CASSETTE, &calls(&["redirected?old"])).run().exits(0);
        let wait = Duration::from_micros(Random(seed).below(60_000));
        let script = "curl -sS -o /dev/null 'https://faults.test/big?bytes=6000[0-1]&n=[1-20]'; echo $PPID";
        let running = shell(sandbox.record(&upstream), CASSETTE, script).spawn();
        let pid = running.wait_for(Stream::Stdout, |line| Some(line.to_owned()));
        let until = Instant::now() + wait;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        // It may have ended by then.
        sandbox.program("kill").args(["-KILL", &pid]).run();
        let outcome = running.finish();
        sandbox.wiretape("show").arg(CASSETTE).run().exits(0);
        let cassette = sandbox.read(CASSETTE);
        let kept = urls(&cassette);
        let new: Vec<&str> = kept.iter().copied().filter(|url| url.contains("/big")).collect();
        let distinct: BTreeSet<&str> = new.iter().copied().collect();
        assert_eq!((new.len(), distinct.len()), (40, 40), "seed {seed}: {outcome}");
        assert_eq!(journals(&sandbox), NO_FILES, "seed {seed}");
        // What a killed writer left beside the cassette goes with the next one that writes there.
        shell(sandbox.record(&upstream), CASSETTE, &calls(&["redirected?new"])).run().exits(0);
        left.extend(files(&sandbox.path("cassettes")).into_iter().filter(|f| *f != sandbox.path(CASSETTE)));
    }
    assert_eq!(left, NO_FILES);
}

#[test]
fn a_signal_is_passed_on_and_the_cassette_is_finished() {
    for (signal, word) in [(Signal::Interrupt, "INT"), (Signal::Terminate, "TERM")] {
        let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
        let script = format!(
            "trap 'echo told; exit 5' {word}; {}; echo ready; while :; do sleep 0.05; done",
            calls(&["echo"])
        );
        let running = shell(sandbox.record(&upstream), CASSETTE, &script).spawn();
        running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
        signal.send(&running);
        let outcome = running.finish().exits(5);
        assert_eq!(outcome.stdout(), "ready\ntold\n");
        assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
        assert_eq!(journals(&sandbox), NO_FILES);
        assert!(
            outcome.stderr().starts_with(&format!("wiretape recorded 1 exchange in {CASSETTE} (")),
            "{outcome}"
        );
    }
}

#[test]
fn a_child_that_a_signal_ended_gives_its_number() {
    for (signal, code) in [(Signal::Interrupt, 130), (Signal::Terminate, 143)] {
        let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
        let script = format!("{}; echo ready; exec sleep 60", calls(&["echo"]));
        let running = shell(sandbox.record(&upstream), CASSETTE, &script).spawn();
        running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
        signal.send(&running);
        running.finish().exits(code);
        assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
    }
}

#[test]
fn a_second_interrupt_ends_at_once_and_the_next_run_takes_in_the_journal() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script =
        format!("trap 'echo told' INT; {}; echo ready; while :; do sleep 0.05; done", calls(&["echo"]));
    let running = shell(sandbox.record(&upstream), CASSETTE, &script).spawn();
    running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
    running.interrupt();
    running.wait_for(Stream::Stdout, |line| (line == "told").then_some(()));
    let asked = Instant::now();
    running.interrupt();
    let outcome = running.finish().exits(130);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    assert_eq!(outcome.stderr(), "wiretape: interrupted; what was recorded is taken in by the next run\n");
    assert!(!sandbox.path(CASSETTE).exists());
    assert_eq!(files(&sandbox.root().join("tmp")), NO_FILES);

    drop(upstream);
    let replayed = shell(sandbox.replay(), CASSETTE, &calls(&["echo"])).run().exits(0);
    let expected = format!("warning: took in 1 exchange that a killed recording left for {CASSETTE}\n");
    assert!(replayed.stderr().starts_with(&expected), "{replayed}");
    assert_eq!(journals(&sandbox), NO_FILES);
}

#[test]
fn a_child_that_does_not_listen_is_killed_and_the_cassette_is_finished() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script = format!("trap '' TERM; {}; echo ready; while :; do sleep 0.05; done", calls(&["echo"]));
    let running = shell(sandbox.record(&upstream), CASSETTE, &script).spawn();
    running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
    running.terminate();
    running.finish().exits(137);
    assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
}

#[test]
fn a_proxy_that_is_told_to_stop_finishes_its_cassette() {
    for signal in [Signal::Interrupt, Signal::Terminate] {
        let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
        let running = sandbox
            .wiretape("proxy")
            .args(["--mode", "record"])
            .cassette(CASSETTE)
            .upstream(&upstream)
            .spawn();
        let proxy = running.wait_for(Stream::Stdout, |line| Some(line.to_owned()));
        let call = ["-sSk", "-x", &proxy, "https://faults.test/echo"];
        sandbox.program("curl").args(call).run().exits(0);
        signal.send(&running);
        running.finish().exits(0);
        assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
        assert_eq!(journals(&sandbox), NO_FILES);
    }
}

#[test]
fn a_cassette_has_one_recorder_and_may_be_read_meanwhile() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo?old"])).run().exits(0);
    let old = sandbox.read(CASSETTE);
    let script = format!(
        "{}; echo $PPID; until [ -e go ]; do sleep 0.05; done; {}",
        calls(&["echo?1"]),
        calls(&["echo?2"])
    );
    let first = shell(sandbox.record(&upstream), CASSETTE, &script).spawn();
    let pid = first.wait_for(Stream::Stdout, |line| Some(line.to_owned()));

    for command in ["record", "auto"] {
        let second = shell(sandbox.wiretape(command), CASSETTE, "touch ran").run().exits(2);
        assert_eq!(
            second.stderr(),
            format!(
                "error: {CASSETTE} is being recorded by another wiretape (process {pid})\n\
                 help: wait for it to end, or record into another cassette with -c\n"
            )
        );
        assert!(!sandbox.path("ran").exists());
    }
    assert_eq!(sandbox.read(CASSETTE), old);
    shell(sandbox.replay(), CASSETTE, &calls(&["echo?old"])).run().exits(0);
    let shown = sandbox.wiretape("show").arg(CASSETTE).run().exits(0);
    assert_eq!(shown.stderr(), "");
    assert_eq!(sandbox.read(CASSETTE), old);

    sandbox.write("go", "");
    first.finish().exits(0);
    assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo?1", "https://faults.test/echo?2"]);
}

#[test]
fn a_full_disk_under_the_cassette_keeps_the_old_one_and_the_journal() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo?old"])).run().exits(0);
    let old = sandbox.read(CASSETTE);
    sandbox.write("aside.yaml", &old);
    // Only this run sees the small disk.
    let script = "mount -t tmpfs -o size=32k none cassettes && cp aside.yaml cassettes/run.yaml || exit 99; \
                  \"$@\"; code=$?; cp -a cassettes after; exit $code";
    let full = with_mounts(&sandbox, script, "record")
        .upstream(&upstream)
        .cassette(CASSETTE)
        .child(["sh", "-c", &calls(&["big?bytes=60000", "echo?new"])])
        .run()
        .exits(3);
    let [journal] = &journals(&sandbox)[..] else { panic!("{full}") };
    assert_eq!(
        full.stderr(),
        format!(
            "error: the cassette could not be written; what was recorded is safe in {} and is taken in by the next \
             run: cannot write {}: No space left on device (os error 28)\n",
            journal.display(),
            fs::canonicalize(sandbox.path(CASSETTE)).unwrap().display()
        )
    );
    assert_eq!(sandbox.read("after/run.yaml"), old);
    assert_eq!(files(&sandbox.path("after")), [sandbox.path("after/run.yaml")]);

    shell(sandbox.record(&upstream), CASSETTE, "true").run().exits(0);
    let all = sandbox.read(CASSETTE);
    assert_eq!(
        urls(&all),
        [
            "https://faults.test/echo?old",
            "https://faults.test/big?bytes=60000",
            "https://faults.test/echo?new"
        ]
    );
}

#[test]
fn a_full_disk_under_a_blob_keeps_the_old_cassette_and_its_blobs() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let old_call = calls(&["big?bytes=70000&old"]);
    shell(sandbox.record(&upstream), CASSETTE, &old_call).run().exits(0);
    let script = "cp -a cassettes aside && mount -t tmpfs -o size=256k none cassettes && cp -a aside/. cassettes \
                  || exit 99; \"$@\"; code=$?; cp -a cassettes after; exit $code";
    let full = with_mounts(&sandbox, script, "record")
        .upstream(&upstream)
        .cassette(CASSETTE)
        .child(["sh", "-c", &calls(&["big?bytes=400000&new"])])
        .run()
        .exits(3);
    assert!(full.stderr().contains("No space left on device"), "{full}");
    let names = |folder: &str| {
        let folder = sandbox.path(folder);
        let all = files(&folder);
        let named =
            all.iter().map(|file| (file.strip_prefix(&folder).unwrap().to_owned(), fs::read(file).unwrap()));
        named.collect::<Vec<_>>()
    };
    assert_eq!(names("after"), names("aside"));
    drop(upstream);
    shell(sandbox.replay(), CASSETTE, &format!("{old_call} && {}", calls(&["big?bytes=400000&new"])))
        .run()
        .exits(0);
}

#[test]
fn a_full_disk_under_the_journal_stops_the_recording_and_keeps_the_old_cassette() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo?1", "echo?2", "echo?old"])).run().exits(0);
    let old = sandbox.read(CASSETTE);
    let script = "mount -t tmpfs -o size=64k none ../state || exit 99; \"$@\"; code=$?; cp -a ../state after; exit $code";
    let child = "curl -sS -w '%{http_code} ' -o /dev/null https://faults.test/echo?1 \
                 -o /dev/null 'https://faults.test/big?bytes=90000' -o /dev/null https://faults.test/echo?2";
    let full = with_mounts(&sandbox, script, "record")
        .upstream(&upstream)
        .cassette(CASSETTE)
        .child(["sh", "-c", &format!("{child}; exit 0")])
        .run();
    assert!([Some(1), Some(3)].contains(&full.code()), "{full}");
    assert!(full.stderr().contains("error: recording stopped: cannot append to "), "{full}");
    assert!(full.stderr().contains("no storage space"), "{full}");
    assert_eq!(sandbox.read(CASSETTE), old, "{full}");
    let cassettes = sandbox.path("cassettes");
    assert_eq!(files(&cassettes), [sandbox.path(CASSETTE)]);
}

#[test]
fn a_file_size_limit_is_told_like_any_other_full_disk() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo?old"])).run().exits(0);
    let old = sandbox.read(CASSETTE);
    let limited = wrapped(&sandbox, "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "record")
        .upstream(&upstream)
        .cassette(CASSETTE)
        .child(["sh", "-c", &format!("{}; exit 0", calls(&["big?bytes=400000"]))])
        .run();
    assert!([Some(1), Some(3)].contains(&limited.code()), "{limited}");
    assert!(limited.stderr().contains("error: "), "{limited}");
    assert_eq!(sandbox.read(CASSETTE), old, "{limited}");
    assert_eq!(files(&sandbox.path("cassettes")), [sandbox.path(CASSETTE)]);
}

#[test]
fn a_state_folder_that_cannot_be_written_ends_it_before_the_child_runs() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    sandbox.write("state", "a file");
    let state = sandbox.path("state");
    let refused =
        shell(sandbox.record(&upstream).env("XDG_STATE_HOME", &state), CASSETTE, "touch ran").run().exits(3);
    let said = refused.stderr();
    assert!(said.starts_with(&format!("error: cannot create the folder {}/", state.display())), "{said}");
    assert!(said.ends_with("Not a directory (os error 20)\n"), "{said}");
    assert_eq!(said.matches("(os error 20)").count(), 1, "{said}");
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_cassette_folder_that_cannot_be_written_keeps_what_was_recorded() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    sandbox.write("cassettes/other.yaml", "");
    let script =
        "mount -t tmpfs none cassettes && mount -o remount,ro none cassettes || exit 99; exec \"$@\"";
    let refused = with_mounts(&sandbox, script, "record")
        .upstream(&upstream)
        .cassette(CASSETTE)
        .child(["sh", "-c", &calls(&["echo"])])
        .run()
        .exits(3);
    let said = refused.stderr();
    assert!(said.ends_with("Read-only file system (os error 30)\n"), "{said}");
    assert_eq!(said.matches("(os error 30)").count(), 1, "{said}");
    drop(upstream);
    shell(sandbox.replay(), CASSETTE, &calls(&["echo"])).run().exits(0);
    assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
}

#[test]
fn replay_writes_neither_beside_the_cassette_nor_to_the_state_folder() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo"])).run().exits(0);
    drop(upstream);
    let elsewhere = sandbox.elsewhere();
    let script = "for folder in cassettes ../state ../home; do mount --bind -r $folder $folder || exit 99; done; exec \"$@\"";
    with_mounts(&elsewhere, script, "replay")
        .cassette(CASSETTE)
        .child(["sh", "-c", &calls(&["echo"])])
        .run()
        .exits(0);
}

#[test]
fn a_bad_cassette_is_not_recorded_over() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    for bad in ["wiretape: cassette/1\nexchanges: [{id: one}]\n", "", "wiretape: cassette/9\n", "not: [yaml"]
    {
        sandbox.write(CASSETTE, bad);
        for command in ["record", "auto"] {
            let run = sandbox.wiretape(command).upstream(&upstream);
            let refused = shell(run, CASSETTE, "touch ran").run().exits(2);
            assert!(refused.stderr().starts_with("error: "), "{refused}");
            assert_eq!(sandbox.read(CASSETTE), bad);
            assert!(!sandbox.path("ran").exists());
            assert_eq!(journals(&sandbox), NO_FILES);
        }
    }
}

#[test]
fn a_child_that_fails_still_leaves_its_cassette() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let run =
        |end: &str| shell(sandbox.record(&upstream), CASSETTE, &format!("{}; {end}", calls(&["echo"]))).run();
    run("exit 7").exits(7);
    assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
    fs::remove_file(sandbox.path(CASSETTE)).unwrap();
    run("kill -9 $$").exits(137);
    assert_eq!(urls(&sandbox.read(CASSETTE)), ["https://faults.test/echo"]);
}

#[test]
fn a_command_that_is_not_there_leaves_nothing() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    for command in ["record", "auto"] {
        let run = sandbox.wiretape(command).upstream(&upstream).cassette(CASSETTE);
        let missing = run.child(["no-such-command", "x"]).run().exits(2);
        assert_eq!(
            missing.stderr(),
            "error: there is no command `no-such-command`\n\
             help: check its name, or give its path; a shell's own words need `sh -c '…'`\n"
        );
        assert_eq!(missing.stdout(), "");
        assert!(!sandbox.path("cassettes").exists());
        assert_eq!(journals(&sandbox), NO_FILES);
        assert_eq!(files(&sandbox.root().join("tmp")), NO_FILES);
    }
}

#[test]
fn a_run_that_cannot_start_leaves_no_journal() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    for options in [["--upstream-proxy", "ftp://proxy.test"], ["--upstream-ca", "absent.pem"]] {
        let run = sandbox.record(&upstream).args(options);
        shell(run, CASSETTE, "touch ran").run().exits(2);
        assert_eq!(journals(&sandbox), NO_FILES, "{options:?}");
    }
    assert!(!sandbox.path("ran").exists());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let words = ["--mode", "record", "-c", CASSETTE, "--listen", &address];
    sandbox.wiretape("proxy").args(words).run().exits(2);
    assert_eq!(journals(&sandbox), NO_FILES);
}

#[test]
fn a_run_without_traffic_leaves_the_cassette_alone_and_says_so() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo"])).run().exits(0);
    let old = (sandbox.read(CASSETTE), identity(&sandbox));
    let silent = shell(sandbox.record(&upstream), CASSETTE, "true").run().exits(0);
    let expected = format!("wiretape recorded nothing; {CASSETTE} stays as it was (");
    assert!(silent.stderr().starts_with(&expected), "{silent}");
    assert_eq!((sandbox.read(CASSETTE), identity(&sandbox)), old);

    let new = shell(sandbox.record(&upstream), "cassettes/none.yaml", "true").run().exits(0);
    assert!(new.stderr().starts_with("wiretape recorded nothing: no traffic came through ("), "{new}");
    assert!(!sandbox.path("cassettes/none.yaml").exists());
}

#[test]
fn the_same_traffic_again_does_not_touch_the_file() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let same = calls(&["echo?1", "big?bytes=70000", "status/204"]);
    shell(sandbox.record(&upstream), CASSETTE, &same).run().exits(0);
    let old = (sandbox.read(CASSETTE), identity(&sandbox));
    let again = shell(sandbox.record(&upstream), CASSETTE, &same).run().exits(0);
    let expected = format!("wiretape recorded 3 exchanges in {CASSETTE}, all as before (");
    assert!(again.stderr().starts_with(&expected), "{again}");
    assert_eq!((sandbox.read(CASSETTE), identity(&sandbox)), old);
}

#[test]
fn a_changed_reply_changes_its_own_lines_only() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script = calls(&["echo?1", "repeat", "echo?2"]);
    shell(sandbox.record(&upstream), CASSETTE, &script).run().exits(0);
    let before = sandbox.read(CASSETTE);
    let again = shell(sandbox.record(&upstream), CASSETTE, &script).run().exits(0);
    assert!(again.stderr().contains("recorded 3 exchanges in cassettes/run.yaml, 2 as before ("), "{again}");
    let after = sandbox.read(CASSETTE);
    let lasting = |text: &str| {
        let lines = text.lines().filter(|line| !MOMENTS.iter().any(|key| line.trim_start().starts_with(key)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (old, new) = (lasting(&before), lasting(&after));
    assert_eq!(old.len(), new.len(), "{before}\n{after}");
    let changed: Vec<(&str, &str)> =
        old.iter().zip(&new).filter(|(a, b)| a != b).map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(changed, [("        text: call 1", "        text: call 2")]);
    let blocks = |text: &str| text.split("  - id: ").map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (blocks(&before), blocks(&after));
    assert_eq!((&before[1], &before[3]), (&after[1], &after[3]));
}

#[test]
fn no_credential_reaches_a_file_or_our_own_words() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let secrets: Vec<Secret> = (0..7).map(|_| Secret::shapeless()).collect();
    let reveal = |n: usize| secrets[n].reveal();
    // With characters that are spelled otherwise in a URL.
    let odd = format!("{}/+={}", &reveal(6)[..12], &reveal(6)[12..]);
    let odd_coded = odd.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D");
    let tunnel = Tunnel::start(&upstream);
    let proxy = tunnel.url().replace("http://", &format!("http://user:{}@", reveal(5)));
    let script = format!(
        "for url in faults.test/status/201 api.openai.com/v1/none; do \
         curl -sS -o /dev/null -H 'authorization: Bearer {}' -H 'cookie: session={}' -H 'x-api-key: {}' \
         -H 'x-own: {odd}' -H 'x-goog-api-key: {}' \"https://$url?key={odd_coded}&page=2\" || exit 1; \
         curl -sS -o /dev/null \"https://me:{}@$url\" || exit 1; done; \
         curl -sS -o /dev/null https://faults.test/cookie",
        reveal(0),
        reveal(1),
        reveal(2),
        reveal(3),
        reveal(4),
    );
    let clean = |when: &str| {
        for (number, secret) in secrets.iter().enumerate().take(6) {
            assert_eq!(secret.files_with(sandbox.root()), NO_FILES, "{when}: secret {number}");
        }
        for file in files(sandbox.root()) {
            let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
            for form in [&odd, &odd_coded, &odd_coded.to_lowercase()] {
                assert!(!text.contains(form.as_str()), "{when}: the odd one in {}", file.display());
            }
        }
    };
    let quiet = |said: &[u8], when: &str| {
        for (number, secret) in secrets.iter().enumerate().take(6) {
            assert!(!secret.is_in(said), "{when}: secret {number} was printed");
        }
        let text = String::from_utf8_lossy(said);
        assert!(!text.contains(&odd) && !text.contains(&odd_coded), "{when}: the odd one was printed");
    };
    // No host is mapped: only the proxy, with its password, leads to the upstream.
    let record = |script: &str| {
        let run = sandbox.wiretape("record").arg("--upstream-ca").arg(upstream.ca_file());
        shell(run, CASSETTE, script)
            .env("WIRETAPE_LOG", "trace")
            .env("HTTPS_PROXY", &proxy)
            .env("OPENAI_API_KEY", reveal(0))
    };

    let recorded = record(&script).run().exits(0);
    quiet(&recorded.stderr, "recording");
    clean("recorded");
    let cookies: Vec<String> = upstream.minted().into_iter().filter(|value| value.len() == 32).collect();
    assert!(!cookies.is_empty(), "a cookie was set");
    let cassette = sandbox.read(CASSETTE);
    assert!(!cookies.iter().any(|cookie| cassette.contains(cookie)), "{cassette}");
    assert!(cassette.contains("page=2"), "{cassette}");

    let running = record(&format!("{script}; echo ready; sleep 60")).spawn();
    running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
    clean("while recording");
    running.kill();
    running.finish();
    assert_eq!(journals(&sandbox).len(), 1);
    clean("killed");
    let shown = sandbox.wiretape("show").arg(CASSETTE).run().exits(0);
    quiet(&shown.stdout, "show");
    clean("recovered");
    let missed = shell(sandbox.replay(), CASSETTE, &script.replace("page=2", "page=3"))
        .env("WIRETAPE_LOG", "trace")
        .run()
        .exits(1);
    quiet(&missed.stderr, "a miss");
}

#[test]
fn a_crash_leaves_no_core_file() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let abort = |pid: &str| sandbox.program("kill").args(["-ABRT", pid]).run().exits(0);
    let other = sandbox.program("sh").args(["-c", "ulimit -c unlimited; echo $$; exec sleep 60"]).spawn();
    let pid = other.wait_for(Stream::Stdout, |line| Some(line.to_owned()));
    abort(&pid);
    if !core_dumped(&other.finish()) {
        eprintln!("this machine writes no core files at all");
        return;
    }
    let running = wrapped(&sandbox, "ulimit -c unlimited; exec \"$@\"", "record")
        .upstream(&upstream)
        .cassette(CASSETTE)
        .child(["sh", "-c", "echo $PPID; exec sleep 60"])
        .spawn();
    let pid = running.wait_for(Stream::Stdout, |line| Some(line.to_owned()));
    abort(&pid);
    let outcome = running.finish();
    assert_eq!(outcome.code(), None, "{outcome}");
    assert!(!core_dumped(&outcome), "{outcome}");
}

/// `wiretape COMMAND` in a shell that may mount, seen by nobody else; `script` ends in `"$@"`.
fn with_mounts<'a>(sandbox: &'a Sandbox, script: &str, command: &str) -> Invocation<'a> {
    let words = ["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, "sh"];
    sandbox.program("unshare").args(words).arg(binary(sandbox)).arg(command)
}

/// What tells a file that was written anew from one that was left alone.
fn identity(sandbox: &Sandbox) -> (u64, i64, i64) {
    let metadata = fs::metadata(sandbox.path(CASSETTE)).unwrap();
    (metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
}

fn core_dumped(outcome: &Outcome) -> bool {
    outcome.status.core_dumped()
}

#[derive(Debug, Clone, Copy)]
enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    fn send(self, running: &Running) {
        match self {
            Self::Interrupt => running.interrupt(),
            Self::Terminate => running.terminate(),
        }
    }
}

/// Numbers that follow from a seed (SplitMix64), so that a failing kill can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Lines that a new reply brings along, whatever it says.
const MOMENTS: &[&str] = &["at: ", "after: ", "date: "];
const CASSETTE: &str = "cassettes/run.yaml";
const NO_FILES: [&Path; 0] = [];
/// Of each kind, in a recording that is killed.
const CALLS: u64 = 25;
