//! Text that nobody meant, messages that are read at any time, and what a chunk costs in a large message.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::generate::{Seed, chunk};
use support::{cases, sorted};
use tackroom_core::json::Json;
use tackroom_core::transcript::{Chunk, Ending, Message, Piece, mend, settle, unfold};

/// One to three edits at random places: cut, repeat, replace with a byte that means something.
fn mutate(seed: &mut Seed, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=seed.below(3) {
        let at = seed.below(bytes.len() + 1);
        let end = (at + seed.below(12)).min(bytes.len());
        match seed.below(4) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            2 => bytes.truncate(end),
            _ => {
                let with = seed.pick(&["\"", "\\", "{", "}", "[", "]", ",", ":", "\\ud83d", "0", "null", " ", "é"]);
                bytes.splice(at..end, with.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_text_never_panics_and_what_is_read_can_be_written() {
    let cases = cases();
    let chunks: Vec<String> = cases.iter().flat_map(|case| &case.chunks).map(Chunk::to_json).collect();
    let messages: Vec<String> = cases.iter().filter_map(|case| Some(case.message.as_ref()?.canonical())).collect();
    let mut seed = Seed(7);
    let mut message = Message::new("m");
    let (mut read, mut folded) = (0, 0);
    for round in 0..200_000 {
        if round % 4 > 0 {
            let pick = seed.below(chunks.len());
            let Ok(chunk) = Chunk::from_json(&mutate(&mut seed, &chunks[pick])) else { continue };
            let _ = mend(&message, &chunk);
            folded += usize::from(message.apply(&chunk).is_ok());
            if message.part_count() > 30 {
                let _ = unfold(&message);
                settle(&mut message, &Ending::Finished);
                let text = message.to_json();
                assert!(message.is_valid(), "{text}");
                assert_eq!(Message::from_json(&text).unwrap().to_json(), text);
                message = Message::new("m");
            }
        } else {
            let pick = seed.below(messages.len());
            let text = mutate(&mut seed, &messages[pick]);
            let Ok(mut stored) = Message::from_json(&text) else { continue };
            read += 1;
            assert_eq!(Message::from_json(&stored.to_json()).unwrap().to_json(), stored.to_json());
            let _ = unfold(&stored);
            settle(&mut stored, &Ending::Paused);
            let emptied = stored.part_count() == 0;
            assert!(stored.is_valid() || emptied, "{text} became {}", stored.to_json());
        }
    }
    assert!(read > 1000 && folded > 10_000, "{read} messages, {folded} chunks");
}

#[test]
fn nested_and_endless_text_is_an_error() {
    for text in ["[".repeat(500_000), r#"{"type":"a","b":"#.repeat(50_000), format!("\"{}", "\\".repeat(500_000))] {
        Json::parse(&text).unwrap_err();
        Chunk::from_json(&text).unwrap_err();
        Message::from_json(&text).unwrap_err();
    }
    let unbounded =
        Json::parse_within(&format!(r#"{{"type":"a","b":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000)), 1 << 20);
    Message::new("m").apply(&Chunk::Json(unbounded.unwrap())).unwrap_err();
    let deep = format!(r#"{{"a":{}1{}}}"#, r#"{"a":"#.repeat(126), "}".repeat(126));
    let chunk = format!(r#"{{"type":"message-metadata","messageMetadata":{deep}}}"#);
    let mut message = Message::new("m");
    for _ in 0..3 {
        message.apply(&Chunk::from_json(&chunk).unwrap()).unwrap();
    }
    assert_eq!(Message::from_json(&message.to_json()).unwrap().to_json(), message.to_json());
}

#[test]
fn reading_between_chunks_and_starting_from_what_was_rebuilt_changes_nothing() {
    for start in 0..300 {
        let mut seed = Seed(start);
        let chunks: Vec<Chunk> = (0..30).map(|_| chunk(&mut seed)).collect();
        let (mut whole, mut watched) = (Message::new(""), Message::new(""));
        for chunk in &chunks {
            let applied = whole.apply(chunk);
            let _ = (watched.to_json(), watched.tool_parts().filter_map(|tool| tool.input()).count(), unfold(&watched));
            assert_eq!(watched.apply(chunk), applied);
        }
        assert_eq!(whole.to_json(), watched.to_json());
        assert_eq!(whole.bytes(), watched.bytes());
    }
}

#[test]
fn a_reader_who_joins_in_the_middle_ends_with_the_same_message() {
    let script: Vec<Chunk> = [
        r#"{"type":"start","messageId":"m"}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"reasoning-start","id":"0"}"#,
        r#"{"type":"reasoning-delta","id":"0","delta":"hm"}"#,
        r#"{"type":"reasoning-end","id":"0"}"#,
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"text-delta","id":"1","delta":"a\ud83d"}"#,
        r#"{"type":"text-delta","id":"1","delta":"\ude00b"}"#,
        r#"{"type":"text-end","id":"1"}"#,
        r#"{"type":"text-start","id":"2"}"#,
        r#"{"type":"tool-input-start","toolCallId":"c","toolName":"bash","providerExecuted":true}"#,
        r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"command\":\"l\ud83d"}"#,
        r#"{"type":"text-delta","id":"2","delta":"meanwhile"}"#,
        r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"\ude00\"}"}"#,
        r#"{"type":"text-end","id":"2"}"#,
        r#"{"type":"tool-input-available","toolCallId":"c","toolName":"bash","input":{"command":"ls"}}"#,
        r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#,
        r#"{"type":"tool-approval-response","approvalId":"a","approved":true}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"tool-output-available","toolCallId":"c","output":"ok"}"#,
    ]
    .iter()
    .map(|text| Chunk::from_json(text).unwrap())
    .collect();
    let mut message = Message::new("");
    for (at, chunk) in script.iter().enumerate() {
        message.apply(chunk).unwrap();
        let (mut reader, mut original) = (Message::new(""), message.clone());
        for chunk in unfold(&message).iter().chain(&script[at + 1..]) {
            reader.apply(chunk).unwrap();
        }
        for chunk in &script[at + 1..] {
            original.apply(chunk).unwrap();
        }
        assert_eq!(sorted(&reader.to_json()), sorted(&original.to_json()), "joined after chunk {at}");
    }
}

/// The shortest of several runs of 2000 chunks, so that other work on the machine is not counted.
fn cost(prepared: &Message, chunk: &Chunk) -> Duration {
    let runs = (0..15).map(|_| {
        let mut message = prepared.clone();
        // The clone's texts have no room to grow; the first chunk makes it.
        message.apply(chunk).unwrap();
        let begun = Instant::now();
        for _ in 0..2000 {
            message.apply(chunk).unwrap();
        }
        begun.elapsed()
    });
    runs.min().unwrap()
}

#[test]
fn a_chunk_costs_the_same_in_a_large_message() {
    let text = Chunk::TextDelta { id: "t".into(), piece: Piece::whole("some words ") };
    let input = Chunk::ToolInputDelta { tool_call_id: "c".into(), piece: Piece::whole("some words ") };
    let mut small = Message::new("m");
    for start in [
        r#"{"type":"start-step"}"#,
        r#"{"type":"text-start","id":"t"}"#,
        r#"{"type":"tool-input-start","toolCallId":"c","toolName":"bash"}"#,
    ] {
        small.apply(&Chunk::from_json(start).unwrap()).unwrap();
    }
    let mut large = small.clone();
    for part in 0..1000 {
        let start = format!(r#"{{"type":"tool-input-available","toolCallId":"x{part}","toolName":"a","input":1}}"#);
        large.apply(&Chunk::from_json(&start).unwrap()).unwrap();
    }
    let big = Piece::whole("x".repeat(500_000));
    large.apply(&Chunk::TextDelta { id: "t".into(), piece: big.clone() }).unwrap();
    large.apply(&Chunk::ToolInputDelta { tool_call_id: "c".into(), piece: big }).unwrap();
    for chunk in [text, input] {
        let (in_small, in_large) = (cost(&small, &chunk), cost(&large, &chunk));
        println!("{}: {:?} in a small message, {:?} in a large one, for 2000", chunk.kind(), in_small, in_large);
        // Generous: a cost that grew with the message would be a thousand times as high.
        assert!(in_large < in_small * 5, "{}: {in_small:?}, {in_large:?}", chunk.kind());
    }
}
