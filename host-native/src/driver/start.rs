//! From a builder to a running host.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::journal::Journal;
use super::message::Reporter;
use super::replies::Replies;
use super::runtime::Runtime;
use super::timer::{Timer, wall_ms};
use super::turns::Turns;
use super::{Driver, Handle, Ports, ids};
use crate::engine::types::Config;
use crate::engine::{Cache, CompiledEngine};
use crate::manager::{BuildError, Hub, SessionManager, SessionManagerBuilder, Totals};

/// How long a start waits for what a crash left to be recovered.
const READY_WITHIN: Duration = Duration::from_secs(10);

fn millis(duration: Option<Duration>) -> Option<u64> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Starts the host.
pub(crate) async fn start(mut builder: SessionManagerBuilder) -> Result<SessionManager, BuildError> {
    let ports = Arc::new(Ports {
        store: builder.store.take().ok_or(BuildError::Missing("a store"))?,
        sandboxes: builder.sandboxes.take().ok_or(BuildError::Missing("sandboxes"))?,
        agent: builder.agent.take().ok_or(BuildError::Missing("an agent"))?,
        approver: builder.approver.take(),
    });
    let compiled = load(&builder).await?;
    let config = configure(&mut builder, &compiled, &ports)?;
    let engine = compiled.instance(&config)?;
    let mut journal = match &builder.journal {
        Some(path) => {
            let failed = |error| BuildError::Journal { path: path.clone(), error };
            Some(Journal::open(path).map_err(failed)?)
        }
        None => None,
    };
    if let Some(journal) = &mut journal {
        journal.config(&config);
    }
    let hub = Arc::new(Hub::new(wall_ms()));
    let (queue, inbox) = mpsc::unbounded_channel();
    let handle = Handle::new(queue.clone(), Arc::clone(&ports.store), Arc::clone(&hub));
    let reporter = Reporter { queue: queue.clone(), era: 0 };
    let driver = Driver {
        engine,
        compiled,
        runtime: Runtime::new(Arc::clone(&ports), reporter, &config.limits),
        config,
        ports,
        hub,
        queue,
        era: 0,
        timer: Timer::new(),
        replies: Replies::default(),
        turns: Turns::default(),
        slices: HashMap::new(),
        saving: HashSet::new(),
        ready: false,
        ready_waiters: Vec::new(),
        shutdown_waiters: Vec::new(),
        stop_at: None,
        ended: false,
        broken: None,
        faults_in_a_row: 0,
        totals: Totals::default(),
        journal,
        fault_reports: builder.fault_reports.take(),
        #[cfg(any(test, feature = "testing"))]
        fault_on: builder.fault_on.take(),
        #[cfg(not(any(test, feature = "testing")))]
        fault_on: None,
    };
    tokio::spawn(driver.run(inbox));
    let wait = builder.ready_within.unwrap_or(READY_WITHIN);
    // A host that is not ready in time says so to its callers.
    let _ = tokio::time::timeout(wait, handle.wait_until_ready()).await;
    Ok(SessionManager::new(handle))
}

async fn load(builder: &SessionManagerBuilder) -> Result<CompiledEngine, BuildError> {
    let cache = builder.engine_cache.as_ref().map_or_else(Cache::of_user, Cache::at);
    let loading = tokio::task::spawn_blocking(move || CompiledEngine::load(&cache));
    match loading.await {
        Ok(loaded) => Ok(loaded?),
        // Only a runtime that ends cuts it short.
        Err(_) => Err(BuildError::Missing("a running tokio runtime")),
    }
}

fn configure(
    builder: &mut SessionManagerBuilder,
    compiled: &CompiledEngine,
    ports: &Ports,
) -> Result<Config, BuildError> {
    let mut config = compiled.default_config()?;
    config.epoch = ids::mint();
    config.owner = builder.owner.take().unwrap_or_else(|| "tackroom".to_owned());
    config.capacity = ports.sandboxes.capacity();
    config.faulted = None;
    config.approver = ports.approver.is_some();
    config.idle_timeout_ms = millis(builder.idle_timeout);
    config.turn_timeout_ms = millis(builder.turn_timeout);
    config.close_suspended_after_ms = millis(builder.close_suspended_after);
    config.suspend_idle_when_full = builder.suspend_idle_when_full.unwrap_or(config.suspend_idle_when_full);
    config.suspend_waiting_when_full = builder.suspend_waiting_when_full.unwrap_or(config.suspend_waiting_when_full);
    if let Some(change) = builder.limits.take() {
        change(&mut config.limits);
    }
    Ok(config)
}
