use std::time::Duration;

use exchange::Frame;
use proptest::prelude::*;

use super::{
    sample::{Call, EPOCH, body, call, github, openai, sent},
    *,
};

fn stable(calls: &[Call]) -> Vec<Scrubbed<Exchange>> {
    stabilize(calls.iter().map(Call::exchange).collect(), &[])
}

fn bodies(calls: &[Call]) -> Vec<String> {
    stable(calls).iter().map(|exchange| body(exchange)).collect()
}

fn header<'e>(exchange: &'e Exchange, name: &str) -> &'e str {
    exchange.reply.response().unwrap().headers.text(name).unwrap()
}

#[test]
fn ids_are_counted_by_kind_and_one_id_keeps_one_name() {
    let first = r#"{"id":"chatcmpl-978tsEgIx0oqdZwD8Gm","choices":[{"message":{"tool_calls":[{"id":"call_TRB1jnZxAdUJcn"},{"id":"call_Vfq8wpokTGewt0"}]}}],"system_fingerprint":"fp_0ba0d124f1"}"#;
    let second =
        r#"{"id":"chatcmpl-AAAAAAAAAAAA","system_fingerprint":"fp_0ba0d124f1","model":"gpt-4o-mini"}"#;
    assert_eq!(
        bodies(&[openai(first), openai(second)]),
        [
            r#"{"id":"chatcmpl-000001","choices":[{"message":{"tool_calls":[{"id":"call_000001"},{"id":"call_000002"}]}}],"system_fingerprint":"fp_000001"}"#,
            r#"{"id":"chatcmpl-000002","system_fingerprint":"fp_000001","model":"gpt-4o-mini"}"#,
        ]
    );
}

