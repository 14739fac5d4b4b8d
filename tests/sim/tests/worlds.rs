//! Many worlds, the same world twice, and every planted fault.

use tackroom_sim::run;
use tackroom_sim::saboteur::ALL;
use tackroom_sim::trace::Trace;

fn seeds() -> u64 {
    let scale: u64 = std::env::var("TACKROOM_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    200 * scale
}

#[test]
fn every_world_keeps_the_invariants_and_settles() {
    let mut steps = 0;
    let mut crashes = 0;
    for seed in 0..seeds() {
        match run(seed, None, &mut Trace::new(false)) {
            Ok(report) => {
                steps += report.steps;
                crashes += report.crashes;
            }
            Err(violation) => panic!("{violation}"),
        }
    }
    println!("{} worlds, {steps} steps, {crashes} hosts that died", seeds());
    assert!(crashes > 0, "hosts have to die for this to say something");
}

#[test]
fn the_same_seed_is_the_same_trace() {
    for seed in [1, 77, 4242] {
        let mut one = Trace::new(true);
        let mut other = Trace::new(true);
        let results = (run(seed, None, &mut one), run(seed, None, &mut other));
        assert_eq!(results.0, results.1);
        assert_eq!(one.lines(), other.lines());
    }
}

#[test]
fn every_invariant_of_the_architecture_page_has_a_planted_fault() {
    let page = include_str!("../../../core/docs/architecture.md");
    let invariants =
        page.split_once("## Invariants").and_then(|(_, rest)| rest.split("\n## ").next()).unwrap_or_default();
    let numbers = invariants.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse::<u8>().ok());
    let planted: Vec<u8> = ALL.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), planted);
}

#[test]
fn every_planted_fault_is_found() {
    for (fault, invariant) in ALL {
        let found = (0..60).find_map(|seed| run(seed, Some(fault), &mut Trace::new(false)).err());
        let found = found.unwrap_or_else(|| panic!("{fault:?} was not found in 60 worlds"));
        assert_eq!(found.invariant, invariant, "{fault:?} was taken for another fault: {found}");
    }
}
