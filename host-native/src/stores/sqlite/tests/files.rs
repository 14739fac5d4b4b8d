//! Which files are opened, and how.

use rusqlite::Connection;

use super::{integrity, open};
use crate::ports::{Store as _, StoreError};
use crate::stores::sqlite::schema::{APPLICATION_ID, SCHEMA_VERSION};
use crate::testing::sample_save;

async fn refused(path: &std::path::Path, words: &str) {
    match open(path).await {
        Err(StoreError::Broken(message)) => assert!(message.contains(words), "{message:?} does not say {words:?}"),
        Err(error) => panic!("another error: {error:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test]
async fn a_session_is_there_after_the_file_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let store = open(&path).await.unwrap();
    store.save(sample_save("a", 1)).await.unwrap();
    let before = store.load("a").await.unwrap();
    store.close().await;
    assert!(!path.with_extension("db-wal").exists(), "the log was merged");
    let store = open(&path).await.unwrap();
    assert_eq!(store.load("a").await.unwrap(), before);
    assert_eq!(store.save(sample_save("a", 1)).await, Ok(()), "the last write id is known");
    assert_eq!(store.ready().await, Ok(()));
}

#[tokio::test]
async fn the_file_says_whose_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    open(&path).await.unwrap().close().await;
    let connection = Connection::open(&path).unwrap();
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(pragma("application_id"), i64::from(APPLICATION_ID));
    assert_eq!(usize::try_from(pragma("user_version")).unwrap(), SCHEMA_VERSION);
    let version: String =
        connection.query_row("SELECT value FROM meta WHERE key = 'schemaVersion'", [], |row| row.get(0)).unwrap();
    assert_eq!(version, SCHEMA_VERSION.to_string());
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let store = open(&path).await.unwrap();
    store.save(sample_save("a", 1)).await.unwrap();
    for name in ["t.db", "t.db-wal", "t.db-shm"] {
        let mode = std::fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn files_of_others_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    std::fs::write(&text, "not a database, ".repeat(100)).unwrap();
    refused(&text, "not a SQLite database").await;

    let foreign = directory.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let before = std::fs::read(&foreign).unwrap();
    refused(&foreign, "not one of tackroom's").await;
    assert_eq!(std::fs::read(&foreign).unwrap(), before);

    let newer = directory.path().join("newer.db");
    open(&newer).await.unwrap().close().await;
    Connection::open(&newer).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    refused(&newer, "newer tackroom").await;

    refused(&directory.path().join("missing/t.db"), "cannot be made").await;
    refused(directory.path(), "cannot be opened").await;
}

#[tokio::test]
async fn two_may_open_a_new_file_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let options = || super::SqliteOptions { busy_timeout_ms: 20_000, ..Default::default() };
    let (one, two) =
        tokio::join!(super::SqliteStore::open(&path, options()), super::SqliteStore::open(&path, options()));
    let (one, two) = (one.unwrap(), two.unwrap());
    one.save(sample_save("a", 1)).await.unwrap();
    assert!(two.load("a").await.unwrap().is_some(), "both see one database");
    one.close().await;
    two.close().await;
    assert_eq!(integrity(&path), "ok");
}

#[tokio::test]
async fn a_file_that_another_program_made_by_the_document_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch(include_str!("../schema_1.sql")).unwrap();
    let rows = r#"
        PRAGMA user_version = 1;
        PRAGMA application_id = 1952539499;
        INSERT INTO meta VALUES ('schemaVersion', '1'), ('createdBy', 'a test');
        INSERT INTO sessions VALUES
            (7, 'a', 'idle', 1, 2, NULL, 1, '{}', '{"turns":3}', 1, 4, 'a-4', 0, 'host', 9000000000000);
        INSERT INTO messages VALUES (7, 0, 'm0', '{"id":"m0"}');
        INSERT INTO audit VALUES (7, 0, 1, '{"verdict":"allow"}');
        INSERT INTO engine_states VALUES (7, '{}');
        INSERT INTO resume_states VALUES (7, 'r');
    "#;
    other.execute_batch(rows).unwrap();
    drop(other);
    let store = open(&path).await.unwrap();
    let record = store.load("a").await.unwrap().unwrap();
    assert_eq!((record.summary.turns, record.messages[0].json.as_str()), (3, r#"{"id":"m0"}"#));
    assert_eq!(store.save(sample_save("a", 4)).await, Ok(()), "its last write is known");
    assert_eq!(store.save(sample_save("a", 5)).await, Ok(()), "and followed");
    let claimed = store.claim("a", "host", 1_000).await.unwrap().unwrap();
    assert_eq!((claimed.generation, claimed.resume.unwrap().expose()), (2, "r"));
}
