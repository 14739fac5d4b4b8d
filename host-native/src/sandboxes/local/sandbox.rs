//! One session's place: runs its commands, keeps account of them, and gives the place back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

use super::files::Reach;
use super::process::{KILL_DEADLINE, LocalProcess, Running, lock};
use super::{Inner, Place, blocking, failed, remove_tree};
use crate::ports::{Command, CommandOutput, Endpoint, Process, Sandbox, SandboxError, SandboxLease};

/// The processes of one session.
pub(super) struct Group {
    members: Mutex<Members>,
    /// How many there are, those that are being started included.
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Members {
    /// Set when the lease is over: what starts afterwards is ended at once.
    over: bool,
    next: u64,
    running: HashMap<u64, Option<Arc<Running>>>,
}

impl Group {
    pub(super) fn new() -> Self {
        Self { members: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// A number for a process that is about to start; none when the lease is over.
    fn enter(&self) -> Option<u64> {
        let mut members = lock(&self.members);
        if members.over {
            return None;
        }
        members.next += 1;
        let number = members.next;
        members.running.insert(number, None);
        self.count.send_replace(members.running.len());
        Some(number)
    }

    /// Puts a started process under its number, unless it has ended by now.
    fn started(&self, number: u64, running: &Arc<Running>) {
        let mut members = lock(&self.members);
        let over = members.over;
        if let Some(member) = members.running.get_mut(&number) {
            *member = Some(Arc::clone(running));
        }
        if over {
            running.end();
        }
    }

    fn left(&self, number: u64) {
        let mut members = lock(&self.members);
        members.running.remove(&number);
        self.count.send_replace(members.running.len());
    }

    /// Has every process end, and none start, without waiting.
    pub(super) fn end(&self) {
        let mut members = lock(&self.members);
        members.over = true;
        members.running.values().flatten().for_each(|running| running.end());
    }

    /// Ends every process and waits until all are gone.
    pub(super) async fn kill(&self) -> Result<(), SandboxError> {
        self.end();
        let mut count = self.count.subscribe();
        let gone = count.wait_for(|count| *count == 0);
        match tokio::time::timeout(KILL_DEADLINE, gone).await {
            Ok(_) => Ok(()),
            Err(_) => Err(SandboxError::Failed(format!(
                "Processes of a session were killed but are still there after {} seconds.",
                KILL_DEADLINE.as_secs()
            ))),
        }
    }
}

pub(super) struct LocalLease {
    sandbox: Arc<LocalSandbox>,
    place: Place,
}

impl LocalLease {
    pub(super) fn new(place: Place) -> Self {
        let inner = &place.inner;
        let directory = inner.sessions.join(&place.session);
        let working_directory = directory.join("work");
        let base = if inner.shared { inner.sessions.clone() } else { directory.clone() };
        let sandbox = LocalSandbox {
            session: place.session.clone(),
            home: directory.join("home"),
            tmp: directory.join("tmp"),
            reach: Reach { base, working_directory },
            ports: place.port.into_iter().collect(),
            group: Arc::clone(&place.group),
            inner: Arc::clone(inner),
        };
        Self { sandbox: Arc::new(sandbox), place }
    }
}

impl Drop for LocalLease {
    fn drop(&mut self) {
        self.place.group.end();
    }
}

#[async_trait]
impl SandboxLease for LocalLease {
    fn sandbox(&self) -> Arc<dyn Sandbox> {
        Arc::clone(&self.sandbox) as _
    }

    async fn suspend(self: Box<Self>) -> Result<(), SandboxError> {
        self.place.group.kill().await
    }

    async fn close(self: Box<Self>) -> Result<(), SandboxError> {
        self.place.group.kill().await?;
        let directory = self.place.inner.sessions.join(&self.place.session);
        blocking(move || remove_tree(&directory).map_err(|error| failed(&directory, &error))).await
    }
}

struct LocalSandbox {
    session: String,
    home: PathBuf,
    tmp: PathBuf,
    reach: Reach,
    ports: Vec<u16>,
    group: Arc<Group>,
    inner: Arc<Inner>,
}

impl LocalSandbox {
    fn prepare(&self, command: &Command) -> Result<std::process::Command, SandboxError> {
        let cwd = command
            .cwd
            .as_ref()
            .map_or_else(|| self.reach.working_directory.clone(), |cwd| self.reach.working_directory.join(cwd));
        if !cwd.is_dir() {
            // The system would say of the program that it does not exist.
            return Err(spawn_error(command, format!("its working directory {} does not exist", cwd.display())));
        }
        let mut prepared = std::process::Command::new(&command.program);
        prepared.args(&command.args).current_dir(cwd).env_clear();
        prepared.env("PATH", &self.inner.path).env("LANG", &self.inner.lang);
        prepared.env("HOME", &self.home).env("TMPDIR", &self.tmp);
        prepared.envs(command.env.iter().map(|(name, value)| (name, value)));
        prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(prepared)
    }

    async fn start(&self, command: Command) -> Result<LocalProcess, SandboxError> {
        let prepared = self.prepare(&command)?;
        let number = self.group.enter().ok_or_else(|| SandboxError::Gone(self.session.clone()))?;
        let ended = Leaving { group: Arc::downgrade(&self.group), number };
        let process = self.inner.spawner.spawn(prepared, move || drop(ended)).await;
        let process = process.map_err(|error| spawn_error(&command, error.to_string()))?;
        self.group.started(number, process.running());
        Ok(process)
    }
}

/// Takes a process off its group's account when it has ended or did not start.
struct Leaving {
    group: Weak<Group>,
    number: u64,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(group) = self.group.upgrade() {
            group.left(self.number);
        }
    }
}

#[async_trait]
impl Sandbox for LocalSandbox {
    fn working_directory(&self) -> &Path {
        &self.reach.working_directory
    }

