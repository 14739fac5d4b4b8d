//! Tests against real programs: the `ai` package in Node, and Claude Code at both pinned versions.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::libtest::Tally;
use crate::{command, paths, setup, wasm};

/// Folded and settled messages are held against the `ai` package itself.
///
/// # Errors
/// The messages cannot be written, or the package makes something else of them.
pub(crate) fn ai_package() -> Result<Tally> {
    setup::for_tests()?;
    let dump = paths::target("ai-package-cases.json");
    let mut write = command::cargo();
    write.args(["test", "--package", "tackroom-core", "--test", "dump", "--", "--ignored"]).env("TACKROOM_DUMP", &dump);
    command::output(&mut write, "write the messages")?;
    let mut check = std::process::Command::new(setup::node::program()?);
    check.current_dir(paths::root().join("tests/ai-package")).arg("check.mjs").arg(&dump);
    let said = command::output(&mut check, "hold the messages against the ai package")?;
    println!("    {}", said.trim());
    Ok(Tally { passed: 1, failed: 0 })
}

/// The agent's adapter with the real program, every case at both versions.
///
/// # Errors
/// It does not build, or prints no closing line.
pub(crate) fn claude() -> Result<Tally> {
    setup::for_tests()?;
    let mut cases = command::cargo();
    cases.args(["test", "--package", "tackroom", "--features", "agent-tests", "--test", "claude"]);
    cases.envs([agents()]);
    let mut closing = None;
    let succeeded = command::lines(&mut cases, "run Claude Code", |line| {
        closing = counts(line).or(closing);
        true
    })?;
    let tally = closing.context("the cases ended without saying how many failed")?;
    if !succeeded && tally.failed == 0 {
        bail!("the cases ended with a failure that none of them names");
    }
    Ok(tally)
}

/// The variable that says where the agents are.
pub(crate) fn agents() -> (&'static str, PathBuf) {
    ("TACKROOM_AGENTS", paths::target("agents/agents.json"))
}

/// Builds the program for tests that see it from outside alone.
///
/// # Errors
/// It does not build.
pub(crate) fn program() -> Result<()> {
    wasm::run()?;
    setup::for_tests()?;
    let mut build = command::cargo();
    build.args(["build", "--package", "tackroom", "--bins"]);
    command::output(&mut build, "build the program")?;
    Ok(())
}

/// Reads `3 failed of 82`.
fn counts(line: &str) -> Option<Tally> {
    let (failed, all) = line.split_once(" failed of ")?;
    let (failed, all): (u64, u64) = (failed.trim().parse().ok()?, all.trim().parse().ok()?);
    Some(Tally { passed: all.checked_sub(failed)?, failed })
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn the_closing_line_is_read_and_nothing_else() {
        let tally = counts("3 failed of 82").unwrap();
        assert_eq!((tally.passed, tally.failed), (79, 3));
        assert!(counts("none failed of 82").is_none());
        assert!(counts("9 failed of 8").is_none());
        assert!(counts("82 cases").is_none());
    }
}
