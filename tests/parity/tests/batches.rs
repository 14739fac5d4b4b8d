//! The law of batches, on moments within random journals.

use fastrand::Rng;
use tackroom_parity::{journal::Push, law::came_of, random::Dice};

const SEEDS_PER_SCALE: u64 = 500;

/// A moment at which a slice is at work, with a list of chunks for it.
fn moment(seed: u64) -> Option<(Dice, Push)> {
    let mut dice = Dice::new(seed);
    for _ in 0..200 {
        dice.turn();
        if dice.host.journal.len() >= 12 && !dice.host.slices.is_empty() {
            let slice = dice.host.slices.values().next_back()?.clone();
            let chunks = (0..6).flat_map(|_| dice.chunks(slice.effect)).collect();
            return Some((dice, Push { session: slice.session, turn: slice.turn, cursor: slice.cursor, chunks }));
        }
    }
    None
}

#[test]
fn any_split_comes_to_the_same() {
    let scale = std::env::var("TACKROOM_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    let (mut moments, mut forwarded) = (0, 0);
    for seed in 0..SEEDS_PER_SCALE * scale {
        let Some((dice, push)) = moment(seed) else { continue };
        let host = &dice.host;
        let whole = came_of(&host.config, &host.journal, host.now, &push, &[]);
        moments += 1;
        forwarded += whole.numbers.len();
        let mut rng = Rng::with_seed(seed);
        let one_by_one: Vec<usize> = (1..push.chunks.len()).collect();
        let mut by_dice: Vec<usize> = one_by_one.iter().copied().filter(|_| rng.u8(..) < 60).collect();
        // An empty batch is a split too.
        by_dice.push(push.chunks.len());
        for cuts in [one_by_one, by_dice] {
            let split = came_of(&host.config, &host.journal, host.now, &push, &cuts);
            assert_eq!(whole, split, "seed {seed}, cuts {cuts:?}, chunks {:#?}", push.chunks);
        }
    }
    assert!(moments > SEEDS_PER_SCALE * scale / 3, "only {moments} moments with a slice at work");
    assert!(forwarded > 1_000, "only {forwarded} chunks were forwarded");
}
