//! What is SQLite's alone: files, faults, indices, and what a killed process leaves.

mod crash;
mod faults;
mod files;
mod groups;
mod plans;

use std::path::Path;

use super::{SqliteOptions, SqliteStore};
use crate::ports::{Save, StoreError};
use crate::testing::sample_save;

async fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, SqliteOptions { readers: 2, busy_timeout_ms: 200, ..SqliteOptions::default() }).await
}

fn message(index: u32, text: String) -> crate::ports::MessageRecord {
    crate::ports::MessageRecord { index, id: format!("m{index}"), json: text }
}

/// A new session with one message of `bytes` bytes.
fn large_save(id: &str, bytes: usize) -> Save {
    let mut save = sample_save(id, 1);
    save.summary.message_count = 1;
    save.messages = vec![message(0, format!("\"{}\"", "x".repeat(bytes)))];
    save
}

/// What SQLite itself says of the file.
fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}
