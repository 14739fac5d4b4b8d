//! Sandboxes in memory that fail when they are told to, so that applications can test what they do then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::fake_process::FakeProcess;
use super::orders::{Orders, lock};
use crate::ports::{Command, CommandOutput, Endpoint, Lease, Process, Sandbox, SandboxError, SandboxLease, Sandboxes};

/// One operation of the sandbox port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxOp {
    /// [`Sandboxes::acquire`].
    Acquire,
    /// [`SandboxLease::suspend`].
    Suspend,
    /// [`SandboxLease::close`].
    Close,
    /// [`Sandboxes::discard`].
    Discard,
    /// [`Sandboxes::shutdown`].
    Shutdown,
    /// [`Sandbox::spawn`] and [`Sandbox::run`].
    Spawn,
    /// [`Sandbox::read_file`].
    ReadFile,
    /// [`Sandbox::write_file`].
    WriteFile,
}

/// What a fake command does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FakeRun {
    /// What it prints.
    pub stdout: Vec<u8>,
    /// What it prints to standard error.
    pub stderr: Vec<u8>,
    /// Its exit code; without one it runs until it is killed.
    pub code: Option<i32>,
}

impl FakeRun {
    /// Prints this and ends with success.
    #[must_use]
    pub fn prints(text: impl Into<Vec<u8>>) -> Self {
        Self { stdout: text.into(), code: Some(0), ..Self::default() }
    }

    /// Runs until it is killed.
    #[must_use]
    pub fn until_killed() -> Self {
        Self::default()
    }
}

type Commands = dyn Fn(&Command) -> FakeRun + Send + Sync;

/// Sandboxes in memory. Clones share everything.
///
/// Files are kept per session over a suspension. Commands are played by the function given to
/// [`commands`](Self::commands); without one they print nothing and succeed. Each call first counts, then waits for its
/// delay, then while its operation hangs, and then takes the oldest fault ordered for it.
///
/// ```
/// # use tackroom::ports::{SandboxError, Sandboxes};
/// # use tackroom::testing::{FakeSandboxes, SandboxOp};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let sandboxes = FakeSandboxes::with_capacity(1);
/// sandboxes.fail_next(SandboxOp::Acquire, 1, &SandboxError::Failed("no disk".into()));
/// assert!(sandboxes.acquire("a", false).await.is_err());
///
/// let lease = sandboxes.acquire("a", false).await.unwrap();
/// assert_eq!(sandboxes.acquire("b", false).await.err(), Some(SandboxError::Capacity(1)));
/// lease.suspend().await.unwrap();
/// assert!(sandboxes.held().is_empty());
/// # }
/// ```
#[derive(Clone)]
pub struct FakeSandboxes {
    shared: Arc<Shared>,
}

struct Shared {
    declared: Option<u32>,
    orders: Orders<SandboxOp, SandboxError>,
    state: Mutex<State>,
    commands: Mutex<Arc<Commands>>,
}

#[derive(Default)]
struct State {
    /// The real capacity, where it is not the declared one.
    really: Option<u32>,
    held: BTreeSet<String>,
    files: BTreeMap<String, BTreeMap<PathBuf, Vec<u8>>>,
}

impl FakeSandboxes {
    /// Sandboxes without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::declaring(None)
    }

    /// Sandboxes for at most `capacity` sessions at once.
    #[must_use]
    pub fn with_capacity(capacity: u32) -> Self {
        Self::declaring(Some(capacity))
    }

    fn declaring(declared: Option<u32>) -> Self {
        let succeed = |_: &Command| FakeRun { code: Some(0), ..FakeRun::default() };
        let commands: Arc<Commands> = Arc::new(succeed);
        let (orders, state, commands) = (Orders::new(), Mutex::default(), Mutex::new(commands));
        Self { shared: Arc::new(Shared { declared, orders, state, commands }) }
    }

    /// Takes only `capacity` sessions from now on, whatever was declared: a backend that lies.
    pub fn really_holds(&self, capacity: u32) {
        lock(&self.shared.state).really = Some(capacity);
    }

    /// Plays commands by this function.
    pub fn commands(&self, play: impl Fn(&Command) -> FakeRun + Send + Sync + 'static) {
        *lock(&self.shared.commands) = Arc::new(play);
    }

    /// Lets the next `times` calls of `op` fail, changing nothing. A lease whose end fails is given back all the same.
    pub fn fail_next(&self, op: SandboxOp, times: usize, error: &SandboxError) {
        self.shared.orders.fail_next(op, times, error);
    }

    /// Lets each call of `op` take this long from now on.
    pub fn delay(&self, op: SandboxOp, delay: Duration) {
        self.shared.orders.delay(op, delay);
    }

    /// Lets calls of `op` hang until [`release`](Self::release).
    pub fn hang(&self, op: SandboxOp) {
        self.shared.orders.hang(op, true);
    }

    /// Lets calls of `op` go on that hang, and later ones through.
    pub fn release(&self, op: SandboxOp) {
        self.shared.orders.hang(op, false);
    }

    /// How often `op` was called.
    #[must_use]
    pub fn calls(&self, op: SandboxOp) -> u64 {
        self.shared.orders.calls(op)
    }

    /// The sessions that hold a lease, sorted.
    #[must_use]
    pub fn held(&self) -> Vec<String> {
        lock(&self.shared.state).held.iter().cloned().collect()
    }

    /// The sessions of which files are kept, sorted.
    #[must_use]
    pub fn kept(&self) -> Vec<String> {
        lock(&self.shared.state).files.keys().cloned().collect()
    }
}

