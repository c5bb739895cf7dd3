//! Those who wait and those who were just answered go on together.
//!
//! Clients that ask one thing after the other come again at once when they are answered. Served as they come they fall into two halves that
//! take turns for ever, each waiting while the other is served; and every turn has its price, whoever shares it.
//!
//! Invariant: nobody waits for longer than [`GATHER_TIME`], and who is alone not at all. This file keeps count and waits for nothing.

use std::time::Duration;

use tokio::time::Instant;

/// How long those who wait when others are answered wait for these to come again.
const GATHER_TIME: Duration = Duration::from_millis(1);

/// A turn is over, and those who may come again are waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gathering {
    everybody: usize,
    until: Instant,
}

impl Gathering {
    /// Begins when so many were answered and so many wait.
    pub(super) fn new(answered: usize, waiting: usize) -> Self {
        Self { everybody: answered + waiting, until: Instant::now() + GATHER_TIME }
    }

    /// Whether it is worth waiting on when so many wait, `most` of whom can be served in a turn.
    pub(super) fn goes_on(&self, waiting: usize, most: usize) -> bool {
        waiting < self.everybody.min(most) && Instant::now() < self.until
    }

    /// When it is over at the latest.
    pub(super) fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_everybody_is_here_or_it_takes_too_long() {
        let check =
            async |(answered, waiting): (usize, usize), after: Duration, (here, most): (usize, usize), expect| {
                let gathering = Gathering::new(answered, waiting);
                tokio::time::advance(after).await;
                assert_eq!(gathering.goes_on(here, most), expect, "{answered} {waiting} {after:?} {here} {most}");
            };
        let (now, soon, late) = (Duration::ZERO, GATHER_TIME / 2, GATHER_TIME);
        check((1, 0), now, (0, 9), true).await;
        check((1, 0), now, (1, 9), false).await;
        check((2, 3), soon, (4, 9), true).await;
        check((2, 3), soon, (5, 9), false).await;
        check((2, 3), soon, (4, 4), false).await;
        check((2, 3), late, (3, 9), false).await;
    }
}
