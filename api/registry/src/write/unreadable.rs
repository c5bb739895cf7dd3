//! Unsafe deletion of objects that cannot be read (KEP-3926).
//!
//! Invariant: this is the only write that does not pass the pipeline: there is no object for
//! admission to check, and an object that breaks a cluster must be removable.

use quorate_meta::{Cause, Status};
use quorate_store::{Condition, Operation, Outcome as Decision, Txn};

use super::Writer;
use super::refusal::{invalid, not_found, stale};
use crate::error::Error;
use crate::options::Target;
use crate::{Step, WriteOrigin, stored_codec};

const FIELD: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

impl Writer {
    /// Removes an object that cannot be read, its companion keys and its allocations; nothing else
    /// is known of it.
    ///
    /// # Errors
    /// 404 for an absent object, 422 for one that can be read, 409 when it is written at the same
    /// time.
    pub async fn delete_unreadable(&self, target: Target<'_>) -> Result<(), Error> {
        if let Some(why) = target.resource.strategy.undeletable(self.names, target.name) {
            return Err(
                Status::forbidden(&target.resource.group_resource(), target.name, why).into()
            );
        }
        let key = target.key();
        let snapshot = self.current().await?;
        let Some(entry) = snapshot.get(&key).cloned() else {
            return Err(not_found(target));
        };
        if stored_codec::decode(target.resource, &entry).is_ok() {
            let why = "this is only for objects that cannot be read, and this one can";
            return Err(invalid(
                target.resource,
                target.name,
                vec![Cause::invalid(FIELD, true, why)],
            ));
        }
        tracing::warn!(
            resource = target.resource.qualified(),
            name = target.name,
            "an unreadable object is removed"
        );
        let conditions = vec![Condition::Modified { key: key.clone(), revision: entry.modified }];
        let mut operations = vec![Operation::Delete { key }];
        operations.extend(target.resource.strategy.companions(Step::Removed, target.name));
        operations.extend(self.give_up_unread(target, &snapshot));
        let origin = self.origin.with(&WriteOrigin { verb: "delete", ..WriteOrigin::default() });
        match self.store.txn(Txn { conditions, operations, origin }).await? {
            Decision::Committed { .. } => Ok(()),
            Decision::Conflict { .. } => Err(stale(target)),
        }
    }
}
