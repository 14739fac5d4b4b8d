//! Instances of the engine, because a trap ends one and the host then goes on with a fresh one.

use std::fmt;

use thiserror::Error;
use wasmtime::{Config as WasmtimeConfig, Engine, Store, component::Linker};

use super::bindings::{Engine as Exports, EnginePre, exports::tackroom::engine::machine::Guest};
use super::cache::{Cache, LoadError};
use super::types::{Chunk, Config, Input, LiveMessage, Now, Pushed, Rebuilt, Rejection, Stats, Step, Summary};

/// The engine broke one of its invariants and stopped. Its instance gives this for every call from then on: stop the
/// agents, make a fresh instance and fill it from the store.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("The engine stopped in `{function}`: {message}")]
pub struct EngineFault {
    /// The function that was called, as the contract names it.
    pub function: &'static str,
    /// What wasmtime says of it.
    pub message: String,
}

/// The engine's machine code, from which instances are made. Cheap to clone.
#[derive(Clone)]
pub struct CompiledEngine {
    exports: EnginePre<()>,
}

impl fmt::Debug for CompiledEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledEngine").finish_non_exhaustive()
    }
}

impl CompiledEngine {
    /// Loads the component that this crate was built with. Takes about a millisecond where it is in the cache, some
    /// hundred where it has to be compiled: call it outside of the threads that serve others.
    ///
    /// # Errors
    /// See [`LoadError`]. A cache that cannot be used is not one of them.
    pub fn load(cache: &Cache) -> Result<Self, LoadError> {
        Self::load_bytes(cache, super::COMPONENT)
    }

    /// Loads another build of the component, as tests and the replay of a journal need it.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load_bytes(cache: &Cache, component: &[u8]) -> Result<Self, LoadError> {
        let engine = Engine::new(&wasmtime_config()).map_err(|error| LoadError::Machine(format!("{error:#}")))?;
        let component = cache.component(&engine, component)?;
        let contract = |error: wasmtime::Error| LoadError::Contract(format!("{error:#}"));
        // Nothing is linked: the component imports nothing.
        let instance = Linker::new(&engine).instantiate_pre(&component).map_err(contract)?;
        Ok(Self { exports: EnginePre::new(instance).map_err(contract)? })
    }

    fn bare_instance(&self) -> Result<EngineInstance, EngineFault> {
        let mut store = Store::new(self.exports.engine(), ());
        let exports = self.exports.instantiate(&mut store).map_err(|error| fault("instantiate", &error))?;
        Ok(EngineInstance { store, exports, fault: None })
    }

    /// The options and bounds of an engine where nothing else is wanted. `epoch` and `owner` are placeholders: set both.
    ///
    /// # Errors
    /// An [`EngineFault`] where there is no memory to ask the component.
    pub fn default_config(&self) -> Result<Config, EngineFault> {
        let mut instance = self.bare_instance()?;
        instance.call("default-config", |machine, store| machine.call_default_config(store))
    }

    /// Makes an engine that knows no session yet. Takes about 0.1 ms.
    ///
    /// # Errors
    /// An [`EngineFault`] where there is no memory for it.
    pub fn instance(&self, config: &Config) -> Result<EngineInstance, EngineFault> {
        let mut instance = self.bare_instance()?;
        instance.call("init", |machine, store| machine.call_init(store, config))?;
        Ok(instance)
    }
}

/// The component is called synchronously and imports nothing: concurrency would cost half a microsecond a call.
fn wasmtime_config() -> WasmtimeConfig {
    let mut config = WasmtimeConfig::new();
    config.wasm_component_model(true).concurrency_support(false);
    config
}

fn fault(function: &'static str, error: &wasmtime::Error) -> EngineFault {
    EngineFault { function, message: format!("{error:#}") }
}

/// One engine. Every function gives an [`EngineFault`] once the engine has broken an invariant.
pub struct EngineInstance {
    store: Store<()>,
    exports: Exports,
    fault: Option<EngineFault>,
}

impl fmt::Debug for EngineInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineInstance").field("fault", &self.fault).finish_non_exhaustive()
    }
}

impl EngineInstance {
    fn call<T>(
        &mut self,
        function: &'static str,
        run: impl FnOnce(&Guest, &mut Store<()>) -> wasmtime::Result<T>,
    ) -> Result<T, EngineFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        run(self.exports.tackroom_engine_machine(), &mut self.store).map_err(|error| {
            let fault = fault(function, &error);
            self.fault = Some(fault.clone());
            fault
        })
    }

    /// Takes one input in. The inner error is a command that is refused at once, the state unchanged.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn step(&mut self, now: Now, input: &Input) -> Result<Result<Step, Rejection>, EngineFault> {
        self.call("step", |machine, store| machine.call_step(store, now, input))
    }

    /// Takes a batch of an agent's chunks in; `cursor` counts the chunks of this slice before the batch.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn push(
        &mut self,
        now: Now,
        session: &str,
        turn: &str,
        cursor: u64,
        chunks: &[Chunk],
    ) -> Result<Pushed, EngineFault> {
        self.call("push", |machine, store| machine.call_push(store, now, session, turn, cursor, chunks))
    }

    /// A session in memory, as it stands.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn summary(&mut self, session: &str) -> Result<Option<Summary>, EngineFault> {
        self.call("summary", |machine, store| machine.call_summary(store, session))
    }

    /// The message of the session's turn under way or paused, as it stands.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn live_message(&mut self, session: &str) -> Result<Option<LiveMessage>, EngineFault> {
        self.call("live-message", |machine, store| machine.call_live_message(store, session))
    }

    /// What a reader without a usable cursor is given before it goes on live.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn rebuild(&mut self, session: &str) -> Result<Option<Rebuilt>, EngineFault> {
        self.call("rebuild", |machine, store| machine.call_rebuild(store, session))
    }

    /// Counts over all sessions.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn stats(&mut self) -> Result<Stats, EngineFault> {
        self.call("stats", |machine, store| machine.call_stats(store))
    }

    /// Checks every numbered invariant; the inner error is the number and words of the first that does not hold.
    ///
    /// # Errors
    /// An [`EngineFault`].
    pub fn check(&mut self) -> Result<Result<(), String>, EngineFault> {
        self.call("check", |machine, store| machine.call_check(store))
    }
}

#[cfg(test)]
#[path = "instance_tests.rs"]
mod tests;
