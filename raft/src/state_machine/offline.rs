//! The state of a stopped member, for its recovery: applying the rest of the log, and making it
//! another cluster's.
//!
//! Invariant: [`Offline::move_to_cluster`] is one synced write: the state is the old cluster's or
//! the new one's, never in between. It serves no reads.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use openraft::Membership;
use quorate_store::{Entry, NodeId, Retention, Revision, Snapshot};

use super::checkpoint::Checkpoint;
use super::error::{StateOpenError, invalid, storage};
use super::group::{Group, Live};
use super::journal::Journal;
use super::load::{Loaded, load};
use super::options::{StateIdentity, StateMachineOptions};
use super::progress::Position;
use crate::cluster::ClusterId;
use crate::keys;
use crate::types::{LogEntry, LogId, Peer, StoredMembership};

/// A member's state that only recovery looks at.
pub(crate) struct Offline {
    identity: StateIdentity,
    journal: Arc<Journal>,
    live: Live,
    retention: Retention,
    segment_bytes: u64,
}

/// The cluster that takes the state over.
pub(crate) struct NewCluster {
    /// The cluster that it is of.
    pub(crate) old: ClusterId,
    /// The cluster that it will be of.
    pub(crate) cluster: ClusterId,
    /// The only voter.
    pub(crate) node: NodeId,
    /// Its addresses.
    pub(crate) peer: Peer,
    /// The last revision that was surely committed in the old cluster.
    pub(crate) certain: Revision,
    /// Where the new cluster's revisions begin.
    pub(crate) revision: Revision,
}

/// What a state that was restored is the beginning of.
pub(crate) struct FoundedState {
    /// The only voter.
    pub(crate) node: NodeId,
    /// Its addresses.
    pub(crate) peer: Peer,
    /// Where revisions go on.
    pub(crate) revision: Revision,
    /// The clock of the state.
    pub(crate) time_ms: u64,
    /// The entry that stands for all that led here.
    pub(crate) log_id: LogId,
}

impl Offline {
    /// Opens and checks it, as a start does.
    pub(crate) fn open(options: &StateMachineOptions) -> Result<Self, StateOpenError> {
        let Loaded { journal, live, .. } =
            load(&StateMachineOptions { warm_bytes: 0, ..options.clone() })?;
        let (identity, retention, segment_bytes) =
            (options.identity.clone(), options.retention, options.segment_bytes);
        Ok(Self { identity, journal, live, retention, segment_bytes })
    }

    /// How far it is.
    pub(crate) fn position(&self) -> &Position {
        &self.live.position
    }

