//! The whole way of a session: each test plays one story and looks at what the engine asks for.

#[path = "support/world.rs"]
mod world;

use tackroom_core::effect::EffectBody;
use tackroom_core::event::Event;
use tackroom_core::input::{Allow, AnswerBody, AnswerInput, CommandBody, Deny, FailureKind, SliceOutcome};
use tackroom_core::record::Status;
use tackroom_core::{Config, Rejection};
use world::{World, asks, json, text};

fn allow(id: &str) -> AnswerInput {
    AnswerInput { id: id.into(), answer: AnswerBody::Allow(Allow::default()) }
}

fn deny(id: &str) -> AnswerInput {
    AnswerInput { id: id.into(), answer: AnswerBody::Deny(Deny { reason: Some("no".into()) }) }
}

#[test]
fn a_turn_from_create_to_idle() {
    let mut world = World::new(Config::default());
    let create = world.create("s");
    assert!(!world.accepted(create), "nothing is acknowledged before it is durable");
    world.drain();
    assert!(world.accepted(create));
    assert_eq!(world.status("s"), Status::Idle);
    let send = world.send("s", "hi").expect("taken");
    assert!(world.find(|body| matches!(body, EffectBody::StartTurn(_))).is_none());
    world.drain();
    assert!(world.accepted(send));
    let start = world.find(|body| matches!(body, EffectBody::StartTurn(_))).expect("prompted");
    let EffectBody::StartTurn(start) = start.body else { unreachable!() };
    assert_eq!(start.text, "hi");
    let chunks = vec![json(r#"{"type":"start"}"#), json(r#"{"type":"text-start","id":"1"}"#), text("1", "hello")];
    let pushed = world.push("s", 0, chunks);
    assert_eq!((pushed.first_seq, pushed.edits.len()), (1, 1));
    world.end_slice(SliceOutcome::Finished);
    world.drain();
    assert_eq!(world.status("s"), Status::Idle);
    assert!(world.stream("s").contains("hello"));
    let row = &world.rows["s"];
    assert_eq!((row.session.summary.turns, row.session.summary.message_count, row.messages.len()), (1, 2, 2));
    assert!(world.events.iter().any(|event| matches!(event, Event::StreamEnded(_))));
}

#[test]
fn a_pause_is_answered_one_at_a_time() {
    let mut world = World::new(Config::default());
    world.paused("s", &["a", "b"]);
    let first = world.answer("s", vec![allow("ask-a")]).expect("taken");
    world.drain();
    assert!(world.events.iter().any(|e| matches!(e, Event::Accepted(a) if a.command == first && a.incomplete)));
    assert_eq!(world.status("s"), Status::AwaitingInput);
    let contradiction = world.answer("s", vec![deny("ask-a")]).expect_err("contradicts");
    assert!(matches!(contradiction, Rejection::Conflict(_)), "{contradiction}");
    let unknown = world.answer("s", vec![allow("ask-z")]).expect_err("unknown");
    assert!(unknown.to_string().contains("ask-b"), "{unknown}");
    world.answer("s", vec![deny("ask-b")]).expect("taken");
    world.drain();
    assert_eq!(world.status("s"), Status::Busy);
    let effect = world.find(|body| matches!(body, EffectBody::ContinueTurn(_))).expect("delivered");
    let EffectBody::ContinueTurn(given) = effect.body else { unreachable!() };
    assert_eq!(given.answers.len(), 2);
    world.push("s", 0, vec![json(r#"{"type":"tool-output-available","toolCallId":"a","output":1}"#)]);
    world.end_slice(SliceOutcome::Finished);
    world.drain();
    assert_eq!(world.status("s"), Status::Idle);
    assert!(world.stream("s").contains("output-denied"), "{}", world.stream("s"));
    let again = world.answer("s", vec![allow("ask-a")]).expect("repeats");
    assert!(world.events.iter().any(|e| matches!(e, Event::Accepted(a) if a.command == again && a.repeated)));
}

#[test]
fn a_pause_outlives_a_crash_and_resumes() {
    let mut world = World::new(Config::default());
    world.paused("s", &["a"]);
    world.crash();
    assert_eq!(world.status("s"), Status::Suspended);
    let sent = world.send("s", "more").expect("taken");
    world.drain();
    assert!(matches!(world.refused(sent), Some(Rejection::Conflict(_))));
    world.answer("s", vec![allow("ask-a")]).expect("taken");
    world.drain();
    assert_eq!(world.status("s"), Status::Busy);
    let effect = world.find(|body| matches!(body, EffectBody::ContinueTurn(_))).expect("delivered");
    let EffectBody::ContinueTurn(given) = effect.body else { unreachable!() };
    assert!(given.words.contains("allowed"));
    world.end_slice_with(SliceOutcome::Finished, vec!["a".into()]);
    world.drain();
    assert_eq!(world.status("s"), Status::Idle);
}

#[test]
fn an_answer_not_taken_is_given_when_asked_again_once() {
    let mut world = World::new(Config::default());
    world.paused("s", &["a"]);
    world.crash();
    world.answer("s", vec![allow("ask-a")]).expect("taken");
    world.drain();
    let mut again = asks(&["a"]);
    for chunk in &mut again {
        if let tackroom_core::input::Chunk::Json(text) = chunk {
            *text = text.replace("\"toolCallId\":\"a\"", "\"toolCallId\":\"a2\"").replace("ask-a", "ask-a2");
        }
    }
    world.push("s", 0, again.clone());
    world.end_slice_with(SliceOutcome::Paused, vec!["a".into()]);
    world.drain();
    assert_eq!(world.status("s"), Status::Busy, "the kept answer goes to the call asked again");
    let effect = world.find(|body| matches!(body, EffectBody::ContinueTurn(_))).expect("delivered");
    let EffectBody::ContinueTurn(given) = effect.body else { unreachable!() };
    assert_eq!(given.answers[0].approval_id, "ask-a2");
    for chunk in &mut again {
        if let tackroom_core::input::Chunk::Json(text) = chunk {
            *text = text.replace("a2", "a3");
        }
    }
    world.push("s", 0, again);
    world.end_slice(SliceOutcome::Paused);
    world.drain();
    assert_eq!(world.status("s"), Status::AwaitingInput, "a second time it is left to a person");
}

#[test]
fn suspended_when_idle_and_brought_back() {
    let mut world = World::new(Config { idle_timeout_ms: Some(1_000), ..Config::default() });
    world.idle("s");
    world.tick(1_000);
    world.drain();
    assert_eq!(world.status("s"), Status::Suspended);
    assert!(world.engine.summary("s").is_none(), "a suspended session is not kept in memory");
    let sent = world.send("s", "back").expect("taken");
    world.drain();
    assert!(world.accepted(sent));
    assert_eq!(world.status("s"), Status::Busy);
}

#[test]
fn a_crash_ends_the_turn_and_keeps_the_message() {
    let mut world = World::new(Config::default());
    world.idle("s");
    world.send("s", "hi").expect("taken");
    world.drain();
    world.push("s", 0, asks(&[])[..2].to_vec());
    world.push("s", 2, vec![json(r#"{"type":"text-start","id":"1"}"#), text("1", "half")]);
    world.tick(5_000);
    world.push("s", 4, vec![text("1", " way")]);
    world.drain();
    world.crash();
    assert_eq!(world.status("s"), Status::Suspended);
    let summary = world.rows["s"].session.summary.clone();
    assert_eq!(summary.error.map(|error| error.code).as_deref(), Some("host-stopped"));
    assert!(world.stream("s").contains("half way"));
}

#[test]
fn capacity_suspends_the_longest_idle() {
    let mut world = World::new(Config { capacity: Some(1), ..Config::default() });
    world.idle("one");
    let create = world.create("two");
    world.drain();
    assert!(world.accepted(create));
    assert_eq!((world.status("one"), world.status("two")), (Status::Suspended, Status::Idle));
    world.send("two", "work").expect("taken");
    world.drain();
    let body = CommandBody::Create(tackroom_core::input::Create {
        metadata: "{}".into(),
        settings: tackroom_core::record::Settings::default(),
        fork: None,
    });
    let refused = world.command("three", body).expect_err("no room");
    assert_eq!(refused, Rejection::Capacity(1));
}

#[test]
fn a_start_that_fails_keeps_the_message_for_the_next_send() {
    let mut world = World::new(Config::default());
    world.create("s");
    world.send("s", "first").expect("taken");
    let save = |body: &EffectBody| matches!(body, EffectBody::SaveSession(_));
    while let Some(effect) = world.find(save) {
        let outcome = world.good(&effect);
        world.complete(effect.id, outcome);
    }
    world.fail(FailureKind::Other, |body| matches!(body, EffectBody::AcquireSandbox(_)));
    world.drain();
    assert_eq!(world.status("s"), Status::Failed);
    assert!(world.events.iter().any(|event| matches!(event, Event::Undelivered(_))));
    world.send("s", "second").expect("taken");
    world.drain();
    let effect = world.find(|body| matches!(body, EffectBody::StartTurn(_))).expect("prompted");
    let EffectBody::StartTurn(start) = effect.body else { unreachable!() };
    assert_eq!(start.text, "first\n\nsecond");
}

#[test]
fn interrupt_close_delete() {
    let mut world = World::new(Config::default());
    world.idle("s");
    world.send("s", "hi").expect("taken");
    world.drain();
    let interrupt = world.command("s", CommandBody::Interrupt).expect("taken");
    world.drain();
    assert_eq!(world.status("s"), Status::Busy);
    world.end_slice(SliceOutcome::Interrupted);
    world.drain();
    assert!(world.accepted(interrupt));
    assert_eq!(world.status("s"), Status::Idle);
    world.paused("s", &["a"]);
    world.command("s", CommandBody::Interrupt).expect("taken");
    world.drain();
    assert_eq!(world.status("s"), Status::Idle);
    assert!(world.stream("s").contains("output-denied"), "{}", world.stream("s"));
    world.send("s", "again").expect("taken");
    world.drain();
    world.command("s", CommandBody::Close).expect("taken");
    world.drain();
    assert_eq!(world.status("s"), Status::Closed);
    assert_eq!(world.engine.stats().leases, 0);
    let delete = world.command("s", CommandBody::Delete).expect("taken");
    world.drain();
    assert!(world.accepted(delete));
    assert!(world.rows.is_empty());
}

#[test]
fn a_write_that_fails_takes_the_send_back() {
    let mut world = World::new(Config::default());
    world.idle("s");
    let send = world.send("s", "hi").expect("taken");
    world.fail(FailureKind::Broken, |body| matches!(body, EffectBody::SaveSession(_)));
    assert!(matches!(world.refused(send), Some(Rejection::Store(_))));
    assert_eq!(world.status("s"), Status::Idle);
    world.tick(60_000);
    world.drain();
    assert_eq!(world.rows["s"].session.summary.message_count, 0);
    world.send("s", "again").expect("taken");
    world.drain();
    assert_eq!(world.status("s"), Status::Busy);
}

#[test]
fn a_write_of_unknown_outcome_is_read_back() {
    for committed in [true, false] {
        let mut world = World::new(Config::default());
        world.idle("s");
        let send = world.send("s", "hi").expect("taken");
        if committed {
            let save = world.find(|body| matches!(body, EffectBody::SaveSession(_))).expect("written");
            let _lost = world.good(&save);
        }
        for _ in 0..100 {
            if world.find(|body| matches!(body, EffectBody::LoadSession(_))).is_some() {
                break;
            }
            if world.find(|body| matches!(body, EffectBody::SaveSession(_))).is_some() {
                world.fail(FailureKind::Unavailable, |body| matches!(body, EffectBody::SaveSession(_)));
            }
            world.tick(1_000);
        }
        assert!(world.find(|body| matches!(body, EffectBody::LoadSession(_))).is_some(), "read back");
        world.drain();
        world.tick(60_000);
        world.drain();
        assert_eq!(world.accepted(send), committed);
        assert_eq!(world.refused(send).is_some(), !committed);
        assert_eq!(world.status("s"), if committed { Status::Busy } else { Status::Idle });
    }
}

#[test]
fn shutdown_suspends_and_cuts_short() {
    let mut world = World::new(Config::default());
    world.paused("c", &["x"]);
    world.idle("a");
    world.idle("b");
    world.send("b", "work").expect("taken");
    world.drain();
    world.input(tackroom_core::input::Input::Shutdown).expect("taken");
    world.drain();
    world.end_slice(SliceOutcome::Interrupted);
    world.drain();
    for id in ["a", "b", "c"] {
        assert_eq!(world.rows[id].session.summary.status, Status::Suspended, "{id}");
    }
    assert!(world.events.contains(&Event::ShutDown));
    assert_eq!(world.rows["c"].session.summary.pending.len(), 1);
}

#[test]
fn an_approver_answers_first_and_a_repetition_goes_to_a_person() {
    let mut world = World::new(Config { approver: true, ..Config::default() });
    world.idle("s");
    world.send("s", "do").expect("taken");
    world.drain();
    world.push("s", 0, asks(&["a"]));
    world.end_slice(SliceOutcome::Paused);
    let ask = world.find(|body| matches!(body, EffectBody::Approve(_))).expect("asked");
    let verdict = tackroom_core::input::Verdict { approved: true, reason: None, edited_input: None, rule: None };
    world.complete(ask.id, tackroom_core::input::Outcome::Verdict(Some(verdict)));
    world.drain();
    assert_eq!(world.status("s"), Status::Busy);
    world.push("s", 0, asks(&["a"]));
    world.end_slice(SliceOutcome::Paused);
    world.drain();
    assert!(world.find(|body| matches!(body, EffectBody::Approve(_))).is_none());
    assert_eq!(world.status("s"), Status::AwaitingInput);
}

#[test]
fn a_result_given_as_an_answer_is_shown_once() {
    let mut world = World::new(Config::default());
    world.idle("s");
    world.send("s", "ask me").expect("taken");
    world.drain();
    let question = r#"{"type":"tool-input-available","toolCallId":"q","toolName":"ask","input":{}}"#;
    world.push("s", 0, vec![json(question)]);
    world.end_slice(SliceOutcome::Paused);
    world.drain();
    let result = tackroom_core::input::ResultBody { output: "1".into(), is_error: false };
    world.answer("s", vec![AnswerInput { id: "q".into(), answer: AnswerBody::Result(result) }]).expect("taken");
    world.drain();
    let pushed = world.push("s", 0, vec![json(r#"{"type":"tool-output-available","toolCallId":"q","output":1}"#)]);
    assert_eq!(pushed.edits.len(), 1, "the agent's own report of it is left out");
    world.end_slice(SliceOutcome::Finished);
    world.drain();
    assert_eq!(world.stream("s").matches("output-available").count(), 1);
}
