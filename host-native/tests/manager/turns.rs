//! Messages, turns and what is kept of them.

use tackroom::manager::{SendMessage, SessionError, TurnItem, UpdateSession, UserMessage};
use tackroom::ports::{ListQuery, SliceOutcome, Status};
use tackroom::testing::FakeSlice;

use crate::support::{World, idle, kinds, message_text, named, number, read, summary, text, until_status, within};

#[tokio::test]
async fn a_turn_is_streamed_and_kept() {
    let world = World::new();
    let manager = world.start().await;
    let created = within(manager.create(named("a"))).await.unwrap();
    assert_eq!((created.id.as_str(), created.status), ("a", Status::Preparing));
    world.agent.next(FakeSlice::says("Good morning."));
    let mut stream = within(manager.send("a", "Hello".into())).await.unwrap();
    let items = read(&mut stream).await;
    assert_eq!(text(&items), "Good morning.");
    assert_eq!(kinds(&items).first().map(String::as_str), Some("start"));
    assert_eq!(kinds(&items).last().map(String::as_str), Some("finish"));
    let numbers: Vec<_> = items.iter().map(number).collect();
    assert_eq!(numbers, (0..items.len() as u64).map(Some).collect::<Vec<_>>());
    let done = within(stream.done()).await.unwrap();
    assert_eq!((done.status, done.turns, done.error), (Status::Idle, 1, None));
    let record = within(manager.get("a")).await.unwrap().unwrap();
    assert_eq!(record.messages.len(), 2);
    assert_eq!(message_text(&record.messages[0].json), "Hello");
    assert_eq!(message_text(&record.messages[1].json), "Good morning.");
    let prompts = world.agent.prompts();
    assert_eq!(prompts[0].text, "Hello");
    assert_eq!(prompts[0].id.len(), 36, "{:?} is a UUID", prompts[0].id);
}

#[tokio::test]
async fn a_message_to_a_busy_session_is_a_conflict_and_unknown_sessions_are_not_found() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    world.agent.next(FakeSlice::hangs());
    let stream = within(manager.send("a", "one".into())).await.unwrap();
    let error = within(manager.send("a", "two".into())).await.unwrap_err();
    assert!(matches!(error, SessionError::Conflict { status: Status::Busy, .. }), "{error}");
    assert_eq!(within(manager.interrupt("a")).await.unwrap().status, Status::Idle);
    assert_eq!(within(stream.done()).await.unwrap().status, Status::Idle);
    let error = within(manager.send("b", "one".into())).await.unwrap_err();
    assert_eq!(error, SessionError::NotFound { session: "b".to_owned() });
    assert_eq!(within(manager.follow("b", None)).await.unwrap_err().code(), "not-found");
    assert_eq!(within(manager.create(named("a"))).await.unwrap_err().code(), "conflict");
    assert_eq!(within(manager.create(named("a/b"))).await.unwrap_err().code(), "invalid");
    assert_eq!(within(manager.get("b")).await, Ok(None));
}

#[tokio::test]
async fn the_same_key_is_the_same_turn_during_it_and_after_it() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    let keyed = |text: &str| SendMessage { idempotency_key: Some("k".to_owned()), ..text.into() };
    world.agent.next(crate::support::says_and_goes_on(&["Half"]));
    let mut first = within(manager.send("a", keyed("one"))).await.unwrap();
    while text(&[within(first.next()).await.unwrap()]).is_empty() {}
    let mut again = within(manager.send("a", keyed("one"))).await.unwrap();
    assert_eq!(again.turn_id(), first.turn_id());
    within(manager.interrupt("a")).await.unwrap();
    assert_eq!(text(&read(&mut again).await), "Half");
    within(first.done()).await.unwrap();
    let mut after = within(manager.send("a", keyed("one"))).await.unwrap();
    assert_eq!(after.turn_id(), first.turn_id());
    let items = read(&mut after).await;
    let [TurnItem::Resync { message_json, .. }] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!(message_text(message_json), "Half");
    assert_eq!(within(after.done()).await.unwrap().status, Status::Idle);
    let other = within(manager.send("a", keyed("two"))).await.unwrap_err();
    assert_eq!(other.code(), "invalid");
    assert_eq!(world.agent.prompts().len(), 1);
}

