//! Finds what a host has started, by its data directory: in the environment, the working directory or the command line.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// A process; its start time tells it from a later one of the same id.
#[derive(Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: i32,
    started: String,
    /// Its program, where that can be seen.
    pub program: PathBuf,
    /// Its command line, for people.
    pub command: String,
    environment: String,
}

impl Process {
    /// Whether its environment holds this.
    #[must_use]
    pub fn names(&self, mark: &str) -> bool {
        self.environment.contains(mark)
    }
}

impl fmt::Debug for Process {
    // An environment is long, and may hold a key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.id, self.command)
    }
}

/// The living processes that a data directory names, without those of the ids given.
#[must_use]
pub fn of(data: &Path, without: &[u32]) -> Vec<Process> {
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ids = ids.filter(|id| !without.iter().any(|other| i64::from(*other) == i64::from(*id)));
    ids.filter_map(|id| look(id, data)).collect()
}

fn look(id: i32, data: &Path) -> Option<Process> {
    let mark = data.as_os_str().as_encoded_bytes();
    let holds = |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let directory = fs::read_link(format!("/proc/{id}/cwd")).unwrap_or_default();
    if !(holds(&command) || holds(&environment) || directory.starts_with(data)) {
        return None;
    }
    let program = fs::read_link(format!("/proc/{id}/exe")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    Some(Process { id, started: started(id)?, program, command, environment })
}

/// When a process started; nothing for one that is gone or waits to be reaped.
fn started(id: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before may hold anything, parentheses too.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18).map(str::to_owned) }
}

/// Those of these processes that still live.
#[must_use]
pub fn still_there(processes: &[Process]) -> Vec<Process> {
    processes.iter().filter(|process| started(process.id).as_ref() == Some(&process.started)).cloned().collect()
}

/// Waits until none of these processes lives.
///
/// # Errors
/// Those that still do after `within`.
pub fn none_left(processes: &[Process], within: Duration) -> Result<(), String> {
    let until = Instant::now() + within;
    loop {
        let left = still_there(processes);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(format!("{} processes were left behind after {within:?}: {left:?}", left.len()));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Kills a process with SIGKILL, as a crash would.
pub fn kill(process: &Process) {
    if let Some(id) = rustix::process::Pid::from_raw(process.id)
        && started(process.id).as_ref() == Some(&process.started)
    {
        // It may have ended by itself meanwhile.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    }
}
