//! What is kept: settled messages are valid, finished ones show nothing as running, and chunks rebuild them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::generate::{Seed, chunk};
use support::{cases, plain, sorted};
use tackroom_core::transcript::{Chunk, Ending, Mend, Message, ToolState, mend, settle, unfold};

fn endings() -> [Ending; 3] {
    [Ending::Paused, Ending::Finished, Ending::Cut("The turn was interrupted.".into())]
}

fn fold(message: &mut Message, chunks: &[Chunk]) {
    for chunk in chunks {
        message.apply(chunk).unwrap();
    }
}

fn folded(chunks: &[Chunk]) -> Message {
    let mut message = Message::new("");
    fold(&mut message, chunks);
    message
}

fn read(texts: &[&str]) -> Vec<Chunk> {
    texts.iter().map(|text| Chunk::from_json(text).unwrap()).collect()
}

/// A message of up to `len` generated chunks; those refused are left out.
fn generated(seed: &mut Seed, len: usize, mended: bool) -> Message {
    let mut message = Message::new("");
    for _ in 0..len {
        let next = chunk(seed);
        let mended = if mended { mend(&message, &next) } else { Mend::default() };
        fold(&mut message, &mended.before);
        if !mended.drop {
            let _ = message.apply(&next);
        }
    }
    message
}

fn assert_settled(message: &Message, ending: &Ending, name: &str) {
    assert!(message.is_valid(), "{name}: {}", message.to_json());
    let over = *ending != Ending::Paused;
    assert!(!(over && message.is_streaming()), "{name}: {}", message.to_json());
    let running = message.tool_parts().any(|tool| !tool.state().is_final());
    assert!(!(over && running), "{name}: {}", message.to_json());
}

#[test]
fn settled_messages_are_valid_and_settling_again_does_nothing() {
    for case in cases() {
        for ending in endings() {
            let mut message = case.start();
            for chunk in &case.chunks {
                let _ = message.apply(chunk);
            }
            settle(&mut message, &ending);
            assert_settled(&message, &ending, &case.name);
            let once = message.to_json();
            assert_eq!(settle(&mut message, &ending), [], "{}", case.name);
            assert_eq!(message.to_json(), once, "{}", case.name);
        }
    }
}

#[test]
fn any_message_can_be_settled() {
    for start in 0..800 {
        for ending in endings() {
            let mut message = generated(&mut Seed(start), 40, false);
            settle(&mut message, &ending);
            assert_settled(&message, &ending, &start.to_string());
            let read = Message::from_json(&message.to_json()).unwrap();
            assert_eq!(read.to_json(), message.to_json());
            assert_eq!(read.bytes(), message.bytes(), "seed {start}");
        }
    }
}

#[test]
fn the_injected_chunks_give_a_reader_the_same_message() {
    let (mut all, mut same) = (0, 0);
    for start in 0..600 {
        for ending in endings() {
            let mut message = generated(&mut Seed(start), 12, true);
            let mut reader = message.clone();
            let injected = settle(&mut message, &ending);
            fold(&mut reader, &injected);
            if !has_two_kinds_of_one_call(&message) {
                all += 1;
                same += usize::from(reader.to_json() == message.to_json());
            }
        }
    }
    // The rest were left in an earlier step with a field that no chunk reaches there, or without an input.
    assert!(all > 1000 && same * 100 > all * 93, "{same} of {all}");
}

fn states(message: &Message) -> Vec<ToolState> {
    message.tool_parts().map(|tool| tool.state()).collect()
}

const INPUT: &str = r#"{"type":"tool-input-available","toolCallId":"c","toolName":"bash","input":{}}"#;
const REQUEST: &str = r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#;
const STEP: &str = r#"{"type":"start-step"}"#;

#[test]
fn a_pause_keeps_what_waits() {
    let mut message = folded(&read(&[STEP, INPUT, REQUEST]));
    assert_eq!(settle(&mut message, &Ending::Paused), []);
    assert_eq!(states(&message), [ToolState::ApprovalRequested]);
    let mut message = folded(&read(&[STEP, INPUT]));
    assert_eq!(settle(&mut message, &Ending::Paused), []);
    assert_eq!(states(&message), [ToolState::InputAvailable]);
}

