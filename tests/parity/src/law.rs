//! The law of batches: any split of a list of chunks into batches at one moment, with no other input between, comes to
//! the same numbers, messages and saves.

use tackroom_core::{Config, Now, effect::Effect, event::Event, step::Change};

use crate::{
    face::CrateFace,
    journal::{Answer, Call, Entry, Push, View},
};

/// What a reader gets at one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forwarded {
    /// The chunk at this place of the whole list.
    Own(usize),
    /// A chunk that the engine put in.
    Injected(String),
}

/// Everything that a list of chunks came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// Each number with what readers get at it.
    pub numbers: Vec<(u64, Forwarded)>,
    /// The lower end of the replay buffer.
    pub replay_from: u64,
    /// Effects, saves with their messages among them.
    pub effects: Vec<Effect>,
    /// Events.
    pub events: Vec<Event>,
    /// The session, its message and what a new reader gets.
    pub view: View,
}

/// Plays the journal, then the chunks of `push` cut at these places, in ascending order.
///
/// # Panics
/// The cuts are not in order, or beyond the end.
#[must_use]
pub fn came_of(config: &Config, journal: &[Entry], now: Now, push: &Push, cuts: &[usize]) -> Came {
    let mut face = CrateFace::new(config.clone());
    for entry in journal {
        face.answer(entry);
    }
    let view = face.view(&push.session);
    let mut came = Came { numbers: vec![], replay_from: 0, effects: vec![], events: vec![], view };
    let ends = cuts.iter().copied().chain([push.chunks.len()]);
    let mut begin = 0;
    for end in ends {
        let batch =
            Push { cursor: push.cursor + begin as u64, chunks: push.chunks[begin..end].to_vec(), ..push.clone() };
        let answer = face.answer(&Entry { now, call: Call::Push(batch) });
        came.take(begin, end - begin, answer);
        begin = end;
    }
    came.view = face.view(&push.session);
    came
}

impl Came {
    fn take(&mut self, begin: usize, length: usize, answer: Answer) {
        let Answer::Pushed(pushed) = answer else { unreachable!("a push is answered by what became of it") };
        let mut seq = pushed.first_seq;
        for at in 0..=length {
            let mut dropped = at == length;
            for edit in pushed.edits.iter().filter(|edit| edit.at as usize == at) {
                match &edit.change {
                    Change::Drop => dropped = true,
                    Change::Inject(chunk) => {
                        self.numbers.push((seq, Forwarded::Injected(chunk.clone())));
                        seq += 1;
                    }
                }
            }
            if !dropped {
                self.numbers.push((seq, Forwarded::Own(begin + at)));
                seq += 1;
            }
        }
        self.replay_from = pushed.replay_from;
        let step = pushed.step.unwrap_or_default();
        self.effects.extend(step.effects);
        self.events.extend(step.events);
    }
}
