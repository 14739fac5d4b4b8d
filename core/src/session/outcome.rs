//! What adapters answer, brought to the room that waits for it. An answer to something given up changes nothing.

use alloc::format;
use alloc::vec::Vec;

use crate::cx::{Cx, Kind};
use crate::input::{Failure, FailureKind, Outcome, SliceEnd, SliceFailure, SliceOutcome};
use crate::record::Usage;
use crate::session::Session;
use crate::session::runtime::Runtime;
use crate::session::turn::TurnState;

/// The failure in an outcome; one of the wrong kind is a failure of the host.
pub(crate) fn failure_of(outcome: Outcome) -> Failure {
    match outcome {
        Outcome::Failed(failure) => failure,
        other => Failure {
            kind: FailureKind::Other,
            message: format!("The host answered with {}, which is no answer to this.", name_of(&other)),
        },
    }
}

fn name_of(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
        Outcome::Loaded(_) => "loaded",
        Outcome::Claimed(_) => "claimed",
        Outcome::Renewed(_) => "renewed",
        Outcome::Due(_) => "due",
        Outcome::Acquired => "acquired",
        Outcome::Started(_) => "started",
        Outcome::Stopped(_) => "stopped",
        Outcome::SliceEnded(_) => "slice-ended",
        Outcome::Verdict(_) => "verdict",
    }
}

impl Session {
    pub(crate) fn completed(&mut self, cx: &mut Cx, effect: u64, kind: &Kind, outcome: Outcome) {
        match kind {
            Kind::Save | Kind::Settle | Kind::Delete => self.store_answered(cx, effect, kind, outcome),
            Kind::Acquire | Kind::Start => self.start_answered(cx, effect, outcome),
            Kind::Slice => self.slice_answered(cx, effect, outcome),
            Kind::Interrupt => self.interrupted(cx, outcome == Outcome::Done),
            Kind::Stop => self.stop_answered(cx, effect, outcome),
            Kind::Approve { .. } => match outcome {
                Outcome::Verdict(verdict) => self.verdict(cx, effect, verdict),
                other => {
                    cx.warn(&self.id, "approve", failure_of(other).message);
                    self.verdict(cx, effect, None);
                }
            },
            Kind::Destroy | Kind::Discard => {
                if outcome != Outcome::Done {
                    cx.warn(&self.id, "release", failure_of(outcome).message);
                }
            }
            Kind::Load | Kind::ClaimLive | Kind::Renew | Kind::ListDue | Kind::Release { .. } => {}
        }
    }

    fn store_answered(&mut self, cx: &mut Cx, effect: u64, kind: &Kind, outcome: Outcome) {
        match (kind, outcome) {
            (Kind::Save, outcome) => {
                if self.writer.in_flight.as_ref().is_none_or(|in_flight| in_flight.effect != Some(effect)) {
                    return;
                }
                match outcome {
                    Outcome::Done => self.saved(cx),
                    other => self.save_failed(cx, &failure_of(other)),
                }
            }
            (Kind::Settle, Outcome::Loaded(stored)) => self.read_back_done(cx, stored),
            (Kind::Settle, other) => self.read_back_failed(cx, &failure_of(other)),
            (Kind::Delete, Outcome::Done) => self.forgotten(cx, Ok(())),
            (_, other) => self.forgotten(cx, Err(failure_of(other).message)),
        }
    }

    fn start_answered(&mut self, cx: &mut Cx, effect: u64, outcome: Outcome) {
        match (self.runtime, outcome) {
            (Runtime::Acquiring { lease }, Outcome::Acquired) if lease == effect => self.acquired(cx, lease),
            (Runtime::Starting { agent, .. }, Outcome::Started(resume)) if agent == effect => self.started(cx, resume),
            (Runtime::Acquiring { lease: waited } | Runtime::Starting { agent: waited, .. }, other)
                if waited == effect =>
            {
                self.start_failed(cx, &failure_of(other));
            }
            _ => {}
        }
    }

    fn slice_answered(&mut self, cx: &mut Cx, effect: u64, outcome: Outcome) {
        if self.turn.as_ref().is_none_or(|turn| turn.state != TurnState::Running(effect)) {
            return;
        }
        match outcome {
            Outcome::SliceEnded(end) => self.slice_ended(cx, end),
            other => {
                let failure = SliceFailure { message: failure_of(other).message, alive: false };
                self.slice_ended(
                    cx,
                    SliceEnd {
                        outcome: SliceOutcome::Failed(failure),
                        usage: Usage::default(),
                        resume: None,
                        not_taken: Vec::new(),
                    },
                );
            }
        }
    }

    fn stop_answered(&mut self, cx: &mut Cx, effect: u64, outcome: Outcome) {
        match self.runtime {
            Runtime::Stopping { effect: waited, .. } if waited == effect => {}
            _ => return,
        }
        match outcome {
            Outcome::Stopped(resume) => self.stopped(cx, Ok(resume)),
            other => self.stopped(cx, Err(failure_of(other).message)),
        }
    }
}
