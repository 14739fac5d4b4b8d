//! That writes which wait together are flushed together.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::{SqliteOptions, SqliteStore, integrity, large_save};
use crate::ports::{Save, Store as _, StoreError};
use crate::testing::sample_save;

const SAVES: usize = 100;

/// Commits in the write-ahead log: its frames that name the database's size after them.
fn commits(path: &Path) -> usize {
    let log = std::fs::read(path.with_extension("db-wal")).unwrap();
    let (header, frames) = log.split_at(32);
    let page = u32::from_be_bytes(header[8..12].try_into().unwrap()) as usize;
    // Frames that an earlier use of the log has left carry other salts.
    let current = frames.chunks_exact(24 + page).take_while(|frame| frame[8..16] == header[16..24]);
    current.filter(|frame| frame[4..8] != [0; 4]).count()
}

#[tokio::test]
async fn a_hundred_waiting_saves_share_a_few_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let options = SqliteOptions { busy_timeout_ms: 60_000, ..SqliteOptions::default() };
    let store = Arc::new(SqliteStore::open(&path, options).await.unwrap());
    store.save(sample_save("taken", 1)).await.unwrap();
    let before = commits(&path);

    // Nobody is served while another process writes, so that all of them come to wait.
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let saves: Vec<_> = (0..SAVES)
        .map(|n| {
            let store = Arc::clone(&store);
            let save = match n % 10 {
                0 => Save { write_id: format!("again-{n}"), ..sample_save("taken", 1) },
                _ => large_save(&format!("s{n}"), 100),
            };
            tokio::spawn(async move { (n, store.save(save).await) })
        })
        .collect();
    // On this runtime of one thread, every save has been handed over once the tasks have had their turns.
    for _ in 0..SAVES {
        tokio::task::yield_now().await;
    }
    other.execute_batch("ROLLBACK").unwrap();
    for save in saves {
        match save.await.unwrap() {
            (n, outcome) if n % 10 == 0 => assert_eq!(outcome, Err(StoreError::Exists("taken".to_owned()))),
            (_, outcome) => assert_eq!(outcome, Ok(())),
        }
    }
    let made = commits(&path) - before;
    assert!((1..=3).contains(&made), "{SAVES} saves that waited together took {made} commits");
    Arc::into_inner(store).unwrap().close().await;
    assert_eq!(integrity(&path), "ok");
}

#[tokio::test]
async fn a_write_whose_caller_left_is_made_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let store = super::open(&path).await.unwrap();
    {
        let save = store.save(sample_save("a", 1));
        let mut save = std::pin::pin!(save);
        // Polled once, which hands it over, and then dropped.
        std::future::poll_fn(|context| std::task::Poll::Ready(save.as_mut().poll(context).is_ready())).await;
    }
    // The writer takes its work in order.
    store.save(sample_save("b", 1)).await.unwrap();
    assert!(store.load("a").await.unwrap().is_some());
    store.close().await;
}
