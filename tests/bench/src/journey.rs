//! The calls that are measured: whole lives of sessions, played once by a little host and written down, so that every
//! face of the engine is given the same.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::json;
use tackroom_core::{
    Config, Now,
    input::{
        Allow, AnswerBody, AnswerInput, Chunk, CommandBody, Continue, Create, Delta, Input, Notice, NoticeBody, Send,
        SliceOutcome, Update, WhenBusy,
    },
    record::Settings,
};
use tackroom_parity::{
    chunks::{any, approval_of, asked, output, piece, text_delta, tool_call},
    host::{PlayHost, effect_name, slice_end},
    journal::{Call, Entry, Push},
    store::PlayStore,
};

/// Text chunks of a whole turn.
const TEXTS: usize = 50;
/// Chunks that are given together.
pub(crate) const BATCH: usize = 16;
/// A piece of text as models stream it.
const WORDS: &str = " and then some words";

/// Lives of sessions as calls.
#[derive(Debug)]
pub(crate) struct Journey {
    host: PlayHost,
    turns: Vec<Range<usize>>,
    count: u32,
}

impl Journey {
    /// A host that is ready, with so many sessions that are idle.
    pub(crate) fn new(sessions: u32) -> Self {
        let config = Config { approver: true, close_suspended_after_ms: Some(86_400_000), ..Config::default() };
        let now = Now { wall_ms: 1_700_000_000_000, monotonic_ms: 1_000 };
        let mut journey = Self { host: PlayHost::new(config, now, PlayStore::default()), turns: Vec::new(), count: 0 };
        journey.host.play(Call::Input(Input::Start));
        journey.settle();
        for n in 0..sessions {
            journey.create(&format!("population-{n}"));
        }
        journey
    }

    /// What an engine has to be made with to be given these calls.
    pub(crate) fn config(&self) -> &Config {
        &self.host.config
    }

    /// The moment of the last call.
    pub(crate) fn now(&self) -> Now {
        self.host.now
    }

