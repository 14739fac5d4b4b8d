//! Where a slice's chunks wait for the loop. They gather while the loop is at other work, so that the busier it is the
//! larger are the batches it takes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc};

use super::message::Message;
use crate::ports::{Chunk, Intake};

/// From this many chunks on an agent waits for the loop.
const FULL: usize = 1_024;

#[derive(Default)]
struct Waiting {
    chunks: VecDeque<Chunk>,
    /// Whether the loop has been told and has not looked yet.
    told: bool,
}

/// The chunks of one slice on their way to the loop.
pub(super) struct Inbox {
    /// The effect that the slice answers.
    pub(super) slice: u64,
    waiting: Mutex<Waiting>,
    room: Notify,
    closed: AtomicBool,
    queue: mpsc::UnboundedSender<Message>,
    this: Weak<Inbox>,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(super) fn new(slice: u64, queue: mpsc::UnboundedSender<Message>) -> Arc<Self> {
        let closed = AtomicBool::new(false);
        Arc::new_cyclic(|this| Self {
            slice,
            waiting: Mutex::default(),
            room: Notify::new(),
            closed,
            queue,
            this: Weak::clone(this),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Chunks are put in and taken out whole, so a poisoned lock guards a whole queue.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts chunks in, once there is room. Says whether the loop has to be told.
    async fn put(&self, chunks: Vec<Chunk>) -> bool {
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
    pub(super) fn take_out(&self, most: usize) -> (Vec<Chunk>, bool) {
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
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.lock().chunks.clear();
        self.room.notify_waiters();
    }
}

#[async_trait]
impl Intake for Inbox {
    async fn take(&self, chunks: Vec<Chunk>) {
        if !chunks.is_empty()
            && self.put(chunks).await
            && let Some(this) = self.this.upgrade()
        {
            // A loop that has ended takes no chunks.
            let _ = self.queue.send(Message::Chunks(this));
        }
    }
}
