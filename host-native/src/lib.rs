//! The Rust host of tackroom: it runs the engine and the adapters around it. It never takes a decision that the
//! engine takes, and its adapters never call each other.

pub mod agents;
mod driver;
pub mod engine;
pub mod manager;
pub mod ports;
pub mod sandboxes;
#[cfg(feature = "server")]
pub mod server;
pub mod stores;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

/// The README's Rust example, compiled and run as it stands.
#[cfg(all(doctest, feature = "local", feature = "sqlite"))]
#[doc = include_str!("../../README.md")]
struct Readme;
