//! How long a follower waits for the answer of a leader: not as long where another one leads meanwhile,
//! since a deposed leader may be frozen and keep its connections.
//!
//! Invariant: who stops waiting does not know whether the request was carried out.

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

/// Between two looks who leads.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// So many of them an answer may take.
const MOST_LOOKS: u32 = 12;

/// Why the follower waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Impatience {
    /// The leader took too long.
    Silent,
    /// Another one leads, and the one that was asked has had time for an answer under way.
    Deposed,
}

/// What the leader answers, which is the one that was asked for as long as `leads` says so.
pub(crate) async fn answered<T>(
    asking: impl Future<Output = T>,
    leads: impl Fn() -> bool,
) -> Result<T, Impatience> {
    let mut asking = pin!(asking);
    let mut was_deposed = false;
    for _ in 0..MOST_LOOKS {
        match timeout(LOOK_INTERVAL, asking.as_mut()).await {
            Ok(answer) => return Ok(answer),
            Err(_) if was_deposed => return Err(Impatience::Deposed),
            Err(_) => was_deposed = !leads(),
        }
    }
    Err(Impatience::Silent)
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_waited_for_as_long_as_its_leader_leads() {
        let check = async |answer_s: f32, deposed_s: f32, expect, expect_s: f32| {
            let begin = Instant::now();
            let asking = sleep(Duration::from_secs_f32(answer_s));
            let leads = || begin.elapsed() < Duration::from_secs_f32(deposed_s);
            assert_eq!(answered(asking, leads).await, expect, "{answer_s} {deposed_s}");
            let took = begin.elapsed().as_secs_f32();
            assert!((took - expect_s).abs() < 0.1, "{answer_s} {deposed_s}: it took {took} s");
        };
        check(0.2, 90., Ok(()), 0.2).await;
        check(11.5, 90., Ok(()), 11.5).await;
        check(90., 90., Err(Impatience::Silent), 12.).await;
        check(90., 1.5, Err(Impatience::Deposed), 3.).await;
        check(90., 0., Err(Impatience::Deposed), 2.).await;
        check(2.5, 1.5, Ok(()), 2.5).await;
    }
}
