//! Remembers on disk which processes run, so that a host that starts after a crash ends what the last one left.
//!
//! Guards end by themselves when their host dies; this is for the moment in which they have not done so yet. A record
//! names a process by id, start time and boot, so that another process that got the same id is never killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How long a guard may take to end what it guards before it is killed itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// The records of running processes, one file each.
pub(super) struct Records {
    directory: PathBuf,
    boot: String,
}

impl Records {
    /// Opens the directory of records and ends every process that a record still names. Blocks until they are gone.
    pub(super) fn open(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let records = Self { directory, boot };
        for entry in fs::read_dir(&records.directory)? {
            let path = entry?.path();
            records.end(&path);
            fs::remove_file(&path)?;
        }
        Ok(records)
    }

    /// Records a process. Without a record it would still end by itself, so that a failure is not one of the command.
    pub(super) fn add(&self, id: u32) {
        if let Some(started) = start_time(id)
            && let Err(error) = fs::write(self.path(id), format!("{} {started}", self.boot))
        {
            tracing::warn!(process = id, %error, "a running process could not be recorded");
        }
    }

    pub(super) fn remove(&self, id: u32) {
        // A record that stays names a process that is gone, which the next start finds out.
        let _ = fs::remove_file(self.path(id));
    }

    fn path(&self, id: u32) -> PathBuf {
        self.directory.join(id.to_string())
    }

    /// Ends the process of a record, if it is still the one that was recorded.
    fn end(&self, record: &Path) {
        let id = record.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<i32>().ok());
        let Some(pid) = id.and_then(Pid::from_raw) else { return };
        // Opened before the comparison: from here on the id cannot come to mean another process.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        let recorded = fs::read_to_string(record).unwrap_or_default();
        let now = start_time(pid.as_raw_pid().cast_unsigned()).map(|started| format!("{} {started}", self.boot));
        if now.is_none_or(|now| now != recorded.trim()) {
            return;
        }
        tracing::info!(process = pid.as_raw_pid(), "ending a process that an earlier host left behind");
        for signal in [Signal::TERM, Signal::KILL] {
            if pidfd_send_signal(&process, signal).is_err() {
                return;
            }
            let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
            if poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)) == Ok(1) {
                return;
            }
        }
    }
}

/// When a process started, in clock ticks since the machine did.
fn start_time(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses; the fields after it are plain. The 22nd is wanted.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_only_has_the_recorded_id_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let record = directory.path().join(child.id().to_string());
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        fs::write(&record, format!("{} 1", boot.trim())).unwrap();
        Records::open(directory.path().to_owned()).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "the process was killed");
        assert!(!record.exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_recorded_process_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let records = Records::open(directory.path().to_owned()).unwrap();
        records.add(child.id());
        Records::open(directory.path().to_owned()).unwrap();
        assert!(child.try_wait().unwrap().is_some(), "the process still runs");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
