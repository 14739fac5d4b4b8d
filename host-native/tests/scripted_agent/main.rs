//! The scripted agent in real local sandboxes: every kind of step, pauses over stops and crashes, interruptions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "local", target_os = "linux"))]

mod world;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tackroom::agents::scripted::{Scenario, ScriptedAgent};
use tackroom::ports::{
    Agent, AgentNotice, AnswerBody, Notices, ResumeState, SessionSettings, SliceOutcome, StartAgent, TurnSink,
};
use tokio::sync::mpsc;

use world::*;

#[tokio::test]
async fn text_and_reasoning_are_streamed_in_pieces() {
    let world = world(turns(&json!([
        { "type": "reasoning", "text": "abcd", "chars": 3 },
        { "type": "text", "text": "h\u{e4}llo {{prompt}} {{unknown}}", "chars": 4, "delayMs": 1 }
    ])))
    .await;
    let (end, chunks) = world.prompt(1, "{{output}}").await;
    assert_eq!(end.outcome, SliceOutcome::Finished);
    assert_eq!(text(&chunks), "h\u{e4}llo {{output}} {{unknown}}");
    assert_eq!(
        types(&chunks)[..7],
        ["start", "start-step", "reasoning-start", "reasoning-delta", "reasoning-delta", "reasoning-end", "text-start"]
    );
    assert_eq!(types(&chunks)[types(&chunks).len() - 3..], ["text-end", "finish-step", "finish"]);
    assert_ne!(chunks[2]["id"], chunks[6]["id"]);
    assert_eq!(chunks.last().unwrap()["finishReason"], "stop");
}

#[tokio::test]
async fn turns_are_chosen_by_pattern_then_by_order_then_the_default() {
    let world = world(json!({
        "turns": [
            { "steps": [{ "type": "text", "text": "first" }], "usage": { "inputTokens": 5, "outputTokens": 2 } },
            { "match": "^why", "steps": [{ "type": "text", "text": "because" }] },
            { "steps": [{ "type": "text", "text": "second" }] }
        ]
    }))
    .await;
    let mut said = Vec::new();
    for (number, prompt) in (1..).zip(["why so", "go", "why not", "go", "go on"]) {
        let (end, chunks) = world.prompt(number, prompt).await;
        assert_eq!(end.usage.total_tokens, if number == 2 { 7 } else { 0 });
        said.push(text(&chunks));
    }
    assert_eq!(said, ["because", "first", "because", "second", "go on"]);
    let (end, chunks) = world.prompt(5, "go on").await;
    assert_eq!((end.outcome, chunks), (SliceOutcome::Finished, Vec::new()), "a prompt that was seen is ignored");
}

#[tokio::test]
async fn a_repeated_turn_answers_everything_from_its_place_on() {
    let world = world(json!({ "turns": [{ "repeat": true, "steps": [{ "type": "text", "text": "again" }] }] })).await;
    for number in 1..4 {
        assert_eq!(text(&world.prompt(number, "x").await.1), "again");
    }
}

#[tokio::test]
async fn a_tool_runs_in_the_sandbox() {
    let world = world(turns(&json!([
        { "type": "tool", "command": "pwd; echo no >&2; exit 3" },
        { "type": "tool", "command": ["no-such-program"] },
        { "type": "tool", "command": "sleep 1000", "timeoutMs": 50 },
        { "type": "text", "text": "{{output}}" }
    ])))
    .await;
    let (end, chunks) = world.prompt(1, "x").await;
    assert_eq!(end.outcome, SliceOutcome::Finished);
    let directory = world.lease.sandbox().working_directory().display().to_string();
    let output = json!({ "stdout": format!("{directory}\n"), "stderr": "no\n", "exitCode": 3 });
    assert_eq!(of(&chunks, "tool-output-available")[0]["output"], output);
    let errors = of(&chunks, "tool-output-error");
    assert!(errors[0]["errorText"].as_str().unwrap().contains("no-such-program"));
    assert!(errors[1]["errorText"].as_str().unwrap().contains("50 milliseconds"));
    assert_eq!(text(&chunks), directory);
    let first = [
        "start",
        "start-step",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-output-available",
        "finish-step",
        "start-step",
    ];
    assert_eq!(types(&chunks)[..8], first);
    assert_eq!(chunks[4]["input"]["command"], "pwd; echo no >&2; exit 3");
    assert_eq!((&chunks[4]["toolCallId"], &chunks[4]["providerExecuted"]), (&json!("t1-call-1"), &json!(true)));
}

