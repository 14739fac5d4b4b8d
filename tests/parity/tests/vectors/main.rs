//! Vectors through every face of the engine that Rust reaches, and that none is missing.
//!
//! The scenarios that made the vectors stand in the modules here. A scenario that no longer makes its vector fails;
//! `TACKROOM_BLESS=1 cargo test -p tackroom-parity --test vectors` writes all of them anew, to be read in the
//! difference.

use std::collections::{BTreeMap, BTreeSet};

use tackroom::engine::{Cache, CompiledEngine};
use tackroom_core::Config;
use tackroom_parity::{
    face::{ComponentFace, CrateFace, Face},
    vector::{Vector, all, blessing},
    world::World,
};

mod answers;
mod cells;
mod hosts;
mod messages;
mod setup;
mod stopping;
mod streams;

/// The commands of the lifecycle table.
const COMMANDS: [&str; 9] =
    ["create", "send", "continue", "interrupt", "suspend", "close", "delete", "update", "shutdown"];

/// The statuses of the lifecycle table.
const STATUSES: [&str; 8] =
    ["preparing", "idle", "busy", "awaiting-input", "suspended", "failed", "closed", "interrupted"];

/// The rules where commands, completions and deaths cross.
const RULES: [&str; 22] = [
    "stopping",
    "waiter",
    "start-fails",
    "save-fails",
    "close-during-resume",
    "interrupt-during-resume",
    "delete-supersedes",
    "two-sends",
    "two-continues",
    "approve-in-flight",
    "idempotency",
    "shutdown",
    "store-down",
    "slots",
    "timers",
    "recovery",
    "fenced",
    "not-taken",
    "outcome-unknown",
    "asked-again",
    "settle",
    "batch",
];

/// A scenario with the name of the vector that it makes.
struct Scenario {
    name: String,
    config: Config,
    play: Box<dyn Fn(&mut World)>,
}

impl Scenario {
    fn new(name: impl Into<String>, play: impl Fn(&mut World) + 'static) -> Self {
        Self::with(name, Config::default(), play)
    }

    fn with(name: impl Into<String>, config: Config, play: impl Fn(&mut World) + 'static) -> Self {
        Self { name: name.into(), config, play: Box::new(play) }
    }

    /// The vector, or that the scenario does not come to what it says of itself.
    fn vector(&self) -> Result<Vector, String> {
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut world = World::new(self.config.clone());
            (self.play)(&mut world);
            world.vector(&self.name)
        }));
        played.map_err(|panic| {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            format!("{}: {words}", self.name)
        })
    }
}

fn scenarios() -> Vec<Scenario> {
    let all = [
        cells::scenarios(),
        stopping::scenarios(),
        messages::scenarios(),
        answers::scenarios(),
        hosts::scenarios(),
        streams::scenarios(),
    ];
    all.into_iter().flatten().collect()
}

/// Every vector; those of the scenarios written anew first, where that is wanted.
fn vectors() -> Vec<Vector> {
    static BLESSED: std::sync::Once = std::sync::Once::new();
    BLESSED.call_once(|| {
        if blessing() {
            for vector in scenarios().iter().filter_map(|scenario| scenario.vector().ok()) {
                vector.write().expect("the vector is written");
            }
        }
    });
    all()
}

fn run_all(mut face: impl FnMut(&Vector) -> Box<dyn Face>) {
    let failures: Vec<String> = vectors().iter().filter_map(|vector| vector.run(face(vector).as_mut()).err()).collect();
    assert!(failures.is_empty(), "{} vectors fail\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_crate_answers_every_vector() {
    run_all(|vector| Box::new(CrateFace::new(vector.config())));
}

#[test]
fn the_component_answers_every_vector() {
    let compiled = CompiledEngine::load(&Cache::none()).expect("the component loads");
    run_all(|vector| Box::new(ComponentFace::new(&compiled, &vector.config()).expect("an instance is made")));
}

#[test]
fn scenarios_make_their_vectors() {
    let vectors: BTreeMap<String, Vector> = vectors().into_iter().map(|vector| (vector.name.clone(), vector)).collect();
    let mut names = BTreeSet::new();
    let mut failures = Vec::new();
    for scenario in scenarios() {
        assert!(names.insert(scenario.name.clone()), "two scenarios are named {}", scenario.name);
        match scenario.vector() {
            Ok(vector) if vectors.get(&vector.name) == Some(&vector) => {}
            Ok(vector) => {
                failures.push(format!("{}: makes another vector than is kept (see this file's top)", vector.name));
            }
            Err(words) => failures.push(words),
        }
    }
    assert!(failures.is_empty(), "{} scenarios fail\n{}", failures.len(), failures.join("\n"));
}

/// Whether a vector has this name, or it with a detail.
fn is_named(vector: &Vector, name: &str) -> bool {
    vector.name.split("--").next() == Some(name)
}

#[test]
fn no_cell_and_no_rule_is_without_a_vector() {
    let vectors = vectors();
    let cells = COMMANDS.iter().flat_map(|command| STATUSES.iter().map(move |status| format!("{command}-{status}")));
    let expected: Vec<String> = cells.chain(RULES.iter().map(|rule| format!("rule-{rule}"))).collect();
    let gaps: Vec<&String> =
        expected.iter().filter(|name| !vectors.iter().any(|vector| is_named(vector, name))).collect();
    assert!(gaps.is_empty(), "no vector for {gaps:?}");
    let strays: Vec<&str> = vectors
        .iter()
        .filter(|vector| !expected.iter().any(|name| is_named(vector, name)))
        .map(|vector| vector.name.as_str())
        .collect();
    assert!(strays.is_empty(), "these vectors have the name of no cell and no rule: {strays:?}");
    assert!(vectors.len() >= 150, "only {} vectors", vectors.len());
}
