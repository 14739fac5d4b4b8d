//! The stream of a turn: chunks are numbered, folded, mended where they would break the message, and added to.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cx::Cx;
use crate::event::{ChunksInjected, Event};
use crate::input::Chunk as ChunkInput;
use crate::json::Json;
use crate::limits::Limits;
use crate::session::Session;
use crate::session::turn::{Turn, TurnState, bounds};
use crate::step::{Change, Edit, Pushed};
use crate::transcript::{Chunk, Reach, mend};

/// What a chunk of an agent is to the stream.
enum Role {
    Forward,
    /// The engine shows its own `start`; an agent's can carry metadata.
    Start(Option<Json>),
    /// Shown at the end of the turn only.
    Finish,
    /// The result of a call that an answer gave: the engine has shown it.
    Shown,
}

fn role_of(turn: &Turn, chunk: &Chunk) -> Role {
    let Chunk::Json(json) = chunk else { return Role::Forward };
    let metadata = || json.field("messageMetadata");
    match json.field("type").and_then(|kind| kind.as_string()).as_deref() {
        Some("start") => Role::Start(metadata()),
        Some("finish") => Role::Finish,
        Some("tool-output-available" | "tool-output-error") if !turn.results.is_empty() => {
            let call = json.field("toolCallId").and_then(|call| call.as_string());
            if call.is_some_and(|call| turn.results.contains(&call)) { Role::Shown } else { Role::Forward }
        }
        _ => Role::Forward,
    }
}

/// What became of one batch, while it is taken in.
struct Batch<'a> {
    pushed: &'a mut Pushed,
    at: u32,
}

impl Batch<'_> {
    fn drop(&mut self) {
        self.pushed.edits.push(Edit { at: self.at, change: Change::Drop });
    }

    fn inject(&mut self, chunk: &Chunk) {
        self.pushed.edits.push(Edit { at: self.at, change: Change::Inject(chunk.to_json()) });
    }
}

impl Session {
    /// Takes a batch of the agent's chunks in.
    pub(crate) fn push(&mut self, cx: &mut Cx, turn_id: &str, cursor: u64, chunks: Vec<ChunkInput>) -> Pushed {
        let mut pushed = Pushed::default();
        let running =
            |turn: &&mut alloc::boxed::Box<Turn>| turn.id == turn_id && matches!(turn.state, TurnState::Running(_));
        let Some(turn) = self.turn.as_mut().filter(running) else {
            pushed.edits = drop_all(chunks.len());
            return pushed;
        };
        pushed.first_seq = turn.next_seq;
        let seen = turn.cursor.saturating_sub(cursor);
        for (at, chunk) in chunks.into_iter().enumerate() {
            let mut batch = Batch { pushed: &mut pushed, at: u32::try_from(at).unwrap_or(u32::MAX) };
            if (at as u64) < seen {
                batch.drop();
                continue;
            }
            let Some(turn) = self.turn.as_mut() else { break };
            turn.cursor += 1;
            let boundary = take_chunk(turn, &mut batch, chunk, &cx.config.limits);
            self.writer.answer_changed = true;
            self.save_partly(cx, boundary);
        }
        pushed.replay_from = self.replay_from(&cx.config.limits);
        pushed
    }

    /// During a turn the message is saved at tool boundaries and at most once in a while otherwise.
    fn save_partly(&mut self, cx: &mut Cx, boundary: bool) {
        if self.writer.in_flight.is_some() {
            return;
        }
        let now_ms = cx.now.monotonic_ms;
        let Some(turn) = &mut self.turn else { return };
        if boundary || now_ms.saturating_sub(turn.saved_at_ms) >= cx.config.limits.partial_save_ms {
            turn.saved_at_ms = now_ms;
            self.write(cx, []);
        }
    }

    pub(crate) fn replay_from(&self, limits: &Limits) -> u64 {
        self.turn.as_ref().map_or(0, |turn| turn.next_seq.saturating_sub(u64::from(limits.replay_chunks)))
    }

    /// Shows the first chunk of the turn, with the stored id of its message.
    pub(crate) fn inject_start(&mut self, cx: &mut Cx) {
        let Some(turn) = &self.turn else { return };
        let start = crate::approval::chunks::start(&turn.assistant);
        self.inject(cx, Vec::from([start]));
    }