    /// What it holds.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.live.state.snapshot()
    }

    /// Applies entries, which must follow the last one.
    pub(crate) fn apply(&mut self, entries: Vec<LogEntry>) -> io::Result<()> {
        let mut group = Group::default();
        for entry in entries {
            if let Some(last) = self.live.position.progress.log_id
                && entry.log_id.index != last.index + 1
            {
                return Err(invalid(format_args!(
                    "entry {} cannot follow entry {}",
                    entry.log_id.index, last.index
                )));
            }
            group.decide(&mut self.live, self.retention, entry);
            if group.is_full() {
                self.journal.append(std::mem::take(&mut group).batches(), &self.live.position)?;
            }
        }
        if !group.is_empty() {
            self.journal.append(group.batches(), &self.live.position)?;
        }
        Ok(())
    }

    /// Makes it the state of a new cluster, durably: its identity and its one voter, revisions that
    /// go on from a higher one with no history before it, and that revision for the objects that
    /// may differ from what was acknowledged at theirs.
    pub(crate) fn move_to_cluster(&mut self, target: NewCluster) -> io::Result<()> {
        let NewCluster { old, cluster, node, peer, certain, revision } = target;
        let mut position = self.live.position.clone();
        let mut objects: BTreeMap<Bytes, Entry> = self
            .snapshot()
            .range(b"", None)
            .map(|(key, entry)| (key.clone(), entry.clone()))
            .collect();
        for (key, before, after) in self
            .restamped_objects(certain, revision)
            .chain(self.cluster_keys((old, cluster), node, revision))
        {
            if let Some(before) = before {
                position.progress.discount(&key, &before);
            }
            position.progress.count(&key, &after);
            objects.insert(key, after);
        }
        (position.progress.revision, position.progress.oldest) = (revision, revision);
        let voters = Membership::new(vec![[node].into()], BTreeMap::from([(node, peer)]));
        position.membership =
            StoredMembership::new(position.progress.log_id, voters.map_err(io::Error::other)?);
        self.write_generation(cluster, Snapshot::of(revision, objects), &position)?;
        self.live.position = position;
        Ok(())
    }

    /// Makes it hold these objects, durably: the beginning of a new cluster, with no history before.
    pub(crate) fn found(
        &mut self,
        target: FoundedState,
        objects: BTreeMap<Bytes, Entry>,
    ) -> io::Result<()> {
        let FoundedState { node, peer, revision, time_ms, log_id } = target;
        let mut position = Position::default();
        objects.iter().for_each(|(key, entry)| position.progress.count(key, entry));
        (position.progress.revision, position.progress.oldest) = (revision, revision);
        (position.progress.time_ms, position.progress.log_id) = (time_ms, Some(log_id));
        let voters = Membership::new(vec![[node].into()], BTreeMap::from([(node, peer)]));
        position.membership =
            StoredMembership::new(Some(log_id), voters.map_err(io::Error::other)?);
        let cluster = self.identity.cluster;
        self.write_generation(cluster, Snapshot::of(revision, objects), &position)?;
        self.live.position = position;
        Ok(())
    }

    /// Writes this state into a generation of its own, and makes that current and the new
    /// cluster's.
    fn write_generation(
        &mut self,
        cluster: ClusterId,
        state: Snapshot,
        position: &Position,
    ) -> io::Result<()> {
        let folder = Arc::clone(self.journal.folder());
        let generation = folder.new_generation();
        let journal = Journal::new(
            Arc::clone(&folder),
            generation,
            self.segment_bytes,
            VecDeque::new(),
            0,
            None,
        );
        journal.append(&[], position)?;
        let identity = StateIdentity { cluster, ..self.identity.clone() };
        let checkpoint =
            Checkpoint { state, position: position.clone(), sequence: journal.sequence() };
        checkpoint.write(&journal, &identity, || true)?;
        folder.switch(generation, Some(cluster)).map_err(storage)?;
        let replaced = std::mem::replace(&mut self.journal, Arc::new(journal));
        self.identity = identity;
        folder.remove_generation(replaced.generation());
        Ok(())
    }

    /// The objects whose revision lost members may have given to something else.
    fn restamped_objects(
        &self,
        certain: Revision,
        revision: Revision,
    ) -> impl Iterator<Item = ObjectChange> + use<> {
        let snapshot = self.snapshot();
        let doubtful = snapshot
            .range(b"", None)
            .filter(|(key, entry)| entry.modified > certain && !is_cluster_key(key));
        let change = |(key, before): (&Bytes, &Entry)| {
            let created = if before.created > certain { revision } else { before.created };
            let after = Entry { created, modified: revision, value: before.value.clone() };
            (key.clone(), Some(before.clone()), after)
        };
        doubtful.map(change).collect::<Vec<_>>().into_iter()
    }

    /// The keys by which the new cluster knows the old one: that it was given up, and which ids its
    /// nodes had. The member itself may be newer than what it knows of the others.
    fn cluster_keys(
        &self,
        (old, cluster): (ClusterId, ClusterId),
        node: NodeId,
        revision: Revision,
    ) -> impl Iterator<Item = ObjectChange> + use<> {
        let last = self.live.state.get(keys::LAST_NODE).cloned();
        let counted = last
            .as_ref()
            .and_then(|entry| std::str::from_utf8(&entry.value).ok()?.parse::<NodeId>().ok());
        let members =
            self.live.position.membership.membership().nodes().map(|(node, _)| *node).max();
        let largest = counted.max(members).max(Some(node)).unwrap_or_default().to_string();
        let entry =
            |value: String| Entry { value: value.into(), created: revision, modified: revision };
        let given_up = (Bytes::from(keys::given_up(old)), None, entry(cluster.to_string()));
        [given_up, (Bytes::from_static(keys::LAST_NODE), last, entry(largest))].into_iter()
    }
}

/// A key, what it held, and what it will hold.
type ObjectChange = (Bytes, Option<Entry>, Entry);

/// Whether [`Offline::cluster_keys`] writes the key.
fn is_cluster_key(key: &[u8]) -> bool {
    key == keys::LAST_NODE
}
