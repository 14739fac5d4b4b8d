//! The demonstration: the README's first command, on a machine that may have nothing but Rust.
//!
//! The program is built without optimisation of its own code: that gives the first line of output soonest.

mod client;
mod server;
mod story;

use std::path::PathBuf;

use anyhow::Result;

use crate::{command, paths, say, wasm};

/// Builds the program and plays a session through it.
///
/// # Errors
/// Something does not build, or the session does not go as it should.
pub(crate) fn run() -> Result<()> {
    println!(
        "tackroom keeps sessions with coding agents. The demonstration is built first; then it needs seconds only."
    );
    wasm::run()?;
    story::run(&build()?)
}

/// Builds the program `tackroom` and gives its path.
pub(crate) fn build() -> Result<PathBuf> {
    let step = say::step("Build the program", Some("three to six minutes at first, seconds afterwards"));
    let mut cargo = command::cargo();
    cargo.args(["build", "--package", "tackroom", "--bins"]);
    command::run(&mut cargo, "build the program")?;
    let binary = paths::cargo_target().join("debug").join(format!("tackroom{}", std::env::consts::EXE_SUFFIX));
    step.done(&paths::shown(&binary));
    Ok(binary)
}
