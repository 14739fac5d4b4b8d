//! What can repair itself: lints that have one answer, then formatting.

use anyhow::Result;

use crate::{command, say, wasm};

/// Applies the lints that can apply themselves, and formats.
///
/// # Errors
/// Something does not compile, or cannot be formatted.
pub(crate) fn run() -> Result<()> {
    wasm::run()?;
    let step = say::step("Apply lints and format", None);
    let mut clippy = command::cargo();
    clippy.args(["clippy", "--fix", "--workspace", "--all-targets", "--allow-dirty", "--allow-staged"]);
    command::run(&mut clippy, "apply lints")?;
    command::run(command::cargo().args(["fmt", "--all"]), "format")?;
    step.done("look at what changed before you commit");
    Ok(())
}
