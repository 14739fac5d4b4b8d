//! Rules of ends: interrupts, suspensions, closings and deletions that cross turns, starts and writes.

use tackroom_core::{
    input::{FailureKind, NoticeBody, Outcome, SliceFailure, SliceOutcome},
    record::Status,
};
use tackroom_parity::{
    chunks,
    world::{World, allow},
};

use crate::{
    Scenario,
    setup::{
        ask, awaiting, busy, idle, last_command, preparing, reply, reply_to, resuming, suspended, suspended_in_pause,
    },
};

pub(crate) fn scenarios() -> Vec<Scenario> {
    [stopping(), ends_by_themselves(), waiter(), starts(), saves(), ends_of_resumes(), deletions()]
        .into_iter()
        .flatten()
        .collect()
}

fn failure(alive: bool) -> SliceOutcome {
    SliceOutcome::Failed(SliceFailure { message: "The model is overloaded.".into(), alive })
}

fn stopping() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-stopping--interrupt-is-confirmed", |w| {
            busy(w);
            w.interrupt("s").succeed("InterruptTurn").view("s");
            assert_eq!(reply(w), "none");
            w.slice_end("s", SliceOutcome::Interrupted).drain().is("s", Status::Idle);
            assert_eq!(reply(w), "accepted");
        }),
        Scenario::new("rule-stopping--the-end-comes-first", |w| {
            busy(w);
            w.hold("InterruptTurn").interrupt("s").slice_end("s", SliceOutcome::Finished).unhold("InterruptTurn");
            w.drain().is("s", Status::Idle);
            assert_eq!(reply(w), "accepted");
        }),
        Scenario::new("rule-stopping--a-pause-meanwhile-is-denied", |w| {
            busy(w);
            w.hold("InterruptTurn").interrupt("s").chunks("s", chunks::asked("c1", "write", serde_json::json!({})));
            w.slice_end("s", SliceOutcome::Paused).unhold("InterruptTurn").drain().is("s", Status::Idle);
            assert_eq!(w.summary("s").pending, []);
        }),
        Scenario::new("rule-stopping--sends-conflict-until-confirmed", |w| {
            busy(w);
            w.hold("InterruptTurn").interrupt("s").send("s", "Too early.");
            assert_eq!(reply(w), "conflict");
            w.unhold("InterruptTurn").drain().is("s", Status::Idle).send("s", "Now.").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-stopping--interrupted-twice", |w| {
            busy(w);
            w.hold("InterruptTurn").interrupt("s").interrupt("s").unhold("InterruptTurn").drain().is("s", Status::Idle);
            assert_eq!(reply_to(w, last_command(w)), "accepted");
            assert_eq!(reply_to(w, last_command(w) - 1), "accepted");
        }),
        Scenario::new("rule-stopping--unconfirmed-with-a-resume-state", |w| {
            busy(w);
            w.hold("InterruptTurn").interrupt("s").tick(15_000).drain().is("s", Status::Suspended);
        }),
        Scenario::new("rule-stopping--unconfirmed-without-a-resume-state", |w| {
            w.outcome_next("StartAgent", Outcome::Started(None)).create("s").drain().send("s", "Look.").drain();
            w.hold("InterruptTurn").interrupt("s").tick(15_000).drain().is("s", Status::Interrupted);
        }),
        Scenario::new("rule-stopping--close-supersedes-interrupt", |w| {
            busy(w);
            w.hold("InterruptTurn").interrupt("s").close("s").unhold("InterruptTurn").drain().is("s", Status::Closed);
        }),
    ]
}

