//! Writes folded and settled messages for `tests/ai-package/check.mjs`, which holds them against the package itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fmt::Write as _;

use support::cases;
use support::generate::{Seed, chunk};
use tackroom_core::json::Json;
use tackroom_core::transcript::{Chunk, Ending, FoldError, Message, Role, settle, unfold};

/// How many generated cases are written for each ending.
const GENERATED: u64 = 1000;

fn list(chunks: &[Chunk]) -> String {
    let texts: Vec<String> = chunks.iter().map(Chunk::to_json).collect();
    format!("[{}]", texts.join(","))
}

/// The same call id or approval id in two parts: unfolding does not tell them apart.
fn is_ambiguous(message: &Message) -> bool {
    let mut calls: Vec<_> = message.tool_parts().map(|tool| tool.tool_call_id()).collect();
    let mut approvals: Vec<_> = message.tool_parts().filter_map(|tool| Some(tool.approval()?.id)).collect();
    let count = calls.len() + approvals.len();
    calls.sort_unstable();
    calls.dedup();
    approvals.sort();
    approvals.dedup();
    calls.len() + approvals.len() < count
}

fn write_case(out: &mut String, name: &str, chunks: &[Chunk], ending: &Ending) {
    let mut message = Message::new("");
    let errors: Vec<String> = chunks
        .iter()
        .map(|chunk| match message.apply(chunk) {
            Ok(_) => "null".into(),
            Err(FoldError::Malformed(..)) => unreachable!("{name}: every chunk is well-formed"),
            Err(error) => Json::string(&error.to_string()).to_string(),
        })
        .collect();
    let rebuilt = if is_ambiguous(&message) { "null".into() } else { list(&unfold(&message)) };
    let (folded, valid) = (message.to_json(), message.is_valid());
    settle(&mut message, ending);
    if out.len() > 1 {
        out.push(',');
    }
    writeln!(
        out,
        "{{\"name\":{},\"chunks\":{},\"errors\":[{}],\"message\":{folded},\"valid\":{valid},\"settled\":{},\"rebuilt\":{rebuilt}}}",
        Json::string(name),
        list(chunks),
        errors.join(","),
        message.to_json(),
    )
    .unwrap();
}

#[test]
#[ignore = "writes to the path in TACKROOM_DUMP, for tests/ai-package/check.mjs"]
fn dump_for_the_ai_package() {
    let path = std::env::var_os("TACKROOM_DUMP").expect("TACKROOM_DUMP names the file to write");
    let mut out = String::from("[");
    for ending in [Ending::Paused, Ending::Finished, Ending::Cut("The turn was interrupted.".into())] {
        for case in cases() {
            if case.start().role() == Role::Assistant && case.initial.is_none() {
                write_case(&mut out, &format!("{} {ending:?}", case.name), &case.chunks, &ending);
            }
        }
        for start in 0..GENERATED {
            let mut seed = Seed(start);
            let chunks: Vec<Chunk> = (0..24).map(|_| chunk(&mut seed)).collect();
            write_case(&mut out, &format!("seed {start} {ending:?}"), &chunks, &ending);
        }
    }
    out.push(']');
    std::fs::write(path, out).unwrap();
}
