//! What is due when, on the monotonic reading, so that a host needs to wait for one moment only.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

/// What a timer is for. One of each at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKey {
    /// The deadline of an effect.
    Effect(u64),
    /// A session has been idle or awaiting input for long.
    Idle(String),
    /// A turn has been busy for long.
    Turn(String),
    /// A write that a caller waits for has taken long.
    Acknowledge(String),
    /// A write is to be tried again.
    Retry(String),
    /// A turn that is being cut short has not ended.
    Stopping(String),
    /// A lease given up on has not come.
    Slot(u64),
    /// Claims are to be renewed.
    Renew,
    /// Sessions suspended for long are to be looked for.
    Due,
    /// Claiming what a crash left is to be tried again.
    Recover,
    /// The shutdown has taken long.
    Shutdown,
}

/// All timers, by time and by key.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    by_time: BTreeSet<(u64, TimerKey)>,
    by_key: BTreeMap<TimerKey, u64>,
}

impl Timers {
    pub(crate) fn set(&mut self, key: TimerKey, at_ms: u64) {
        self.cancel(&key);
        self.by_time.insert((at_ms, key.clone()));
        self.by_key.insert(key, at_ms);
    }

    pub(crate) fn cancel(&mut self, key: &TimerKey) {
        if let Some((key, at_ms)) = self.by_key.remove_entry(key) {
            self.by_time.remove(&(at_ms, key));
        }
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.by_time.first().map(|(at_ms, _)| *at_ms)
    }

    pub(crate) fn is_set(&self, key: &TimerKey) -> bool {
        self.by_key.contains_key(key)
    }

    pub(crate) fn pop_due(&mut self, now_ms: u64) -> Option<TimerKey> {
        if self.first()? > now_ms {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }
}
