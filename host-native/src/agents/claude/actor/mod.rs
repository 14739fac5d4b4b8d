//! The one loop of a session: it owns the process and everything known of it, so that a frame, a call of the host and a
//! deadline never meet half-done.

mod asks;
mod defer;
mod frames;
mod launch;
mod slice;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use self::asks::{Held, Verdict};
use self::defer::Leaving;
use self::launch::Launch;
use self::slice::Slice;
use super::options::ClaudeOptions;
use super::process::{Cli, Incoming};
use super::state::State;
use super::translate::Translator;
use super::usage::Meter;
use crate::ports::{
    AgentError, Answers, Chunk, Notices, Prompt, ResumeState, Sandbox, SessionSettings, SliceEnd, TurnSink,
};

/// What the host asks of a session.
pub(super) enum Request {
    /// Starts the process, if it does not run.
    Start(oneshot::Sender<Result<(), AgentError>>),
    /// Starts a turn.
    Prompt(Prompt, TurnSink, oneshot::Sender<SliceEnd>),
    /// Goes on with a paused turn.
    Answer(Answers, TurnSink, oneshot::Sender<SliceEnd>),
    /// Cuts the turn short.
    Interrupt(oneshot::Sender<Result<(), AgentError>>),
    /// Stops the process and keeps the state.
    Stop(oneshot::Sender<Result<Option<ResumeState>, AgentError>>),
    /// Ends the process at once.
    Destroy(oneshot::Sender<()>),
}

/// What a session is made of.
pub(super) struct Parts {
    pub options: ClaudeOptions,
    pub sandbox: Arc<dyn Sandbox>,
    pub settings: SessionSettings,
    pub notices: Notices,
    pub state: State,
    /// Whether the state comes from an earlier process.
    pub saved: bool,
}

/// What is to be done once the process can be spoken to.
enum Todo {
    /// Send this prompt.
    Prompt(Prompt),
    /// Give these answers where they are asked for again; by the deadline, tell them in words.
    Answers { answers: Answers, deadline: Option<Instant> },
}

/// A pause that was given up while the agent still keeps its call: what is asked again is denied unseen.
struct GivingUp {
    deadline: Instant,
}

type Sending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A session of the CLI.
pub(super) struct Actor {
    parts: Parts,
    cli: Option<Cli>,
    launch: Option<Launch>,
    starting: Option<oneshot::Sender<Result<(), AgentError>>>,
    requests: u64,
    translator: Translator,
    meter: Meter,
    slice: Option<Slice>,
    todo: Option<Todo>,
    giving_up: Option<GivingUp>,
    /// Whether the CLI had no record of the session, which the next slice tells.
    anew: bool,
    /// Calls that run, with their tools.
    active: HashMap<String, String>,
    held: Vec<Held>,
    verdicts: HashMap<String, Verdict>,
    hold_until: Option<Instant>,
    deferring: Option<Instant>,
    leaving: Option<Leaving>,
    interrupts: Vec<oneshot::Sender<Result<(), AgentError>>>,
    stops: Vec<oneshot::Sender<Result<Option<ResumeState>, AgentError>>>,
    outbox: Vec<Chunk>,
    ending: Option<(Slice, SliceEnd)>,
}

