//! A store that fails when it is told to, so that applications can test what they do then.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::ports::{
    AuditRecord, Claimed, DueSessions, ListPage, ListQuery, Save, SessionRecord, Store, StoreError, StoredSession,
};

/// One operation of a [`Store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreOp {
    /// [`Store::save`].
    Save,
    /// [`Store::claim_live`].
    ClaimLive,
    /// [`Store::claim`].
    Claim,
    /// [`Store::renew`].
    Renew,
    /// [`Store::load`].
    Load,
    /// [`Store::audit`].
    Audit,
    /// [`Store::list`].
    List,
    /// [`Store::list_due`].
    ListDue,
    /// [`Store::delete`].
    Delete,
    /// [`Store::ready`].
    Ready,
}

/// A store around another, with faults to order. Clones share their faults and counts.
///
/// Without an order it does what the store inside does. Each call first counts, then waits for its latency, then while
/// its operation hangs, and then takes the oldest fault ordered for its operation.
///
/// ```
/// # use std::sync::Arc;
/// # use tackroom::ports::{Store, StoreError};
/// # use tackroom::stores::MemoryStore;
/// # use tackroom::testing::{FaultyStore, StoreOp, sample_save};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let store = FaultyStore::new(Arc::new(MemoryStore::new()));
/// store.commit_but_fail_next(StoreOp::Save, 1, &StoreError::Unavailable("timed out".into()));
///
/// let save = sample_save("a", 1);
/// assert!(store.save(save.clone()).await.is_err());
/// // It had been written all the same, so the same write again succeeds.
/// assert!(store.save(save).await.is_ok());
/// # }
/// ```
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    orders: Arc<Mutex<BTreeMap<StoreOp, Orders>>>,
}

struct Orders {
    calls: u64,
    latency: Duration,
    hanging: watch::Sender<bool>,
    faults: VecDeque<Fault>,
}

enum Fault {
    Before(StoreError),
    After(StoreError),
}

impl Default for Orders {
    fn default() -> Self {
        Self { calls: 0, latency: Duration::ZERO, hanging: watch::Sender::new(false), faults: VecDeque::new() }
    }
}