#[test]
fn a_denial_that_never_became_one_is_made_one() {
    let answer = r#"{"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no"}"#;
    let error = r#"{"type":"tool-output-error","toolCallId":"c","errorText":"denied"}"#;
    for ending in endings() {
        let mut message = folded(&read(&[STEP, INPUT, REQUEST, answer]));
        let injected = settle(&mut message, &ending);
        assert_eq!(injected, read(&[r#"{"type":"tool-output-denied","toolCallId":"c"}"#]));
        assert_eq!(states(&message), [ToolState::OutputDenied]);
        // In the same step an output or error is taken back by the input, sent again.
        let mut message = folded(&read(&[STEP, INPUT, REQUEST, answer, error]));
        let mut reader = message.clone();
        let injected = settle(&mut message, &ending);
        assert_eq!(injected.len(), 2);
        fold(&mut reader, &injected);
        assert_eq!(reader.to_json(), message.to_json());
        assert_eq!(states(&message), [ToolState::OutputDenied]);
    }
    // In a later step the error is kept from being folded at all.
    let mut message = folded(&read(&[STEP, INPUT, REQUEST, answer, STEP]));
    let mended = mend(&message, &read(&[error])[0]);
    assert!(mended.drop);
    fold(&mut message, &mended.before);
    assert!(message.is_valid());
    assert_eq!(settle(&mut message, &Ending::Finished), []);
}

#[test]
fn what_an_agent_leaves_out_is_put_in() {
    let delta = r#"{"type":"text-delta","id":"t","delta":"x"}"#;
    let start = r#"{"type":"text-start","id":"t"}"#;
    let mut message = Message::new("m");
    let mended = mend(&message, &read(&[delta])[0]);
    assert_eq!(mended, Mend { before: read(&[start]), drop: false });
    fold(&mut message, &mended.before);
    assert_eq!(mend(&message, &read(&[delta])[0]), Mend::default());
    assert_eq!(mend(&message, &read(&[start])[0]).before, read(&[r#"{"type":"text-end","id":"t"}"#]));
    // Reasoning has ids of its own.
    let reasoning = r#"{"type":"reasoning-delta","id":"t","delta":"x","providerMetadata":{"p":{}}}"#;
    assert_eq!(mend(&message, &read(&[reasoning])[0]).before, read(&[r#"{"type":"reasoning-start","id":"t"}"#]));
    assert_eq!(mend(&message, &read(&[r#"{"type":"text-end","id":"u"}"#])[0]), Mend::default());
}

#[test]
fn an_end_gives_every_call_an_end_in_words() {
    let mut message = folded(&read(&[STEP, INPUT]));
    settle(&mut message, &Ending::Cut("The turn was interrupted.".into()));
    let tool = message.tool_parts().next().unwrap();
    assert_eq!(
        (tool.state(), tool.error_text().as_deref()),
        (ToolState::OutputError, Some("The turn was interrupted."))
    );
    let mut message = folded(&read(&[STEP, INPUT, REQUEST]));
    settle(&mut message, &Ending::Finished);
    let approval = message.tool_parts().next().unwrap().approval().unwrap();
    assert_eq!(states(&message), [ToolState::OutputDenied]);
    assert_eq!(approval.reason.as_deref(), Some("Nobody answered before the turn ended."));
    let open = r#"{"type":"text-start","id":"t"}"#;
    let mut message = folded(&read(&[open]));
    let injected = settle(&mut message, &Ending::Paused);
    assert_eq!(injected, read(&[r#"{"type":"text-end","id":"t"}"#]));
}

#[test]
fn chunks_rebuild_the_recorded_messages() {
    for case in cases() {
        let mut message = case.start();
        for chunk in &case.chunks {
            let _ = message.apply(chunk);
        }
        let rebuilt = folded(&unfold(&message));
        // A text that came from a client without a state has none; no chunk makes such a part.
        let expected = message.to_json().replace(r#""text":"x"}"#, r#""text":"x","state":"done"}"#);
        assert_eq!(plain(&rebuilt.to_json()), plain(&expected), "{}", case.name);
    }
}

#[test]
fn chunks_rebuild_settled_and_open_messages() {
    let (mut exact, mut all) = (0, 0);
    for start in 0..800 {
        for settled in [false, true] {
            let mut message = generated(&mut Seed(start), 16, true);
            if settled {
                settle(&mut message, &Ending::Finished);
            }
            if has_two_kinds_of_one_call(&message) {
                continue;
            }
            let mut rebuilt = folded(&unfold(&message));
            assert_eq!(sorted(&rebuilt.to_json()), sorted(&message.to_json()), "seed {start}");
            all += 1;
            exact += usize::from(rebuilt.to_json() == message.to_json());
            // What is open can be closed by the chunks that would have closed the original.
            let closing = settle(&mut message, &Ending::Paused);
            fold(&mut rebuilt, &closing);
        }
    }
    assert!(all > 700 && exact * 10 > all * 7, "{exact} of {all} keep the order of fields");
}

/// A part of each kind under one id, or one approval id on two calls: chunks for the one land on the other.
fn has_two_kinds_of_one_call(message: &Message) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let twice = message.tool_parts().any(|tool| !seen.insert(tool.tool_call_id()));
    let mut approvals = std::collections::BTreeSet::new();
    twice || message.tool_parts().filter_map(|tool| tool.approval()).any(|approval| !approvals.insert(approval.id))
}
