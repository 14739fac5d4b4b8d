//! One case's own world: a directory, a name at the model server, and sessions of the CLI in between.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tackroom::agents::claude::{ClaudeAgent, ClaudeOptions};
use tackroom::ports::{
    Agent, AgentNotice, AgentSession, Answer, AnswerBody, Answers, Chunk, Notices, Prompt, ResumeState, Sandbox,
    SessionSettings, SliceEnd, SliceOutcome, StartAgent, TurnSink,
};
use tackroom_model_server::{ModelServer, Reply, Script};
use tokio::sync::mpsc;

use crate::processes::{kill_all, processes_of};

/// The longest that any one thing of a case may take.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What a case works with.
pub(crate) struct World {
    pub(crate) server: Arc<ModelServer>,
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) options: ClaudeOptions,
    pub(crate) settings: SessionSettings,
    pub(crate) sandbox: Arc<dyn Sandbox>,
}

impl World {
    pub(crate) fn new(server: &Arc<ModelServer>, program: &str, name: &str, sandbox: Arc<dyn Sandbox>) -> Self {
        let options = ClaudeOptions::new(program).base_url(server.base_url(name)).api_key("sk-ant-test-key");
        let directory = sandbox.working_directory().parent().expect("a session's directory holds others").to_owned();
        let settings = SessionSettings::default();
        Self { server: Arc::clone(server), name: name.to_owned(), directory, options, settings, sandbox }
    }

    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.server.script(&self.name, Script::new(replies));
    }

    pub(crate) async fn start(&self, resume: Option<ResumeState>) -> Result<Session, String> {
        let (notices, received) = mpsc::unbounded_channel();
        let start = StartAgent {
            session: self.name.clone(),
            generation: 1,
            sandbox: Arc::clone(&self.sandbox),
            settings: self.settings.clone(),
            resume,
            notices: Notices::new(notices),
        };
        let agent = ClaudeAgent::new(self.options.clone());
        let started = agent.start(start).await.map_err(|error| error.to_string())?;
        let resume = started.resume.ok_or("a session has a resume state from the start")?;
        Ok(Session { agent: started.agent, notices: received, resume })
    }

    /// Whether a file of the working directory holds this.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.directory.join("work").join(name)).ok()
    }

    /// Whether the agent's own files hold this text.
    pub(crate) fn is_written_down(&self, text: &str) -> bool {
        let directories =
            std::fs::read_dir(self.directory.join("home/.claude/projects")).into_iter().flatten().flatten();
        let files =
            directories.flat_map(|directory| std::fs::read_dir(directory.path()).into_iter().flatten().flatten());
        files.into_iter().any(|file| std::fs::read_to_string(file.path()).is_ok_and(|found| found.contains(text)))
    }

    /// Kills the agent as a crash would.
    pub(crate) async fn crash(&self) {
        kill_all(&self.directory).await;
    }

    /// Everything the last request to the model held as tool results, by call.
    pub(crate) fn read_by_model(&self, call: &str) -> Option<String> {
        let requests = self.server.main_requests(&self.name);
        let result = requests.last()?.tool_results.iter().rev().find(|result| result.id == call)?;
        Some(result.text.clone())
    }

    /// Waits until no process of this world is left.
    pub(crate) async fn is_empty(&self) -> bool {
        for _ in 0..100 {
            if processes_of(&self.directory).is_empty() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

/// A started session.
pub(crate) struct Session {
    pub(crate) agent: Arc<dyn AgentSession>,
    pub(crate) notices: mpsc::UnboundedReceiver<AgentNotice>,
    pub(crate) resume: ResumeState,
}

/// A slice as it was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) chunks: Vec<Value>,
    pub(crate) end: SliceEnd,
}

impl Seen {
    pub(crate) fn text(&self) -> String {
        self.chunks
            .iter()
            .filter(|chunk| chunk["type"] == "text-delta")
            .filter_map(|chunk| chunk["delta"].as_str())
            .collect()
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.chunks.iter().filter(|chunk| chunk["type"] == kind).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.chunks.iter().filter_map(|chunk| chunk["type"].as_str()).collect()
    }

    /// The whole input of a call, JSON text.
    pub(crate) fn input(&self, call: &str) -> String {
        let chunks = self.all("tool-input-available");
        chunks
            .iter()
            .find(|chunk| chunk["toolCallId"] == call)
            .map(|chunk| chunk["input"].to_string())
            .unwrap_or_default()
    }

    pub(crate) fn expect(self, outcome: &SliceOutcome) -> Result<Self, String> {
        if self.end.outcome == *outcome {
            return Ok(self);
        }
        Err(format!("expected {outcome:?}, got {:?} after {:?}", self.end.outcome, self.kinds()))
    }
}

impl Session {
    /// Prompts, and collects the slice.
    pub(crate) async fn prompt(&self, text: &str) -> Result<Seen, String> {
        self.prompt_as(text, &uuid::Uuid::new_v4().to_string()).await
    }

    pub(crate) async fn prompt_as(&self, text: &str, id: &str) -> Result<Seen, String> {
        self.begin(text, id).finish().await
    }

    /// Prompts, and gives the slice under way.
    pub(crate) fn begin(&self, text: &str, id: &str) -> Running {
        let prompt =
            Prompt { turn: "turn".into(), id: id.to_owned(), text: text.to_owned(), files: Vec::new(), model: None };
        self.begin_prompt(prompt)
    }

    pub(crate) fn begin_prompt(&self, prompt: Prompt) -> Running {
        let (sink, chunks) = mpsc::channel(64);
        let agent = Arc::clone(&self.agent);
        let end = tokio::spawn(async move { agent.prompt(prompt, TurnSink::new(sink)).await });
        Running { chunks, seen: Vec::new(), end }
    }

    pub(crate) async fn answer(&self, answers: Vec<Answer>) -> Result<Seen, String> {
        let (sink, chunks) = mpsc::channel(64);
        let agent = Arc::clone(&self.agent);
        let id = uuid::Uuid::new_v4().to_string();
        let answers = Answers { turn: "turn".into(), id, answers, words: "ANSWERED IN WORDS".into() };
        let end = tokio::spawn(async move { agent.answer(answers, TurnSink::new(sink)).await });
        Running { chunks, seen: Vec::new(), end }.finish().await
    }

    /// Waits for the next checkpoint.
    pub(crate) async fn checkpoint(&mut self) -> Result<ResumeState, String> {
        match tokio::time::timeout(PATIENCE, self.notices.recv()).await {
            Ok(Some(AgentNotice::Checkpoint(state))) => Ok(state),
            other => Err(format!("expected a checkpoint, got {other:?}")),
        }
    }
}

/// A slice under way.
pub(crate) struct Running {
    chunks: mpsc::Receiver<Vec<Chunk>>,
    seen: Vec<Value>,
    end: tokio::task::JoinHandle<SliceEnd>,
}

impl Running {
    /// Waits until a chunk of this type came.
    pub(crate) async fn until(&mut self, kind: &str) -> Result<(), String> {
        let found = tokio::time::timeout(PATIENCE, async {
            while let Some(chunks) = self.chunks.recv().await {
                self.seen.extend(chunks.into_iter().map(to_json));
                if self.seen.iter().any(|chunk| chunk["type"] == kind) {
                    return true;
                }
            }
            false
        });
        match found.await {
            Ok(true) => Ok(()),
            _ => Err(format!("no {kind} came, but {:?}", self.seen)),
        }
    }

    /// Gives the slice up, as a caller that is gone.
    pub(crate) async fn abandon(self) {
        self.end.abort();
        let _ = self.end.await;
    }

    /// Waits for the end.
    pub(crate) async fn finish(mut self) -> Result<Seen, String> {
        let rest = async {
            while let Some(chunks) = self.chunks.recv().await {
                self.seen.extend(chunks.into_iter().map(to_json));
            }
            self.end.await.map_err(|error| error.to_string())
        };
        let end =
            tokio::time::timeout(PATIENCE, rest).await.map_err(|_| "a slice did not end in time".to_owned())??;
        Ok(Seen { chunks: self.seen, end })
    }
}

fn to_json(chunk: Chunk) -> Value {
    match chunk {
        Chunk::Json(text) => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}")),
        Chunk::TextDelta { id, delta } => {
            serde_json::json!({"type": "text-delta", "id": id, "delta": delta.text, "lead": delta.lead, "trail": delta.trail})
        }
        Chunk::ReasoningDelta { id, delta } => {
            serde_json::json!({"type": "reasoning-delta", "id": id, "delta": delta.text})
        }
        Chunk::ToolInputDelta { tool_call_id, delta } => {
            serde_json::json!({"type": "tool-input-delta", "toolCallId": tool_call_id, "inputTextDelta": delta.text})
        }
    }
}

/// An answer to a call that a slice showed.
pub(crate) fn answer(seen: &Seen, call: &str, tool: &str, body: AnswerBody) -> Answer {
    Answer {
        approval_id: format!("approval-{call}"),
        tool_call_id: call.to_owned(),
        tool_name: tool.to_owned(),
        input: seen.input(call),
        body,
    }
}

pub(crate) fn allow() -> AnswerBody {
    AnswerBody::Allow { edited_input: None }
}

pub(crate) fn deny(reason: &str) -> AnswerBody {
    AnswerBody::Deny { reason: Some(reason.to_owned()) }
}
