//! A slice from its beginning to its end, whichever way it ends.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Actor, Todo};
use crate::agents::claude::content;
use crate::agents::claude::errors;
use crate::agents::claude::protocol::frames::Outcome;
use crate::agents::claude::protocol::outgoing;
use crate::agents::claude::usage;
use crate::ports::{AgentError, Answers, Prompt, SliceEnd, SliceOutcome, TurnSink, Usage};

/// How long the CLI may take to begin a turn after it said a prompt back: it says back the ones it ignores, too.
const IGNORED_AFTER: std::time::Duration = std::time::Duration::from_millis(1_500);

/// A slice under way.
pub(super) struct Slice {
    pub(super) sink: TurnSink,
    done: oneshot::Sender<SliceEnd>,
    pub(super) began: Instant,
    /// The last sign of life.
    pub(super) last_sign: Instant,
    /// Whether the agent was given what this slice is about.
    pub(super) sent: bool,
    /// The prompt that was sent, until its turn began.
    prompt: Option<Prompt>,
    /// Whether it was sent to a second process, the first one having died before it began.
    sent_again: bool,
    /// When the prompt counts as ignored.
    pub(super) ignored: Option<Instant>,
    /// Whether it is being cut short, and why.
    pub(super) cutting: Option<Cutting>,
    /// What the CLI said in the model's name.
    pub(super) said: Option<String>,
    pub(super) not_taken: Vec<String>,
    usage: Usage,
}

/// A slice that is being cut short.
pub(super) struct Cutting {
    /// When the process is killed instead.
    pub(super) deadline: Instant,
    /// Why, unless the host asked for it.
    failure: Option<String>,
}

impl Slice {
    fn new(sink: TurnSink, done: oneshot::Sender<SliceEnd>) -> Self {
        let now = Instant::now();
        Self {
            sink,
            done,
            began: now,
            last_sign: now,
            sent: false,
            prompt: None,
            sent_again: false,
            ignored: None,
            cutting: None,
            said: None,
            not_taken: Vec::new(),
            usage: Usage::default(),
        }
    }

    /// Tells the caller. It may have gone: then nobody needs the end.
    pub(super) fn deliver(self, end: SliceEnd) {
        let _ = self.done.send(end);
    }
}

impl Actor {
    pub(super) async fn begin_prompt(&mut self, prompt: Prompt, sink: TurnSink, done: oneshot::Sender<SliceEnd>) {
        // What came after an earlier turn's end belongs to no message.
        let _ = self.translator.take();
        self.begin(sink, done);
        if !self.parts.state.pending.is_empty() && self.deferring.is_none() {
            self.parts.state.give_up_pause();
        }
        if prompt.model.is_some() && prompt.model != self.parts.settings.model {
            self.parts.settings.model.clone_from(&prompt.model);
            if let (Some(model), Some(_)) = (&prompt.model, &self.cli) {
                let model = model.clone();
                let id = self.request_id();
                self.send(outgoing::set_model(&id, &model));
            }
        }
        self.todo = Some(Todo::Prompt(prompt));
        self.ensure_process().await;
    }

    pub(super) async fn begin_answers(&mut self, answers: Answers, sink: TurnSink, done: oneshot::Sender<SliceEnd>) {
        let late = self.translator.take();
        self.begin(sink, done);
        self.outbox.extend(self.translator.take());
        self.outbox.extend(late);
        for answer in &answers.answers {
            self.translator.known_call(&answer.tool_call_id);
        }
        if self.held.is_empty() || self.deferring.is_some() {
            self.todo = Some(Todo::Answers { answers, deadline: None });
            if self.deferring.is_none() {
                self.ensure_process().await;
            }
            return;
        }
        self.hold_until = None;
        self.answer_held(&answers);
    }

    fn begin(&mut self, sink: TurnSink, done: oneshot::Sender<SliceEnd>) {
        let mut slice = Slice::new(sink, done);
        slice.usage = std::mem::take(&mut self.parts.state.carried);
        self.slice = Some(slice);
        self.translator.begin();
    }

    /// Sends a prompt. The turn begins when the CLI says so.
    pub(super) fn send_prompt(&mut self, prompt: &Prompt) {
        self.parts.state.prompted = true;
        if std::mem::take(&mut self.anew) {
            self.translator.notice(
                "session-started-anew",
                "The agent had no record of this session and started anew, without the conversation so far.",
            );
        }
        let line = outgoing::prompt(&prompt.id, &self.parts.state.session, &content::of_prompt(prompt));
        self.send(line);
        self.now_sent(Some(prompt.clone()));
    }

    /// The prompt whose turn had not begun when the process died: it is sent once more, under the same id, so that the
    /// CLI acts on it once at most.
    pub(super) fn take_unbegun(&mut self) -> Option<Prompt> {
        let slice = self.slice.as_mut().filter(|slice| !slice.sent_again && slice.cutting.is_none())?;
        let prompt = slice.prompt.take()?;
        slice.sent_again = true;
        slice.sent = false;
        slice.ignored = None;
        Some(prompt)
    }

    /// Marks the slice as given to the agent.
    pub(super) fn now_sent(&mut self, prompt: Option<Prompt>) {
        if let Some(slice) = &mut self.slice {
            slice.sent = true;
            slice.prompt = prompt;
            slice.last_sign = Instant::now();
        }
    }

