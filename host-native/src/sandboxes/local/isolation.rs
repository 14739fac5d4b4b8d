//! Finds out how commands can be kept together on this machine, so that they can be ended with all they started.

use std::ffi::CStr;
use std::fmt;
use std::process::{Command, Stdio};

use super::guard::{self, Guard};
use crate::ports::SandboxError;

/// Lists the children of the reading thread.
pub(super) const CHILDREN: &CStr = c"/proc/thread-self/children";

/// How a command is held together with its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Each command has a PID namespace: the kernel ends every process in it at once. The strongest.
    PidNamespace {
        /// A user namespace was needed for it: the host is not privileged, and `sudo` does not work in commands.
        user_namespace: bool,
        /// Commands see their own processes under `/proc`; without, they see the host's.
        own_proc: bool,
    },
    /// A guard adopts orphans and kills until none is left. A command that kills the guard itself (with SIGKILL, under
    /// the same user) gets away.
    Subreaper,
}

impl Isolation {
    /// Every kind, the strongest first.
    const ALL: [Self; 5] = [
        Self::PidNamespace { user_namespace: false, own_proc: true },
        Self::PidNamespace { user_namespace: true, own_proc: true },
        Self::PidNamespace { user_namespace: false, own_proc: false },
        Self::PidNamespace { user_namespace: true, own_proc: false },
        Self::Subreaper,
    ];

    pub(super) fn is_namespace(self) -> bool {
        matches!(self, Self::PidNamespace { .. })
    }

    /// Finds the strongest kind that works here, by trying each. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] where none works, with what the last one said.
    pub fn detect() -> Result<Self, SandboxError> {
        let mut last = None;
        for isolation in Self::ALL {
            match isolation.probe() {
                Ok(()) => return Ok(isolation),
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map(|error| error.to_string()).unwrap_or_default();
        Err(SandboxError::Failed(format!("Commands cannot be held together on this machine: {reason}")))
    }

    /// Whether this kind works here.
    pub(super) fn probe(self) -> std::io::Result<()> {
        if self == Self::Subreaper {
            // The guard finds what it has to end in this file, which a kernel may be built without.
            std::fs::read(CHILDREN.to_str().unwrap_or_default())?;
        }
        let (watched, held) = guard::lifeline()?;
        // Named for the error alone: the probe ends before it would run a program.
        let mut command = Command::new("/");
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Guard::new(self, watched, true).install(&mut command);
        let status = command.spawn()?.wait()?;
        drop(held);
        if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("the probe ended with {status}"))) }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PidNamespace { user_namespace, own_proc } => {
                f.write_str("a PID namespace for each command")?;
                if *user_namespace {
                    f.write_str(", in a user namespace")?;
                }
                if *own_proc { Ok(()) } else { f.write_str(", with the host's /proc") }
            }
            Self::Subreaper => f.write_str("a guard process for each command"),
        }
    }
}
