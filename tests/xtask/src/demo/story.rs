//! What the demonstration tells.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{command, say};

/// Plays a session through the program and tells in plain words what happens.
///
/// # Errors
/// The program cannot be started or does not do what is told of it.
pub(crate) fn run(binary: &Path) -> Result<()> {
    let version = command::output(Command::new(binary).arg("--version"), "tell its version")?;
    say::note(&format!("The program was built: {version}"));
    Ok(())
}
