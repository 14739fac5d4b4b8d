//! The invariants as the world sees them from outside: what was given to agents, what is in the store, what was told.
//! Their numbers are those of the architecture page; those not here (1, 4, 7, 8, 9, 10) the world itself sees.

use std::collections::{BTreeMap, BTreeSet};

use tackroom_core::effect::{ContinueTurn, StartTurn};
use tackroom_core::event::{ChunksInjected, StreamEnded, TurnStarted};
use tackroom_core::step::{Change, Pushed};
use tackroom_core::transcript::{Chunk, Message};

use crate::clients::Clients;
use crate::store::Store;

/// The mark in every resume state of a world.
pub const SECRET: &str = "TOP-SECRET";

/// A number and what was seen.
pub type Broken = (u8, String);

/// Somebody who follows a turn from its first chunk.
#[derive(Debug)]
struct Follower {
    turn: String,
    message: Message,
    next_seq: u64,
}

/// What has to be remembered to check.
#[derive(Debug, Default)]
pub struct Memory {
    delivered: BTreeSet<(String, String)>,
    followers: BTreeMap<String, Follower>,
    /// Sessions that the current host was told to be fenced from, with the effect count at that time.
    pub fenced: BTreeSet<String>,
}

fn fail<T>(number: u8, words: String) -> Result<T, Broken> {
    Err((number, words))
}

impl Memory {
    /// A new host: what the old one's followers saw ends there.
    pub fn host_died(&mut self) {
        self.followers.clear();
        self.fenced.clear();
    }

    /// The session left the host: its readers start anew.
    pub fn released(&mut self, session: &str) {
        self.followers.remove(session);
    }

    /// 2: nothing is given to an agent before it is durable.
    ///
    /// # Errors
    /// What was seen, where it does not hold.
    pub fn prompt(&self, session: &str, start: &StartTurn, store: &Store) -> Result<(), Broken> {
        let Some(row) = store.rows.get(session) else {
            return fail(2, format!("{session} is prompted but not kept"));
        };
        for word in start.text.split_whitespace() {
            if !row.messages.values().any(|message| message.id == word) {
                return fail(2, format!("{session} is prompted with {word}, which is not durable"));
            }
        }
        if !row.session.engine_state.contains("\"state\":\"prompting\"") {
            return fail(2, format!("{session} is prompted before that is durable"));
        }
        Ok(())
    }

    /// 6: an answer is delivered at most once, and only when that it is being delivered is durable.
    ///
    /// # Errors
    /// What was seen, where it does not hold.
    pub fn deliver(&mut self, session: &str, given: &ContinueTurn, store: &Store) -> Result<(), Broken> {
        let noted = store.rows.get(session).is_some_and(|row| row.session.engine_state.contains("\"delivering\""));
        if !noted {
            return fail(6, format!("{session} gets answers before that is durable"));
        }
        for answer in &given.answers {
            if !self.delivered.insert((session.into(), answer.approval_id.clone())) {
                return fail(6, format!("{session} gets the answer to {} twice", answer.approval_id));
            }
        }
        Ok(())
    }

    /// A stream opens.
    pub fn turn_started(&mut self, started: &TurnStarted) {
        if started.next_seq == 0 {
            let message = Message::new(started.assistant_message.clone());
            let follower = Follower { turn: started.turn.clone(), message, next_seq: 0 };
            self.followers.insert(started.session.clone(), follower);
        }
    }

    /// 11: what a follower folds is what is kept; numbers leave no gap.
    ///
    /// # Errors
    /// What was seen, where it does not hold.
    pub fn injected(&mut self, injected: &ChunksInjected) -> Result<(), Broken> {
        for (at, chunk) in injected.chunks.iter().enumerate() {
            self.see(&injected.session, &injected.turn, injected.first_seq + at as u64, chunk)?;
        }
        Ok(())
    }

