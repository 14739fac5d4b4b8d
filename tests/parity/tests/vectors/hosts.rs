//! Rules of hosts: stops and starts, stores that are down, slots, timers, crashes and other owners.

use tackroom_core::{
    Config,
    input::{FailureKind, Input, Outcome, SliceOutcome},
    record::Status,
};
use tackroom_parity::{chunks, host::failed, journal::Call, world::allow};

use crate::{
    Scenario,
    setup::{ask, awaiting, begin, busy, idle, preparing, reply, reply_to, resuming, suspended, suspended_in_pause},
};

pub(crate) fn scenarios() -> Vec<Scenario> {
    [shutdowns(), stores(), slots(), timers(), recoveries(), owners()].into_iter().flatten().collect()
}

fn shutdowns() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-shutdown--new-calls-are-unavailable", |w| {
            idle(w);
            w.hold("StopAgent").shutdown().send("s", "Too late.");
            assert_eq!(reply(w), "unavailable");
            w.create("s2");
            assert_eq!(reply(w), "unavailable");
            w.unhold("StopAgent").drain().view("s");
        }),
        Scenario::new("rule-shutdown--of-an-empty-host", |w| {
            w.shutdown().drain();
        }),
        Scenario::new("rule-shutdown--its-deadline", |w| {
            busy(w);
            w.hold("InterruptTurn").hold("StopAgent").shutdown().tick(9_000).drain().view("s");
        }),
        Scenario::new("rule-shutdown--in-a-resume", |w| {
            resuming(w);
            w.hold("AcquireSandbox").shutdown().unhold("AcquireSandbox").drain().view("s");
        }),
        Scenario::new("rule-shutdown--of-several", |w| {
            for session in ["a", "b", "c"] {
                w.create(session).drain();
            }
            w.send("b", "Work.").drain().shutdown().drain();
        }),
        Scenario::new("rule-shutdown--twice", |w| {
            idle(w);
            w.shutdown().shutdown().drain();
        }),
    ]
}

fn stores() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-store-down--on-a-load", |w| {
            suspended(w);
            w.restart().fail_next("LoadSession", FailureKind::Unavailable).send("s", "Hello?").drain();
            assert_eq!(reply(w), "store");
            w.send("s", "Hello.").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-store-down--nothing-of-this-id", |w| {
            w.send("nobody", "Hello?").drain();
            assert_eq!(reply(w), "not-found");
        }),
        Scenario::new("rule-store-down--another-host-holds-it", |w| {
            w.fail_next("LoadSession", FailureKind::Held).send("s", "Hello?").drain();
            assert_eq!(reply(w), "unavailable");
        }),
        Scenario::new("rule-store-down--two-commands-wait-for-a-load", |w| {
            suspended(w);
            w.restart().hold("LoadSession").update("s", r#"{"n":1}"#).send("s", "Hello.").unhold("LoadSession").drain();
            w.is("s", Status::Busy);
            assert_eq!(w.summary("s").metadata, r#"{"n":1}"#);
        }),
        Scenario::new("rule-store-down--a-load-in-time", |w| {
            suspended(w);
            w.restart().hold("LoadSession").send("s", "Hello?").tick(10_000).drain().view("s");
            assert_eq!(reply(w), "store");
        }),
        Scenario::new("rule-store-down--at-the-start", |w| {
            idle(w);
            w.crash().fail_next("ClaimLive", FailureKind::Unavailable);
            w.host.play(Call::Input(Input::Start));
            w.drain().create("s2");
            assert_eq!(reply(w), "unavailable");
            w.tick(30_000).drain().view("s").create("s2").drain().is("s2", Status::Idle);
        }),
    ]
}

fn room_for(capacity: u32) -> Config {
    Config { capacity: Some(capacity), ..Config::default() }
}

