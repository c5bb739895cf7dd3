//! Backups: an encrypted repository of bases and segments at a URL, filled from a running cluster and
//! read back to any revision.
//!
//! # What lies in a repository
//!
//! ```text
//! quorate-backup                        the header: format, repository, cluster, naming profile
//! index                                 which bases there are, and the last segment
//! bases/REVISION-ID/NNNNNN-RUN          a part of the state at one revision, keys in their order
//! bases/REVISION-ID/manifest            written last: a base without one does not exist
//! segments/AFTER-LAST-ID                the transactions after one revision up to another
//! ```
//!
//! Each object is compressed, then sealed under a key of its own ([`sealed`]): names and sizes are all
//! that can be seen without the key. An object says in what is authenticated which repository and which
//! name it has, so that one in another's place is noticed; a manifest has the hash of every part, a
//! segment names the one before it, and the index names the last segment and the bases, so that one
//! that is missing is noticed.
//!
//! Invariants: what is written is never written again under its name, but for the index; a base is one
//! state, taken without pausing anything; what was read back is compared with the digest that the
//! server gave; memory is bounded by a few parts while writing.
//!
//! Reading order: `sealed` and `key` (one object), `record` (what they hold), `remote` (where they
//! lie), `repository`, `source` and `frame` (where the state comes from), `base` and `changes` (writing), `create`, `restore`, `verify`, `prune`.
//! Not here: what becomes of a state that was restored (`quorate-raft`'s recovery), and who may ask a
//! node for its state.

mod base;
mod changes;
mod create;
mod error;
mod frame;
mod index;
mod key;
mod layout;
mod pace;
mod prune;
mod record;
mod remote;
mod repository;
mod restore;
pub mod sealed;
mod source;
mod verify;

pub use changes::{Chain, write_changes};
pub use create::{Backup, Created, Progress, create};
pub use error::{BackupError, Damage, SourceError};
pub use frame::{Frame, Frames, StateStart, decode_frames, encode_frame};
pub use key::{BackupKey, KEY_BYTES};
pub use layout::{BaseId, SegmentId};
pub use prune::{Keep, Pruned, prune};
pub use record::{Credentials, Manifest, StoredBatch};
pub use remote::{Remote, RemoteOptions};
pub use repository::{Identity, Listed, ListedBase, Repository};
pub use restore::{Restored, Target, restore};
pub use source::{Source, StoreSource};
pub use verify::{Finding, Verified, verify};
