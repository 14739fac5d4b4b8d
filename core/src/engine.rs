//! The engine: one state machine for every session of a host.
//!
//! ```text
//! command, completion, notice, tick ─► step ─► effects, events, deadline   or a rejection
//! an agent's chunks                 ─► push ─► numbers, edits, perhaps a step
//! ```

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::check;
use crate::cx::{Cx, Kind, Later, Orphan};
use crate::effect::{EffectBody, ReleaseSandbox};
use crate::event::Event;
use crate::input::{Chunk, Command, CommandBody, Completed, Input, Notice, NoticeBody, Outcome};
use crate::limits::Config;
use crate::loading::Loading;
use crate::record::Summary;
use crate::recovery::Host;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::outcome::failure_of;
use crate::session::stopping::Cause;
use crate::session::stream;
use crate::session::writer::After;
use crate::step::{Pushed, Step};
use crate::time::Now;
use crate::timers::TimerKey;
use crate::validate;
use crate::view::{LiveMessage, Rebuilt, Stats};

pub(crate) const STOPPING: &str = "The host is stopping; try again when it has started anew.";
const STARTING: &str = "The host is starting and has not yet recovered its sessions; try again in a moment.";

/// Decides everything; does nothing.
#[derive(Debug)]
pub struct Engine {
    pub(crate) cx: Cx,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) loading: BTreeMap<String, Loading>,
    pub(crate) host: Host,
    /// The deadline that the host was told last.
    told_ms: Option<u64>,
    /// Sessions that a handler was called on in this step.
    pub(crate) visited: Vec<String>,
}

