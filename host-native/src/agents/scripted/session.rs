//! One scripted agent: takes prompts and answers, and keeps its place in the scenario over stops and crashes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use super::emitter::Emitter;
use super::player::{Played, Player};
use super::program::Pace;
use super::scenario::Scenario;
use super::state::{Place, State};
use crate::ports::{
    AgentError, AgentNotice, AgentSession, Answers, Notices, Prompt, ResumeState, Sandbox, SliceEnd, SliceOutcome,
    TurnSink, Usage,
};

/// A scripted agent in a sandbox. While idle it is this structure alone: no task, no thread, no process.
pub(super) struct ScriptedSession {
    scenario: Arc<Scenario>,
    sandbox: Arc<dyn Sandbox>,
    cwd: Option<String>,
    notices: Notices,
    live: Mutex<Live>,
}

struct Live {
    state: State,
    /// Set while a slice is under way; told to cut it short.
    slice: Option<watch::Sender<bool>>,
    gone: bool,
}

impl ScriptedSession {
    pub(super) fn new(
        scenario: Arc<Scenario>,
        sandbox: Arc<dyn Sandbox>,
        cwd: Option<String>,
        notices: Notices,
        state: State,
    ) -> Self {
        Self { scenario, sandbox, cwd, notices, live: Mutex::new(Live { state, slice: None, gone: false }) }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // Nothing in the state is half-changed where a holder could panic.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays a slice unless it is cut short first: then what it was doing, a running command too, is dropped.
    async fn play(
        &self,
        place: Place,
        answers: Option<Answers>,
        sink: TurnSink,
        mut cut: watch::Receiver<bool>,
    ) -> SliceEnd {
        let index = place.index;
        let player = Player {
            program: &self.scenario.program,
            sandbox: &self.sandbox,
            cwd: self.cwd.as_deref(),
            emitter: Emitter::new(sink),
            place,
        };
        let answers = answers.as_ref().map(|answers| answers.answers.as_slice());
        let result = tokio::select! {
            biased;
            _ = cut.wait_for(|cut| *cut) => None,
            result = player.play(answers) => Some(result),
        };
        let mut live = self.live();
        let Some(result) = result else { return end(SliceOutcome::Interrupted, &live.state) };
        let mut end = end(result.outcome(), &live.state);
        match result {
            Played::Paused(place) => {
                live.state.paused = Some(place);
                end.resume = Some(live.state.save());
                return end;
            }
            Played::Exited(message) => {
                live.gone = true;
                self.notices.tell(AgentNotice::Exited { message });
            }
            Played::Failed { alive, .. } => live.gone |= !alive,
            Played::Finished => {}
        }
        let usage = self.scenario.program.usage(index);
        let (input, output) = (u64::from(usage.input_tokens), u64::from(usage.output_tokens));
        end.usage = Usage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input + output,
            cost_micro_usd: u64::from(usage.cost_micro_usd),
        };
        end
    }

    /// Notes that a slice begins, if `id` is new: gives what cuts it short, and what `begin` made of the state.
    fn begin<T>(
        &self,
        id: &str,
        begin: impl FnOnce(&mut State) -> T,
    ) -> Result<(watch::Receiver<bool>, T), Box<SliceEnd>> {
        let mut live = self.live();
        let failed = |message: &str, alive: bool, state: &State| {
            Err(Box::new(end(SliceOutcome::Failed { message: message.to_owned(), alive }, state)))
        };
        if live.gone {
            return failed("The scripted agent is gone.", false, &live.state);
        }
        if live.slice.is_some() {
            return failed("The scripted agent is in a turn already.", true, &live.state);
        }
        if !live.state.take(id) {
            let outcome = if live.state.paused.is_some() { SliceOutcome::Paused } else { SliceOutcome::Finished };
            return Err(Box::new(end(outcome, &live.state)));
        }
        let (cut, told) = watch::channel(false);
        live.slice = Some(cut);
        Ok((told, begin(&mut live.state)))
    }
}

/// Notes that no slice is under way any more, also where the caller has let go of it.
struct UnderWay<'a>(&'a ScriptedSession);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.live().slice = None;
    }
}

fn end(outcome: SliceOutcome, state: &State) -> SliceEnd {
    SliceEnd { outcome, usage: Usage::default(), resume: Some(state.save()), not_taken: Vec::new() }
}

#[async_trait]
impl AgentSession for ScriptedSession {
    async fn prompt(&self, prompt: Prompt, sink: TurnSink) -> SliceEnd {
        let begun = self.begin(&prompt.id, |state| {
            // A prompt while a turn waits gives that turn up.
            state.paused = None;
            let (index, next) = self.scenario.program.choose(&prompt.text, state.next);
            state.next = next;
            Place { turn: prompt.turn.clone(), index, prompt: prompt.text.clone(), ..Place::default() }
        });
        match begun {
            Ok((cut, place)) => {
                let _under_way = UnderWay(self);
                self.play(place, None, sink, cut).await
            }
            Err(end) => *end,
        }
    }

    async fn answer(&self, answers: Answers, sink: TurnSink) -> SliceEnd {
        let begun = self.begin(&answers.id, |state| {
            let waits =
                |place: &Place| place.turn == answers.turn && self.scenario.program.op(place.index, place.op).is_some();
            state.paused.take().filter(waits)
        });
        match begun {
            Ok((cut, Some(place))) => {
                let _under_way = UnderWay(self);
                self.play(place, Some(answers), sink, cut).await
            }
            Ok((_, None)) => {
                let _under_way = UnderWay(self);
                let mut emitter = Emitter::new(sink);
                emitter.start().await;
                let words = format!("I lost the turn that waited, and was told: {}", answers.words);
                let pace = Pace { chars: 64, delay: std::time::Duration::ZERO };
                emitter.say(format!("words-{}", answers.id), false, &words, pace).await;
                emitter.finish("stop").await;
                let mut end = end(SliceOutcome::Finished, &self.live().state);
                end.not_taken = answers.answers.into_iter().map(|answer| answer.tool_call_id).collect();
                end
            }
            Err(end) => *end,
        }
    }

    async fn interrupt(&self) -> Result<(), AgentError> {
        let mut live = self.live();
        if let Some(cut) = &live.slice {
            cut.send_replace(true);
        } else if live.state.paused.take().is_some() {
            self.notices.tell(AgentNotice::Checkpoint(live.state.save()));
        }
        Ok(())
    }

    async fn stop(&self) -> Result<Option<ResumeState>, AgentError> {
        let mut live = self.live();
        live.gone = true;
        if let Some(cut) = &live.slice {
            cut.send_replace(true);
        }
        Ok(Some(live.state.save()))
    }

    async fn destroy(&self) {
        // What runs is cut short by the same means; nothing is asked for what is kept.
        let _ = self.stop().await;
    }
}
