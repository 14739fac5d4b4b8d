//! `tackroom serve` as a child: started on a data directory, waited for until it is ready, killed.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::api::Api;
use crate::http::request;

/// The longest that a start may take: a machine that builds at the same time is slow.
const START: Duration = Duration::from_mins(2);
const STEP: Duration = Duration::from_millis(20);

/// Where the program is: `TACKROOM_BIN`, else beside the tests as cargo builds it.
///
/// # Errors
/// It is not there, and how to build it.
pub fn program() -> Result<PathBuf, String> {
    let named = std::env::var_os("TACKROOM_BIN").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("tackroom"));
    let path = named.or_else(beside).unwrap_or_default();
    if path.is_file() {
        return Ok(path);
    }
    let shown = path.display();
    Err(format!("There is no program at {shown}. Run `cargo build --package tackroom --bins`, or set TACKROOM_BIN."))
}

/// How the program is started, the same at every start.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its data directory.
    pub data: PathBuf,
    /// Where its log is appended.
    pub log: PathBuf,
    /// Further flags.
    pub flags: Vec<String>,
    /// Further variables of its environment.
    pub variables: Vec<(String, String)>,
}

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct Host {
    address: SocketAddr,
    child: Child,
    // Kept open: a program that writes to a closed pipe is another test.
    _stdout: BufReader<ChildStdout>,
}

impl Host {
    /// Starts the program and waits until `/readyz` says that it is ready.
    ///
    /// # Errors
    /// It does not start or does not become ready; with the end of its log.
    pub fn start(launch: &Launch) -> Result<Self, String> {
        let log = OpenOptions::new().create(true).append(true).open(&launch.log);
        let log: File = log.map_err(|error| format!("The log cannot be written: {error}."))?;
        let mut command = Command::new(&launch.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TACKROOM_") {
                command.env_remove(name);
            }
        }
        command.arg("serve").args(["--listen", "127.0.0.1:0", "--data"]).arg(&launch.data).args(&launch.flags);
        command.envs(launch.variables.iter().map(|(name, value)| (name, value))).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|error| format!("The program cannot be started: {error}."))?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("The program has no standard output.")?);
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        let address = line.trim_end().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let Some(address) = address.filter(|_| read.is_ok()) else {
            let _ = child.kill();
            let status = child.wait();
            return Err(format!("The program did not start ({status:?}); its log ends with:\n{}", tail(&launch.log)));
        };
        let mut host = Self { address, child, _stdout: stdout };
        host.ready().map_err(|error| format!("{error} Its log ends with:\n{}", tail(&launch.log)))?;
        Ok(host)
    }

    fn ready(&mut self) -> Result<(), String> {
        let until = Instant::now() + START;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("The program ended by itself: {status}."));
            }
            let said = match request(self.address, "GET", "/readyz", &[], None) {
                Ok(answer) if answer.status == 200 => return Ok(()),
                Ok(answer) => answer.status.to_string(),
                Err(error) => error.to_string(),
            };
            if Instant::now() > until {
                return Err(format!("The program did not become ready: /readyz says {said}."));
            }
            thread::sleep(STEP);
        }
    }

    /// Its routes.
    #[must_use]
    pub fn api(&self) -> Api {
        Api { address: self.address }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it with SIGKILL, and returns when it is gone.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended by itself, which whoever asks `runs` has seen.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop with SIGTERM, and waits for its end.
    ///
    /// # Errors
    /// It does not stop in time, or with a failure.
    pub fn stop(mut self, within: Duration) -> Result<(), String> {
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let id = id.ok_or("The program has no id.")?;
        rustix::process::kill_process(id, rustix::process::Signal::TERM).map_err(|error| error.to_string())?;
        let until = Instant::now() + within;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return ended(status),
                Ok(None) if Instant::now() < until => thread::sleep(STEP),
                other => return Err(format!("The program did not stop within {within:?}: {other:?}.")),
            }
        }
    }
}

fn ended(status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("The program stopped with {status}.")) }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a log.
fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().collect::<Vec<_>>();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