#[tokio::test]
async fn several_calls_wait_at_once_and_each_gets_its_answer() {
    let mut world = world(turns(&json!([{
        "type": "tools",
        "calls": [
            { "command": "echo now" },
            { "command": "echo one > one; cat one", "approval": true },
            { "command": "touch two", "approval": true },
            { "command": "touch three", "approval": true },
            { "tool": "ask", "input": { "q": 1 } }
        ],
        "whenDenied": [{ "type": "text", "text": "denied: {{reason}}; answer: {{answer}}" }],
        "whenAllowed": [{ "type": "text", "text": "allowed" }]
    }])))
    .await;
    let (end, chunks) = world.prompt(1, "x").await;
    assert_eq!(end.outcome, SliceOutcome::Paused);
    assert_eq!(of(&chunks, "tool-approval-request").len(), 3);
    assert_eq!(of(&chunks, "tool-output-available").len(), 1, "what needs nobody has run");
    assert_eq!(chunks.last().unwrap()["finishReason"], "tool-calls");
    assert_eq!(of(&chunks, "tool-input-available")[4].get("providerExecuted"), None);
    let ids: Vec<_> =
        of(&chunks, "tool-input-available").iter().map(|c| c["toolCallId"].as_str().unwrap().to_owned()).collect();

    // A stop, then a new agent from what it said.
    let resume = world.agent.stop().await.unwrap();
    assert_eq!(resume, end.resume);
    assert_eq!(
        world.prompt(2, "x").await.0.outcome,
        SliceOutcome::Failed { message: "The scripted agent is gone.".to_owned(), alive: false }
    );
    world.restart(resume).await;
    let edited = AnswerBody::Allow { edited_input: Some(json!({ "command": "touch edited" }).to_string()) };
    let denied = AnswerBody::Deny { reason: Some("not today".to_owned()) };
    let result = AnswerBody::Result { output: "\"blue\"".to_owned(), is_error: false };
    let answers =
        vec![answer(&ids[4], result), answer(&ids[1], ALLOW), answer(&ids[2], edited), answer(&ids[3], denied)];
    let (end, chunks) = world.answer(1, answers).await;
    assert_eq!(end.outcome, SliceOutcome::Finished);
    assert_eq!(text(&chunks), "denied: not today; answer: blue");
    assert_eq!(of(&chunks, "tool-output-denied"), [&json!({ "type": "tool-output-denied", "toolCallId": ids[3] })]);
    let outputs = of(&chunks, "tool-output-available");
    assert_eq!((outputs.len(), &outputs[0]["output"]["stdout"]), (3, &json!("one\n")));
    assert_eq!(outputs[2], &json!({ "type": "tool-output-available", "toolCallId": ids[4], "output": "blue" }));
    let exists = |name: &str| world.lease.sandbox().working_directory().join(name).exists();
    assert_eq!([exists("one"), exists("two"), exists("three"), exists("edited")], [true, false, false, true]);
}

