//! A scripted agent in a real sandbox, and what its slices say.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tackroom::agents::scripted::{Scenario, ScriptedAgent};
use tackroom::ports::{
    Agent, AgentNotice, AgentSession, Answer, AnswerBody, Answers, Chunk, Lease, Notices, Prompt, ResumeState,
    Sandboxes, SessionSettings, SliceEnd, StartAgent, TurnSink,
};
use tackroom::sandboxes::local::LocalSandboxes;
use tokio::sync::{mpsc, watch};

pub(crate) struct World {
    pub(crate) agent: Arc<dyn AgentSession>,
    pub(crate) lease: Lease,
    pub(crate) notices: mpsc::UnboundedReceiver<AgentNotice>,
    scenario: Value,
    _root: tempfile::TempDir,
}

pub(crate) async fn started(
    scenario: &Value,
    lease: &Lease,
    resume: Option<ResumeState>,
) -> (Arc<dyn AgentSession>, mpsc::UnboundedReceiver<AgentNotice>) {
    let (sender, notices) = mpsc::unbounded_channel();
    let start = StartAgent {
        session: "s1".to_owned(),
        generation: 1,
        sandbox: lease.sandbox(),
        settings: SessionSettings::default(),
        resume,
        notices: Notices::new(sender),
    };
    let agent = ScriptedAgent::new(Scenario::parse(&scenario.to_string()).unwrap());
    (agent.start(start).await.unwrap().agent, notices)
}

pub(crate) async fn world(scenario: Value) -> World {
    let root = tempfile::tempdir().unwrap();
    let lease = LocalSandboxes::per_session(root.path(), 1).await.unwrap().acquire("s1", false).await.unwrap();
    let (agent, notices) = started(&scenario, &lease, None).await;
    World { agent, lease, notices, scenario, _root: root }
}

impl World {
    /// A new agent in the old place, as after a crash or a stop.
    pub(crate) async fn restart(&mut self, resume: Option<ResumeState>) {
        (self.agent, self.notices) = started(&self.scenario, &self.lease, resume).await;
    }

    pub(crate) async fn prompt(&self, number: u32, text: &str) -> (SliceEnd, Vec<Value>) {
        let (sink, chunks) = collector();
        let end = self.agent.prompt(prompt(number, text), sink).await;
        (end, chunks.await.unwrap())
    }

    /// Prompts, and interrupts once it has said something and `ready` holds.
    pub(crate) async fn prompt_interrupted(&self, number: u32, ready: impl Fn() -> bool) -> (SliceEnd, Vec<Value>) {
        let (sink, mut count, chunks) = watched_collector();
        let interrupt = async {
            // More than `start`, `start-step`, the start of a part, one delta.
            let _ = tokio::time::timeout(Duration::from_secs(1), count.wait_for(|count| *count > 4)).await;
            let deadline = Instant::now() + Duration::from_secs(20);
            while !ready() {
                assert!(Instant::now() < deadline, "it never became ready");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.agent.interrupt().await.unwrap();
            Instant::now()
        };
        let (end, interrupted) = tokio::join!(self.agent.prompt(prompt(number, "x"), sink), interrupt);
        assert!(interrupted.elapsed() < Duration::from_secs(5));
        (end, chunks.await.unwrap())
    }

    pub(crate) async fn answer(&self, turn: u32, answers: Vec<Answer>) -> (SliceEnd, Vec<Value>) {
        let (sink, chunks) = collector();
        let answers =
            Answers { turn: format!("t{turn}"), id: format!("a{turn}"), answers, words: "in words".to_owned() };
        let end = self.agent.answer(answers, sink).await;
        (end, chunks.await.unwrap())
    }
}

pub(crate) fn prompt(number: u32, text: &str) -> Prompt {
    Prompt {
        turn: format!("t{number}"),
        id: format!("p{number}"),
        text: text.to_owned(),
        files: Vec::new(),
        model: None,
    }
}

pub(crate) fn answer(call: &str, body: AnswerBody) -> Answer {
    Answer {
        approval_id: format!("{call}-approval"),
        tool_call_id: call.to_owned(),
        tool_name: "bash".to_owned(),
        input: "{}".to_owned(),
        body,
    }
}

pub(crate) const ALLOW: AnswerBody = AnswerBody::Allow { edited_input: None };

/// A sink, and what came into it, as JSON.
pub(crate) fn collector() -> (TurnSink, tokio::task::JoinHandle<Vec<Value>>) {
    let (sink, _, chunks) = watched_collector();
    (sink, chunks)
}

/// The same, and how many chunks there are so far.
pub(crate) fn watched_collector() -> (TurnSink, watch::Receiver<usize>, tokio::task::JoinHandle<Vec<Value>>) {
    let (sender, mut receiver) = mpsc::channel::<Vec<Chunk>>(4);
    let (count, counted) = watch::channel(0);
    let task = tokio::spawn(async move {
        let mut chunks = Vec::new();
        while let Some(batch) = receiver.recv().await {
            chunks.extend(batch.into_iter().map(value));
            count.send_replace(chunks.len());
        }
        chunks
    });
    (TurnSink::new(sender), counted, task)
}

fn value(chunk: Chunk) -> Value {
    match chunk {
        Chunk::TextDelta { id, delta } => json!({ "type": "text-delta", "id": id, "delta": delta.text }),
        Chunk::ReasoningDelta { id, delta } => json!({ "type": "reasoning-delta", "id": id, "delta": delta.text }),
        Chunk::ToolInputDelta { tool_call_id, delta } => {
            json!({ "type": "tool-input-delta", "toolCallId": tool_call_id, "inputTextDelta": delta.text })
        }
        Chunk::Json(text) => serde_json::from_str(&text).unwrap(),
    }
}

pub(crate) fn types(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

pub(crate) fn text(chunks: &[Value]) -> String {
    chunks.iter().filter(|chunk| chunk["type"] == "text-delta").map(|chunk| chunk["delta"].as_str().unwrap()).collect()
}

pub(crate) fn of<'a>(chunks: &'a [Value], kind: &str) -> Vec<&'a Value> {
    chunks.iter().filter(|chunk| chunk["type"] == kind).collect()
}

pub(crate) fn turns(steps: &Value) -> Value {
    json!({ "turns": [{ "steps": steps }] })
}
