//! Reads and writes a session's files without being led out of its directory by a symbolic link or by `..`.
//!
//! The kernel resolves the path below the directory's descriptor, so that an agent that changes links meanwhile gains
//! nothing. Kernels without that call get a walk that follows no link at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::ports::SandboxError;

/// The directory that holds what a session may reach, and the path within it where relative paths start.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    /// The directory, absolute.
    pub(super) base: PathBuf,
    /// The working directory, absolute, below it.
    pub(super) working_directory: PathBuf,
}

impl Reach {
    /// Reads a plain file of at most `max_bytes`.
    pub(super) fn read(&self, path: &Path, max_bytes: usize) -> Result<Vec<u8>, SandboxError> {
        let refuse = |reason: String| refused(path, reason);
        let inside = self.inside(path)?;
        // Without blocking: a pipe that nobody writes to would hold the reader for ever.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let base = self.open_base(path)?;
        let file = File::from(beneath(&base, &inside, flags).map_err(|error| refuse(words(error)))?);
        let metadata = file.metadata().map_err(|error| refuse(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refuse("it is not a plain file".to_owned()));
        }
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        let mut content = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(|error| refuse(error.to_string()))?;
        if content.len() > max_bytes {
            return Err(refuse(format!("it is larger than {max_bytes} bytes")));
        }
        Ok(content)
    }

    /// Writes a file whole, making its directories. A reader sees the old content or the new.
    pub(super) fn write(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let refuse = |error: Errno| refused(path, words(error));
        let inside = self.inside(path)?;
        let (Some(parent), Some(Component::Normal(name))) = (inside.parent(), inside.components().next_back()) else {
            return Err(refused(path, "it does not name a file".to_owned()));
        };
        let base = self.open_base(path)?;
        let parent = make_directories(&base, parent).map_err(refuse)?;
        let mode = mode_of_old(&parent, name).map_err(|reason| refused(path, reason))?;
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".tackroom-{}-{count}.tmp", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&parent, temporary.as_str(), flags, mode).map_err(refuse)?);
        let written = file
            .write_all(content)
            .map_err(|error| refused(path, error.to_string()))
            .and_then(|()| renameat(&parent, temporary.as_str(), &parent, name).map_err(refuse));
        if written.is_err() {
            // The first failure is the one to tell.
            let _ = unlinkat(&parent, temporary.as_str(), AtFlags::empty());
        }
        written
    }

    /// The path relative to the base.
    fn inside(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let absolute = self.working_directory.join(path);
        let inside = absolute.strip_prefix(&self.base).map(Path::to_owned);
        inside.map_err(|_| refused(path, format!("it is outside of {}", self.base.display())))
    }

    fn open_base(&self, path: &Path) -> Result<OwnedFd, SandboxError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(CWD, &self.base, flags, Mode::empty()).map_err(|error| refused(path, words(error)))
    }
}

/// Opens below `base`, wherever links lead, or not at all.
fn beneath(base: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // The kernel asks for another try when a rename raced with the resolution.
    for _ in 0..16 {
        match openat2(base, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::PERM) => return walk(base, path, flags),
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens below `base` one component at a time, following no link.
fn walk(base: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(Errno::XDEV),
        }
    }
    let last = names.pop().unwrap_or(OsStr::new("."));
    let mut directory = openat(base, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in names {
        directory = openat(&directory, name, step, Mode::empty())?;
    }
    openat(&directory, last, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens a directory below `base`, making what is missing of it.
fn make_directories(base: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match beneath(base, path, flags) {
        Err(Errno::NOENT) => {}
        opened => return opened,
    }
    let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else {
        return Err(Errno::NOENT);
    };
    let parent = make_directories(base, parent)?;
    match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => beneath(base, path, flags),
        Err(error) => Err(error),
    }
}

/// The mode that a new content keeps: that of the file it replaces.
fn mode_of_old(parent: &OwnedFd, name: &OsStr) -> Result<Mode, String> {
    use rustix::fs::FileType;
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Mode::from_raw_mode(stat.st_mode & 0o777)),
            FileType::Symlink => Ok(Mode::from_raw_mode(0o644)),
            _ => Err("it is not a plain file".to_owned()),
        },
        Err(Errno::NOENT) => Ok(Mode::from_raw_mode(0o644)),
        Err(error) => Err(words(error)),
    }
}

fn refused(path: &Path, reason: String) -> SandboxError {
    SandboxError::Path { path: path.display().to_string(), reason }
}

fn words(error: Errno) -> String {
    match error {
        Errno::XDEV => "it leads out of the sandbox".to_owned(),
        Errno::LOOP => "it leads through a link that may not be followed".to_owned(),
        Errno::NOENT => "it does not exist".to_owned(),
        other => other.to_string(),
    }
}

/// Opens a directory that must not be a link; used to hold a lock on it.
pub(super) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_of_old_kernels_follows_no_link_and_does_not_go_up() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("real")).unwrap();
        std::fs::write(directory.path().join("real/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("inner")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", directory.path().join("real/outer")).unwrap();
        let base = open_directory(directory.path()).unwrap();
        let open = |path: &str| walk(&base, Path::new(path), OFlags::RDONLY).map(|_| ());
        assert_eq!([open("real/file"), open("./real"), open("")], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(open("real/none"), Err(Errno::NOENT));
        assert_eq!([open("../x"), open("real/../real/file"), open("/etc/passwd")], [Err(Errno::XDEV); 3]);
        assert_eq!([open("inner/file"), open("inner")], [Err(Errno::NOTDIR), Err(Errno::LOOP)]);
        assert_eq!(open("real/outer"), Err(Errno::LOOP));
    }
}
