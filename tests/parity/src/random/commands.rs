//! Commands by dice: mostly what makes sense in the session's status.

use serde_json::json;
use tackroom_core::{
    input::{
        Allow, AnswerBody, AnswerInput, CommandBody, Continue, Create, Deny, Fork, ResultBody, Send, Update, WhenBusy,
    },
    record::{PendingInput, Settings, Status},
};

use super::{Dice, metadata};

impl Dice {
    pub(super) fn command(&mut self) {
        let session = if self.rng.u8(..) < 4 { "no such session!".to_owned() } else { self.wanted() };
        let known = self.status(&session);
        let body = match (known, self.rng.u8(0..100)) {
            (None, 0..90) => self.create(),
            (Some(Status::Preparing | Status::Suspended | Status::Failed), 0..60) | (Some(Status::Idle), 0..70) => {
                self.send()
            }
            (Some(Status::AwaitingInput), 0..80) | (_, 76..82) => self.answers(&session),
            (_, 0..76) => self.send(),
            (_, 82..86) => self.update(),
            (_, 86..90) => CommandBody::Interrupt,
            (_, 90..94) => CommandBody::Suspend,
            (_, 94..96) => CommandBody::Close,
            (_, 96..98) => CommandBody::Delete,
            (_, _) => self.create(),
        };
        self.host.command(&session, body);
    }

    fn create(&mut self) -> CommandBody {
        CommandBody::Create(Create {
            metadata: if self.rng.u8(..) < 8 { "[not an object".into() } else { metadata(&mut self.rng) },
            settings: self.settings(),
            fork: (self.rng.u8(..) < 6).then(|| Fork { session: "s0".into(), message: "user-1".into() }),
        })
    }

    fn settings(&mut self) -> Settings {
        Settings {
            working_directory: self.rng.bool().then(|| "src".into()),
            model: self.rng.bool().then(|| "model-a".into()),
            permission_mode: None,
            mcp_servers: self.rng.bool().then(|| "{}".into()),
        }
    }

    fn send(&mut self) -> CommandBody {
        let as_text = self.rng.u8(..) < 160;
        let user_message = self.id("user");
        let message = if as_text {
            "Hello, \u{1F40E}.".to_owned()
        } else {
            json!({ "id": user_message, "role": "user", "parts": [
                { "type": "text", "text": "Look." },
                { "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA==" },
            ] })
            .to_string()
        };
        CommandBody::Send(Send {
            turn: self.id("turn"),
            assistant_message: self.id("assistant"),
            user_message,
            message: if self.rng.u8(..) < 6 { "{".into() } else { message },
            message_is_text: as_text,
            prompt: (self.rng.u8(..) < 40).then(|| "Say hello.".into()),
            model: (self.rng.u8(..) < 40).then(|| "model-b".into()),
            idempotency_key: self.rng.bool().then(|| format!("key-{}", self.rng.u8(0..6))),
            when_busy: match self.rng.u8(..) {
                0..6 => WhenBusy::Queue,
                6..12 => WhenBusy::Steer,
                _ => WhenBusy::Reject,
            },
        })
    }

    fn answers(&mut self, session: &str) -> CommandBody {
        let pending = self.host.summary(session).map(|summary| summary.pending).unwrap_or_default();
        let mut answers = Vec::new();
        for call in &pending {
            if self.rng.u8(..) < 230 {
                answers.push(self.answer_to(call));
            }
        }
        if self.rng.u8(..) < 12 {
            let answer = AnswerBody::Allow(Allow::default());
            answers.push(AnswerInput { id: "approval-unknown".into(), answer });
        }
        let message = (self.rng.u8(..) < 40).then(|| self.answered_message(session, &pending)).flatten();
        CommandBody::Continue(Continue { answers, message, who: "ann".into() })
    }

    fn answer_to(&mut self, call: &PendingInput) -> AnswerInput {
        let reason = self.rng.bool().then(|| "so".to_owned());
        let answer = match self.rng.u8(0..10) {
            0..5 => AnswerBody::Allow(Allow { reason, edited_input: None }),
            5 => AnswerBody::Allow(Allow { reason, edited_input: Some(r#"{"path":"b"}"#.into()) }),
            6..9 => AnswerBody::Deny(Deny { reason }),
            _ => AnswerBody::Result(ResultBody { output: r#""42""#.into(), is_error: self.rng.bool() }),
        };
        let id = if self.rng.bool() { call.approval_id.clone() } else { call.tool_call_id.clone() };
        AnswerInput { id, answer }
    }

    /// The live message as a client sends it back, each waiting call answered.
    fn answered_message(&mut self, session: &str, pending: &[PendingInput]) -> Option<String> {
        let text = self.host.live_message(session)?;
        let mut message: serde_json::Value = serde_json::from_str(&text).ok()?;
        for part in message.get_mut("parts")?.as_array_mut()? {
            let waits =
                |call: &&PendingInput| part.get("toolCallId").and_then(|id| id.as_str()) == Some(&call.tool_call_id);
            if let Some(call) = pending.iter().find(waits) {
                part["state"] = json!("approval-responded");
                part["approval"] = json!({ "id": call.approval_id, "approved": self.rng.bool() });
            }
        }
        Some(message.to_string())
    }

    fn update(&mut self) -> CommandBody {
        CommandBody::Update(Update {
            metadata: self.rng.bool().then(|| metadata(&mut self.rng)),
            settings: (self.rng.u8(..) < 60).then(|| self.settings()),
            metadata_revision: self.rng.bool().then(|| self.rng.u64(0..5)),
        })
    }
}
