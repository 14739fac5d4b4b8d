//! The fold against what the `ai` package made of the same chunks.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{cases, plain};
use tackroom_core::transcript::{Chunk, FoldError, Message};

#[test]
fn every_recorded_case_folds_as_the_package_folds_it() {
    let cases = cases();
    assert!(cases.len() >= 40);
    for case in cases {
        let mut message = case.start();
        let mut errors = Vec::new();
        let mut snapshots = Vec::new();
        for chunk in &case.chunks {
            let before = message.to_json();
            match message.apply(chunk) {
                Ok(applied) if applied.written => snapshots.push((message.to_json(), message.is_valid())),
                Ok(_) => {}
                Err(error) => {
                    errors.push(error.to_string());
                    assert_eq!(message.to_json(), before, "{}: a refused chunk changed the message", case.name);
                    break;
                }
            }
        }
        assert_eq!(errors, case.errors, "{}", case.name);
        assert_eq!(snapshots.len(), case.snapshots, "{}", case.name);
        let last = snapshots.last();
        assert_eq!(
            last.map(|(text, _)| plain(text)),
            case.message.as_ref().map(|json| plain(json.as_str())),
            "{}",
            case.name
        );
        assert_eq!(last.map(|(_, valid)| *valid), case.valid, "{}", case.name);
        assert!(!last.is_some_and(|(text, _)| text.contains('\n')), "{}: the text is one line", case.name);
    }
}

#[test]
fn messages_are_read_back_as_they_were_written() {
    for case in cases() {
        let Some(stored) = case.message else { continue };
        let read = Message::from_json(stored.as_str()).unwrap();
        assert_eq!(plain(&read.to_json()), plain(stored.as_str()), "{}", case.name);
        assert_eq!(Some(read.is_valid()), case.valid, "{}", case.name);
    }
}

#[test]
fn chunks_are_typed_and_written_back() {
    for case in cases() {
        for chunk in &case.chunks {
            assert_eq!(&Chunk::from_json(&chunk.to_json()).unwrap(), chunk, "{}", case.name);
        }
    }
    let typed = Chunk::from_json(r#"{"type":"text-delta","id":"a","delta":"b\ud83d"}"#).unwrap();
    assert!(matches!(&typed, Chunk::TextDelta { piece, .. } if piece.trail == Some(0xd83d) && piece.text == "b"));
    let extra = Chunk::from_json(r#"{"type":"text-delta","id":"a","delta":"b","providerMetadata":{}}"#).unwrap();
    assert!(matches!(extra, Chunk::Json(_)));
}

#[test]
fn bounds_are_errors_in_words() {
    let bounds = tackroom_core::transcript::Bounds {
        max_message_bytes: 2000,
        max_parts: 2,
        max_chunk_bytes: 500,
        max_json_depth: 5,
    };
    let mut message = Message::new_within("m", bounds);
    let mut apply = |text: &str| message.apply(&Chunk::from_json(text).unwrap());
    apply(r#"{"type":"start-step"}"#).unwrap();
    apply(r#"{"type":"text-start","id":"t"}"#).unwrap();
    assert_eq!(apply(r#"{"type":"start-step"}"#), Err(FoldError::TooManyParts(2)));
    assert_eq!(apply(r#"{"type":"custom","kind":[[[[[1]]]]]}"#), Err(FoldError::ChunkTooDeep(5)));
    let long = format!(r#"{{"type":"text-delta","id":"t","delta":"{}"}}"#, "x".repeat(400));
    assert_eq!(apply(&long.replace("xx", "xxx")), Err(FoldError::ChunkTooLong(601, 500)));
    let error = (0..10).find_map(|_| apply(&long).err()).unwrap();
    assert_eq!(error, FoldError::MessageTooLong(2000));
    assert!(error.to_string().contains("2000 bytes"));
    assert!(message.bytes() <= 2000);
}
