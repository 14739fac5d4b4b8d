//! What a bare machine lacks. Every part may be repeated: what is there already is left as it is.

mod agents;
pub(crate) mod node;

use anyhow::{Context, Result, bail};

use crate::{say, wasm};

/// One part of the setup: its name and what installs it.
type Part = (&'static str, fn() -> Result<()>);

const PARTS: [Part; 3] =
    [("The WebAssembly toolchain", toolchain), ("Node", node::install), ("The agent programs", agents::install)];

/// Installs the WebAssembly toolchain, Node with the packages of the tests, and the agent programs.
///
/// # Errors
/// Something could not be installed. The other parts are installed all the same, and each failure is told.
pub(crate) fn run() -> Result<()> {
    let mut failures = Vec::new();
    for (name, install) in PARTS {
        if let Err(error) = install() {
            eprintln!("    {name}: {error:#}");
            failures.push(name);
        }
    }
    if failures.is_empty() {
        say::note("Everything is here.");
        return Ok(());
    }
    bail!("Not everything could be installed: {}. The reasons stand above.", failures.join(", "));
}

/// Sees to Node and the agent programs, for tests that need them.
///
/// # Errors
/// One of them cannot be installed.
pub(crate) fn for_tests() -> Result<()> {
    node::install().context("Node and its packages could not be installed.")?;
    agents::install().context("The agent programs could not be installed.")
}

fn toolchain() -> Result<()> {
    let step = say::step("WebAssembly toolchain", None);
    let compiler = wasm::prepare()?;
    step.done(&format!("{} ({})", compiler.rustc.display(), compiler.version.lines().next().unwrap_or_default()));
    Ok(())
}