#[test]
fn an_id_is_carried_wherever_it_stands_by_itself() {
    let answered = openai(r#"{"id":"call_TRB1jnZxAdUJcn"}"#).with("x-request-id", "req_31f2f5f4b7a14b7f");
    let talk = openai(r#"{"text":"see req_31f2f5f4b7a14b7f"}"#).sending(
        r#"{"tool_call_id":"call_TRB1jnZxAdUJcn","content":"{\"ref\":\"call_TRB1jnZxAdUJcn\",\"not\":\"xcall_TRB1jnZxAdUJcn call_TRB1jnZxAdUJcnx\"}","call_TRB1jnZxAdUJcn":1}"#,
    );
    let get = Call {
        url: "https://other.test/calls/call_TRB1jnZxAdUJcn/x?of=call%5FTRB1jnZxAdUJcn".into(),
        ..openai("{}")
    };
    let done = stable(&[answered, talk, get]);
    assert_eq!(header(&done[0], "x-request-id"), "req_000001");
    assert_eq!(
        sent(&done[1]),
        r#"{"tool_call_id":"call_000001","content":"{\"ref\":\"call_000001\",\"not\":\"xcall_TRB1jnZxAdUJcn call_TRB1jnZxAdUJcnx\"}","call_000001":1}"#
    );
    assert_eq!(body(&done[1]), r#"{"text":"see req_000001"}"#);
    assert_eq!(done[2].request.url.to_string(), "https://other.test/calls/call_000001/x?of=call_000001");
}

#[test]
fn a_number_is_carried_as_a_number_a_segment_and_a_word() {
    let comment = github(
        "/repos/o/r/issues/7/comments",
        r#"{"id":2204185613,"node_id":"IC_kwDOHrjsK85OBUJp","number":123456,"user":{"login":"octo","id":583231},"html_url":"https://github.com/o/r/issues/7#issuecomment-2204185613"}"#,
    );
    let change = github(
        "/repos/o/r/issues/comments/2204185613?user=583231",
        r#"{"of":[2204185613,2204185613.5,12204185613],"text":"u/583231?v=4 and 2204185613.5"}"#,
    );
    let done = stable(&[comment, change]);
    assert_eq!(
        body(&done[0]),
        r#"{"id":1000000001,"node_id":"IC_kwDO00000001","number":123456,"user":{"login":"octo","id":1000000002},"html_url":"https://github.com/o/r/issues/7#issuecomment-1000000001"}"#
    );
    assert_eq!(done[1].request.url.target(), "/repos/o/r/issues/comments/1000000001?user=1000000002");
    assert_eq!(
        body(&done[1]),
        r#"{"of":[1000000001,2204185613.5,12204185613],"text":"u/1000000002?v=4 and 2204185613.5"}"#
    );
}

#[test]
fn an_old_node_has_the_number_of_what_it_names() {
    // 012:Organization31898100 and 06:Commit31898100:abcdef
    let text = r#"{"a":{"node_id":"MDEyOk9yZ2FuaXphdGlvbjMxODk4MTAw"},"id":31898100,"b":{"node_id":"MDY6Q29tbWl0MzE4OTgxMDA6YWJjZGVm"}}"#;
    // 012:Organization1000000001 and 06:Commit1000000001:abcdef
    assert_eq!(
        bodies(&[github("/orgs/x", text)]),
        [
            r#"{"a":{"node_id":"MDEyOk9yZ2FuaXphdGlvbjEwMDAwMDAwMDE="},"id":1000000001,"b":{"node_id":"MDY6Q29tbWl0MTAwMDAwMDAwMTphYmNkZWY="}}"#
        ]
    );
}

#[test]
fn an_id_that_the_client_knew_first_stays() {
    let get = Call {
        method: "GET",
        ..call(
            "https://api.openai.com/v1/assistants/asst_DBRFUiRHOmIh",
            r#"{"id":"asst_DBRFUiRHOmIh","file_ids":["file-cQkOwz3aospk"]}"#,
        )
    };
    let later = openai("{}").sending(r#"{"assistant_id":"asst_DBRFUiRHOmIh","file":"file-cQkOwz3aospk"}"#);
    let done = stable(&[get, later]);
    assert_eq!(body(&done[0]), r#"{"id":"asst_DBRFUiRHOmIh","file_ids":["file-000001"]}"#);
    assert_eq!(sent(&done[1]), r#"{"assistant_id":"asst_DBRFUiRHOmIh","file":"file-000001"}"#);
}

#[test]
fn a_stream_says_one_id_in_every_event_and_may_cut_another_in_two() {
    let event = |text: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-978tsEgIx0oqdZ\",\"created\":{EPOCH},\"delta\":{{\"content\":\"{text}\"}}}}\n\n"
        )
    };
    let stable_event = |text: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-000001\",\"created\":1704067203,\"delta\":{{\"content\":\"{text}\"}}}}\n\n"
        )
    };
    let first = openai(r#"{"id":"call_TRB1jnZxAdUJcn","created":1795031999}"#);
    let stream = openai(
        &[event("I did call_TRB1"), event("jnZxA"), event("dUJcn."), "data: [DONE]\n\n".into()].concat(),
    )
    .events();
    assert_eq!(
        bodies(&[first, stream])[1],
        [stable_event("I did call_000001"), stable_event(""), stable_event("."), "data: [DONE]\n\n".into()]
            .concat()
            .replace("1704067203", "1704067204")
    );
}

#[test]
fn messages_of_a_conversation_are_read_and_changed() {
    let talk = Call {
        messages: vec![
            (Peer::Server, r#"{"type":"session.created","event_id":"event_BIt8FmZz8WZnoA","session":{"id":"sess_BIt8FmZz8WZnoA"}}"#.into()),
            (Peer::Client, r#"{"event_id":"event_mine01","of":"sess_BIt8FmZz8WZnoA"}"#.into()),
            (Peer::Server, r#"{"event_id":"event_mine01"}"#.into()),
        ],
        ..call("https://api.openai.com/v1/realtime", "")
    };
    let done = stable(&[talk]);
    let texts: Vec<_> = done[0].reply.response().unwrap().messages.iter().map(|m| m.piece.clone()).collect();
    assert_eq!(
        texts,
        [
            r#"{"type":"session.created","event_id":"event_000001","session":{"id":"sess_000001"}}"#,
            r#"{"event_id":"event_mine01","of":"sess_000001"}"#,
            r#"{"event_id":"event_mine01"}"#,
        ]
        .map(|text| Piece::Text(text.into()))
    );
}

#[test]
fn times_of_the_run_are_counted_by_what_they_belong_to() {
    let text = format!(
        r#"{{"id":"resp_67ccd3a9da748190","created_at":{EPOCH},"x":{{"id":"msg_67ccd3acc8d48190","created_at":{EPOCH},"completed_at":{EPOCH}}}}}"#
    );
    // The header, the response, its message, and the message's end.
    let done = stable(&[openai(&text), openai(&text)]);
    assert_eq!(header(&done[0], "date"), "Mon, 01 Jan 2024 00:00:01 GMT");
    assert_eq!(
        body(&done[0]),
        r#"{"id":"resp_000001","created_at":1704067202,"x":{"id":"msg_000001","created_at":1704067203,"completed_at":1704067204}}"#
    );
    assert_eq!(header(&done[1], "date"), "Mon, 01 Jan 2024 00:00:05 GMT");
    assert_eq!(body(&done[1]), body(&done[0]));
}

#[test]
fn whether_two_clocks_read_the_same_second_changes_nothing() {
    let text = |ended: i64| {
        format!(
            r#"{{"id":"run_CuODWoGymxBTjv4s","created_at":{EPOCH},"started_at":{ended},"completed_at":{ended}}}"#
        )
    };
    assert_eq!(bodies(&[openai(&text(EPOCH))]), bodies(&[openai(&text(EPOCH + 1))]));
}

#[test]
fn what_is_older_than_the_recording_keeps_its_time() {
    let list = github(
        "/repos/o/r/issues",
        r#"[{"id":3000001,"created_at":"2026-11-16T09:00:00Z","updated_at":"2026-11-18T19:40:00Z"}]"#,
    );
    let new = Call {
        method: "POST",
        ..github(
            "/repos/o/r/issues/7/comments",
            r#"{"id":3000002,"created_at":"2026-11-18T20:00:03Z","updated_at":"2026-11-18T20:00:03Z"}"#,
        )
    };
    let models = Call { method: "GET", ..openai(r#"{"data":[{"id":"gpt-4o","created":1715367049}]}"#) };
    let done = stable(&[list, new, models]);
    assert_eq!(
        body(&done[0]),
        r#"[{"id":1000000001,"created_at":"2026-11-16T09:00:00Z","updated_at":"2026-11-18T19:40:00Z"}]"#
    );
    // New things stay newer than old ones.
    assert_eq!(header(&done[0], "date"), "Fri, 20 Nov 2026 00:00:01 GMT");
    assert_eq!(
        body(&done[1]),
        r#"{"id":1000000002,"created_at":"2026-11-20T00:00:03Z","updated_at":"2026-11-20T00:00:03Z"}"#
    );
    assert_eq!(body(&done[2]), r#"{"data":[{"id":"gpt-4o","created":1715367049}]}"#);
}

#[test]
fn without_a_clock_what_a_model_made_is_new_and_what_was_fetched_is_not() {
    let text = r#"{"id":"chatcmpl-978tsEgIx0","created":1711915922}"#;
    let fetched = Call { method: "GET", ..openai(text).without_date() };
    assert_eq!(bodies(&[openai(text).without_date()]), [r#"{"id":"chatcmpl-000001","created":1704067201}"#]);
    assert_eq!(bodies(&[fetched]), [r#"{"id":"chatcmpl-000001","created":1711915922}"#]);
    let stored = github("/x", r#"{"created_at":"2018-01-01T22:35:01Z"}"#).without_date();
    assert_eq!(bodies(&[stored]), [r#"{"created_at":"2018-01-01T22:35:01Z"}"#]);
}

#[test]
fn a_time_is_carried_to_where_the_client_says_it_again_and_not_to_where_it_said_it_before() {
    let early = github("/search?q=2026-11-18T20:00:00Z", "{}");
    let made = github("/gists", r#"{"id":3000001,"created_at":"2026-11-18T20:00:00Z"}"#);
    let since = github("/issues?since=2026-11-18T20%3A00%3A00Z", "[]");
    let done = stable(&[early, made, since]);
    assert_eq!(done[0].request.url.target(), "/search?q=2026-11-18T20:00:00Z");
    assert_eq!(body(&done[1]), r#"{"id":1000000001,"created_at":"2024-01-01T00:00:03Z"}"#);
    assert_eq!(done[2].request.url.target(), "/issues?since=2024-01-01T00%3A00%3A03Z");
}

#[test]
fn a_time_that_the_client_chose_is_its_own() {
    let run = Call {
        method: "POST",
        ..github(
            "/check-runs",
            r#"{"id":3000001,"started_at":"2026-11-18T20:00:00Z","completed_at":"2026-11-18T20:00:00Z"}"#,
        )
    };
    let run = run.sending(r#"{"started_at":"2026-11-18T20:00:00Z"}"#);
    assert_eq!(
        bodies(&[run]),
        [r#"{"id":1000000001,"started_at":"2026-11-18T20:00:00Z","completed_at":"2024-01-01T00:00:02Z"}"#]
    );
}

#[test]
fn an_entity_tag_is_carried_to_the_request_that_asks_whether_it_changed() {
    let first = github("/user", "{}").with("etag", "W/\"3a1f0c55d2\"");
    let mut second = github("/user", "").exchange();
    second = second.map(|mut e| {
        e.request.headers.push(Header::new("if-none-match", "W/\"3a1f0c55d2\"").unwrap());
        e
    });
    let done = stabilize(vec![first.exchange(), second], &[]);
    let tag = format!("W/\"{:064}\"", 1);
    assert_eq!(header(&done[0], "etag"), tag);
    assert_eq!(done[1].request.headers.text("if-none-match"), Some(tag.as_str()));
}

#[test]
fn names_of_gemini_keep_their_folder_and_an_id_has_one_length() {
    let upload = call(
        "https://generativelanguage.googleapis.com/upload/v1beta/files",
        r#"{"file":{"name":"files/ab12cd34ef56","uri":"https://generativelanguage.googleapis.com/v1beta/files/ab12cd34ef56","createTime":"2026-11-18T20:00:00.919086Z"}}"#,
    );
    let ask = call(
        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?file=files%2Fab12cd34ef56",
        r#"{"responseId":"8e97asPMLaS4qtsP7oGv4Ag"}"#,
    );
    let done = stable(&[upload, ask]);
    assert_eq!(
        body(&done[0]),
        r#"{"file":{"name":"files/000001","uri":"https://generativelanguage.googleapis.com/v1beta/files/000001","createTime":"2024-01-01T00:00:02.000000Z"}}"#
    );
    assert_eq!(done[1].request.url.query.as_deref(), Some("file=files%2F000001"));
    assert_eq!(body(&done[1]), r#"{"responseId":"0000000000000000000001"}"#);
}

#[test]
fn lengths_and_sums_follow_the_body() {
    let text = r#"{"id":"chatcmpl-978tsEgIx0oqdZwD8Gm"}"#;
    let done =
        stable(&[openai(text).with("content-length", &text.len().to_string()).with("content-md5", "x")]);
    assert_eq!(header(&done[0], "content-length"), r#"{"id":"chatcmpl-000001"}"#.len().to_string());
    assert!(!done[0].reply.response().unwrap().headers.has("content-md5"));
}

#[test]
fn a_host_that_nobody_knows_is_left_alone() {
    let other = call(
        "https://api.other.test/v1/chat/completions",
        r#"{"id":"chatcmpl-978tsEgIx0","created":1795032000}"#,
    );
    let before = other.exchange();
    assert_eq!(stabilize(vec![before.clone()], &[]), [before]);
}

#[test]
fn numbers_and_times_go_on_where_the_old_cassette_ended() {
    let old = stable(&[openai(r#"{"id":"chatcmpl-978tsEgIx0","created":1795032000}"#)]);
    let new = openai(r#"{"id":"chatcmpl-AAAAAAAAAAAA","created":1795032000}"#);
    let done = stabilize(vec![new.exchange()], &old);
    // The old date and the old creation, then the new date.
    assert_eq!(body(&done[0]), r#"{"id":"chatcmpl-000002","created":1704067204}"#);
}

/// Texts in which ids, times and what only looks like them come in every mixture.
fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("\"id\":\"chatcmpl-AAAAAAAA\"".to_owned()),
        Just("\"id\":\"chatcmpl-BBBBBBBB\"".to_owned()),
        Just("\"id\":\"chatcmpl-000003\"".to_owned()),
        Just("\"id\":583231".to_owned()),
        Just("\"id\":1000000002".to_owned()),
        Just("\"node_id\":\"MDEyOk9yZ2FuaXphdGlvbjMxODk4MTAw\"".to_owned()),
        Just("\"created\":1795032000".to_owned()),
        Just("\"created_at\":\"2026-11-18T20:00:00Z\"".to_owned()),
        Just("\"created_at\":\"2026-11-17T20:00:00.5+01:00\"".to_owned()),
        Just("\"text\":\"chatcmpl-AAAAAAAA 583231 1795032000\"".to_owned()),
        Just("\"text\":\"{\\\"id\\\":\\\"chatcmpl-BBBBBBBB\\\"}\"".to_owned()),
        "\"[a-z_]{1,6}\":(\"[ -!#-\\[\\]-~]{0,12}\"|[1-9][0-9]{0,11})",
    ];
    proptest::collection::vec(word, 0..5).prop_map(|words| format!("{{{}}}", words.join(",")))
}

fn recordings() -> impl Strategy<Value = Vec<Scrubbed<Exchange>>> {
    let one =
        (texts(), texts(), any::<bool>(), any::<bool>()).prop_map(|(sent, body, is_github, is_stream)| {
            let call = if is_github { github("/x", &body) } else { openai(&body) }.sending(&sent);
            if is_stream { Call { body: format!("data: {body}\n\n"), ..call.events() } } else { call }
                .exchange()
        });
    proptest::collection::vec(one, 1..4)
}

proptest! {
    #[test]
    fn to_stabilize_twice_is_to_stabilize_once(recording in recordings()) {
        let told = |recording: &[Scrubbed<Exchange>]| -> Vec<(String, String)> {
            recording.iter().map(|exchange| (sent(exchange), body(exchange))).collect()
        };
        let once = stabilize(recording.clone(), &[]);
        let twice = stabilize(once.clone(), &[]);
        prop_assert_eq!(told(&twice), told(&once), "from {:?}", told(&recording));
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn ids_that_differ_stay_different_and_equal_ones_equal(ids in proptest::collection::vec("[A-D]{6}", 1..6)) {
        let calls: Vec<Call> = ids.iter().map(|id| openai(&format!("{{\"id\":\"msg_{id}\"}}"))).collect();
        let new = bodies(&calls);
        for (i, a) in ids.iter().enumerate() {
            for (j, b) in ids.iter().enumerate() {
                prop_assert_eq!(a == b, new[i] == new[j]);
            }
        }
    }

    #[test]
    fn a_body_in_which_nothing_is_named_stays_as_it_is(text in "[ -~]{0,60}") {
        let call = github("/x", &text);
        prop_assert_eq!(&bodies(std::slice::from_ref(&call))[0], &text);
    }

    #[test]
    fn how_a_stream_was_cut_on_its_way_changes_nothing(recording in recordings(), cut in 0usize..200) {
        let frames = |e: &Exchange, cut: usize| {
            let len = usize::try_from(e.reply.response().unwrap().body.len()).unwrap();
            [cut.min(len), len - cut.min(len)].map(|len| Frame { len, after: Duration::ZERO }).to_vec()
        };
        let cut_up = |cut: usize| -> Vec<String> {
            let framed = recording.iter().cloned().map(|exchange| exchange.map(|mut e| {
                let frames = frames(&e, cut);
                let Reply::Response(response) = &mut e.reply else { unreachable!() };
                response.body.frames = frames;
                e
            }));
            let done = stabilize(framed.collect(), &[]);
            for exchange in &done {
                let body = &exchange.reply.response().unwrap().body;
                assert_eq!(body.frames.iter().map(|f| f.len).sum::<usize>() as u64, body.len());
            }
            done.iter().map(|exchange| body(exchange)).collect()
        };
        prop_assert_eq!(cut_up(cut), cut_up(0));
    }
}
