//! Readers of a turn: late, gone, back at a cursor, slow.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tackroom::manager::{Cursor, SessionManager, TurnItem, TurnStream};
use tackroom::ports::Chunk;
use tackroom::testing::FakeSlice;

use crate::support::{
    World, asks_twice, idle, json, kinds, message_text, number, read, says_and_goes_on, text, until, within,
};

/// A turn that has said three words and goes on.
async fn talking(world: &World, manager: &SessionManager) -> (TurnStream, Vec<TurnItem>) {
    idle(manager, "a").await;
    world.agent.next(says_and_goes_on(&["One ", "two ", "three"]));
    let mut stream = within(manager.send("a", "Count".into())).await.unwrap();
    let mut items = Vec::new();
    while text(&items) != "One two three" {
        items.push(within(stream.next()).await.unwrap());
    }
    (stream, items)
}

#[tokio::test]
async fn a_late_reader_gets_the_whole_message_and_then_what_comes() {
    let world = World::new();
    let manager = world.start().await;
    let (mut first, before) = talking(&world, &manager).await;
    let mut late = within(manager.follow("a", None)).await.unwrap().unwrap();
    let mut items = vec![within(late.next()).await.unwrap()];
    assert_eq!(json(&items[0])["type"], "start");
    assert_eq!(json(&items[0])["messageId"], json(&before[0])["messageId"]);
    within(manager.interrupt("a")).await.unwrap();
    items.extend(read(&mut late).await);
    assert_eq!(text(&items), "One two three");
    let rest = kinds(&read(&mut first).await);
    assert!(kinds(&items).ends_with(&rest), "{:?} ends with {rest:?}", kinds(&items));
    within(late.done()).await.unwrap();
    assert!(within(manager.follow("a", None)).await.unwrap().is_none(), "the turn is over");
}

#[tokio::test]
async fn a_reader_comes_back_at_its_cursor_also_when_the_turn_has_ended() {
    let world = World::new();
    let manager = world.start().await;
    let (first, before) = talking(&world, &manager).await;
    let TurnItem::Chunk { cursor: Some(cursor), .. } = &before[2] else { panic!("{before:?}") };
    let cursor: Cursor = cursor.to_string().parse().unwrap();
    let mut back = within(manager.follow("a", Some(cursor.clone()))).await.unwrap().unwrap();
    let next = within(back.next()).await.unwrap();
    assert_eq!((number(&next), json(&next)), (Some(cursor.n + 1), json(&before[3])));
    drop(back);
    within(manager.interrupt("a")).await.unwrap();
    within(first.done()).await.unwrap();
    let mut ended = within(manager.follow("a", Some(cursor.clone()))).await.unwrap().unwrap();
    let items = read(&mut ended).await;
    assert_eq!(number(&items[0]), Some(cursor.n + 1));
    let last = Cursor { turn: cursor.turn, n: number(items.last().unwrap()).unwrap() };
    assert!(within(manager.follow("a", Some(last))).await.unwrap().is_none(), "it has seen everything");
}

#[tokio::test]
async fn a_cursor_of_another_turn_gets_the_current_message() {
    let world = World::new();
    let manager = world.start().await;
    let (_first, _) = talking(&world, &manager).await;
    let other = Cursor { turn: "another".into(), n: 5 };
    let mut stream = within(manager.follow("a", Some(other))).await.unwrap().unwrap();
    let item = within(stream.next()).await.unwrap();
    let TurnItem::Resync { message_json, .. } = &item else { panic!("{item:?}") };
    assert_eq!(message_text(message_json), "One two three");
    within(manager.interrupt("a")).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "");
}

#[tokio::test]
async fn a_slow_reader_is_told_to_resync_and_does_not_slow_the_turn() {
    let world = World::new();
    let manager = within(world.builder().limits(|limits| limits.replay_chunks = 100).build()).await.unwrap();
    idle(&manager, "a").await;
    let words: Vec<String> = (0..5_000).map(|n| format!("{n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.agent.next(says_and_goes_on(&words));
    let mut slow = within(manager.send("a", "Count".into())).await.unwrap();
    let first = within(slow.next()).await.unwrap();
    until("the turn is through", async || {
        let record = within(manager.get("a")).await.unwrap().unwrap();
        record.messages.get(1).is_some_and(|message| message.json.contains("4999"))
    })
    .await;
    within(manager.interrupt("a")).await.unwrap();
    let mut items = vec![first];
    items.extend(read(&mut slow).await);
    let resync = items.iter().position(|item| matches!(item, TurnItem::Resync { .. })).expect("it fell behind");
    let TurnItem::Resync { message_json, .. } = &items[resync] else { unreachable!() };
    assert_eq!(message_text(message_json), words.concat());
    assert!(items.len() < 1_000, "{} items", items.len());
}

#[tokio::test]
async fn numbers_go_on_over_a_pause_and_a_late_reader_gets_what_was_before_it() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    world.agent.next(asks_twice());
    let mut stream = within(manager.send("a", "Tidy up".into())).await.unwrap();
    let before = read(&mut stream).await;
    world.agent.next(says_and_goes_on(&["Goes on"]));
    let answers = ["call-1-approval", "call-2-approval"].map(|id| tackroom::manager::AnswerInput {
        id: id.to_owned(),
        answer: tackroom::manager::PersonsAnswer::Allow { reason: None, edited_input: None },
    });
    let answers = tackroom::manager::Answers { answers: answers.to_vec(), ..Default::default() };
    let mut next = within(manager.continue_turn("a", answers)).await.unwrap().turn.unwrap();
    let first = within(next.next()).await.unwrap();
    assert_eq!(number(&first), Some(number(before.last().unwrap()).unwrap() + 1));
    let mut items = vec![first];
    while text(&items) != "Goes on" {
        items.push(within(next.next()).await.unwrap());
    }
    let mut late = within(manager.follow("a", None)).await.unwrap().unwrap();
    let mut seen = Vec::new();
    while text(&seen) != "Goes on" {
        seen.push(within(late.next()).await.unwrap());
    }
    assert!(kinds(&seen).contains(&"tool-approval-request".to_owned()), "{:?}", kinds(&seen));
    within(manager.interrupt("a")).await.unwrap();
    within(next.done()).await.unwrap();
}

#[tokio::test]
async fn half_a_surrogate_pair_is_joined_in_what_is_kept() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    let mut slice = FakeSlice::says("");
    let piece = |lead, trail| tackroom::ports::Piece { lead, text: "x".to_owned(), trail };
    slice.chunks[3] = Chunk::TextDelta { id: "text-1".to_owned(), delta: piece(None, Some(0xd83d)) };
    slice.chunks.insert(4, Chunk::TextDelta { id: "text-1".to_owned(), delta: piece(Some(0xde00), None) });
    world.agent.next(slice);
    let stream = within(manager.send("a", "Smile".into())).await.unwrap();
    within(stream.done()).await.unwrap();
    let record = within(manager.get("a")).await.unwrap().unwrap();
    assert_eq!(message_text(&record.messages[1].json), "x\u{1f600}x");
}
