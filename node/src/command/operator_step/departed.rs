//! API nodes whose pods are gone without having left: their machine was lost, or took too long.
//!
//! Invariant: of all members only learners of the chart count, which clients reach by the chart's Service and
//! members by the address of a pod; and only after their pod has been missing at each look for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use quorate_raft::{Member, Role};
use tokio::time::Instant;

/// Since when pods are missing.
#[derive(Debug, Default)]
pub(super) struct Departed {
    since: BTreeMap<u64, Instant>,
}

impl Departed {
    /// The nodes whose pods have been missing for so long. `service` is where clients reach the chart's
    /// nodes, `pods` the addresses of its pods of API nodes.
    pub(super) fn overdue(
        &mut self,
        members: &[Member],
        service: &str,
        pods: &BTreeSet<String>,
        limit: Duration,
    ) -> Vec<u64> {
        let now = Instant::now();
        let is_missing = |member: &&Member| {
            let host = member.address.rsplit_once(':').map_or("", |(host, _)| host);
            member.role == Role::Learner
                && member.api == service
                && host.parse::<IpAddr>().is_ok()
                && !pods.contains(host)
        };
        let missing: BTreeSet<u64> =
            members.iter().filter(is_missing).map(|member| member.node).collect();
        self.since.retain(|node, _| missing.contains(node));
        for node in missing {
            self.since.entry(node).or_insert(now);
        }
        let is_overdue = |since: &Instant| now - *since >= limit;
        self.since.iter().filter(|(_, since)| is_overdue(since)).map(|(node, _)| *node).collect()
    }
}