fn ends_by_themselves() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-stopping--a-turn-fails-and-the-agent-lives", |w| {
            busy(w);
            w.slice_end("s", failure(true)).drain().is("s", Status::Idle);
            assert_eq!(w.summary("s").error.map(|error| error.code).as_deref(), Some("agent-failed"));
        }),
        Scenario::new("rule-stopping--a-turn-fails-with-its-agent", |w| {
            busy(w);
            w.slice_end("s", failure(false)).drain().view("s");
            w.send("s", "Are you there?").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-stopping--an-agent-exits-in-its-turn", |w| {
            busy(w);
            w.agent_exits("s").slice_end("s", failure(false)).drain().view("s").is("s", Status::Suspended);
        }),
        Scenario::new("rule-stopping--an-agent-exits-when-idle", |w| {
            idle(w);
            let agent = agent_of(w);
            w.notice(agent, NoticeBody::Exited("The agent was killed.".into())).drain().view("s");
            w.is("s", Status::Suspended);
        }),
        Scenario::new("rule-stopping--a-pause-is-given-up", |w| {
            awaiting(w);
            w.interrupt("s").drain().view("s").is("s", Status::Idle);
            assert_eq!(w.summary("s").pending, []);
            w.answer("s", &[("approval-c1", allow())]);
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("rule-stopping--a-kept-pause-is-given-up", |w| {
            suspended_in_pause(w);
            w.interrupt("s").drain().is("s", Status::Suspended);
            assert_eq!(w.summary("s").pending, []);
            w.send("s", "Something else.").drain().is("s", Status::Busy);
        }),
    ]
}

/// The agent that was started last.
fn agent_of(w: &World) -> u64 {
    use tackroom_core::effect::EffectBody;
    let steps = w.host.answers.iter().filter_map(|answer| answer.step());
    let mut starts = steps.flat_map(|step| &step.effects).filter(|e| matches!(e.body, EffectBody::StartAgent(_)));
    starts.next_back().expect("an agent was started").id
}

fn waiter() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-waiter--send-during-a-suspension", |w| {
            idle(w);
            w.hold("StopAgent").suspend("s").send("s", "Wait.").drain();
            assert_eq!(reply(w), "accepted");
            w.unhold("StopAgent").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-waiter--final-answer-during-a-suspension", |w| {
            awaiting(w);
            w.hold("StopAgent").suspend("s").answer("s", &[("approval-c1", allow())]).drain();
            assert_eq!(reply(w), "accepted");
            w.unhold("StopAgent").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-waiter--one-at-a-time", |w| {
            idle(w);
            w.hold("StopAgent").suspend("s").send("s", "First.").send("s", "Second.");
            assert_eq!(reply(w), "conflict");
            w.unhold("StopAgent").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-waiter--interrupted", |w| {
            idle(w);
            w.hold("StopAgent").suspend("s").send("s", "Wait.").drain().interrupt("s").drain();
            w.unhold("StopAgent").drain().view("s").is("s", Status::Suspended);
        }),
        Scenario::new("rule-waiter--closed", |w| {
            idle(w);
            w.hold("StopAgent").suspend("s").send("s", "Wait.").drain().close("s").unhold("StopAgent").drain();
            w.view("s").is("s", Status::Closed);
        }),
        Scenario::new("rule-waiter--the-suspension-fails", |w| {
            idle(w);
            w.hold("StopAgent").suspend("s").send("s", "Wait.").drain().unhold("StopAgent");
            w.fail_next("StopAgent", FailureKind::Other).drain().view("s");
        }),
        Scenario::new("rule-waiter--two-messages-are-one-prompt", |w| {
            suspended(w);
            w.fail_next("AcquireSandbox", FailureKind::Unavailable).send("s", "First.").drain().view("s");
            w.is("s", Status::Suspended).send("s", "Second.").drain().is("s", Status::Busy);
        }),
    ]
}

