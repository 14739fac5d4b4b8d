//! What the clients know: what they sent, what was acknowledged, and what each session waits for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A message as its sender knows it.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) key: String,
    /// The round in which it was sent.
    pub(crate) round: u64,
    /// When it was sent, in ticks of the books' clock.
    pub(crate) sent: u64,
    pub(crate) fate: Fate,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing was heard: it may have been taken or not.
    Unknown,
    /// Acknowledged at this tick, as this turn.
    Taken { at: u64, turn: String },
    /// Refused.
    Refused,
}

/// An answer as its sender knows it.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) id: String,
    pub(crate) yes: bool,
    pub(crate) acknowledged: bool,
}

/// What is known of a session.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) messages: Vec<Message>,
    pub(crate) answers: Vec<Given>,
    /// What its pause waits for, where that is certain.
    pub(crate) waits: Vec<String>,
    /// Raised by everything that may end a pause without an answer.
    pub(crate) given_up: u64,
    /// How often a tool was allowed, at most.
    pub(crate) allowed: usize,
    /// Whether a turn has come to its end.
    pub(crate) has_finished: bool,
}

/// A session's page.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) id: String,
    log: Mutex<Log>,
}

impl Book {
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whatever it waits for may be given up from here on, or was until here.
    pub(crate) fn give_up(&self) {
        let mut log = self.log();
        log.given_up += 1;
        log.waits.clear();
    }
}

/// All pages, and what the clients of a round share.
#[derive(Debug, Default)]
pub(crate) struct Books {
    pages: Mutex<Vec<Arc<Book>>>,
    clock: AtomicU64,
    names: AtomicU64,
    pub(crate) round: AtomicU64,
    /// Set when the clients are to stop.
    pub(crate) stop: AtomicBool,
    problems: Mutex<Vec<String>>,
}

impl Books {
    pub(crate) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A name that no other thing has.
    pub(crate) fn name(&self, kind: &str) -> String {
        format!("{kind}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn add(&self, id: String) {
        let book = Arc::new(Book { id, log: Mutex::default() });
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).push(book);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Book>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the oldest sessions out, so that so many stay.
    pub(crate) fn retire(&self, stay: usize) -> Vec<Arc<Book>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let retired = pages.len().saturating_sub(stay);
        pages.drain(..retired).collect()
    }

    pub(crate) fn problem(&self, words: String) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
