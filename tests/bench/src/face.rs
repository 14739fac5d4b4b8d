//! The engine's two faces as they are measured: calls are made ready before the clock starts.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tackroom::engine::{CompiledEngine, EngineFault, EngineInstance, types};
use tackroom_core::input::{Chunk, Input};
use tackroom_core::step::{Change, Pushed, Step};
use tackroom_core::{Config, Engine, Now, Rejection};
use tackroom_parity::face::crossed;
use tackroom_parity::journal::{Call, Entry, Push};

/// Somewhere that the engine is called.
pub(crate) trait Face: Sized {
    /// A call in the face's own types.
    type Call;
    /// What is answered.
    type Answer;

    /// Makes a call ready.
    fn ready(entry: &Entry) -> Self::Call;

    /// Makes the call.
    fn run(&mut self, call: Self::Call) -> Self::Answer;

    /// Says what went wrong, if anything.
    fn check(answer: &Self::Answer) -> Result<()>;

    /// Makes the call and times it alone.
    fn timed(&mut self, entry: &Entry) -> Result<Duration> {
        let call = black_box(Self::ready(entry));
        let start = Instant::now();
        let answer = black_box(self.run(call));
        let time = start.elapsed();
        Self::check(&answer)?;
        Ok(time)
    }

    /// Makes calls one after the other and times all of them, with letting go of their answers.
    fn timed_together(&mut self, entries: &[Entry]) -> Result<Duration> {
        let calls: Vec<_> = entries.iter().map(Self::ready).collect();
        let start = Instant::now();
        let mut well = Ok(());
        for call in calls {
            let answer = black_box(self.run(black_box(call)));
            well = well.and(Self::check(&answer));
        }
        let time = start.elapsed();
        well.map(|()| time)
    }

    /// Makes calls that nobody times.
    fn play(&mut self, entries: &[Entry]) -> Result<()> {
        entries.iter().try_for_each(|entry| Self::check(&self.run(Self::ready(entry))))
    }
}

/// The engine as the crate has it.
pub(crate) struct Crate(pub(crate) Engine);

/// A call of the crate.
pub(crate) enum CrateCall {
    Step(Now, Box<Input>),
    Push(Now, String, String, u64, Vec<Chunk>),
}

/// An answer of the crate.
pub(crate) enum CrateAnswer {
    Step(Result<Step, Rejection>),
    Pushed(Pushed),
}

impl Face for Crate {
    type Call = CrateCall;
    type Answer = CrateAnswer;

    fn ready(entry: &Entry) -> CrateCall {
        match &entry.call {
            Call::Input(input) => CrateCall::Step(entry.now, Box::new(input.clone())),
            Call::Push(Push { session, turn, cursor, chunks }) => {
                CrateCall::Push(entry.now, session.clone(), turn.clone(), *cursor, chunks.clone())
            }
            Call::View(_) => unreachable!("a journey only has calls that change something"),
        }
    }

    fn run(&mut self, call: CrateCall) -> CrateAnswer {
        match call {
            CrateCall::Step(now, input) => CrateAnswer::Step(self.0.step(now, *input)),
            CrateCall::Push(now, session, turn, cursor, chunks) => {
                CrateAnswer::Pushed(self.0.push(now, &session, &turn, cursor, chunks))
            }
        }
    }

    fn check(answer: &CrateAnswer) -> Result<()> {
        match answer {
            // Number zero is the engine's own start: a batch that starts there went to no running turn.
            CrateAnswer::Step(Err(rejection)) => Err(anyhow!("A measured call was refused: {rejection:?}")),
            CrateAnswer::Pushed(pushed)
                if pushed.first_seq == 0 && pushed.edits.iter().any(|edit| edit.change == Change::Drop) =>
            {
                Err(anyhow!("Measured chunks were dropped."))
            }
            CrateAnswer::Step(Ok(_)) | CrateAnswer::Pushed(_) => Ok(()),
        }
    }
}

/// The engine as a component.
pub(crate) struct Component(EngineInstance);

impl Component {
    pub(crate) fn new(compiled: &CompiledEngine, config: &Config) -> Result<Self> {
        Ok(Self(compiled.instance(&crossed(config))?))
    }
}

/// A call of the component.
pub(crate) enum ComponentCall {
    Step(types::Now, Box<types::Input>),
    Push(types::Now, String, String, u64, Vec<types::Chunk>),
}

/// An answer of the component, with what was given to it: letting go of that is left out of a measurement.
pub(crate) struct ComponentAnswer {
    said: Said,
    _call: ComponentCall,
}

/// What the component said.
enum Said {
    Step(Result<Result<types::Step, types::Rejection>, EngineFault>),
    Pushed(Result<types::Pushed, EngineFault>),
}

impl Face for Component {
    type Call = ComponentCall;
    type Answer = ComponentAnswer;

    fn ready(entry: &Entry) -> ComponentCall {
        let now = crossed(&entry.now);
        match &entry.call {
            Call::Input(input) => ComponentCall::Step(now, Box::new(crossed(input))),
            Call::Push(Push { session, turn, cursor, chunks }) => {
                ComponentCall::Push(now, session.clone(), turn.clone(), *cursor, crossed(chunks))
            }
            Call::View(_) => unreachable!("a journey only has calls that change something"),
        }
    }

    fn run(&mut self, call: ComponentCall) -> ComponentAnswer {
        let said = match &call {
            ComponentCall::Step(now, input) => Said::Step(self.0.step(*now, input)),
            ComponentCall::Push(now, session, turn, cursor, chunks) => {
                Said::Pushed(self.0.push(*now, session, turn, *cursor, chunks))
            }
        };
        ComponentAnswer { said, _call: call }
    }

    fn check(answer: &ComponentAnswer) -> Result<()> {
        match &answer.said {
            Said::Step(Err(fault)) | Said::Pushed(Err(fault)) => Err(fault.clone().into()),
            Said::Step(Ok(Err(rejection))) => Err(anyhow!("A measured call was refused: {rejection:?}")),
            Said::Pushed(Ok(pushed))
                if pushed.first_seq == 0
                    && pushed.edits.iter().any(|edit| edit.change == types::step::Change::Drop) =>
            {
                Err(anyhow!("Measured chunks were dropped."))
            }
            Said::Step(Ok(Ok(_))) | Said::Pushed(Ok(_)) => Ok(()),
        }
    }
}
