//! The on-disk keyspace: every keyspace and every key that the state machine's database holds.
//!
//! A *generation* is one complete copy of objects and history. A snapshot is received into a new generation beside the
//! serving one and becomes current by one write to [`Key::Generation`]; any other generation is garbage that the next
//! start removes. Keyspaces are only ever created and deleted, never cleared. Values are laid out in `record.rs` and
//! `meta.rs`; this file knows names, keys and how each keyspace is tuned.

use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, FilterPolicy};
use fjall::{CompressionType, KeyspaceCreateOptions};
use quorate_store::Revision;

use super::options::MEMTABLE_BYTES;

/// Version of everything described here. A database of another version is refused.
pub(super) const FORMAT_VERSION: u32 = 2;

/// Batches that one record of the index describes at most.
pub(super) const INDEXED_BATCHES: usize = 1024;
/// Memtable of `meta` and of the index: one small record per group.
const SMALL_MEMTABLE_BYTES: u64 = 1 << 20;
/// Written memtables of objects that wait until they are merged with what is there, all of which a merge may write again: the rarer, the
/// cheaper, and only a start and a snapshot read them. Far below the number (20) from which on fjall slows writers down.
const UNMERGED_TABLES: u8 = 10;
/// Data blocks are read in order only, so they may be large.
const BLOCK_BYTES: u32 = 16 << 10;

/// One fjall keyspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// `meta`: the [`Key`]s.
    Meta,
    /// `objects-G`: object key -> created revision (u64 LE), modified revision (u64 LE), value.
    Objects(u64),
    /// `history-G`: revision (u64 BE) -> time (u64 LE, ms), footprint (u64 LE, bytes), postcard of the batch's changes (`change.rs`).
    /// Only appended to; whole tables are dropped at the old end, so nothing is ever rewritten or marked as deleted.
    History(u64),
    /// `index-G`: first revision (u64 BE) of up to [`INDEXED_BATCHES`] consecutive batches -> for each: time (u64 LE, ms),
    /// footprint (u64 LE, bytes). What a start needs of the history, without reading the history.
    Index(u64),
}

impl Space {
    /// The keyspace's name.
    pub(super) fn name(self) -> String {
        match self {
            Self::Meta => "meta".to_owned(),
            Self::Objects(generation) => format!("objects-{generation}"),
            Self::History(generation) => format!("history-{generation}"),
            Self::Index(generation) => format!("index-{generation}"),
        }
    }

    /// The keyspace of this name; `None` for a name that is not ours.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name.split_once('-') {
            None => (name == "meta").then_some(Self::Meta),
            Some(("objects", generation)) => generation.parse().ok().map(Self::Objects),
            Some(("history", generation)) => generation.parse().ok().map(Self::History),
            Some(("index", generation)) => generation.parse().ok().map(Self::Index),
            Some(_) => None,
        }
    }

    /// The generation it belongs to; `None` for `meta`, which outlives them all.
    pub(super) fn generation(self) -> Option<u64> {
        match self {
            Self::Meta => None,
            Self::Objects(generation) | Self::History(generation) | Self::Index(generation) => Some(generation),
        }
    }

    /// How the keyspace is created. The database remembers this; later changes only reach new generations.
    pub(super) fn create_options(self) -> KeyspaceCreateOptions {
        let options = KeyspaceCreateOptions::default()
            .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
            .filter_policy(FilterPolicy::disabled());
        match self {
            Self::Meta | Self::Index(_) => options.max_memtable_size(SMALL_MEMTABLE_BYTES),
            Self::Objects(_) => options
                .max_memtable_size(MEMTABLE_BYTES)
                .compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(UNMERGED_TABLES)))
                .data_block_compression_policy(CompressionPolicy::new([
                    CompressionType::None,
                    CompressionType::None,
                    CompressionType::Lz4,
                ])),
            Self::History(_) => {
                options.max_memtable_size(MEMTABLE_BYTES).data_block_compression_policy(CompressionPolicy::disabled())
            }
        }
    }
}

/// A key of `meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// `format` -> u32 LE, [`FORMAT_VERSION`].
    Format,
    /// `cluster` -> the cluster's id, 16 bytes.
    Cluster,
    /// `naming` -> the naming profile, UTF-8.
    Naming,
    /// `generation` -> u64 LE, the current generation.
    Generation,
    /// `applied` -> postcard of `Applied`; in the same batch as what it describes.
    Applied,
    /// `membership` -> postcard of the last applied membership.
    Membership,
    /// `sequence` -> nothing: written only to go on to the next sequence number.
    Sequence,
}

impl Key {
    /// The key's bytes.
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Format => b"format",
            Self::Cluster => b"cluster",
            Self::Naming => b"naming",
            Self::Generation => b"generation",
            Self::Applied => b"applied",
            Self::Membership => b"membership",
            Self::Sequence => b"sequence",
        }
    }
}

/// The key of a batch in `history-G`, and of a first batch in `index-G`.
pub(super) fn history_key(revision: Revision) -> [u8; 8] {
    revision.get().to_be_bytes()
}

/// The revision of a key in `history-G` or `index-G`; `None` when it is not one.
pub(super) fn history_revision(key: &[u8]) -> Option<Revision> {
    Some(Revision::new(u64::from_be_bytes(key.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for space in [Space::Meta, Space::Objects(1), Space::History(u64::MAX), Space::Index(2)] {
            assert_eq!(Space::parse(&space.name()), Some(space));
        }
        for name in ["", "objects", "objects-", "objects-x", "history-1-2", "metadata", "other-1"] {
            assert_eq!(Space::parse(name), None, "{name}");
        }
    }

    #[test]
    fn history_keys_sort_by_revision() {
        let keys: Vec<_> = [1, 255, 256, 1 << 40].map(|r| history_key(Revision::new(r))).into();
        assert!(keys.is_sorted());
        assert_eq!(history_revision(&keys[2]), Some(Revision::new(256)));
        assert_eq!(history_revision(b"short"), None);
    }
}
