//! A store in memory, just faithful enough that the engine finds again what it wrote.

use std::collections::BTreeMap;

use tackroom_core::{
    effect::{ResumeChange, Save},
    input::{ClaimedPage, FailureKind},
    record::{Status, StoredMessage, StoredSession, Summary},
};

/// One session as it is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    generation: u64,
    revision: u64,
    write_id: String,
    summary: Summary,
    engine_state: String,
    messages: BTreeMap<u32, StoredMessage>,
    tail_from: u32,
    resume: Option<String>,
    owner: Option<String>,
}

/// Sessions as they are kept.
#[derive(Debug, Clone, Default)]
pub struct PlayStore {
    sessions: BTreeMap<String, Kept>,
}

impl PlayStore {
    /// Writes, or says why not.
    ///
    /// # Errors
    /// `Exists` for a first write of a known id, `Fenced` for a lower generation, `Stale` for a revision that is not
    /// the next.
    pub fn save(&mut self, session: &str, save: &Save) -> Result<(), FailureKind> {
        let kept = self.sessions.get(session);
        if let Some(kept) = kept {
            if kept.write_id == save.write_id {
                return Ok(());
            }
            if save.revision == 1 {
                return Err(FailureKind::Exists);
            }
            if save.generation < kept.generation {
                return Err(FailureKind::Fenced);
            }
            if save.revision != kept.revision + 1 {
                return Err(FailureKind::Stale);
            }
        } else if save.revision != 1 {
            return Err(FailureKind::Stale);
        }
        let (mut messages, resume) = kept.map_or_else(Default::default, |k| (k.messages.clone(), k.resume.clone()));
        messages.extend(save.messages.iter().map(|message| (message.index, message.clone())));
        let kept = Kept {
            generation: save.generation,
            revision: save.revision,
            write_id: save.write_id.clone(),
            summary: save.summary.clone(),
            engine_state: save.engine_state.clone(),
            messages,
            tail_from: save.tail_from,
            resume: match &save.resume {
                ResumeChange::Keep => resume,
                ResumeChange::Replace(state) => Some(state.clone()),
                ResumeChange::Drop => None,
            },
            owner: save.owner.clone(),
        };
        self.sessions.insert(session.to_owned(), kept);
        Ok(())
    }

    /// Claims a session for an owner: what it holds, the generation raised.
    pub fn claim(&mut self, session: &str, owner: &str) -> Option<StoredSession> {
        let kept = self.sessions.get_mut(session)?;
        kept.generation += 1;
        kept.owner = Some(owner.to_owned());
        Some(kept.stored())
    }

    /// Claims a page of those recorded live, in the order of ids, behind the last one of the page before.
    pub fn claim_live(&mut self, owner: &str, after: Option<&str>, limit: u32) -> ClaimedPage {
        let behind = |id: &str| after.is_none_or(|after| id > after);
        let live = self.sessions.iter().filter(|(id, kept)| kept.owner.is_some() && behind(id));
        let live: Vec<String> = live.map(|(id, _)| id.clone()).collect();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = live.len() > limit;
        ClaimedPage { sessions: live.iter().take(limit).filter_map(|id| self.claim(id, owner)).collect(), more }
    }

    /// Ids of suspended sessions.
    #[must_use]
    pub fn suspended(&self, limit: u32) -> Vec<String> {
        let suspended = self.sessions.iter().filter(|(_, kept)| kept.summary.status == Status::Suspended);
        suspended.map(|(id, _)| id.clone()).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
    }

    /// Forgets a session.
    pub fn delete(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    /// Another host takes the session: the next write here is fenced.
    pub fn steal(&mut self, session: &str) {
        if let Some(kept) = self.sessions.get_mut(session) {
            kept.generation += 1;
            kept.owner = Some("another-host".into());
        }
    }

    /// A session as it was written last.
    #[must_use]
    pub fn summary(&self, session: &str) -> Option<Summary> {
        self.sessions.get(session).map(|kept| kept.summary.clone())
    }

    /// Whether a session is kept.
    #[must_use]
    pub fn holds(&self, session: &str) -> bool {
        self.sessions.contains_key(session)
    }
}

impl Kept {
    fn stored(&self) -> StoredSession {
        StoredSession {
            generation: self.generation,
            revision: self.revision,
            summary: self.summary.clone(),
            engine_state: self.engine_state.clone(),
            tail: self.messages.range(self.tail_from..).map(|(_, message)| message.clone()).collect(),
            resume: self.resume.clone(),
        }
    }
}
