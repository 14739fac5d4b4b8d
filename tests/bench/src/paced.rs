//! An agent that speaks at a given pace and says when: the scripted one cannot put the time into what it says.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tackroom::ports::{
    Agent, AgentError, AgentSession, Answers, Chunk, Prompt, ResumeState, SliceEnd, SliceOutcome, StartAgent,
    StartedAgent, TurnSink, Usage,
};

/// How fast agents speak.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Chunks a second, of all sessions together.
    pub(crate) rate: u32,
    /// Sessions that share it.
    pub(crate) sessions: u32,
    /// Chunks that a session gives together.
    pub(crate) batch: u32,
    /// How long each turn is.
    pub(crate) length: Duration,
}

impl Pace {
    /// The time between two batches of one session.
    fn interval(self) -> Duration {
        Duration::from_secs_f64(f64::from(self.batch) * f64::from(self.sessions) / f64::from(self.rate))
    }
}

/// See the module. Its first turns are short, so that sessions can be made idle.
pub(crate) struct PacedAgent {
    shared: Arc<Shared>,
}

struct Shared {
    pace: Pace,
    zero: Instant,
    /// Turns at this pace so far: sessions speak one after the other, not all at once.
    begun: AtomicU32,
}

impl PacedAgent {
    /// Agents whose times are counted from `zero` on.
    pub(crate) fn new(pace: Pace, zero: Instant) -> Self {
        Self { shared: Arc::new(Shared { pace, zero, begun: AtomicU32::new(0) }) }
    }
}

/// The prompt that is answered at the pace; every other one is answered at once.
pub(crate) const SPEAK: &str = "Speak.";

/// The time that a text chunk carries, in nanoseconds since the agents' zero. None for chunks that carry none.
pub(crate) fn said_at(chunk: &str) -> Option<u64> {
    let (_, text) = chunk.split_once(r#""delta":""#)?;
    text.get(..20)?.parse().ok()
}

#[async_trait]
impl Agent for PacedAgent {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature is wider")]
    fn name(&self) -> &str {
        "paced"
    }

    async fn start(&self, _: StartAgent) -> Result<StartedAgent, AgentError> {
        let agent = Arc::new(PacedSession { shared: Arc::clone(&self.shared) });
        Ok(StartedAgent { agent, resume: Some(ResumeState::new("{}")) })
    }
}

struct PacedSession {
    shared: Arc<Shared>,
}

fn json(text: &str) -> Chunk {
    Chunk::Json(text.to_owned())
}

impl Shared {
    fn batch(&self) -> Vec<Chunk> {
        let mut stamp = String::with_capacity(20);
        // Writing into a string cannot fail.
        let _ = write!(stamp, "{:020}", self.zero.elapsed().as_nanos());
        let delta = || Chunk::TextDelta { id: "text".to_owned(), delta: stamp.as_str().into() };
        (0..self.pace.batch).map(|_| delta()).collect()
    }

    async fn speak(&self, sink: &TurnSink) {
        let interval = self.pace.interval();
        let place = self.begun.fetch_add(1, Ordering::Relaxed) % self.pace.sessions;
        let start = tokio::time::Instant::now();
        let mut next = start + interval.mul_f64(f64::from(place) / f64::from(self.pace.sessions));
        while next < start + self.pace.length {
            tokio::time::sleep_until(next).await;
            sink.send(self.batch()).await;
            next += interval;
        }
    }
}

#[async_trait]
impl AgentSession for PacedSession {
    async fn prompt(&self, prompt: Prompt, sink: TurnSink) -> SliceEnd {
        sink.send(vec![json(r#"{"type":"start"}"#), json(r#"{"type":"text-start","id":"text"}"#)]).await;
        if prompt.text == SPEAK {
            self.shared.speak(&sink).await;
        }
        sink.send(vec![json(r#"{"type":"text-end","id":"text"}"#), json(r#"{"type":"finish"}"#)]).await;
        SliceEnd { outcome: SliceOutcome::Finished, usage: Usage::default(), resume: None, not_taken: Vec::new() }
    }

    async fn answer(&self, _: Answers, _: TurnSink) -> SliceEnd {
        let outcome = SliceOutcome::Failed { message: "This agent never asks.".to_owned(), alive: true };
        SliceEnd { outcome, usage: Usage::default(), resume: None, not_taken: Vec::new() }
    }

    async fn interrupt(&self) -> Result<(), AgentError> {
        Ok(())
    }

    async fn stop(&self) -> Result<Option<ResumeState>, AgentError> {
        Ok(Some(ResumeState::new("{}")))
    }

    async fn destroy(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_out_of_a_chunk() {
        assert_eq!(said_at(r#"{"type":"text-delta","id":"text","delta":"00000000000000001234"}"#), Some(1_234));
        assert_eq!(said_at(r#"{"type":"text-end","id":"text"}"#), None);
    }
}
