//! The recovery plan: what a member holds before it is recovered, for the operator to decide.
//!
//! Invariant: opening and looking changes nothing but what every start repairs (a torn end of the
//! log, for one).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::TryStreamExt;
use openraft::storage::{RaftLogReader, RaftLogStorage};
use quorate_env::Fatal;
use quorate_env::disk::Disk;
use quorate_store::{NodeId, Revision};

use super::error::RecoveryError;
use super::marker::{self, Marker};
use crate::cluster::ClusterId;
use crate::log::{self, Log};
use crate::membership::Role;
use crate::state_machine::{self, Offline};
use crate::types::{LogEntry, LogId, Payload, Peer};

/// The members of a cluster, and the voters among them.
type MembershipConfig = openraft::Membership<NodeId, Peer>;

/// Which member to recover, and where its data is.
#[derive(Debug, Clone)]
pub struct RecoveryOptions {
    /// Its node id, which it keeps.
    pub node: NodeId,
    /// The cluster that its configuration names.
    pub cluster: ClusterId,
    /// The naming profile of its data.
    pub naming: String,
    /// Where it will be reached.
    pub peer: Peer,
    /// Where the log is.
    pub disk: Arc<dyn Disk>,
    /// The folder of log and state, as for [`crate::replica::ReplicaOptions::new`].
    pub directory: PathBuf,
}

/// A member that is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostMember {
    /// Its node id.
    pub node: NodeId,
    /// Where it was.
    pub peer: Peer,
    /// Whether it voted.
    pub voter: bool,
}

/// What recovery starts from, and what it gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The cluster that is given up.
    pub old: ClusterId,
    /// The cluster that takes its place, when an earlier attempt has chosen it.
    pub begun: Option<ClusterId>,
    /// What the member was to the old quorum, by its last entry; `None` if it did not belong to it
    /// any more.
    pub role: Option<Role>,
    /// The term and the index of the last entry that it has.
    pub last: (u64, u64),
    /// How many of its entries are not in the state yet, and count as committed from now on.
    pub unapplied: u64,
    /// The revision of its state, without those.
    pub revision: Revision,
    /// The clock of that state, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// All other members of the old cluster, by the last entry; in the order of their ids.
    pub given_up: Vec<LostMember>,
}

/// A member that is open for recovery. Nothing has been changed yet.
pub struct Recovery {
    pub(super) options: RecoveryOptions,
    pub(super) marker: Option<Marker>,
    pub(super) state: Offline,
    /// The log of the old cluster; `None` when an earlier attempt no longer needs it.
    pub(super) log: Option<Log>,
    /// The last entry that counts.
    pub(super) last: LogId,
    /// The highest term that it knows.
    pub(super) term: u64,
    pub(super) plan: Plan,
}

impl Recovery {
    /// Opens a stopped member.
    pub async fn open(options: RecoveryOptions) -> Result<Self, RecoveryError> {
        let marker = marker::read(&*options.disk, &options.directory)?;
        let old = match marker {
            Some(marker) if !is_ours(&marker, &options) => {
                let (directory, Marker { node, old, .. }) = (options.directory, marker);
                return Err(RecoveryError::Foreign { directory, node, old });
            }
            Some(marker) => marker.old,
            None => options.cluster,
        };
        let (state, refounded) = open_state(&options, old, marker.map(|marker| marker.new))?;
        let mut log = None;
        let mut last = state.position().progress.log_id;
        let mut term = last.map_or(0, |last| last.leader_id.term);
        let mut members = state.position().membership.membership().clone();
        if !refounded {
            let mut opened = Log::open(log_options(&options, old)).await?;
            let failed = |source| RecoveryError::Io { path: options.directory.join("log"), source };
            let applied = last;
            last = continued(&mut opened, applied, &options).await?;
            members = newest_members(&mut opened, applied, last)
                .await
                .map_err(failed)?
                .unwrap_or(members);
            term = opened
                .read_vote()
                .await
                .map_err(failed)?
                .map_or(term, |vote| vote.leader_id.term.max(term));
            log = Some(opened);
        }
        let Some(last) = last else {
            return Err(RecoveryError::Empty { directory: options.directory });
        };
        let plan = plan(&options, (old, marker), &state, &members, last);
        Ok(Self { term: term.max(last.leader_id.term), options, marker, state, log, last, plan })
    }

