//! The simulator, alone: many seeds, or the one to be looked into.

use anyhow::Result;

use crate::{command, say, wasm};

/// Builds and runs the simulator. With a seed it replays that one and names the file with its events.
///
/// # Errors
/// It does not build, or an invariant does not hold.
pub(crate) fn run(seed: Option<u64>) -> Result<()> {
    wasm::run()?;
    let step = say::step("Simulate", None);
    let mut sim = command::cargo();
    sim.args(["run", "--package", "tackroom-sim", "--"]);
    if let Some(seed) = seed {
        sim.args(["--seed", &seed.to_string()]);
    }
    command::run(&mut sim, "simulate")?;
    step.done("every invariant held");
    Ok(())
}
