//! The batch window: how long a round waits for the clients that were just answered, so that they
//! share it with those that wait.
//!
//! Clients that send one request after the other come again at once when they are answered. Served
//! as they come they fall into two halves that alternate for ever, each waiting while the other is
//! served; and every round has a fixed price. So a round waits as long as clients keep coming: the
//! longer the last round took, the longer the next client may take, and all of them together twice
//! as long.
//!
//! Invariant: no request waits for longer than twice [`LONGEST_PAUSE`], and a client that is alone
//! does not wait at all. This file only computes the window; the waiting is done by its users.

use std::time::Duration;

use tokio::time::Instant;

/// How long the next client is waited for at least, however short rounds are: clients have more to
/// do than a round.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// And at most, however long they are.
const LONGEST_PAUSE: Duration = Duration::from_millis(3);

/// A round is over, and the clients that it answered are waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchWindow {
    expected: usize,
    seen: usize,
    pause: Duration,
    until: Instant,
    latest: Instant,
}

impl BatchWindow {
    /// Opens after a round that answered so many and took so long, while so many wait.
    pub(super) fn new(answered: usize, took: Duration, waiting: usize) -> Self {
        let now = Instant::now();
        let pause = took.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        Self {
            expected: answered + waiting,
            seen: waiting,
            pause,
            until: now + pause,
            latest: now + 2 * pause,
        }
    }

    /// Whether to wait on when so many wait, `most` of which can be served in a round.
    pub(super) fn stays_open(&mut self, waiting: usize, most: usize) -> bool {
        let now = Instant::now();
        if waiting > self.seen {
            (self.seen, self.until) = (waiting, self.latest.min(now + self.pause));
        }
        waiting < self.expected.min(most) && now < self.until
    }

    /// When it closes unless another client comes.
    pub(super) fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_micros(100);

    /// So many were answered in a round that took so many milliseconds, and so many wait; others
    /// come at these milliseconds. After how many milliseconds a round begins that so many can
    /// share at most, and with how many of them.
    async fn check(
        (answered, took, waiting): (usize, f64, usize),
        arrivals: &[f64],
        most: usize,
        expect: (f64, usize),
    ) {
        let begun = Instant::now();
        let mut window =
            BatchWindow::new(answered, Duration::from_secs_f64(took / 1000.0), waiting);
        let passed = || begun.elapsed().as_secs_f64() * 1000.0;
        let here =
            || waiting + arrivals.iter().filter(|arrival| **arrival <= passed() + 0.01).count();
        while window.stays_open(here(), most) {
            tokio::time::advance(STEP).await;
        }
        let found = ((passed() * 10.0).round() / 10.0, here());
        assert_eq!(
            found, expect,
            "{answered} answered in {took} ms, {waiting} wait, then {arrivals:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_all_are_back_or_none_comes_any_more() {
        check((0, 1.0, 0), &[], 9, (0.0, 0)).await;
        check((1, 1.0, 0), &[0.5], 9, (0.5, 1)).await;
        check((1, 1.0, 1), &[], 9, (1.0, 1)).await;
        check((2, 1.0, 3), &[0.2, 0.4], 9, (0.4, 5)).await;
        check((2, 1.0, 3), &[0.5], 9, (1.5, 4)).await;
        check((2, 1.0, 3), &[1.5], 9, (1.0, 3)).await;
        check((2, 1.0, 3), &[0.4], 4, (0.4, 4)).await;
        check((9, 1.0, 0), &[0.7, 1.4, 2.1], 9, (2.0, 2)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_lasts_longer_where_rounds_are_long() {
        check((2, 2.0, 1), &[], 9, (2.0, 1)).await;
        check((2, 2.0, 1), &[1.5], 9, (3.5, 2)).await;
        check((9, 2.0, 1), &[1.5, 3.0], 9, (4.0, 3)).await;
        check((2, 0.1, 1), &[], 9, (1.0, 1)).await;
        check((2, 50.0, 1), &[], 9, (3.0, 1)).await;
        check((9, 50.0, 1), &[2.0, 4.0, 5.5], 9, (6.0, 4)).await;
    }
}
