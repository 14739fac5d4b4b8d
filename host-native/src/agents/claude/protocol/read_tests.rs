//! The reader on recorded conversations of both versions, and on damaged ones.

use super::*;

const RECORDED: [&str; 2] = [
    include_str!("../../../../tests/data/claude/turn-2.1.197.jsonl"),
    include_str!("../../../../tests/data/claude/turn-2.1.332.jsonl"),
];

#[test]
fn every_recorded_line_is_a_frame() {
    for recorded in RECORDED {
        let frames = recorded.lines().map(|line| parse(line).expect(line)).collect::<Vec<_>>();
        let count = |which: fn(&Frame) -> bool| frames.iter().filter(|frame| which(frame)).count();
        assert_eq!(count(|frame| matches!(frame, Frame::Init)), 2);
        assert_eq!(count(|frame| matches!(frame, Frame::Result(_))), 2);
        assert_eq!(count(|frame| matches!(frame, Frame::Ask(Ask { kind: AskKind::Hook(_), .. }))), 4);
        assert_eq!(count(|frame| matches!(frame, Frame::Ask(Ask { kind: AskKind::Permission(_), .. }))), 3);
        let hook = frames.iter().find_map(|frame| match frame {
            Frame::Ask(Ask { kind: AskKind::Hook(tool), .. }) => Some(tool),
            _ => None,
        });
        let hook = hook.expect("a hook was called");
        assert_eq!((hook.id.as_str(), hook.name.as_str(), hook.mode.as_deref()), ("t_ls", "Bash", Some("default")));
        let result = frames.iter().find_map(|frame| match frame {
            Frame::Result(outcome) => Some(outcome),
            _ => None,
        });
        let result = result.expect("a turn ended");
        assert!(!result.is_error && result.models.as_ref().is_some_and(|models| models.len() == 1));
    }
}

#[test]
fn lone_halves_are_kept_in_deltas_and_mended_elsewhere() {
    let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}}"#;
    let Some(Frame::Stream(Stream { event: Event::Delta { piece, .. }, .. })) = parse(delta) else {
        panic!("a delta is read")
    };
    assert_eq!(piece, Piece { lead: None, text: "a".into(), trail: Some(0xd83d) });
    let result = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"cut \ud83d"}]}}"#;
    let Some(Frame::User(message)) = parse(result) else { panic!("a user message is read") };
    let [Content::ToolResult { content, .. }] = message.content.as_slice() else { panic!("it has one result") };
    assert_eq!(content, r#""cut \ufffd""#);
}

#[test]
fn an_ask_that_is_not_known_is_named() {
    let line = r#"{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"x"}}"#;
    let Some(Frame::Ask(Ask { request_id, kind: AskKind::Unknown { subtype } })) = parse(line) else {
        panic!("an unknown ask is read")
    };
    assert_eq!((request_id.as_str(), subtype.as_str()), ("r", "mcp_message"));
}

/// A small generator, so that a failure comes back with the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap()
    }
}

/// Pieces that are more likely to hurt than any random byte.
const SPLINTERS: [&str; 12] =
    ["\\ud83d", "\\ude00", "\\", "\"", "{", "}", "[", "null", "\\u12", "1e999", "\u{1f600}", "\"type\":\"result\","];

#[test]
fn damaged_lines_never_panic() {
    for seed in 1..=40_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for line in RECORDED.iter().flat_map(|recorded| recorded.lines()) {
            let mut bytes = line.as_bytes().to_vec();
            for _ in 0..=random.next(4) {
                let at = random.next(bytes.len());
                match random.next(4) {
                    0 => bytes.truncate(at),
                    1 => drop(bytes.drain(at..(at + random.next(40)).min(bytes.len()))),
                    2 => drop(bytes.splice(at..at, SPLINTERS[random.next(SPLINTERS.len())].bytes())),
                    _ => bytes[at] = u8::try_from(random.next(256)).unwrap(),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let damaged = String::from_utf8_lossy(&bytes);
            let _ = parse(&damaged);
            let mended = json::mend(&damaged);
            assert_eq!(json::mend(&mended), mended, "mending is done once, seed {seed}");
            let _ = json::piece(&damaged);
        }
    }
}
