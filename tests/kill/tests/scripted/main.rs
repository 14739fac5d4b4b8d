//! `tackroom serve` with the scripted agent, killed at random moments under load and started again on the same data.
//!
//! The dice decide what the clients do and when the kill comes; `TACKROOM_KILL_SEED` gives their seed. What the machine
//! makes of it differs from run to run, so that a seed repeats the load and not every interleaving.

mod books;
mod check;
mod load;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};
use tackroom_kill::{Api, Host, Launch, Process, none_left, of, program};

use books::{Book, Books};
use load::Client;

/// Rounds at scale 1.
const ROUNDS: u64 = 10;
const CLIENTS: usize = 6;
/// Sessions that go from one round into the next.
const SESSIONS: usize = 8;
/// What a killed host's processes may take to follow it.
const FOLLOW: Duration = Duration::from_secs(10);

/// A turn of each kind, chosen by the message. Every allowed tool writes a line with its session's directory.
fn scenario(ran: &Path) -> Value {
    let tool = format!("pwd >> '{}'", ran.display());
    json!({
        "chars": 5,
        "turns": [
            { "match": "\\[slow\\]", "steps": [
                { "type": "reasoning", "text": "This takes a while." },
                { "type": "text", "text": "One after the other, and never all at once, for there is time.", "delayMs": 40 },
            ] },
            { "match": "\\[tool\\]", "steps": [
                { "type": "tool", "command": "setsid sleep 300 >/dev/null 2>&1 & sleep 0.4; echo done" },
                { "type": "text", "text": "Done: {{output}}" },
            ] },
            { "match": "\\[ask\\]", "steps": [
                { "type": "text", "text": "May I?" },
                { "type": "tool", "command": tool, "approval": true },
                { "type": "text", "text": "Thank you." },
            ] },
            { "match": "\\[two\\]", "steps": [
                { "type": "tools", "calls": [
                    { "command": tool, "approval": true }, { "command": tool, "approval": true },
                ] },
                { "type": "text", "text": "Both are answered." },
            ] },
            { "match": "\\[question\\]", "steps": [
                { "type": "question", "input": { "questions": [{ "question": "Which?" }] } },
                { "type": "text", "text": "You said {{answer}}" },
            ] },
            { "match": "\\[fail\\]", "steps": [{ "type": "fail", "message": "The model is away." }] },
            { "match": "\\[exit\\]", "steps": [{ "type": "text", "text": "I leave." }, { "type": "exit" }] },
        ],
        "default": [{ "type": "text", "text": "You said: {{prompt}}" }],
    })
}

fn scale() -> u64 {
    std::env::var("TACKROOM_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

fn seed() -> u64 {
    let given = std::env::var("TACKROOM_KILL_SEED").ok();
    given.map_or_else(|| Rng::new().u64(..), |seed| seed.parse().expect("TACKROOM_KILL_SEED has to be a number"))
}

#[test]
fn nothing_acknowledged_is_lost_when_the_program_is_killed() {
    let (seed, scale) = (seed(), scale());
    println!(
        "To play this again: TACKROOM_KILL_SEED={seed} TACKROOM_TEST_SCALE={scale} \
         cargo test --package tackroom-kill --test scripted -- --nocapture"
    );
    let directory = tempfile::tempdir().unwrap();
    let outcome = play(directory.path(), &mut Rng::with_seed(seed), ROUNDS * scale);
    if let Err(words) = outcome {
        let kept = directory.keep();
        panic!("seed {seed}: {words}\nThe data directory and the log are kept in {}.", kept.display());
    }
}

fn play(directory: &Path, dice: &mut Rng, rounds: u64) -> Result<(), String> {
    let scenario_file = directory.join("scenario.json");
    let ran = directory.join("ran.log");
    std::fs::write(&scenario_file, scenario(&ran).to_string()).map_err(|error| error.to_string())?;
    let flags = ["--agent", "scripted", "--scenario", &scenario_file.to_string_lossy()].map(str::to_owned).to_vec();
    let launch = Launch {
        program: program()?,
        data: directory.join("data"),
        log: directory.join("log.txt"),
        flags,
        variables: Vec::new(),
    };
    let books = Books::default();
    let mut retired = Vec::new();
    let mut host = Host::start(&launch)?;
    for round in 0..rounds {
        let began = Instant::now();
        books.round.store(round, Ordering::SeqCst);
        let moment = Duration::from_millis(dice.u64(50..2_500));
        let outlived = kill_under_load(host, &launch, &books, dice, moment);
        host = Host::start(&launch)?;
        none_left(&outlived, FOLLOW)?;
        let kept = books.all();
        let checked = each(host.api(), &books, &kept, &ran);
        checked.map_err(|words| format!("round {round}, killed after {moment:?}: {words}"))?;
        let sent = kept.iter().map(|book| book.log().messages.len()).sum::<usize>();
        let (sessions, took) = (kept.len(), began.elapsed());
        println!("round {round}: killed after {moment:?}; {sessions} sessions, {sent} messages hold; {took:.1?}");
        retired.extend(books.retire(SESSIONS));
    }
    each(host.api(), &books, &retired, &ran).map_err(|words| format!("at the end: {words}"))?;
    let left = of(&launch.data, &[host.id()]);
    host.stop(Duration::from_secs(10))?;
    none_left(&left, FOLLOW)
}

/// Runs clients, kills the host in their midst, and gives the processes that have not followed it yet.
fn kill_under_load(host: Host, launch: &Launch, books: &Books, dice: &mut Rng, moment: Duration) -> Vec<Process> {
    books.stop.store(false, Ordering::SeqCst);
    let api = host.api();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let client = Client { api, books, dice: dice.fork() };
            scope.spawn(move || client.run());
        }
        thread::sleep(moment);
        books.stop.store(true, Ordering::SeqCst);
        host.kill();
        of(&launch.data, &[])
    })
}

/// Checks sessions, several at once, and counts what their tools wrote.
fn each(api: Api, books: &Books, sessions: &[Arc<Book>], ran: &Path) -> Result<(), String> {
    if let Some(problem) = books.problems().first() {
        return Err(problem.clone());
    }
    let (first, second) = sessions.split_at(sessions.len() / 2);
    let check = |part: &[Arc<Book>]| part.iter().try_for_each(|book| check::session(api, books, book));
    thread::scope(|scope| {
        let other = scope.spawn(|| check(second));
        check(first).and(other.join().map_err(|_| "a check panicked".to_owned())?)
    })?;
    let lines = std::fs::read_to_string(ran).unwrap_or_default();
    for book in sessions {
        let name = format!("/{}/", book.id);
        let (ran, allowed) = (lines.lines().filter(|line| line.contains(&name)).count(), book.log().allowed);
        if ran > allowed {
            return Err(format!("{}: tools ran {ran} times, and were allowed {allowed} times", book.id));
        }
    }
    Ok(())
}