impl FaultyStore {
    /// A store that does what `inner` does, until told otherwise.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, orders: Arc::default() }
    }

    /// Lets the next `times` calls of `op` fail without reaching the store inside.
    pub fn fail_next(&self, op: StoreOp, times: usize, error: &StoreError) {
        self.order(op, |orders| orders.faults.extend((0..times).map(|_| Fault::Before(error.clone()))));
    }

    /// Lets the next `times` calls of `op` be carried out and then report `error`, as a write does whose answer was
    /// lost. Where the store inside fails too, its own error is reported.
    pub fn commit_but_fail_next(&self, op: StoreOp, times: usize, error: &StoreError) {
        self.order(op, |orders| orders.faults.extend((0..times).map(|_| Fault::After(error.clone()))));
    }

    /// Lets calls of `op` hang, before they reach the store inside, until [`release`](Self::release).
    pub fn hang(&self, op: StoreOp) {
        self.order(op, |orders| orders.hanging.send_replace(true));
    }

    /// Lets the calls of `op` that hang, and those to come, go on.
    pub fn release(&self, op: StoreOp) {
        self.order(op, |orders| orders.hanging.send_replace(false));
    }

    /// Lets each call of `op` take `latency` longer, from now on.
    pub fn delay(&self, op: StoreOp, latency: Duration) {
        self.order(op, |orders| orders.latency = latency);
    }

    /// Calls of `op` so far, those that failed or hang included.
    #[must_use]
    pub fn calls(&self, op: StoreOp) -> u64 {
        self.order(op, |orders| orders.calls)
    }

    /// Forgets every order: faults, hanging and latency. Counts stay.
    pub fn heal(&self) {
        for orders in self.lock().values_mut() {
            orders.faults.clear();
            orders.latency = Duration::ZERO;
            orders.hanging.send_replace(false);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<StoreOp, Orders>> {
        // Orders are changed in one step each, so a poisoned lock guards whole ones.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order<T>(&self, op: StoreOp, change: impl FnOnce(&mut Orders) -> T) -> T {
        change(self.lock().entry(op).or_default())
    }

    async fn run<T>(&self, op: StoreOp, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let (latency, mut hanging) = self.order(op, |orders| {
            orders.calls += 1;
            (orders.latency, orders.hanging.subscribe())
        });
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        // The sender lives as long as this store does, so waiting ends only with a release.
        let _ = hanging.wait_for(|hangs| !hangs).await;
        match self.order(op, |orders| orders.faults.pop_front()) {
            None => call.await,
            Some(Fault::Before(error)) => Err(error),
            Some(Fault::After(error)) => call.await.and(Err(error)),
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn save(&self, save: Save) -> Result<(), StoreError> {
        self.run(StoreOp::Save, self.inner.save(save)).await
    }

    async fn claim_live(
        &self,
        owner: &str,
        lease_ms: u64,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Claimed, StoreError> {
        self.run(StoreOp::ClaimLive, self.inner.claim_live(owner, lease_ms, after, limit)).await
    }

    async fn claim(&self, session: &str, owner: &str, lease_ms: u64) -> Result<Option<StoredSession>, StoreError> {
        self.run(StoreOp::Claim, self.inner.claim(session, owner, lease_ms)).await
    }

    async fn renew(&self, owner: &str, lease_ms: u64, sessions: &[(String, u64)]) -> Result<Vec<String>, StoreError> {
        self.run(StoreOp::Renew, self.inner.renew(owner, lease_ms, sessions)).await
    }

    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.run(StoreOp::Load, self.inner.load(session)).await
    }

    async fn audit(&self, session: &str, after_seq: Option<u64>, limit: u32) -> Result<Vec<AuditRecord>, StoreError> {
        self.run(StoreOp::Audit, self.inner.audit(session, after_seq, limit)).await
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.run(StoreOp::List, self.inner.list(query)).await
    }

    async fn list_due(&self, for_ms: u64, limit: u32) -> Result<DueSessions, StoreError> {
        self.run(StoreOp::ListDue, self.inner.list_due(for_ms, limit)).await
    }

    async fn delete(&self, session: &str, generation: u64) -> Result<(), StoreError> {
        self.run(StoreOp::Delete, self.inner.delete(session, generation)).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.run(StoreOp::Ready, self.inner.ready()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::MemoryStore;
    use crate::testing::sample_save;

    fn down() -> StoreError {
        StoreError::Unavailable("down".to_owned())
    }

    #[tokio::test]
    async fn faults_are_taken_in_the_order_they_were_given() {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        store.fail_next(StoreOp::Save, 1, &down());
        store.commit_but_fail_next(StoreOp::Save, 1, &down());
        assert_eq!(store.save(sample_save("a", 1)).await, Err(down()));
        assert_eq!(store.load("a").await, Ok(None));
        assert_eq!(store.save(sample_save("a", 1)).await, Err(down()));
        assert!(store.load("a").await.unwrap().is_some());
        assert_eq!(store.save(sample_save("a", 1)).await, Ok(()));
        assert_eq!(store.calls(StoreOp::Save), 3);
    }

    #[tokio::test]
    async fn a_hanging_call_goes_on_when_released() {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        store.hang(StoreOp::Save);
        let hanging = tokio::spawn({
            let store = store.clone();
            async move { store.save(sample_save("a", 1)).await }
        });
        while store.calls(StoreOp::Save) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.load("a").await, Ok(None));
        assert!(!hanging.is_finished());
        store.release(StoreOp::Save);
        assert_eq!(hanging.await.unwrap(), Ok(()));
        assert!(store.load("a").await.unwrap().is_some());
    }

    #[tokio::test]
    async fn latency_is_added() {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        let latency = Duration::from_millis(30);
        store.delay(StoreOp::Ready, latency);
        let before = std::time::Instant::now();
        store.ready().await.unwrap();
        assert!(before.elapsed() >= latency);
        store.delay(StoreOp::Ready, Duration::from_hours(1));
        store.heal();
        store.ready().await.unwrap();
    }
}
