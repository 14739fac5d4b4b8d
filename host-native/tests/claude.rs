//! The Claude Code CLI, really run at two versions against a scripted model server: every case at every version, and a
//! table of them at the end.
//!
//! `TACKROOM_AGENTS` names a JSON file of `[{"agent": "claude", "version": "...", "path": "..."}]`. Arguments are parts
//! of case names to run alone.

#[path = "claude/cases.rs"]
mod cases;
#[path = "claude/faults.rs"]
mod faults;
#[path = "claude/pauses.rs"]
mod pauses;
#[path = "claude/processes.rs"]
mod processes;
#[path = "claude/world.rs"]
mod world;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tackroom::ports::Sandboxes;
use tackroom::sandboxes::local::LocalSandboxes;
use tackroom_model_server::ModelServer;

use world::World;

/// The longest that a case may take, generous for a machine that does much else.
const CASE_DEADLINE: Duration = Duration::from_secs(150);

/// What became of a case.
type Outcome = Result<(), String>;

/// A case.
pub(crate) type Case = (&'static str, Play);

/// How a case is played.
type Play = fn(World) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Names a case after its function.
#[macro_export]
macro_rules! case {
    ($name:ident) => {
        (stringify!($name), |world| Box::pin($name(world)))
    };
}

#[derive(Deserialize)]
struct Program {
    agent: String,
    version: String,
    path: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(file) = std::env::var_os("TACKROOM_AGENTS") else {
        eprintln!("These tests run real agent programs. Run them by `cargo xtask test`, which sets TACKROOM_AGENTS.");
        return ExitCode::FAILURE;
    };
    let text = std::fs::read_to_string(&file).expect("the file named by TACKROOM_AGENTS can be read");
    let programs: Vec<Program> = serde_json::from_str(&text).expect("the file named by TACKROOM_AGENTS lists agents");
    let programs = programs.into_iter().filter(|program| program.agent == "claude").collect::<Vec<_>>();
    let wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect::<Vec<_>>();
    let cases = cases::all().into_iter().chain(pauses::all()).chain(faults::all());
    let cases = cases.filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())));
    let server = Arc::new(ModelServer::start().await.expect("a port of loopback is free"));
    let root = std::env::temp_dir().join(format!("tackroom-claude-{}", std::process::id()));
    let places = LocalSandboxes::per_session(&root, 16).await.expect("the test's directory can be made");
    let mut rows = Vec::new();
    for (name, case) in cases {
        let runs = programs.iter().map(|program| run(&server, &places, program, name, case));
        rows.push((name, futures_util::future::join_all(runs).await));
    }
    places.shutdown().await.expect("sandboxes can be shut down");
    std::fs::remove_dir_all(&root).expect("the test's directory can be removed");
    report(&programs, &rows)
}

async fn run(
    server: &Arc<ModelServer>,
    places: &LocalSandboxes,
    program: &Program,
    name: &str,
    case: Play,
) -> (Outcome, Duration) {
    let began = Instant::now();
    let own = format!("{name}-{}", program.version.replace('.', "_"));
    let lease = places.acquire(&own, false).await.expect("the test's directory can be made");
    let world = World::new(server, &program.path, &own, lease.sandbox());
    let left = World::new(server, &program.path, &own, lease.sandbox());
    let outcome = match tokio::time::timeout(CASE_DEADLINE, tokio::spawn(case(world))).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(panic.to_string()),
        Err(_) => Err(format!("the case took longer than {} seconds", CASE_DEADLINE.as_secs())),
    };
    let outcome = match (outcome, left.is_empty().await) {
        (Ok(()), false) => Err("a process was left behind".to_owned()),
        (outcome, _) => outcome,
    };
    if let Err(words) = &outcome {
        eprintln!("{name} at {}: {words}", program.version);
        left.crash().await;
    }
    lease.close().await.expect("the test's directory can be removed");
    (outcome, began.elapsed())
}

fn report(programs: &[Program], rows: &[(&str, Vec<(Outcome, Duration)>)]) -> ExitCode {
    print!("\n{:<44}", "case");
    for program in programs {
        print!("{:>18}", program.version);
    }
    println!();
    for (name, outcomes) in rows {
        print!("{:<44}", name.replace('_', " "));
        for (outcome, took) in outcomes {
            let word = if outcome.is_ok() { "ok" } else { "FAILED" };
            print!("{:>18}", format!("{word} {:.1} s", took.as_secs_f64()));
        }
        println!();
    }
    let failed = rows.iter().flat_map(|(_, outcomes)| outcomes).filter(|(outcome, _)| outcome.is_err()).count();
    println!("{failed} failed of {}", rows.len() * programs.len());
    if failed == 0 && !programs.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
