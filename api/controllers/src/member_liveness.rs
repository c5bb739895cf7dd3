//! The liveness of members: which of them answer the leader, and so serve the API.
//!
//! Invariants: a member's silence counts only while this controller observed it, so neither a
//! leader that stood still nor one that has just begun removes a member; nor does a leader bring
//! one back that it has not heard itself.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

/// A member that has not answered for this long is not published.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// Observations that are further apart than this are a standstill of the leader.
const MAX_OBSERVATION_GAP: Duration = Duration::from_secs(10);

/// Where a member serves the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiServer {
    /// Its advertised address.
    pub address: SocketAddr,
    /// How long ago it answered; `None` when it has not answered this leader yet.
    pub heard: Option<Duration>,
}

/// The members that serve the API.
pub trait ApiServers: Debug + Send + Sync {
    /// All members.
    fn servers(&self) -> Vec<ApiServer>;
}

impl ApiServers for Vec<SocketAddr> {
    fn servers(&self) -> Vec<ApiServer> {
        self.iter()
            .map(|address| ApiServer { address: *address, heard: Some(Duration::ZERO) })
            .collect()
    }
}

/// What one controller has observed of the members.
#[derive(Debug, Default)]
pub(super) struct MemberLiveness {
    observed_at: Option<Instant>,
    /// Since when each member has been silent while this controller observed it.
    silent_since: HashMap<SocketAddr, Instant>,
}

impl MemberLiveness {
    /// The addresses to publish: members that answer, that are silent only for a moment, and that
    /// are published already and cannot be judged yet.
    pub(super) fn published(
        &mut self,
        servers: &[ApiServer],
        before: &HashSet<SocketAddr>,
        now: Instant,
    ) -> Vec<SocketAddr> {
        let paused = self
            .observed_at
            .is_none_or(|last| now.saturating_duration_since(last) > MAX_OBSERVATION_GAP);
        self.observed_at = Some(now);
        self.silent_since.retain(|address, _| {
            !paused && servers.iter().any(|server| server.address == *address)
        });
        let mut leads = |server: &ApiServer| {
            let since = self.silent_since.entry(server.address).or_insert(now);
            if let Some(answered) = server.heard.and_then(|ago| now.checked_sub(ago)) {
                *since = answered.max(*since);
            }
            let is_silent = now.saturating_duration_since(*since) >= SILENCE_LIMIT;
            let is_heard = server.heard.is_some_and(|ago| ago < SILENCE_LIMIT);
            !is_silent && (is_heard || before.contains(&canonical(server.address)))
        };
        servers.iter().filter(|server| leads(server)).map(|server| server.address).collect()
    }
}

/// The address as it is published.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One member at these seconds: how long ago it answered, and whether it is published then.
    fn check(published: bool, looks: &[(u64, Option<u64>, bool)]) {
        let address = SocketAddr::from(([10, 0, 0, 1], 6443));
        let (mut liveness, start) =
            (MemberLiveness::default(), Instant::now() + Duration::from_secs(1000));
        let mut before: HashSet<_> = published.then_some(address).into_iter().collect();
        for (second, heard, expect) in looks {
            let server = ApiServer { address, heard: heard.map(Duration::from_secs) };
            let left = liveness.published(&[server], &before, start + Duration::from_secs(*second));
            before = left.into_iter().collect();
            assert_eq!(before.len(), usize::from(*expect), "at {second} of {looks:?}");
        }
    }

    /// The same observation every two seconds until then.
    fn looks(
        from: u64,
        until: u64,
        heard: impl Fn(u64) -> Option<u64>,
        expect: bool,
    ) -> Vec<(u64, Option<u64>, bool)> {
        (from..until).step_by(2).map(|second| (second, heard(second), expect)).collect()
    }

    #[test]
    fn who_is_silent_is_left_out() {
        let silent = |from| move |second| Some(second - from);
        let calm = looks(0, 10, |_| Some(0), true);
        let going = looks(10, 38, silent(8), true);
        check(
            true,
            &[calm, going, looks(38, 60, silent(8), false), looks(60, 64, |_| Some(1), true)]
                .concat(),
        );
    }

    #[test]
    fn who_was_not_heard_yet_stays_as_it_was() {
        check(true, &[looks(0, 30, |_| None, true), looks(30, 50, |_| None, false)].concat());
        check(false, &[looks(0, 50, |_| None, false), looks(50, 54, |_| Some(0), true)].concat());
        check(true, &[looks(0, 20, |_| None, true), looks(20, 40, |_| Some(0), true)].concat());
        // Unheard again, by a leader that takes over from itself.
        check(true, &[looks(0, 10, |_| Some(0), true), looks(10, 38, |_| None, true)].concat());
        // A new run knows from Raft how long it has been silent, and judges only what it sees
        // itself.
        check(
            true,
            &[looks(0, 30, |second| Some(100 + second), true), looks(30, 34, |_| Some(130), false)]
                .concat(),
        );
        check(false, &looks(0, 50, |second| Some(100 + second), false));
    }

    #[test]
    fn a_leader_that_stood_still_takes_nobody_away() {
        let calm = looks(0, 10, |_| Some(0), true);
        check(
            true,
            &[calm.clone(), vec![(50, Some(42), true)], looks(52, 60, |_| Some(0), true)].concat(),
        );
        // Deposed meanwhile, it hears no member.
        check(
            true,
            &[calm.clone(), vec![(50, Some(42), true)], looks(52, 80, |_| None, true)].concat(),
        );
        // It goes on silent from there, and that counts from there.
        let silent = |second| Some(second - 8);
        check(true, &[calm, looks(50, 80, silent, true), looks(80, 84, silent, false)].concat());
        // A few observations that took long are no standstill.
        let slow: Vec<_> = (0..3).map(|look| (8 + 9 * look, Some(9 * look), true)).collect();
        check(
            true,
            &[vec![(0, Some(0), true)], slow, vec![(35, Some(27), true), (38, Some(30), false)]]
                .concat(),
        );
    }

    #[test]
    fn who_left_and_came_back_is_new() {
        let address = SocketAddr::from(([10, 0, 0, 1], 6443));
        let (mut liveness, now) = (MemberLiveness::default(), Instant::now());
        let before = HashSet::from([address]);
        let mut at = |second, servers: &[ApiServer]| {
            liveness.published(servers, &before, now + Duration::from_secs(second)).len()
        };
        let unheard = [ApiServer { address, heard: None }];
        assert_eq!(
            [at(0, &unheard), at(10, &unheard), at(20, &[]), at(30, &unheard), at(40, &unheard)],
            [1, 1, 0, 1, 1]
        );
    }
}
