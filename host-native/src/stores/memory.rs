//! A store in memory, for tests and for applications whose sessions may end with the process.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::clock::StoreClock;
use super::filter::{Filter, Position};
use super::rules::{self, Kept, Verdict};
use crate::ports::{
    AuditRecord, Claimed, DueSessions, ListPage, ListQuery, MessageRecord, Ownership, ResumeChange, ResumeState, Save,
    SessionRecord, SessionSummary, Status, Store, StoreError, StoredSession,
};

/// Keeps sessions in memory. What one handle writes is lost when the store is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    clock: StoreClock,
    kept: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: BTreeMap<String, Session>,
    /// The order of lists.
    newest: BTreeSet<(Reverse<u64>, String)>,
}

#[derive(Debug)]
struct Session {
    generation: u64,
    revision: u64,
    write_id: String,
    summary: SessionSummary,
    engine_state: String,
    messages: Vec<MessageRecord>,
    audit: Vec<AuditRecord>,
    tail_from: u32,
    resume: Option<ResumeState>,
    lease: Option<Lease>,
}

#[derive(Debug)]
struct Lease {
    owner: String,
    ends_ms: u64,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store on this clock.
    #[must_use]
    pub fn with_clock(clock: StoreClock) -> Self {
        Self { clock, kept: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // Every change is made after its checks and none panics half-way, so a poisoned lock guards whole sessions.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn claim(&mut self, owner: &str, ends_ms: u64) -> StoredSession {
        self.generation += 1;
        self.lease = Some(Lease { owner: owner.to_owned(), ends_ms });
        StoredSession {
            generation: self.generation,
            revision: self.revision,
            summary: self.summary.clone(),
            engine_state: self.engine_state.clone(),
            tail: self.messages.iter().filter(|message| message.index >= self.tail_from).cloned().collect(),
            resume: self.resume.clone(),
        }
    }

    fn held_by_another(&self, owner: &str, now_ms: u64) -> Option<&str> {
        let lease = self.lease.as_ref()?;
        (lease.owner != owner && lease.ends_ms > now_ms).then_some(lease.owner.as_str())
    }

    fn claimable_at_start(&self, owner: &str, now_ms: u64) -> bool {
        self.summary.status.is_live() && self.held_by_another(owner, now_ms).is_none()
    }
}

impl Sessions {
    fn write(&mut self, save: Save, now_ms: u64) -> Result<(), StoreError> {
        let before = self.by_id.remove(&save.summary.id);
        let kept = before.as_ref().map(|session| Kept {
            generation: session.generation,
            revision: session.revision,
            write_id: &session.write_id,
        });
        let count = before.as_ref().map_or(0, |session| session.messages.len());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let verdict = rules::check_save(kept, &save).and_then(|verdict| match verdict {
            Verdict::Write => rules::check_messages(count, &save.messages).map(|()| verdict),
            Verdict::AlreadyWritten => Ok(verdict),
        });
        let id = save.summary.id.clone();
        let session = match (verdict, before) {
            (Ok(Verdict::Write), before) => self.replace(before, save, now_ms),
            (outcome, before) => {
                if let Some(before) = before {
                    self.by_id.insert(id, before);
                }
                return outcome.map(|_| ());
            }
        };
        self.by_id.insert(id, session);
        Ok(())
    }

    fn replace(&mut self, before: Option<Session>, save: Save, now_ms: u64) -> Session {
        let mut summary = save.summary;
        let stamp = before.as_ref().and_then(|session| session.summary.suspended_at_ms);
        summary.suspended_at_ms = rules::suspended_at(stamp, summary.status, now_ms);
        summary.stopping = None;
        summary.degraded = false;
        let (mut messages, mut audit, resume) = match before {
            Some(session) => {
                self.newest.remove(&(Reverse(session.summary.updated_at_ms), summary.id.clone()));
                (session.messages, session.audit, session.resume)
            }
            None => (Vec::new(), Vec::new(), None),
        };
        audit.extend(rules::new_lines(audit.last().map(|line| line.seq), save.audit));
        self.newest.insert((Reverse(summary.updated_at_ms), summary.id.clone()));
        for message in save.messages {
            match messages.get_mut(message.index as usize) {
                Some(old) => *old = message,
                None => messages.push(message),
            }
        }
        Session {
            generation: save.generation,
            revision: save.revision,
            write_id: save.write_id,
            summary,
            engine_state: save.engine_state,
            messages,
            audit,
            tail_from: save.tail_from,
            resume: match save.resume {
                ResumeChange::Keep => resume,
                ResumeChange::Replace(state) => Some(state),
                ResumeChange::Drop => None,
            },
            lease: match save.ownership {
                Ownership::Held { owner, lease_ms } => {
                    Some(Lease { owner, ends_ms: rules::lease_end(now_ms, lease_ms) })
                }
                Ownership::Released => None,
            },
        }
    }

