//! Full, busy, read-only and corrupt: a clear error each, and nothing half-written.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

use rusqlite::Connection;

use super::{SqliteOptions, SqliteStore, integrity, large_save, message, open};
use crate::ports::{ListQuery, Store as _, StoreError};
use crate::testing::sample_save;

#[track_caller]
fn assert_broken<T: std::fmt::Debug>(outcome: Result<T, StoreError>, words: &str) {
    match outcome {
        Err(StoreError::Broken(message)) => assert!(message.contains(words), "{message:?} does not say {words:?}"),
        other => panic!("{other:?} is not a broken store"),
    }
}

#[tokio::test]
async fn a_full_disk_fails_what_does_not_fit_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let options = SqliteOptions { max_bytes: Some(400_000), ..SqliteOptions::default() };
    let store = Arc::new(SqliteStore::open(&path, options).await.unwrap());
    store.save(sample_save("first", 1)).await.unwrap();

    let saves: Vec<_> = (0..20)
        .map(|n| {
            let store = Arc::clone(&store);
            let bytes = if n == 7 { 1_000_000 } else { 100 };
            tokio::spawn(async move { (n, store.save(large_save(&format!("s{n}"), bytes)).await) })
        })
        .collect();
    for save in saves {
        match save.await.unwrap() {
            (7, outcome) => assert_broken(outcome, "no room left"),
            (_, outcome) => assert_eq!(outcome, Ok(())),
        }
    }
    assert_eq!(store.load("s7").await, Ok(None), "nothing of it is kept");

    // A session whose next write does not fit stays as it was, and goes on with one that does.
    let before = store.load("first").await;
    let mut large = sample_save("first", 2);
    large.messages = vec![message(0, "small".to_owned()), message(1, "y".repeat(1_000_000))];
    assert_broken(store.save(large).await, "no room left");
    assert_eq!(store.load("first").await, before);
    assert_eq!(store.save(sample_save("first", 2)).await, Ok(()));
    assert_eq!(store.ready().await, Ok(()));
    Arc::into_inner(store).unwrap().close().await;
    assert_eq!(integrity(&path), "ok");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_really_full_disk_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new("mount").args(arguments).arg(directory.path()).output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=2m", "tackroom-test"]) {
        eprintln!("not tested: a small file system can be mounted only by root");
        return;
    }
    let path = directory.path().join("t.db");
    let outcome = tokio::spawn(async move {
        let store = open(&path).await.unwrap();
        store.save(sample_save("first", 1)).await.unwrap();
        let ballast = path.with_file_name("ballast");
        let mut written = std::fs::File::create(&ballast).unwrap();
        while written.write_all(&[0; 4096]).is_ok() {}
        drop(written);
        let mut kept = Vec::new();
        let mut full = None;
        for n in 0..50 {
            let id = format!("s{n}");
            match store.save(large_save(&id, 50_000)).await {
                Ok(()) => kept.push(id),
                Err(error) => full = full.or(Some(error)),
            }
        }
        assert_broken(Err::<(), _>(full.expect("the disk is full")), "no room left");
        assert!(store.load("first").await.unwrap().is_some(), "it can still be read");
        std::fs::remove_file(&ballast).unwrap();
        store.save(sample_save("first", 2)).await.unwrap();
        for id in &kept {
            assert!(store.load(id).await.unwrap().is_some(), "{id} was acknowledged");
        }
        let page = store.list(&ListQuery { limit: 100, ..ListQuery::default() }).await.unwrap();
        assert_eq!(page.sessions.len(), kept.len() + 1, "nothing else is kept");
        store.close().await;
        assert_eq!(integrity(&path), "ok");
    })
    .await;
    let unmounted = std::process::Command::new("umount").arg("-l").arg(directory.path()).status().unwrap();
    assert!(unmounted.success());
    outcome.unwrap();
}

#[tokio::test]
async fn another_writer_is_waited_for_and_then_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let store = open(&path).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = store.save(sample_save("a", 1)).await;
    assert!(matches!(&busy, Err(StoreError::Unavailable(message)) if message.contains("Another process")), "{busy:?}");
    assert_eq!(store.load("a").await, Ok(None), "reads do not wait, and nothing was written");
    assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.save(sample_save("a", 1)).await, Ok(()));
}

/// SQLite writes no file whose header names a newer way of writing; it reads it all the same.
fn forbid_writing(path: &std::path::Path) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(18)).unwrap();
    file.write_all(&[9]).unwrap();
}

#[tokio::test]
async fn a_read_only_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let store = open(&path).await.unwrap();
    store.save(sample_save("a", 1)).await.unwrap();
    store.close().await;
    let copy = directory.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    forbid_writing(&copy);
    assert_broken(open(&copy).await.map(|_| ()), "cannot be written");

    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    // Permissions do not hold root back.
    if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
        assert_broken(open(&path).await.map(|_| ()), "cannot be written");
    }
}

#[tokio::test]
async fn garbage_in_the_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let store = open(&path).await.unwrap();
    for n in 0..200 {
        store.save(large_save(&format!("s{n}"), 2_000)).await.unwrap();
    }
    store.close().await;
    let length = std::fs::metadata(&path).unwrap().len();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    // The schema, on the first page, is left: a file that cannot even be opened is another test's.
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xa5; usize::try_from(length).unwrap() - 4096]).unwrap();
    drop(file);

    match open(&path).await {
        Err(error) => assert_broken(Err::<(), _>(error), "corrupt"),
        Ok(store) => {
            assert_broken(store.load("s100").await, "corrupt");
            assert_broken(store.list(&ListQuery { limit: 10, ..ListQuery::default() }).await, "corrupt");
            assert_broken(store.save(large_save("new", 10)).await, "corrupt");
            assert_broken(store.claim("s100", "host", 1_000).await, "corrupt");
            assert_broken(store.ready().await, "corrupt");
        }
    }
}
