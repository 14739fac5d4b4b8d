//! The Rust host of tackroom. It never takes a decision that the engine takes.
