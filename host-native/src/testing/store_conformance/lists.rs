//! Finding sessions.

use super::{put, query, sample_save, suspended};
use crate::ports::{ListQuery, Ownership, Save, Status, Store, StoreError};
use crate::testing::TestClock;

/// Metadata asked for, and the sessions that have it.
type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

async fn ids(store: &dyn Store, query: &ListQuery) -> Vec<String> {
    let page = store.list(query).await.expect("it can be read");
    page.sessions.into_iter().map(|summary| summary.id).collect()
}

/// Every page in turn, and how many there were.
async fn all_pages(store: &dyn Store, query: &ListQuery) -> (Vec<String>, u32) {
    let (mut found, mut pages, mut query) = (Vec::new(), 0, query.clone());
    loop {
        let page = store.list(&query).await.expect("it can be read");
        pages += 1;
        assert!(page.sessions.len() <= query.limit as usize && pages < 100, "pages are bounded and come to an end");
        found.extend(page.sessions.into_iter().map(|summary| summary.id));
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return (found, pages),
        }
    }
}

fn updated(id: &str, at_ms: u64) -> Save {
    let mut save = sample_save(id, 1);
    save.summary.updated_at_ms = at_ms;
    save
}

pub(super) async fn pages_follow_each_other(store: &dyn Store) {
    assert_eq!(all_pages(store, &query(5)).await, (Vec::new(), 1), "an empty store has one empty page");
    for n in [3, 1, 4, 5, 2] {
        put(store, updated(&format!("same-{n}"), 50)).await;
    }
    put(store, updated("old", 10)).await;
    put(store, updated("new", 90)).await;
    put(store, updated("größe", 50)).await;
    let expected = ["new", "größe", "same-1", "same-2", "same-3", "same-4", "same-5", "old"];
    for limit in 1..=9 {
        let (found, pages) = all_pages(store, &query(limit)).await;
        assert_eq!(found, expected, "in pages of {limit}");
        assert_eq!(pages, 8u32.div_ceil(limit), "no page is empty, in pages of {limit}");
    }
}

pub(super) async fn pages_hold_over_changes(store: &dyn Store) {
    for n in 1..=4 {
        put(store, updated(&format!("s{n}"), 50)).await;
    }
    let first = store.list(&query(2)).await.expect("it can be read");
    store.delete("s2", 1).await.expect("its owner may forget it");
    put(store, updated("s0", 50)).await;
    let mut again = sample_save("s1", 2);
    again.summary.updated_at_ms = 99;
    put(store, again).await;
    let rest = ListQuery { cursor: first.next, ..query(9) };
    assert_eq!(ids(store, &rest).await, ["s3", "s4"], "a cursor stands although its session is gone");
    assert_eq!(ids(store, &query(9)).await, ["s1", "s0", "s3", "s4"], "an updated session moves to the front");
}

