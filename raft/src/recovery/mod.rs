//! Recovery from a lost quorum: a stopped member becomes the only voter of a new cluster, with the
//! data that it has.
//!
//! For the day when most voters are gone for good. Invariants:
//! - The new cluster has a new id, which every file and every call carries: members of the old one
//!   that come back are refused.
//! - Everything in this member's log counts as committed. What others acknowledged and it does not
//!   have is lost; nothing that it has is.
//! - No revision is used twice: revisions go on [`REVISION_MARGIN`] above the last one, the history
//!   begins anew there (watches from before it are answered that they are compacted), and objects
//!   that were written after the last revision known to be committed get a new one.
//! - It may be killed at any moment: a marker, written first and removed last, keeps the member
//!   from being opened in between, and executing the recovery again finishes it.
//!
//! The order is marker, log into state, state to the new cluster, new log, what the caller keeps,
//! marker gone. Reading order: `plan` (what there is), `execute`, `marker`; `found` makes the first
//! member of a cluster from a backup, `inspection` looks. Offline: nothing here opens a port.

mod error;
mod execute;
mod found;
mod inspection;
mod marker;
mod plan;

pub use error::RecoveryError;
pub use execute::{Recovered, execute};
pub use found::{Founding, found, restored_revision};
pub use inspection::{Inspection, inspect, state_format};
pub(crate) use marker::is_begun;
pub use plan::{LostMember, Plan, Recovery, RecoveryOptions};

/// How far above the last revision of the recovered member the new cluster goes on: more than the
/// lost members can have acknowledged without it (at 100,000 writes a second that takes 115 days),
/// and little enough that revisions stay exact in a JSON number (2^53) for thousands of recoveries.
pub const REVISION_MARGIN: u64 = 1_000_000_000_000;
