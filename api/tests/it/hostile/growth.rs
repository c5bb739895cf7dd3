//! The growth of a request's work with its length, counted in time on the processor: not in time
//! that passes, which says more about what else the machine does.

use std::future::Future;

use rustix::time::{ClockId, clock_gettime};

/// How much larger the second request is.
pub(super) const FACTOR: usize = 16;
/// How much more work it may make. Work that grows with the square would be 256 times as much; what
/// grows evenly is counted as 16 times, give or take what the processor's caches do.
const MOST: u64 = 64;
/// How often it is counted before the answer is that it is too much.
const ATTEMPTS: usize = 3;

/// Nanoseconds that this thread has spent working.
pub(super) fn worked() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Says so when `work` for a large input is out of proportion to that for a small one.
pub(super) async fn excess<W: Future<Output = ()>>(
    case: &str,
    small: usize,
    work: impl Fn(usize) -> W,
) -> Option<String> {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let mut costs = [0; 2];
        for (cost, size) in costs.iter_mut().zip([small, small * FACTOR]) {
            let before = worked();
            work(size).await;
            *cost = worked() - before;
        }
        seen.push(costs);
        if costs[1] < costs[0].max(1) * MOST {
            return None;
        }
    }
    Some(format!("{case}: nanoseconds for {small} and {}: {seen:?}", small * FACTOR))
}
