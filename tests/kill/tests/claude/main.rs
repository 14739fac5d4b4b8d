//! `tackroom serve` with Claude Code, really run at every version that `TACKROOM_AGENTS` names, against a scripted model
//! server: the agent, the host, or both are killed while sessions stream, run and wait for a person.

mod model;
mod round;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tackroom_kill::{Host, Launch, none_left, of, program};
use tackroom_model_server::ModelServer;
use tokio::runtime::Runtime;

use round::{Killed, Round};

/// How long a gated call is held before its process is let go: long enough to be killed while it is.
const HOLD: &str = "4s";
/// What the program may take to suspend every session and exit.
const STOP: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Program {
    agent: String,
    version: String,
    path: PathBuf,
}

fn agents() -> Vec<Program> {
    let file = std::env::var_os("TACKROOM_AGENTS");
    let file = file.expect("this test runs real agent programs; `cargo xtask test` sets TACKROOM_AGENTS");
    let text = std::fs::read_to_string(&file).expect("the file named by TACKROOM_AGENTS can be read");
    let agents: Vec<Program> = serde_json::from_str(&text).expect("the file named by TACKROOM_AGENTS lists agents");
    agents.into_iter().filter(|agent| agent.agent == "claude").collect()
}

fn rounds() -> u64 {
    std::env::var("TACKROOM_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

#[test]
fn every_pause_is_answered_once_whoever_was_killed() {
    let agents = agents();
    assert!(!agents.is_empty(), "the file named by TACKROOM_AGENTS names no claude");
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(ModelServer::start()).unwrap();
    for agent in &agents {
        let directory = tempfile::tempdir().unwrap();
        if let Err(words) = play(&runtime, &server, agent, directory.path()) {
            let kept = directory.keep();
            panic!("{}: {words}\nThe data directory and the log are kept in {}.", agent.version, kept.display());
        }
    }
}

/// Plays all rounds at one version, on one data directory.
fn play(runtime: &Runtime, server: &ModelServer, agent: &Program, directory: &Path) -> Result<(), String> {
    // The server's connections are tasks of this runtime.
    let _entered = runtime.enter();
    let name = agent.version.replace('.', "_");
    let variables = [("ANTHROPIC_BASE_URL", server.base_url(&name)), ("ANTHROPIC_API_KEY", "sk-ant-test-key".into())];
    let path = agent.path.canonicalize().map_err(|error| format!("{}: {error}", agent.path.display()))?;
    let flags = ["--agent", "claude", "--claude", &path.to_string_lossy(), "--hold", HOLD].map(str::to_owned);
    let launch = Launch {
        program: program()?,
        data: directory.join("data"),
        log: directory.join("log.txt"),
        flags: flags.to_vec(),
        variables: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
    };
    let mut host = Host::start(&launch)?;
    let mut sessions = Vec::new();
    for round in 0..rounds() {
        for killed in [Killed::Agent, Killed::Host, Killed::Both] {
            let began = Instant::now();
            let played = Round::new(&launch, &path, server, &name, directory, &format!("r{round}-{killed}"));
            let (next, opened) =
                played.play(host, killed).map_err(|words| format!("round {round}, {killed}: {words}"))?;
            host = next;
            sessions.extend(opened);
            println!("{}: round {round}, {killed} killed: holds; {:.1?}", agent.version, began.elapsed());
        }
    }
    for session in &sessions {
        round::answers_another(host.api(), session).map_err(|words| format!("at the end: {words}"))?;
    }
    let left = of(&launch.data, &[host.id()]);
    host.stop(STOP)?;
    none_left(&left, STOP)
}