fn slots() -> Vec<Scenario> {
    vec![
        Scenario::with("rule-slots--the-longest-idle-makes-room", room_for(2), |w| {
            w.create("a").drain().tick(10).create("b").drain().tick(10).create("c").drain();
            w.is("a", Status::Suspended).is("b", Status::Idle).is("c", Status::Idle);
        }),
        Scenario::with("rule-slots--none-makes-room", room_for(1), |w| {
            w.create("a").drain().send("a", "Work.").drain().create("b").drain();
            assert_eq!(reply(w), "capacity");
        }),
        Scenario::with(
            "rule-slots--no-suspension-for-room",
            Config { suspend_idle_when_full: false, ..room_for(1) },
            |w| {
                w.create("a").drain().create("b").drain().is("a", Status::Idle);
                assert_eq!(reply(w), "capacity");
            },
        ),
        Scenario::with("rule-slots--a-waiting-session-is-left-alone", room_for(1), |w| {
            awaiting(w);
            w.create("b").drain().is("s", Status::AwaitingInput);
            assert_eq!(reply(w), "capacity");
        }),
        Scenario::with(
            "rule-slots--a-waiting-session-is-suspended-where-wanted",
            Config { suspend_waiting_when_full: true, ..room_for(1) },
            |w| {
                awaiting(w);
                w.create("b").drain().is("b", Status::Idle).is("s", Status::Suspended);
                assert_eq!(w.summary("s").pending.len(), 1);
            },
        ),
        Scenario::with("rule-slots--a-victim-that-cannot-be-suspended", room_for(2), |w| {
            w.create("a").drain().tick(10).create("b").drain().tick(10);
            w.fail_next("StopAgent", FailureKind::Other).create("c").drain().view("a").view("b").view("c");
        }),
        Scenario::with("rule-slots--first-come-first-served", room_for(1), |w| {
            w.create("a").drain().hold("StopAgent").create("b").create("c").drain().unhold("StopAgent").drain();
            w.view("a").view("b").view("c");
        }),
        Scenario::with("rule-slots--a-waiter-gives-up", room_for(1), |w| {
            w.create("a").drain().hold("StopAgent").create("b").drain().close("b").drain().unhold("StopAgent").drain();
            w.view("a").is("b", Status::Closed).create("c").drain().is("c", Status::Idle);
        }),
        Scenario::with("rule-slots--a-lease-given-back-counts", room_for(1), |w| {
            w.create("a").drain().hold("ReleaseSandbox").close("a").drain().create("b").drain().view("b");
            w.unhold("ReleaseSandbox").drain().view("b");
        }),
        Scenario::with("rule-slots--a-resume-makes-room", room_for(1), |w| {
            w.create("a").drain().suspend("a").drain().create("b").drain().send("a", "Back.").drain();
            w.is("a", Status::Busy).is("b", Status::Suspended);
        }),
        Scenario::with("rule-slots--a-resume-finds-none", room_for(1), |w| {
            w.create("a").drain().suspend("a").drain().create("b").drain().send("b", "Work.").drain();
            w.send("a", "Back?").drain().is("a", Status::Suspended);
            assert_eq!(reply(w), "capacity");
        }),
        Scenario::with("rule-slots--the-backend-has-no-room-for-a-resume", room_for(2), |w| {
            suspended(w);
            w.fail_next("AcquireSandbox", FailureKind::Capacity).send("s", "Back?").drain().view("s");
            w.is("s", Status::Suspended);
        }),
    ]
}