pub(super) async fn filters_by_status_and_metadata(store: &dyn Store) {
    let sessions = [
        ("a", Status::Idle, r#"{"user":"u1","n":1,"on":true,"\"odd $.key":"x"}"#),
        ("b", Status::Busy, r#"{"user":"u2","n":1.0,"on":false,"nested":{"user":"u1"}}"#),
        ("c", Status::Suspended, r#"{"user":"u1","n":"1","on":null}"#),
        ("d", Status::Closed, "[\"user\",\"u1\"]"),
        ("e", Status::Idle, "null"),
    ];
    for (id, status, metadata) in sessions {
        let mut save = updated(id, 50);
        save.summary.status = status;
        save.summary.metadata = metadata.to_owned();
        if !status.is_live() {
            save.ownership = Ownership::Released;
        }
        put(store, save).await;
    }
    let by_status = |statuses: &[Status]| ListQuery { statuses: statuses.to_vec(), ..query(9) };
    assert_eq!(ids(store, &by_status(&[Status::Idle])).await, ["a", "e"]);
    assert_eq!(ids(store, &by_status(&[Status::Suspended, Status::Idle, Status::Idle])).await, ["a", "c", "e"]);
    assert_eq!(ids(store, &by_status(&Status::ALL)).await, ["a", "b", "c", "d", "e"]);
    let paged = ListQuery { limit: 1, ..by_status(&[Status::Closed, Status::Idle, Status::Busy]) };
    assert_eq!(all_pages(store, &paged).await.0, ["a", "b", "d", "e"], "statuses are merged page by page");

    let cases: [Case; 12] = [
        (&[("user", r#""u1""#)], &["a", "c"]),
        (&[("user", r#" "\u00751" "#)], &["a", "c"]),
        (&[("user", r#""u1""#), ("n", "1")], &["a"]),
        (&[("n", "1")], &["a", "b"]),
        (&[("n", "1.0")], &["a", "b"]),
        (&[("n", r#""1""#)], &["c"]),
        (&[("on", "true")], &["a"]),
        (&[("on", "false")], &["b"]),
        (&[("on", "null")], &["c"]),
        (&[("missing", "null")], &[]),
        (&[("\"odd $.key", r#""x""#)], &["a"]),
        (&[("0", r#""user""#)], &[]),
    ];
    for (pairs, expected) in cases {
        let metadata = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let query = ListQuery { metadata, limit: 1, ..ListQuery::default() };
        assert_eq!(all_pages(store, &query).await.0, expected, "metadata {pairs:?}");
    }
    let metadata = vec![("user".to_owned(), r#""u1""#.to_owned())];
    let both = ListQuery { metadata, ..by_status(&[Status::Suspended]) };
    assert_eq!(ids(store, &both).await, ["c"], "status and metadata together");
}

pub(super) async fn bad_queries_are_refused(store: &dyn Store) {
    put(store, sample_save("a", 1)).await;
    let many = vec![("k".to_owned(), "1".to_owned()); 17];
    let metadata = |value: &str| ListQuery { metadata: vec![("k".to_owned(), value.to_owned())], ..query(5) };
    let cursor = |text: &str| ListQuery { cursor: Some(text.to_owned()), ..query(5) };
    let bad = [
        query(0),
        query(501),
        ListQuery { metadata: many, ..query(5) },
        metadata("{}"),
        metadata("[]"),
        metadata("nonsense"),
        metadata(""),
        cursor(""),
        cursor("x"),
        cursor("1-zz-00"),
        cursor("größe"),
        cursor(&"f".repeat(100_000)),
    ];
    for query in bad {
        let outcome = store.list(&query).await;
        assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
    }
    assert_eq!(ids(store, &query(500)).await, ["a"], "the largest page");
}

pub(super) async fn due_sessions_come_longest_first(clock: &TestClock, store: &dyn Store) {
    let start = store.list_due(0, 10).await.expect("it can be read");
    assert_eq!(start.sessions, [] as [String; 0]);
    for id in ["b", "c", "a"] {
        put(store, suspended(sample_save(id, 1))).await;
        clock.advance(200).await;
    }
    put(store, sample_save("idle", 1)).await;
    // A change of metadata does not make it younger; being brought back does.
    put(store, suspended(sample_save("b", 2))).await;
    put(store, sample_save("c", 2)).await;
    put(store, suspended(sample_save("c", 3))).await;
    let due = store.list_due(0, 10).await.expect("it can be read");
    assert!(due.now_ms >= start.now_ms + 600, "it tells the store's time");
    assert_eq!(due.sessions, ["b", "a", "c"], "the longest suspended first");
    let record = store.load("b").await.expect("it can be read").expect("it is kept");
    let since = record.summary.suspended_at_ms.expect("it is suspended");
    assert!((start.now_ms..=due.now_ms - 600).contains(&since), "the store stamps it");
    let live = store.load("idle").await.expect("it can be read").expect("it is kept");
    assert_eq!(live.summary.suspended_at_ms, None);
    assert_eq!(store.list_due(0, 1).await.expect("it can be read").sessions, ["b"]);
    assert_eq!(store.list_due(500, 9).await.expect("it can be read").sessions, ["b"]);
    assert_eq!(store.list_due(3_600_000, 9).await.expect("it can be read").sessions, [] as [String; 0]);
    assert_eq!(store.list_due(u64::MAX, 9).await.expect("it can be read").sessions, [] as [String; 0]);
}
