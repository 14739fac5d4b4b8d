//! `tackroom replay`: plays a recorded journal through the engine, step by step, or compares what two journals lead to.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tackroom::engine::types::{Chunk, Config, Input, Now};
use tackroom::engine::{Cache, CompiledEngine, EngineFault, EngineInstance};

use crate::cli::Replay;
use crate::exit::Failure;

/// One line of a journal.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    /// Absent where a new engine begins.
    now: Option<Now>,
    #[serde(flatten)]
    call: Call,
}

/// One call of the engine.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Call {
    /// A new engine.
    Config(Box<Config>),
    /// `step`.
    Input(Box<Input>),
    /// `push`.
    Push { session: String, turn: String, cursor: u64, chunks: Vec<Chunk> },
}

/// A line and what the engine answered.
struct Played {
    line: usize,
    input: Value,
    answer: Value,
}

/// Plays one journal.
struct Player {
    engine: CompiledEngine,
    instance: Option<EngineInstance>,
    lines: std::io::Lines<BufReader<File>>,
    shown: String,
    line: usize,
}

pub(crate) fn run(replay: &Replay) -> Result<(), Failure> {
    let engine = CompiledEngine::load(&Cache::of_user()).map_err(Failure::failed)?;
    let mut first = Player::open(&replay.file, &engine)?;
    match &replay.diff {
        None => print_all(&mut first, replay.json),
        Some(other) => compare(&mut first, &mut Player::open(other, &engine)?, replay.json),
    }
}

impl Player {
    fn open(file: &Path, engine: &CompiledEngine) -> Result<Self, Failure> {
        let shown = file.display().to_string();
        let open = File::open(file).map_err(|error| Failure::failed(format!("{shown} cannot be read: {error}.")))?;
        Ok(Self { engine: engine.clone(), instance: None, lines: BufReader::new(open).lines(), shown, line: 0 })
    }

    /// Plays the next line; none at the end. A last line that was cut off, as a killed host leaves it, is the end.
    fn next(&mut self) -> Result<Option<Played>, Failure> {
        let Some(text) = self.lines.next() else { return Ok(None) };
        self.line += 1;
        let text = text.map_err(|error| self.wrong(&error))?;
        let line: Line = match serde_json::from_str(&text) {
            Ok(line) => line,
            Err(error) if error.is_eof() => return Ok(None),
            Err(error) => return Err(self.wrong(&error)),
        };
        let input = serde_json::from_str(&text).map_err(|error| self.wrong(&error))?;
        let answer = self.play(line)?;
        Ok(Some(Played { line: self.line, input, answer }))
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::failed(format!("{}, line {}: this is no journal of this version: {error}.", self.shown, self.line))
    }

    fn play(&mut self, line: Line) -> Result<Value, Failure> {
        let at = |fault: EngineFault| Ok(json!({ "fault": fault.to_string() }));
        if let Call::Config(config) = line.call {
            self.instance = Some(self.engine.instance(&config).map_err(Failure::failed)?);
            return Ok(json!({ "engine": "new" }));
        }
        let Some(instance) = &mut self.instance else {
            return Err(Failure::failed(format!(
                "{}, line {}: a journal begins with `config`.",
                self.shown, self.line
            )));
        };
        let Some(now) = line.now else {
            return Err(Failure::failed(format!("{}, line {}: the moment (`now`) is missing.", self.shown, self.line)));
        };
        match line.call {
            Call::Config(_) => Ok(Value::Null),
            Call::Input(input) => match instance.step(now, &input) {
                Ok(Ok(step)) => Ok(json!({ "step": step })),
                Ok(Err(rejection)) => Ok(json!({ "rejection": rejection })),
                Err(fault) => at(fault),
            },
            Call::Push { session, turn, cursor, chunks } => {
                match instance.push(now, &session, &turn, cursor, &chunks) {
                    Ok(pushed) => Ok(json!({ "pushed": pushed })),
                    Err(fault) => at(fault),
                }
            }
        }
    }
}

fn print_all(player: &mut Player, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    while let Some(played) = player.next()? {
        if json {
            writeln!(out, "{}", json!({ "line": played.line, "input": played.input, "answer": played.answer }))?;
        } else {
            writeln!(out, "{:>6}  {}", played.line, played.input)?;
            writeln!(out, "        -> {}", played.answer)?;
        }
    }
    Ok(())
}

fn compare(first: &mut Player, second: &mut Player, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    loop {
        let (one, other) = (first.next()?, second.next()?);
        let same = |one: &Played, other: &Played| one.input == other.input && one.answer == other.answer;
        let line = match (&one, &other) {
            (None, None) => {
                let text = if json { json!({ "differ": false }).to_string() } else { "No difference.".to_owned() };
                writeln!(out, "{text}")?;
                return Ok(());
            }
            (Some(one), Some(other)) if same(one, other) => continue,
            (Some(played), _) | (_, Some(played)) => played.line,
        };
        let shown = |played: &Option<Played>| match played {
            Some(played) => json!({ "input": played.input, "answer": played.answer }),
            None => Value::Null,
        };
        if json {
            writeln!(
                out,
                "{}",
                json!({ "differ": true, "line": line, "first": shown(&one), "second": shown(&other) })
            )?;
        } else {
            writeln!(out, "Line {line} differs.\n< {}\n> {}", shown(&one), shown(&other))?;
        }
        return Err(Failure::failed(format!("The journals differ from line {line} on.")));
    }
}
