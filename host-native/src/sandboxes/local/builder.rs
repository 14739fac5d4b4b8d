//! Builds local sandboxes: checks the options, takes the directory, ends leftovers and finds out what works here.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::isolation::Isolation;
use super::leftovers::Records;
use super::process::Spawner;
use super::{Inner, LocalSandboxes, Places, blocking, failed, files};
use crate::ports::SandboxError;

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const DEFAULT_MAX_SESSIONS: u32 = 64;

/// Options of [`LocalSandboxes`].
#[derive(Debug, Clone)]
pub struct LocalSandboxesBuilder {
    root: PathBuf,
    arrangement: Arrangement,
    path: String,
    lang: String,
    isolation: Option<Isolation>,
}

#[derive(Debug, Clone)]
enum Arrangement {
    Shared(Vec<u16>),
    PerSession(u32),
}

impl LocalSandboxesBuilder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            arrangement: Arrangement::PerSession(DEFAULT_MAX_SESSIONS),
            path: DEFAULT_PATH.to_owned(),
            lang: "C.UTF-8".to_owned(),
            isolation: None,
        }
    }

    /// One tree that all sessions may reach, with a working directory and one of `ports` for each session.
    #[must_use]
    pub fn shared(mut self, ports: Vec<u16>) -> Self {
        self.arrangement = Arrangement::Shared(ports);
        self
    }

    /// A directory of its own for each session, at most `max_sessions` at once. The default, with 64.
    #[must_use]
    pub fn per_session(mut self, max_sessions: u32) -> Self {
        self.arrangement = Arrangement::PerSession(max_sessions);
        self
    }

    /// The `PATH` of commands. By default the system's directories; the host's own is not inherited.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The `LANG` of commands. By default `C.UTF-8`.
    #[must_use]
    pub fn lang(mut self, lang: impl Into<String>) -> Self {
        self.lang = lang.into();
        self
    }

    /// Holds commands together in this way instead of the strongest that works.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Takes the root directory, ends what an earlier host of it left running, and finds out how commands can be held
    /// together.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] where there is no port or place, a port is given twice or is zero, the directory cannot
    /// be used or is another host's, or commands cannot be held together on this machine.
    pub async fn build(self) -> Result<LocalSandboxes, SandboxError> {
        blocking(move || self.build_now()).await
    }

    fn build_now(self) -> Result<LocalSandboxes, SandboxError> {
        let (shared, capacity, free_ports) = self.arrangement.check()?;
        let root = make_private(&self.root)?;
        let lock = files::open_directory(&root).map_err(|error| failed(&root, &error.into()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let words = format!(
                    "Another host uses the sandboxes in {}. Stop it, or choose another directory.",
                    root.display()
                );
                return Err(SandboxError::Failed(words));
            }
            Err(error) => return Err(failed(&root, &error.into())),
        }
        let sessions = make_private(&root.join("sessions"))?;
        let running = make_private(&root.join("running"))?;
        let records = Records::open(running).map_err(|error| failed(&root, &error))?;
        let isolation = match self.isolation {
            Some(isolation) => {
                let cannot =
                    |error| SandboxError::Failed(format!("{isolation} cannot be had on this machine: {error}"));
                isolation.probe().map_err(cannot)?;
                isolation
            }
            None => Isolation::detect()?,
        };
        let spawner = Spawner::start(isolation, records).map_err(|error| failed(&root, &error))?;
        let places = Mutex::new(Places { free_ports, held: HashMap::new() });
        let (path, lang, spawner) = (self.path, self.lang, Arc::new(spawner));
        let inner = Inner { sessions, path, lang, shared, capacity, spawner, places, _lock: lock };
        Ok(LocalSandboxes { inner: Arc::new(inner) })
    }
}

impl Arrangement {
    /// Whether it is shared, for how many sessions, with which ports.
    fn check(&self) -> Result<(bool, u32, BTreeSet<u16>), SandboxError> {
        let refuse = |words: String| Err(SandboxError::Failed(words));
        match self {
            Self::PerSession(0) => refuse("Sandboxes for no sessions make no sense: allow at least one.".to_owned()),
            Self::PerSession(max) => Ok((false, *max, BTreeSet::new())),
            Self::Shared(ports) if ports.is_empty() => {
                refuse("Shared sandboxes need a port for each session: give at least one.".to_owned())
            }
            Self::Shared(ports) => {
                let mut free = BTreeSet::new();
                for &port in ports {
                    if port == 0 || !free.insert(port) {
                        return refuse(format!(
                            "Port {port} is zero or given twice: give each port once, from 1 to 65535."
                        ));
                    }
                }
                Ok((true, u32::try_from(free.len()).unwrap_or(u32::MAX), free))
            }
        }
    }
}

/// Makes a directory that only this user may enter, and says what it is really called.
fn make_private(directory: &Path) -> Result<PathBuf, SandboxError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.and_then(|()| fs::canonicalize(directory)).map_err(|error| failed(directory, &error))
}
