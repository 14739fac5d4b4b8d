//! The Rust host of tackroom: it runs the engine and the adapters around it. It never takes a decision that the
//! engine takes, and its adapters never call each other.

pub mod agents;
pub mod ports;
pub mod sandboxes;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
