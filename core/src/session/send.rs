//! A message that starts a turn: checked, made durable, and only then given to the agent.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cx::Cx;
use crate::input::{Send, WhenBusy};
use crate::record::{Status, StoredMessage};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::fingerprint::fingerprint;
use crate::session::notes::{Key, Recent, Undelivered, keep_newest};
use crate::session::turn::{PromptText, Turn, TurnState};
use crate::session::writer::{SendUndo, Then, Undo};
use crate::validate::{self, UserMessage};

fn mark_of(send: &Send) -> String {
    let is_text = if send.message_is_text { "text" } else { "json" };
    let prompt = send.prompt.as_deref().unwrap_or("\u{0}");
    fingerprint(&[is_text, &send.message, prompt, send.model.as_deref().unwrap_or("\u{0}")])
}

/// What the agent is given of several messages: one prompt, joined by a blank line, with every file.
pub(crate) fn prompt_of(messages: &[Undelivered]) -> PromptText {
    let texts: Vec<&str> = messages.iter().map(|message| message.prompt.as_deref().unwrap_or(&message.text)).collect();
    PromptText {
        text: texts.join("\n\n"),
        files: messages.iter().flat_map(|message| message.files.iter().cloned()).collect(),
        model: messages.iter().rev().find_map(|message| message.model.clone()),
    }
}

impl Session {
    /// Takes a send that the status allows. `then` says what follows once it is durable.
    pub(crate) fn take_send(&mut self, cx: &mut Cx, command: u64, send: Send, then: Then) -> Result<(), Rejection> {
        let message = validate::user_message(&send, &cx.config.limits)?;
        let starts_agent = then == Then::Prepare && matches!(self.status, Status::Suspended | Status::Failed);
        if starts_agent || self.ending.is_some() {
            self.reserve(cx)?;
        }
        let undo = SendUndo {
            turn: send.turn.clone(),
            status: self.status,
            error: self.error.clone(),
            message_count: self.message_count,
            undelivered: self.notes.undelivered.clone(),
        };
        self.begin_turn(cx, send, message, then);
        if then == Then::Prompt {
            self.set_status(cx, Status::Busy);
        } else if starts_agent {
            self.set_status(cx, Status::Preparing);
        }
        let acknowledge = self.acknowledgement(cx, command, Undo::Send(Box::new(undo)), then);
        self.acknowledge(cx, acknowledge);
        Ok(())
    }

    fn begin_turn(&mut self, cx: &mut Cx, send: Send, message: UserMessage, then: Then) {
        let mark = mark_of(&send);
        let index = self.place(cx, &send.user_message, message.json);
        let mut messages = core::mem::take(&mut self.notes.undelivered);
        messages.retain(|earlier| earlier.index != index);
        messages.push(Undelivered {
            index,
            id: send.user_message,
            prompt: send.prompt,
            model: send.model,
            text: message.text,
            files: message.files,
        });
        if let Some(key) = send.idempotency_key {
            self.notes.keys.push(Key { name: key, turn: send.turn.clone(), mark });
            keep_newest(&mut self.notes.keys, cx.config.limits.idempotency_keys);
        }
        let mut turn = Turn::new(send.turn, send.assistant_message, &cx.config.limits);
        turn.prompt = prompt_of(&messages);
        turn.messages = messages;
        turn.state = if then == Then::Prompt { TurnState::Prompting } else { TurnState::Waiting };
        self.turn = Some(Box::new(turn));
        self.notes.just_answered.clear();
    }

    /// The message's place in the conversation; one that stands there already is not added twice.
    fn place(&mut self, cx: &Cx, id: &str, json: String) -> u32 {
        if let Some(known) = self.notes.recent.iter().find(|recent| recent.id == id) {
            return known.index;
        }
        let index = self.message_count;
        self.message_count += 1;
        self.writer.messages.push(StoredMessage { index, id: id.into(), json });
        self.notes.recent.push(Recent { id: id.into(), index });
        keep_newest(&mut self.notes.recent, cx.config.limits.idempotency_keys);
        index
    }

    /// Whether the send repeats an earlier one by its key; then it is that turn.
    pub(crate) fn repeats(&mut self, cx: &mut Cx, command: u64, send: &Send) -> Result<bool, Rejection> {
        if send.when_busy != WhenBusy::Reject {
            let message = "\"queue\" and \"steer\" are reserved; \"reject\" is what is served.";
            return Err(Rejection::invalid("whenBusy", message));
        }
        let Some(known) = send.idempotency_key.as_ref().and_then(|key| self.notes.key(key)) else { return Ok(false) };
        if known.mark != mark_of(send) {
            let message = "this key was used for another message; use a new key for a new message.";
            return Err(Rejection::invalid("idempotencyKey", message));
        }
        let id = known.turn.clone();
        if self.turn.as_ref().is_some_and(|turn| turn.id == id && !turn.durable) {
            let mut acknowledge = self.acknowledgement(cx, command, Undo::Nothing, Then::Nothing);
            acknowledge.repeated = true;
            self.acknowledge(cx, acknowledge);
        } else {
            cx.accept(command, self.summary(), Some(id), true);
        }
        Ok(true)
    }
}
