//! Local sandboxes with real processes: what runs in one ends whatever happens, and nothing leads out of its files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "local", target_os = "linux"))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tackroom::ports::{Command, Lease, Process, SandboxError, Sandboxes};
use tackroom::sandboxes::local::{Isolation, LocalSandboxes};
use tokio::io::{AsyncBufReadExt, BufReader};

/// Starts processes in every way in which one can get away from its parent, then waits.
const ESCAPES: &str = r#"
trap '' TERM HUP INT
setsid sleep 1001 &
nohup sleep 1002 >/dev/null 2>&1 &
( ( setsid sleep 1003 >/dev/null 2>&1 & ) & )
( setsid sh -c 'trap "" TERM; setsid sleep 1004 >/dev/null 2>&1 & sleep 1005' >/dev/null 2>&1 & )
echo ready
sleep 1006
"#;

fn sh(script: &str) -> Command {
    Command { program: "/bin/sh".to_owned(), args: vec!["-c".to_owned(), script.to_owned()], ..Command::default() }
}

/// A mark in the environment by which a command's descendants are found again.
fn marked(mut command: Command) -> (Command, String) {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    command.env.push(("TACKROOM_TEST_MARK".to_owned(), mark.clone()));
    (command, format!("TACKROOM_TEST_MARK={mark}"))
}

/// The processes with this mark, zombies left out.
fn alive(mark: &str) -> Vec<u32> {
    let ids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    })
    .collect()
}

/// Waits for a condition, at most 20 seconds.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn open(root: &Path, isolation: Isolation) -> LocalSandboxes {
    LocalSandboxes::builder(root).per_session(4).isolation(isolation).build().await.unwrap()
}

/// The kinds that work here; the weakest always must.
fn isolations() -> Vec<Isolation> {
    let mut found = vec![Isolation::Subreaper];
    let best = Isolation::detect().unwrap();
    if best != Isolation::Subreaper {
        found.push(best);
    }
    found
}

