//! The WIT face of the engine: one engine per instance of the component, called through free functions.
//!
//! It converts between the records of the contract and the types of the engine. It never decides anything, and it
//! imports nothing.
#![expect(unsafe_code, reason = "the functions that wit-bindgen exports for this crate")]

mod bindings;
mod convert;

use std::sync::{Mutex, MutexGuard};

use bindings::exports::tackroom::engine::{limits, machine, rejection, session, step, time, transcript, view};
use convert::Convert;
use tackroom_core::Engine;

struct Component;

/// The engine of this instance. A component has one thread: the lock is never waited for.
static ENGINE: Mutex<Option<Engine>> = Mutex::new(None);

fn slot() -> MutexGuard<'static, Option<Engine>> {
    ENGINE.lock().expect("a panic ends the instance, so nobody sees its lock again")
}

fn with_engine<T>(run: impl FnOnce(&mut Engine) -> T) -> T {
    run(slot().as_mut().expect("the contract has `init` called before any other function"))
}

impl machine::Guest for Component {
    fn default_config() -> limits::Config {
        tackroom_core::Config::default().convert()
    }

    fn init(config: limits::Config) {
        let before = slot().replace(Engine::new(config.convert()));
        assert!(before.is_none(), "the contract has `init` called once");
    }

    fn step(now: time::Now, input: machine::Input) -> Result<step::Step, rejection::Rejection> {
        match with_engine(|engine| engine.step(now.convert(), input.convert())) {
            Ok(step) => Ok(step.convert()),
            Err(rejection) => Err(rejection.convert()),
        }
    }

    fn push(
        now: time::Now,
        session: String,
        turn: String,
        cursor: u64,
        chunks: Vec<transcript::Chunk>,
    ) -> step::Pushed {
        with_engine(|engine| engine.push(now.convert(), &session, &turn, cursor, chunks.convert())).convert()
    }

    fn summary(session: String) -> Option<session::Summary> {
        with_engine(|engine| engine.summary(&session)).convert()
    }

    fn live_message(session: String) -> Option<view::LiveMessage> {
        with_engine(|engine| engine.live_message(&session)).convert()
    }

    fn rebuild(session: String) -> Option<view::Rebuilt> {
        with_engine(|engine| engine.rebuild(&session)).convert()
    }

    fn stats() -> view::Stats {
        with_engine(|engine| engine.stats()).convert()
    }

    fn check() -> Result<(), String> {
        with_engine(|engine| engine.check())
    }
}

bindings::export!(Component with_types_in bindings);
