//! Everything that can be said about the code without running it.

mod dependencies;
mod house;

use anyhow::{Result, bail};

use crate::{command, say, wasm};

/// One thing that is checked: its name and what checks it.
type Check = (&'static str, fn() -> Result<()>);

/// The cheap ones come first.
const CHECKS: [Check; 5] = [
    ("Formatting", formatting),
    ("House rules", house::check),
    ("Dependencies", dependencies::check),
    ("Lints", lints),
    ("Documentation", documentation),
];

/// Checks everything and tells each failure, so that one run shows all there is to repair.
///
/// # Errors
/// Something is not as it should be.
pub(crate) fn run() -> Result<()> {
    let mut failures = Vec::new();
    for (name, check) in CHECKS {
        let step = say::step(name, None);
        match check() {
            Ok(()) => step.done("in order"),
            Err(error) => {
                eprintln!("{error:#}");
                step.done("NOT in order");
                failures.push(name);
            }
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    bail!("Not in order: {}. `cargo xtask fix` repairs what has only one answer.", failures.join(", "));
}

fn formatting() -> Result<()> {
    command::run(command::cargo().args(["fmt", "--all", "--check"]), "check the formatting")
}

fn lints() -> Result<()> {
    wasm::run()?;
    let mut clippy = command::cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
    command::run(&mut clippy, "find lints")
}

fn documentation() -> Result<()> {
    wasm::run()?;
    let mut doc = command::cargo();
    doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny=warnings");
    command::run(&mut doc, "build the documentation")
}