impl Actor {
    /// Runs a session until its handle is dropped.
    pub(super) async fn run(parts: Parts, mut requests: mpsc::UnboundedReceiver<Request>) {
        let mut actor = Self::new(parts);
        let mut sending: Option<Sending> = None;
        loop {
            if sending.is_none() {
                sending = actor.flush();
            }
            let deadline = actor.next_deadline();
            // Frames wait while the host is behind: the pipe then holds the CLI up.
            let reading = sending.is_none();
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => actor.request(request).await,
                    None => break,
                },
                () = poll_sending(&mut sending) => sending = None,
                incoming = next_incoming(&mut actor.cli), if reading => actor.incoming(incoming).await,
                () = sleep_until(deadline) => actor.tick(Instant::now()).await,
            }
        }
        actor.kill().await;
    }

    fn new(parts: Parts) -> Self {
        Self {
            parts,
            cli: None,
            launch: None,
            starting: None,
            requests: 0,
            translator: Translator::default(),
            meter: Meter::default(),
            slice: None,
            todo: None,
            giving_up: None,
            anew: false,
            active: HashMap::new(),
            held: Vec::new(),
            verdicts: HashMap::new(),
            hold_until: None,
            deferring: None,
            leaving: None,
            interrupts: Vec::new(),
            stops: Vec::new(),
            outbox: Vec::new(),
            ending: None,
        }
    }

    async fn request(&mut self, request: Request) {
        match request {
            Request::Start(reply) => {
                self.starting = Some(reply);
                self.ensure_process().await;
            }
            Request::Prompt(prompt, sink, done) => self.begin_prompt(prompt, sink, done).await,
            Request::Answer(answers, sink, done) => self.begin_answers(answers, sink, done).await,
            Request::Interrupt(reply) => self.interrupt(reply).await,
            Request::Stop(reply) => self.stop(reply).await,
            Request::Destroy(reply) => {
                self.kill().await;
                self.end_failed("The agent was ended by the host.".to_owned(), false);
                // The caller may have gone: the process is ended all the same.
                let _ = reply.send(());
            }
        }
    }

    /// Puts chunks on their way; with none left, delivers the end of the slice.
    fn flush(&mut self) -> Option<Sending> {
        let ((Some((slice, _)), _) | (None, Some(slice))) = (&self.ending, &self.slice) else { return None };
        if self.ending.is_none() {
            self.outbox.extend(self.translator.take());
        }
        if !self.outbox.is_empty() {
            let (sink, chunks) = (slice.sink.clone(), std::mem::take(&mut self.outbox));
            return Some(Box::pin(async move { sink.send(chunks).await }));
        }
        if let Some((slice, end)) = self.ending.take() {
            slice.deliver(end);
        }
        None
    }

    fn next_deadline(&self) -> Option<Instant> {
        let options = &self.parts.options;
        let slice = self.slice.as_ref();
        [
            self.launch.as_ref().map(|launch| launch.deadline),
            self.leaving.as_ref().map(|leaving| leaving.deadline),
            self.deferring,
            self.hold_until,
            self.giving_up.as_ref().map(|giving_up| giving_up.deadline),
            self.reask_deadline(),
            self.pause_time(),
            slice.and_then(|slice| slice.ignored),
            slice.and_then(|slice| slice.cutting.as_ref()).map(|cutting| cutting.deadline),
            slice.map(|slice| slice.began + options.turn),
            self.silence_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Acts on every deadline that has passed, the outermost first.
    async fn tick(&mut self, now: Instant) {
        let passed = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if passed(self.launch.as_ref().map(|launch| launch.deadline)) {
            return self.launch_timed_out().await;
        }
        if passed(self.leaving.as_ref().map(|leaving| leaving.deadline)) {
            return self.left().await;
        }
        if passed(self.deferring) {
            return self.deferral_failed().await;
        }
        if passed(self.hold_until) {
            self.hold_until = None;
            return self.hold_ended().await;
        }
        if passed(self.giving_up.as_ref().map(|giving_up| giving_up.deadline)) {
            self.giving_up = None;
            self.parts.state.clear_pause();
            return self.proceed();
        }
        if passed(self.reask_deadline()) {
            return self.tell_in_words();
        }
        self.tick_slice(now, passed).await;
    }

    async fn tick_slice(&mut self, now: Instant, passed: impl Fn(Option<Instant>) -> bool) {
        if passed(self.slice.as_ref().and_then(|slice| slice.cutting.as_ref()).map(|cutting| cutting.deadline)) {
            self.kill().await;
            return self.end_cut();
        }
        if passed(self.slice.as_ref().and_then(|slice| slice.ignored)) {
            return self.end_ignored();
        }
        if passed(self.pause_time()) {
            return self.pause();
        }
        let options = &self.parts.options;
        let (silence, turn) = (options.silence, options.turn);
        if passed(self.silence_deadline()) {
            return self.cut(now, Some(format!("The agent showed no sign of life for {} seconds.", silence.as_secs())));
        }
        if passed(self.slice.as_ref().map(|slice| slice.began + turn)) {
            self.cut(now, Some(format!("The turn took longer than {} seconds.", turn.as_secs())));
        }
    }

    fn silence_deadline(&self) -> Option<Instant> {
        let slice = self.slice.as_ref().filter(|slice| slice.sent && slice.cutting.is_none())?;
        let waits = !self.active.is_empty() || !self.held.is_empty();
        (!waits).then(|| slice.last_sign + self.parts.options.silence)
    }

    /// A new request id of this host.
    fn request_id(&mut self) -> String {
        self.requests += 1;
        format!("tackroom-{}", self.requests)
    }

    /// Sends a line, if there is a process.
    fn send(&self, line: String) {
        if let Some(cli) = &self.cli {
            cli.send(line);
        }
    }

    fn grace(&self) -> Duration {
        self.parts.options.grace
    }
}

async fn next_incoming(cli: &mut Option<Cli>) -> Incoming {
    match cli {
        Some(cli) => cli.next().await,
        None => std::future::pending().await,
    }
}

async fn poll_sending(sending: &mut Option<Sending>) {
    match sending {
        Some(sending) => sending.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
