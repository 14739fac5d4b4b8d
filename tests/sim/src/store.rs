//! A store in memory that commits and loses the answer, refuses for a while, and is taken over by another host.

use std::collections::{BTreeMap, BTreeSet};

use tackroom_core::effect::{ResumeChange, Save};
use tackroom_core::input::{ClaimedPage, Failure, FailureKind, Outcome};
use tackroom_core::record::{AuditEntry, StoredMessage, StoredSession};

/// One session as it is kept.
#[derive(Debug, Clone)]
pub struct Row {
    /// Everything but the messages.
    pub session: StoredSession,
    /// The messages by their place.
    pub messages: BTreeMap<u32, StoredMessage>,
    /// The audit log.
    pub audit: Vec<AuditEntry>,
    tail_from: u32,
    last_write: String,
}

/// The store of a world: it outlives its hosts.
#[derive(Debug, Default)]
pub struct Store {
    /// The sessions by id.
    pub rows: BTreeMap<String, Row>,
    /// Sessions that another host has claimed since this one last did.
    pub taken: BTreeSet<String>,
}

fn failed(kind: FailureKind) -> Outcome {
    Outcome::Failed(Failure { kind, message: format!("the store says {kind:?}") })
}

impl Store {
    /// Writes one session, with the checks that every store makes.
    pub fn save(&mut self, save: &Save) -> Outcome {
        let id = &save.summary.id;
        let row = self.rows.get(id);
        if row.is_some_and(|row| row.last_write == save.write_id) {
            return Outcome::Done;
        }
        if row.is_some_and(|row| row.session.generation > save.generation) {
            return failed(FailureKind::Fenced);
        }
        let at = row.map_or(0, |row| row.session.revision);
        if at > 0 && save.revision == 1 {
            return failed(FailureKind::Exists);
        }
        if at + 1 != save.revision {
            return failed(FailureKind::Stale);
        }
        let old = self.rows.remove(id);
        let (mut messages, mut audit, kept) = old
            .map_or_else(|| (BTreeMap::new(), Vec::new(), None), |row| (row.messages, row.audit, row.session.resume));
        for message in &save.messages {
            messages.insert(message.index, message.clone());
        }
        audit.extend(save.audit.iter().cloned());
        let resume = match &save.resume {
            ResumeChange::Keep => kept,
            ResumeChange::Replace(resume) => Some(resume.clone()),
            ResumeChange::Drop => None,
        };
        let session = StoredSession {
            generation: save.generation,
            revision: save.revision,
            summary: save.summary.clone(),
            engine_state: save.engine_state.clone(),
            tail: Vec::new(),
            resume,
        };
        let row = Row { session, messages, audit, tail_from: save.tail_from, last_write: save.write_id.clone() };
        self.rows.insert(id.clone(), row);
        Outcome::Done
    }

    /// Loads a session and claims it.
    pub fn load(&mut self, id: &str) -> Outcome {
        self.taken.remove(id);
        Outcome::Loaded(self.rows.get_mut(id).map(claim))
    }

    /// Claims the sessions recorded live.
    pub fn claim_live(&mut self, after: Option<&str>, limit: u32) -> Outcome {
        let wanted = |row: &&mut Row| {
            let summary = &row.session.summary;
            summary.status.is_live() && after.is_none_or(|after| summary.id.as_str() > after)
        };
        let live: Vec<&mut Row> = self.rows.values_mut().filter(wanted).collect();
        let more = live.len() > limit as usize;
        let sessions: Vec<StoredSession> = live.into_iter().take(limit as usize).map(claim).collect();
        for session in &sessions {
            self.taken.remove(&session.summary.id);
        }
        Outcome::Claimed(ClaimedPage { sessions, more })
    }

    /// Another host claims the session: the generation rises under the host's feet.
    pub fn take_over(&mut self, id: &str) {
        if let Some(row) = self.rows.get_mut(id) {
            row.session.generation += 1;
            self.taken.insert(id.into());
        }
    }
}

fn claim(row: &mut Row) -> StoredSession {
    row.session.generation += 1;
    let tail = row.messages.values().filter(|message| message.index >= row.tail_from).cloned().collect();
    StoredSession { tail, ..row.session.clone() }
}
