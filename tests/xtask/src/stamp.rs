//! Whether something has to be built again. Told by content, not by time: a fresh clone and a switched branch have new
//! times and often the same content.

use std::{fs, io, path::Path};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// A digest of everything that a build depends on.
pub(crate) struct Stamp(Sha256);

impl Stamp {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// Adds a piece of text, such as a compiler's version.
    #[must_use]
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.add(b"text", text.as_bytes());
        self
    }

    /// Adds a file, or every file in a folder with its name. What is absent counts as such.
    ///
    /// # Errors
    /// Something is there and cannot be read.
    pub(crate) fn path(mut self, path: &Path) -> Result<Self> {
        self.walk(path, "").with_context(|| format!("{} cannot be read.", path.display()))?;
        Ok(self)
    }

    /// The digest, in hexadecimal.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    fn walk(&mut self, path: &Path, name: &str) -> io::Result<()> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.add(b"absent", name.as_bytes()),
            Err(error) => return Err(error),
            Ok(kind) if kind.is_dir() => {
                let mut names: Vec<_> =
                    fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>()?;
                names.sort();
                for entry in names {
                    self.walk(&path.join(&entry), &format!("{name}/{}", entry.to_string_lossy()))?;
                }
            }
            Ok(_) => {
                self.add(b"name", name.as_bytes());
                self.add(b"file", &fs::read(path)?);
            }
        }
        Ok(())
    }

    /// Every piece is preceded by its kind and length, so that no two lists of pieces run together into the same bytes.
    fn add(&mut self, kind: &[u8], bytes: &[u8]) {
        self.0.update(kind);
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }
}

/// Whether `file` holds this stamp.
pub(crate) fn fresh(file: &Path, stamp: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|found| found == stamp)
}

/// Takes the stamp away before a build, so that one that is cut short counts for nothing.
///
/// # Errors
/// The file is there and cannot be removed.
pub(crate) fn clear(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed.", file.display()))
        }
        _ => Ok(()),
    }
}

/// Writes the stamp of a build that has succeeded.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn set(file: &Path, stamp: &str) -> Result<()> {
    fs::write(file, stamp).with_context(|| format!("{} cannot be written.", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("xtask-stamp-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("a")).unwrap();
        dir
    }

    fn of(path: &Path) -> String {
        Stamp::new().path(path).unwrap().finish()
    }

    #[test]
    fn content_and_names_count_and_times_do_not() {
        let dir = scratch("content");
        fs::write(dir.join("a/one"), "1").unwrap();
        let first = of(&dir);
        fs::write(dir.join("a/one"), "1").unwrap();
        assert_eq!(of(&dir), first);
        fs::write(dir.join("a/one"), "2").unwrap();
        assert_ne!(of(&dir), first);
        fs::remove_file(dir.join("a/one")).unwrap();
        fs::write(dir.join("a/two"), "1").unwrap();
        assert_ne!(of(&dir), first);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn an_absent_file_is_not_an_empty_one() {
        let dir = scratch("absent");
        let file = dir.join("lock");
        let absent = of(&file);
        fs::write(&file, "").unwrap();
        assert_ne!(of(&file), absent);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn pieces_do_not_run_together() {
        assert_ne!(Stamp::new().text("ab").text("c").finish(), Stamp::new().text("a").text("bc").finish());
    }

    #[test]
    fn a_stamp_is_fresh_until_it_is_cleared() {
        let dir = scratch("fresh");
        let file = dir.join("stamp");
        assert!(!fresh(&file, "x"));
        clear(&file).unwrap();
        set(&file, "x").unwrap();
        assert!(fresh(&file, "x") && !fresh(&file, "y"));
        clear(&file).unwrap();
        assert!(!fresh(&file, "x"));
        fs::remove_dir_all(dir).unwrap();
    }
}
