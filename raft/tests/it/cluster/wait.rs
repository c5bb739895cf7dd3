//! Waiting with a limit: a test that hangs fails with a line that says where.

use std::time::Duration;

/// Longer than anything that a test waits for on a slow and busy machine: beside three writers that
/// keep the disk busy with syncs, tests of three seconds have taken 45.
const LIMIT: Duration = Duration::from_secs(180);
/// Between two looks.
const POLL: Duration = Duration::from_millis(10);

/// The future's output, or a panic.
pub(crate) async fn within<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what}: not within {LIMIT:?}"),
    }
}

/// Looks until there is an answer.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    within(what, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
        }
    })
    .await
}
