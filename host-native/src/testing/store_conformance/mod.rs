//! What every store has to do, as tests: the stores of tackroom pass them, and users run them on their own.

mod claims;
mod lists;
mod saves;

use std::sync::Arc;

use super::clock::TestClock;
use crate::ports::{
    ListQuery, MessageRecord, Ownership, ResumeChange, Save, SessionSettings, SessionSummary, Status, Store, Usage,
};

/// Runs every test of the suite, each on a new and empty store from `open`, which uses `clock` if it can.
///
/// For a store whose clock cannot be set, pass [`TestClock::real`]; the suite then waits a few seconds in all.
///
/// ```
/// # use std::sync::Arc;
/// # use tackroom::stores::MemoryStore;
/// # use tackroom::testing::{TestClock, conformance};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let clock = TestClock::manual(1_700_000_000_000);
/// let store_clock = clock.store_clock();
/// conformance(&clock, || async { Arc::new(MemoryStore::with_clock(store_clock.clone())) as _ }).await;
/// # }
/// ```
///
/// # Panics
///
/// When the store does not do what the port says; the message names the test.
pub async fn conformance<F, Fut>(clock: &TestClock, open: F)
where
    F: Fn() -> Fut,
    Fut: Future<Output = Arc<dyn Store>>,
{
    saves::keeps_what_was_saved(&*open().await).await;
    saves::checks_come_in_order(&*open().await).await;
    saves::a_refused_save_changes_nothing(&*open().await).await;
    saves::messages_are_appended_and_replaced(&*open().await).await;
    saves::messages_leave_no_gap(&*open().await).await;
    saves::resume_state_is_kept_replaced_and_dropped(&*open().await).await;
    saves::audit_lines_are_appended_once(&*open().await).await;
    saves::delete_is_fenced(&*open().await).await;
    saves::numbers_have_a_bound(&*open().await).await;
    saves::many_at_once(open().await).await;
    claims::a_claim_raises_the_generation(&*open().await).await;
    claims::a_lease_runs_out(clock, &*open().await).await;
    claims::live_sessions_are_claimed_page_by_page(clock, &*open().await).await;
    claims::renewing_names_the_lost(clock, &*open().await).await;
    claims::the_tail_starts_where_it_was_saved(&*open().await).await;
    lists::pages_follow_each_other(&*open().await).await;
    lists::pages_hold_over_changes(&*open().await).await;
    lists::filters_by_status_and_metadata(&*open().await).await;
    lists::bad_queries_are_refused(&*open().await).await;
    lists::due_sessions_come_longest_first(clock, &*open().await).await;
    assert_eq!(open().await.ready().await, Ok(()), "a new store is ready");
}

/// A write as an engine makes it: session `id`, idle and held by `host` at generation 1, with no new messages.
#[must_use]
pub fn sample_save(id: &str, revision: u64) -> Save {
    Save {
        write_id: format!("{id}-{revision}"),
        generation: 1,
        revision,
        summary: SessionSummary {
            id: id.to_owned(),
            status: Status::Idle,
            metadata: "{}".to_owned(),
            settings: SessionSettings::default(),
            created_at_ms: 1_000,
            updated_at_ms: 1_000 + revision,
            suspended_at_ms: None,
            turns: 0,
            usage: Usage::default(),
            error: None,
            pending: Vec::new(),
            message_count: 0,
            turn: None,
            revision,
            metadata_revision: 0,
            stopping: None,
            degraded: false,
        },
        engine_state: "{}".to_owned(),
        messages: Vec::new(),
        tail_from: 0,
        audit: Vec::new(),
        resume: ResumeChange::Keep,
        ownership: Ownership::Held { owner: "host".to_owned(), lease_ms: 60_000 },
    }
}

fn suspended(mut save: Save) -> Save {
    save.summary.status = Status::Suspended;
    save.ownership = Ownership::Released;
    save
}

fn with_messages(mut save: Save, indices: std::ops::Range<u32>, text: &str) -> Save {
    save.summary.message_count = save.summary.message_count.max(indices.end);
    save.messages = indices.map(|index| message(index, text)).collect();
    save
}

fn message(index: u32, text: &str) -> MessageRecord {
    let id = format!("m{index}");
    let json = format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#);
    MessageRecord { index, id, json }
}

fn query(limit: u32) -> ListQuery {
    ListQuery { limit, ..ListQuery::default() }
}

async fn put(store: &dyn Store, save: Save) {
    let name = format!("{} at revision {}", save.summary.id, save.revision);
    assert_eq!(store.save(save).await, Ok(()), "saving {name}");
}
