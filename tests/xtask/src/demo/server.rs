//! The server that the demonstration starts, kills and starts again.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::client::Client;

/// A running `tackroom serve`. Killed when it is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) client: Client,
}

impl Server {
    /// Starts it on this directory, on a port that is free.
    pub(super) fn start(binary: &Path, data: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["serve", "--agent", "scripted", "--listen", "127.0.0.1:0", "--log-level", "error", "--data"]);
        command.arg(data).stdin(Stdio::null()).stdout(Stdio::piped());
        // Settings of whoever runs the demonstration are not the demonstration's.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TACKROOM_")) {
            command.env_remove(name);
        }
        let mut child = command.spawn().with_context(|| format!("start {}", binary.display()))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim().rsplit_once("http://").map(|(_, address)| address.to_owned());
        let Some(address) = address else {
            let status = child.wait()?;
            anyhow::bail!("the server ended with {status} before it listened")
        };
        Ok(Self { child, client: Client(address) })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a machine that loses its power would.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, which it does once every session is suspended.
    pub(super) fn terminate(mut self) -> Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status()?;
        ensure!(asked.success(), "the server cannot be asked to end");
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
