//! Random journals through the crate and the component: every answer equal, to the byte.
//!
//! `TACKROOM_TEST_SCALE=10` plays all 20,000 journals, the default a tenth; `TACKROOM_PARITY_SEED=N` plays one.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use tackroom::engine::{Cache, CompiledEngine};
use tackroom_core::input::Input;
use tackroom_parity::{
    face::{ComponentFace, Face},
    host::effect_name,
    journal::{Answer, Call},
    random::{Recorded, record},
};

const SEEDS_PER_SCALE: u64 = 2_000;
const LENGTH: usize = 50;

fn compiled() -> CompiledEngine {
    CompiledEngine::load(&Cache::none()).expect("the component loads")
}

fn scale() -> u64 {
    std::env::var("TACKROOM_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

fn named_seed() -> Option<u64> {
    std::env::var("TACKROOM_PARITY_SEED").ok().map(|seed| seed.parse().expect("TACKROOM_PARITY_SEED is a number"))
}

/// The first difference between the crate's answers and the component's.
fn difference(compiled: &CompiledEngine, recorded: &Recorded) -> Option<String> {
    let mut face = ComponentFace::new(compiled, &recorded.config).expect("an instance is made");
    for (place, (entry, answer)) in recorded.journal.iter().zip(&recorded.answers).enumerate() {
        let (here, there) = (answer.json(), face.play(entry));
        if here != there {
            let call = serde_json::to_string(entry).expect("an entry has a JSON form");
            return Some(format!("call {place}: {call}\n  crate:     {here}\n  component: {there}"));
        }
    }
    None
}

#[test]
fn crate_and_component_give_the_same_bytes() {
    let compiled = compiled();
    let seeds: Vec<u64> = named_seed().map_or_else(|| (0..SEEDS_PER_SCALE * scale()).collect(), |seed| vec![seed]);
    let next = AtomicU64::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(&seed) = seeds.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap()) {
                    if let Some(found) = difference(&compiled, &record(seed, LENGTH)) {
                        panic!(
                            "seed {seed}, {found}\n  replay: TACKROOM_PARITY_SEED={seed} cargo test -p tackroom-parity \
                             --test parity"
                        );
                    }
                }
            });
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_journal() {
    for seed in [1, 2, 3] {
        let (first, second) = (record(seed, LENGTH), record(seed, LENGTH));
        assert_eq!(first.journal, second.journal);
        assert_eq!(first.answers, second.answers);
    }
}

/// Journals that only knock at the door would prove little: they have to reach every kind of effect and event.
#[test]
fn the_dice_reach_far_into_the_engine() {
    let mut effects = BTreeMap::<&str, u32>::new();
    let mut events = BTreeMap::<String, u32>::new();
    let (mut commands, mut refused) = (0_u32, 0_u32);
    for seed in 0..400 {
        let recorded = record(seed, LENGTH);
        for (entry, answer) in recorded.journal.iter().zip(&recorded.answers) {
            commands += u32::from(matches!(entry.call, Call::Input(Input::Command(_))));
            refused += u32::from(matches!(answer, Answer::Rejection(_)));
            let Some(step) = answer.step() else { continue };
            for effect in &step.effects {
                *effects.entry(effect_name(&effect.body)).or_default() += 1;
            }
            for event in &step.events {
                let text = format!("{event:?}");
                let name = text.split(['(', ' ']).next().unwrap_or_default().to_owned();
                *events.entry(name).or_default() += 1;
            }
        }
    }
    println!("effects {effects:?}\nevents {events:?}\ncommands {commands}, refused at once {refused}");
    assert!(effects.len() == 16 && effects.values().all(|count| *count > 30), "{effects:?}");
    assert!(events.len() == 13 && events.values().all(|count| *count > 10), "{events:?}");
    assert!(refused * 2 < commands, "{refused} of {commands} commands were refused");
}