    /// What there is, and what will be given up.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

fn is_ours(marker: &Marker, options: &RecoveryOptions) -> bool {
    marker.node == options.node && [marker.old, marker.new].contains(&options.cluster)
}

/// The state, and whether it is the new cluster's already.
fn open_state(
    options: &RecoveryOptions,
    old: ClusterId,
    new: Option<ClusterId>,
) -> Result<(Offline, bool), RecoveryError> {
    let open = |cluster| {
        let identity = state_machine::StateIdentity { cluster, naming: options.naming.clone() };
        let found =
            state_machine::StateMachineOptions::new(options.directory.join("state"), identity);
        Offline::open(&state_machine::StateMachineOptions { disk: options.disk.clone(), ..found })
    };
    match open(old) {
        Err(state_machine::StateOpenError::Cluster { found, .. }) if Some(found) == new => {
            Ok((open(found)?, true))
        }
        other => Ok((other?, false)),
    }
}

pub(super) fn log_options(options: &RecoveryOptions, cluster: ClusterId) -> log::LogOptions {
    let identity = log::LogIdentity { cluster, node: options.node };
    log::LogOptions::new(
        options.disk.clone(),
        options.directory.join("log"),
        identity,
        Fatal::new(),
    )
}

/// The last entry that log and state have together. A log that does not pass through the state's
/// last entry is a branch that died when the state came by snapshot; it counts for nothing.
async fn continued(
    log: &mut Log,
    applied: Option<LogId>,
    options: &RecoveryOptions,
) -> Result<Option<LogId>, RecoveryError> {
    let failed = |source| RecoveryError::Io { path: options.directory.join("log"), source };
    let state = log.get_log_state().await.map_err(failed)?;
    let next = applied.map_or(0, |applied| applied.index + 1);
    let Some(last) = state.last_log_id.filter(|last| last.index >= next) else {
        return Ok(applied);
    };
    if let Some(applied) = applied {
        let held = log.try_get_log_entries(applied.index..next).await.map_err(failed)?;
        if held.first().is_some_and(|entry| entry.log_id != applied) {
            return Ok(Some(applied));
        }
    }
    let first = state.last_purged_log_id.map_or(0, |purged| purged.index + 1);
    if first > next {
        return Err(RecoveryError::Gap {
            directory: options.directory.clone(),
            first,
            applied: next.saturating_sub(1),
        });
    }
    Ok(Some(last))
}

/// The members that the last change of them between these two entries has made; `None` if there is
/// none.
async fn newest_members(
    log: &mut Log,
    applied: Option<LogId>,
    last: Option<LogId>,
) -> io::Result<Option<MembershipConfig>> {
    let next = |entry: Option<LogId>| entry.map_or(0, |entry| entry.index + 1);
    let entries = log.entries_stream(next(applied)..next(last)).await;
    let newer = async |members, entry: LogEntry| {
        Ok(match entry.payload {
            Payload::Membership(newer) => Some(newer),
            _ => members,
        })
    };
    entries.try_fold(None, newer).await
}

fn plan(
    options: &RecoveryOptions,
    (old, marker): (ClusterId, Option<Marker>),
    state: &Offline,
    members: &MembershipConfig,
    last: LogId,
) -> Plan {
    let position = state.position();
    let voters: Vec<NodeId> = members.voter_ids().collect();
    let is_member = members.nodes().any(|(node, _)| *node == options.node);
    let role = if voters.contains(&options.node) { Role::Voter } else { Role::Learner };
    let given = |(node, peer): (&NodeId, &Peer)| LostMember {
        node: *node,
        peer: peer.clone(),
        voter: voters.contains(node),
    };
    let mut given_up: Vec<LostMember> =
        members.nodes().filter(|(node, _)| **node != options.node).map(given).collect();
    given_up.sort_by_key(|given| given.node);
    Plan {
        old,
        begun: marker.map(|marker| marker.new),
        role: is_member.then_some(role),
        last: (last.leader_id.term, last.index),
        unapplied: last.index
            - position.progress.log_id.map_or(0, |applied| applied.index.min(last.index)),
        revision: position.progress.revision,
        time_ms: position.progress.time_ms,
        given_up,
    }
}
