//! The pages under `/backup`: what a node sends of its state, for those who have the right `get` on
//! these non-resource URLs.
//!
//! Invariants: the pages are authorized and audited like every other request; what they answer is made
//! by the node, which knows the form of backups, and streamed while the client takes it. A node that
//! was given no [`BackupPages`] does not have them.

use async_trait::async_trait;
use bytes::Bytes;
use quorate_store::Revision;

use crate::body::Chunks;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupPage {
    /// `/backup/identity`: which cluster this is.
    Identity,
    /// `/backup/state`: the state now; with `revision` and `after` (a key, in hexadecimal digits) the rest
    /// of an earlier one.
    State(Option<(Revision, Bytes)>),
    /// `/backup/changes?after=REVISION`: the transactions after it.
    Changes(Revision),
    /// `/backup/credentials`: the secret under which the keys of authorities and tokens lie in the
    /// state.
    Credentials,
}

/// Why a page is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupRefusal {
    /// That far back is no longer kept.
    Gone(String),
    /// Not now.
    Unavailable(String),
}

/// What makes the pages.
#[async_trait]
pub trait BackupPages: Send + Sync + 'static {
    /// The body of a page.
    async fn open(&self, page: BackupPage) -> Result<Chunks, BackupRefusal>;
}
