//! The running CLI: started through the sandbox, read line by line within bounds, and never left behind.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::errors::STDERR_TAIL;
use super::protocol::frames::Frame;
use super::protocol::lines::{LineError, read_line};
use super::protocol::read;
use crate::ports::{Command, Exit, Process, Sandbox, SandboxError};

/// Frames that may wait unread before the CLI is held up.
const FRAME_BUFFER: usize = 256;

/// How long the end of standard error may take to arrive after the process is gone.
const TAIL_DEADLINE: Duration = Duration::from_secs(1);

/// What comes from the process.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A frame.
    Frame(Frame),
    /// It cannot be read any further.
    Broken(String),
    /// Its output ended.
    Closed,
}

/// A running CLI. Dropping it kills it with every descendant, by the promise of the sandbox port.
pub(super) struct Cli {
    process: Box<dyn Process>,
    lines: Option<mpsc::UnboundedSender<String>>,
    incoming: mpsc::Receiver<Incoming>,
    stderr: Option<oneshot::Receiver<String>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Cli {
    /// Starts a command in the sandbox.
    pub(super) async fn spawn(sandbox: &dyn Sandbox, command: Command, max_line: usize) -> Result<Self, SandboxError> {
        let mut process = sandbox.spawn(command).await?;
        let missing = || SandboxError::Failed("a started process has no pipes".to_owned());
        let stdin = process.take_stdin().ok_or_else(missing)?;
        let stdout = process.take_stdout().ok_or_else(missing)?;
        let stderr = process.take_stderr().ok_or_else(missing)?;
        let (frames, incoming) = mpsc::channel(FRAME_BUFFER);
        let (lines, outgoing) = mpsc::unbounded_channel();
        let (tail, stderr_tail) = oneshot::channel();
        let tasks = vec![
            tokio::spawn(read_frames(stdout, frames, max_line)),
            tokio::spawn(write_lines(stdin, outgoing)),
            tokio::spawn(read_tail(stderr, tail)),
        ];
        Ok(Self { process, lines: Some(lines), incoming, stderr: Some(stderr_tail), tasks })
    }

    /// Sends a line; without effect once the process is gone, which its end will tell.
    pub(super) fn send(&self, line: String) {
        if let Some(lines) = &self.lines {
            let _ = lines.send(line);
        }
    }

    /// Closes its standard input, which ends it when nothing is under way.
    pub(super) fn close_stdin(&mut self) {
        self.lines = None;
    }

    /// The next thing it says. Safe to cancel.
    pub(super) async fn next(&mut self) -> Incoming {
        self.incoming.recv().await.unwrap_or(Incoming::Closed)
    }

    /// Kills what is left of it and gives how it ended and the end of its standard error.
    pub(super) async fn reap(mut self) -> (String, String) {
        self.lines = None;
        let killed = self.process.kill().await;
        let how = match (killed, self.process.wait().await) {
            (Ok(()), Ok(Exit { code: Some(code), .. })) => format!("code {code}"),
            (Ok(()), Ok(Exit { signal: Some(signal), .. })) => format!("signal {signal}"),
            (Err(error), _) | (_, Err(error)) => error.to_string(),
            (Ok(()), Ok(_)) => "no exit code".to_owned(),
        };
        let tail = match self.stderr.take() {
            // Bounded, in case something that outlived the process holds its standard error open.
            Some(tail) => match tokio::time::timeout(TAIL_DEADLINE, tail).await {
                Ok(Ok(tail)) => tail,
                _ => String::new(),
            },
            None => String::new(),
        };
        (how, tail)
    }
}

impl Drop for Cli {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn read_frames(stdout: Box<dyn AsyncRead + Send + Unpin>, frames: mpsc::Sender<Incoming>, max_line: usize) {
    let mut reader = BufReader::with_capacity(64 << 10, stdout);
    let mut line = Vec::new();
    loop {
        let incoming = match read_line(&mut reader, &mut line, max_line).await {
            // Lines that are no frames (a warning of a library, say) mean nothing.
            Ok(true) => match read::parse(&String::from_utf8_lossy(&line)) {
                Some(frame) => Incoming::Frame(frame),
                None => continue,
            },
            Ok(false) => Incoming::Closed,
            Err(LineError::TooLong(max)) => Incoming::Broken(format!("it sent a line of more than {max} bytes")),
            Err(LineError::Io(error)) => Incoming::Broken(format!("its output could not be read: {error}")),
        };
        let last = !matches!(incoming, Incoming::Frame(_));
        if frames.send(incoming).await.is_err() || last {
            return;
        }
    }
}

async fn write_lines(mut stdin: Box<dyn AsyncWrite + Send + Unpin>, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        // A pipe that broke means that the process is gone; its output's end tells the session.
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
    let _ = stdin.shutdown().await;
}

async fn read_tail(mut stderr: Box<dyn AsyncRead + Send + Unpin>, done: oneshot::Sender<String>) {
    let mut tail = Vec::new();
    let mut buffer = vec![0; 4_096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        tail.extend_from_slice(&buffer[..read]);
        if tail.len() > STDERR_TAIL {
            tail.drain(..tail.len() - STDERR_TAIL);
        }
    }
    // The session may have been dropped meanwhile.
    let _ = done.send(String::from_utf8_lossy(&tail).into_owned());
}
