//! A host on fakes, and words for what tests do with it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tackroom::manager::{CreateSession, SessionManager, SessionManagerBuilder, SessionSummary, TurnItem, TurnStream};
use tackroom::ports::{Chunk, SessionSettings, SliceOutcome, Status};
use tackroom::stores::MemoryStore;
use tackroom::testing::{FakeAgent, FakeSandboxes, FakeSlice, FaultyStore};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

/// The adapters of a host. They outlive it, as a database and agents' files do.
pub(crate) struct World {
    pub(crate) store: FaultyStore,
    pub(crate) sandboxes: FakeSandboxes,
    pub(crate) agent: FakeAgent,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(FakeSandboxes::new())
    }

    pub(crate) fn with(sandboxes: FakeSandboxes) -> Self {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        Self { store, sandboxes, agent: FakeAgent::new() }
    }

    pub(crate) fn builder(&self) -> SessionManagerBuilder {
        SessionManager::builder()
            .store(Arc::new(self.store.clone()))
            .sandboxes(Arc::new(self.sandboxes.clone()))
            .agent(Arc::new(self.agent.clone()))
            .engine_cache(engine_cache())
    }

    pub(crate) async fn start(&self) -> SessionManager {
        within(self.builder().build()).await.unwrap()
    }
}

/// Compiled once for all tests.
pub(crate) fn engine_cache() -> PathBuf {
    std::env::temp_dir().join("tackroom-manager-tests-cache")
}

pub(crate) async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, wait).await.expect("this takes far longer than it may")
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds().await {
        assert!(start.elapsed() < LONG, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

pub(crate) async fn summary(manager: &SessionManager, id: &str) -> SessionSummary {
    within(manager.get(id)).await.unwrap().expect("the session is there").summary
}

pub(crate) async fn until_status(manager: &SessionManager, id: &str, status: Status) -> SessionSummary {
    until(status.as_str(), async || summary(manager, id).await.status == status).await;
    summary(manager, id).await
}

/// A new session that is ready for a message.
pub(crate) async fn idle(manager: &SessionManager, id: &str) -> SessionSummary {
    within(manager.create(named(id))).await.unwrap();
    until_status(manager, id, Status::Idle).await
}

pub(crate) fn named(id: &str) -> CreateSession {
    CreateSession { id: Some(id.to_owned()), metadata: None, settings: SessionSettings::default() }
}

/// Reads a stream to its end.
pub(crate) async fn read(stream: &mut TurnStream) -> Vec<TurnItem> {
    let mut items = Vec::new();
    while let Some(item) = within(stream.next()).await {
        items.push(item);
    }
    items
}

pub(crate) fn json(item: &TurnItem) -> Value {
    match item {
        TurnItem::Chunk { json, .. } => serde_json::from_str(json).unwrap(),
        TurnItem::Resync { message_json, .. } => serde_json::from_str(message_json).unwrap(),
    }
}

pub(crate) fn number(item: &TurnItem) -> Option<u64> {
    match item {
        TurnItem::Chunk { cursor, .. } => cursor.as_ref().map(|cursor| cursor.n),
        TurnItem::Resync { cursor, .. } => Some(cursor.n),
    }
}

/// The text that chunks add up to.
pub(crate) fn text(items: &[TurnItem]) -> String {
    items
        .iter()
        .map(json)
        .filter(|chunk| chunk["type"] == "text-delta")
        .map(|c| c["delta"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn kinds(items: &[TurnItem]) -> Vec<String> {
    items.iter().map(json).map(|chunk| chunk["type"].as_str().unwrap_or("message").to_owned()).collect()
}

/// The text of a kept message.
pub(crate) fn message_text(message: &str) -> String {
    let message: Value = serde_json::from_str(message).unwrap();
    let parts = message["parts"].as_array().unwrap();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

/// A slice that says a text and goes on until it is cut short.
pub(crate) fn says_and_goes_on(words: &[&str]) -> FakeSlice {
    let json = |text: &str| Chunk::Json(text.to_owned());
    let mut chunks = vec![json(r#"{"type":"start-step"}"#), json(r#"{"type":"text-start","id":"t"}"#)];
    chunks.extend(words.iter().map(|word| Chunk::TextDelta { id: "t".to_owned(), delta: (*word).into() }));
    FakeSlice { chunks, outcome: None }
}

/// A slice that asks for approval of several calls.
pub(crate) fn asks_twice() -> FakeSlice {
    let mut one = FakeSlice::asks("call-1", "Bash", &serde_json::json!({ "command": "ls" }));
    let two = FakeSlice::asks("call-2", "Bash", &serde_json::json!({ "command": "rm x" }));
    one.chunks.extend(two.chunks);
    one.outcome = Some(SliceOutcome::Paused);
    one
}
