//! The least sandbox that a session of the CLI needs: a directory, and a kill that finds every descendant by the
//! directory's name in its environment.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use tackroom::ports::{Command, CommandOutput, Endpoint, Exit, Process, Sandbox, SandboxError};
use tokio::io::{AsyncRead, AsyncWrite};

/// A sandbox that is a directory.
pub(crate) struct Directory {
    root: PathBuf,
    work: PathBuf,
}

impl Directory {
    pub(crate) fn new(root: &Path) -> Self {
        let work = root.join("work");
        std::fs::create_dir_all(&work).expect("the test's directory can be made");
        std::fs::create_dir_all(root.join("tmp")).expect("the test's directory can be made");
        Self { root: root.to_owned(), work }
    }
}

struct Child {
    child: tokio::process::Child,
    mark: PathBuf,
}

/// The processes whose environment names this directory.
pub(crate) fn processes_of(directory: &Path) -> Vec<i32> {
    let mark = directory.as_os_str().as_encoded_bytes();
    let entries = std::fs::read_dir("/proc").expect("processes can be listed");
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        let environ = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environ.windows(mark.len()).any(|window| window == mark)
    })
    .collect()
}

/// Kills every process of this directory; returns when none is left.
pub(crate) async fn kill_all(directory: &Path) {
    for _ in 0..100 {
        let ids = processes_of(directory);
        if ids.is_empty() {
            return;
        }
        for id in ids {
            if let Some(id) = rustix::process::Pid::from_raw(id) {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[async_trait]
impl Process for Child {
    fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        self.child.stdin.take().map(|pipe| Box::new(pipe) as _)
    }

    fn take_stdout(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        self.child.stdout.take().map(|pipe| Box::new(pipe) as _)
    }

    fn take_stderr(&mut self) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        self.child.stderr.take().map(|pipe| Box::new(pipe) as _)
    }

    fn id(&self) -> Option<u32> {
        self.child.id()
    }

    async fn wait(&mut self) -> Result<Exit, SandboxError> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().await.map_err(|error| SandboxError::Failed(error.to_string()))?;
        Ok(Exit { code: status.code(), signal: status.signal() })
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        kill_all(&self.mark).await;
        self.wait().await.map(|_| ())
    }
}

#[async_trait]
impl Sandbox for Directory {
    fn working_directory(&self) -> &Path {
        &self.work
    }

    fn home(&self) -> &Path {
        &self.root
    }

    fn ports(&self) -> &[u16] {
        &[]
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SandboxError> {
        let child = tokio::process::Command::new(&command.program)
            .args(&command.args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.root)
            .env("TMPDIR", self.root.join("tmp"))
            .envs(command.env)
            .current_dir(command.cwd.map_or_else(|| self.work.clone(), |cwd| self.work.join(cwd)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| SandboxError::Spawn { program: command.program.clone(), reason: error.to_string() })?;
        Ok(Box::new(Child { child, mark: self.root.clone() }))
    }

    async fn run(&self, _: Command, _: usize) -> Result<CommandOutput, SandboxError> {
        Err(SandboxError::Failed("this sandbox runs no commands".to_owned()))
    }

    async fn read_file(&self, path: &Path, _: usize) -> Result<Vec<u8>, SandboxError> {
        std::fs::read(self.work.join(path)).map_err(|error| SandboxError::Failed(error.to_string()))
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        let path = self.work.join(path);
        let parent = path.parent().expect("a file has a directory");
        std::fs::create_dir_all(parent).map_err(|error| SandboxError::Failed(error.to_string()))?;
        std::fs::write(&path, content).map_err(|error| SandboxError::Failed(error.to_string()))
    }

    async fn endpoint(&self, _: u16) -> Result<Endpoint, SandboxError> {
        Err(SandboxError::Failed("this sandbox has no ports".to_owned()))
    }
}
