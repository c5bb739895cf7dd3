//! The founding of a cluster on a state that was restored: the folder of its first member, as if it
//! had always been there.
//!
//! Invariants: the new cluster has an id of its own, so that members of the old one are refused, and
//! its revisions go on above all that clients may hold ([`restored_revision`]), with no history before
//! (watches from before are answered that they are compacted); nothing of the old membership counts.
//! The folder must be new: what an interrupted founding has left is for the caller to remove.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use quorate_env::disk::Disk;
use quorate_store::{Entry, NodeId, Revision};

use super::REVISION_MARGIN;
use super::error::RecoveryError;
use super::execute::begin_log;
use super::plan::RecoveryOptions;
use crate::cluster::ClusterId;
use crate::keys;
use crate::state_machine::{FoundedState, Offline, StateIdentity, StateMachineOptions};
use crate::types::{LogId, Peer, Vote};

/// The term of the entry that stands for all that was restored; the first vote is in the next one.
const RESTORED_TERM: u64 = 1;
/// The index of that entry.
const RESTORED_INDEX: u64 = 1;
/// How many more writes a second than any cluster makes, for [`restored_revision`].
const WRITES_A_SECOND: u64 = 100_000;

/// What a cluster is founded on.
#[derive(Debug, Clone)]
pub struct Founding {
    /// The first member.
    pub node: NodeId,
    /// The new cluster.
    pub cluster: ClusterId,
    /// The cluster that the state is of.
    pub old: ClusterId,
    /// The naming profile of both.
    pub naming: String,
    /// Where the member will be reached.
    pub peer: Peer,
    /// Where the folder is.
    pub disk: Arc<dyn Disk>,
    /// The folder of log and state, as for [`crate::replica::ReplicaOptions::new`].
    pub directory: PathBuf,
    /// Where revisions go on.
    pub revision: Revision,
    /// The clock of the state, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// Whether join tokens of the old cluster stay valid.
    pub keep_tokens: bool,
    /// Every key and what it holds.
    pub objects: BTreeMap<Bytes, Entry>,
}

/// Where the revisions of a restored cluster begin: above the newest one that is known of the old
/// cluster by ten times what a recovery adds, and above what a cluster that was restored from the same
/// backup earlier can have reached since, however fast it wrote.
#[must_use]
pub fn restored_revision(newest: Revision, now_ms: u64) -> Revision {
    let by_clock = (now_ms / 1000).saturating_mul(WRITES_A_SECOND);
    Revision::new(newest.get().max(by_clock) + 10 * REVISION_MARGIN)
}

/// Makes log and state of the first member.
///
/// # Errors
/// When the disk refuses.
pub async fn found(founding: Founding) -> Result<(), RecoveryError> {
    let Founding { node, cluster, old, naming, peer, disk, directory, .. } = founding;
    let mut objects = founding.objects;
    objects.retain(|key, _| {
        let token = key.starts_with(keys::TOKENS) && !founding.keep_tokens;
        !key.starts_with(keys::MEMBERS) && !token
    });
    let entry = |value: String| Entry {
        value: value.into(),
        created: founding.revision,
        modified: founding.revision,
    };
    objects.insert(keys::given_up(old).into(), entry(cluster.to_string()));
    objects.insert(Bytes::from_static(keys::LAST_NODE), entry(node.to_string()));
    let identity = StateIdentity { cluster, naming: naming.clone() };
    let options = StateMachineOptions::new(directory.join("state"), identity);
    disk.create_dir(&directory)
        .map_err(|source| RecoveryError::Io { path: directory.clone(), source })?;
    let mut state = Offline::open(&StateMachineOptions { disk: disk.clone(), ..options })?;
    let log_id = LogId::new(Vote::new(RESTORED_TERM, node).leader_id, RESTORED_INDEX);
    let (revision, time_ms) = (founding.revision, founding.time_ms);
    let founded = FoundedState { node, peer: peer.clone(), revision, time_ms, log_id };
    state
        .found(founded, objects)
        .map_err(|source| RecoveryError::Io { path: directory.join("state"), source })?;
    let options = RecoveryOptions { node, cluster, naming, peer, disk, directory };
    begin_log(&options, cluster, RESTORED_TERM + 1, Some(log_id)).await
}
