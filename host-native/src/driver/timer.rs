//! The clocks: when it is, and when the engine wants to be woken.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::engine::types::Now;

/// A timer is never set further ahead than this; an early tick does nothing.
const LONGEST: Duration = Duration::from_hours(24);

/// Reads the clocks and holds the engine's next deadline.
#[derive(Debug)]
pub(super) struct Timer {
    start: Instant,
    deadline: Option<Instant>,
}

/// The wall clock, milliseconds since the Unix epoch.
pub(super) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Timer {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), deadline: None }
    }

    pub(super) fn now(&self) -> Now {
        let monotonic_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Now { wall_ms: wall_ms(), monotonic_ms }
    }

    /// Sets the deadline, on the monotonic reading.
    pub(super) fn set(&mut self, deadline_ms: u64) {
        let longest = Instant::now() + LONGEST;
        let at = self.start.checked_add(Duration::from_millis(deadline_ms)).unwrap_or(longest);
        self.deadline = Some(at.min(longest));
    }

    /// Whether the deadline is past; it is forgotten then.
    pub(super) fn take_due(&mut self) -> bool {
        let due = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        if due {
            self.deadline = None;
        }
        due
    }

    /// When to wake.
    pub(super) fn wake(&self) -> Instant {
        self.deadline.unwrap_or_else(|| Instant::now() + LONGEST)
    }
}
