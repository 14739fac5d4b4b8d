//! The simulator: one seed is one world with virtual time, in which clients send, adapters fail, hang, answer late or
//! twice, and hosts die between any two effects. It never uses a real clock, a thread or a random number of the system.
//!
//! After every step the invariants are checked; then the faults stop and every session must settle.

mod adapters;
pub mod agents;
pub mod clients;
mod endings;
pub mod invariants;
pub mod saboteur;
pub mod store;
pub mod trace;
pub mod world;

use saboteur::Fault;
use trace::Trace;
use world::World;

/// What one run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Inputs taken in by engines.
    pub steps: u64,
    /// Hosts that died.
    pub crashes: u64,
    /// A mark of the whole trace.
    pub mark: u64,
}

/// What went wrong, and where it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The seed.
    pub seed: u64,
    /// The step after which it was seen.
    pub step: u64,
    /// The broken invariant, by its number.
    pub invariant: u8,
    /// What was seen.
    pub words: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "invariant {} is broken after step {}: {}\nreplay it with: cargo xtask sim --seed {}",
            self.invariant, self.step, self.words, self.seed
        )
    }
}

/// Runs one world to its end.
///
/// # Errors
/// The first invariant seen broken.
pub fn run(seed: u64, fault: Option<Fault>, trace: &mut Trace) -> Result<Report, Violation> {
    let mut world = World::new(seed, fault, trace);
    world.run()
}
