//! Plays worlds by seed: `tackroom-sim [--seed N] [--seeds COUNT] [--from N] [--out FILE]`.

use std::process::ExitCode;

use tackroom_sim::run;
use tackroom_sim::trace::Trace;

fn number(arguments: &[String], name: &str) -> Option<u64> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1)?.parse().ok()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let out = arguments.iter().position(|argument| argument == "--out").and_then(|at| arguments.get(at + 1));
    if let Some(seed) = number(&arguments, "--seed") {
        let mut trace = Trace::new(true);
        let result = run(seed, None, &mut trace);
        let path = out.cloned().unwrap_or_else(|| format!("target/sim-{seed}.txt"));
        if let Err(error) = std::fs::write(&path, trace.lines().join("\n")) {
            eprintln!("The trace could not be written to {path}: {error}");
        } else {
            println!("The trace is in {path}.");
        }
        return report(result);
    }
    let from = number(&arguments, "--from").unwrap_or(0);
    let count = number(&arguments, "--seeds").unwrap_or(200);
    let (mut steps, mut crashes) = (0, 0);
    for seed in from..from + count {
        match run(seed, None, &mut Trace::new(false)) {
            Ok(one) => {
                steps += one.steps;
                crashes += one.crashes;
            }
            Err(violation) => return report(Err(violation)),
        }
    }
    println!("{count} worlds, {steps} steps, {crashes} hosts that died; every invariant held.");
    ExitCode::SUCCESS
}

fn report(result: Result<tackroom_sim::Report, tackroom_sim::Violation>) -> ExitCode {
    match result {
        Ok(report) => {
            println!(
                "Seed {}: {} steps, {} crashes, mark {:016x}.",
                report.seed, report.steps, report.crashes, report.mark
            );
            ExitCode::SUCCESS
        }
        Err(violation) => {
            eprintln!("{violation}");
            ExitCode::FAILURE
        }
    }
}
