//! A process that is none: says what it was told to say, and ends then or when it is killed.

use std::io::Cursor;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::fake_sandboxes::FakeRun;
use crate::ports::{Exit, Process, SandboxError};

const KILLED: Exit = Exit { code: None, signal: Some(9) };

/// A fake process. Its streams are at their end after what was ordered, also while it runs on.
pub(super) struct FakeProcess {
    code: Option<i32>,
    stdin: bool,
    stdout: Option<Vec<u8>>,
    stderr: Option<Vec<u8>>,
    killed: bool,
    /// Becomes true when the lease is over.
    over: watch::Receiver<bool>,
}

impl FakeProcess {
    pub(super) fn new(run: FakeRun, over: watch::Receiver<bool>) -> Self {
        let (stdout, stderr) = (Some(run.stdout), Some(run.stderr));
        Self { code: run.code, stdin: true, stdout, stderr, killed: false, over }
    }
}

#[async_trait]
impl Process for FakeProcess {
    fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        std::mem::take(&mut self.stdin).then(|| Box::new(tokio::io::sink()) as _)
    }

    fn take_stdout(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        self.stdout.take().map(|content| Box::new(Cursor::new(content)) as _)
    }

    fn take_stderr(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        self.stderr.take().map(|content| Box::new(Cursor::new(content)) as _)
    }

    fn id(&self) -> Option<u32> {
        None
    }

    async fn wait(&mut self) -> Result<Exit, SandboxError> {
        match self.code {
            _ if self.killed => Ok(KILLED),
            Some(code) => Ok(Exit { code: Some(code), signal: None }),
            None => {
                // A lease that is gone altogether has ended what ran in it.
                let _ = self.over.wait_for(|over| *over).await;
                Ok(KILLED)
            }
        }
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        self.killed |= self.code.is_none();
        Ok(())
    }
}
