//! The measurements. They are of the release build: nothing else is what users run.

use std::ffi::OsString;

use anyhow::Result;

use crate::{command, paths, say, wasm};

/// Builds the bench program and runs it; it prints a table and writes `target/bench.json`.
///
/// # Errors
/// Something does not build, or the bench program fails.
pub(crate) fn run(rest: &[OsString]) -> Result<()> {
    wasm::run()?;
    let report = paths::target("bench.json");
    let step = say::step("Build in release and measure", Some("the first build takes several minutes"));
    let mut bench = command::cargo();
    bench.args(["run", "--release", "--package", "tackroom-bench", "--", "--out"]).arg(&report).args(rest);
    command::run(&mut bench, "measure")?;
    step.done(&paths::shown(&report));
    Ok(())
}
