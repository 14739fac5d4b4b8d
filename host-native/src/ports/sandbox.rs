//! The port behind which agents run their commands, so that a directory, a container or a micro-VM can serve.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

/// Why a sandbox did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// No room. The number is the most sessions it takes.
    #[error("All {0} places of the sandbox are taken.")]
    Capacity(u32),
    /// What was to be brought back is gone.
    #[error("The sandbox of session {0:?} is gone.")]
    Gone(String),
    /// The program could not be started.
    #[error("The command {program:?} could not be started: {reason}")]
    Spawn {
        /// The program's name.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// A path outside the sandbox, or not a plain file.
    #[error("The path {path:?} cannot be used: {reason}")]
    Path {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Anything else.
    #[error("The sandbox failed: {0}")]
    Failed(String),
}

/// A command to run in a sandbox. Nothing of the host's environment is inherited but a plain `PATH`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Program name or path.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment on top of the sandbox's own (`PATH`, `HOME`, `TMPDIR`, `LANG`).
    pub env: Vec<(String, String)>,
    /// Working directory; the sandbox's own where absent. Relative paths start there.
    pub cwd: Option<PathBuf>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Whether it ended with code zero.
    #[must_use]
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

/// What a finished command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// How it ended.
    pub exit: Exit,
    /// Standard output, at most the bound asked for.
    pub stdout: Vec<u8>,
    /// Standard error, at most the bound asked for.
    pub stderr: Vec<u8>,
    /// Whether something was cut off.
    pub truncated: bool,
}

/// Where a port of the sandbox is reached from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// Port number on that host.
    pub port: u16,
}

/// A running process. Dropping it kills it with every descendant.
#[async_trait]
pub trait Process: Send + Sync {
    /// Its standard input, once.
    fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>>;
    /// Its standard output, once.
    fn take_stdout(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>>;
    /// Its standard error, once.
    fn take_stderr(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>>;
    /// Its process id on the machine it runs on, while that is known.
    fn id(&self) -> Option<u32>;
    /// Waits for its end. May be called again.
    async fn wait(&mut self) -> Result<Exit, SandboxError>;
    /// Ends it and every descendant, those in sessions of their own too, and returns when all are gone.
    async fn kill(&mut self) -> Result<(), SandboxError>;
}

/// A place where one session's agent works.
#[async_trait]
pub trait Sandbox: Send + Sync + 'static {
    /// The working directory, absolute, inside the sandbox.
    fn working_directory(&self) -> &Path;
    /// Home directory, absolute, inside the sandbox; kept over a suspension.
    fn home(&self) -> &Path;
    /// The ports this session may listen on.
    fn ports(&self) -> &[u16];
    /// Starts a command with pipes for its three streams.
    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SandboxError>;
    /// Runs a command to its end, keeping at most `max_output` bytes of each stream.
    async fn run(&self, command: Command, max_output: usize) -> Result<CommandOutput, SandboxError>;
    /// Reads a file of at most `max_bytes`. Relative paths start at the working directory.
    async fn read_file(&self, path: &Path, max_bytes: usize) -> Result<Vec<u8>, SandboxError>;
    /// Writes a file whole, making its directories.
    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError>;
    /// Where the host reaches a port of the sandbox.
    async fn endpoint(&self, port: u16) -> Result<Endpoint, SandboxError>;
}

/// A sandbox held for a session. Exactly one of its two ends is called; dropping it kills what runs in it.
#[async_trait]
pub trait SandboxLease: Send + Sync {
    /// The sandbox.
    fn sandbox(&self) -> Arc<dyn Sandbox>;
    /// Gives the place back and keeps the files: the session may come back.
    async fn suspend(self: Box<Self>) -> Result<(), SandboxError>;
    /// Gives the place back and forgets the session's files where they are the session's alone.
    async fn close(self: Box<Self>) -> Result<(), SandboxError>;
}

/// A lease as the port gives it.
pub type Lease = Box<dyn SandboxLease>;

/// Gives sessions their sandboxes.
#[async_trait]
pub trait Sandboxes: Send + Sync + 'static {
    /// The most sessions at once; `None` where there is no such bound. Asked once, at the start.
    fn capacity(&self) -> Option<u32>;
    /// Opens a place for a session, or brings its old one back.
    async fn acquire(&self, session: &str, resume: bool) -> Result<Lease, SandboxError>;
    /// Forgets what a suspended session kept. Succeeds when there is nothing.
    async fn discard(&self, session: &str) -> Result<(), SandboxError>;
    /// Ends everything that still runs.
    async fn shutdown(&self) -> Result<(), SandboxError>;
}
