//! What the cluster's own objects say of a write: limits, quotas, classes, levels of security.
//!
//! The registry knows what one kind means, not what one object means for another; whoever makes a
//! [`crate::write::Writer`] brings an [`Admission`] along. A write without one is the server's own.

use std::fmt::Debug;

use async_trait::async_trait;
use quorate_meta::Value;
use quorate_store::{Condition, Operation, Revision, Snapshot};
use tokio::sync::OwnedMutexGuard;

use super::author::Who;
use super::strategy::Part;
use super::write::Target;
use crate::error::Error;

/// Decides about writes between their completion by the kind and the store.
#[async_trait]
pub trait Admission: Debug + Send + Sync {
    /// Gives a new object what others say that it should have. Comes before the kind prepares and validates it, and again from the
    /// beginning for each name that is tried.
    ///
    /// # Errors
    /// Why it cannot be: in general a 403.
    async fn complete(&self, change: &Change<'_>, object: &mut Value) -> Result<(), Error>;

    /// Lets a valid object through, and says what its transaction has to do besides.
    ///
    /// # Errors
    /// Why it is not written: in general a 403.
    async fn check(&self, change: &Change<'_>, new: &Value) -> Result<Terms, Error>;
}

/// A write that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The object; its name is empty while there is none.
    pub target: Target<'a>,
    /// The part that is written.
    pub part: Part,
    /// What it takes the place of; `None` for a creation.
    pub old: Option<&'a Value>,
    /// Who writes; `None` is the server itself.
    pub who: Option<Who<'a>>,
    /// Whether nothing will be written in the end.
    pub dry_run: bool,
}

/// Under which terms a write goes through.
#[derive(Debug, Default)]
pub struct Terms {
    /// What must hold when it is written, besides its own conditions; when one does not, the write is looked at again.
    pub conditions: Vec<Condition>,
    /// What is written with it.
    pub operations: Vec<Operation>,
    /// What the writer should know.
    pub warnings: Vec<String>,
    /// Held until it is written: those that would only get in each other's way take turns.
    pub turn: Option<OwnedMutexGuard<()>>,
}

impl Terms {
    /// Whether all conditions hold in a state.
    #[must_use]
    pub fn hold_in(&self, snapshot: &Snapshot) -> bool {
        self.conditions.iter().all(|condition| match condition {
            Condition::Modified { key, revision } => {
                snapshot.get(key).map_or(Revision::ZERO, |entry| entry.modified) == *revision
            }
            Condition::Exists { key } => snapshot.get(key).is_some(),
        })
    }
}