#[tokio::test]
async fn ids_stay_unique_over_a_pause() {
    let world = world(turns(&json!([
        { "type": "text", "text": "a" },
        { "type": "tool", "command": "true", "approval": true },
        { "type": "text", "text": "b" },
        { "type": "tool", "command": "true" }
    ])))
    .await;
    let (_, mut chunks) = world.prompt(1, "x").await;
    chunks.extend(world.answer(1, vec![answer("t1-call-2", ALLOW)]).await.1);
    let mut ids: Vec<_> = of(&chunks, "text-start").iter().map(|c| c["id"].to_string()).collect();
    ids.extend(of(&chunks, "tool-input-start").iter().map(|c| c["toolCallId"].to_string()));
    assert_eq!(ids.len(), 4);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn a_crash_loses_the_turn_under_way_alone() {
    let steps = |text: &str| json!([{ "type": "text", "text": text }]);
    let mut world = world(json!({ "turns": [
        { "steps": steps("one") },
        { "steps": [{ "type": "text", "text": "two" }, { "type": "hang" }] },
    ] }))
    .await;
    let (end, _) = world.prompt(1, "x").await;
    let (sink, mut count, chunks) = watched_collector();
    let agent = Arc::clone(&world.agent);
    let hanging = tokio::spawn(async move { agent.prompt(prompt(2, "x"), sink).await });
    count.wait_for(|count| *count > 4).await.unwrap();
    // The crash: whoever waited for the turn is gone.
    hanging.abort();
    assert!(hanging.await.is_err());
    assert_eq!(text(&chunks.await.unwrap()), "two");
    world.restart(end.resume).await;
    let (end, chunks) = world.prompt_interrupted(3, || true).await;
    assert_eq!((end.outcome, text(&chunks)), (SliceOutcome::Interrupted, "two".to_owned()));
    assert_eq!(text(&world.prompt(4, "echo").await.1), "echo");
}

#[tokio::test]
async fn answers_without_the_paused_turn_are_told_in_words() {
    let world = world(json!({})).await;
    let (end, chunks) = world.answer(7, vec![answer("gone", ALLOW)]).await;
    assert_eq!((end.outcome, end.not_taken), (SliceOutcome::Finished, vec!["gone".to_owned()]));
    assert!(text(&chunks).contains("in words"));
}

#[tokio::test]
async fn failures_and_exits_are_told() {
    let mut world = world(json!({ "turns": [
        { "steps": [{ "type": "fail", "message": "overloaded" }] },
        { "steps": [{ "type": "chunk", "chunk": { "type": "data-x", "data": 1.0 } }, { "type": "delay", "ms": 1 }] },
        { "steps": [{ "type": "exit", "message": "bye" }] }
    ] }))
    .await;
    let failed = |message: &str, alive| SliceOutcome::Failed { message: message.to_owned(), alive };
    assert_eq!(world.prompt(1, "x").await.0.outcome, failed("overloaded", true));
    let (end, chunks) = world.prompt(2, "x").await;
    assert_eq!(
        (end.outcome, types(&chunks)),
        (SliceOutcome::Finished, vec!["start", "start-step", "data-x", "finish-step", "finish"])
    );
    assert_eq!(world.prompt(3, "x").await.0.outcome, failed("bye", false));
    assert_eq!(world.notices.recv().await, Some(AgentNotice::Exited { message: "bye".to_owned() }));
    assert!(matches!(world.prompt(4, "x").await.0.outcome, SliceOutcome::Failed { alive: false, .. }));
}

#[tokio::test]
async fn an_interrupt_is_prompt_at_any_step() {
    for step in [
        json!({ "type": "hang" }),
        json!({ "type": "delay", "ms": 3_600_000 }),
        json!({ "type": "text", "text": "long", "chars": 1, "delayMs": 3_600_000 }),
        json!({ "type": "tool", "command": "echo $$ > pid; sleep 1000" }),
        json!({ "type": "burst", "count": 1_000_000_000_000_u64 }),
    ] {
        let is_tool = step["type"] == "tool";
        let world = world(turns(&json!([step]))).await;
        let pid = world.lease.sandbox().working_directory().join("pid");
        let ready = || !is_tool || !std::fs::read(&pid).unwrap_or_default().is_empty();
        let (end, _) = world.prompt_interrupted(1, ready).await;
        assert_eq!(end.outcome, SliceOutcome::Interrupted);
        assert_eq!(text(&world.prompt(2, "go on").await.1), "go on", "the agent is usable afterwards");
        let running = world.lease.sandbox().working_directory().join("../../../running");
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::fs::read_dir(&running).unwrap().count() > 0 {
            assert!(Instant::now() < deadline, "the tool still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn an_interrupt_gives_a_pause_up() {
    let mut world = world(turns(&json!([{ "type": "question", "input": { "q": "?" } }]))).await;
    let (end, _) = world.prompt(1, "x").await;
    assert_eq!(end.outcome, SliceOutcome::Paused);
    world.agent.interrupt().await.unwrap();
    let Some(AgentNotice::Checkpoint(resume)) = world.notices.recv().await else { panic!("no checkpoint") };
    assert_ne!(Some(&resume), end.resume.as_ref());
    assert_eq!(world.answer(1, vec![answer("t1-call-1", ALLOW)]).await.0.not_taken, ["t1-call-1"]);
}

#[tokio::test]
async fn a_burst_is_whole() {
    let world = world(turns(&json!([{ "type": "burst", "count": 1000, "size": 7, "batch": 33 }]))).await;
    let (_, chunks) = world.prompt(1, "x").await;
    let deltas = of(&chunks, "text-delta");
    assert_eq!((deltas.len(), deltas[999]["delta"].as_str().unwrap().len()), (1000, 7));
}

#[tokio::test]
async fn the_demo_tells_its_story() {
    let source = include_str!("../../src/agents/scripted/demo.json");
    let world = world(serde_json::from_str(source).unwrap()).await;
    drop(Scenario::demo());
    let (end, chunks) = world.prompt(1, "tidy up").await;
    assert_eq!(end.outcome, SliceOutcome::Paused);
    assert!(!of(&chunks, "reasoning-delta").is_empty());
    assert_eq!(of(&chunks, "tool-output-available")[0]["output"]["stdout"], "new\nold\n");
    let asked = of(&chunks, "tool-approval-request")[0]["toolCallId"].as_str().unwrap().to_owned();
    let deny = AnswerBody::Deny { reason: Some("It is dear to me.".to_owned()) };
    let (_, chunks) = world.answer(1, vec![answer(&asked, deny)]).await;
    assert_eq!(text(&chunks), "I keep the old saddle then. It is dear to me.");
    assert_eq!(world.prompt(2, "ask me").await.0.outcome, SliceOutcome::Paused);
    assert!(Path::new(world.lease.sandbox().working_directory()).join("saddles/old").exists());
}

#[test]
fn mistakes_in_a_scenario_are_told_with_their_place() {
    for (scenario, word) in [
        ("{", "EOF"),
        (r#"{ "turn": [] }"#, "turn"),
        (r#"{ "turns": [{ "steps": [{ "type": "txt" }] }] }"#, "txt"),
        (r#"{ "turns": [{ "steps": [{ "type": "tool", "command": "x", "aproval": true }] }] }"#, "aproval"),
        (r#"{ "turns": [{ "steps": [{ "type": "text", "text": "x", "chars": 0 }] }] }"#, "turns[0].steps[0]"),
        (r#"{ "turns": [{ "match": "(", "steps": [] }] }"#, "turns[0].match"),
        (r#"{ "turns": [{ "steps": [{ "type": "tools", "calls": [] }] }] }"#, "at least one"),
        (r#"{ "turns": [{ "steps": [{ "type": "tool" }] }] }"#, "`command` or an `input`"),
        (r#"{ "default": [{ "type": "delay", "ms": 999999999999 }] }"#, "default.steps[0]"),
        (r#"{ "default": [{ "type": "chunk", "chunk": 1 }] }"#, "`type`"),
    ] {
        let error = Scenario::parse(scenario).unwrap_err().to_string();
        assert!(error.contains(word), "{scenario}: {error}");
    }
    assert!(Scenario::load("/no/such/file").unwrap_err().to_string().contains("/no/such/file"));
}

#[tokio::test]
async fn a_damaged_or_newer_state_is_refused() {
    let world = world(json!({})).await;
    for state in ["", "{}", r#"{"version":2,"next":0,"seen":[],"paused":null}"#] {
        let (sender, _) = mpsc::unbounded_channel();
        let start = StartAgent {
            session: "s1".to_owned(),
            generation: 1,
            sandbox: world.lease.sandbox(),
            settings: SessionSettings::default(),
            resume: Some(ResumeState::new(state)),
            notices: Notices::new(sender),
        };
        assert!(ScriptedAgent::new(Scenario::echo()).start(start).await.is_err(), "{state}");
    }
}

#[test]
fn the_example_in_the_documentation_is_a_scenario() {
    let document = include_str!("../../docs/scripted.md");
    let example = document.split("```json").nth(1).unwrap().split("```").next().unwrap();
    Scenario::parse(example).unwrap();
}

#[tokio::test]
async fn ten_thousand_sessions_cost_little() {
    let world = world(json!({})).await;
    let scenario =
        Scenario::parse(r#"{ "default": [{ "type": "tool", "command": "true", "approval": true }] }"#).unwrap();
    let agent = ScriptedAgent::new(scenario);
    let mut sessions = Vec::new();
    let mut resident = 0;
    for number in 0..10_000 {
        let (sender, _) = mpsc::unbounded_channel();
        let start = StartAgent {
            session: format!("s{number}"),
            generation: 1,
            sandbox: world.lease.sandbox(),
            settings: SessionSettings::default(),
            resume: None,
            notices: Notices::new(sender),
        };
        sessions.push(agent.start(start).await.unwrap().agent);
        let (sink, mut receiver) = mpsc::channel(64);
        let end = sessions[number].prompt(prompt(1, "x"), TurnSink::new(sink)).await;
        assert_eq!(end.outcome, SliceOutcome::Paused);
        receiver.close();
        if number == 99 {
            resident = resident_kilobytes();
        }
    }
    let grown = resident_kilobytes() - resident;
    assert!(grown < 40_000, "{grown} kB for 9,900 paused sessions");
}

fn resident_kilobytes() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
