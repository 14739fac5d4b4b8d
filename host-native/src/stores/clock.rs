//! The clock of a store: leases and suspensions are measured on it, so that tests can set it.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells a store the time. Cloning is cheap; clones tell the same time.
#[derive(Clone)]
pub struct StoreClock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl StoreClock {
    /// The wall clock of this machine.
    #[must_use]
    pub fn system() -> Self {
        Self::from_fn(|| {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// A clock that asks `now`, which answers in milliseconds since the Unix epoch.
    pub fn from_fn(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        (self.0)()
    }
}

impl Default for StoreClock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreClock({} ms)", self.now_ms())
    }
}
