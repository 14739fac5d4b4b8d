//! Rules of messages: two at once, the same one again, and what a session is kept with.

use serde_json::json;
use tackroom_core::{
    Config, Limits,
    input::{CommandBody, SliceOutcome, Update, WhenBusy},
    record::Status,
};
use tackroom_parity::{chunks, world::allow};

use crate::{
    Scenario,
    setup::{begin, busy, idle, last_command, reply, reply_to},
};

pub(crate) fn scenarios() -> Vec<Scenario> {
    [sends(), keys(), updates()].into_iter().flatten().collect()
}

fn sends() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-two-sends--before-the-first-is-durable", |w| {
            idle(w);
            w.hold("SaveSession").send("s", "First.").send("s", "Second.");
            assert_eq!(reply(w), "conflict");
            w.unhold("SaveSession").drain().is("s", Status::Busy);
            assert_eq!(reply_to(w, last_command(w) - 1), "accepted");
        }),
        Scenario::new("rule-two-sends--in-a-turn", |w| {
            busy(w);
            w.send("s", "Second.").drain();
            assert_eq!(reply(w), "conflict");
        }),
        Scenario::new("rule-two-sends--one-after-the-other", |w| {
            busy(w);
            w.slice_end("s", SliceOutcome::Finished).drain().send("s", "Second.").drain();
            w.chunks("s", begin())
                .chunks("s", chunks::text("x", "Yes."))
                .slice_end("s", SliceOutcome::Finished)
                .drain();
            w.view("s").is("s", Status::Idle);
            assert_eq!(w.summary("s").turns, 2);
        }),
        Scenario::new("rule-two-sends--to-a-new-session", |w| {
            w.hold("AcquireSandbox").create("s").drain().send("s", "First.").send("s", "Second.");
            assert_eq!(reply(w), "conflict");
            w.unhold("AcquireSandbox").drain().is("s", Status::Busy);
        }),
        Scenario::new("rule-two-sends--reserved-words", |w| {
            idle(w);
            for when_busy in [WhenBusy::Queue, WhenBusy::Steer] {
                w.send_as("s", "Later.", |send| send.when_busy = when_busy);
                assert_eq!(reply(w), "invalid");
            }
        }),
        Scenario::new("rule-two-sends--a-message-with-files", |w| {
            idle(w);
            let message = json!({"id": "u9", "role": "user", "parts": [
                {"type": "text", "text": "What is this?"},
                {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="},
            ]});
            w.send_as("s", &message.to_string(), |send| {
                send.message_is_text = false;
                send.user_message = "u9".into();
                send.prompt = Some("Describe the picture.".into());
                send.model = Some("model-b".into());
            });
            w.drain().view("s").is("s", Status::Busy);
        }),
        Scenario::new("rule-two-sends--a-message-that-is-none", |w| {
            idle(w);
            w.send_as("s", "{\"role\":\"user\"", |send| send.message_is_text = false);
            assert_eq!(reply(w), "invalid");
        }),
    ]
}

fn keys() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-idempotency--joined-in-the-turn", |w| {
            idle(w);
            w.send_keyed("s", "Once.", "k").drain().send_keyed("s", "Once.", "k").drain();
            assert_eq!(reply(w), "repeated");
            w.is("s", Status::Busy);
        }),
        Scenario::new("rule-idempotency--after-the-end", |w| {
            idle(w);
            w.send_keyed("s", "Once.", "k").drain().slice_end("s", SliceOutcome::Finished).drain();
            w.send_keyed("s", "Once.", "k").drain().is("s", Status::Idle);
            assert_eq!(reply(w), "repeated");
        }),
        Scenario::new("rule-idempotency--other-content", |w| {
            idle(w);
            w.send_keyed("s", "Once.", "k").drain().send_keyed("s", "Something else.", "k");
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("rule-idempotency--before-it-is-durable", |w| {
            idle(w);
            w.hold("SaveSession").send_keyed("s", "Once.", "k").send_keyed("s", "Once.", "k").unhold("SaveSession");
            w.drain().is("s", Status::Busy);
            assert_eq!(reply(w), "repeated");
        }),
        Scenario::new("rule-idempotency--after-a-restart", |w| {
            idle(w);
            w.send_keyed("s", "Once.", "k").drain().slice_end("s", SliceOutcome::Finished).drain().suspend("s").drain();
            w.restart().send_keyed("s", "Once.", "k").drain().is("s", Status::Suspended);
            assert_eq!(reply(w), "repeated");
        }),
        Scenario::with(
            "rule-idempotency--the-oldest-is-forgotten",
            Config { limits: Limits { idempotency_keys: 1, ..Limits::default() }, ..Config::default() },
            |w| {
                idle(w);
                for key in ["k1", "k2"] {
                    w.send_keyed("s", "Once.", key).drain().slice_end("s", SliceOutcome::Finished).drain();
                }
                w.send_keyed("s", "Once.", "k1").drain().is("s", Status::Busy);
                assert_eq!(reply(w), "accepted");
            },
        ),
        Scenario::new("rule-idempotency--a-refused-send-keeps-no-key", |w| {
            busy(w);
            w.send_keyed("s", "Later.", "k").slice_end("s", SliceOutcome::Finished).drain();
            w.send_keyed("s", "Later.", "k").drain().is("s", Status::Busy);
            assert_eq!(reply(w), "accepted");
        }),
    ]
}

fn updates() -> Vec<Scenario> {
    vec![
        Scenario::new("update-idle--by-function-of-the-current-one", |w| {
            idle(w);
            let revision = w.summary("s").metadata_revision;
            let update = |text: &str| Update {
                metadata: Some(text.to_owned()),
                metadata_revision: Some(revision),
                ..Update::default()
            };
            w.command("s", CommandBody::Update(update(r#"{"n":1}"#))).drain();
            assert_eq!(reply(w), "accepted");
            w.command("s", CommandBody::Update(update(r#"{"n":2}"#))).drain();
            assert_eq!(reply(w), "conflict");
        }),
        Scenario::new("update-idle--metadata-that-are-no-object", |w| {
            idle(w);
            w.update("s", "[1,2]");
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("create-idle--metadata-that-are-no-object", |w| {
            idle(w);
            let create = tackroom_core::input::Create {
                metadata: "nothing".into(),
                settings: tackroom_core::record::Settings::default(),
                fork: None,
            };
            w.command("s2", CommandBody::Create(create));
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("create-idle--an-id-that-is-none", |w| {
            w.create("../s");
            assert_eq!(reply(w), "invalid");
            w.create("s").drain().is("s", Status::Idle);
        }),
        Scenario::new("continue-idle--an-unknown-id", |w| {
            idle(w);
            w.answer("s", &[("approval-c1", allow())]);
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("continue-busy--an-unknown-id", |w| {
            busy(w);
            w.answer("s", &[("approval-c1", allow())]);
            assert_eq!(reply(w), "invalid");
        }),
        Scenario::new("continue-suspended--without-a-pause", |w| {
            crate::setup::suspended(w);
            w.answer("s", &[("approval-c1", allow())]);
            assert_ne!(reply(w), "accepted");
        }),
    ]
}
