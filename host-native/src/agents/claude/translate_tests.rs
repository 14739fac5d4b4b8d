//! The translation of recorded turns, and of the corners that they do not show.

use super::super::protocol::frames::Frame;
use super::super::protocol::read::parse;
use super::*;

fn translate(translator: &mut Translator, lines: &str) -> Vec<Value> {
    for line in lines.lines() {
        match parse(line) {
            Some(Frame::Stream(stream)) => translator.stream(stream),
            Some(Frame::Assistant(message)) => translator.assistant(message),
            Some(Frame::User(message)) if !message.replay => drop(translator.results(message)),
            _ => {}
        }
    }
    translator.take().into_iter().map(value).collect()
}

fn value(chunk: Chunk) -> Value {
    match chunk {
        Chunk::Json(text) => serde_json::from_str(&text).unwrap(),
        Chunk::TextDelta { id, delta } => json!({"type": "text-delta", "id": id, "delta": delta.text}),
        Chunk::ReasoningDelta { id, delta } => json!({"type": "reasoning-delta", "id": id, "delta": delta.text}),
        Chunk::ToolInputDelta { tool_call_id, delta } => {
            json!({"type": "tool-input-delta", "toolCallId": tool_call_id, "inputTextDelta": delta.text})
        }
    }
}

fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().filter_map(|chunk| chunk["type"].as_str()).collect()
}

#[test]
fn a_recorded_turn_becomes_the_same_chunks_in_both_versions() {
    let call = ["tool-input-start", "tool-input-delta", "tool-input-available"];
    let output = "tool-output-available";
    for recorded in [
        include_str!("../../../tests/data/claude/turn-2.1.197.jsonl"),
        include_str!("../../../tests/data/claude/turn-2.1.332.jsonl"),
    ] {
        let first_turn = recorded.split_inclusive('\n').take_while(|line| !line.contains(r#""type": "result""#));
        let chunks = translate(&mut Translator::default(), &first_turn.collect::<String>());
        let mut kinds = kinds(&chunks);
        let opening = ["start-step", "reasoning-start", "reasoning-delta", "reasoning-end"];
        assert_eq!(kinds.drain(..4).collect::<Vec<_>>(), opening);
        assert_eq!(kinds.drain(..3).collect::<Vec<_>>(), ["text-start", "text-delta", "text-end"]);
        let shown = kinds.iter().filter(|kind| call.contains(kind)).count();
        assert_eq!((shown, kinds.iter().filter(|kind| **kind == output).count()), (12, 4));
        assert!(kinds.ends_with(&["finish-step", "start-step", "text-start", "text-delta", "text-end"]), "{kinds:?}");
        let touched = chunks.iter().find(|chunk| chunk["type"] == output && chunk["toolCallId"] == "t_touch").unwrap();
        assert_eq!(touched["output"], "(Bash completed with no output)");
        assert_eq!(touched["providerExecuted"], true);
    }
}

#[test]
fn a_denied_call_and_a_question_show_no_result() {
    let mut translator = Translator::default();
    for (id, name) in [("a", "Bash"), ("b", QUESTION)] {
        translator.show_call(&Call { id: id.into(), name: name.into(), input: r#"{"x":1.0}"#.into() });
    }
    translator.deny("a");
    translator.answered("b");
    let result = |id: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"no"}}]}}}}"#
        )
    };
    let lines = format!("{}\n{}", result("a"), result("b"));
    let chunks = translate(&mut translator, &lines);
    let expected = [
        "start-step",
        "tool-input-start",
        "tool-input-available",
        "tool-input-start",
        "tool-input-available",
        "tool-output-denied",
    ];
    assert_eq!(kinds(&chunks), expected);
    assert_eq!(chunks[2]["providerExecuted"], true);
    assert_eq!(chunks[4].get("providerExecuted"), None);
}

#[test]
fn numbers_of_an_input_pass_as_they_are_written() {
    let mut translator = Translator::default();
    let input = r#"{"b":1.0,"a":12345678901234567890123}"#;
    translator.show_call(&Call { id: "a".into(), name: "Bash".into(), input: input.into() });
    let chunks = translator.take();
    let Some(Chunk::Json(text)) = chunks.last() else { panic!("it is shown") };
    assert!(text.contains(input), "{text}");
}

#[test]
fn a_block_left_open_is_closed_before_the_slice_ends() {
    let lines = [
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"par"}}}"#,
    ];
    let mut translator = Translator::default();
    let mut chunks = translate(&mut translator, &lines.join("\n"));
    assert!(translator.is_streaming());
    translator.abort();
    chunks.extend(translator.take().into_iter().map(value));
    assert_eq!(kinds(&chunks), ["start-step", "text-start", "text-delta", "text-end", "abort"]);
    assert!(!translator.is_streaming());
}

#[test]
fn results_of_lists_and_errors() {
    let mut translator = Translator::default();
    for id in ["a", "b", "c"] {
        translator.show_call(&Call { id: id.into(), name: "Bash".into(), input: "{}".into() });
    }
    translator.take();
    let line = r#"{"type":"user","message":{"content":[
        {"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
        {"type":"tool_result","tool_use_id":"b","content":[{"type":"image","source":{}}]},
        {"type":"tool_result","tool_use_id":"c","content":"broke","is_error":true},
        {"type":"tool_result","tool_use_id":"subagent's","content":"unseen"}]}}"#;
    let chunks = translate(&mut translator, &line.replace('\n', ""));
    assert_eq!(chunks.len(), 3);
    assert_eq!(chunks[0]["output"], "one\ntwo");
    assert_eq!(chunks[1]["output"], json!([{"type": "image", "source": {}}]));
    assert_eq!(chunks[2]["errorText"], "broke");
}