impl Default for FakeSandboxes {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Sandboxes for FakeSandboxes {
    fn capacity(&self) -> Option<u32> {
        self.shared.declared
    }

    async fn acquire(&self, session: &str, resume: bool) -> Result<Lease, SandboxError> {
        self.shared.orders.pass(SandboxOp::Acquire).await?;
        let mut state = lock(&self.shared.state);
        if state.held.contains(session) {
            return Err(SandboxError::Failed(format!("The sandbox of session {session:?} is already open.")));
        }
        if let Some(capacity) = state.really.or(self.shared.declared)
            && state.held.len() >= usize::try_from(capacity).unwrap_or(usize::MAX)
        {
            return Err(SandboxError::Capacity(capacity));
        }
        if resume && !state.files.contains_key(session) {
            return Err(SandboxError::Gone(session.to_owned()));
        }
        if !resume {
            state.files.insert(session.to_owned(), BTreeMap::new());
        }
        state.held.insert(session.to_owned());
        let base = PathBuf::from("/fake").join(session);
        let sandbox = FakeSandbox {
            session: session.to_owned(),
            work: base.join("work"),
            home: base.join("home"),
            shared: Arc::clone(&self.shared),
            over: watch::Sender::new(false),
        };
        Ok(Box::new(FakeLease(Arc::new(sandbox))))
    }

    async fn discard(&self, session: &str) -> Result<(), SandboxError> {
        self.shared.orders.pass(SandboxOp::Discard).await?;
        lock(&self.shared.state).files.remove(session);
        Ok(())
    }

    async fn shutdown(&self) -> Result<(), SandboxError> {
        self.shared.orders.pass(SandboxOp::Shutdown).await
    }
}

struct FakeLease(Arc<FakeSandbox>);

impl Drop for FakeLease {
    fn drop(&mut self) {
        self.0.over.send_replace(true);
        lock(&self.0.shared.state).held.remove(&self.0.session);
    }
}

#[async_trait]
impl SandboxLease for FakeLease {
    fn sandbox(&self) -> Arc<dyn Sandbox> {
        Arc::clone(&self.0) as _
    }

    async fn suspend(self: Box<Self>) -> Result<(), SandboxError> {
        self.0.shared.orders.pass(SandboxOp::Suspend).await
    }

    async fn close(self: Box<Self>) -> Result<(), SandboxError> {
        self.0.shared.orders.pass(SandboxOp::Close).await?;
        lock(&self.0.shared.state).files.remove(&self.0.session);
        Ok(())
    }
}

struct FakeSandbox {
    session: String,
    work: PathBuf,
    home: PathBuf,
    shared: Arc<Shared>,
    over: watch::Sender<bool>,
}

impl FakeSandbox {
    async fn start(&self, command: &Command) -> Result<FakeRun, SandboxError> {
        self.shared.orders.pass(SandboxOp::Spawn).await?;
        if *self.over.borrow() {
            return Err(SandboxError::Gone(self.session.clone()));
        }
        let play = Arc::clone(&lock(&self.shared.commands));
        Ok(play(command))
    }
}

#[async_trait]
impl Sandbox for FakeSandbox {
    fn working_directory(&self) -> &Path {
        &self.work
    }

    fn home(&self) -> &Path {
        &self.home
    }

    fn ports(&self) -> &[u16] {
        &[]
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SandboxError> {
        let run = self.start(&command).await?;
        Ok(Box::new(FakeProcess::new(run, self.over.subscribe())))
    }

    async fn run(&self, command: Command, max_output: usize) -> Result<CommandOutput, SandboxError> {
        let mut run = self.start(&command).await?;
        let exit = FakeProcess::new(run.clone(), self.over.subscribe()).wait().await?;
        let truncated = run.stdout.len() > max_output || run.stderr.len() > max_output;
        run.stdout.truncate(max_output);
        run.stderr.truncate(max_output);
        Ok(CommandOutput { exit, stdout: run.stdout, stderr: run.stderr, truncated })
    }

    async fn read_file(&self, path: &Path, max_bytes: usize) -> Result<Vec<u8>, SandboxError> {
        self.shared.orders.pass(SandboxOp::ReadFile).await?;
        let state = lock(&self.shared.state);
        let file = state.files.get(&self.session).and_then(|files| files.get(&self.work.join(path)));
        let refused = |reason: &str| SandboxError::Path { path: path.display().to_string(), reason: reason.to_owned() };
        let file = file.ok_or_else(|| refused("it does not exist"))?;
        if file.len() > max_bytes { Err(refused("it is too large")) } else { Ok(file.clone()) }
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        self.shared.orders.pass(SandboxOp::WriteFile).await?;
        let mut state = lock(&self.shared.state);
        let files = state.files.get_mut(&self.session).ok_or_else(|| SandboxError::Gone(self.session.clone()))?;
        files.insert(self.work.join(path), content.to_owned());
        Ok(())
    }

    async fn endpoint(&self, port: u16) -> Result<Endpoint, SandboxError> {
        Ok(Endpoint { host: "127.0.0.1".to_owned(), port })
    }
}