#[tokio::test]
async fn a_failed_turn_resolves_with_its_reason() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    let message = "The model is overloaded.".to_owned();
    world.agent.next(FakeSlice::ends(SliceOutcome::Failed { message, alive: true }));
    let mut stream = within(manager.send("a", "one".into())).await.unwrap();
    read(&mut stream).await;
    let done = within(stream.done()).await.unwrap();
    assert_eq!(done.status, Status::Idle);
    assert!(done.error.unwrap().message.contains("overloaded"));
    let mut stream = within(manager.send("a", "two".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "two", "the fake echoes");
}

#[tokio::test]
async fn a_user_message_in_json_keeps_its_parts() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    let json = r#"{"id":"mine","role":"user","parts":[{"type":"text","text":"Look."},
        {"type":"file","mediaType":"text/plain","url":"data:,x"}]}"#;
    let message = SendMessage {
        message: UserMessage::Json(json.to_owned()),
        prompt: Some("Look closely.".to_owned()),
        model: Some("large".to_owned()),
        idempotency_key: None,
    };
    let stream = within(manager.send("a", message)).await.unwrap();
    within(stream.done()).await.unwrap();
    let prompt = world.agent.prompts().remove(0);
    assert_eq!((prompt.text.as_str(), prompt.model.as_deref()), ("Look closely.", Some("large")));
    assert_eq!(prompt.files.len(), 1);
    let record = within(manager.get("a")).await.unwrap().unwrap();
    assert_eq!(record.messages[0].id, "mine");
    let bad = SendMessage { message: UserMessage::Json("{".to_owned()), ..SendMessage::from("") };
    assert_eq!(within(manager.send("a", bad)).await.unwrap_err().code(), "invalid");
}

#[tokio::test]
async fn changes_by_function_are_all_kept() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    let add = |key: String| {
        let manager = manager.clone();
        async move {
            let change = |metadata: &str| {
                let mut metadata: serde_json::Value = serde_json::from_str(metadata).unwrap();
                metadata[&key] = 1.into();
                Ok(metadata.to_string())
            };
            manager.update_with("a", change).await
        }
    };
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        tasks.spawn(add(format!("k{n}")));
    }
    while let Some(done) = within(tasks.join_next()).await {
        done.unwrap().unwrap();
    }
    let metadata: serde_json::Value = serde_json::from_str(&summary(&manager, "a").await.metadata).unwrap();
    assert_eq!(metadata.as_object().unwrap().len(), 20);
    let refused = manager.update_with("a", |_| Err(SessionError::NotFound { session: "x".to_owned() }));
    assert_eq!(within(refused).await.unwrap_err().code(), "not-found");
    let old = UpdateSession { metadata: Some("{}".to_owned()), metadata_revision: Some(0), settings: None };
    assert_eq!(within(manager.update("a", old)).await.unwrap_err().code(), "conflict");
}

#[tokio::test]
async fn lists_show_sessions_as_they_stand() {
    let world = World::new();
    let manager = world.start().await;
    for id in ["a", "b", "c"] {
        idle(&manager, id).await;
    }
    world.agent.next(FakeSlice::hangs());
    let _stream = within(manager.send("b", "one".into())).await.unwrap();
    until_status(&manager, "b", Status::Busy).await;
    within(manager.close("c")).await.unwrap();
    let list = |statuses: &[Status]| ListQuery { statuses: statuses.to_vec(), limit: 10, ..ListQuery::default() };
    let page = within(manager.list(list(&[]))).await.unwrap();
    let mut found: Vec<_> = page.sessions.iter().map(|session| (session.id.as_str(), session.status)).collect();
    found.sort_unstable();
    assert_eq!(found, [("a", Status::Idle), ("b", Status::Busy), ("c", Status::Closed)]);
    let page = within(manager.list(list(&[Status::Busy]))).await.unwrap();
    assert_eq!(page.sessions.len(), 1);
    let stats = within(manager.stats()).await.unwrap();
    assert!(stats.ready && stats.live == 2 && stats.leases == 2, "{stats:?}");
    assert_eq!(within(manager.ready()).await, Ok(()));
}
