//! Every test, the fast ones first, and one line at the end that says how many passed.

use std::{path::PathBuf, process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::{
    command,
    libtest::{self, Tally},
    say, setup, wasm,
};

mod outside;

/// Multiplies the counts of the tests that run many rounds.
const SCALE: &str = "TACKROOM_TEST_SCALE";

/// One part of the test run.
struct Step {
    /// What it is called, for the user and for `--only`.
    name: &'static str,
    /// Runs it. An error is a failed test.
    run: fn(&Run) -> Result<Tally>,
}

/// In the order in which they run: what fails soonest comes first.
const STEPS: [Step; 8] = [
    Step { name: "core", run: |run| run.cargo_test(&["--package", "tackroom-core"]) },
    Step { name: "build program", run: |run| run.cargo_test(&["--package", "xtask", "--package", "wasm-tool"]) },
    Step { name: "simulator", run: |run| run.cargo_test(&["--package", "tackroom-sim"]) },
    Step {
        name: "host",
        run: |run| {
            wasm::run()?;
            setup::for_tests()?;
            run.cargo_test(&[
                "--workspace",
                "--exclude=tackroom-core",
                "--exclude=tackroom-component",
                "--exclude=tackroom-kill",
                "--exclude=tackroom-sim",
                "--exclude=wasm-tool",
                "--exclude=xtask",
            ])
        },
    },
    Step {
        name: "kill",
        run: |run| {
            outside::program()?;
            run.cargo_test(&["--package", "tackroom-kill"])
        },
    },
    Step { name: "ai package", run: |_| outside::ai_package() },
    Step { name: "Claude Code", run: |_| outside::claude() },
    Step {
        name: "Claude Code killed",
        run: |run| {
            outside::program()?;
            let which = ["--package", "tackroom-kill", "--features", "claude-kill", "--test", "claude"];
            run.cargo_test_with(&which, &[outside::agents()])
        },
    },
];

/// What all steps have in common.
struct Run {
    /// Full counts rather than a tenth.
    long: bool,
}

/// Runs the steps, all of them or those whose name contains `only`.
///
/// # Errors
/// A test failed, or no step has such a name.
pub(crate) fn run(long: bool, only: Option<&str>) -> Result<()> {
    let run = Run { long };
    let steps: Vec<&Step> = STEPS.iter().filter(|step| only.is_none_or(|only| step.name.contains(only))).collect();
    if steps.is_empty() {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("No step has `{}` in its name. There are: {}.", only.unwrap_or_default(), names.join(", "));
    }
    let started = Instant::now();
    let mut total = Tally::default();
    for (index, step) in steps.iter().enumerate() {
        let shown = say::step(&format!("Test {} of {}: {}", index + 1, steps.len(), step.name), None);
        let tally = (step.run)(&run).unwrap_or_else(|error| {
            eprintln!("    {}: {error:#}", step.name);
            Tally { passed: 0, failed: 1 }
        });
        shown.done(&counts(tally));
        total += tally;
    }
    say::note(&format!("All steps took {}.", say::seconds(started.elapsed())));
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 {
        bail!("Tests failed; their output stands above.");
    }
    Ok(())
}

impl Run {
    /// Runs `cargo test` for some packages and counts what it says.
    fn cargo_test(&self, which: &[&str]) -> Result<Tally> {
        self.cargo_test_with(which, &[])
    }

    /// The same with further variables in the environment.
    fn cargo_test_with(&self, which: &[&str], variables: &[(&str, PathBuf)]) -> Result<Tally> {
        let mut cargo = command::cargo();
        cargo.args(["test", "--no-fail-fast"]).args(which);
        cargo.envs(variables.iter().map(|(name, value)| (name, value)));
        self.scale(&mut cargo);
        let mut tally = Tally::default();
        let succeeded = command::lines(&mut cargo, "run tests", |line| {
            tally += libtest::summary(line).unwrap_or_default();
            libtest::worth_showing(line)
        })?;
        // It did not compile, or a test program died before it could say which test failed.
        if !succeeded && tally.failed == 0 {
            tally.failed = 1;
        }
        Ok(tally)
    }

    /// Tells the tests how many rounds to run; a wish of the user's own stands.
    fn scale(&self, command: &mut Command) {
        if self.long {
            command.env(SCALE, "10");
        } else if std::env::var_os(SCALE).is_none() {
            command.env(SCALE, "1");
        }
    }
}

/// A step's result. It is worded so that nobody, nor any program, takes it for the line at the end.
fn counts(tally: Tally) -> String {
    match tally.failed {
        0 => format!("{} tests passed", tally.passed),
        failed => format!("{} tests passed and {failed} FAILED", tally.passed),
    }
}
