//! The engine of tackroom: sessions with coding agents as a deterministic state machine.
//!
//! It never does input or output: no clock, socket, file, thread or random number can be reached from here. A host
//! gives it [`input::Input`]s and does the [`effect::Effect`]s of each [`step::Step`].
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod approval;
mod check;
mod cx;
mod due;
pub mod effect;
pub mod engine;
pub mod event;
pub mod input;
pub mod json;
mod lift;
pub mod limits;
mod loading;
pub mod record;
mod recovery;
pub mod rejection;
mod session;
mod slots;
pub mod step;
pub mod time;
mod timers;
pub mod transcript;
mod validate;
pub mod view;

pub use engine::Engine;
pub use limits::{Config, Limits};
pub use rejection::Rejection;
pub use time::Now;
