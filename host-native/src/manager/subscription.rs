//! What happens to all sessions, numbered, so that a reader that lost its connection can go on where it was.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ports::{AuditRecord, SessionSummary};

/// The most events that are kept for readers that come back.
const KEPT: usize = 4_096;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// What a crash left has been recovered: calls are taken from now on.
    Ready,
    /// A session changed, and that is durable.
    Updated(SessionSummary),
    /// A session was forgotten.
    Deleted {
        /// Its id.
        session: String,
    },
    /// An answer was recorded.
    Audited {
        /// The session.
        session: String,
        /// The line of its audit log.
        entry: AuditRecord,
    },
    /// Something failed that no caller waits for.
    Warned {
        /// The session; empty for the whole host.
        session: String,
        /// What was being done: `load`, `save`, `start`, `resume`, `stop`, `release`, `approve`, `renew`, `turn`.
        action: String,
        /// A sentence for a person.
        message: String,
    },
    /// Events were missed: read the sessions anew.
    Resync,
}

/// An event and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedEvent {
    /// Its number: give it to [`subscribe`](super::SessionManager::subscribe) to go on after it. Numbers rise, also over
    /// restarts.
    pub n: u64,
    /// What happened.
    pub event: Arc<SessionEvent>,
}

#[derive(Debug)]
struct Ring {
    /// The number of the first event kept.
    first: u64,
    events: VecDeque<Arc<SessionEvent>>,
    closed: bool,
}

/// Where events are put and read.
pub(crate) struct Hub {
    ring: Mutex<Ring>,
    changed: Notify,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    /// A hub whose numbers are above those of every earlier start: they begin at the wall clock's microseconds.
    pub(crate) fn new(wall_ms: u64) -> Self {
        let ring = Ring { first: wall_ms.saturating_mul(1_000), events: VecDeque::new(), closed: false };
        Self { ring: Mutex::new(ring), changed: Notify::new() }
    }

    pub(crate) fn tell(&self, event: SessionEvent) {
        let mut ring = self.lock();
        if ring.events.len() == KEPT {
            ring.events.pop_front();
            ring.first += 1;
        }
        ring.events.push_back(Arc::new(event));
        drop(ring);
        self.changed.notify_waiters();
    }

    /// Ends every subscription once it has read what is there.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // The ring is changed in one step each, so a poisoned lock guards a whole one.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads events as they come. A slow reader loses the oldest ones and is told so with [`SessionEvent::Resync`].
#[derive(Debug)]
pub struct Subscription {
    hub: Arc<Hub>,
    next: u64,
    /// Whether the reader's place is unknown or lost.
    lost: bool,
}

impl Subscription {
    pub(crate) fn new(hub: Arc<Hub>, after: Option<u64>) -> Self {
        let ring = hub.lock();
        let end = ring.first + ring.events.len() as u64;
        let (next, lost) = match after {
            None => (end, false),
            Some(after) if after < end && after + 1 >= ring.first => (after + 1, false),
            Some(_) => (end, true),
        };
        drop(ring);
        Self { hub, next, lost }
    }

    /// Waits for the next event; `None` when the host has stopped.
    ///
    /// Cancel safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<NumberedEvent> {
        loop {
            let hub = Arc::clone(&self.hub);
            let changed = hub.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.take() {
                Ok(event) => return Some(event),
                Err(true) => return None,
                Err(false) => changed.await,
            }
        }
    }

    /// The next event that is there, or whether there will be none any more.
    fn take(&mut self) -> Result<NumberedEvent, bool> {
        let ring = self.hub.lock();
        if self.lost || self.next < ring.first {
            self.lost = false;
            self.next = self.next.max(ring.first);
            let n = self.next.saturating_sub(1);
            return Ok(NumberedEvent { n, event: Arc::new(SessionEvent::Resync) });
        }
        let place = usize::try_from(self.next - ring.first).unwrap_or(usize::MAX);
        let Some(event) = ring.events.get(place) else { return Err(ring.closed) };
        let numbered = NumberedEvent { n: self.next, event: Arc::clone(event) };
        drop(ring);
        self.next += 1;
        Ok(numbered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deleted(session: &str) -> SessionEvent {
        SessionEvent::Deleted { session: session.to_owned() }
    }

    #[tokio::test]
    async fn a_reader_goes_on_after_the_number_it_saw_last() {
        let hub = Arc::new(Hub::new(1));
        let mut all = Subscription::new(Arc::clone(&hub), None);
        hub.tell(deleted("a"));
        hub.tell(deleted("b"));
        let first = all.next().await.unwrap();
        assert_eq!(*first.event, deleted("a"));
        let mut again = Subscription::new(Arc::clone(&hub), Some(first.n));
        assert_eq!(*again.next().await.unwrap().event, deleted("b"));
        hub.close();
        assert_eq!(again.next().await, None);
        assert_eq!(*all.next().await.unwrap().event, deleted("b"));
    }

    #[tokio::test]
    async fn a_reader_that_fell_behind_or_comes_from_before_a_restart_is_told_to_resync() {
        let hub = Arc::new(Hub::new(1));
        let mut slow = Subscription::new(Arc::clone(&hub), None);
        for n in 0..=KEPT {
            hub.tell(deleted(&n.to_string()));
        }
        assert_eq!(*slow.next().await.unwrap().event, SessionEvent::Resync);
        assert_eq!(*slow.next().await.unwrap().event, deleted("1"));
        let mut old = Subscription::new(Arc::clone(&hub), Some(3));
        assert_eq!(*old.next().await.unwrap().event, SessionEvent::Resync);
        hub.tell(deleted("new"));
        assert_eq!(*old.next().await.unwrap().event, deleted("new"));
    }
}
