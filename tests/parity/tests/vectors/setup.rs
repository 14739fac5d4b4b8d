//! How a session `s` comes to stand in each status, for the scenarios that begin there.

use serde_json::json;
use tackroom_core::{
    event::Event,
    input::{FailureKind, Outcome, SliceOutcome},
    record::Status,
    rejection::Rejection,
};
use tackroom_parity::{chunks, journal::Answer, world::World};

/// Brings the session `s` into the status of this name.
pub(crate) fn stand(w: &mut World, status: &str) {
    match status {
        "preparing" => preparing(w),
        "idle" => idle(w),
        "busy" => busy(w),
        "awaiting-input" => awaiting(w),
        "suspended" => suspended(w),
        "failed" => failed(w),
        "closed" => closed(w),
        "interrupted" => interrupted(w),
        other => unreachable!("no status is named {other}"),
    }
    assert_eq!(w.summary("s").status.as_str(), status);
}

/// New, and waiting for its sandbox. Go on with [`World::unhold`] and [`World::drain`].
pub(crate) fn preparing(w: &mut World) {
    w.hold("AcquireSandbox").create("s").drain().is("s", Status::Preparing).unhold("AcquireSandbox");
}

/// Without a turn yet.
pub(crate) fn idle(w: &mut World) {
    w.create("s").drain().is("s", Status::Idle);
}

/// In its first turn, which has said something.
pub(crate) fn busy(w: &mut World) {
    idle(w);
    w.send("s", "Look around.").drain().chunks("s", begin()).chunks("s", chunks::text("x1", "I look."));
    w.is("s", Status::Busy);
}

/// In its first turn, which waits for an answer to `approval-c1`.
pub(crate) fn awaiting(w: &mut World) {
    busy(w);
    ask(w, &["c1"]);
}

/// The turn at work asks for approvals of these calls and pauses.
pub(crate) fn ask(w: &mut World, calls: &[&str]) {
    for call in calls {
        w.chunks("s", chunks::asked(call, "write", json!({"path": *call})));
    }
    w.slice_end("s", SliceOutcome::Paused).drain().is("s", Status::AwaitingInput);
}

/// Suspended, with a resume state.
pub(crate) fn suspended(w: &mut World) {
    idle(w);
    w.suspend("s").drain().is("s", Status::Suspended);
}

/// Suspended in a pause that waits for an answer to `approval-c1`.
pub(crate) fn suspended_in_pause(w: &mut World) {
    awaiting(w);
    w.suspend("s").drain().is("s", Status::Suspended);
}

/// Suspended, and coming back for a message, at its sandbox.
pub(crate) fn resuming(w: &mut World) {
    suspended(w);
    w.hold("AcquireSandbox").send("s", "Come back.").drain().is("s", Status::Preparing).unhold("AcquireSandbox");
}

/// Without a sandbox from the start.
pub(crate) fn failed(w: &mut World) {
    w.fail_next("AcquireSandbox", FailureKind::Other).create("s").drain().is("s", Status::Failed);
}

/// Closed from idle.
pub(crate) fn closed(w: &mut World) {
    idle(w);
    w.close("s").drain().is("s", Status::Closed);
}

/// Stopped, with nothing kept to bring it back.
pub(crate) fn interrupted(w: &mut World) {
    w.outcome_next("StartAgent", Outcome::Started(None)).create("s").drain();
    w.outcome_next("StopAgent", Outcome::Stopped(None)).suspend("s").drain().is("s", Status::Interrupted);
}

/// The chunks that begin a message.
pub(crate) fn begin() -> Vec<tackroom_core::input::Chunk> {
    vec![chunks::any(json!({"type": "start"})), chunks::any(json!({"type": "start-step"}))]
}

/// How the last command was replied to: `accepted`, `conflict`, `invalid` and so on, or `none` so far.
pub(crate) fn reply(w: &World) -> &'static str {
    reply_to(w, last_command(w))
}

/// The number of the last command.
pub(crate) fn last_command(w: &World) -> u64 {
    use tackroom_core::input::Input;
    use tackroom_parity::journal::Call;
    let commands = w.host.journal.iter().rev().filter_map(|entry| match &entry.call {
        Call::Input(Input::Command(command)) => Some(command.id),
        _ => None,
    });
    commands.max().unwrap_or(0)
}

/// How a command was replied to.
pub(crate) fn reply_to(w: &World, command: u64) -> &'static str {
    use tackroom_core::input::Input;
    use tackroom_parity::journal::Call;
    for (entry, answer) in w.host.journal.iter().zip(&w.host.answers) {
        if let (Call::Input(Input::Command(played)), Answer::Rejection(rejection)) = (&entry.call, answer)
            && played.id == command
        {
            return kind(rejection);
        }
    }
    let replies = w.host.events.iter().filter_map(|event| match event {
        Event::Accepted(accepted) if accepted.command == command => {
            Some(if accepted.repeated { "repeated" } else { "accepted" })
        }
        Event::Refused(refused) if refused.command == command => Some(kind(&refused.rejection)),
        _ => None,
    });
    let replies: Vec<&str> = replies.collect();
    assert!(replies.len() < 2, "command {command} was replied to more than once: {replies:?}");
    replies.first().copied().unwrap_or("none")
}

fn kind(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NotFound(_) => "not-found",
        Rejection::Conflict(_) => "conflict",
        Rejection::Capacity(_) => "capacity",
        Rejection::Invalid(_) => "invalid",
        Rejection::Store(_) => "store",
        Rejection::Unavailable(_) => "unavailable",
    }
}
