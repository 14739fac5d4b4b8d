//! Rules of streams: what is settled at a turn's end, and what batches come to.

use serde_json::json;
use tackroom_core::input::{Chunk, Delta, Piece, SliceFailure, SliceOutcome};
use tackroom_parity::{
    chunks::{any, asked, output, output_denied, output_error, reasoning, text, text_delta, tool_call},
    journal::{Call, Push},
    world::{World, allow, deny},
};

use crate::{
    Scenario,
    setup::{awaiting, begin, busy, idle},
};

pub(crate) fn scenarios() -> Vec<Scenario> {
    [settled(), batches()].into_iter().flatten().collect()
}

fn finish(w: &mut World) {
    w.slice_end("s", SliceOutcome::Finished).drain().view("s");
}

fn settled() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-settle--a-whole-turn", |w| {
            busy(w);
            w.chunks("s", reasoning("r1", "Hm.")).chunks("s", tool_call("c1", "bash", json!({"command": "ls"})));
            w.chunks("s", vec![output("c1", json!({"stdout": "a\nb"}))]).chunks("s", text("x2", "Two files."));
            w.chunks("s", vec![any(json!({"type": "finish-step"})), any(json!({"type": "finish"}))]);
            finish(w);
        }),
        Scenario::new("rule-settle--an-open-text", |w| {
            busy(w);
            w.chunks("s", vec![any(json!({"type": "text-start", "id": "x2"})), text_delta("x2", "Unfinis")]);
            finish(w);
        }),
        Scenario::new("rule-settle--a-call-without-its-end", |w| {
            busy(w);
            w.chunks("s", tool_call("c1", "bash", json!({"command": "sleep 9"})));
            finish(w);
        }),
        Scenario::new("rule-settle--an-input-cut-off", |w| {
            busy(w);
            let mut call = tool_call("c1", "bash", json!({"command": "ls"}));
            call.truncate(2);
            w.chunks("s", call);
            finish(w);
        }),
        Scenario::new("rule-settle--a-call-that-fails", |w| {
            busy(w);
            w.chunks("s", tool_call("c1", "bash", json!({}))).chunks("s", vec![output_error("c1", "No such file.")]);
            finish(w);
        }),
        Scenario::new("rule-settle--a-denial-that-the-agent-never-told", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", deny("No."))]).drain().chunks("s", text("x2", "Then not."));
            finish(w);
        }),
        Scenario::new("rule-settle--a-denial-that-the-agent-told", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", deny("No."))]).drain().chunks("s", vec![output_denied("c1")]);
            finish(w);
        }),
        Scenario::new("rule-settle--an-approved-call", |w| {
            awaiting(w);
            w.answer("s", &[("approval-c1", allow())]).drain().chunks("s", vec![output("c1", json!("written"))]);
            finish(w);
        }),
        Scenario::new("rule-settle--a-failed-turn", |w| {
            busy(w);
            let failure = SliceFailure { message: "The model is down.".into(), alive: true };
            w.slice_end("s", SliceOutcome::Failed(failure)).drain().view("s");
        }),
        Scenario::new("rule-settle--an-interrupted-call", |w| {
            busy(w);
            w.chunks("s", tool_call("c1", "bash", json!({"command": "sleep 9"}))).interrupt("s").drain().view("s");
        }),
        Scenario::new("rule-settle--a-pair-left-unpaired", |w| {
            busy(w);
            let piece = Piece { lead: None, text: "half ".into(), trail: Some(0xd83d) };
            w.chunks("s", vec![any(json!({"type": "text-start", "id": "x2"}))]);
            w.chunks("s", vec![Chunk::TextDelta(Delta { id: "x2".into(), piece })]);
            finish(w);
        }),
        Scenario::new("rule-settle--numbers-and-key-order-pass-through", |w| {
            busy(w);
            let text = r#"{"type":"data-n","data":{"z":1.50,"a":1e400,"b":12345678901234567890}}"#;
            w.chunks("s", vec![Chunk::Json(text.into())]);
            finish(w);
        }),
    ]
}

fn batches() -> Vec<Scenario> {
    vec![
        Scenario::new("rule-batch--one-by-one", |w| {
            idle(w);
            w.send("s", "Talk.").drain();
            for chunk in begin().into_iter().chain(text("x1", "Word.")) {
                w.chunks("s", vec![chunk]);
            }
            finish(w);
        }),
        Scenario::new("rule-batch--all-at-once", |w| {
            idle(w);
            w.send("s", "Talk.").drain();
            w.chunks("s", begin().into_iter().chain(text("x1", "Word.")).collect());
            finish(w);
        }),
        Scenario::new("rule-batch--a-missing-start-is-put-in", |w| {
            idle(w);
            w.send("s", "Talk.").drain().chunks("s", vec![text_delta("x1", "No start.")]).chunks("s", vec![]);
            finish(w);
        }),
        Scenario::new("rule-batch--what-the-fold-refuses-is-dropped", |w| {
            busy(w);
            let nobody = any(json!({"type": "tool-output-available", "toolCallId": "nobody", "output": 1}));
            w.chunks("s", vec![Chunk::Json("{".into()), nobody, Chunk::Json("7".into()), text_delta("x9", "x")]);
            finish(w);
        }),
        Scenario::new("rule-batch--seen-before", |w| {
            busy(w);
            let slice = w.slice("s");
            w.host.slices.get_mut(&slice).expect("it is at work").cursor = 0;
            w.chunks("s", begin().into_iter().chain(text("x1", "I look.")).chain(text("x2", "More.")).collect());
            finish(w);
        }),
        Scenario::new("rule-batch--of-a-turn-that-is-not-running", |w| {
            idle(w);
            for session in ["s", "nobody"] {
                let push = Push { session: session.into(), turn: "t9".into(), cursor: 0, chunks: text("x1", "Ghost.") };
                w.host.play(Call::Push(push));
            }
            w.view("s");
        }),
        Scenario::new("rule-batch--a-pair-across-two", |w| {
            busy(w);
            let piece = |lead, trail| Piece { lead, text: "-".into(), trail };
            let delta = |piece| Chunk::TextDelta(Delta { id: "x2".into(), piece });
            w.chunks("s", vec![any(json!({"type": "text-start", "id": "x2"})), delta(piece(None, Some(0xd83d)))]);
            w.chunks("s", vec![delta(piece(Some(0xdc0e), None)), any(json!({"type": "text-end", "id": "x2"}))]);
            finish(w);
        }),
        Scenario::new("rule-batch--after-a-pause-numbers-go-on", |w| {
            busy(w);
            w.chunks("s", asked("c1", "write", json!({"path": "a"}))).slice_end("s", SliceOutcome::Paused).drain();
            w.answer("s", &[("approval-c1", allow())]).drain().chunks("s", vec![output("c1", json!("ok"))]);
            finish(w);
        }),
    ]
}
