//! An agent that does what it is told, faults included, so that applications can test what they do then.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::orders::{Orders, lock};
use crate::ports::{
    Agent, AgentError, AgentNotice, AgentSession, Answers, Chunk, Notices, Prompt, ResumeState, SliceEnd, SliceOutcome,
    StartAgent, StartedAgent, TurnSink, Usage,
};

/// One operation of the agent port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentOp {
    /// [`Agent::start`].
    Start,
    /// [`AgentSession::prompt`]. A fault ends the slice as failed, the agent alive.
    Prompt,
    /// [`AgentSession::answer`]. A fault ends the slice as failed, the agent alive.
    Answer,
    /// [`AgentSession::interrupt`].
    Interrupt,
    /// [`AgentSession::stop`].
    Stop,
    /// [`AgentSession::destroy`], which cannot fail, but hang and be late.
    Destroy,
}

/// What a fake agent does in one slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeSlice {
    /// The chunks it sends, all at once.
    pub chunks: Vec<Chunk>,
    /// How the slice ends then; without one it hangs until it is interrupted.
    pub outcome: Option<SliceOutcome>,
}

impl FakeSlice {
    /// Says a text, whole, and finishes.
    #[must_use]
    pub fn says(text: &str) -> Self {
        let json = |text: &str| Chunk::Json(text.to_owned());
        let chunks = vec![
            json(r#"{"type":"start"}"#),
            json(r#"{"type":"start-step"}"#),
            json(r#"{"type":"text-start","id":"text-1"}"#),
            Chunk::TextDelta { id: "text-1".to_owned(), delta: text.into() },
            json(r#"{"type":"text-end","id":"text-1"}"#),
            json(r#"{"type":"finish-step"}"#),
            json(r#"{"type":"finish","finishReason":"stop"}"#),
        ];
        Self { chunks, outcome: Some(SliceOutcome::Finished) }
    }

    /// Asks whether a call may run, and pauses. The approval's id is the call's with `-approval` after it.
    #[must_use]
    pub fn asks(tool_call_id: &str, tool_name: &str, input: &serde_json::Value) -> Self {
        let call = serde_json::json!({
            "type": "tool-input-available", "toolCallId": tool_call_id, "toolName": tool_name, "input": input,
            "providerExecuted": true
        });
        let approval_id = format!("{tool_call_id}-approval");
        let request = serde_json::json!({
            "type": "tool-approval-request", "approvalId": approval_id, "toolCallId": tool_call_id
        });
        let chunks = [serde_json::json!({ "type": "start" }), call, request];
        let chunks = chunks.iter().map(|chunk| Chunk::Json(chunk.to_string())).collect();
        Self { chunks, outcome: Some(SliceOutcome::Paused) }
    }

    /// Says nothing and ends in this way.
    #[must_use]
    pub fn ends(outcome: SliceOutcome) -> Self {
        Self { chunks: Vec::new(), outcome: Some(outcome) }
    }

    /// Says nothing and never ends.
    #[must_use]
    pub fn hangs() -> Self {
        Self { chunks: Vec::new(), outcome: None }
    }
}

/// A kind of agent that does what it is told. Clones share everything, and so do all sessions, which take the slices
/// that were ordered in the order in which they need one. Without an order a slice echoes its prompt.
///
/// ```
/// # use tackroom::testing::{AgentOp, FakeAgent, FakeSlice};
/// # use tackroom::ports::{AgentError, SliceOutcome};
/// let agent = FakeAgent::new();
/// agent.next(FakeSlice::says("Hello."));
/// agent.next(FakeSlice::hangs());
/// agent.fail_next(AgentOp::Stop, 1, &AgentError::Failed("it does not answer".into()));
/// ```
#[derive(Clone)]
pub struct FakeAgent {
    shared: Arc<Shared>,
}

struct Shared {
    orders: Orders<AgentOp, AgentError>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slices: VecDeque<FakeSlice>,
    deaf: bool,
    forgetful: bool,
    prompts: Vec<Prompt>,
    answers: Vec<Answers>,
    sessions: BTreeMap<String, Notices>,
}

impl FakeAgent {
    /// An agent without faults.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared { orders: Orders::new(), state: Mutex::default() }) }
    }

    /// Orders what the next slice that nobody has ordered yet does.
    pub fn next(&self, slice: FakeSlice) {
        lock(&self.shared.state).slices.push_back(slice);
    }

    /// Lets the next `times` calls of `op` fail.
    pub fn fail_next(&self, op: AgentOp, times: usize, error: &AgentError) {
        self.shared.orders.fail_next(op, times, error);
    }

    /// Lets each call of `op` take this long from now on.
    pub fn delay(&self, op: AgentOp, delay: Duration) {
        self.shared.orders.delay(op, delay);
    }

    /// Lets calls of `op` hang until [`release`](Self::release).
    pub fn hang(&self, op: AgentOp) {
        self.shared.orders.hang(op, true);
    }

    /// Lets calls of `op` go on that hang, and later ones through.
    pub fn release(&self, op: AgentOp) {
        self.shared.orders.hang(op, false);
    }

    /// Confirms interruptions without carrying them out.
    pub fn be_deaf(&self, deaf: bool) {
        lock(&self.shared.state).deaf = deaf;
    }

    /// Gives no resume state, at the start, after slices, and when stopped.
    pub fn be_forgetful(&self, forgetful: bool) {
        lock(&self.shared.state).forgetful = forgetful;
    }

    /// Says of a session's agent that it has exited. Returns whether there is one.
    #[must_use]
    pub fn exit(&self, session: &str, message: &str) -> bool {
        self.tell(session, AgentNotice::Exited { message: message.to_owned() })
    }

    /// Tells the host something for a session. Returns whether the session has an agent.
    #[must_use]
    pub fn tell(&self, session: &str, notice: AgentNotice) -> bool {
        let notices = lock(&self.shared.state).sessions.get(session).cloned();
        notices.inspect(|notices| notices.tell(notice)).is_some()
    }

    /// How often `op` was called.
    #[must_use]
    pub fn calls(&self, op: AgentOp) -> u64 {
        self.shared.orders.calls(op)
    }

    /// Every prompt that came, in order.
    #[must_use]
    pub fn prompts(&self) -> Vec<Prompt> {
        lock(&self.shared.state).prompts.clone()
    }

    /// Every delivery of answers that came, in order.
    #[must_use]
    pub fn answers(&self) -> Vec<Answers> {
        lock(&self.shared.state).answers.clone()
    }

    /// The sessions with an agent that was neither stopped nor destroyed, sorted.
    #[must_use]
    pub fn live(&self) -> Vec<String> {
        lock(&self.shared.state).sessions.keys().cloned().collect()
    }
}

impl Default for FakeAgent {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    fn resume(&self, session: &str) -> Option<ResumeState> {
        let state = lock(&self.state);
        (!state.forgetful).then(|| ResumeState::new(format!("fake:{session}:{}", state.prompts.len())))
    }
}

#[async_trait]
impl Agent for FakeAgent {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature is wider")]
    fn name(&self) -> &str {
        "fake"
    }

    async fn start(&self, start: StartAgent) -> Result<StartedAgent, AgentError> {
        self.shared.orders.pass(AgentOp::Start).await?;
        lock(&self.shared.state).sessions.insert(start.session.clone(), start.notices);
        let resume = self.shared.resume(&start.session);
        let cut = watch::Sender::new(0);
        let session = FakeSession { session: start.session, shared: Arc::clone(&self.shared), cut };
        Ok(StartedAgent { agent: Arc::new(session), resume })
    }
}

struct FakeSession {
    session: String,
    shared: Arc<Shared>,
    /// Counts interruptions.
    cut: watch::Sender<u64>,
}

impl FakeSession {
    async fn play(&self, op: AgentOp, echo: &str, sink: TurnSink) -> SliceEnd {
        let mut cut = self.cut.subscribe();
        let played = async {
            if let Err(error) = self.shared.orders.pass(op).await {
                return SliceOutcome::Failed { message: error.to_string(), alive: true };
            }
            let ordered = lock(&self.shared.state).slices.pop_front();
            let slice = ordered.unwrap_or_else(|| FakeSlice::says(echo));
            if !slice.chunks.is_empty() {
                sink.send(slice.chunks).await;
            }
            match slice.outcome {
                Some(outcome) => outcome,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = played => outcome,
            _ = cut.changed() => SliceOutcome::Interrupted,
        };
        SliceEnd { outcome, usage: Usage::default(), resume: self.shared.resume(&self.session), not_taken: Vec::new() }
    }
}

#[async_trait]
impl AgentSession for FakeSession {
    async fn prompt(&self, prompt: Prompt, sink: TurnSink) -> SliceEnd {
        let echo = prompt.text.clone();
        lock(&self.shared.state).prompts.push(prompt);
        self.play(AgentOp::Prompt, &echo, sink).await
    }

    async fn answer(&self, answers: Answers, sink: TurnSink) -> SliceEnd {
        let echo = answers.words.clone();
        lock(&self.shared.state).answers.push(answers);
        self.play(AgentOp::Answer, &echo, sink).await
    }

    async fn interrupt(&self) -> Result<(), AgentError> {
        self.shared.orders.pass(AgentOp::Interrupt).await?;
        if !lock(&self.shared.state).deaf {
            self.cut.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    async fn stop(&self) -> Result<Option<ResumeState>, AgentError> {
        self.shared.orders.pass(AgentOp::Stop).await?;
        self.cut.send_modify(|count| *count += 1);
        lock(&self.shared.state).sessions.remove(&self.session);
        Ok(self.shared.resume(&self.session))
    }

    async fn destroy(&self) {
        // It cannot fail: a fault that was ordered is spent.
        let _ = self.shared.orders.pass(AgentOp::Destroy).await;
        self.cut.send_modify(|count| *count += 1);
        lock(&self.shared.state).sessions.remove(&self.session);
    }
}
