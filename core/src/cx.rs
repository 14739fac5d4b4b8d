//! What every handler shares: the moment, the step being made, and everything that is not one session's own.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::effect::{AgentRef, Effect, EffectBody, ReleaseSandbox};
use crate::event::{Accepted, Event, Refused, Warned};
use crate::limits::Config;
use crate::record::Summary;
use crate::rejection::Rejection;
use crate::slots::{Slot, Slots};
use crate::step::Step;
use crate::time::Now;
use crate::timers::{TimerKey, Timers};

/// What an outstanding effect is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Load for commands that wait.
    Load,
    /// Load to learn whether a write took effect.
    Settle,
    ClaimLive,
    Renew,
    Save,
    Delete,
    ListDue,
    Acquire,
    Release {
        lease: u64,
    },
    Discard,
    Start,
    Slice,
    Interrupt,
    Stop,
    Destroy,
    Approve {
        approval_id: String,
    },
}

/// An effect without a completion.
#[derive(Debug, Clone)]
pub(crate) struct Outstanding {
    pub(crate) session: String,
    pub(crate) kind: Kind,
}

/// An effect given up on whose late completion brings something to give back.
#[derive(Debug)]
pub(crate) enum Orphan {
    Lease { session: String, keep: bool },
    Agent { session: String },
}

/// Something to do to another session once the handler at work has returned.
#[derive(Debug)]
pub(crate) enum Later {
    SuspendForRoom(String),
    ServeQueue,
    CloseDue(String),
    Fenced(String),
    /// A session of this id is kept already: these commands wanted to create it.
    AlreadyThere(String, Vec<u64>),
}

/// Late completions are remembered for this many effects: more would be a host that never completes anything.
const ORPHANS: usize = 4_096;

/// See the module.
#[derive(Debug)]
pub(crate) struct Cx {
    pub(crate) config: Config,
    pub(crate) now: Now,
    pub(crate) step: Step,
    pub(crate) outstanding: BTreeMap<u64, Outstanding>,
    pub(crate) orphans: BTreeMap<u64, Orphan>,
    pub(crate) timers: Timers,
    pub(crate) slots: Slots,
    pub(crate) later: VecDeque<Later>,
    pub(crate) touched: BTreeSet<String>,
    pub(crate) shutting_down: bool,
    next_effect: u64,
    next_write: u64,
}

impl Cx {
    pub(crate) fn new(config: Config) -> Self {
        let slots = Slots::of(config.capacity);
        Self {
            config,
            now: Now::default(),
            step: Step::default(),
            outstanding: BTreeMap::new(),
            orphans: BTreeMap::new(),
            timers: Timers::default(),
            slots,
            later: VecDeque::new(),
            touched: BTreeSet::new(),
            shutting_down: false,
            next_effect: 1,
            next_write: 1,
        }
    }

    pub(crate) fn in_ms(&self, ms: u64) -> u64 {
        self.now.monotonic_ms.saturating_add(ms)
    }

    /// The id that the next emitted effect gets.
    pub(crate) fn write_id(&mut self) -> String {
        let id = self.next_write;
        self.next_write += 1;
        format!("{}-{id}", self.config.epoch)
    }

    pub(crate) fn emit(&mut self, session: &str, kind: Kind, timeout_ms: u64, body: EffectBody) -> u64 {
        let id = self.next_effect;
        self.next_effect += 1;
        self.outstanding.insert(id, Outstanding { session: session.to_string(), kind });
        let deadline = self.in_ms(timeout_ms);
        self.timers.set(TimerKey::Effect(id), deadline);
        self.step.effects.push(Effect { id, session: session.to_string(), body });
        id
    }

    /// Takes the effect out of the outstanding ones.
    pub(crate) fn settle_effect(&mut self, id: u64) -> Option<Outstanding> {
        self.timers.cancel(&TimerKey::Effect(id));
        self.outstanding.remove(&id)
    }

    /// Stops waiting for an effect. What a late completion brings is given back.
    pub(crate) fn abandon(&mut self, id: u64, keep: bool) {
        let Some(outstanding) = self.settle_effect(id) else { return };
        let orphan = match outstanding.kind {
            Kind::Acquire => {
                // The place may be taken in the backend: it stays counted until the answer comes or is overdue.
                let deadline = self.in_ms(self.config.limits.release_timeout_ms);
                self.slots.mark_returning(id, true);
                self.timers.set(TimerKey::Slot(id), deadline);
                Orphan::Lease { session: outstanding.session, keep }
            }
            Kind::Start => Orphan::Agent { session: outstanding.session },
            _ => return,
        };
        self.orphans.insert(id, orphan);
        if self.orphans.len() > ORPHANS {
            self.orphans.pop_first();
        }
    }

    pub(crate) fn take_slot(&mut self, lease: u64, session: &str) {
        self.slots.held.insert(lease, Slot { session: session.to_string(), returning: false });
    }

    pub(crate) fn free_slot(&mut self, lease: u64) {
        self.timers.cancel(&TimerKey::Slot(lease));
        if self.slots.held.remove(&lease).is_some() && !self.slots.queue.is_empty() {
            self.later.push_back(Later::ServeQueue);
        }
    }

    pub(crate) fn release(&mut self, session: &str, lease: u64, keep: bool) {
        self.slots.mark_returning(lease, true);
        let timeout = self.config.limits.release_timeout_ms;
        let body = EffectBody::ReleaseSandbox(ReleaseSandbox { lease, keep });
        self.emit(session, Kind::Release { lease }, timeout, body);
    }

    pub(crate) fn destroy(&mut self, session: &str, agent: u64) {
        let timeout = self.config.limits.stop_timeout_ms;
        self.emit(session, Kind::Destroy, timeout, EffectBody::DestroyAgent(AgentRef { agent }));
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.step.events.push(event);
    }

    pub(crate) fn accept(&mut self, command: u64, summary: Summary, turn: Option<String>, repeated: bool) {
        self.event(Event::Accepted(Accepted { command, summary, turn, incomplete: false, repeated }));
    }

    pub(crate) fn refuse(&mut self, command: u64, rejection: Rejection) {
        self.event(Event::Refused(Refused { command, rejection }));
    }

    pub(crate) fn warn(&mut self, session: &str, action: &str, message: impl Into<String>) {
        self.event(Event::Warned(Warned { session: session.into(), action: action.into(), message: message.into() }));
    }
}
