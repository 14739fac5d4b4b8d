//! The WIT face of the engine: one engine per instance of the component, called through free functions.
//!
//! The contract's types are the engine's own, so there is nothing to convert. It never decides anything, and it imports
//! nothing.
#![expect(unsafe_code, reason = "the functions that wit-bindgen exports for this crate")]
#![allow(clippy::too_many_lines, reason = "one of those functions hands every case of an input over")]

mod bindings;

use std::sync::{Mutex, MutexGuard};

use bindings::exports::tackroom::engine::machine;
use tackroom_core::{
    Config, Engine, Now, Rejection,
    input::{Chunk, Input},
    record::Summary,
    step::{Pushed, Step},
    view::{LiveMessage, Rebuilt, Stats},
};

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
    fn default_config() -> Config {
        Config::default()
    }

    fn init(config: Config) {
        let before = slot().replace(Engine::new(config));
        assert!(before.is_none(), "the contract has `init` called once");
    }

    fn step(now: Now, input: Input) -> Result<Step, Rejection> {
        with_engine(|engine| engine.step(now, input))
    }

    fn push(now: Now, session: String, turn: String, cursor: u64, chunks: Vec<Chunk>) -> Pushed {
        with_engine(|engine| engine.push(now, &session, &turn, cursor, chunks))
    }

    fn summary(session: String) -> Option<Summary> {
        with_engine(|engine| engine.summary(&session))
    }

    fn live_message(session: String) -> Option<LiveMessage> {
        with_engine(|engine| engine.live_message(&session))
    }

    fn rebuild(session: String) -> Option<Rebuilt> {
        with_engine(|engine| engine.rebuild(&session))
    }

    fn stats() -> Stats {
        with_engine(|engine| engine.stats())
    }

    fn check() -> Result<(), String> {
        with_engine(|engine| engine.check())
    }
}

bindings::export!(Component with_types_in bindings);
