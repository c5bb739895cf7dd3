//! The state of a stopped member, for its recovery: applying what is left of the log, and making it another cluster's.
//!
//! Invariant: [`Offline::refound`] is one synced batch: the state is the old cluster's or the new one's, never in between. It
//! serves nobody.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use openraft::Membership;
use quorate_store::{Entry, NodeId, Retention, Revision, Snapshot};

use super::database::{Database, Generation, encode};
use super::error::{OpenError, invalid, storage};
use super::group::{Group, Live};
use super::keyspace::Key;
use super::load::{Loaded, load};
use super::options::Options;
use super::progress::Position;
use super::record;
use crate::types::{LogEntry, Peer, StoredMembership};
use crate::{ClusterId, keys};

/// A member's state that only recovery looks at.
pub(crate) struct Offline {
    database: Database,
    generation: Generation,
    live: Live,
    retention: Retention,
}

/// Whose the state becomes.
pub(crate) struct Founding {
    /// The cluster that it is of.
    pub(crate) old: ClusterId,
    /// The cluster that it will be of.
    pub(crate) cluster: ClusterId,
    /// The only voter.
    pub(crate) node: NodeId,
    /// Where that one is.
    pub(crate) peer: Peer,
    /// The last revision that was surely committed in the old cluster.
    pub(crate) certain: Revision,
    /// Where the new cluster's revisions begin.
    pub(crate) revision: Revision,
}

impl Offline {
    /// Opens and checks it, as a start does.
    pub(crate) fn open(options: &Options) -> Result<Self, OpenError> {
        let (database, generation) = Database::open(options)?;
        let Loaded { live, .. } = load(&database, &generation, 0)?;
        Ok(Self { database, generation, live, retention: options.retention })
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
                return Err(invalid(format_args!("entry {} cannot follow entry {}", entry.log_id.index, last.index)));
            }
            group.decide(&mut self.live, self.retention, entry);
            if group.is_full() {
                std::mem::take(&mut group).write(&self.database, &self.generation, &self.live.position)?;
            }
        }
        if !group.is_empty() {
            group.write(&self.database, &self.generation, &self.live.position)?;
        }
        Ok(())
    }

    /// Makes it the state of a new cluster, durably: its identity and its one voter, revisions that go on from a higher one with no
    /// history before it, and that revision for the objects that may differ from what was acknowledged at theirs.
    pub(crate) fn refound(&mut self, founding: Founding) -> io::Result<()> {
        let Founding { old, cluster, node, peer, certain, revision } = founding;
        let mut position = self.live.position.clone();
        let mut write = self.database.durable_batch();
        let mut buffer = Vec::new();
        for (key, before, after) in self.restamped(certain, revision).chain(self.notes((old, cluster), node, revision))
        {
            if let Some(before) = before {
                position.progress.discount(&key, &before);
            }
            position.progress.count(&key, &after);
            record::encode_object(&after, &mut buffer);
            write.insert(&self.generation.objects, &*key, &*buffer);
        }
        (position.progress.revision, position.progress.oldest) = (revision, revision);
        let voters = Membership::new(vec![[node].into()], BTreeMap::from([(node, peer)]));
        position.membership = StoredMembership::new(position.progress.log_id, voters.map_err(io::Error::other)?);
        write.insert(&self.database.meta, Key::Cluster.bytes(), cluster.bytes());
        write.insert(&self.database.meta, Key::Applied.bytes(), encode(&position.progress));
        write.insert(&self.database.meta, Key::Membership.bytes(), encode(&position.membership));
        write.commit().map_err(storage)?;
        self.live.position = position;
        Ok(())
    }

    /// The objects whose revision others may have given out for something else.
    fn restamped(&self, certain: Revision, revision: Revision) -> impl Iterator<Item = Change> + use<> {
        let snapshot = self.snapshot();
        let doubtful = snapshot.range(b"", None).filter(|(key, entry)| entry.modified > certain && !is_note(key));
        let change = |(key, before): (&Bytes, &Entry)| {
            let created = if before.created > certain { revision } else { before.created };
            let after = Entry { created, modified: revision, value: before.value.clone() };
            (key.clone(), Some(before.clone()), after)
        };
        doubtful.map(change).collect::<Vec<_>>().into_iter()
    }

    /// What the new cluster keeps of the old one: that it was given up, and which numbers its nodes had.
    /// The member itself may be newer than what it knows of the others.
    fn notes(
        &self,
        (old, cluster): (ClusterId, ClusterId),
        node: NodeId,
        revision: Revision,
    ) -> impl Iterator<Item = Change> + use<> {
        let last = self.live.state.get(keys::LAST_NODE).cloned();
        let counted = last.as_ref().and_then(|entry| std::str::from_utf8(&entry.value).ok()?.parse::<NodeId>().ok());
        let members = self.live.position.membership.membership().nodes().map(|(node, _)| *node).max();
        let largest = counted.max(members).max(Some(node)).unwrap_or_default().to_string();
        let entry = |value: String| Entry { value: value.into(), created: revision, modified: revision };
        let given_up = (Bytes::from(keys::given_up(old)), None, entry(cluster.to_string()));
        [given_up, (Bytes::from_static(keys::LAST_NODE), last, entry(largest))].into_iter()
    }
}

/// A key, what it held, and what it will hold.
type Change = (Bytes, Option<Entry>, Entry);

/// Whether [`Offline::notes`] writes the key.
fn is_note(key: &[u8]) -> bool {
    key == keys::LAST_NODE
}
