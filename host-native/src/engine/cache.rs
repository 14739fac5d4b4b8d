//! Keeps the component's machine code between starts, because compiling takes a few hundred milliseconds and loading
//! less than one.
//!
//! What is loaded is run, so the cache is the user's alone: a directory that belongs to the user and that nobody else
//! can enter, files named by a hash of everything that the machine code depends on, and a hash of the content in front
//! of it. A file that is damaged, or a directory that is not private, is never used.

use std::{
    fmt::Write as _,
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{Hash, Hasher},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmtime::{Engine, component::Component};

use super::deserialize::{self, Trusted};

/// Length of a SHA-256 hash, in bytes.
const HASH_BYTES: usize = 32;

/// The engine cannot be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// wasmtime refuses this machine or its own settings.
    #[error("WebAssembly cannot be run on this machine: {0}")]
    Machine(String),
    /// The component's bytes do not compile.
    #[error("The engine's component does not compile: {0}. Build it again with `cargo xtask wasm`.")]
    Compile(String),
    /// The component's exports are not those of the contract.
    #[error("The engine's component does not fit its contract: {0}. Build it again with `cargo xtask wasm`.")]
    Contract(String),
}

/// Why a cached file is not used. None of it is an error of the start: the component is compiled instead.
#[derive(Debug, Error)]
enum CacheError {
    #[error("the directory {0} is not this user's alone: it must be a directory of this user with mode 700")]
    NotPrivate(PathBuf),
    #[error("the content does not have its stored hash")]
    Damaged,
    #[error("wasmtime refuses it: {0}")]
    Refused(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Where the component's machine code is kept.
#[derive(Debug, Clone)]
pub struct Cache {
    directory: Option<PathBuf>,
}

impl Cache {
    /// Keeps it in this directory, which is made (mode 700) where it is missing.
    #[must_use]
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()) }
    }

    /// Keeps nothing: every start compiles.
    #[must_use]
    pub fn none() -> Self {
        Self { directory: None }
    }

    /// Keeps it where this user's caches are: `$XDG_CACHE_HOME/tackroom`, else `$HOME/.cache/tackroom`; nowhere where
    /// neither is known.
    #[must_use]
    pub fn of_user() -> Self {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        Self { directory: caches.map(|caches| caches.join("tackroom")) }
    }

    /// The component, from the cache or compiled and then kept. A cache that fails costs time, not the start.
    ///
    /// # Errors
    /// [`LoadError::Compile`] where the bytes are no component.
    pub(super) fn component(&self, engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
        let Some(directory) = &self.directory else { return compile(engine, bytes) };
        let file = directory.join(file_name(engine, bytes));
        match read(engine, directory, &file) {
            Ok(Some(component)) => return Ok(component),
            Ok(None) => {}
            Err(error) => tracing::warn!(file = %file.display(), %error, "the cached engine is not used"),
        }
        let component = compile(engine, bytes)?;
        if let Err(error) = write(directory, &file, &component) {
            tracing::warn!(file = %file.display(), %error, "the compiled engine is not kept");
        }
        Ok(component)
    }
}

fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
    Component::from_binary(engine, bytes).map_err(|error| LoadError::Compile(format!("{error:#}")))
}

/// A name that changes with the component, wasmtime's version, the target, and every option that shapes the code.
fn file_name(engine: &Engine, bytes: &[u8]) -> String {
    struct IntoSha(Sha256);
    impl Hasher for IntoSha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut hasher = IntoSha(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.update(Sha256::digest(bytes));
    let hash = hasher.0.finalize();
    let mut hex = String::with_capacity(32);
    for byte in hash.iter().take(16) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    format!("engine-{hex}.cwasm")
}

/// The component that is kept in the file, or nothing where there is no such file.
fn read(engine: &Engine, directory: &Path, file: &Path) -> Result<Option<Component>, CacheError> {
    match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(_) => check_private(directory)?,
    }
    let mut content = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let Some((hash, code)) = content.split_at_checked(HASH_BYTES) else { return Err(CacheError::Damaged) };
    if Sha256::digest(code).as_slice() != hash {
        return Err(CacheError::Damaged);
    }
    content.drain(..HASH_BYTES);
    let trusted = Trusted::new(content);
    deserialize::load(engine, &trusted).map(Some).map_err(|error| CacheError::Refused(format!("{error:#}")))
}

/// Keeps the component. The name appears when the content is all there, so that a reader never sees half of it.
fn write(directory: &Path, file: &Path, component: &Component) -> Result<(), CacheError> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    check_private(directory)?;
    let code = component.serialize().map_err(|error| CacheError::Refused(format!("{error:#}")))?;
    let part = file.with_extension(format!("{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
    let written = write_part(&part, &code).and_then(|()| fs::rename(&part, file));
    if written.is_err() {
        // What cannot be removed is never read: no file of the cache has such a name.
        let _ = fs::remove_file(&part);
    }
    Ok(written?)
}

fn write_part(part: &Path, code: &[u8]) -> io::Result<()> {
    let mut out: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
    out.write_all(&Sha256::digest(code))?;
    out.write_all(code)?;
    out.sync_all()
}

/// Whether the directory is this user's and nobody else can enter it. A symbolic link is not followed.
fn check_private(directory: &Path) -> Result<(), CacheError> {
    let found = fs::symlink_metadata(directory)?;
    let owner = rustix::process::geteuid().as_raw();
    if found.is_dir() && found.uid() == owner && found.mode().trailing_zeros() >= 6 {
        Ok(())
    } else {
        Err(CacheError::NotPrivate(directory.to_owned()))
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
