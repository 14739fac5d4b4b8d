//! How a turn ends: what its readers see last, what is kept of it, and what follows.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::approval::chunks;
use crate::cx::Cx;
use crate::event::StreamEnd;
use crate::record::{Status, StoredMessage};
use crate::session::Session;
use crate::session::turn::{Turn, TurnState};
use crate::session::writer::After;
use crate::timers::TimerKey;
use crate::transcript::{Chunk, Ending as Settling, settle};

/// How a turn ends.
#[derive(Debug, Clone)]
pub(crate) enum TurnEnd {
    Finished,
    /// Cut short: the reason shown, and an error where it was not the user's wish.
    Cut {
        reason: String,
        error: Option<(&'static str, String)>,
    },
    Failed {
        message: String,
    },
}

impl Session {
    /// The turn is over: its end is shown and written, and what was to follow it follows.
    pub(crate) fn turn_over(&mut self, cx: &mut Cx, end: TurnEnd, alive: bool) {
        let mut afters: Vec<After> = self.end_turn(cx, end).into_iter().collect();
        let ending = self.end_interrupt(cx);
        if alive && !self.runtime.is_live() {
            // The agent went away while the turn ended: what remains is decided where it was lost.
            return self.write(cx, afters);
        }
        if !alive {
            self.agent_lost(cx, &mut afters);
        } else if self.status != Status::Idle {
            self.set_status(cx, Status::Idle);
        }
        let Some(ending) = ending else { return self.write(cx, afters) };
        if ending.then_suspend && alive {
            self.write(cx, afters);
            return self.begin_suspend(cx, ending.commands, ending.cause);
        }
        afters.extend(ending.commands.into_iter().map(After::Reply));
        self.write(cx, afters);
    }

    /// Shows the end of the turn and takes it off the session; the returned step ends its stream once that is durable.
    pub(crate) fn end_turn(&mut self, cx: &mut Cx, end: TurnEnd) -> Option<After> {
        let turn = self.turn.as_mut()?;
        for (effect, _) in core::mem::take(&mut turn.approving) {
            cx.settle_effect(effect);
        }
        if let TurnState::Running(effect) = turn.state {
            cx.settle_effect(effect);
        }
        self.open_stream(cx);
        self.show_end(cx, &end);
        let answer = self.answer_to_keep();
        let turn: Box<Turn> = self.turn.take()?;
        self.writer.messages.extend(answer);
        cx.timers.cancel(&TimerKey::Turn(self.id.clone()));
        self.turns += 1;
        self.error = None;
        let stream_end = match end {
            TurnEnd::Finished => StreamEnd::Finished,
            TurnEnd::Cut { error, .. } => {
                if let Some((code, message)) = error {
                    self.set_error(code, message);
                }
                StreamEnd::Interrupted
            }
            TurnEnd::Failed { message } => {
                self.set_error("agent-failed", message);
                StreamEnd::Failed
            }
        };
        self.touch(cx);
        Some(After::EndStream { turn: turn.id.clone(), next_seq: turn.next_seq, end: stream_end })
    }

    fn show_end(&mut self, cx: &mut Cx, end: &TurnEnd) {
        let Some(turn) = &mut self.turn else { return };
        let settling = match end {
            TurnEnd::Finished => Settling::Finished,
            TurnEnd::Cut { reason, .. } => Settling::Cut(reason.clone()),
            TurnEnd::Failed { message } => Settling::Cut(message.clone()),
        };
        let chunks = settle(&mut turn.message, &settling);
        let finish = turn.finish.take();
        self.show_folded(cx, chunks.iter().map(Chunk::to_json).collect());
        let last = match end {
            TurnEnd::Finished => finish.unwrap_or_else(|| "{\"type\":\"finish\"}".to_string()),
            TurnEnd::Cut { reason, .. } => chunks::abort(reason),
            TurnEnd::Failed { message } => chunks::error(message),
        };
        self.inject(cx, Vec::from([last]));
    }

    /// The message of a turn that ends, for its last write.
    fn answer_to_keep(&mut self) -> Option<StoredMessage> {
        self.writer.answer_changed = false;
        let next = self.message_count;
        let turn = self.turn.as_mut()?;
        if turn.message.part_count() == 0 {
            return None;
        }
        let index = turn.index.unwrap_or_else(|| {
            self.message_count = next + 1;
            next
        });
        self.writer.messages.retain(|message| message.index != index);
        Some(StoredMessage { index, id: turn.assistant.clone(), json: turn.message.to_json() })
    }
}