    fn home(&self) -> &Path {
        &self.home
    }

    fn ports(&self) -> &[u16] {
        &self.ports
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SandboxError> {
        Ok(Box::new(self.start(command).await?))
    }

    async fn run(&self, command: Command, max_output: usize) -> Result<CommandOutput, SandboxError> {
        let mut process = self.start(command).await?;
        drop(process.take_stdin());
        let (out, err) = (process.take_stdout(), process.take_stderr());
        let (out, err) = tokio::join!(read_bounded(out, max_output), read_bounded(err, max_output));
        let ((stdout, out_cut), (stderr, err_cut)) = (out?, err?);
        let exit = process.wait().await?;
        Ok(CommandOutput { exit, stdout, stderr, truncated: out_cut || err_cut })
    }

    async fn read_file(&self, path: &Path, max_bytes: usize) -> Result<Vec<u8>, SandboxError> {
        let (reach, path) = (self.reach.clone(), path.to_owned());
        blocking(move || reach.read(&path, max_bytes)).await
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        let (reach, path, content) = (self.reach.clone(), path.to_owned(), content.to_owned());
        blocking(move || reach.write(&path, &content)).await
    }

    async fn endpoint(&self, port: u16) -> Result<Endpoint, SandboxError> {
        if self.ports.contains(&port) {
            return Ok(Endpoint { host: "127.0.0.1".to_owned(), port });
        }
        let words = format!("Port {port} is not one of session {:?}, which has {:?}.", self.session, self.ports);
        Err(SandboxError::Failed(words))
    }
}

/// Reads to the end, keeps the first `limit` bytes, and says whether there were more: a command is never held up by
/// output that nobody keeps.
async fn read_bounded(
    stream: Option<Box<dyn AsyncRead + Send + Unpin>>,
    limit: usize,
) -> Result<(Vec<u8>, bool), SandboxError> {
    let Some(mut stream) = stream else { return Ok((Vec::new(), false)) };
    let (mut kept, mut cut) = (Vec::new(), false);
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = stream.read(&mut buffer).await;
        let read = read.map_err(|error| SandboxError::Failed(format!("Its output cannot be read: {error}")))?;
        if read == 0 {
            return Ok((kept, cut));
        }
        let keep = read.min(limit - kept.len());
        kept.extend_from_slice(&buffer[..keep]);
        cut |= keep < read;
    }
}

fn spawn_error(command: &Command, reason: String) -> SandboxError {
    SandboxError::Spawn { program: command.program.clone(), reason }
}