fn starts() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-start-fails--no-sandbox", |w| {
            w.fail_next("AcquireSandbox", FailureKind::Unavailable).create("s").drain().view("s");
            w.is("s", Status::Failed);
        }),
        Scenario::new("rule-start-fails--no-agent", |w| {
            w.fail_next("StartAgent", FailureKind::Other).create("s").drain().view("s").is("s", Status::Failed);
        }),
        Scenario::new("rule-start-fails--the-backend-has-no-room", |w| {
            w.fail_next("AcquireSandbox", FailureKind::Capacity).create("s").drain().view("s").is("s", Status::Failed);
        }),
        Scenario::new("rule-start-fails--with-a-message-waiting", |w| {
            preparing(w);
            w.fail_next("StartAgent", FailureKind::Other).send("s", "Hello.").drain().view("s").is("s", Status::Failed);
            w.send("s", "Again.").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-start-fails--in-time", |w| {
            preparing(w);
            w.hold("AcquireSandbox").tick(600_000).drain().view("s").is("s", Status::Failed);
            // The late lease is given back.
            w.succeed("AcquireSandbox").drain();
        }),
        Scenario::new("rule-start-fails--the-agent-in-time", |w| {
            w.hold("StartAgent").create("s").drain().tick(300_000).drain().view("s").is("s", Status::Failed);
            w.succeed("StartAgent").drain();
        }),
        Scenario::new("rule-start-fails--a-resume-at-its-sandbox", |w| {
            suspended(w);
            w.fail_next("AcquireSandbox", FailureKind::Unavailable).send("s", "Back?").drain().view("s");
            w.is("s", Status::Suspended);
        }),
        Scenario::new("rule-start-fails--a-resume-at-its-agent", |w| {
            suspended(w);
            w.fail_next("StartAgent", FailureKind::Other).send("s", "Back?").drain().view("s");
            w.is("s", Status::Suspended);
        }),
        Scenario::new("rule-start-fails--what-was-kept-is-gone", |w| {
            suspended(w);
            w.fail_next("AcquireSandbox", FailureKind::Gone).send("s", "Back?").drain().view("s");
        }),
        Scenario::new("rule-start-fails--a-resume-for-an-answer", |w| {
            suspended_in_pause(w);
            w.fail_next("StartAgent", FailureKind::Other).answer("s", &[("approval-c1", allow())]).drain().view("s");
            w.is("s", Status::Suspended);
        }),
        Scenario::new("rule-start-fails--and-is-tried-again", |w| {
            w.fail_next("StartAgent", FailureKind::Other).fail_next("StartAgent", FailureKind::Other).create("s");
            w.drain().send("s", "Once.").drain().is("s", Status::Failed).send("s", "Twice.").drain();
            w.view("s").is("s", Status::Busy);
        }),
    ]
}

fn saves() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-save-fails--create", |w| {
            w.fail_next("SaveSession", FailureKind::Broken).create("s").drain();
            assert_eq!(reply(w), "store");
        }),
        Scenario::new("rule-save-fails--create-of-a-kept-session", |w| {
            w.fail_next("SaveSession", FailureKind::Exists).create("s").drain();
            assert_ne!(reply(w), "accepted");
        }),
        Scenario::new("rule-save-fails--create-until-its-deadline", |w| {
            w.hold("SaveSession").create("s").tick(10_000).tick(10_000).drain().view("s");
            w.unhold("SaveSession").drain().view("s");
        }),
        Scenario::new("rule-save-fails--send-and-the-session-is-as-it-was", |w| {
            idle(w);
            w.fail_next("SaveSession", FailureKind::Broken).send("s", "Lost.").drain().is("s", Status::Idle);
            assert_eq!(reply(w), "store");
            w.send("s", "Kept.").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-save-fails--send-with-its-answer-lost", |w| {
            idle(w);
            w.send("s", "Was it written?").lose_answer("SaveSession").tick(250).drain().view("s");
            assert_eq!(reply(w), "accepted");
            w.is("s", Status::Busy);
        }),
        Scenario::new("rule-save-fails--send-in-time", |w| {
            idle(w);
            w.hold("SaveSession").send("s", "Never written.").tick(10_000).tick(10_000).tick(1_000).drain().view("s");
        }),
        Scenario::new("rule-save-fails--the-end-of-a-turn-is-retried", |w| {
            busy(w);
            w.fail_next("SaveSession", FailureKind::Unavailable).slice_end("s", SliceOutcome::Finished).drain();
            assert!(w.summary("s").degraded);
            w.view("s").tick(30_000).drain().view("s").is("s", Status::Idle);
            assert!(!w.summary("s").degraded);
        }),
        Scenario::new("rule-save-fails--after-the-agent-stopped", |w| {
            idle(w);
            w.hold("SaveSession").suspend("s").drain().view("s");
            w.complete("SaveSession", tackroom_parity::host::failed(FailureKind::Unavailable)).view("s");
            w.unhold("SaveSession").tick(30_000).drain().view("s").is("s", Status::Suspended);
        }),
        Scenario::new("rule-save-fails--another-writer-was-first", |w| {
            busy(w);
            w.fail_next("SaveSession", FailureKind::Stale).slice_end("s", SliceOutcome::Finished).drain();
        }),
        Scenario::new("rule-save-fails--update", |w| {
            idle(w);
            w.fail_next("SaveSession", FailureKind::Broken).update("s", r#"{"lost":true}"#).drain().view("s");
            assert_eq!(reply(w), "store");
            assert_eq!(w.summary("s").metadata, "{}");
        }),
    ]
}

