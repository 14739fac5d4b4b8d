//! Who holds a lease, who waits for one, and who can be suspended to free one.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;

/// A lease that is held, or is being got or given back.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) session: String,
    /// Whether it will be free without anybody asking again.
    pub(crate) returning: bool,
}

/// The leases of the host.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) capacity: Option<u32>,
    pub(crate) held: BTreeMap<u64, Slot>,
    pub(crate) queue: VecDeque<String>,
    /// Idle sessions by how long they have been so.
    idle: BTreeSet<(u64, String)>,
    /// Sessions awaiting input by how long they have been so.
    waiting: BTreeSet<(u64, String)>,
}

/// Which index of candidates for suspension a session is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Candidate {
    Idle,
    Waiting,
}

impl Slots {
    pub(crate) fn of(capacity: Option<u32>) -> Self {
        Self { capacity, ..Self::default() }
    }

    fn index(&mut self, kind: Candidate) -> &mut BTreeSet<(u64, String)> {
        match kind {
            Candidate::Idle => &mut self.idle,
            Candidate::Waiting => &mut self.waiting,
        }
    }

    pub(crate) fn add_candidate(&mut self, kind: Candidate, since_ms: u64, session: &str) {
        self.index(kind).insert((since_ms, session.into()));
    }

    pub(crate) fn remove_candidate(&mut self, kind: Candidate, since_ms: u64, session: &str) {
        self.index(kind).remove(&(since_ms, session.into()));
    }

    /// The session to suspend for room, if there is one, other than `except`.
    pub(crate) fn victim(&self, waiting_too: bool, except: &str) -> Option<String> {
        let first = |set: &BTreeSet<(u64, String)>| set.iter().map(|(_, id)| id).find(|id| *id != except).cloned();
        first(&self.idle).or_else(|| if waiting_too { first(&self.waiting) } else { None })
    }

    fn used(&self) -> u32 {
        u32::try_from(self.held.len()).unwrap_or(u32::MAX)
    }

    /// Whether a lease can be got now.
    pub(crate) fn is_free(&self) -> bool {
        self.capacity.is_none_or(|capacity| self.used() < capacity)
    }

    /// How many more sessions could wait in the queue and be served without another suspension.
    pub(crate) fn spare(&self) -> u32 {
        let Some(capacity) = self.capacity else { return u32::MAX };
        let staying = self.held.values().filter(|slot| !slot.returning).count();
        let promised = u32::try_from(staying + self.queue.len()).unwrap_or(u32::MAX);
        capacity.saturating_sub(promised)
    }

    /// Whether more sessions wait than will be served.
    pub(crate) fn oversubscribed(&self) -> bool {
        let Some(capacity) = self.capacity else { return false };
        let staying = self.held.values().filter(|slot| !slot.returning).count();
        !self.queue.is_empty() && staying + self.queue.len() > capacity as usize
    }

    pub(crate) fn mark_returning(&mut self, lease: u64, returning: bool) {
        if let Some(slot) = self.held.get_mut(&lease) {
            slot.returning = returning;
        }
    }

    pub(crate) fn leave_queue(&mut self, session: &str) {
        self.queue.retain(|id| id != session);
    }
}
