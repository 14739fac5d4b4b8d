//! The engine of tackroom: sessions with coding agents as a deterministic state machine.
//!
//! It never does input or output: no clock, socket, file, thread or random number can be reached from here. A host
//! gives it [`input::Input`]s and does the [`effect::Effect`]s of each [`step::Step`].
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod effect;
pub mod engine;
pub mod event;
pub mod input;
pub mod limits;
pub mod record;
pub mod rejection;
pub mod step;
pub mod time;
pub mod transcript;

pub use engine::Engine;
pub use limits::{Config, Limits};
pub use rejection::Rejection;
pub use time::Now;
