//! The engine alone: each kind of call, and a whole turn, through the crate and through the component.

use std::collections::BTreeMap;

use anyhow::Result;
use tackroom::engine::{Cache, CompiledEngine};
use tackroom_core::Engine;
use tackroom_parity::journal::Entry;

use super::Ground;
use crate::face::{Component, Crate, Face};
use crate::journey::{BATCH, Journey, TEXT, TEXT_BATCH};
use crate::report::{Goal, Row, US};
use crate::sample::Samples;

/// Sessions that are idle in the engine's memory meanwhile.
const POPULATION: (u32, u32) = (1_000, 20);
/// Lives that are lived: each has three whole turns.
const LIVES: (u32, u32) = (400, 3);
/// Lives between two renewals of every lease.
const RENEWAL: u32 = 40;

fn journey(ground: &Ground) -> Journey {
    let mut journey = Journey::new(ground.count(POPULATION.0, POPULATION.1));
    for n in 0..ground.count(LIVES.0, LIVES.1) {
        journey.life(&format!("session-{n}"));
        if n % RENEWAL == 0 {
            journey.tick(20_000);
        }
    }
    journey
}

/// The times of each kind of call, and of whole turns.
struct Times {
    kinds: BTreeMap<String, Samples>,
    turns: Samples,
}

fn time<F: Face>(journey: &Journey, mut face: impl FnMut() -> Result<F>) -> Result<Times> {
    let mut times = Times { kinds: BTreeMap::new(), turns: Samples::default() };
    let mut engine = face()?;
    for (entry, kind) in journey.entries().iter().zip(journey.kinds()) {
        let share = if kind == TEXT_BATCH { BATCH } else { 1 };
        let time = engine.timed(entry)?;
        times.kinds.entry(kind).or_default().shared_time(time, u32::try_from(share)?);
    }
    let mut engine = face()?;
    let mut rest: &[Entry] = journey.entries();
    let mut done = 0;
    for turn in journey.turns() {
        let (between, after) = rest.split_at(turn.start - done);
        let (whole, after) = after.split_at(turn.len());
        engine.play(between)?;
        times.turns.time(engine.timed_together(whole)?);
        (rest, done) = (after, turn.end);
    }
    Ok(times)
}

/// The rows of the crate.
pub(super) fn of_crate(ground: &Ground) -> Result<Vec<Row>> {
    const GROUP: &str = "the engine in Rust";
    let journey = journey(ground);
    let times = time(&journey, || Ok(Crate(Engine::new(journey.config().clone()))))?;
    let kinds = times.kinds.iter().filter_map(|(kind, samples)| {
        let row = Row::times(GROUP, each(kind), samples)?;
        // The goal is one of inputs: a chunk among sixteen is not one.
        Some(if kind == TEXT_BATCH { row } else { row.goal(Goal::MedianBelow(2.0 * US)) })
    });
    let turn = whole_turn(GROUP, &times.turns, 20.0);
    Ok(kinds.chain(turn).collect())
}

/// The rows of the component.
pub(super) fn of_component(ground: &Ground) -> Result<Vec<Row>> {
    const GROUP: &str = "the engine as a component";
    let journey = journey(ground);
    let compiled = CompiledEngine::load(&Cache::at(ground.cache()))?;
    let times = time(&journey, || Component::new(&compiled, journey.config()))?;
    let kinds = times.kinds.iter().filter_map(|(kind, samples)| {
        let row = Row::times(GROUP, each(kind), samples)?;
        Some(match kind.as_str() {
            TEXT => row.goal(Goal::MedianBelow(1.5 * US)),
            TEXT_BATCH => row.goal(Goal::MedianBelow(0.5 * US)),
            _ => row,
        })
    });
    let turn = whole_turn(GROUP, &times.turns, 100.0);
    Ok(kinds.chain(turn).collect())
}

fn each(kind: &str) -> String {
    if kind == TEXT_BATCH { format!("{kind}, each") } else { kind.to_owned() }
}

fn whole_turn(group: &'static str, turns: &Samples, most_us: f64) -> Option<Row> {
    let row = Row::times(group, "a whole turn", turns)?.goal(Goal::MedianBelow(most_us * US));
    Some(row.note("A message, 50 text chunks one by one, reasoning, a tool with its output, the end, and every write."))
}
