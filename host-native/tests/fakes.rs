//! The fakes do what they are told: each fault that can be ordered is seen at the port, once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(feature = "testing")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tackroom::ports::{
    Agent, AgentError, AgentNotice, Command, Notices, Prompt, SandboxError, Sandboxes, SessionSettings, SliceOutcome,
    StartAgent, TurnSink,
};
use tackroom::testing::{AgentOp, FakeAgent, FakeRun, FakeSandboxes, FakeSlice, SandboxOp};
use tokio::sync::mpsc;

fn command(program: &str) -> Command {
    Command { program: program.to_owned(), ..Command::default() }
}

#[tokio::test(start_paused = true)]
async fn sandboxes_fail_hang_are_late_and_lie() {
    let sandboxes = FakeSandboxes::with_capacity(2);
    let error = SandboxError::Failed("no disk".to_owned());
    sandboxes.fail_next(SandboxOp::Acquire, 1, &error);
    assert_eq!(sandboxes.acquire("a", false).await.err(), Some(error));
    sandboxes.hang(SandboxOp::Acquire);
    assert!(tokio::time::timeout(Duration::from_secs(9), sandboxes.acquire("a", false)).await.is_err());
    sandboxes.release(SandboxOp::Acquire);
    let lease = sandboxes.acquire("a", false).await.unwrap();
    sandboxes.really_holds(1);
    assert_eq!(sandboxes.capacity(), Some(2));
    assert_eq!(sandboxes.acquire("b", false).await.err(), Some(SandboxError::Capacity(1)));
    sandboxes.delay(SandboxOp::Suspend, Duration::from_secs(5));
    let before = tokio::time::Instant::now();
    lease.suspend().await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_secs(5));
    assert_eq!((sandboxes.held(), sandboxes.kept()), (vec![], vec!["a".to_owned()]));
    assert_eq!(sandboxes.calls(SandboxOp::Acquire), 4);
    sandboxes.discard("a").await.unwrap();
    assert_eq!(sandboxes.acquire("a", true).await.err(), Some(SandboxError::Gone("a".to_owned())));
}

#[tokio::test]
async fn sandboxes_play_commands_and_keep_files() {
    let sandboxes = FakeSandboxes::new();
    sandboxes.commands(|command| match command.program.as_str() {
        "sleep" => FakeRun::until_killed(),
        other => FakeRun::prints(other),
    });
    let lease = sandboxes.acquire("a", false).await.unwrap();
    let sandbox = lease.sandbox();
    let output = sandbox.run(command("echo"), 3).await.unwrap();
    assert_eq!((output.stdout.as_slice(), output.truncated, output.exit.code), (b"ech".as_slice(), true, Some(0)));
    let mut process = sandbox.spawn(command("sleep")).await.unwrap();
    sandbox.write_file(Path::new("f"), b"1").await.unwrap();
    lease.suspend().await.unwrap();
    assert_eq!(process.wait().await.unwrap().signal, Some(9));
    assert!(sandbox.spawn(command("echo")).await.is_err());
    let lease = sandboxes.acquire("a", true).await.unwrap();
    assert_eq!(lease.sandbox().read_file(Path::new("f"), 1).await.unwrap(), b"1");
}

#[tokio::test]
async fn agents_do_as_they_are_told() {
    let agent = FakeAgent::new();
    let lease = FakeSandboxes::new().acquire("a", false).await.unwrap();
    let (sender, mut notices) = mpsc::unbounded_channel();
    let start = || StartAgent {
        session: "a".to_owned(),
        generation: 1,
        sandbox: lease.sandbox(),
        settings: SessionSettings::default(),
        resume: None,
        notices: Notices::new(sender.clone()),
    };
    agent.fail_next(AgentOp::Start, 1, &AgentError::Failed("no".to_owned()));
    assert!(agent.start(start()).await.is_err());
    let session = agent.start(start()).await.unwrap().agent;
    let prompt = |session: Arc<dyn tackroom::ports::AgentSession>| async move {
        let (sender, mut chunks) = mpsc::channel(8);
        let prompt = Prompt { turn: "t".into(), id: "p".into(), text: "hi".into(), files: vec![], model: None };
        let end = session.prompt(prompt, TurnSink::new(sender)).await;
        (end.outcome, chunks.recv().await.map_or(0, |batch| batch.len()))
    };
    assert_eq!(prompt(Arc::clone(&session)).await, (SliceOutcome::Finished, 7));
    agent.next(FakeSlice::asks("c", "bash", &serde_json::json!({})));
    assert_eq!(prompt(Arc::clone(&session)).await, (SliceOutcome::Paused, 3));
    agent.fail_next(AgentOp::Prompt, 1, &AgentError::Failed("no".to_owned()));
    assert!(matches!(prompt(Arc::clone(&session)).await.0, SliceOutcome::Failed { alive: true, .. }));

    agent.next(FakeSlice::hangs());
    agent.be_deaf(true);
    let hanging = tokio::spawn(prompt(Arc::clone(&session)));
    while agent.calls(AgentOp::Prompt) < 4 {
        tokio::task::yield_now().await;
    }
    session.interrupt().await.unwrap();
    tokio::task::yield_now().await;
    assert!(!hanging.is_finished());
    agent.be_deaf(false);
    session.interrupt().await.unwrap();
    assert_eq!(hanging.await.unwrap().0, SliceOutcome::Interrupted);

    assert!(agent.exit("a", "gone") && !agent.exit("b", "gone"));
    assert_eq!(notices.recv().await, Some(AgentNotice::Exited { message: "gone".to_owned() }));
    assert!(session.stop().await.unwrap().is_some());
    agent.be_forgetful(true);
    assert!(session.stop().await.unwrap().is_none());
    assert_eq!((agent.prompts().len(), agent.live()), (4, vec![]));
}
