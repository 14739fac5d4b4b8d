//! How a manager is put together: the three ports, the options, the bounds.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::SessionManager;
use super::commands::{ApprovalRequest, Verdict};
use super::error::BuildError;
use crate::driver;
use crate::engine::types::Limits;
use crate::ports::{Agent, Sandboxes, Store};

/// The host's `approve` callback.
pub(crate) type Approver =
    Arc<dyn Fn(ApprovalRequest) -> Pin<Box<dyn Future<Output = Option<Verdict>> + Send>> + Send + Sync>;

type SetLimits = Box<dyn FnOnce(&mut Limits) + Send>;

/// Puts a [`SessionManager`] together. A store, sandboxes and an agent are needed; everything else has a default.
#[derive(Default)]
pub struct SessionManagerBuilder {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) sandboxes: Option<Arc<dyn Sandboxes>>,
    pub(crate) agent: Option<Arc<dyn Agent>>,
    pub(crate) approver: Option<Approver>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) turn_timeout: Option<Duration>,
    pub(crate) close_suspended_after: Option<Duration>,
    pub(crate) suspend_idle_when_full: Option<bool>,
    pub(crate) suspend_waiting_when_full: Option<bool>,
    pub(crate) limits: Option<SetLimits>,
    pub(crate) owner: Option<String>,
    pub(crate) engine_cache: Option<PathBuf>,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) fault_reports: Option<PathBuf>,
    pub(crate) ready_within: Option<Duration>,
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fault_on: Option<String>,
}

impl fmt::Debug for SessionManagerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionManagerBuilder").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl SessionManagerBuilder {
    /// Where sessions are kept. Needed.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Where agents work. Needed.
    #[must_use]
    pub fn sandboxes(mut self, sandboxes: Arc<dyn Sandboxes>) -> Self {
        self.sandboxes = Some(sandboxes);
        self
    }

    /// The coding agent. Needed.
    #[must_use]
    pub fn agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Asked about every call that waits for a yes or no, before a person is. `None` leaves it to a person, and so does
    /// a callback that panics or takes longer than `approve_timeout_ms`.
    #[must_use]
    pub fn approve<F, A>(mut self, approve: F) -> Self
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Option<Verdict>> + Send + 'static,
    {
        self.approver = Some(Arc::new(move |request| Box::pin(approve(request))));
        self
    }

    /// Suspend a session that was idle or waited for a person for this long. Never, by default.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Cut a turn short after this much busy time. Never, by default.
    #[must_use]
    pub fn turn_timeout(mut self, timeout: Duration) -> Self {
        self.turn_timeout = Some(timeout);
        self
    }

    /// Close a session that was suspended for this long on the store's clock. Never, by default.
    #[must_use]
    pub fn close_suspended_after(mut self, after: Duration) -> Self {
        self.close_suspended_after = Some(after);
        self
    }

    /// Whether the session idle the longest is suspended when every sandbox is taken. Yes, by default.
    #[must_use]
    pub fn suspend_idle_when_full(mut self, suspend: bool) -> Self {
        self.suspend_idle_when_full = Some(suspend);
        self
    }

    /// Whether sessions that wait for a person are suspended too when every sandbox is taken. No, by default.
    #[must_use]
    pub fn suspend_waiting_when_full(mut self, suspend: bool) -> Self {
        self.suspend_waiting_when_full = Some(suspend);
        self
    }

    /// Changes bounds and deadlines; the defaults are given.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut Limits) + Send + 'static) -> Self {
        self.limits = Some(Box::new(change));
        self
    }

    /// This host's name in the store: the same after a restart, another for every host that shares the store.
    /// `tackroom`, by default.
    #[must_use]
    pub fn owner(mut self, name: impl Into<String>) -> Self {
        self.owner = Some(name.into());
        self
    }

    /// The directory that the engine's machine code is kept in; made private to the user. The user's cache directory,
    /// by default.
    #[must_use]
    pub fn engine_cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.engine_cache = Some(directory.into());
        self
    }

    /// A file that every input of the engine is appended to, one JSON text a line, resume states left out. None, by
    /// default. It holds what users and agents say.
    #[must_use]
    pub fn journal(mut self, file: impl Into<PathBuf>) -> Self {
        self.journal = Some(file.into());
        self
    }

    /// A directory for a report of each broken invariant: the input that met it, prompts and resume states left out.
    /// None, by default.
    #[must_use]
    pub fn fault_reports(mut self, directory: impl Into<PathBuf>) -> Self {
        self.fault_reports = Some(directory.into());
        self
    }

    /// How long [`build`](Self::build) waits until sessions that a crash left are recovered. 10 s, by default; the
    /// manager is given then all the same, and calls are `unavailable` until it is ready.
    #[must_use]
    pub fn ready_within(mut self, wait: Duration) -> Self {
        self.ready_within = Some(wait);
        self
    }

    /// Lets the engine break down at the first message to this session, once: for tests of what follows.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn fault_on(mut self, session: impl Into<String>) -> Self {
        self.fault_on = Some(session.into());
        self
    }

    /// Starts the host and recovers what a crash left. Needs a tokio runtime, which it goes on running in.
    ///
    /// # Errors
    /// See [`BuildError`]. A store that cannot be reached is none: the manager is not ready until it can.
    pub async fn build(self) -> Result<SessionManager, BuildError> {
        driver::start(self).await
    }
}