    fn page(&self, filter: &Filter) -> ListPage {
        let start = match &filter.after {
            Some(after) => std::ops::Bound::Excluded((Reverse(after.updated_at_ms), after.id.clone())),
            None => std::ops::Bound::Unbounded,
        };
        let mut found = self
            .newest
            .range((start, std::ops::Bound::Unbounded))
            .filter_map(|(_, id)| self.by_id.get(id))
            .map(|session| &session.summary)
            .filter(|summary| filter.matches(summary));
        let sessions: Vec<SessionSummary> = found.by_ref().take(filter.limit as usize).cloned().collect();
        let more = found.next().is_some();
        let next = sessions.last().filter(|_| more).map(|last| Position::of(last).to_cursor());
        ListPage { sessions, next }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn save(&self, save: Save) -> Result<(), StoreError> {
        let mut kept = self.lock();
        let now_ms = self.clock.now_ms();
        kept.write(save, now_ms)
    }

    async fn claim_live(
        &self,
        owner: &str,
        lease_ms: u64,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Claimed, StoreError> {
        let mut kept = self.lock();
        let now_ms = self.clock.now_ms();
        let ends_ms = rules::lease_end(now_ms, lease_ms);
        let mut open = kept
            .by_id
            .iter_mut()
            .filter(|(id, _)| after.is_none_or(|after| id.as_str() > after))
            .map(|(_, session)| session)
            .filter(|session| session.claimable_at_start(owner, now_ms));
        let sessions = open.by_ref().take(limit as usize).map(|session| session.claim(owner, ends_ms)).collect();
        let more = open.next().is_some();
        Ok(Claimed { sessions, more })
    }

    async fn claim(&self, session: &str, owner: &str, lease_ms: u64) -> Result<Option<StoredSession>, StoreError> {
        let mut kept = self.lock();
        let now_ms = self.clock.now_ms();
        let Some(found) = kept.by_id.get_mut(session) else {
            return Ok(None);
        };
        if let Some(holder) = found.held_by_another(owner, now_ms) {
            return Err(StoreError::Held { session: session.to_owned(), owner: holder.to_owned() });
        }
        Ok(Some(found.claim(owner, rules::lease_end(now_ms, lease_ms))))
    }

    async fn renew(&self, owner: &str, lease_ms: u64, sessions: &[(String, u64)]) -> Result<Vec<String>, StoreError> {
        let mut kept = self.lock();
        let ends_ms = rules::lease_end(self.clock.now_ms(), lease_ms);
        let mut lost = Vec::new();
        for (id, generation) in sessions {
            let Some(session) = kept.by_id.get_mut(id) else { continue };
            if session.generation != *generation {
                lost.push(id.clone());
                continue;
            }
            match session.lease.as_mut() {
                Some(lease) if lease.owner == owner => lease.ends_ms = ends_ms,
                Some(_) => lost.push(id.clone()),
                None => {}
            }
        }
        Ok(lost)
    }

    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self
            .lock()
            .by_id
            .get(session)
            .map(|found| SessionRecord { summary: found.summary.clone(), messages: found.messages.clone() }))
    }

    async fn audit(&self, session: &str, after_seq: Option<u64>, limit: u32) -> Result<Vec<AuditRecord>, StoreError> {
        let kept = self.lock();
        let Some(found) = kept.by_id.get(session) else { return Ok(Vec::new()) };
        let after = found.audit.iter().filter(|line| after_seq.is_none_or(|after| line.seq > after));
        Ok(after.take(limit as usize).cloned().collect())
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        let filter = Filter::parse(query)?;
        Ok(self.lock().page(&filter))
    }

    async fn list_due(&self, for_ms: u64, limit: u32) -> Result<DueSessions, StoreError> {
        let kept = self.lock();
        let now_ms = self.clock.now_ms();
        let Some(latest) = now_ms.checked_sub(for_ms) else {
            return Ok(DueSessions { now_ms, sessions: Vec::new() });
        };
        let mut due: Vec<(u64, &String)> = kept
            .by_id
            .iter()
            .filter(|(_, session)| session.summary.status == Status::Suspended)
            .filter_map(|(id, session)| session.summary.suspended_at_ms.map(|at| (at, id)))
            .filter(|(at, _)| *at <= latest)
            .collect();
        due.sort_unstable();
        let sessions = due.into_iter().take(limit as usize).map(|(_, id)| id.clone()).collect();
        Ok(DueSessions { now_ms, sessions })
    }

    async fn delete(&self, session: &str, generation: u64) -> Result<(), StoreError> {
        let mut kept = self.lock();
        let Some(found) = kept.by_id.get(session) else {
            return Ok(());
        };
        if generation < found.generation {
            return Err(StoreError::Fenced {
                session: session.to_owned(),
                stored: found.generation,
                offered: generation,
            });
        }
        let place = (Reverse(found.summary.updated_at_ms), session.to_owned());
        kept.newest.remove(&place);
        kept.by_id.remove(session);
        Ok(())
    }

    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