    /// The calls, in order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.host.journal
    }

    /// Where the whole turns are among the calls: from the message to the last write.
    pub(crate) fn turns(&self) -> &[Range<usize>] {
        &self.turns
    }

    /// Completes everything that is asked for, but slices.
    fn settle(&mut self) {
        while let Some(effect) = self.host.pending.iter().find(|effect| !self.host.slices.contains_key(&effect.id)) {
            let effect = effect.clone();
            let outcome = self.host.good_outcome(&effect);
            self.host.complete(effect.id, outcome);
        }
    }

    fn command(&mut self, session: &str, body: CommandBody) {
        self.host.command(session, body);
        self.settle();
    }

    /// A new session, which is idle then.
    pub(crate) fn create(&mut self, session: &str) {
        let create = Create { metadata: r#"{"user":"somebody"}"#.into(), settings: Settings::default(), fork: None };
        self.command(session, CommandBody::Create(create));
    }

    /// A message, up to the agent being at work: the slice.
    pub(crate) fn send(&mut self, session: &str) -> u64 {
        self.count += 1;
        let n = self.count;
        let send = Send {
            turn: format!("0198c5a1-0000-7000-8000-1{n:011}"),
            assistant_message: format!("0198c5a1-0000-7000-8000-2{n:011}"),
            user_message: format!("0198c5a1-0000-7000-8000-3{n:011}"),
            message: "Please have a look at the failing test and mend it.".into(),
            message_is_text: true,
            prompt: None,
            model: None,
            idempotency_key: None,
            when_busy: WhenBusy::Reject,
        };
        self.command(session, CommandBody::Send(send));
        self.slice()
    }

    fn slice(&self) -> u64 {
        *self.host.slices.keys().next_back().expect("an idle session that is sent a message has its agent prompted")
    }

    /// Chunks of an agent, so many at once.
    pub(crate) fn push(&mut self, slice: u64, chunks: &[Chunk], at_once: usize) {
        for batch in chunks.chunks(at_once) {
            self.host.push(slice, batch.to_vec());
            self.settle();
        }
    }

    /// What the next push of this slice says.
    pub(crate) fn next_push(&self, slice: u64) -> Push {
        let slice = &self.host.slices[&slice];
        Push { session: slice.session.clone(), turn: slice.turn.clone(), cursor: slice.cursor, chunks: Vec::new() }
    }

    fn end(&mut self, slice: u64, outcome: SliceOutcome) {
        self.host.complete(slice, slice_end(outcome));
        self.settle();
    }

    /// A whole turn: a message, text, a tool, the end.
    fn whole_turn(&mut self, session: &str) {
        let start = self.host.journal.len();
        let slice = self.send(session);
        self.push(slice, &talk(), 1);
        self.end(slice, SliceOutcome::Finished);
        self.turns.push(start..self.host.journal.len());
    }

    /// A turn whose chunks come together.
    fn turn_in_batches(&mut self, session: &str) {
        let slice = self.send(session);
        self.push(slice, &[any(json!({"type": "start"})), any(json!({"type": "text-start", "id": "1"}))], 1);
        self.push(slice, &vec![text_delta("1", WORDS); BATCH * 8], BATCH);
        self.push(slice, &[any(json!({"type": "text-end", "id": "1"})), any(json!({"type": "finish"}))], 1);
        self.end(slice, SliceOutcome::Finished);
    }

    /// A turn that waits for a person and goes on.
    fn turn_with_a_pause(&mut self, session: &str) {
        let slice = self.send(session);
        self.push(slice, &[any(json!({"type": "start"})), any(json!({"type": "start-step"}))], 1);
        self.push(slice, &asked("call-1", "bash", json!({"command": "rm -rf build"})), 1);
        self.end(slice, SliceOutcome::Paused);
        let answer = AnswerInput { id: approval_of("call-1"), answer: AnswerBody::Allow(Allow::default()) };
        let answers = Continue { answers: vec![answer], message: None, who: "somebody".into() };
        self.command(session, CommandBody::Continue(answers));
        let slice = self.slice();
        self.push(slice, &[output("call-1", json!({"stdout": ""})), any(json!({"type": "finish"}))], 1);
        self.end(slice, SliceOutcome::Finished);
    }

    /// A turn that is cut short.
    fn turn_cut_short(&mut self, session: &str) {
        let slice = self.send(session);
        let agent = self.host.slices[&slice].agent;
        self.push(slice, &talk()[..8], 1);
        let notice = Notice { agent, body: NoticeBody::Checkpoint("a place".into()) };
        self.host.play(Call::Input(Input::Notice(notice)));
        self.settle();
        self.command(session, CommandBody::Interrupt);
        self.end(slice, SliceOutcome::Interrupted);
    }

    /// The life of one session with everything that may happen in it.
    pub(crate) fn life(&mut self, session: &str) {
        self.create(session);
        for _ in 0..2 {
            self.whole_turn(session);
        }
        self.turn_in_batches(session);
        let update = Update { metadata: Some(r#"{"user":"else"}"#.into()), ..Update::default() };
        self.command(session, CommandBody::Update(update));
        self.turn_with_a_pause(session);
        self.turn_cut_short(session);
        self.tick(1);
        self.command(session, CommandBody::Suspend);
        self.whole_turn(session);
        self.command(session, CommandBody::Suspend);
        self.command(session, CommandBody::Close);
        self.command(session, CommandBody::Delete);
        self.tick(1);
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, ms: u64) {
        self.host.tick(ms);
        self.settle();
    }

    /// The kind of each call.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let mut effects = HashMap::new();
        let mut kinds = Vec::with_capacity(self.host.journal.len());
        for (entry, answer) in self.host.journal.iter().zip(&self.host.answers) {
            kinds.push(kind(&entry.call, &effects));
            let asked = answer.step().map(|step| step.effects.as_slice()).unwrap_or_default();
            effects.extend(asked.iter().map(|effect| (effect.id, effect_name(&effect.body))));
        }
        kinds
    }
}

/// The chunks of a turn: text, a tool, the end.
fn talk() -> Vec<Chunk> {
    let mut chunks = vec![any(json!({"type": "start"})), any(json!({"type": "start-step"}))];
    chunks.push(any(json!({"type": "reasoning-start", "id": "0"})));
    chunks.push(Chunk::ReasoningDelta(Delta { id: "0".into(), piece: piece(WORDS) }));
    chunks.push(any(json!({"type": "reasoning-end", "id": "0"})));
    chunks.push(any(json!({"type": "text-start", "id": "1"})));
    chunks.extend(vec![text_delta("1", WORDS); TEXTS]);
    chunks.push(any(json!({"type": "text-end", "id": "1"})));
    chunks.extend(tool_call("call-1", "bash", json!({"command": "cargo test --workspace"})));
    chunks.push(output("call-1", json!({"stdout": "test result: ok", "stderr": "", "exitCode": 0})));
    chunks.push(any(json!({"type": "finish-step"})));
    chunks.push(any(json!({"type": "finish", "finishReason": "stop"})));
    chunks
}

fn kind(call: &Call, effects: &HashMap<u64, &'static str>) -> String {
    let input = match call {
        Call::Push(push) => return push_kind(&push.chunks).to_owned(),
        Call::View(_) => return "view".to_owned(),
        Call::Input(input) => input,
    };
    let command = |body: &CommandBody| match body {
        CommandBody::Create(_) => "create",
        CommandBody::Send(_) => "send",
        CommandBody::Continue(_) => "continue",
        CommandBody::Update(_) => "update",
        CommandBody::Interrupt => "interrupt",
        CommandBody::Suspend => "suspend",
        CommandBody::Close => "close",
        CommandBody::Delete => "delete",
    };
    match input {
        Input::Start => "start".to_owned(),
        Input::Command(wanted) => command(&wanted.body).to_owned(),
        Input::Completed(completed) => {
            format!("{} done", effects.get(&completed.effect).copied().unwrap_or("something unknown"))
        }
        Input::Notice(_) => "notice".to_owned(),
        Input::Tick => "tick".to_owned(),
        Input::Shutdown => "shutdown".to_owned(),
    }
}

/// The kind of a push of one text chunk.
pub(crate) const TEXT: &str = "text chunk";
/// The kind of a push of text chunks together.
pub(crate) const TEXT_BATCH: &str = "text chunk, 16 at once";

fn push_kind(chunks: &[Chunk]) -> &'static str {
    match chunks {
        [Chunk::TextDelta(_)] => TEXT,
        [Chunk::ReasoningDelta(_)] => "reasoning chunk",
        [Chunk::ToolInputDelta(_)] => "tool-input chunk",
        [Chunk::Json(_)] => "JSON chunk",
        _ => TEXT_BATCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_holds_every_kind_of_command() {
        let mut journey = Journey::new(1);
        journey.life("a");
        let kinds = journey.kinds();
        for kind in [
            "start",
            "create",
            "send",
            "continue",
            "update",
            "interrupt",
            "suspend",
            "close",
            "delete",
            "notice",
            "tick",
            "SaveSession done",
            "AcquireSandbox done",
            "StartAgent done",
            "StartTurn done",
            "ContinueTurn done",
            "InterruptTurn done",
            "StopAgent done",
            "ReleaseSandbox done",
            "LoadSession done",
            "DeleteSession done",
            "Approve done",
            TEXT,
            TEXT_BATCH,
            "reasoning chunk",
            "tool-input chunk",
            "JSON chunk",
        ] {
            assert!(kinds.iter().any(|seen| seen == kind), "{kind}");
        }
        assert_eq!(journey.turns().len(), 3);
    }
}
