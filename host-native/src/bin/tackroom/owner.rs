//! One process owns a data directory: it holds a lock on a file that says who it is and how to reach it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The file's name. It is private to its user: it holds the token.
const FILE: &str = "owner.json";
/// How long a start waits for others that look whether the directory is free.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who owns a data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(crate) pid: u32,
    /// Absent while it starts.
    pub(crate) url: Option<String>,
    pub(crate) token: Option<String>,
}

/// The ownership of a data directory, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Owner {
    file: File,
}

/// What is known of a data directory's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// Nobody owns it.
    Free,
    /// This process owns it.
    By(Card),
}

impl Owner {
    /// Makes the directory (private to its user) where it is missing, and takes it.
    ///
    /// # Errors
    /// It cannot be used, or another process owns it.
    pub(crate) fn take(directory: &Path) -> Result<Self, Failure> {
        let unusable =
            |error| Failure::failed(format!("The data directory {} cannot be used: {error}.", directory.display()));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unusable)?;
        let file = open(directory, true).map_err(unusable)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => return Err(taken(directory)),
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
        let mut owner = Self { file };
        owner.write(&Card { pid: std::process::id(), url: None, token: None }).map_err(unusable)?;
        Ok(owner)
    }

    /// Says how this process is reached.
    pub(crate) fn announce(&mut self, url: String, token: Option<String>) -> std::io::Result<()> {
        self.write(&Card { pid: std::process::id(), url: Some(url), token })
    }

    fn write(&mut self, card: &Card) -> std::io::Result<()> {
        let text = serde_json::to_vec(card)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(&text)
    }
}

fn open(directory: &Path, create: bool) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(0o600).open(directory.join(FILE))
}

fn taken(directory: &Path) -> Failure {
    let shown = directory.display();
    let who = match held(directory) {
        Ok(Held::By(Card { pid, url: Some(url), .. })) => format!("process {pid}, which serves at {url}, owns it"),
        Ok(Held::By(Card { pid, .. })) => format!("process {pid} owns it"),
        _ => "another process owns it".to_owned(),
    };
    Failure::unavailable(format!(
        "The data directory {shown} is taken: {who}. Stop that process, or choose another --data."
    ))
}

/// Who owns a data directory now.
///
/// # Errors
/// What the system says.
pub(crate) fn held(directory: &Path) -> std::io::Result<Held> {
    let mut file = match open(directory, false) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Held::Free),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => return Ok(Held::Free),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The owner may be writing it.
    let mut last = None;
    for _ in 0..50 {
        let mut text = String::new();
        file.rewind()?;
        file.read_to_string(&mut text)?;
        match serde_json::from_str(&text) {
            Ok(card) => return Ok(Held::By(card)),
            Err(error) => last = Some(error),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(last.map_or_else(|| std::io::Error::other("it cannot be read"), std::io::Error::from))
}

/// The files of a data directory.
pub(crate) fn database(directory: &Path) -> PathBuf {
    directory.join("sessions.db")
}

/// Where local sandboxes are.
pub(crate) fn sandboxes(directory: &Path) -> PathBuf {
    directory.join("sandboxes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_owns_a_directory_and_others_are_told_who() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        assert_eq!(held(&data).unwrap(), Held::Free);
        let mut owner = Owner::take(&data).unwrap();
        owner.announce("http://127.0.0.1:1".to_owned(), Some("t".to_owned())).unwrap();
        let pid = std::process::id();
        let card = Card { pid, url: Some("http://127.0.0.1:1".to_owned()), token: Some("t".to_owned()) };
        assert_eq!(held(&data).unwrap(), Held::By(card));
        let error = Owner::take(&data).unwrap_err().message;
        assert!(error.contains(&pid.to_string()) && error.contains("http://127.0.0.1:1"), "{error}");
        assert!(!error.contains("\"t\""));
        drop(owner);
        assert_eq!(held(&data).unwrap(), Held::Free);
        assert!(Owner::take(&data).is_ok());
    }

    #[test]
    fn the_file_is_private_to_its_user() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let _owner = Owner::take(directory.path()).unwrap();
        let mode = fs::metadata(directory.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
