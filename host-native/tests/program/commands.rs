//! The commands, against a server and without one.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::running::{Serve, run, tackroom, text};

#[test]
fn sigterm_suspends_every_session_and_ends_within_ten_seconds() {
    let directory = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let mut serve = Serve::start(directory.path(), &[]);
        let id = format!("s{}", signal.as_raw());
        assert_eq!(serve.call("POST", "/v1/sessions", &format!(r#"{{"id":"{id}"}}"#)).0, 201);
        serve.until(&id, "idle");
        let (code, took) = serve.end(signal);
        assert_eq!(code, Some(0));
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    let serve = Serve::start(directory.path(), &[]);
    for id in ["s15", "s2"] {
        serve.until(id, "suspended");
    }
}

#[test]
fn a_pause_outlives_a_server_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut serve = Serve::start(directory.path(), &[]);
    serve.call("POST", "/v1/sessions", r#"{"id":"a"}"#);
    let (status, stream) = serve.call("POST", "/v1/sessions/a/messages", r#"{"message":"Tidy up."}"#);
    assert_eq!(status, 200, "{stream}");
    let session = serve.until("a", "awaiting-input");
    let approval = session["pendingInput"]["approvals"][0]["approvalId"].as_str().unwrap().to_owned();
    serve.end(Signal::KILL);
    let serve = Serve::start(directory.path(), &[]);
    let session = serve.until("a", "suspended");
    assert_eq!(session["pendingInput"]["approvals"][0]["approvalId"], approval.as_str(), "{session}");
    let body = format!(r#"{{"answers":[{{"id":"{approval}","approved":true}}]}}"#);
    let (status, stream) = serve.call("POST", "/v1/sessions/a/answers", &body);
    assert_eq!(status, 200, "{stream}");
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    assert_eq!(serve.until("a", "idle")["turns"], 1);
}

#[test]
fn one_process_owns_a_directory_and_the_others_talk_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let serve = Serve::start(directory.path(), &["--token", "s3cret"]);
    let second = run(&["serve", "--agent", "scripted", "--data", data, "--listen", "127.0.0.1:0"]);
    let error = text(&second.stderr);
    assert_eq!(second.status.code(), Some(5), "{error}");
    assert!(error.contains(&serve.child.id().to_string()) && error.contains(&serve.url), "{error}");
    assert!(!error.contains("s3cret"));
    let list = run(&["sessions", "list", "--json", "--data", data]);
    assert_eq!(text(&list.stdout).trim(), r#"{"sessions":[]}"#, "{list:?}");
}

#[test]
fn sessions_are_listed_shown_closed_and_exported_with_exit_codes() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let serve = Serve::start(directory.path(), &[]);
    serve.call("POST", "/v1/sessions", r#"{"id":"a","metadata":{"user":"ann"}}"#);
    serve.until("a", "idle");
    serve.call("POST", "/v1/sessions/a/messages", r#"{"message":"Tidy up."}"#);
    let list = text(&run(&["sessions", "list", "--metadata", "user=ann", "--data", data]).stdout);
    assert!(list.contains("awaiting-input"), "{list}");
    let shown = text(&run(&["sessions", "show", "a", "--server", &serve.url]).stdout);
    assert!(shown.contains("Tidy up.") && shown.contains("assistant:"), "{shown}");
    let file = directory.path().join("a.json");
    assert!(run(&["sessions", "export", "a", "-o", file.to_str().unwrap(), "--data", data]).status.success());
    let exported: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(exported["session"]["messages"].as_array().map(Vec::len), Some(2), "{exported}");
    let closed = run(&["sessions", "close", "a", "--json", "--data", data]);
    assert_eq!(serde_json::from_slice::<Value>(&closed.stdout).unwrap()["status"], "closed");
    for (args, code) in [
        (["sessions", "show", "nobody"], 3),
        (["sessions", "close", "nobody"], 3),
        (["sessions", "export", "nobody"], 3),
        (["sessions", "show", "a/b"], 2),
    ] {
        let output = run(&[&args[..], &["--data", data]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    }
    let nobody = run(&["sessions", "list", "--server", "http://127.0.0.1:1"]);
    assert_eq!(nobody.status.code(), Some(5), "{nobody:?}");
}

#[test]
fn a_conversation_in_the_terminal_asks_for_approvals_and_leaves_the_session_for_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = tackroom();
    command.args(["chat", "--agent", "scripted", "--data"]).arg(directory.path());
    let mut chat = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    chat.stdin.take().unwrap().write_all(b"Tidy up.\nmaybe\ny\nask me\n2\n/quit\n").unwrap();
    let output = chat.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for words in
        ["There are two saddles.", "bash wants to run", "Please answer", "The old saddle is gone.", "You said: Green"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let data = directory.path().to_str().unwrap();
    let list = text(&run(&["sessions", "list", "--agent", "scripted", "--data", data]).stdout);
    assert!(list.contains("suspended"), "{list}");
}

#[test]
fn a_journal_is_replayed_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal");
    let mut serve = Serve::start(&directory.path().join("data"), &["--journal", journal.to_str().unwrap()]);
    serve.call("POST", "/v1/sessions", r#"{"id":"a"}"#);
    serve.until("a", "idle");
    serve.call("POST", "/v1/sessions/a/messages", r#"{"message":"Tidy up."}"#);
    serve.end(Signal::TERM);
    let file = journal.to_str().unwrap();
    let played = run(&["replay", file, "--json"]);
    assert_eq!(played.status.code(), Some(0), "{played:?}");
    let lines = text(&played.stdout);
    assert!(lines.lines().count() > 10, "{lines}");
    assert!(!lines.contains("\"fault\""), "{lines}");
    let same = run(&["replay", file, "--diff", file]);
    assert_eq!((same.status.code(), text(&same.stdout).trim()), (Some(0), "No difference."));
    let kept = std::fs::read_to_string(&journal).unwrap();
    let shorter: Vec<&str> = kept.lines().collect();
    let other = directory.path().join("other");
    std::fs::write(&other, shorter[..shorter.len() - 1].join("\n")).unwrap();
    let differs = run(&["replay", file, "--diff", other.to_str().unwrap()]);
    assert_eq!(differs.status.code(), Some(1));
    assert!(text(&differs.stdout).contains(&format!("Line {}", shorter.len())), "{differs:?}");
}