    /// The CLI began a turn.
    pub(super) fn turn_began(&mut self) {
        if let Some(slice) = &mut self.slice {
            slice.prompt = None;
            slice.ignored = None;
        }
    }

    /// The CLI said a prompt back. Before its turn began that means it may have seen it before.
    pub(super) fn said_back(&mut self, id: Option<&str>) {
        if let Some(slice) = &mut self.slice
            && let Some(prompt) = &slice.prompt
            && Some(prompt.id.as_str()) == id
        {
            slice.ignored = Some(Instant::now() + IGNORED_AFTER);
        }
    }

    /// A turn of the CLI is over.
    pub(super) fn turn_over(&mut self, outcome: &Outcome) {
        let used = self.meter.since_last(outcome);
        self.active.clear();
        self.held.clear();
        self.hold_until = None;
        let Some(slice) = &mut self.slice else {
            self.parts.state.carried = usage::add(self.parts.state.carried, used);
            return self.idle_now();
        };
        slice.usage = usage::add(slice.usage, used);
        self.parts.state.clear_pause();
        if slice.cutting.is_some() {
            return self.end_cut();
        }
        if outcome.is_error {
            let words = errors::of_outcome(outcome, slice.said.as_deref(), &self.parts.options);
            return self.end_failed(words, true);
        }
        if let Some(text) = slice.said.take().filter(|text| !text.is_empty() && !self.translator.wrote_text()) {
            // What a command of the CLI itself answers comes in the model's name and is not streamed.
            self.translator.whole_text(&text);
        }
        self.translator.finish(false);
        self.end(SliceOutcome::Finished);
    }

    /// Ends the slice with a pause: the held calls stay open, the process alive.
    pub(super) fn pause(&mut self) {
        self.parts.state.clear_pause();
        self.parts.state.pending = self.held.iter().map(|held| held.call.clone()).collect();
        self.hold_until = Some(Instant::now() + self.parts.options.hold);
        self.translator.finish(true);
        self.end(SliceOutcome::Paused);
    }

    /// Ends the slice of a prompt that the CLI has seen before.
    pub(super) fn end_ignored(&mut self) {
        self.translator
            .notice("prompt-already-seen", "The agent has seen this message before and did not act on it again.");
        self.translator.finish(false);
        self.end(SliceOutcome::Finished);
    }

    /// Ends the slice that was cut short.
    pub(super) fn end_cut(&mut self) {
        let failure = self.slice.as_mut().and_then(|slice| slice.cutting.take()).and_then(|cutting| cutting.failure);
        if let Some(message) = failure {
            return self.end_failed(message, true);
        }
        self.parts.state.give_up_pause();
        self.translator.abort();
        self.end(SliceOutcome::Interrupted);
    }

    /// Ends the slice, if there is one, with an error.
    pub(super) fn end_failed(&mut self, message: String, alive: bool) {
        if self.slice.is_none() {
            return;
        }
        self.todo = None;
        self.giving_up = None;
        self.parts.state.give_up_pause();
        self.translator.fail(&message);
        self.end(SliceOutcome::Failed { message, alive });
    }

    fn end(&mut self, outcome: SliceOutcome) {
        let Some(mut slice) = self.slice.take() else { return };
        self.todo = None;
        self.outbox.extend(self.translator.take());
        let end = SliceEnd {
            outcome,
            usage: slice.usage,
            resume: Some(self.parts.state.save()),
            not_taken: std::mem::take(&mut slice.not_taken),
        };
        self.ending = Some((slice, end));
        self.idle_now();
    }

    /// Asks the CLI to cut the slice short, and kills it if it does not in time.
    pub(super) fn cut(&mut self, now: Instant, failure: Option<String>) {
        let deadline = now + self.grace();
        let Some(slice) = &mut self.slice else { return };
        if slice.cutting.is_some() {
            return;
        }
        slice.cutting = Some(Cutting { deadline, failure });
        slice.ignored = None;
        let id = self.request_id();
        self.send(outgoing::interrupt(&id));
    }

    pub(super) async fn interrupt(&mut self, reply: oneshot::Sender<Result<(), AgentError>>) {
        if self.slice.as_ref().is_some_and(|slice| slice.sent) {
            self.cut(Instant::now(), None);
            // The slice's own end tells the caller the rest.
            let _ = reply.send(Ok(()));
        } else if self.slice.is_some() {
            self.interrupt_unsent().await;
            let _ = reply.send(Ok(()));
        } else if !self.held.is_empty() || self.deferring.is_some() || !self.parts.state.pending.is_empty() {
            self.give_up_pause(reply);
        } else {
            let _ = reply.send(Ok(()));
        }
    }

    /// Cuts a slice short whose prompt or answers have not reached the agent.
    async fn interrupt_unsent(&mut self) {
        let answering = matches!(self.todo.take(), Some(Todo::Answers { .. }));
        self.translator.abort();
        self.parts.state.give_up_pause();
        if answering {
            // It may be about to ask; killed, it will ask again and be denied.
            self.kill().await;
        }
        self.end(SliceOutcome::Interrupted);
    }
}