    fn see(&mut self, session: &str, turn: &str, seq: u64, chunk: &str) -> Result<(), Broken> {
        let Some(follower) = self.followers.get_mut(session).filter(|follower| follower.turn == turn) else {
            return Ok(());
        };
        if follower.next_seq != seq {
            return fail(11, format!("{session} sends number {seq} where {} is next", follower.next_seq));
        }
        follower.next_seq += 1;
        let read = Chunk::from_json(chunk).map_err(|error| (11, error.to_string()))?;
        if let Err(error) = follower.message.apply(&read) {
            return fail(11, format!("a chunk forwarded in {session} does not fold: {error} in {chunk}"));
        }
        Ok(())
    }

    /// 11: a batch as a host forwards it.
    ///
    /// # Errors
    /// What was seen, where it does not hold.
    pub fn pushed(&mut self, session: &str, turn: &str, chunks: &[String], pushed: &Pushed) -> Result<(), Broken> {
        let mut seq = pushed.first_seq;
        let mut edits = pushed.edits.iter().peekable();
        for (at, chunk) in chunks.iter().enumerate() {
            let mut dropped = false;
            while let Some(edit) = edits.next_if(|edit| edit.at as usize == at) {
                match &edit.change {
                    Change::Drop => dropped = true,
                    Change::Inject(chunk) => {
                        self.see(session, turn, seq, chunk)?;
                        seq += 1;
                    }
                }
            }
            if !dropped {
                self.see(session, turn, seq, chunk)?;
                seq += 1;
            }
        }
        Ok(())
    }

    /// 11: the stream has ended and the message is durable.
    ///
    /// # Errors
    /// What was seen, where it does not hold.
    pub fn stream_ended(&mut self, ended: &StreamEnded, store: &Store) -> Result<(), Broken> {
        let Some(follower) = self.followers.get(&ended.session).filter(|follower| follower.turn == ended.turn) else {
            return Ok(());
        };
        let Some(row) = store.rows.get(&ended.session) else { return Ok(()) };
        let kept = row.messages.values().find(|message| message.id == follower.message.id());
        let seen = follower.message.to_json();
        match kept {
            // A message that was loaded again has its fields in another order.
            Some(kept) if value(&kept.json) != value(&seen) => {
                fail(11, format!("{} kept\n{}\nbut its reader saw\n{seen}", ended.session, kept.json))
            }
            None if follower.message.part_count() > 0 => {
                fail(11, format!("{} kept nothing of what its reader saw", ended.session))
            }
            _ => Ok(()),
        }
    }
}

fn value(json: &str) -> Option<serde_json::Value> {
    serde_json::from_str(json).ok()
}

/// 3: everything acknowledged is in the store, in order, once.
///
/// # Errors
/// What was seen, where it does not hold.
pub fn acknowledged(clients: &Clients, store: &Store) -> Result<(), Broken> {
    for (session, messages) in &clients.messages {
        let Some(row) = store.rows.get(session) else {
            return fail(3, format!("{session} was acknowledged and is not kept"));
        };
        let kept: Vec<&str> = row
            .messages
            .values()
            .filter(|message| message.index < row.session.summary.message_count && message.id.starts_with('m'))
            .map(|message| message.id.as_str())
            .collect();
        let mut rest = kept.iter();
        for message in messages {
            if !rest.any(|kept| kept == message) {
                return fail(3, format!("{session} acknowledged {messages:?} and keeps {kept:?}"));
            }
            if kept.iter().filter(|kept| *kept == message).count() != 1 {
                return fail(3, format!("{session} keeps {message} more than once"));
            }
        }
    }
    for (session, answers) in &clients.answers {
        let Some(row) = store.rows.get(session) else { continue };
        for answer in answers {
            let count =
                row.audit.iter().filter(|entry| entry.approval_id == *answer && entry.verdict != "outcome-unknown");
            if count.count() != 1 {
                return fail(3, format!("{session} acknowledged the answer to {answer}, which is not recorded once"));
            }
        }
    }
    Ok(())
}

/// 5: no secret in anything a user can read.
///
/// # Errors
/// What was seen, where it does not hold.
pub fn no_secret(what: &impl serde::Serialize) -> Result<(), Broken> {
    let text = serde_json::to_string(what).map_err(|error| (5, error.to_string()))?;
    if text.contains(SECRET) { fail(5, format!("a resume state shows in {text}")) } else { Ok(()) }
}
