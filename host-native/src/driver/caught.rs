//! An adapter that panics fails alone: its panic becomes a failure of the one operation.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs an operation; a panic in it is given as words. The operation is not polled again after one.
pub(super) async fn caught<T>(operation: impl Future<Output = T>) -> Result<T, String> {
    let mut operation = pin!(operation);
    // Nothing of the operation is used after a panic but dropping it, so no half-changed state can be seen.
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| operation.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(panic) => Poll::Ready(Err(words(panic.as_ref()))),
    })
    .await
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked").chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_told_in_its_own_words() {
        assert_eq!(caught(async { 1 }).await, Ok(1));
        let broken = caught(async {
            tokio::task::yield_now().await;
            assert!(std::env::args().count() == 0, "no {}", "luck");
        });
        assert_eq!(broken.await, Err("no luck".to_owned()));
    }
}
