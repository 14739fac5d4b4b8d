//! Both stores, held to the same suite and to each other.

#[cfg(feature = "sqlite")]
mod equivalence;

use std::sync::Arc;

use super::MemoryStore;
use crate::testing::{TestClock, conformance};

#[tokio::test]
async fn memory_conforms() {
    let clock = TestClock::manual(1_700_000_000_000);
    let store_clock = clock.store_clock();
    conformance(&clock, || async { Arc::new(MemoryStore::with_clock(store_clock.clone())) as _ }).await;
}

#[tokio::test]
async fn memory_conforms_on_the_real_clock() {
    conformance(&TestClock::real(), || async { Arc::new(MemoryStore::new()) as _ }).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_conforms() {
    use super::{SqliteOptions, SqliteStore};

    let directory = tempfile::tempdir().unwrap();
    let clock = TestClock::manual(1_700_000_000_000);
    let number = std::sync::atomic::AtomicU32::new(0);
    let open = || async {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let options = SqliteOptions { clock: clock.store_clock(), ..SqliteOptions::default() };
        Arc::new(SqliteStore::open(directory.path().join(format!("{number}.db")), options).await.unwrap()) as _
    };
    conformance(&clock, open).await;
}