fn timers() -> Vec<Scenario> {
    let idle_after = Config { idle_timeout_ms: Some(60_000), ..Config::default() };
    let turn_within = Config { turn_timeout_ms: Some(60_000), ..Config::default() };
    let close_after = Config { close_suspended_after_ms: Some(120_000), ..Config::default() };
    vec![
        Scenario::with("rule-timers--idle", idle_after.clone(), |w| {
            idle(w);
            w.tick(59_999).drain().is("s", Status::Idle).tick(1).drain().is("s", Status::Suspended);
        }),
        Scenario::with("rule-timers--awaiting-input", idle_after.clone(), |w| {
            awaiting(w);
            w.tick(60_000).drain().is("s", Status::Suspended);
            assert_eq!(w.summary("s").pending.len(), 1);
        }),
        Scenario::with("rule-timers--busy-is-not-idle", idle_after.clone(), |w| {
            busy(w);
            w.tick(120_000).drain().is("s", Status::Busy);
        }),
        Scenario::with("rule-timers--metadata-are-no-activity", idle_after.clone(), |w| {
            idle(w);
            w.tick(40_000).update("s", r#"{"n":1}"#).drain().tick(20_000).drain().is("s", Status::Suspended);
        }),
        Scenario::with("rule-timers--a-clock-that-jumps", idle_after, |w| {
            idle(w);
            w.host.now.wall_ms += 1_000_000_000;
            w.tick(1_000).drain().is("s", Status::Idle);
        }),
        Scenario::with("rule-timers--a-turn", turn_within.clone(), |w| {
            busy(w);
            w.tick(60_000).drain().view("s").is("s", Status::Idle);
            assert_eq!(w.summary("s").error.map(|error| error.code).as_deref(), Some("turn-timeout"));
        }),
        Scenario::with("rule-timers--waiting-is-no-busy-time", turn_within, |w| {
            busy(w);
            w.tick(50_000);
            ask(w, &["c1"]);
            w.tick(100_000).drain().is("s", Status::AwaitingInput).answer("s", &[("approval-c1", allow())]).drain();
            w.tick(9_000).drain().is("s", Status::Busy).tick(2_000).drain().is("s", Status::Idle);
        }),
        Scenario::with("rule-timers--suspended-for-long", close_after, |w| {
            suspended(w);
            w.tick(60_000).drain().tick(60_000).drain().view("s").tick(60_000).drain().tick(60_000).drain().view("s");
        }),
        Scenario::new("rule-timers--an-early-tick-does-nothing", |w| {
            idle(w);
            w.tick(0).tick(1).view("s");
        }),
        Scenario::new("rule-timers--partial-saves", |w| {
            busy(w);
            w.drain().tick(1_000).drain();
            for _ in 0..3 {
                w.host.pass(400);
                w.chunks("s", chunks::text("x2", "More."));
            }
            w.tick(1_000).drain().view("s");
        }),
        Scenario::new("rule-timers--leases-are-renewed", |w| {
            idle(w);
            w.tick(20_000).drain().tick(20_000).drain().is("s", Status::Idle);
        }),
    ]
}

fn recoveries() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-recovery--idle", |w| {
            idle(w);
            w.restart().view("s").is("s", Status::Suspended).send("s", "Back.").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-recovery--busy", |w| {
            busy(w);
            w.tick(1_000).drain().restart().view("s").is("s", Status::Suspended);
            assert_eq!(w.summary("s").error.map(|error| error.code).as_deref(), Some("host-stopped"));
        }),
        Scenario::new("rule-recovery--preparing", |w| {
            preparing(w);
            w.restart().view("s");
        }),
        Scenario::new("rule-recovery--with-a-message-waiting", |w| {
            resuming(w);
            w.restart().view("s").send("s", "And this.").drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-recovery--being-prompted", |w| {
            idle(w);
            w.send("s", "Heard?").drain().restart().view("s").send("s", "Again.").drain().view("s");
        }),
        Scenario::new("rule-recovery--a-pause-is-kept", |w| {
            awaiting(w);
            w.restart().view("s").is("s", Status::Suspended).answer("s", &[("approval-c1", allow())]).drain().view("s");
            w.is("s", Status::Busy);
        }),
        Scenario::new("rule-recovery--a-pause-half-answered", |w| {
            busy(w);
            ask(w, &["c1", "c2"]);
            w.answer("s", &[("approval-c1", allow())]).drain().restart().view("s");
            w.answer("s", &[("approval-c2", allow())]).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-recovery--nothing-kept", |w| {
            w.outcome_next("StartAgent", Outcome::Started(None)).create("s").drain().send("s", "Look.").drain();
            w.chunks("s", begin()).restart().view("s").is("s", Status::Interrupted);
        }),
        Scenario::new("rule-recovery--suspended-in-a-pause", |w| {
            suspended_in_pause(w);
            w.restart().answer("s", &[("approval-c1", allow())]).drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-recovery--an-engine-that-failed", |w| {
            busy(w);
            w.host.config.faulted = Some("s".into());
            w.restart().view("s").is("s", Status::Suspended);
            assert_eq!(w.summary("s").error.map(|error| error.code).as_deref(), Some("engine-fault"));
        }),
        Scenario::new("rule-recovery--commands-before-it-is-done", |w| {
            idle(w);
            w.crash().host.play(Call::Input(Input::Start));
            w.send("s", "Already?");
            assert_eq!(reply(w), "unavailable");
            w.drain().send("s", "Now.").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-recovery--several-pages", |w| {
            for session in ["a", "b", "c"] {
                w.create(session).drain();
            }
            w.host.config.limits.claim_page = 1;
            w.restart().view("a").view("b").view("c");
        }),
        Scenario::new("rule-recovery--closing", |w| {
            idle(w);
            w.hold("DestroyAgent").hold("ReleaseSandbox").close("s").drain().restart().view("s");
        }),
    ]
}

fn owners() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-fenced--a-write", |w| {
            busy(w);
            w.steal("s").slice_end("s", SliceOutcome::Finished).drain().view("s");
            assert!(w.host.summary("s").is_none());
        }),
        Scenario::new("rule-fenced--an-acknowledgement", |w| {
            idle(w);
            w.steal("s").send("s", "Mine?").drain().view("s");
            assert_ne!(reply(w), "accepted");
        }),
        Scenario::new("rule-fenced--a-renewal", |w| {
            idle(w);
            w.outcome_next("RenewLeases", Outcome::Renewed(vec!["s".into()])).tick(20_000).drain().view("s");
            assert!(w.host.summary("s").is_none());
        }),
        Scenario::new("rule-fenced--a-write-under-way", |w| {
            busy(w);
            w.hold("SaveSession").slice_end("s", SliceOutcome::Finished);
            w.complete("SaveSession", failed(FailureKind::Fenced)).unhold("SaveSession").drain().view("s");
            assert_eq!(reply_to(w, 1), "accepted");
        }),
    ]
}