    /// Folds chunks of the engine's own and adds them to the stream.
    pub(crate) fn inject(&mut self, cx: &mut Cx, chunks: Vec<String>) {
        let Some(turn) = &mut self.turn else { return };
        for text in &chunks {
            // A chunk of the engine's own that does not fold (a call that a broken agent never showed) is still shown.
            if let Ok(chunk) = Chunk::from_json(text)
                && turn.message.apply(&chunk).is_err()
            {
                turn.warnings = turn.warnings.saturating_add(1);
            }
        }
        self.writer.answer_changed = true;
        self.show_folded(cx, chunks);
    }

    /// Adds chunks that are folded already to the stream.
    pub(crate) fn show_folded(&mut self, cx: &mut Cx, chunks: Vec<String>) {
        if chunks.is_empty() {
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        self.writer.answer_changed = true;
        let first_seq = turn.next_seq;
        turn.next_seq += chunks.len() as u64;
        let replay_from = turn.next_seq.saturating_sub(u64::from(cx.config.limits.replay_chunks));
        let (session, turn) = (self.id.clone(), turn.id.clone());
        cx.event(Event::ChunksInjected(ChunksInjected { session, turn, first_seq, chunks, replay_from }));
    }
}

/// Every chunk of a batch is left out.
pub(crate) fn drop_all(count: usize) -> Vec<Edit> {
    (0..count).map(|at| Edit { at: u32::try_from(at).unwrap_or(u32::MAX), change: Change::Drop }).collect()
}

fn read_chunk(chunk: ChunkInput, limits: &Limits) -> Option<Chunk> {
    match chunk {
        ChunkInput::TextDelta(delta) => Some(Chunk::TextDelta { id: delta.id, piece: delta.piece.into() }),
        ChunkInput::ReasoningDelta(delta) => Some(Chunk::ReasoningDelta { id: delta.id, piece: delta.piece.into() }),
        ChunkInput::ToolInputDelta(delta) => {
            Some(Chunk::ToolInputDelta { tool_call_id: delta.id, piece: delta.piece.into() })
        }
        ChunkInput::Json(text) => Chunk::from_json_within(&text, &bounds(limits)).ok(),
    }
}

/// Takes one chunk in; says whether it is a boundary of a tool call.
fn take_chunk(turn: &mut Turn, batch: &mut Batch<'_>, chunk: ChunkInput, limits: &Limits) -> bool {
    let Some(chunk) = read_chunk(chunk, limits) else {
        turn.warnings = turn.warnings.saturating_add(1);
        batch.drop();
        return false;
    };
    match role_of(turn, &chunk) {
        Role::Forward => fold(turn, batch, &chunk),
        Role::Start(metadata) => {
            batch.drop();
            if let Some(metadata) = metadata {
                let kind = Json::string("message-metadata");
                let fields = [("type", &kind), ("messageMetadata", &metadata)];
                if let Ok(chunk) = Chunk::try_from(Json::object(fields)) {
                    add(turn, batch, &chunk);
                }
            }
            false
        }
        Role::Shown => {
            batch.drop();
            false
        }
        Role::Finish => {
            batch.drop();
            turn.finish = Some(chunk.to_json());
            false
        }
    }
}

fn fold(turn: &mut Turn, batch: &mut Batch<'_>, chunk: &Chunk) -> bool {
    let mended = mend(&turn.message, chunk);
    let mut boundary = false;
    for before in &mended.before {
        boundary |= add(turn, batch, before);
    }
    if mended.drop {
        batch.drop();
        return boundary;
    }
    let Ok(applied) = turn.message.apply(chunk) else {
        turn.warnings = turn.warnings.saturating_add(1);
        batch.drop();
        return boundary;
    };
    turn.next_seq += 1;
    boundary || (applied.tool_boundary && applied.reach == Reach::Message)
}

/// Folds a chunk that the agent did not send and puts it before the one at hand.
fn add(turn: &mut Turn, batch: &mut Batch<'_>, chunk: &Chunk) -> bool {
    let Ok(applied) = turn.message.apply(chunk) else { return false };
    turn.next_seq += 1;
    batch.inject(chunk);
    applied.tool_boundary
}

/// The chunks of the turn's message from its start, for a reader without a usable cursor.
pub(crate) fn rebuilt(turn: &Turn) -> Vec<String> {
    crate::transcript::unfold(&turn.message).iter().map(Chunk::to_json).collect()
}
