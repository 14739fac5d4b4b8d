//! Starts guarded processes and follows each to its end, so that one is gone as soon as nobody holds it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::guard::{self, Guard};
use super::isolation::Isolation;
use super::leftovers::Records;
use crate::ports::{Exit, Process, SandboxError};

/// How long the system may take to end what was killed. Reached only by processes stuck in the kernel.
pub(super) const KILL_DEADLINE: Duration = Duration::from_secs(10);

/// Starts processes from one thread that lives as long as they do: a guard is told of the death of the thread that
/// started it, and the runtime's own threads come and go.
pub(super) struct Spawner {
    requests: std::sync::mpsc::Sender<Request>,
    isolation: Isolation,
}

struct Request {
    command: std::process::Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<(Child, Option<Record>)>>,
}

/// A record of a running process, taken away with it.
struct Record(Arc<Records>, u32);

impl Drop for Record {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

impl Spawner {
    pub(super) fn start(isolation: Isolation, records: Records) -> io::Result<Self> {
        let (requests, incoming) = std::sync::mpsc::channel::<Request>();
        let records = Arc::new(records);
        thread::Builder::new().name("tackroom-spawn".to_owned()).spawn(move || {
            while let Ok(Request { command, runtime, reply }) = incoming.recv() {
                let _inside = runtime.enter();
                let started = tokio::process::Command::from(command).spawn().map(|child| {
                    let record = child.id().map(|id| {
                        records.add(id);
                        Record(Arc::clone(&records), id)
                    });
                    (child, record)
                });
                // A caller that went away took its lifeline along, so the process ends by itself.
                let _ = reply.send(started);
            }
        })?;
        Ok(Self { requests, isolation })
    }

    pub(super) fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Starts a command under a guard. `ended` is called once, when nothing of it is left.
    pub(super) async fn spawn(
        self: &Arc<Self>,
        mut command: std::process::Command,
        ended: impl FnOnce() + Send + 'static,
    ) -> io::Result<LocalProcess> {
        let (watched, held) = guard::lifeline()?;
        Guard::new(self.isolation, watched, false).install(&mut command);
        let (reply, started) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts processes is gone");
        self.requests.send(Request { command, runtime: Handle::current(), reply }).map_err(|_| gone())?;
        let (mut child, record) = started.await.map_err(|_| gone())??;
        let (told, end) = watch::channel(None);
        let running = Arc::new(Running { id: child.id(), lifeline: Mutex::new(Some(held)), end });
        let process = LocalProcess {
            running,
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        let spawner = Arc::clone(self);
        tokio::spawn(async move {
            let status = child.wait().await;
            drop(record);
            ended();
            let exit = status.map(|status| Exit { code: status.code(), signal: status.signal() });
            let _ = told.send(Some(exit.map_err(|error| error.to_string())));
            // The thread that started the process has to outlive it.
            drop(spawner);
        });
        Ok(process)
    }
}

/// A process that may still run.
pub(super) struct Running {
    id: Option<u32>,
    lifeline: Mutex<Option<OwnedFd>>,
    end: watch::Receiver<Option<Result<Exit, String>>>,
}

impl Running {
    /// Has it ended with every descendant, without waiting for that.
    pub(super) fn end(&self) {
        drop(lock(&self.lifeline).take());
    }

    /// Waits until it is gone with every descendant.
    pub(super) async fn gone(&self) -> Result<Exit, SandboxError> {
        let mut end = self.end.clone();
        let end = end.wait_for(Option::is_some).await;
        match end.as_deref() {
            Ok(Some(Ok(exit))) => Ok(*exit),
            Ok(Some(Err(reason))) => Err(SandboxError::Failed(format!("A process could not be waited for: {reason}"))),
            _ => Err(SandboxError::Failed("A process could not be waited for: the runtime is ending.".to_owned())),
        }
    }

    /// Ends it and waits for that.
    pub(super) async fn kill(&self) -> Result<(), SandboxError> {
        self.end();
        match tokio::time::timeout(KILL_DEADLINE, self.gone()).await {
            Ok(gone) => gone.map(|_| ()),
            Err(_) => Err(SandboxError::Failed(format!(
                "Process {} was killed but is still there after {} seconds.",
                self.id.unwrap_or_default(),
                KILL_DEADLINE.as_secs()
            ))),
        }
    }
}

/// A guarded process with its streams.
pub(super) struct LocalProcess {
    running: Arc<Running>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl LocalProcess {
    pub(super) fn running(&self) -> &Arc<Running> {
        &self.running
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        self.running.end();
    }
}

#[async_trait]
impl Process for LocalProcess {
    fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        self.stdin.take().map(|stream| Box::new(stream) as _)
    }

    fn take_stdout(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        self.stdout.take().map(|stream| Box::new(stream) as _)
    }

    fn take_stderr(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        self.stderr.take().map(|stream| Box::new(stream) as _)
    }

    fn id(&self) -> Option<u32> {
        if self.running.end.borrow().is_some() { None } else { self.running.id }
    }

    async fn wait(&mut self) -> Result<Exit, SandboxError> {
        self.running.gone().await
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        self.running.kill().await
    }
}

/// Locks; what a panicking holder left behind is whole, for no lock is held over code that can panic half-way.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
