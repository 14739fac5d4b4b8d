//! The port behind which sessions are kept, so that any database can keep them.

use async_trait::async_trait;

use super::record::{AuditRecord, MessageRecord, SessionRecord, SessionSummary, Status};
use super::secret::ResumeState;

/// Who holds a session once a write is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// Held by `owner` for `lease_ms` from now on the store's clock (a live session).
    Held {
        /// The host's name.
        owner: String,
        /// Milliseconds until another host may claim it.
        lease_ms: u64,
    },
    /// Held by nobody (suspended, failed, closed, interrupted).
    Released,
}

/// What a write does to the resume state kept beside the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumeChange {
    /// Leave it as it is.
    Keep,
    /// Put this in its place.
    Replace(ResumeState),
    /// Forget it.
    Drop,
}

/// One write of one session: everything in it is kept, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// Names this write; the same id again, as the last write of the session, succeeds and changes nothing.
    pub write_id: String,
    /// The generation the writer holds. Lower than the stored one: [`StoreError::Fenced`].
    pub generation: u64,
    /// The revision this write makes; the stored one must be one less (a new session is at zero): [`StoreError::Stale`].
    pub revision: u64,
    /// The session as it stands after the write.
    pub summary: SessionSummary,
    /// The engine's own notes on the session, JSON text; opaque, not secret, never shown.
    pub engine_state: String,
    /// Messages to append or to put in the place of those with the same index, in order: one that would leave a gap is
    /// [`StoreError::Invalid`].
    pub messages: Vec<MessageRecord>,
    /// Index of the first message that [`Store::claim`] has to give back.
    pub tail_from: u32,
    /// Lines to append to the session's audit log, in order. One whose `seq` is kept already is left out.
    pub audit: Vec<AuditRecord>,
    /// The resume state.
    pub resume: ResumeChange,
    /// Who holds the session afterwards.
    pub ownership: Ownership,
}

/// A session as its next owner gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// The generation, already raised where it was claimed.
    pub generation: u64,
    /// The revision of the last write.
    pub revision: u64,
    /// The session.
    pub summary: SessionSummary,
    /// The engine's own notes, as saved.
    pub engine_state: String,
    /// The messages from the saved `tail_from` on.
    pub tail: Vec<MessageRecord>,
    /// The resume state, if one is kept.
    pub resume: Option<ResumeState>,
}

/// One page of claimed sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The sessions, each now of a raised generation.
    pub sessions: Vec<StoredSession>,
    /// Whether more are to be claimed.
    pub more: bool,
}

/// Which sessions to list. Newest `updated_at_ms` first, then by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only these statuses; all where empty.
    pub statuses: Vec<Status>,
    /// Only sessions whose metadata has, at its top level, each of these keys with this value (JSON text): a string, a
    /// number, a boolean or null. Numbers are equal by value. At most 16.
    pub metadata: Vec<(String, String)>,
    /// At most this many, 1 to 500.
    pub limit: u32,
    /// Where the page before ended, as it said.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The sessions of this page.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page starts; none at the end.
    pub next: Option<String>,
}

/// Sessions suspended long ago.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueSessions {
    /// The store's clock, milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Ids, the longest suspended first.
    pub sessions: Vec<String>,
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A session of this id is already kept (revision one was written over another).
    #[error("A session named {0:?} is already kept.")]
    Exists(String),
    /// Another writer was first.
    #[error("Session {session:?} is at revision {stored}, so revision {offered} cannot follow it.")]
    Stale {
        /// The session.
        session: String,
        /// What the store holds.
        stored: u64,
        /// What the write offered.
        offered: u64,
    },
    /// Another host claimed the session.
    #[error("Session {session:?} is now held at generation {stored}; this host holds {offered}.")]
    Fenced {
        /// The session.
        session: String,
        /// What the store holds.
        stored: u64,
        /// What the write offered.
        offered: u64,
    },
    /// Another host holds it and its lease has not run out.
    #[error("Session {session:?} is held by host {owner:?}.")]
    Held {
        /// The session.
        session: String,
        /// Who holds it.
        owner: String,
    },
    /// A cursor or a filter that cannot be read, or a write that no store could keep.
    #[error("{0}")]
    Invalid(String),
    /// The store cannot do it now; trying again may help. Nothing was half-written.
    #[error("The store cannot be reached: {0}")]
    Unavailable(String),
    /// The store cannot do it until somebody mends it (full disk, read-only, corrupt). Nothing was half-written.
    #[error("The store is damaged or full: {0}")]
    Broken(String),
}

/// Where sessions are kept.
///
/// Every call is whole or without effect. Calls may run side by side; those of one session come one at a time.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes one session. See [`Save`] for the checks, made in this order: last write id repeated (succeeds), fenced,
    /// exists, stale.
    async fn save(&self, save: Save) -> Result<(), StoreError>;

    /// Claims up to `limit` sessions recorded live whose owner is `owner` or whose lease has run out, raising each
    /// generation. They come in the order of their ids, those after `after` alone: the last id of one page asks for the
    /// next, so that a page never claims again what the page before gave.
    async fn claim_live(
        &self,
        owner: &str,
        lease_ms: u64,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Claimed, StoreError>;

    /// Loads one session and claims it, raising its generation. `None` when there is no such session;
    /// [`StoreError::Held`] while the lease of another host has not run out.
    async fn claim(&self, session: &str, owner: &str, lease_ms: u64) -> Result<Option<StoredSession>, StoreError>;

    /// Extends the leases of these sessions, given with their generations. Answers with those held by another now;
    /// one that is held by nobody, or is not kept, is left as it is and not named.
    async fn renew(&self, owner: &str, lease_ms: u64, sessions: &[(String, u64)]) -> Result<Vec<String>, StoreError>;

    /// Reads one session with its messages, claiming nothing.
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// Reads a session's audit log, oldest first: at most `limit` lines whose `seq` is above `after_seq`. None where
    /// there is no such session.
    async fn audit(&self, session: &str, after_seq: Option<u64>, limit: u32) -> Result<Vec<AuditRecord>, StoreError>;

    /// Reads one page of sessions.
    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError>;

    /// Reads the sessions suspended at least `for_ms` ago on the store's clock, at most `limit`.
    async fn list_due(&self, for_ms: u64, limit: u32) -> Result<DueSessions, StoreError>;

    /// Forgets a session that the caller holds at `generation`. Succeeds when there is none.
    async fn delete(&self, session: &str, generation: u64) -> Result<(), StoreError>;

    /// Whether the store can be read and written now.
    async fn ready(&self) -> Result<(), StoreError>;
}
