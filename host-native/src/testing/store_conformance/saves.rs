//! Writing sessions and reading them back.

use std::sync::Arc;

use super::{message, put, sample_save, suspended, with_messages};
use crate::ports::{
    AuditRecord, Decision, PendingInput, PendingKind, ResumeChange, ResumeState, Save, SessionSettings, Status, Store,
    StoreError, TurnError, Usage,
};

fn full_save() -> Save {
    let mut save = with_messages(sample_save("full", 1), 0..2, "größe \u{1f600} \\u0000");
    save.engine_state = r#"{"secretless":1.50}"#.into();
    save.resume = ResumeChange::Replace(ResumeState::new("{\"token\":\"t\0\"}"));
    let summary = &mut save.summary;
    summary.status = Status::AwaitingInput;
    summary.metadata = r#"{ "b": 1.0, "a": [null] }"#.into();
    summary.settings = SessionSettings {
        working_directory: Some("/w".to_owned()),
        model: Some("m".to_owned()),
        permission_mode: Some("plan".to_owned()),
        mcp_servers: Some(r#"{"x":{}}"#.to_owned()),
    };
    summary.turns = 7;
    summary.usage = Usage { input_tokens: 1, output_tokens: 2, total_tokens: 3, cost_micro_usd: u64::MAX };
    summary.error = Some(TurnError { code: "agent-failed".to_owned(), message: "It failed.".to_owned() });
    summary.pending = vec![PendingInput {
        kind: PendingKind::Approval,
        approval_id: "p".to_owned(),
        tool_call_id: "c".to_owned(),
        tool_name: "Bash".to_owned(),
        input: r#"{"command":"ls"}"#.to_owned(),
        decision: Some(Decision { approved: false, reason: Some("no".to_owned()) }),
    }];
    summary.turn = Some("t".to_owned());
    save
}

pub(super) async fn keeps_what_was_saved(store: &dyn Store) {
    assert_eq!(store.load("full").await, Ok(None), "an unknown session is none");
    let save = full_save();
    put(store, save.clone()).await;
    let record = store.load("full").await.expect("it can be read").expect("it is kept");
    assert_eq!(record.summary, save.summary, "the summary is read as it was saved");
    assert_eq!(record.messages, save.messages, "messages are kept byte for byte");
    let claimed = store.claim("full", "host", 1_000).await.expect("its owner may claim it").expect("it is kept");
    assert_eq!(claimed.summary, save.summary, "the summary is claimed as it was saved");
    assert_eq!(claimed.engine_state, save.engine_state, "the engine's notes are kept byte for byte");
    assert_eq!((claimed.generation, claimed.revision), (2, 1), "a claim raises the generation alone");
    assert_eq!(ResumeChange::Replace(claimed.resume.expect("a resume state is kept")), save.resume);
}

pub(super) async fn checks_come_in_order(store: &dyn Store) {
    let stale = store.save(sample_save("new", 2)).await;
    assert_eq!(
        stale,
        Err(StoreError::Stale { session: "new".to_owned(), stored: 0, offered: 2 }),
        "a new session is at 0"
    );
    put(store, sample_save("a", 1)).await;
    put(store, sample_save("a", 1)).await;
    let exists = store.save(Save { write_id: "other".to_owned(), ..sample_save("a", 1) }).await;
    assert_eq!(exists, Err(StoreError::Exists("a".to_owned())), "another first write of a kept session");
    put(store, sample_save("a", 2)).await;
    let stale = store.save(sample_save("a", 4)).await;
    assert_eq!(stale, Err(StoreError::Stale { session: "a".to_owned(), stored: 2, offered: 4 }), "a revision left out");
    let older = Save { write_id: "x".to_owned(), ..sample_save("a", 2) };
    let stale = store.save(older).await;
    assert_eq!(stale, Err(StoreError::Stale { session: "a".to_owned(), stored: 2, offered: 2 }), "a revision taken");

    store.claim("a", "host", 1_000).await.expect("its owner may claim it");
    put(store, sample_save("a", 2)).await;
    let fenced = Err(StoreError::Fenced { session: "a".to_owned(), stored: 2, offered: 1 });
    assert_eq!(store.save(sample_save("a", 3)).await, fenced, "a lower generation");
    let first = Save { write_id: "y".to_owned(), ..sample_save("a", 1) };
    assert_eq!(store.save(first).await, fenced, "fenced comes before exists");
    assert_eq!(store.save(sample_save("a", 9)).await, fenced, "fenced comes before stale");
    put(store, Save { generation: 2, ..sample_save("a", 3) }).await;
    put(store, Save { generation: 1, ..sample_save("a", 3) }).await;
}

pub(super) async fn a_refused_save_changes_nothing(store: &dyn Store) {
    put(store, with_messages(sample_save("a", 1), 0..1, "first")).await;
    let before = store.load("a").await;
    let mut bad = with_messages(suspended(sample_save("a", 3)), 0..2, "second");
    bad.resume = ResumeChange::Replace(ResumeState::new("r"));
    assert!(matches!(store.save(bad).await, Err(StoreError::Stale { .. })));
    let gap = with_messages(suspended(sample_save("a", 2)), 0..1, "second");
    let gap = Save { messages: vec![gap.messages[0].clone(), message(5, "gap")], ..gap };
    assert!(matches!(store.save(gap).await, Err(StoreError::Invalid(_))), "a gap is refused");
    assert_eq!(store.load("a").await, before, "nothing of a refused save is kept");
    let mut repeated = with_messages(sample_save("a", 1), 0..3, "third");
    repeated.resume = ResumeChange::Replace(ResumeState::new("r"));
    put(store, repeated).await;
    assert_eq!(store.load("a").await, before, "a repeated write id changes nothing");
    let claimed = store.claim("a", "host", 1_000).await.expect("its owner may claim it").expect("it is kept");
    assert_eq!(claimed.resume, None, "nor does it touch the resume state");
}

pub(super) async fn messages_are_appended_and_replaced(store: &dyn Store) {
    put(store, with_messages(sample_save("a", 1), 0..3, "one")).await;
    put(store, with_messages(sample_save("a", 2), 2..4, "two")).await;
    let mut save = sample_save("a", 3);
    save.messages = vec![message(4, "three"), message(0, "three"), message(4, "four")];
    save.messages[1].id = "renamed".into();
    put(store, save).await;
    put(store, sample_save("a", 4)).await;
    put(store, with_messages(sample_save("b", 1), 0..1, "other")).await;
    let kept = store.load("a").await.expect("it can be read").expect("it is kept").messages;
    let mut expected =
        vec![message(0, "three"), message(1, "one"), message(2, "two"), message(3, "two"), message(4, "four")];
    expected[0].id = "renamed".into();
    assert_eq!(kept, expected, "messages stand at their indices, as last written");
}

pub(super) async fn messages_leave_no_gap(store: &dyn Store) {
    let save = with_messages(sample_save("a", 1), 1..2, "x");
    assert!(matches!(store.save(save).await, Err(StoreError::Invalid(_))), "a conversation starts at zero");
    assert_eq!(store.load("a").await, Ok(None), "the session was not made");
}

pub(super) async fn resume_state_is_kept_replaced_and_dropped(store: &dyn Store) {
    let steps = [
        (ResumeChange::Keep, None),
        (ResumeChange::Replace(ResumeState::new("one")), Some("one")),
        (ResumeChange::Keep, Some("one")),
        (ResumeChange::Replace(ResumeState::new("two")), Some("two")),
        (ResumeChange::Drop, None),
        (ResumeChange::Drop, None),
    ];
    for (generation, (change, expected)) in (1u64..).zip(steps) {
        put(store, Save { generation, resume: change, ..sample_save("a", generation) }).await;
        let claimed = store.claim("a", "host", 1_000).await.expect("its owner may claim it").expect("it is kept");
        assert_eq!(claimed.resume, expected.map(ResumeState::new), "after write {generation}");
    }
}

pub(super) async fn delete_is_fenced(store: &dyn Store) {
    assert_eq!(store.delete("a", 1).await, Ok(()), "there is nothing to forget");
    let mut save = with_messages(sample_save("a", 1), 0..2, "x");
    save.resume = ResumeChange::Replace(ResumeState::new("r"));
    put(store, save).await;
    store.claim("a", "host", 1_000).await.expect("its owner may claim it");
    let fenced = Err(StoreError::Fenced { session: "a".to_owned(), stored: 2, offered: 1 });
    assert_eq!(store.delete("a", 1).await, fenced, "a lower generation");
    assert!(matches!(store.load("a").await, Ok(Some(_))), "it is still kept");
    assert_eq!(store.delete("a", 2).await, Ok(()));
    assert_eq!(store.load("a").await, Ok(None), "it is forgotten");
    assert_eq!(store.list(&super::query(10)).await.expect("it can be read").sessions, [], "it is in no list");
    put(store, sample_save("a", 1)).await;
    let again = store.load("a").await.expect("it can be read").expect("it is kept");
    assert_eq!(again.messages, [], "a new session of its id has none of its messages");
    let claimed = store.claim("a", "host", 1_000).await.expect("its owner may claim it").expect("it is kept");
    assert_eq!(claimed.resume, None, "nor its resume state");
}

pub(super) async fn numbers_have_a_bound(store: &dyn Store) {
    let mut save = sample_save("a", 1);
    save.summary.updated_at_ms = u64::MAX;
    assert!(matches!(store.save(save).await, Err(StoreError::Invalid(_))), "a number beyond the largest");
    let mut save = sample_save("a", 1);
    save.summary.updated_at_ms = i64::MAX.unsigned_abs();
    save.ownership = crate::ports::Ownership::Held { owner: "host".to_owned(), lease_ms: u64::MAX };
    put(store, save.clone()).await;
    assert_eq!(store.load("a").await.expect("it can be read").expect("it is kept").summary, save.summary);
}

pub(super) async fn many_at_once(store: Arc<dyn Store>) {
    put(&*store, sample_save("taken", 1)).await;
    let saves = (0..60).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            // Every third is refused, among those that are not.
            if n % 3 == 0 {
                let again = Save { write_id: format!("w{n}"), ..sample_save("taken", 1) };
                return store.save(again).await == Err(StoreError::Exists("taken".to_owned()));
            }
            store.save(with_messages(sample_save(&format!("s{n}"), 1), 0..1, "x")).await == Ok(())
        })
    });
    for save in saves.collect::<Vec<_>>() {
        assert!(save.await.expect("it does not panic"), "one refused save fails alone");
    }
    let page = store.list(&super::query(100)).await.expect("it can be read");
    assert_eq!(page.sessions.len(), 41, "the others are kept");
}

pub(super) async fn audit_lines_are_appended_once(store: &dyn Store) {
    let line = |seq| AuditRecord { seq, at_ms: 7, json: format!(r#"{{"n":{seq}}}"#) };
    put(store, Save { audit: vec![line(0), line(1)], ..sample_save("a", 1) }).await;
    put(store, Save { audit: vec![line(1), line(2)], ..sample_save("a", 2) }).await;
    put(store, Save { audit: vec![line(0)], ..sample_save("b", 1) }).await;
    assert_eq!(store.audit("a", None, 10).await, Ok(vec![line(0), line(1), line(2)]), "each once, in order");
    assert_eq!(store.audit("a", Some(0), 1).await, Ok(vec![line(1)]), "the lines after a number, bounded");
    assert_eq!(store.audit("a", Some(2), 10).await, Ok(Vec::new()), "nothing after the last");
    assert_eq!(store.audit("none", None, 10).await, Ok(Vec::new()), "nothing of a session that is not kept");
    assert_eq!(store.delete("a", 1).await, Ok(()));
    put(store, sample_save("a", 1)).await;
    assert_eq!(store.audit("a", None, 10).await, Ok(Vec::new()), "the log went with its session");
}
