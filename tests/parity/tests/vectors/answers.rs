//! Rules of answers: who is heard, how often, and what is kept for a call that is asked again.

use serde_json::json;
use tackroom_core::{
    Config,
    input::{Allow, AnswerBody, CommandBody, Continue, FailureKind, Outcome, SliceEnd, SliceOutcome, Verdict},
    record::{Status, Usage},
};
use tackroom_parity::{
    chunks,
    world::{World, allow, deny, result},
};

use crate::{
    Scenario,
    setup::{ask, awaiting, begin, busy, last_command, reply, reply_to, suspended_in_pause},
};

pub(crate) fn scenarios() -> Vec<Scenario> {
    [continues(), refused_answers(), approvals(), kept_answers()].into_iter().flatten().collect()
}

fn with_approver() -> Config {
    Config { approver: true, ..Config::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "a callback gives a verdict or none")]
fn verdict(approved: bool) -> Option<Verdict> {
    let reason = Some("The rules say so.".to_owned());
    Some(Verdict { approved, reason, edited_input: None, rule: Some("writes".into()) })
}

/// The slice at work asks for `c1`, and its host has an `approve` callback that has not answered.
fn in_flight(w: &mut World) {
    busy(w);
    w.chunks("s", chunks::asked("c1", "write", json!({"path": "a"}))).slice_end("s", SliceOutcome::Paused).drain();
    w.is("s", Status::Busy);
}

fn continues() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-two-continues--equal", |w| {
            awaiting(w);
            w.hold("SaveSession").answer("s", &[("approval-c1", allow())]).answer("s", &[("approval-c1", allow())]);
            w.unhold("SaveSession").drain().is("s", Status::Busy);
            assert_ne!(reply_to(w, last_command(w)), "conflict");
            assert_eq!(reply_to(w, last_command(w) - 1), "accepted");
        }),
        Scenario::new("rule-two-continues--disjoint", |w| {
            busy(w);
            ask(w, &["c1", "c2"]);
            w.answer("s", &[("approval-c1", allow())]).drain().is("s", Status::AwaitingInput).view("s");
            assert_eq!(reply(w), "accepted");
            w.answer("s", &[("approval-c2", deny("Not this one."))]).drain().is("s", Status::Busy);
            assert_eq!(reply(w), "accepted");
        }),
        Scenario::new("rule-two-continues--disjoint-at-once", |w| {
            busy(w);
            ask(w, &["c1", "c2"]);
            w.hold("SaveSession").answer("s", &[("approval-c1", allow())]).answer("s", &[("approval-c2", allow())]);
            w.unhold("SaveSession").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-two-continues--contradicting", |w| {
            busy(w);
            ask(w, &["c1", "c2"]);
            w.answer("s", &[("approval-c1", allow())]).drain().answer("s", &[("approval-c1", deny("No."))]).drain();
            assert_eq!(reply(w), "conflict");
        }),
        Scenario::new("rule-two-continues--settled-already", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())]).drain().chunks("s", vec![chunks::output("c1", json!("done"))]);
            w.slice_end("s", SliceOutcome::Finished).drain().answer("s", &[("approval-c1", allow())]).drain();
            assert_eq!(reply(w), "repeated");
        }),
    ]
}

