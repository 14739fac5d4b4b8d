//! What applications need to test against tackroom's ports: a suite that every store has to pass, and a store that
//! fails when it is told to.

mod clock;
mod faulty_store;
mod store_conformance;

pub use clock::TestClock;
pub use faulty_store::{FaultyStore, StoreOp};
pub use store_conformance::{conformance, sample_save};
