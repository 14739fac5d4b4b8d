//! A process killed in the middle of writing: what was acknowledged is there, and the file is whole.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{integrity, message, open};
use crate::ports::Store as _;
use crate::testing::sample_save;

const PATH: &str = "TACKROOM_TEST_CRASH_PATH";
const ROUND: &str = "TACKROOM_TEST_CRASH_ROUND";
const WRITERS: u32 = 4;

/// The child's part: writes for ever, and prints each write once it was acknowledged.
#[tokio::test]
#[ignore = "only run by the test below, in a process of its own"]
async fn write_until_killed() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let round = std::env::var(ROUND).unwrap();
    let store = Arc::new(open(path.as_ref()).await.unwrap());
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            let id = format!("{round}-{writer}");
            tokio::spawn(async move {
                for revision in 1u32.. {
                    let mut save = sample_save(&id, revision.into());
                    save.summary.message_count = revision;
                    save.messages = vec![message(revision - 1, format!("\"{}\"", "z".repeat(3_000)))];
                    store.save(save).await.unwrap();
                    println!("wrote {id} {revision} .");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    let mut acknowledged = std::collections::BTreeMap::new();
    for round in 0..20u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stores::sqlite::tests::crash::write_until_killed", "--ignored", "--nocapture"])
            .env(PATH, &path)
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let child = Arc::new(Mutex::new(child));
        let mut killer = None;
        for line in lines {
            let Ok(line) = line else { break };
            // The harness prints on the first line too, so the words are looked for anywhere; the last may be cut.
            let Some((_, write)) = line.split_once("wrote ") else { continue };
            if killer.is_none() {
                let pause = Duration::from_micros(round * 7_919 % 60_000);
                let child = Arc::clone(&child);
                killer = Some(std::thread::spawn(move || {
                    std::thread::sleep(pause);
                    child.lock().unwrap().kill().unwrap();
                }));
            }
            if let Some((id, revision)) = write.strip_suffix(" .").and_then(|write| write.split_once(' ')) {
                acknowledged.insert(id.to_owned(), revision.parse::<u64>().unwrap());
            }
        }
        killer.expect("the child wrote").join().unwrap();
        assert!(!child.lock().unwrap().wait().unwrap().success(), "it was killed");
        check(&path, &acknowledged);
        assert_eq!(integrity(&path), "ok");
    }
    assert!(acknowledged.len() >= 20, "every round wrote");
}

fn check(path: &std::path::Path, acknowledged: &std::collections::BTreeMap<String, u64>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(path).await.unwrap();
        for (id, revision) in acknowledged {
            let record = store.load(id).await.unwrap().expect("an acknowledged session is kept");
            let kept = record.messages.len() as u64;
            // One more may have been committed without having been acknowledged.
            assert!(kept == *revision || kept == revision + 1, "{id}: {revision} acknowledged, {kept} kept");
            assert_eq!(u64::from(record.summary.message_count), kept, "summary and messages are of one write");
        }
        store.close().await;
    });
}
