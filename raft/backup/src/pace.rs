//! The pace of writing: a limit of bytes a second, so that a backup leaves the network to others.
//!
//! Invariant: over any stretch of time no more is written than the rate allows, and one object.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: u64,
    /// When what was taken so far is paid for.
    free_at: Mutex<Option<Instant>>,
}

impl Pace {
    /// 0 is any number.
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, free_at: Mutex::default() }
    }

    /// Waits until so many bytes may be written.
    pub(crate) async fn take(&self, bytes: u64) {
        if self.bytes_per_second == 0 {
            return;
        }
        let mut free_at = self.free_at.lock().await;
        let start = (*free_at).unwrap_or_else(Instant::now).max(Instant::now());
        let micros = bytes.saturating_mul(1_000_000) / self.bytes_per_second;
        *free_at = Some(start + Duration::from_micros(micros));
        drop(free_at);
        sleep_until(start).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_more_than_the_rate() {
        let (pace, start) = (Pace::new(1000), Instant::now());
        for _ in 0..5 {
            pace.take(500).await;
        }
        assert_eq!(start.elapsed().as_millis(), 2000);
        let (pace, start) = (Pace::new(0), Instant::now());
        pace.take(u64::MAX).await;
        assert_eq!(start.elapsed().as_millis(), 0);
    }
}