fn refused_answers() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-two-continues--an-unknown-id", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c9", allow())]);
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("rule-two-continues--by-the-tool-call", |w| {
            awaiting(w);
            w.answer("s", &[("c1", deny("Ask me later."))]).drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-two-continues--an-edited-input", |w| {
            awaiting(w);
            let edited = Allow { reason: Some("Elsewhere.".into()), edited_input: Some(r#"{"path":"b"}"#.into()) };
            w.answer("s", &[("approval-c1", AnswerBody::Allow(edited))]).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-two-continues--a-result", |w| {
            busy(w);
            w.chunks("s", chunks::tool_call("q1", "ask_user", json!({"question": "Which?"})));
            w.slice_end("s", SliceOutcome::Paused).drain().view("s").is("s", Status::AwaitingInput);
            w.answer("s", &[("q1", result(r#""The first.""#))]).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-two-continues--a-result-where-a-yes-is-waited-for", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", result("1"))]);
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("rule-two-continues--read-out-of-a-message", |w| {
            awaiting(w);
            let text = w.host.live_message("s").expect("a pause has a message");
            let text = text.replace("approval-requested", "approval-responded");
            let message = text.replace(r#""id":"approval-c1""#, r#""id":"approval-c1","approved":true"#);
            let body = Continue { answers: vec![], message: Some(message), who: "ann".into() };
            w.command("s", CommandBody::Continue(body)).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-two-continues--a-write-fails", |w| {
            awaiting(w);
            w.fail_next("SaveSession", FailureKind::Broken).answer("s", &[("approval-c1", allow())]).drain();
            assert_eq!(reply(w), "store");
            w.is("s", Status::AwaitingInput).answer("s", &[("approval-c1", allow())]).drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-two-continues--a-suspended-pause-in-two-steps", |w| {
            busy(w);
            ask(w, &["c1", "c2"]);
            w.suspend("s").drain().answer("s", &[("approval-c1", allow())]).drain().is("s", Status::Suspended);
            w.answer("s", &[("approval-c2", allow())]).drain().view("s").is("s", Status::Busy);
        }),
    ]
}

fn approvals() -> Vec<Scenario> {
    vec![
        Scenario::with("rule-approve-in-flight--allowed", with_approver(), |w| {
            in_flight(w);
            w.verdict(verdict(true)).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::with("rule-approve-in-flight--denied", with_approver(), |w| {
            in_flight(w);
            w.verdict(verdict(false)).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::with("rule-approve-in-flight--left-to-a-person", with_approver(), |w| {
            in_flight(w);
            w.verdict(None).drain().view("s").is("s", Status::AwaitingInput);
            w.answer("s", &[("approval-c1", allow())]).drain().is("s", Status::Busy);
        }),
        Scenario::with("rule-approve-in-flight--the-callback-throws", with_approver(), |w| {
            in_flight(w);
            w.fail_next("Approve", FailureKind::Other).drain().view("s").is("s", Status::AwaitingInput);
        }),
        Scenario::with("rule-approve-in-flight--the-callback-hangs", with_approver(), |w| {
            in_flight(w);
            let late = w.pending("Approve").id;
            w.tick(60_000).drain().is("s", Status::AwaitingInput);
            w.host.complete(late, Outcome::Verdict(verdict(true)));
            w.is("s", Status::AwaitingInput);
        }),
        Scenario::with("rule-approve-in-flight--a-person-is-first", with_approver(), |w| {
            in_flight(w);
            w.answer("s", &[("approval-c1", deny("I say no."))]).drain().view("s");
            w.verdict(verdict(true)).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::with("rule-approve-in-flight--two-calls", with_approver(), |w| {
            busy(w);
            for call in ["c1", "c2"] {
                w.chunks("s", chunks::asked(call, "write", json!({"path": call})));
            }
            w.slice_end("s", SliceOutcome::Paused).drain().verdict(verdict(true)).drain();
            w.verdict(None).drain().view("s").is("s", Status::AwaitingInput);
            w.answer("s", &[("approval-c1", deny("Overturned?"))]);
            assert_eq!(reply(w), "conflict");
            w.answer("s", &[("approval-c2", allow())]).drain().is("s", Status::Busy);
        }),
        Scenario::with("rule-approve-in-flight--interrupted", with_approver(), |w| {
            in_flight(w);
            w.interrupt("s").drain().verdict(verdict(true)).drain().view("s").is("s", Status::Idle);
        }),
    ]
}

/// The end of a slice in which some answers reached no waiting call.
fn not_taken(outcome: SliceOutcome, calls: &[&str]) -> Outcome {
    let not_taken = calls.iter().map(|call| (*call).to_owned()).collect();
    Outcome::SliceEnded(SliceEnd { outcome, usage: Usage::default(), resume: Some("resume-kept".into()), not_taken })
}

/// Asks for the same call once more, under new ids, and pauses.
fn ask_again(w: &mut World, call: &str) {
    w.chunks("s", chunks::asked(call, "write", json!({"path": "c1"})));
    w.slice_end("s", SliceOutcome::Paused).drain();
}

fn kept_answers() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-not-taken--the-answer-is-kept-for-the-call-asked-again", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())]).drain();
            w.chunks("s", chunks::asked("c2", "write", json!({"path": "c1"})));
            w.slice_ends("s", not_taken(SliceOutcome::Paused, &["c1"])).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-not-taken--and-the-turn-is-over", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())]).drain();
            w.slice_ends("s", not_taken(SliceOutcome::Finished, &["c1"])).drain().view("s").is("s", Status::Idle);
        }),
        Scenario::new("rule-not-taken--an-unknown-call", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())]).drain();
            w.slice_ends("s", not_taken(SliceOutcome::Finished, &["c7"])).drain().view("s").is("s", Status::Idle);
        }),
        Scenario::new("rule-outcome-unknown--after-a-crash-in-the-delivery", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())]).drain().restart().view("s");
            w.is("s", Status::Suspended);
        }),
        Scenario::new("rule-outcome-unknown--only-a-person-allows-it-again", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())])
                .drain()
                .restart()
                .send("s", "Go on.")
                .drain()
                .chunks("s", begin());
            ask_again(w, "c2");
            w.view("s").is("s", Status::AwaitingInput).answer("s", &[("approval-c2", allow())]).drain();
            w.is("s", Status::Busy);
        }),
        Scenario::with("rule-outcome-unknown--not-the-callback", with_approver(), |w| {
            in_flight(w);
            w.verdict(verdict(true)).drain().restart().send("s", "Go on.").drain().chunks("s", begin());
            w.chunks("s", chunks::asked("c2", "write", json!({"path": "a"})));
            w.slice_end("s", SliceOutcome::Paused).drain().view("s").is("s", Status::AwaitingInput);
        }),
        Scenario::new("rule-asked-again--right-after-the-answer", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", deny("No."))]).drain();
            ask_again(w, "c2");
            w.view("s").is("s", Status::AwaitingInput);
        }),
        Scenario::with("rule-asked-again--is-not-asked-of-the-callback", with_approver(), |w| {
            in_flight(w);
            w.verdict(verdict(false)).drain().chunks("s", chunks::asked("c2", "write", json!({"path": "a"})));
            w.slice_end("s", SliceOutcome::Paused).drain().view("s").is("s", Status::AwaitingInput);
        }),
        Scenario::new("rule-asked-again--with-another-input", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", deny("No."))]).drain();
            w.chunks("s", chunks::asked("c2", "write", json!({"path": "elsewhere"})));
            w.slice_end("s", SliceOutcome::Paused).drain().view("s").is("s", Status::AwaitingInput);
        }),
        Scenario::new("rule-asked-again--after-a-resume-that-lost-the-pause", |w| {
            suspended_in_pause(w);
            w.answer("s", &[("approval-c1", allow())]).drain().chunks("s", begin());
            w.chunks("s", chunks::asked("c2", "write", json!({"path": "c1"})));
            w.slice_ends("s", not_taken(SliceOutcome::Paused, &["c1"])).drain().view("s").is("s", Status::Busy);
        }),
    ]
}