async fn start_escapes(lease: &Lease) -> (Box<dyn Process>, String) {
    let (command, mark) = marked(sh(ESCAPES));
    let mut process = lease.sandbox().spawn(command).await.unwrap();
    let mut lines = BufReader::new(process.take_stdout().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    // Two shells and six times `sleep`.
    until("all descendants run", || alive(&mark).len() >= 8).await;
    (process, mark)
}

#[tokio::test]
async fn descendants_die_by_kill_drop_suspend_close_and_shutdown() {
    for isolation in isolations() {
        let root = tempfile::tempdir().unwrap();
        let sandboxes = open(root.path(), isolation).await;
        let lease = sandboxes.acquire("s1", false).await.unwrap();

        let (mut process, mark) = start_escapes(&lease).await;
        assert!(process.id().is_some());
        process.kill().await.unwrap();
        assert_eq!(alive(&mark), [0; 0], "after kill, with {isolation}");
        assert_eq!(process.id(), None);
        assert_eq!(process.wait().await.unwrap().signal, Some(9));

        let (process, mark) = start_escapes(&lease).await;
        drop(process);
        until("gone after drop", || alive(&mark).is_empty()).await;

        let (_process, mark) = start_escapes(&lease).await;
        let sandbox = lease.sandbox();
        lease.suspend().await.unwrap();
        assert_eq!(alive(&mark), [0; 0], "after suspend, with {isolation}");
        assert!(matches!(sandbox.spawn(sh("true")).await.err(), Some(SandboxError::Gone(_))));

        let lease = sandboxes.acquire("s1", true).await.unwrap();
        let (_process, mark) = start_escapes(&lease).await;
        lease.close().await.unwrap();
        assert_eq!(alive(&mark), [0; 0], "after close, with {isolation}");

        let lease = sandboxes.acquire("s1", false).await.unwrap();
        let (_process, mark) = start_escapes(&lease).await;
        drop(lease);
        until("gone after the lease is dropped", || alive(&mark).is_empty()).await;

        let lease = sandboxes.acquire("s1", false).await.unwrap();
        let (_process, mark) = start_escapes(&lease).await;
        sandboxes.shutdown().await.unwrap();
        assert_eq!(alive(&mark), [0; 0], "after shutdown, with {isolation}");
        assert_eq!(std::fs::read_dir(root.path().join("running")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_namespace_ends_with_a_guard_that_is_killed() {
    let Some(isolation) = isolations().into_iter().find(|isolation| *isolation != Isolation::Subreaper) else { return };
    let root = tempfile::tempdir().unwrap();
    let lease = open(root.path(), isolation).await.acquire("s1", false).await.unwrap();
    let (mut process, mark) = start_escapes(&lease).await;
    let guard = process.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &guard]).status().unwrap().success());
    assert_eq!(process.wait().await.unwrap().signal, Some(9));
    until("descendants are gone", || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    for isolation in isolations() {
        let root = tempfile::tempdir().unwrap();
        let lease = open(root.path(), isolation).await.acquire("s1", false).await.unwrap();
        let (command, mark) = marked(sh("setsid sleep 1000 & sleep 1000 & echo started; exit 3"));
        let output = lease.sandbox().run(command, 100).await.unwrap();
        assert_eq!((output.exit.code, output.stdout.as_slice()), (Some(3), b"started\n".as_slice()));
        assert_eq!(alive(&mark), [0; 0], "with {isolation}");
    }
}

#[tokio::test]
async fn ends_are_told_as_they_were() {
    for isolation in isolations() {
        let root = tempfile::tempdir().unwrap();
        let lease = open(root.path(), isolation).await.acquire("s1", false).await.unwrap();
        let sandbox = lease.sandbox();
        for (script, code, signal) in [
            ("exit 0", Some(0), None),
            ("exit 77", Some(77), None),
            ("kill -SEGV $$", None, Some(11)),
            ("kill $$", None, Some(15)),
        ] {
            let exit = sandbox.run(sh(script), 0).await.unwrap().exit;
            assert_eq!((exit.code, exit.signal), (code, signal), "{script} with {isolation}");
        }
        let missing = Command { program: "no-such-program".to_owned(), ..Command::default() };
        let error = sandbox.run(missing, 0).await.unwrap_err();
        assert!(matches!(&error, SandboxError::Spawn { program, .. } if program == "no-such-program"), "{error}");
        let nowhere = Command { cwd: Some("nowhere".into()), ..sh("true") };
        let error = sandbox.run(nowhere, 0).await.unwrap_err();
        assert!(error.to_string().contains("working directory"), "{error}");
    }
}

/// The environment variables by which the next test tells this process of its own what to do.
const HOST_ROOT: &str = "TACKROOM_TEST_HOST_ROOT";
const HOST_ISOLATION: &str = "TACKROOM_TEST_HOST_ISOLATION";

#[tokio::test]
#[ignore = "run by another test, as a process of its own"]
async fn host_to_be_killed() {
    let root = PathBuf::from(std::env::var_os(HOST_ROOT).unwrap());
    let isolation = isolations()[std::env::var(HOST_ISOLATION).unwrap().parse::<usize>().unwrap()];
    let lease = open(&root, isolation).await.acquire("s1", false).await.unwrap();
    let (_process, mark) = start_escapes(&lease).await;
    std::fs::write(root.join("mark.new"), mark).unwrap();
    std::fs::rename(root.join("mark.new"), root.join("mark")).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn descendants_die_with_a_host_that_is_killed() {
    for (index, isolation) in isolations().into_iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        let mut host = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "host_to_be_killed", "--ignored"])
            .env(HOST_ROOT, root.path())
            .env(HOST_ISOLATION, index.to_string())
            .spawn()
            .unwrap();
        let file = root.path().join("mark");
        until("the host has started its command", || file.exists()).await;
        let mark = std::fs::read_to_string(file).unwrap();
        assert!(alive(&mark).len() >= 8);
        let refused = LocalSandboxes::per_session(root.path(), 1).await.err().unwrap();
        assert!(refused.to_string().contains("Another host"), "{refused}");
        host.kill().unwrap();
        host.wait().unwrap();
        until(&format!("descendants are gone, with {isolation}"), || alive(&mark).is_empty()).await;
        LocalSandboxes::per_session(root.path(), 1).await.unwrap();
        assert_eq!(std::fs::read_dir(root.path().join("running")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn output_is_bounded_and_nobody_waits_for_it() {
    let root = tempfile::tempdir().unwrap();
    let lease = LocalSandboxes::per_session(root.path(), 1).await.unwrap().acquire("s1", false).await.unwrap();
    let output = lease.sandbox().run(sh("head -c 3000000 /dev/zero; printf 12345 >&2"), 1000).await.unwrap();
    assert!(output.exit.success());
    assert_eq!((output.stdout.len(), output.stderr.as_slice(), output.truncated), (1000, b"12345".as_slice(), true));
    let output = lease.sandbox().run(sh("printf 12345"), 5).await.unwrap();
    assert_eq!((output.stdout.as_slice(), output.truncated), (b"12345".as_slice(), false));
    let output = lease.sandbox().run(sh("cat"), 5).await.unwrap();
    assert!(output.exit.success(), "standard input is at its end");
}

#[tokio::test]
async fn the_environment_is_the_sandboxs_own() {
    let root = tempfile::tempdir().unwrap();
    let sandboxes = LocalSandboxes::builder(root.path()).path("/usr/bin:/bin").build().await.unwrap();
    let lease = sandboxes.acquire("s1", false).await.unwrap();
    let sandbox = lease.sandbox();
    let mut command = Command { program: "env".to_owned(), ..Command::default() };
    command.env.push(("EXTRA".to_owned(), "given".to_owned()));
    let output = String::from_utf8(sandbox.run(command, 10_000).await.unwrap().stdout).unwrap();
    let variables: BTreeMap<_, _> = output.lines().filter_map(|line| line.split_once('=')).collect();
    let tmp = sandbox.home().with_file_name("tmp");
    let expected = [
        ("EXTRA", "given"),
        ("HOME", sandbox.home().to_str().unwrap()),
        ("LANG", "C.UTF-8"),
        ("PATH", "/usr/bin:/bin"),
        ("TMPDIR", tmp.to_str().unwrap()),
    ];
    assert_eq!(variables, BTreeMap::from(expected));
    let output = sandbox.run(sh("pwd; stat -c %a . \"$HOME\" \"$TMPDIR\" ..; ls /proc/self/fd | wc -l"), 1000).await;
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    // The three streams, and the directory that `ls` itself reads.
    assert_eq!(output, format!("{}\n700\n700\n700\n700\n4\n", sandbox.working_directory().display()));
}

#[tokio::test]
async fn files_do_not_lead_out_of_the_sandbox() {
    let root = tempfile::tempdir().unwrap();
    let lease = LocalSandboxes::per_session(root.path(), 1).await.unwrap().acquire("s1", false).await.unwrap();
    let sandbox = lease.sandbox();
    let outside = root.path().join("outside");
    std::fs::write(&outside, "secret").unwrap();
    let links = format!(
        "ln -s {0} absolute; ln -s ../../../outside relative; ln -s ../../.. up; mkdir real; ln -s real inner; mkfifo pipe",
        outside.display()
    );
    assert!(sandbox.run(sh(&links), 0).await.unwrap().exit.success());
    for path in
        ["absolute", "relative", "../../../outside", "up/outside", "/etc/passwd", "pipe", "real", "none", "a\0b"]
    {
        let error = sandbox.read_file(Path::new(path), 100).await.unwrap_err();
        assert!(matches!(error, SandboxError::Path { .. }), "{path:?}: {error}");
    }
    for path in ["../../../new", "up/new", "/tmp/new", "real", "", ".", ".."] {
        let error = sandbox.write_file(Path::new(path), b"x").await.unwrap_err();
        assert!(matches!(error, SandboxError::Path { .. }), "{path:?}: {error}");
    }
    sandbox.write_file(Path::new("absolute"), b"replaces the link").await.unwrap();
    assert_eq!(std::fs::read(&outside).unwrap(), b"secret");

    sandbox.write_file(Path::new("inner/deep/er/file"), b"content").await.unwrap();
    assert_eq!(sandbox.read_file(Path::new("real/deep/er/file"), 7).await.unwrap(), b"content");
    let error = sandbox.read_file(Path::new("real/deep/er/file"), 6).await.unwrap_err();
    assert!(error.to_string().contains("larger than 6 bytes"), "{error}");
    let home = sandbox.home().join("settings");
    sandbox.write_file(&home, b"1").await.unwrap();
    assert_eq!(sandbox.run(sh("cat \"$HOME/settings\""), 10).await.unwrap().stdout, b"1");
    assert!(sandbox.run(sh("chmod 755 inner/deep/er/file"), 0).await.unwrap().exit.success());
    sandbox.write_file(Path::new("inner/deep/er/file"), b"#!/bin/sh\nprintf ran").await.unwrap();
    assert_eq!(sandbox.run(sh("inner/deep/er/file"), 10).await.unwrap().stdout, b"ran", "the mode is kept");
}

#[tokio::test]
async fn places_are_counted_and_files_kept_or_forgotten() {
    let root = tempfile::tempdir().unwrap();
    let sandboxes = LocalSandboxes::shared(root.path(), vec![4001, 4002]).await.unwrap();
    assert_eq!(sandboxes.capacity(), Some(2));
    let one = sandboxes.acquire("one", false).await.unwrap();
    let two = sandboxes.acquire("two", false).await.unwrap();
    assert_eq!((one.sandbox().ports(), two.sandbox().ports()), ([4001].as_slice(), [4002].as_slice()));
    assert_ne!(one.sandbox().working_directory(), two.sandbox().working_directory());
    assert_eq!(one.sandbox().endpoint(4001).await.unwrap().port, 4001);
    assert!(one.sandbox().endpoint(4002).await.is_err());
    assert_eq!(sandboxes.acquire("three", false).await.err(), Some(SandboxError::Capacity(2)));
    assert!(sandboxes.acquire("one", false).await.err().unwrap().to_string().contains("already open"));

    one.sandbox().write_file(Path::new("kept"), b"1").await.unwrap();
    // One tree: what one session writes, another can read.
    let path = one.sandbox().working_directory().join("kept");
    assert_eq!(two.sandbox().read_file(&path, 10).await.unwrap(), b"1");
    one.suspend().await.unwrap();
    let three = sandboxes.acquire("three", false).await.unwrap();
    assert_eq!(three.sandbox().ports(), [4001]);
    drop(three);
    let one = sandboxes.acquire("one", true).await.unwrap();
    assert_eq!(one.sandbox().read_file(Path::new("kept"), 10).await.unwrap(), b"1");
    assert!(sandboxes.discard("one").await.is_err(), "it is open");
    assert!(one.sandbox().run(sh("mkdir -p a/b; chmod 500 a/b a"), 0).await.unwrap().exit.success());
    one.close().await.unwrap();
    assert_eq!(sandboxes.acquire("one", true).await.err(), Some(SandboxError::Gone("one".to_owned())));
    two.suspend().await.unwrap();
    sandboxes.discard("two").await.unwrap();
    sandboxes.discard("two").await.unwrap();
    assert_eq!(sandboxes.acquire("two", true).await.err(), Some(SandboxError::Gone("two".to_owned())));
    let long = "x".repeat(129);
    for id in ["", ".", "..", "a/b", "a\0", "\u{e4}", long.as_str()] {
        assert!(matches!(sandboxes.acquire(id, false).await.err(), Some(SandboxError::Path { .. })), "{id:?}");
        assert!(sandboxes.discard(id).await.is_err(), "{id:?}");
    }
}

#[tokio::test]
async fn bad_options_are_refused_in_words() {
    let root = tempfile::tempdir().unwrap();
    for (ports, word) in [(vec![], "at least one"), (vec![1, 1], "Port 1"), (vec![0], "Port 0")] {
        let error = LocalSandboxes::shared(root.path(), ports).await.err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(LocalSandboxes::per_session(root.path(), 0).await.is_err());
    assert!(LocalSandboxes::per_session("/proc/nowhere", 1).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_commands_at_once_end_as_they_should() {
    let root = tempfile::tempdir().unwrap();
    let sandboxes = LocalSandboxes::per_session(root.path(), 8).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for session in 0..8 {
        let lease = sandboxes.acquire(&format!("s{session}"), false).await.unwrap();
        tasks.spawn(async move {
            for round in 0..5 {
                let (command, mark) = marked(sh(&format!("sleep 1000 & printf {session}-{round}")));
                let output = lease.sandbox().run(command, 100).await.unwrap();
                assert_eq!(output.stdout, format!("{session}-{round}").into_bytes());
                assert_eq!(alive(&mark), [0; 0]);
            }
            lease.suspend().await.unwrap();
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
    assert!(sandboxes.acquire("s9", false).await.is_ok());
}

#[tokio::test]
async fn a_guard_does_not_hold_the_hosts_memory() {
    const SIZE: usize = 64 * 1024 * 1024;
    let mut ballast = vec![1_u8; SIZE];
    for isolation in isolations() {
        let root = tempfile::tempdir().unwrap();
        let lease = open(root.path(), isolation).await.acquire("s1", false).await.unwrap();
        let process = lease.sandbox().spawn(sh("sleep 1000")).await.unwrap();
        let status = format!("/proc/{}/status", process.id().unwrap());
        let anonymous = || {
            let status = std::fs::read_to_string(&status).unwrap();
            let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
        };
        until("the guard is small", || anonymous() < 4096).await;
        println!("a guard holds {} kB, with {isolation}", anonymous());
    }
    ballast.fill(2);
    assert!(ballast.iter().all(|byte| *byte == 2));
}
