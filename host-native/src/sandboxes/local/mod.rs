//! Sandboxes that are directories and processes of this machine, for development and for hosts that are themselves
//! inside a container or a virtual machine.
//!
//! A session has a directory of its own with `work`, `home` and `tmp` in it. Its commands inherit nothing of the host's
//! environment, and each ends with every descendant: when it is killed or dropped, when its session is suspended or
//! closed, and when the host dies in whatever way. **This keeps sessions apart from each other's processes, not from
//! the machine's files or network**: commands run as the user that runs the host.

mod builder;
mod files;
mod guard;
mod isolation;
mod leftovers;
mod memory;
mod process;
mod sandbox;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

pub use builder::LocalSandboxesBuilder;
pub use isolation::Isolation;

use crate::ports::{Lease, SandboxError, Sandboxes};
use process::{Spawner, lock};
use sandbox::{Group, LocalLease};

/// Local sandboxes. Dropping it does not end the leases it gave; [`Sandboxes::shutdown`] does.
pub struct LocalSandboxes {
    inner: Arc<Inner>,
}

/// What all leases share.
struct Inner {
    /// The directory with a directory per session in it.
    sessions: PathBuf,
    /// The host's environment for every command.
    path: String,
    lang: String,
    shared: bool,
    capacity: u32,
    spawner: Arc<Spawner>,
    places: Mutex<Places>,
    /// Keeps another host from taking this one's processes for leftovers.
    _lock: OwnedFd,
}

/// Who holds what.
struct Places {
    free_ports: BTreeSet<u16>,
    held: HashMap<String, Arc<Group>>,
}

/// A session's place, given back when dropped.
struct Place {
    inner: Arc<Inner>,
    session: String,
    port: Option<u16>,
    group: Arc<Group>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = lock(&self.inner.places);
        places.held.remove(&self.session);
        places.free_ports.extend(self.port);
    }
}

impl LocalSandboxes {
    /// Sandboxes below `root`, a directory that is made if it is missing and that one host at a time may use.
    #[must_use]
    pub fn builder(root: impl Into<PathBuf>) -> LocalSandboxesBuilder {
        LocalSandboxesBuilder::new(root.into())
    }

    /// One tree that all sessions may reach, with a working directory and a port for each: as many sessions at once as
    /// there are `ports`.
    ///
    /// # Errors
    /// As [`LocalSandboxesBuilder::build`].
    pub async fn shared(root: impl Into<PathBuf>, ports: Vec<u16>) -> Result<Self, SandboxError> {
        Self::builder(root).shared(ports).build().await
    }

    /// A directory of its own for each session, at most `max_sessions` at once.
    ///
    /// # Errors
    /// As [`LocalSandboxesBuilder::build`].
    pub async fn per_session(root: impl Into<PathBuf>, max_sessions: u32) -> Result<Self, SandboxError> {
        Self::builder(root).per_session(max_sessions).build().await
    }

    /// How commands are held together with their descendants here.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.inner.spawner.isolation()
    }

    fn place(&self, session: &str) -> Result<Place, SandboxError> {
        let mut places = lock(&self.inner.places);
        if places.held.contains_key(session) {
            return Err(SandboxError::Failed(format!("The sandbox of session {session:?} is already open.")));
        }
        let full = SandboxError::Capacity(self.inner.capacity);
        if places.held.len() >= usize::try_from(self.inner.capacity).unwrap_or(usize::MAX) {
            return Err(full);
        }
        let port = if self.inner.shared { Some(places.free_ports.pop_first().ok_or(full)?) } else { None };
        let group = Arc::new(Group::new());
        places.held.insert(session.to_owned(), Arc::clone(&group));
        Ok(Place { inner: Arc::clone(&self.inner), session: session.to_owned(), port, group })
    }
}

#[async_trait]
impl Sandboxes for LocalSandboxes {
    fn capacity(&self) -> Option<u32> {
        Some(self.inner.capacity)
    }

    async fn acquire(&self, session: &str, resume: bool) -> Result<Lease, SandboxError> {
        check_id(session)?;
        let place = self.place(session)?;
        let directory = self.inner.sessions.join(session);
        let name = session.to_owned();
        blocking(move || open_session(&directory, &name, resume)).await?;
        Ok(Box::new(LocalLease::new(place)))
    }

    async fn discard(&self, session: &str) -> Result<(), SandboxError> {
        check_id(session)?;
        if lock(&self.inner.places).held.contains_key(session) {
            return Err(SandboxError::Failed(format!("The sandbox of session {session:?} is open.")));
        }
        let directory = self.inner.sessions.join(session);
        blocking(move || remove_tree(&directory).map_err(|error| failed(&directory, &error))).await
    }

    async fn shutdown(&self) -> Result<(), SandboxError> {
        let groups: Vec<_> = lock(&self.inner.places).held.values().cloned().collect();
        for group in &groups {
            group.end();
        }
        for group in groups {
            group.kill().await?;
        }
        Ok(())
    }
}

/// Refuses what could lead out of the directory of sessions.
fn check_id(session: &str) -> Result<(), SandboxError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=128).contains(&session.len()) && session.bytes().all(plain) {
        return Ok(());
    }
    Err(SandboxError::Path {
        path: session.to_owned(),
        reason: "a session's id has 1 to 128 letters, digits, hyphens and underscores".to_owned(),
    })
}

/// Makes a session's directories, or finds them as they were left.
fn open_session(directory: &Path, session: &str, resume: bool) -> Result<(), SandboxError> {
    let wrap = |error: io::Error| failed(directory, &error);
    if resume {
        let there = fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir());
        if !there {
            return Err(SandboxError::Gone(session.to_owned()));
        }
    } else {
        // A session that is started anew must not find what an earlier one of its name left.
        remove_tree(directory).map_err(wrap)?;
    }
    for path in [directory.to_owned(), directory.join("work"), directory.join("home"), directory.join("tmp")] {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(wrap)?;
    }
    Ok(())
}

/// Removes a directory with all that is in it, following no link. Succeeds when there is none.
fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A process that is just being killed wrote into a directory that was being emptied.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => fs::remove_dir_all(directory),
        // Tools leave directories that not even their owner may write to.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(directory)?;
            fs::remove_dir_all(directory)
        }
        removed => removed,
    }
}

fn make_writable(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Runs file work beside the runtime's threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SandboxError> + Send + 'static,
) -> Result<T, SandboxError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(SandboxError::Failed(format!("File work was cut short: {error}"))))
}

fn failed(path: &Path, error: &io::Error) -> SandboxError {
    SandboxError::Failed(format!("{} cannot be used: {error}", path.display()))
}
