//! What each thing that comes from the process means for the session.

use tokio::time::Instant;

use super::{Actor, Todo};
use crate::agents::claude::errors;
use crate::agents::claude::process::Incoming;
use crate::agents::claude::protocol::frames::{AskKind, Content, Frame, Message, Outcome};
use crate::agents::claude::protocol::outgoing;

impl Actor {
    pub(super) async fn incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Frame(Frame::KeepAlive) => {}
            Incoming::Frame(frame) => {
                if let Some(slice) = &mut self.slice {
                    slice.last_sign = Instant::now();
                }
                self.frame(frame);
                if self.slice.is_none() && self.parts.state.pending.is_empty() {
                    // What comes outside a turn and its pauses belongs to no message.
                    drop(self.translator.take());
                }
            }
            Incoming::Broken(words) => {
                self.kill().await;
                self.process_gone(format!("The agent's process was ended: {words}."));
            }
            Incoming::Closed => self.closed().await,
        }
    }

    fn frame(&mut self, frame: Frame) {
        match frame {
            Frame::Init => self.turn_began(),
            Frame::Stream(stream) => {
                self.turn_began();
                self.shown(|translator| translator.stream(stream));
            }
            Frame::Assistant(message) => self.assistant(message),
            Frame::User(message) if message.replay => self.said_back(message.uuid.as_deref()),
            Frame::User(message) => {
                let mut ended = Vec::new();
                self.shown(|translator| ended = translator.results(message));
                for id in ended {
                    self.active.remove(&id);
                    self.verdicts.remove(&id);
                }
            }
            Frame::Result(outcome) => self.result(&outcome),
            Frame::Ask(ask) => match ask.kind {
                AskKind::Hook(tool) => self.hook(ask.request_id, &tool),
                AskKind::Permission(tool) => self.permission(ask.request_id, &tool),
                AskKind::Unknown { subtype } => self.send(outgoing::refuse(&ask.request_id, &subtype)),
            },
            Frame::Cancel { request_id } => self.held.retain(|held| held.request_id != request_id),
            Frame::Reply { request_id, error } => self.replied(&request_id, error),
            Frame::KeepAlive | Frame::Other => {}
        }
    }

    /// Translates, and drops what comes of it while a pause that was given up is being wound up.
    fn shown(&mut self, translate: impl FnOnce(&mut crate::agents::claude::translate::Translator)) {
        if self.giving_up.is_some() {
            return;
        }
        translate(&mut self.translator);
    }

    fn assistant(&mut self, message: Message) {
        if message.synthetic {
            let text = message.content.iter().find_map(|content| match content {
                Content::Text(text) => Some(text.clone()),
                _ => None,
            });
            if let Some(slice) = self.slice.as_mut().filter(|_| self.giving_up.is_none()) {
                slice.said = text;
            }
            return;
        }
        self.shown(|translator| translator.assistant(message));
    }

    fn result(&mut self, outcome: &Outcome) {
        if let Some(launch) = &mut self.launch
            && outcome.is_error
        {
            launch.words.push_str(&outcome.errors.join(" "));
            return;
        }
        if self.giving_up.take().is_some() {
            self.parts.state.clear_pause();
            let used = self.meter.since_last(outcome);
            self.parts.state.carried = crate::agents::claude::usage::add(self.parts.state.carried, used);
            self.active.clear();
            return self.proceed();
        }
        if self.deferring.is_some() {
            return self.deferred(outcome);
        }
        self.turn_over(outcome);
    }

    async fn closed(&mut self) {
        if self.launch.is_some() {
            return self.launch_ended().await;
        }
        if self.leaving.is_some() {
            return self.left().await;
        }
        let (how, stderr) = self.reap().await;
        if let Some(prompt) = self.take_unbegun() {
            self.todo = Some(Todo::Prompt(prompt));
            return self.ensure_process().await;
        }
        self.process_gone(errors::of_exit(&how, &stderr, &self.parts.options));
    }

    /// The process is gone unasked. Idle, the next prompt brings it back; in a slice, the slice failed.
    fn process_gone(&mut self, words: String) {
        if self.slice.as_ref().is_some_and(|slice| slice.cutting.is_some()) {
            return self.end_cut();
        }
        self.end_failed(words, true);
        self.idle_now();
    }
}
