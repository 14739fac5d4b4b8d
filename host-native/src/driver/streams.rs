//! The streams of turns: one replay buffer per turn that any number of readers reads at their own pace.
//!
//! A turn has one stream per stretch between pauses: its *parts*. Numbers go on from part to part. The buffer is written
//! by the driver alone; readers wait for it to change and are told when what they want next has left it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::manager::SessionError;
use crate::ports::SessionSummary;

/// The most chunks that a reader takes out at once.
const READ: usize = 64;

/// How a part of a turn's stream ended: with the session as it stood then, or with why it did not come.
pub(crate) type PartEnd = Result<Arc<SessionSummary>, SessionError>;

/// What a reader found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Chunks were taken out.
    Chunks,
    /// The part is at its end.
    End,
    /// What the reader wants next has left the buffer, or never was in it.
    Behind,
}

/// A part of the stream that is over.
#[derive(Debug)]
struct Ended {
    next_seq: u64,
    end: PartEnd,
}

#[derive(Debug, Default)]
struct Buffer {
    /// The number of the first chunk that is held.
    first: u64,
    chunks: VecDeque<Arc<str>>,
    /// Where each part begins, the one that is open included.
    starts: Vec<u64>,
    /// How the parts ended that are over.
    ended: Vec<Ended>,
    /// Whether a part is open, or will be as far as is known.
    expected: bool,
}

