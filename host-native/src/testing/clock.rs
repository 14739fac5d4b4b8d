//! A clock that tests move, so that leases run out without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::stores::StoreClock;

/// The time as a store under test sees it: set by hand, or real for a store whose clock cannot be set.
#[derive(Debug, Clone)]
pub struct TestClock(Option<Arc<AtomicU64>>);

impl TestClock {
    /// A clock that stands at `now_ms`, milliseconds since the Unix epoch, until it is moved.
    #[must_use]
    pub fn manual(now_ms: u64) -> Self {
        Self(Some(Arc::new(AtomicU64::new(now_ms))))
    }

    /// The machine's clock: to move it is to wait.
    #[must_use]
    pub fn real() -> Self {
        Self(None)
    }

    /// This clock for a store.
    #[must_use]
    pub fn store_clock(&self) -> StoreClock {
        match self.0.clone() {
            Some(now) => StoreClock::from_fn(move || now.load(Ordering::SeqCst)),
            None => StoreClock::system(),
        }
    }

    /// Lets `ms` milliseconds pass.
    pub async fn advance(&self, ms: u64) {
        match &self.0 {
            Some(now) => {
                now.fetch_add(ms, Ordering::SeqCst);
            }
            None => tokio::time::sleep(Duration::from_millis(ms)).await,
        }
    }
}
