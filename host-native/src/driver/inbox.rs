//! Where a slice's chunks wait for the loop. They gather while the loop is at other work, so that the busier it is the
//! larger are the batches it takes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ports::Chunk;

/// From this many chunks on an agent waits for the loop.
const FULL: usize = 1_024;

#[derive(Default)]
struct Waiting {
    chunks: VecDeque<Chunk>,
    /// Whether the loop has been told and has not looked yet.
    told: bool,
}

/// The chunks of one slice on their way to the loop.
pub(crate) struct Inbox {
    /// The effect that the slice answers.
    pub(crate) slice: u64,
    waiting: Mutex<Waiting>,
    room: Notify,
    closed: AtomicBool,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new(slice: u64) -> Self {
        Self { slice, waiting: Mutex::default(), room: Notify::new(), closed: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Chunks are put in and taken out whole, so a poisoned lock guards a whole queue.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts chunks in, once there is room. Says whether the loop has to be told.
    pub(crate) async fn put(&self, chunks: Vec<Chunk>) -> bool {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.closed.load(Ordering::Acquire) {
                return false;
            }
            {
                let mut waiting = self.lock();
                if waiting.chunks.len() < FULL {
                    waiting.chunks.extend(chunks);
                    return !std::mem::replace(&mut waiting.told, true);
                }
            }
            room.await;
        }
    }

    /// Takes up to `most` chunks out; says whether more wait.
    pub(crate) fn take(&self, most: usize) -> (Vec<Chunk>, bool) {
        let mut waiting = self.lock();
        let count = waiting.chunks.len().min(most);
        let chunks = waiting.chunks.drain(..count).collect();
        let more = !waiting.chunks.is_empty();
        waiting.told = more;
        let room = waiting.chunks.len() < FULL;
        drop(waiting);
        if room {
            self.room.notify_waiters();
        }
        (chunks, more)
    }

    /// Takes nothing any more: what is put in from now on is dropped.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.lock().chunks.clear();
        self.room.notify_waiters();
    }
}
