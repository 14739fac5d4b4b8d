//! What a fake was told to do wrong: kept per operation, so that every fake orders its faults in the same words.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// Faults ordered for the operations `Op`, which fail with `E`.
#[derive(Debug)]
pub(super) struct Orders<Op, E>(Mutex<BTreeMap<Op, Order<E>>>);

#[derive(Debug)]
struct Order<E> {
    calls: u64,
    delay: Duration,
    hanging: watch::Sender<bool>,
    faults: VecDeque<E>,
}

impl<Op: Ord, E> Orders<Op, E> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// A call of `op` comes by: it is counted, waits, hangs and fails as was ordered.
    pub(super) async fn pass(&self, op: Op) -> Result<(), E>
    where
        Op: Copy,
    {
        let (delay, mut hanging) = self.with(op, |order| {
            order.calls += 1;
            (order.delay, order.hanging.subscribe())
        });
        if delay > Duration::ZERO {
            tokio::time::sleep(delay).await;
        }
        // The sender stays in the order, which lives as long as this call borrows it.
        let _ = hanging.wait_for(|hanging| !*hanging).await;
        self.with(op, |order| order.faults.pop_front()).map_or(Ok(()), Err)
    }

    pub(super) fn calls(&self, op: Op) -> u64 {
        self.with(op, |order| order.calls)
    }

    pub(super) fn fail_next(&self, op: Op, times: usize, error: &E)
    where
        E: Clone,
    {
        self.with(op, |order| order.faults.extend(std::iter::repeat_n(error.clone(), times)));
    }

    pub(super) fn delay(&self, op: Op, delay: Duration) {
        self.with(op, |order| order.delay = delay);
    }

    pub(super) fn hang(&self, op: Op, hanging: bool) {
        self.with(op, |order| order.hanging.send_replace(hanging));
    }

    fn with<T>(&self, op: Op, use_it: impl FnOnce(&mut Order<E>) -> T) -> T {
        let mut orders = lock(&self.0);
        let fresh =
            || Order { calls: 0, delay: Duration::ZERO, hanging: watch::Sender::new(false), faults: VecDeque::new() };
        use_it(orders.entry(op).or_insert_with(fresh))
    }
}

/// Locks; a test that panicked elsewhere says so itself.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