impl Engine {
    /// An engine that knows no session yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            cx: Cx::new(config),
            sessions: BTreeMap::new(),
            loading: BTreeMap::new(),
            host: Host::default(),
            told_ms: None,
            visited: Vec::new(),
        }
    }

    /// Takes one input in.
    ///
    /// # Errors
    /// A [`Rejection`] where the input is a command that is refused at once; the state is unchanged.
    pub fn step(&mut self, now: Now, input: Input) -> Result<Step, Rejection> {
        self.read_clock(now);
        let ticked = matches!(input, Input::Tick);
        match input {
            Input::Start => self.start(),
            Input::Command(command) => {
                if let Err(rejection) = self.command(command) {
                    self.cx.step = Step::default();
                    self.cx.later.clear();
                    self.cx.touched.clear();
                    self.visited.clear();
                    return Err(rejection);
                }
            }
            Input::Completed(completed) => self.completed(completed),
            Input::Notice(notice) => self.notice(notice),
            Input::Tick => self.tick(),
            Input::Shutdown => self.shut_down(),
        }
        Ok(self.finish(ticked))
    }

    /// Takes a batch of an agent's chunks in. `cursor` counts the chunks of this slice before the batch; chunks seen
    /// before are dropped. Chunks of a turn that is not running are all dropped.
    pub fn push(&mut self, now: Now, session: &str, turn: &str, cursor: u64, chunks: Vec<Chunk>) -> Pushed {
        self.read_clock(now);
        let Some(found) = self.sessions.get_mut(session) else {
            return Pushed { edits: stream::drop_all(chunks.len()), ..Pushed::default() };
        };
        let mut pushed = found.push(&mut self.cx, turn, cursor, chunks);
        if !self.cx.step.effects.is_empty() || !self.cx.step.events.is_empty() || !self.cx.later.is_empty() {
            pushed.step = Some(self.finish(false));
        }
        pushed
    }

    /// A session in memory, as it stands.
    #[must_use]
    pub fn summary(&self, session: &str) -> Option<Summary> {
        self.sessions.get(session).map(Session::summary)
    }

    /// The message of the session's turn, as it stands.
    #[must_use]
    pub fn live_message(&self, session: &str) -> Option<LiveMessage> {
        let session = self.sessions.get(session)?;
        let turn = session.turn.as_ref()?;
        Some(LiveMessage {
            turn: turn.id.clone(),
            index: turn.index.unwrap_or(session.message_count),
            id: turn.assistant.clone(),
            json: turn.message.to_json(),
            next_seq: turn.next_seq,
        })
    }

    /// What a reader without a usable cursor is given.
    #[must_use]
    pub fn rebuild(&self, session: &str) -> Option<Rebuilt> {
        let turn = self.sessions.get(session)?.turn.as_ref()?;
        Some(Rebuilt {
            turn: turn.id.clone(),
            chunks: stream::rebuilt(turn),
            next_seq: turn.next_seq,
            open: turn.stream_open,
        })
    }

    /// Counts over all sessions.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Stats {
            sessions: count(self.sessions.len()),
            live: count(self.sessions.values().filter(|session| session.status.is_live()).count()),
            leases: count(self.cx.slots.held.len()),
            waiting: count(self.cx.slots.queue.len()),
            effects: count(self.cx.outstanding.len()),
            ready: self.host.ready && !self.cx.shutting_down,
        }
    }

    /// Checks every numbered invariant and names the first that does not hold.
    ///
    /// # Errors
    /// The number and words of the broken invariant.
    pub fn check(&self) -> Result<(), String> {
        for session in self.sessions.values() {
            check::session(session, &self.cx)?;
        }
        check::host(&self.cx)
    }

    fn read_clock(&mut self, now: Now) {
        let monotonic_ms = now.monotonic_ms.max(self.cx.now.monotonic_ms);
        self.cx.now = Now { wall_ms: now.wall_ms, monotonic_ms };
    }

    fn command(&mut self, command: Command) -> Result<(), Rejection> {
        validate::session_id(&command.session)?;
        if self.cx.shutting_down {
            return Err(Rejection::Unavailable(STOPPING.into()));
        }
        if !self.host.ready {
            return Err(Rejection::Unavailable(STARTING.into()));
        }
        let id = command.session.clone();
        if let Some(session) = self.sessions.get_mut(&id) {
            self.visited.push(id);
            return session.command(&mut self.cx, command);
        }
        if let Some(loading) = self.loading.get_mut(&id) {
            loading.commands.push(command);
            return Ok(());
        }
        if let CommandBody::Create(create) = command.body {
            return self.create(&id, command.id, create);
        }
        self.load(&id).commands.push(command);
        Ok(())
    }

    fn completed(&mut self, completed: Completed) {
        let Completed { effect, outcome } = completed;
        let Some(outstanding) = self.cx.settle_effect(effect) else {
            return self.late(effect, &outcome);
        };
        self.dispatch(effect, &outstanding.session, outstanding.kind, outcome);
    }

    pub(crate) fn dispatch(&mut self, effect: u64, id: &str, kind: Kind, outcome: Outcome) {
        match kind {
            Kind::Load => self.loaded(id, outcome),
            Kind::ClaimLive => self.claimed(outcome),
            Kind::Renew => self.renewed(outcome),
            Kind::ListDue => self.due(outcome),
            Kind::Release { lease } => {
                self.cx.free_slot(lease);
                if outcome != Outcome::Done {
                    self.cx.warn(id, "release", failure_of(outcome).message);
                }
            }
            kind => {
                if let Some(session) = self.sessions.get_mut(id) {
                    self.visited.push(id.to_string());
                    session.completed(&mut self.cx, effect, &kind, outcome);
                }
            }
        }
    }

    /// An answer to something given up: what it holds is given back.
    fn late(&mut self, effect: u64, outcome: &Outcome) {
        // A claim made late is this host's own: it must not fence itself.
        if let Outcome::Loaded(Some(stored)) = outcome
            && let Some(session) = self.sessions.get_mut(&stored.summary.id)
        {
            session.generation = session.generation.max(stored.generation);
        }
        let Some(orphan) = self.cx.orphans.remove(&effect) else { return };
        match (orphan, outcome) {
            (Orphan::Lease { session, keep }, Outcome::Acquired) => {
                self.cx.timers.cancel(&TimerKey::Slot(effect));
                let timeout = self.cx.config.limits.release_timeout_ms;
                let body = EffectBody::ReleaseSandbox(ReleaseSandbox { lease: effect, keep });
                self.cx.emit(&session, Kind::Release { lease: effect }, timeout, body);
            }
            (Orphan::Lease { .. }, _) => self.cx.free_slot(effect),
            (Orphan::Agent { session }, Outcome::Started(_)) => self.cx.destroy(&session, effect),
            (Orphan::Agent { .. }, _) => {}
        }
    }

    fn notice(&mut self, notice: Notice) {
        let Notice { agent, body } = notice;
        let found = self.sessions.iter().find(|(_, session)| session.runtime.agent() == Some(agent));
        let Some(id) = found.map(|(id, _)| id.clone()) else { return };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        self.visited.push(id);
        match body {
            NoticeBody::Checkpoint(resume) => {
                session.keep_resume(resume);
                session.write(&mut self.cx, []);
            }
            NoticeBody::Exited(message) => session.agent_exited(&mut self.cx, agent, &message),
        }
    }

    fn tick(&mut self) {
        for _ in 0..self.cx.config.limits.tick_work {
            let Some(key) = self.cx.timers.pop_due(self.cx.now.monotonic_ms) else { return };
            self.due_timer(&key);
        }
    }

    /// Does what handlers left for other sessions, then closes the step.
    fn finish(&mut self, ticked: bool) -> Step {
        while let Some(later) = self.cx.later.pop_front() {
            self.later(later);
        }
        self.let_leave();
        self.tell_changes();
        self.tell_shut_down();
        let first = self.cx.timers.first();
        let earlier = match (first, self.told_ms) {
            (Some(first), Some(told)) => first < told,
            (first, None) => first.is_some(),
            (None, _) => false,
        };
        let mut step = core::mem::take(&mut self.cx.step);
        if ticked || earlier {
            self.told_ms = first;
            step.deadline = first;
        }
        step
    }

    fn later(&mut self, later: Later) {
        match later {
            Later::SuspendForRoom(id) => {
                let Some(session) = self.sessions.get_mut(&id) else { return };
                if session.ending.is_none() && session.runtime.is_live() {
                    session.begin_suspend(&mut self.cx, Vec::new(), Cause::Room);
                }
                self.visited.push(id);
            }
            Later::ServeQueue => self.serve_queue(),
            Later::CloseDue(id) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    if session.status == crate::record::Status::Suspended {
                        session.close(&mut self.cx, Vec::<After>::new());
                    }
                    self.visited.push(id);
                } else {
                    self.load(&id).close = true;
                }
            }
            Later::Fenced(id) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.fenced(&mut self.cx);
                    self.visited.push(id);
                }
            }
            Later::AlreadyThere(id, commands) => {
                if let Some(mut session) = self.sessions.remove(&id) {
                    session.leave(&mut self.cx);
                }
                self.load(&id).creates.extend(commands);
            }
        }
    }

    pub(crate) fn visit(&mut self, ids: Vec<String>) {
        self.visited.extend(ids);
    }

    /// Sessions that nothing keeps in memory leave it.
    fn let_leave(&mut self) {
        for id in core::mem::take(&mut self.visited) {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            if !session.can_leave() {
                continue;
            }
            session.leave(&mut self.cx);
            if !session.gone {
                if self.cx.touched.remove(&id) {
                    self.cx.step.events.push(Event::SessionUpdated(session.summary()));
                }
                self.cx.event(Event::SessionReleased(id.clone()));
            }
            self.sessions.remove(&id);
        }
    }

    fn tell_changes(&mut self) {
        for id in core::mem::take(&mut self.cx.touched) {
            if let Some(session) = self.sessions.get(&id)
                && session.writer.is_durable()
            {
                self.cx.step.events.push(Event::SessionUpdated(session.summary()));
            }
        }
    }
}
