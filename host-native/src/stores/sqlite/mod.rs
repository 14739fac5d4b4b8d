//! The embedded store: one SQLite file, so that sessions outlive the process without a database server.
//!
//! The file's schema is described in `docs/sqlite.md`. It is in write-ahead mode and every commit is flushed to the
//! disk before it is acknowledged. One thread writes and commits in groups; a few others read.

mod claims;
mod error;
mod readers;
mod reads;
mod row;
mod save;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use async_trait::async_trait;

use self::readers::Readers;
use self::writer::Writer;
use super::clock::StoreClock;
use super::filter::Filter;
use crate::ports::{
    AuditRecord, Claimed, DueSessions, ListPage, ListQuery, Save, SessionRecord, Store, StoreError, StoredSession,
};

/// How an [`SqliteStore`] is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The clock for leases and suspensions; the machine's wall clock by default.
    pub clock: StoreClock,
    /// Threads that read, 1 to 32; 4 by default. Each holds at most 2 MiB of the file in memory.
    pub readers: u32,
    /// Milliseconds that a write waits for another process that is writing; 5,000 by default.
    pub busy_timeout_ms: u64,
    /// The most bytes that the database may grow to; beyond, writes fail as on a full disk. No bound by default.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { clock: StoreClock::system(), readers: 4, busy_timeout_ms: 5_000, max_bytes: None }
    }
}

/// Keeps sessions in an SQLite file.
///
/// Dropping the store lets its threads finish what they were given; [`SqliteStore::close`] also waits for them.
pub struct SqliteStore {
    clock: StoreClock,
    handles: Handles,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Clone)]
struct Handles {
    writer: Writer,
    readers: Readers,
}

impl SqliteStore {
    /// Opens the file, making it (readable by its owner alone) or bringing its schema up to date first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] when the file cannot be made, read or written, is not a database of tackroom, or was
    /// written by a newer version; [`StoreError::Unavailable`] while another process holds it.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        tokio::task::spawn_blocking(move || Self::open_blocking(&path, options))
            .await
            .map_err(|error| StoreError::Unavailable(format!("Opening the database was cut short ({error}).")))?
    }

    fn open_blocking(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        if !(1..=32).contains(&options.readers) {
            return Err(StoreError::Invalid(format!("1 to 32 threads can read; {} cannot.", options.readers)));
        }
        let writing = schema::open_writer(path, &options)?;
        let reading =
            (0..options.readers).map(|_| schema::open_reader(path, &options)).collect::<Result<Vec<_>, _>>()?;
        let (writer, thread) = Writer::start(writing)?;
        let (readers, mut threads) = Readers::start(reading)?;
        threads.push(thread);
        Ok(Self { clock: options.clock, handles: Handles { writer, readers }, threads: Mutex::new(threads) })
    }

    /// Finishes the writes and reads under way and closes the file, its log merged into it.
    pub async fn close(self) {
        let Self { handles, threads, .. } = self;
        drop(handles);
        let threads = threads.into_inner().unwrap_or_else(PoisonError::into_inner);
        let join = move || {
            for thread in threads {
                // A thread that panicked has already failed its callers.
                let _ = thread.join();
            }
        };
        // Cut short only when the runtime ends, and then nobody is left to wait.
        let _ = tokio::task::spawn_blocking(join).await;
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn save(&self, save: Save) -> Result<(), StoreError> {
        let clock = self.clock.clone();
        self.handles.writer.write(move |connection| save::save(connection, &save, clock.now_ms())).await
    }

    async fn claim_live(
        &self,
        owner: &str,
        lease_ms: u64,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Claimed, StoreError> {
        let (clock, owner, after) = (self.clock.clone(), owner.to_owned(), after.map(str::to_owned));
        let claim = move |connection: &_| {
            claims::claim_live(connection, &owner, lease_ms, after.as_deref(), limit, clock.now_ms())
        };
        self.handles.writer.write(claim).await
    }

    async fn claim(&self, session: &str, owner: &str, lease_ms: u64) -> Result<Option<StoredSession>, StoreError> {
        let (clock, session, owner) = (self.clock.clone(), session.to_owned(), owner.to_owned());
        let claim = move |connection: &_| claims::claim(connection, &session, &owner, lease_ms, clock.now_ms());
        self.handles.writer.write(claim).await
    }

    async fn renew(&self, owner: &str, lease_ms: u64, sessions: &[(String, u64)]) -> Result<Vec<String>, StoreError> {
        let (clock, owner, sessions) = (self.clock.clone(), owner.to_owned(), sessions.to_vec());
        let renew = move |connection: &_| claims::renew(connection, &owner, lease_ms, &sessions, clock.now_ms());
        self.handles.writer.write(renew).await
    }

    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, StoreError> {
        let session = session.to_owned();
        self.handles.readers.read(move |connection| reads::load(connection, &session)).await
    }

    async fn audit(&self, session: &str, after_seq: Option<u64>, limit: u32) -> Result<Vec<AuditRecord>, StoreError> {
        let session = session.to_owned();
        self.handles.readers.read(move |connection| row::audit(connection, &session, after_seq, limit)).await
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        let filter = Filter::parse(query)?;
        self.handles.readers.read(move |connection| reads::list(connection, &filter)).await
    }

    async fn list_due(&self, for_ms: u64, limit: u32) -> Result<DueSessions, StoreError> {
        let clock = self.clock.clone();
        self.handles.readers.read(move |connection| reads::list_due(connection, for_ms, limit, clock.now_ms())).await
    }

    async fn delete(&self, session: &str, generation: u64) -> Result<(), StoreError> {
        let session = session.to_owned();
        self.handles.writer.write(move |connection| save::delete(connection, &session, generation)).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.handles.readers.read(reads::probe).await?;
        let clock = self.clock.clone();
        self.handles.writer.write(move |connection| save::touch(connection, clock.now_ms())).await
    }
}
