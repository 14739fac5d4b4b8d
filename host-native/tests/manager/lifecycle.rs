//! Suspending, resuming, closing, forgetting; room; ending a host and starting another on the same store.

use std::sync::Arc;
use std::time::Duration;

use tackroom::manager::{SessionError, SessionEvent};
use tackroom::ports::{SandboxError, Status};
use tackroom::testing::{AgentOp, FakeSandboxes, FakeSlice, SandboxOp};

use crate::support::{World, idle, message_text, named, read, summary, text, until, until_status, within};

#[tokio::test]
async fn a_suspended_session_comes_back_with_the_next_message() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    assert_eq!(within(manager.suspend("a")).await.unwrap().status, Status::Suspended);
    assert_eq!(world.sandboxes.held(), Vec::<String>::new());
    assert_eq!(world.agent.live(), Vec::<String>::new());
    let mut stream = within(manager.send("a", "Still there?".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Still there?");
    assert_eq!(within(stream.done()).await.unwrap().status, Status::Idle);
    assert_eq!(world.agent.calls(AgentOp::Start), 2);
}

#[tokio::test]
async fn an_idle_session_is_suspended_after_the_timeout() {
    let world = World::new();
    let manager = within(world.builder().idle_timeout(Duration::from_millis(50)).build()).await.unwrap();
    within(manager.create(named("a"))).await.unwrap();
    until_status(&manager, "a", Status::Suspended).await;
}

#[tokio::test]
async fn closing_ends_and_deleting_forgets() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    world.agent.next(FakeSlice::hangs());
    let stream = within(manager.send("a", "Never mind".into())).await.unwrap();
    assert_eq!(within(manager.close("a")).await.unwrap().status, Status::Closed);
    assert_eq!(within(stream.done()).await.unwrap().status, Status::Closed);
    assert_eq!(within(manager.send("a", "Hello?".into())).await.unwrap_err().code(), "conflict");
    let kept = within(manager.get("a")).await.unwrap().unwrap().messages;
    assert_eq!(kept.len(), 1, "the agent had said nothing");
    within(manager.delete("a")).await.unwrap();
    assert_eq!(within(manager.get("a")).await, Ok(None));
    assert_eq!(within(manager.delete("a")).await.unwrap_err().code(), "not-found");
    idle(&manager, "a").await;
}

#[tokio::test]
async fn the_session_idle_the_longest_makes_room() {
    let world = World::with(FakeSandboxes::with_capacity(2));
    let manager = world.start().await;
    idle(&manager, "a").await;
    idle(&manager, "b").await;
    idle(&manager, "c").await;
    assert_eq!(summary(&manager, "a").await.status, Status::Suspended);
    assert_eq!(summary(&manager, "b").await.status, Status::Idle);
    for id in ["b", "c"] {
        world.agent.next(FakeSlice::hangs());
        within(manager.send(id, "Work".into())).await.unwrap();
        until_status(&manager, id, Status::Busy).await;
    }
    let error = within(manager.create(named("d"))).await.unwrap_err();
    assert_eq!(error, SessionError::Capacity { capacity: 2 });
}

#[tokio::test]
async fn without_room_made_a_full_host_refuses() {
    let world = World::with(FakeSandboxes::with_capacity(1));
    let manager = within(world.builder().suspend_idle_when_full(false).build()).await.unwrap();
    idle(&manager, "a").await;
    assert_eq!(within(manager.create(named("b"))).await.unwrap_err().code(), "capacity");
}

#[tokio::test]
async fn what_a_host_kept_goes_on_under_the_next_one() {
    let world = World::new();
    let manager = world.start().await;
    let mut events = manager.subscribe(None);
    idle(&manager, "a").await;
    let mut stream = within(manager.send("a", "First".into())).await.unwrap();
    read(&mut stream).await;
    world.agent.next(crate::support::says_and_goes_on(&["Half a"]));
    let mut cut = within(manager.send("a", "Second".into())).await.unwrap();
    while text(&[within(cut.next()).await.unwrap()]).is_empty() {}
    within(manager.shutdown()).await;
    assert_eq!(within(manager.create(named("b"))).await.unwrap_err().code(), "unavailable");
    within(cut.done()).await.unwrap();
    assert_eq!((world.agent.live(), world.sandboxes.held()), (Vec::new(), Vec::new()));
    let mut last = None;
    while let Some(event) = within(events.next()).await {
        last = Some(event);
    }
    let SessionEvent::Updated(shown) = &*last.unwrap().event else { panic!("the last event shows the session") };
    assert_eq!(shown.status, Status::Suspended);
    let manager = world.start().await;
    assert_eq!(summary(&manager, "a").await.status, Status::Suspended);
    let mut stream = within(manager.send("a", "Third".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Third");
    let record = within(manager.get("a")).await.unwrap().unwrap();
    let texts: Vec<String> = record.messages.iter().map(|message| message_text(&message.json)).collect();
    assert_eq!(texts[..4], ["First", "First", "Second", "Half a"]);
}

#[tokio::test]
async fn sqlite_keeps_sessions_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions.db");
    let world = World::new();
    let open = async || {
        let options = tackroom::stores::SqliteOptions::default();
        let store = within(tackroom::stores::SqliteStore::open(&path, options)).await.unwrap();
        within(world.builder().store(Arc::new(store)).build()).await.unwrap()
    };
    let manager = open().await;
    idle(&manager, "a").await;
    let mut stream = within(manager.send("a", "Keep this".into())).await.unwrap();
    read(&mut stream).await;
    let before = within(stream.done()).await.unwrap();
    within(manager.shutdown()).await;
    drop((stream, manager));
    let manager = open().await;
    let record = within(manager.get("a")).await.unwrap().unwrap();
    assert_eq!((record.summary.status, record.summary.turns), (Status::Suspended, before.turns));
    assert_eq!(message_text(&record.messages[1].json), "Keep this");
    let changed = within(manager.update_with("a", |_| Ok(r#"{"n":1}"#.to_owned()))).await.unwrap();
    assert_eq!(changed.metadata, r#"{"n":1}"#);
    let mut stream = within(manager.send("a", "And this".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "And this");
}

#[tokio::test]
async fn a_start_that_fails_says_why_and_the_next_message_tries_again() {
    let world = World::new();
    let manager = world.start().await;
    let error = SandboxError::Failed("the disk is gone".to_owned());
    world.sandboxes.fail_next(SandboxOp::Acquire, 1, &error);
    within(manager.create(named("a"))).await.unwrap();
    let failed = until_status(&manager, "a", Status::Failed).await;
    assert!(failed.error.unwrap().message.contains("the disk is gone"));
    let mut stream = within(manager.send("a", "Again".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Again");
    assert_eq!(within(stream.done()).await.unwrap().error, None);
}

#[tokio::test]
async fn dropping_the_last_handle_ends_everything_in_order() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    drop(manager);
    until("everything has ended", async || world.agent.live().is_empty() && world.sandboxes.held().is_empty()).await;
    let manager = world.start().await;
    assert_eq!(summary(&manager, "a").await.status, Status::Suspended);
}
