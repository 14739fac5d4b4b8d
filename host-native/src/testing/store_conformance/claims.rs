//! Who holds a session, and for how long.

use super::{message, put, sample_save, suspended, with_messages};
use crate::ports::{Ownership, Save, Status, Store, StoreError};
use crate::testing::TestClock;

/// Long enough to be there in a test that waits for real, short enough to be waited for.
const LEASE_MS: u64 = 400;

fn held(save: Save, owner: &str, lease_ms: u64) -> Save {
    Save { ownership: Ownership::Held { owner: owner.to_owned(), lease_ms }, ..save }
}

fn held_by(session: &str, owner: &str) -> StoreError {
    StoreError::Held { session: session.to_owned(), owner: owner.to_owned() }
}

async fn generation(store: &dyn Store, session: &str, owner: &str) -> Result<Option<u64>, StoreError> {
    Ok(store.claim(session, owner, 60_000).await?.map(|claimed| claimed.generation))
}

pub(super) async fn a_claim_raises_the_generation(store: &dyn Store) {
    assert_eq!(generation(store, "a", "host").await, Ok(None), "an unknown session is none");
    put(store, suspended(sample_save("a", 1))).await;
    assert_eq!(generation(store, "a", "one").await, Ok(Some(2)), "one that nobody holds");
    assert_eq!(generation(store, "a", "one").await, Ok(Some(3)), "its holder again");
    assert_eq!(generation(store, "a", "two").await, Err(held_by("a", "one")), "another while it is held");
    assert_eq!(generation(store, "a", "one").await, Ok(Some(4)), "a refused claim raises nothing");
    put(store, suspended(Save { generation: 4, ..sample_save("a", 2) })).await;
    assert_eq!(generation(store, "a", "two").await, Ok(Some(5)), "another once it was released");
    let fenced = store.save(Save { generation: 4, ..sample_save("a", 3) }).await;
    assert_eq!(fenced, Err(StoreError::Fenced { session: "a".to_owned(), stored: 5, offered: 4 }));
}

pub(super) async fn a_lease_runs_out(clock: &TestClock, store: &dyn Store) {
    put(store, held(sample_save("saved", 1), "one", LEASE_MS)).await;
    put(store, suspended(sample_save("claimed", 1))).await;
    store.claim("claimed", "one", LEASE_MS).await.expect("nobody holds it");
    for id in ["saved", "claimed"] {
        assert_eq!(generation(store, id, "two").await, Err(held_by(id, "one")), "{id} is held");
    }
    clock.advance(LEASE_MS).await;
    assert_eq!(generation(store, "saved", "two").await, Ok(Some(2)), "a lease given by a save runs out");
    assert_eq!(generation(store, "claimed", "two").await, Ok(Some(3)), "a lease given by a claim runs out");
}

pub(super) async fn live_sessions_are_claimed_page_by_page(clock: &TestClock, store: &dyn Store) {
    for (at, status) in Status::ALL.into_iter().enumerate() {
        let mut save = sample_save(&format!("mine-{at}"), 1);
        save.summary.status = status;
        if !status.is_live() {
            save.ownership = Ownership::Released;
        }
        put(store, save).await;
    }
    put(store, held(sample_save("held", 1), "other", 60_000)).await;
    put(store, held(sample_save("expired", 1), "other", 0)).await;
    clock.advance(1).await;

    let mut claimed = Vec::new();
    let mut pages = 0;
    loop {
        let after = claimed.last().map(|(id, _): &(String, u64)| id.clone());
        let page = store.claim_live("host", 60_000, after.as_deref(), 2).await.expect("it can be claimed");
        pages += 1;
        claimed.extend(page.sessions.into_iter().map(|session| (session.summary.id, session.generation)));
        if !page.more {
            break;
        }
        assert!(pages < 10, "pages come to an end");
    }
    let expected = ["expired", "mine-0", "mine-1", "mine-2", "mine-3"].map(|id| (id.to_owned(), 2));
    assert_eq!(claimed, expected, "live sessions of this host and those whose lease ran out, each once, by id");
    assert_eq!(pages, 3);
    assert_eq!(generation(store, "expired", "other").await, Err(held_by("expired", "host")), "it is held now");
    let again = store.claim_live("host", 60_000, None, 10).await.expect("it can be claimed");
    assert_eq!(again.sessions.len(), 5, "a host that starts again claims its own again");
    assert!(again.sessions.iter().all(|session| session.generation == 3) && !again.more);
}

pub(super) async fn renewing_names_the_lost(clock: &TestClock, store: &dyn Store) {
    for id in ["kept", "raised", "taken", "forgotten"] {
        put(store, held(sample_save(id, 1), "one", LEASE_MS)).await;
    }
    put(store, suspended(sample_save("released", 1))).await;
    store.claim("raised", "one", LEASE_MS).await.expect("its owner may claim it");
    store.delete("forgotten", 1).await.expect("its owner may forget it");
    clock.advance(LEASE_MS).await;
    assert_eq!(generation(store, "taken", "two").await, Ok(Some(2)), "its lease had run out");

    let mine: Vec<(String, u64)> =
        ["kept", "raised", "taken", "forgotten", "released"].map(|id| (id.to_owned(), 1)).to_vec();
    let lost = store.renew("one", 60_000, &mine).await.expect("leases can be renewed");
    assert_eq!(lost, ["raised", "taken"], "those of a raised generation, in the order asked");
    clock.advance(LEASE_MS).await;
    assert_eq!(generation(store, "kept", "two").await, Err(held_by("kept", "one")), "its lease was extended");
    assert_eq!(generation(store, "released", "two").await, Ok(Some(2)), "renewing takes nothing that was released");
    assert_eq!(store.load("forgotten").await, Ok(None), "nor brings back what was forgotten");
    assert_eq!(store.renew("one", 1, &[]).await, Ok(Vec::new()));
}

pub(super) async fn the_tail_starts_where_it_was_saved(store: &dyn Store) {
    put(store, Save { tail_from: 3, ..with_messages(sample_save("a", 1), 0..5, "x") }).await;
    let claimed = store.claim("a", "host", 1_000).await.expect("its owner may claim it").expect("it is kept");
    assert_eq!(claimed.tail, [message(3, "x"), message(4, "x")]);
    put(store, Save { generation: 2, tail_from: 5, ..sample_save("a", 2) }).await;
    let live = store.claim_live("host", 1_000, None, 5).await.expect("it can be claimed");
    assert_eq!(live.sessions[0].tail, [], "nothing is after the last");
    let all = store.load("a").await.expect("it can be read").expect("it is kept");
    assert_eq!(all.messages.len(), 5, "a load has every message");
}
