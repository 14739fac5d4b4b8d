//! A whole host to measure: a manager on a store, with the scripted agent in sandboxes that are nothing but names.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tackroom::agents::scripted::{Scenario, ScriptedAgent};
use tackroom::manager::{CreateSession, SessionManager, TurnItem, TurnStream};
use tackroom::ports::{Agent, SessionSummary, Store};
use tackroom::stores::{SqliteOptions, SqliteStore};
use tackroom::testing::FakeSandboxes;

/// A turn is longer than this only where something is broken.
const LONGEST: Duration = Duration::from_mins(5);

/// The scripted agent with this scenario.
pub(crate) fn scripted(scenario: &str) -> Result<Arc<dyn Agent>> {
    Ok(Arc::new(ScriptedAgent::new(Scenario::parse(scenario)?)))
}

/// An agent that says a short sentence to everything.
pub(crate) fn short_answers() -> Result<Arc<dyn Agent>> {
    scripted(r#"{ "default": [{ "type": "text", "text": "It is done, and the tests pass.", "chars": 64 }] }"#)
}

/// The SQLite store in this file, as the program runs it.
pub(crate) async fn sqlite(file: &Path) -> Result<Arc<SqliteStore>> {
    Ok(Arc::new(SqliteStore::open(file, SqliteOptions::default()).await?))
}

/// A host that is ready.
pub(crate) async fn start(store: Arc<dyn Store>, agent: Arc<dyn Agent>, cache: &Path) -> Result<SessionManager> {
    let manager = SessionManager::builder()
        .store(store)
        .sandboxes(Arc::new(FakeSandboxes::new()))
        .agent(agent)
        .engine_cache(cache)
        .ready_within(LONGEST)
        .build()
        .await?;
    manager.ready().await.context("The host did not become ready.")?;
    Ok(manager)
}

/// A new session of this id.
pub(crate) async fn create(manager: &SessionManager, id: &str) -> Result<()> {
    manager.create(CreateSession { id: Some(id.to_owned()), ..CreateSession::default() }).await?;
    Ok(())
}

/// A whole turn, to its durable end.
pub(crate) async fn turn(manager: &SessionManager, session: &str, text: &str) -> Result<SessionSummary> {
    finish(manager.send(session, text.into()).await?).await
}

/// A new session that has had a turn and is idle.
pub(crate) async fn idle(manager: &SessionManager, id: &str) -> Result<()> {
    create(manager, id).await?;
    turn(manager, id, "Hello.").await.map(drop)
}

/// Reads a turn to its end.
pub(crate) async fn finish(mut stream: TurnStream) -> Result<SessionSummary> {
    let end = async {
        while stream.next().await.is_some() {}
        stream.done().await
    };
    let summary = tokio::time::timeout(LONGEST, end).await.context("A turn did not end.")??;
    match &summary.error {
        None => Ok(summary),
        Some(error) => anyhow::bail!("A turn ended badly: {}", error.message),
    }
}

/// Waits for the first chunk of a turn's agent.
pub(crate) async fn first_chunk(stream: &mut TurnStream) -> Result<()> {
    match tokio::time::timeout(LONGEST, stream.next()).await.context("A turn did not begin.")? {
        Some(TurnItem::Chunk { .. }) => Ok(()),
        other => anyhow::bail!("A turn did not begin with a chunk: {other:?}"),
    }
}