fn ends_of_resumes() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-close-during-resume--at-its-sandbox", |w| {
            resuming(w);
            w.hold("AcquireSandbox").close("s").drain().is("s", Status::Closed);
            w.succeed("AcquireSandbox").unhold("AcquireSandbox").drain().view("s");
        }),
        Scenario::new("rule-close-during-resume--at-its-agent", |w| {
            suspended(w);
            w.hold("StartAgent").send("s", "Back?").drain().close("s").drain().is("s", Status::Closed);
            w.succeed("StartAgent").unhold("StartAgent").drain().view("s");
        }),
        Scenario::new("rule-close-during-resume--with-an-answer", |w| {
            suspended_in_pause(w);
            w.hold("StartAgent").answer("s", &[("approval-c1", allow())]).drain().close("s").drain();
            w.is("s", Status::Closed).succeed("StartAgent").drain();
        }),
        Scenario::new("rule-interrupt-during-resume--a-message", |w| {
            resuming(w);
            w.interrupt("s").drain().view("s");
            assert_eq!(reply(w), "accepted");
        }),
        Scenario::new("rule-interrupt-during-resume--an-answer", |w| {
            suspended_in_pause(w);
            w.hold("StartAgent").answer("s", &[("approval-c1", allow())]).drain().interrupt("s");
            w.unhold("StartAgent").drain().view("s");
        }),
        Scenario::new("rule-interrupt-during-resume--a-new-session", |w| {
            preparing(w);
            w.send("s", "Never mind.").hold("AcquireSandbox").drain().interrupt("s").unhold("AcquireSandbox").drain();
            w.view("s").is("s", Status::Idle);
        }),
    ]
}

fn deletions() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-delete-supersedes--close", |w| {
            busy(w);
            w.hold("InterruptTurn").hold("DestroyAgent").close("s").delete("s");
            w.unhold("InterruptTurn").unhold("DestroyAgent").drain().view("s");
            assert!(w.host.summary("s").is_none() && !w.host.store.holds("s"));
        }),
        Scenario::new("rule-delete-supersedes--suspend", |w| {
            idle(w);
            w.hold("StopAgent").suspend("s").delete("s").unhold("StopAgent").drain().view("s");
            assert!(w.host.summary("s").is_none() && !w.host.store.holds("s"));
        }),
        Scenario::new("rule-delete-supersedes--and-waits-for-a-save", |w| {
            idle(w);
            w.hold("SaveSession").update("s", r#"{"a":1}"#).delete("s").view("s").unhold("SaveSession").drain();
            assert!(!w.host.store.holds("s"));
        }),
        Scenario::new("rule-delete-supersedes--the-id-is-free-only-then", |w| {
            idle(w);
            w.hold("DeleteSession").delete("s").drain().create("s");
            assert_eq!(reply(w), "conflict");
            w.unhold("DeleteSession").drain().create("s").drain().is("s", Status::Idle);
        }),
        Scenario::new("rule-delete-supersedes--a-deletion-fails", |w| {
            idle(w);
            w.fail_next("DeleteSession", FailureKind::Unavailable).delete("s").drain().view("s");
            assert_eq!(reply(w), "store");
            w.is("s", Status::Closed).delete("s").drain();
            assert!(!w.host.store.holds("s"));
        }),
        Scenario::new("rule-delete-supersedes--a-pause", |w| {
            busy(w);
            ask(w, &["c1", "c2"]);
            w.delete("s").drain().view("s");
            assert!(!w.host.store.holds("s"));
        }),
    ]
}
