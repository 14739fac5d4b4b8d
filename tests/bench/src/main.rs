//! Measures the engine and the Rust host, and says of each goal whether it is reached.
//!
//! `cargo xtask bench` builds it in release and runs it. Each row's module says what is measured; ratios take their two
//! sides in turn within one run, so that what slows the machine slows both.

mod args;
mod child;
mod face;
mod host;
mod journey;
mod paced;
mod report;
mod rows;
mod sample;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use args::{Args, USAGE};
use report::Row;
use rows::{GROUPS, Ground};

/// Threads that run the host, its agents and its readers.
const CORES: usize = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args = Args::parse(std::env::args_os().skip(1))?;
    if args.help {
        println!("{USAGE}");
        return Ok(());
    }
    if args.list {
        for group in GROUPS {
            println!("{}", group.name);
        }
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(CORES).enable_all().build()?;
    if let Some((name, arguments)) = &args.child {
        let words: Option<Vec<String>> = arguments.iter().map(|word| word.to_str().map(str::to_owned)).collect();
        let found = runtime.block_on(rows::in_child(name, &words.context("Arguments have to be UTF-8.")?))?;
        println!("{found}");
        return Ok(());
    }
    ensure!(GROUPS.iter().any(|group| args.wants(group.name)), "No group has such a name; --list prints them.");
    let directory = args.directory()?;
    let ground = Ground { quick: args.quick, directory: directory.clone() };
    let measured = runtime.block_on(measure(&args, &ground));
    std::fs::remove_dir_all(&directory).with_context(|| format!("{} cannot be removed.", directory.display()))?;
    let rows = measured?;
    let machine = machine(&ground, &directory);
    print!("{}", report::table(&rows));
    say_what_was_measured(&args, &machine);
    if let Some(out) = &args.out {
        let text = serde_json::to_string_pretty(&report::json(&rows, &machine))?;
        std::fs::write(out, text + "\n").with_context(|| format!("{} cannot be written.", out.display()))?;
    }
    Ok(())
}

async fn measure(args: &Args, ground: &Ground) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for group in GROUPS.iter().filter(|group| args.wants(group.name)) {
        let start = Instant::now();
        eprint!("{} ... ", group.name);
        let measured = (group.measure)(ground).await;
        rows.extend(measured.with_context(|| format!("The group {:?} could not be measured.", group.name))?);
        eprintln!("{:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(rows)
}

/// What a reader has to know of where figures come from.
fn machine(ground: &Ground, directory: &Path) -> Value {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|load| load.split_whitespace().next()).unwrap_or("unknown");
    json!({
        "cores": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        "load": load,
        "release": !cfg!(debug_assertions),
        "quick": ground.quick,
        "diskIsMemory": is_memory(directory.parent().unwrap_or(directory)),
        "clockNs": clock_ns(),
    })
}

fn is_memory(directory: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    // A file system that cannot be asked is not known to be one.
    rustix::fs::statfs(directory).is_ok_and(|found| found.f_type == TMPFS)
}

/// What reading the clock twice adds to each call that is timed alone, in nanoseconds.
fn clock_ns() -> f64 {
    let mut samples = sample::Samples::default();
    for _ in 0..10_000 {
        let start = Instant::now();
        samples.time(start.elapsed());
    }
    samples.figures().map_or(0.0, |figures| figures.median)
}

fn say_what_was_measured(args: &Args, machine: &Value) {
    println!(
        "\n{} cores, load {}; the clock itself takes {:.0} ns of each call that is timed alone.",
        machine["cores"],
        machine["load"].as_str().unwrap_or_default(),
        machine["clockNs"].as_f64().unwrap_or_default(),
    );
    if cfg!(debug_assertions) {
        println!("This is not a release build: its figures say nothing of what users run.");
    }
    if args.quick {
        println!("This was a quick run, of small worlds: its figures say nothing of the goals.");
    }
    if machine["diskIsMemory"] == true {
        println!("The databases were in memory, not on a disk: name one with --dir.");
    }
}
