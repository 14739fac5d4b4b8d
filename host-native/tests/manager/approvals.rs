//! Pauses: answers whole and in part, by people and by the callback, over suspensions and restarts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tackroom::manager::{AnswerInput, Answers, PersonsAnswer, SessionError, SessionManager, Verdict};
use tackroom::ports::{AnswerBody, Status};
use tackroom::testing::{AgentOp, FakeSlice};

use crate::support::{World, asks_twice, idle, kinds, read, summary, text, until_status, within};

fn allow(id: &str) -> AnswerInput {
    AnswerInput { id: id.to_owned(), answer: PersonsAnswer::Allow { reason: None, edited_input: None } }
}

fn deny(id: &str) -> AnswerInput {
    AnswerInput { id: id.to_owned(), answer: PersonsAnswer::Deny { reason: Some("Too risky.".to_owned()) } }
}

fn by_ada(answers: Vec<AnswerInput>) -> Answers {
    Answers { answers, message: None, who: "ada".to_owned() }
}

/// A session whose turn waits for two approvals.
async fn paused(world: &World, manager: &SessionManager) -> String {
    idle(manager, "a").await;
    world.agent.next(asks_twice());
    let mut stream = within(manager.send("a", "Tidy up".into())).await.unwrap();
    assert!(kinds(&read(&mut stream).await).contains(&"tool-approval-request".to_owned()));
    let done = within(stream.done()).await.unwrap();
    assert_eq!((done.status, done.pending.len()), (Status::AwaitingInput, 2));
    stream.turn_id().to_owned()
}

#[tokio::test]
async fn answers_in_part_are_recorded_and_the_last_one_gets_the_stream() {
    let world = World::new();
    let manager = world.start().await;
    let turn = paused(&world, &manager).await;
    let wrong = within(manager.continue_turn("a", by_ada(vec![allow("other")]))).await.unwrap_err();
    let SessionError::Invalid { message, .. } = &wrong else { panic!("{wrong}") };
    assert!(message.contains("call-1-approval"), "{message}");
    let part = within(manager.continue_turn("a", by_ada(vec![allow("call-1-approval")]))).await.unwrap();
    assert!(part.turn.is_none() && !part.repeated);
    assert!(part.session.pending[0].decision.as_ref().unwrap().approved);
    assert_eq!(within(manager.follow("a", None)).await.unwrap().map(|_| ()), None, "nothing is to come");
    world.agent.next(FakeSlice::says("Done."));
    let whole = within(manager.continue_turn("a", by_ada(vec![deny("call-2-approval")]))).await.unwrap();
    let mut stream = whole.turn.expect("nothing waits any more");
    assert_eq!(stream.turn_id(), turn);
    assert_eq!(text(&read(&mut stream).await), "Done.");
    assert_eq!(within(stream.done()).await.unwrap().status, Status::Idle);
    let given = world.agent.answers().remove(0);
    assert_eq!(given.answers[0].body, AnswerBody::Allow { edited_input: None });
    assert_eq!(given.answers[1].body, AnswerBody::Deny { reason: Some("Too risky.".to_owned()) });
    let again = within(manager.continue_turn("a", by_ada(vec![deny("call-2-approval")]))).await.unwrap();
    assert!(again.repeated && again.turn.is_none());
    let audit = within(manager.audit("a", None, 10)).await.unwrap();
    let lines: Vec<serde_json::Value> = audit.iter().map(|line| serde_json::from_str(&line.json).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[1]["name"].as_str(), lines[1]["verdict"].as_str()), (Some("ada"), Some("deny")));
    assert_eq!(within(manager.audit("a", Some(audit[0].seq), 10)).await.unwrap(), audit[1..]);
    assert_eq!(within(manager.audit("b", None, 10)).await.unwrap_err().code(), "not-found");
}

#[tokio::test]
async fn a_pause_is_kept_over_a_suspension_and_a_restart_of_the_host() {
    let world = World::new();
    let manager = world.start().await;
    let turn = paused(&world, &manager).await;
    let suspended = within(manager.suspend("a")).await.unwrap();
    assert_eq!((suspended.status, suspended.pending.len()), (Status::Suspended, 2));
    within(manager.shutdown()).await;
    assert_eq!(world.agent.live(), Vec::<String>::new());
    let manager = world.start().await;
    world.agent.next(FakeSlice::says("Back again."));
    let both = by_ada(vec![allow("call-1-approval"), allow("call-2-approval")]);
    let continued = within(manager.continue_turn("a", both)).await.unwrap();
    let mut stream = continued.turn.unwrap();
    assert_eq!(stream.turn_id(), turn);
    assert_eq!(text(&read(&mut stream).await), "Back again.");
    assert_eq!(within(stream.done()).await.unwrap().status, Status::Idle);
    assert_eq!(world.agent.calls(AgentOp::Answer), 1);
}

#[tokio::test]
async fn an_interruption_gives_the_pause_up() {
    let world = World::new();
    let manager = world.start().await;
    paused(&world, &manager).await;
    let idle = within(manager.interrupt("a")).await.unwrap();
    assert_eq!((idle.status, idle.pending.len()), (Status::Idle, 0));
    let late = within(manager.continue_turn("a", by_ada(vec![allow("call-1-approval")]))).await;
    assert!(late.is_err() || late.unwrap().repeated);
}

#[tokio::test]
async fn the_callback_answers_in_the_same_stream() {
    let world = World::new();
    let approve = |request: tackroom::manager::ApprovalRequest| async move {
        assert_eq!(request.session.id, "a");
        (request.call.tool_name == "Bash").then(|| Verdict { rule: Some("tests".to_owned()), ..Verdict::allow() })
    };
    let manager = within(world.builder().approve(approve).build()).await.unwrap();
    idle(&manager, "a").await;
    world.agent.next(asks_twice());
    world.agent.next(FakeSlice::says("Allowed."));
    let mut stream = within(manager.send("a", "Tidy up".into())).await.unwrap();
    let items = read(&mut stream).await;
    assert!(kinds(&items).contains(&"tool-approval-response".to_owned()), "{:?}", kinds(&items));
    assert_eq!(text(&items), "Allowed.");
    assert_eq!(within(stream.done()).await.unwrap().status, Status::Idle);
    assert_eq!(within(manager.audit("a", None, 10)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_callback_that_panics_leaves_it_to_a_person() {
    let world = World::new();
    let approve = |_| async { panic!("the callback breaks down") };
    let manager = within(world.builder().approve(approve).build()).await.unwrap();
    idle(&manager, "a").await;
    world.agent.next(asks_twice());
    let stream = within(manager.send("a", "Tidy up".into())).await.unwrap();
    within(stream.done()).await.unwrap();
    until_status(&manager, "a", Status::AwaitingInput).await;
    assert_eq!(summary(&manager, "a").await.pending.len(), 2);
}
