//! The engine's faces behind one trait, so that a journal is played the same way through each.

use serde::{Serialize, de::DeserializeOwned};
use tackroom::engine::{CompiledEngine, EngineFault, EngineInstance, types};
use tackroom_core::{Config, Engine, Now};

use crate::journal::{Answer, Call, Entry, Push, View};

/// Somewhere that the engine can be called.
pub trait Face {
    /// Plays one call and gives the answer in the canonical JSON form. A face that fails to answer gives words that no
    /// other face gives.
    fn play(&mut self, entry: &Entry) -> String;
}

/// The engine as the crate has it.
#[derive(Debug)]
pub struct CrateFace {
    engine: Engine,
}

impl CrateFace {
    /// An engine that knows no session.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { engine: Engine::new(config) }
    }

    /// The engine, to look into.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Plays one call.
    pub fn answer(&mut self, entry: &Entry) -> Answer {
        match &entry.call {
            Call::Input(input) => match self.engine.step(entry.now, input.clone()) {
                Ok(step) => Answer::Step(step),
                Err(rejection) => Answer::Rejection(rejection),
            },
            Call::Push(Push { session, turn, cursor, chunks }) => {
                Answer::Pushed(self.engine.push(entry.now, session, turn, *cursor, chunks.clone()))
            }
            Call::View(session) => Answer::View(self.view(session)),
        }
    }

    /// Everything that can be read.
    #[must_use]
    pub fn view(&self, session: &str) -> View {
        View {
            summary: self.engine.summary(session),
            live_message: self.engine.live_message(session),
            rebuild: self.engine.rebuild(session),
            stats: self.engine.stats(),
            check: self.engine.check(),
        }
    }
}

impl Face for CrateFace {
    fn play(&mut self, entry: &Entry) -> String {
        self.answer(entry).json()
    }
}

/// The engine as a component in wasmtime. What goes in takes the way over JSON, so that a type whose JSON form differs
/// between contract and crate is found in both directions.
#[derive(Debug)]
pub struct ComponentFace {
    instance: EngineInstance,
}

impl ComponentFace {
    /// An engine that knows no session.
    ///
    /// # Errors
    /// The instance cannot be made.
    pub fn new(compiled: &CompiledEngine, config: &Config) -> Result<Self, EngineFault> {
        Ok(Self { instance: compiled.instance(&crossed(config))? })
    }

    fn call(&mut self, entry: &Entry) -> Result<String, EngineFault> {
        let now = crossed::<Now, types::Now>(&entry.now);
        Ok(match &entry.call {
            Call::Input(input) => match self.instance.step(now, &crossed(input))? {
                Ok(step) => tagged("step", &step),
                Err(rejection) => tagged("rejection", &rejection),
            },
            Call::Push(Push { session, turn, cursor, chunks }) => {
                let chunks: Vec<types::Chunk> = crossed(chunks);
                tagged("pushed", &self.instance.push(now, session, turn, *cursor, &chunks)?)
            }
            Call::View(session) => tagged("view", &self.view(session)?),
        })
    }

    fn view(&mut self, session: &str) -> Result<ComponentView, EngineFault> {
        Ok(ComponentView {
            summary: self.instance.summary(session)?,
            live_message: self.instance.live_message(session)?,
            rebuild: self.instance.rebuild(session)?,
            stats: self.instance.stats()?,
            check: self.instance.check()?,
        })
    }
}

impl Face for ComponentFace {
    fn play(&mut self, entry: &Entry) -> String {
        self.call(entry).unwrap_or_else(|fault| fault.to_string())
    }
}

/// [`View`] in the types of the contract.
#[derive(Serialize)]
struct ComponentView {
    summary: Option<types::Summary>,
    live_message: Option<types::LiveMessage>,
    rebuild: Option<types::Rebuilt>,
    stats: types::Stats,
    check: Result<(), String>,
}

/// The same value in the types of the other side, over the canonical JSON form.
///
/// # Panics
/// The two types do not have the same JSON form.
pub fn crossed<A: Serialize, B: DeserializeOwned>(value: &A) -> B {
    let text = serde_json::to_string(value).expect("every type of the engine has a JSON form");
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{} and {} differ: {error} in {text}", std::any::type_name::<A>(), std::any::type_name::<B>())
    })
}

fn tagged<T: Serialize>(tag: &str, value: &T) -> String {
    format!("{{\"{tag}\":{}}}", serde_json::to_string(value).expect("every type of the engine has a JSON form"))
}