impl Buffer {
    fn next(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    fn start_of(&self, part: usize) -> Option<u64> {
        self.starts.get(part).copied()
    }
}

/// The stream of one turn.
#[derive(Debug)]
pub(crate) struct TurnChannel {
    session: Arc<str>,
    turn: Arc<str>,
    buffer: Mutex<Buffer>,
    changed: Notify,
}

impl TurnChannel {
    pub(crate) fn new(session: &str, turn: &str) -> Self {
        Self { session: session.into(), turn: turn.into(), buffer: Mutex::default(), changed: Notify::new() }
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    pub(crate) fn turn(&self) -> &str {
        &self.turn
    }

    pub(crate) fn turn_arc(&self) -> &Arc<str> {
        &self.turn
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        // Each change is whole before the lock is let go, so a poisoned lock guards a whole buffer.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part that is open or will be next.
    pub(crate) fn part(&self) -> usize {
        self.lock().ended.len()
    }

    /// Says that a part will be opened.
    pub(crate) fn expect(&self) {
        self.lock().expected = true;
    }

    /// Whether a part is open or will be.
    pub(crate) fn is_expected(&self) -> bool {
        self.lock().expected
    }

    /// Whether a part is open.
    pub(crate) fn is_open(&self) -> bool {
        let buffer = self.lock();
        buffer.starts.len() > buffer.ended.len()
    }

    /// The number that the next chunk gets.
    pub(crate) fn next_seq(&self) -> u64 {
        self.lock().next()
    }

    /// Opens the next part, whose first chunk has this number.
    pub(crate) fn open(&self, next_seq: u64) {
        let mut buffer = self.lock();
        if buffer.next() != next_seq {
            buffer.chunks.clear();
            buffer.first = next_seq;
        }
        // A part that was never opened ended where the next one begins.
        while buffer.starts.len() < buffer.ended.len() {
            buffer.starts.push(next_seq);
        }
        if buffer.starts.len() == buffer.ended.len() {
            buffer.starts.push(next_seq);
        }
        buffer.expected = true;
        drop(buffer);
        self.changed.notify_waiters();
    }

    /// Adds chunks, the first of them with this number, and lets go of those below `replay_from`.
    pub(crate) fn add(&self, first_seq: u64, chunks: impl IntoIterator<Item = Arc<str>>, replay_from: u64) {
        let mut buffer = self.lock();
        if buffer.next() != first_seq {
            buffer.chunks.clear();
            buffer.first = first_seq;
        }
        buffer.chunks.extend(chunks);
        while buffer.first < replay_from && buffer.chunks.pop_front().is_some() {
            buffer.first += 1;
        }
        drop(buffer);
        self.changed.notify_waiters();
    }

    /// Ends the part that is open or waited for.
    pub(crate) fn end(&self, end: PartEnd) {
        let mut buffer = self.lock();
        let next_seq = buffer.next();
        buffer.ended.push(Ended { next_seq, end });
        buffer.expected = false;
        drop(buffer);
        self.changed.notify_waiters();
    }

    /// Waits for chunks of a part from `next` on, or for its end. Without a place, reading starts with the part.
    pub(crate) async fn read(&self, part: usize, next: &mut Option<u64>, into: &mut VecDeque<Arc<str>>) -> Read {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(read) = self.try_read(part, next, into) {
                return read;
            }
            changed.await;
        }
    }

    fn try_read(&self, part: usize, next: &mut Option<u64>, into: &mut VecDeque<Arc<str>>) -> Option<Read> {
        let buffer = self.lock();
        let ended = buffer.ended.get(part);
        let Some(from) = next.or_else(|| buffer.start_of(part)) else {
            return ended.map(|_| Read::End);
        };
        *next = Some(from);
        let end = ended.map_or_else(|| buffer.next(), |ended| ended.next_seq);
        if from >= end {
            // A place that lies ahead of the stream can only come from outside.
            return if from > end { Some(Read::Behind) } else { ended.map(|_| Read::End) };
        }
        if from < buffer.first {
            return Some(Read::Behind);
        }
        let place = usize::try_from(from - buffer.first).unwrap_or(usize::MAX);
        let count = usize::try_from(end - from).unwrap_or(usize::MAX).min(READ);
        into.extend(buffer.chunks.range(place..place + count).cloned());
        *next = Some(from + count as u64);
        Some(Read::Chunks)
    }

    /// Waits for the end of a part.
    pub(crate) async fn done(&self, part: usize) -> PartEnd {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(ended) = self.lock().ended.get(part) {
                return ended.end.clone();
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(numbers: std::ops::Range<u64>) -> Vec<Arc<str>> {
        numbers.map(|n| Arc::from(n.to_string())).collect()
    }

    fn over() -> PartEnd {
        Err(SessionError::unavailable("over"))
    }

    async fn read_all(channel: &TurnChannel, part: usize, mut next: Option<u64>) -> (Vec<String>, Read) {
        let mut seen = VecDeque::new();
        loop {
            match channel.read(part, &mut next, &mut seen).await {
                Read::Chunks => {}
                end => return (seen.iter().map(ToString::to_string).collect(), end),
            }
        }
    }

    #[tokio::test]
    async fn each_part_is_read_to_its_own_end() {
        let channel = TurnChannel::new("s", "t");
        channel.open(0);
        channel.add(0, chunks(0..3), 0);
        channel.end(over());
        channel.open(3);
        channel.add(3, chunks(3..5), 0);
        channel.end(over());
        assert_eq!(read_all(&channel, 0, None).await, (vec!["0".into(), "1".into(), "2".into()], Read::End));
        assert_eq!(read_all(&channel, 1, None).await, (vec!["3".into(), "4".into()], Read::End));
        assert_eq!(read_all(&channel, 1, Some(2)).await.0.len(), 3, "a cursor of the part before");
        assert!(channel.done(1).await.is_err());
    }

    #[tokio::test]
    async fn what_has_left_the_buffer_or_never_was_there_is_behind() {
        let channel = TurnChannel::new("s", "t");
        channel.open(10);
        channel.add(10, chunks(10..20), 15);
        assert_eq!(read_all(&channel, 0, None).await, (Vec::new(), Read::Behind));
        assert_eq!(read_all(&channel, 0, Some(99)).await, (Vec::new(), Read::Behind));
        channel.end(over());
        assert_eq!(read_all(&channel, 0, Some(15)).await.0.len(), 5);
    }

    #[tokio::test]
    async fn a_part_that_never_came_ends_and_the_next_one_begins_where_it_would_have() {
        let channel = TurnChannel::new("s", "t");
        channel.expect();
        channel.end(over());
        assert_eq!(read_all(&channel, 0, None).await, (Vec::new(), Read::End));
        assert!(!channel.is_expected() && !channel.is_open());
        channel.open(4);
        assert!(channel.is_expected() && channel.is_open());
        channel.add(4, chunks(4..5), 0);
        channel.end(over());
        assert_eq!(read_all(&channel, 1, None).await, (vec!["4".into()], Read::End));
    }

    #[tokio::test]
    async fn a_waiting_reader_is_woken() {
        let channel = Arc::new(TurnChannel::new("s", "t"));
        let reader = tokio::spawn({
            let channel = Arc::clone(&channel);
            async move { read_all(&channel, 0, None).await }
        });
        for n in 0..3 {
            tokio::task::yield_now().await;
            if n == 0 {
                channel.open(0);
            }
            channel.add(n, chunks(n..n + 1), 0);
        }
        channel.end(over());
        assert_eq!(reader.await.unwrap().0, ["0", "1", "2"]);
    }
}
