//! Slices of turns: an agent at work, and the way of its chunks through the engine into the turn's stream.

use std::sync::Arc;

use tokio::task::AbortHandle;

use super::dispatch::run;
use super::inbox::Inbox;
use super::message::{Message, Report};
use super::{Driver, convert_agent, redact};
use crate::engine::types::effect::{ContinueTurn, StartTurn};
use crate::engine::types::input::{Failure, FailureKind};
use crate::engine::types::step::{Change, Edit};
use crate::engine::types::{Chunk, Outcome};
use crate::ports::{AgentSession, TurnSink};

/// The most chunks that the engine is given at once.
const BATCH: usize = 256;

/// An agent at work on a turn.
pub(super) struct Slice {
    pub(super) session: String,
    turn: String,
    agent: u64,
    /// Chunks taken out so far.
    cursor: u64,
    inbox: Arc<Inbox>,
    task: AbortHandle,
}

fn no_agent() -> Outcome {
    Outcome::Failed(Failure { kind: FailureKind::Gone, message: "The agent is not there any more.".to_owned() })
}

impl Driver {
    pub(super) fn start_turn(&mut self, id: u64, session: String, start: StartTurn) {
        let (agent, turn) = (start.agent, start.turn.clone());
        let prompt = convert_agent::prompt_out(start);
        self.slice(id, session, turn, agent, move |running, sink| async move { running.prompt(prompt, sink).await });
    }

    pub(super) fn continue_turn(&mut self, id: u64, session: String, answers: ContinueTurn) {
        let (agent, turn) = (answers.agent, answers.turn.clone());
        let answers = convert_agent::answers_out(answers);
        self.slice(id, session, turn, agent, move |running, sink| async move { running.answer(answers, sink).await });
    }

    fn slice<F>(
        &mut self,
        id: u64,
        session: String,
        turn: String,
        agent: u64,
        work: impl FnOnce(Arc<dyn AgentSession>, TurnSink) -> F,
    ) where
        F: Future<Output = crate::ports::SliceEnd> + Send + 'static,
    {
        let Some(running) = self.runtime.agent(agent).cloned() else {
            return self.reporter().report(Report::Completed(id, no_agent()));
        };
        let inbox = Inbox::new(id, self.queue.clone());
        let work = work(running, TurnSink::into_intake(inbox.clone()));
        let task =
            run(
                &self.reporter(),
                id,
                "agent",
                async move { Outcome::SliceEnded(convert_agent::slice_end_in(work.await)) },
            );
        self.slices.insert(id, Slice { session, turn, agent, cursor: 0, inbox, task });
    }

    /// Ends the slices of an agent that is to be destroyed.
    pub(super) fn cut_slices(&mut self, agent: u64) {
        let reporter = self.reporter();
        let of_agent: Vec<u64> =
            self.slices.iter().filter(|(_, slice)| slice.agent == agent).map(|(id, _)| *id).collect();
        for id in of_agent {
            if let Some(slice) = self.slices.remove(&id) {
                slice.give_up();
                reporter.report(Report::Completed(id, no_agent()));
            }
        }
    }

    /// Takes a batch of chunks out of an inbox.
    pub(super) fn chunks(&mut self, inbox: &Arc<Inbox>) {
        if self.take_batch(inbox) {
            // Others have their turn before the rest.
            let _ = self.queue.send(Message::Chunks(Arc::clone(inbox)));
        }
    }

    /// Every chunk of a slice goes before its end.
    pub(super) fn end_slice(&mut self, id: u64) {
        if let Some(inbox) = self.slices.get(&id).map(|slice| Arc::clone(&slice.inbox)) {
            while self.take_batch(&inbox) {}
            inbox.close();
            self.slices.remove(&id);
        }
    }

    /// Says whether more chunks wait.
    fn take_batch(&mut self, inbox: &Arc<Inbox>) -> bool {
        let known = self.slices.get_mut(&inbox.slice).filter(|slice| Arc::ptr_eq(&slice.inbox, inbox));
        let Some(slice) = known else {
            inbox.close();
            return false;
        };
        let (chunks, more) = inbox.take_out(BATCH);
        if chunks.is_empty() {
            return false;
        }
        let cursor = slice.cursor;
        slice.cursor += chunks.len() as u64;
        let (session, turn) = (slice.session.clone(), slice.turn.clone());
        let chunks: Vec<Chunk> = chunks.into_iter().map(convert_agent::chunk_in).collect();
        let now = self.timer.now();
        if let Some(journal) = &mut self.journal {
            journal.push(now, &session, &turn, cursor, &chunks);
        }
        match self.engine.push(now, &session, &turn, cursor, &chunks) {
            Ok(pushed) => {
                let chunks = apply(chunks, pushed.edits);
                self.totals.chunks += chunks.len() as u64;
                if !chunks.is_empty()
                    && let Some(channel) = self.turns.find(&session, &turn)
                {
                    channel.add(pushed.first_seq, chunks, pushed.replay_from);
                }
                if let Some(step) = pushed.step {
                    self.carry_out(step);
                }
                more
            }
            Err(fault) => {
                let report = redact::push_report(&session, &turn, cursor, &chunks);
                self.break_down(fault, now, Some(session), &report);
                false
            }
        }
    }
}

impl Slice {
    /// Ends the work without waiting for it.
    pub(super) fn give_up(self) {
        self.task.abort();
        self.inbox.close();
    }
}

/// The chunks as they are forwarded.
fn apply(chunks: Vec<Chunk>, edits: Vec<Edit>) -> Vec<Arc<str>> {
    let mut forwarded = Vec::with_capacity(chunks.len() + edits.len());
    let mut edits = edits.into_iter().peekable();
    for (at, chunk) in chunks.into_iter().enumerate() {
        let mut dropped = false;
        while let Some(edit) = edits.next_if(|edit| edit.at as usize == at) {
            match edit.change {
                Change::Drop => dropped = true,
                Change::Inject(json) => forwarded.push(json.into()),
            }
        }
        if !dropped {
            forwarded.push(convert_agent::chunk_json(chunk));
        }
    }
    forwarded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_at_their_places() {
        let json = |text: &str| Chunk::Json(text.to_owned());
        let edit = |at, change| Edit { at, change };
        let edits = vec![
            edit(0, Change::Drop),
            edit(1, Change::Inject("x".to_owned())),
            edit(1, Change::Inject("y".to_owned())),
            edit(2, Change::Inject("z".to_owned())),
            edit(2, Change::Drop),
        ];
        let forwarded = apply(vec![json("a"), json("b"), json("c"), json("d")], edits);
        let forwarded: Vec<&str> = forwarded.iter().map(AsRef::as_ref).collect();
        assert_eq!(forwarded, ["x", "y", "b", "z", "d"]);
    }
}
