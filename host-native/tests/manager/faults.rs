//! Adapters that fail, hang and panic; an engine that breaks down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tackroom::manager::{SessionEvent, UpdateSession};
use tackroom::ports::{
    Agent, AgentError, AgentSession, Answers, Prompt, ResumeState, SandboxError, SliceEnd, SliceOutcome, StartAgent,
    StartedAgent, Status, StoreError, TurnSink, Usage,
};
use tackroom::testing::{AgentOp, FakeSlice, SandboxOp, StoreOp};

use crate::support::{World, idle, named, read, summary, text, until, until_status, within};

fn down() -> StoreError {
    StoreError::Unavailable("the database does not answer".to_owned())
}

#[tokio::test]
async fn a_write_that_is_not_acknowledged_in_time_fails_its_call_and_leaves_the_session_as_it_was() {
    let world = World::new();
    let shorter = |limits: &mut tackroom::manager::Limits| {
        (limits.acknowledge_timeout_ms, limits.retry_first_ms, limits.retry_longest_ms) = (200, 10, 20);
    };
    let manager = within(world.builder().limits(shorter).build()).await.unwrap();
    idle(&manager, "a").await;
    world.store.fail_next(StoreOp::Save, 10_000, &down());
    let error = within(manager.send("a", "Lost".into())).await.unwrap_err();
    assert_eq!(error.code(), "store", "{error}");
    assert_eq!(world.agent.prompts().len(), 0);
    world.store.heal();
    until_status(&manager, "a", Status::Idle).await;
    let mut stream = within(manager.send("a", "Kept".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Kept");
    assert_eq!(within(manager.get("a")).await.unwrap().unwrap().messages.len(), 2);
    let stats = within(manager.stats()).await.unwrap();
    assert!(stats.totals.store_failures > 0 && stats.totals.saves > 0, "{stats:?}");
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_not_made_twice() {
    let world = World::new();
    let manager = within(world.builder().limits(|limits| limits.retry_first_ms = 10).build()).await.unwrap();
    idle(&manager, "a").await;
    world.store.commit_but_fail_next(StoreOp::Save, 1, &down());
    let mut stream = within(manager.send("a", "Once".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Once");
    assert_eq!(within(manager.get("a")).await.unwrap().unwrap().messages.len(), 2);
}

#[tokio::test]
async fn a_store_that_is_down_at_the_start_makes_the_host_not_ready_until_it_is_back() {
    let world = World::new();
    world.store.fail_next(StoreOp::ClaimLive, 3, &down());
    let quick = |limits: &mut tackroom::manager::Limits| (limits.retry_first_ms, limits.retry_longest_ms) = (100, 100);
    let builder = world.builder().ready_within(std::time::Duration::ZERO).limits(quick);
    let manager = within(builder.build()).await.unwrap();
    assert_eq!(within(manager.ready()).await.unwrap_err().code(), "unavailable");
    assert_eq!(within(manager.create(named("a"))).await.unwrap_err().code(), "unavailable");
    until("it is ready", async || manager.ready().await.is_ok()).await;
    idle(&manager, "a").await;
    world.store.fail_next(StoreOp::Load, 1, &down());
    assert_eq!(within(manager.get("a")).await.unwrap_err().code(), "store");
}

#[tokio::test]
async fn an_agent_that_does_not_end_its_turn_is_ended() {
    let world = World::new();
    let shorter = |limits: &mut tackroom::manager::Limits| limits.interrupt_timeout_ms = 100;
    let manager = within(world.builder().limits(shorter).build()).await.unwrap();
    idle(&manager, "a").await;
    world.agent.be_deaf(true);
    world.agent.next(FakeSlice::hangs());
    let stream = within(manager.send("a", "Hang".into())).await.unwrap();
    until_status(&manager, "a", Status::Busy).await;
    within(manager.interrupt("a")).await.unwrap();
    within(stream.done()).await.unwrap();
    until_status(&manager, "a", Status::Suspended).await;
    assert_eq!(world.agent.live(), Vec::<String>::new());
    world.agent.be_deaf(false);
    let mut stream = within(manager.send("a", "Again".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Again");
}

#[tokio::test]
async fn a_start_that_hangs_is_given_up_and_does_not_block_the_session() {
    let world = World::new();
    let shorter = |limits: &mut tackroom::manager::Limits| {
        (limits.start_timeout_ms, limits.acquire_timeout_ms) = (100, 100);
    };
    let manager = within(world.builder().limits(shorter).build()).await.unwrap();
    world.agent.hang(AgentOp::Start);
    within(manager.create(named("a"))).await.unwrap();
    until_status(&manager, "a", Status::Failed).await;
    world.agent.release(AgentOp::Start);
    let mut stream = within(manager.send("a", "Again".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Again");
    world.sandboxes.hang(SandboxOp::Acquire);
    within(manager.create(named("b"))).await.unwrap();
    until_status(&manager, "b", Status::Failed).await;
    world.sandboxes.release(SandboxOp::Acquire);
    until("the late sandbox is given back", async || world.sandboxes.held() == ["a"]).await;
    let mut stream = within(manager.send("b", "Again".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Again");
}

#[tokio::test]
async fn an_agent_that_exits_leaves_a_session_that_comes_back() {
    let world = World::new();
    let manager = world.start().await;
    idle(&manager, "a").await;
    assert!(world.agent.exit("a", "It was killed."));
    until_status(&manager, "a", Status::Suspended).await;
    let mut stream = within(manager.send("a", "Again".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Again");
}

#[tokio::test]
async fn a_sandbox_that_is_not_given_back_is_told_and_blocks_nobody() {
    let world = World::new();
    let manager = world.start().await;
    let mut events = manager.subscribe(None);
    idle(&manager, "a").await;
    world.sandboxes.fail_next(SandboxOp::Suspend, 1, &SandboxError::Failed("it is stuck".to_owned()));
    within(manager.suspend("a")).await.unwrap();
    loop {
        let event = within(events.next()).await.unwrap();
        if let SessionEvent::Warned { action, message, .. } = &*event.event {
            assert!(action == "release" && message.contains("it is stuck"), "{action}: {message}");
            break;
        }
    }
    let mut stream = within(manager.send("a", "Again".into())).await.unwrap();
    assert_eq!(text(&read(&mut stream).await), "Again");
}

/// An agent that panics when it is started, or when it is prompted.
struct Panics {
    at_start: AtomicBool,
}

#[async_trait]
impl Agent for Panics {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature is wider")]
    fn name(&self) -> &str {
        "panics"
    }

    async fn start(&self, _: StartAgent) -> Result<StartedAgent, AgentError> {
        assert!(!self.at_start.swap(false, Ordering::AcqRel), "no start today");
        Ok(StartedAgent { agent: Arc::new(PanicsInTurns), resume: Some(ResumeState::new("r")) })
    }
}

struct PanicsInTurns;

#[async_trait]
impl AgentSession for PanicsInTurns {
    async fn prompt(&self, prompt: Prompt, _: TurnSink) -> SliceEnd {
        assert!(prompt.text != "panic", "no turn today");
        SliceEnd { outcome: SliceOutcome::Finished, usage: Usage::default(), resume: None, not_taken: Vec::new() }
    }

    async fn answer(&self, _: Answers, _: TurnSink) -> SliceEnd {
        panic!("no answer today");
    }

    async fn interrupt(&self) -> Result<(), AgentError> {
        Ok(())
    }

    async fn stop(&self) -> Result<Option<ResumeState>, AgentError> {
        Ok(Some(ResumeState::new("r")))
    }

    async fn destroy(&self) {}
}

#[tokio::test]
async fn an_adapter_that_panics_costs_its_session_an_error() {
    let world = World::new();
    let agent = Arc::new(Panics { at_start: AtomicBool::new(true) });
    let manager = within(world.builder().agent(agent).build()).await.unwrap();
    within(manager.create(named("a"))).await.unwrap();
    let failed = until_status(&manager, "a", Status::Failed).await;
    assert!(failed.error.as_ref().unwrap().message.contains("no start today"), "{:?}", failed.error);
    let stream = within(manager.send("a", "panic".into())).await.unwrap();
    let done = within(stream.done()).await.unwrap();
    assert!(done.error.as_ref().unwrap().message.contains("no turn today"), "{:?}", done.error);
    idle(&manager, "b").await;
    let stream = within(manager.send("b", "calm".into())).await.unwrap();
    assert_eq!(within(stream.done()).await.unwrap().error, None);
}

#[tokio::test]
async fn an_engine_that_breaks_down_is_replaced_and_sessions_come_back() {
    let world = World::new();
    let reports = tempfile::tempdir().unwrap();
    let manager = within(world.builder().fault_on("a").fault_reports(reports.path()).build()).await.unwrap();
    idle(&manager, "a").await;
    idle(&manager, "b").await;
    world.agent.next(FakeSlice::hangs());
    let cut = within(manager.send("b", "Work".into())).await.unwrap();
    let error = within(manager.send("a", "My secret plan".into())).await.unwrap_err();
    assert_eq!(error.code(), "unavailable");
    assert_eq!(within(cut.done()).await.unwrap_err().code(), "unavailable");
    until("it is ready again", async || manager.ready().await.is_ok()).await;
    let faulted = summary(&manager, "a").await;
    assert_eq!((faulted.status, faulted.error.unwrap().code.as_str()), (Status::Suspended, "engine-fault"));
    let other = summary(&manager, "b").await;
    assert_eq!((other.status, other.error.unwrap().code.as_str()), (Status::Suspended, "host-stopped"));
    assert_eq!((world.agent.live(), world.sandboxes.held()), (Vec::new(), Vec::new()));
    for id in ["a", "b"] {
        let mut stream = within(manager.send(id, "Again".into())).await.unwrap();
        assert_eq!(text(&read(&mut stream).await), "Again");
    }
    let report = std::fs::read_dir(reports.path()).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("\"Send\"") && !report.contains("secret plan"), "{report}");
    assert_eq!(within(manager.stats()).await.unwrap().totals.engine_faults, 1);
}

#[tokio::test]
async fn a_journal_holds_every_input_and_no_resume_state() {
    let world = World::new();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.jsonl");
    let manager = within(world.builder().journal(&path).build()).await.unwrap();
    idle(&manager, "a").await;
    let update = UpdateSession { metadata: Some(r#"{"x":1}"#.to_owned()), ..UpdateSession::default() };
    within(manager.update("a", update)).await.unwrap();
    let stream = within(manager.send("a", "Say it".into())).await.unwrap();
    within(stream.done()).await.unwrap();
    within(manager.shutdown()).await;
    let journal = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0].get("config").is_some());
    assert_eq!(lines[1]["input"], "Start");
    assert!(lines.iter().any(|line| line.get("push").is_some()));
    assert!(journal.contains("Say it") && !journal.contains("fake:a"), "{journal}");
}
