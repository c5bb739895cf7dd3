//! Allocations in transactions: the keys that a write puts and removes besides the object's own.
//!
//! Invariant: an allocation is put on the condition that its key is absent.
//!
//! Not here: the choice of a value, which is the [`Allocator`]'s.

use bytes::Bytes;
use quorate_meta::Value;
use quorate_store::{Condition, Operation, Revision, Snapshot};
use quorate_wire::stored::{self, StoredRef};
use tokio::time::Instant;

use super::refusal::invalid;
use super::{Writer, metadata};
use crate::Part;
use crate::allocation::{Allocation, AllocationView, Allocator, Shadow, Unavailable};
use crate::error::Error;
use crate::keys::{self, Key};
use crate::options::Target;

/// Conditions and operations that are added to a transaction.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) conditions: Vec<Condition>,
    pub(super) operations: Vec<Operation>,
}

impl Writer {
    /// Allocates what the object lacks; returns what its transaction puts and removes besides it.
    pub(super) async fn allocate(
        &self,
        target: Target<'_>,
        part: Part,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<Changes, Error> {
        let Some(allocator) = target.resource.strategy.allocator().filter(|_| part == Part::Main)
        else {
            return Ok(Changes::default());
        };
        let snapshot = self.current().await?;
        let view = AllocationView {
            names: self.names,
            snapshot: &snapshot,
            entropy: &*self.env.entropy,
            begin: Instant::now(),
            metrics: self.allocations.as_deref(),
        };
        allocator.choose(view, old, new).map_err(|unavailable| match unavailable {
            Unavailable::Refused(causes) => invalid(target.resource, target.name, causes),
            Unavailable::Exhausted(why) => Error::internal(why),
        })?;
        self.changes(allocator, &snapshot, old, Some(new))
    }

    /// The operations that release the allocations of a removed object.
    pub(super) fn give_up(
        &self,
        target: Target<'_>,
        object: &Value,
    ) -> Result<Vec<Operation>, Error> {
        let Some(allocator) = target.resource.strategy.allocator() else {
            return Ok(Vec::new());
        };
        Ok(self.changes(allocator, &self.store.snapshot(), Some(object), None)?.operations)
    }

    /// The operations that release the allocations of a removed object that cannot be read. They
    /// are found by their owner, so every allocation of the cluster is scanned.
    pub(super) fn give_up_unread(&self, target: Target<'_>, snapshot: &Snapshot) -> Vec<Operation> {
        let Some(allocator) = target.resource.strategy.allocator() else {
            return Vec::new();
        };
        let namespace = target.namespace.unwrap_or_default();
        let mut operations = Vec::new();
        for (key, entry) in snapshot.range(&keys::allocations(), None) {
            let Some(Key::Allocation { class, name }) = Key::parse(key) else {
                continue;
            };
            let held = allocator.allocation(self.names, namespace, target.name, class, name);
            if let Some(held) = held.filter(|held| held.owner.as_bytes() == entry.value) {
                give_up(&held, snapshot, &mut operations);
            }
        }
        operations
    }

    fn changes(
        &self,
        allocator: &dyn Allocator,
        snapshot: &Snapshot,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Changes, Error> {
        let allocations = |object: Option<&Value>| {
            object.map_or_else(Vec::new, |object| allocator.allocations(self.names, object))
        };
        let (before, after) = (allocations(old), allocations(new));
        let mut changes = Changes::default();
        for taken in after.iter().filter(|allocation| !has(&before, allocation)) {
            self.take(taken, &mut changes)?;
        }
        for given_up in before.iter().filter(|allocation| !has(&after, allocation)) {
            give_up(given_up, snapshot, &mut changes.operations);
        }
        Ok(changes)
    }

    fn take(&self, allocation: &Allocation, changes: &mut Changes) -> Result<(), Error> {
        let mut put = |key: Bytes, value: Bytes| {
            changes
                .conditions
                .push(Condition::Modified { key: key.clone(), revision: Revision::ZERO });
            changes.operations.push(Operation::Put { key, value });
        };
        put(allocation.key(), Bytes::from(allocation.owner.clone()));
        if let Some(shadow) = &allocation.shadow {
            let mut object = shadow.object.clone();
            metadata::begin(
                &mut object,
                None,
                metadata::new_uid(&*self.env.entropy),
                self.now(),
                false,
            );
            let value =
                stored::encode(&object, &[]).map_err(|error| Error::internal(error.to_string()))?;
            put(shadow.key.clone(), value);
        }
        Ok(())
    }
}

fn give_up(allocation: &Allocation, snapshot: &Snapshot, operations: &mut Vec<Operation>) {
    operations.push(Operation::Delete { key: allocation.key() });
    let own = allocation.shadow.iter().filter(|shadow| is_ours(snapshot, shadow));
    operations.extend(own.map(|shadow| Operation::Delete { key: shadow.key.clone() }));
}

fn has(allocations: &[Allocation], allocation: &Allocation) -> bool {
    allocations.iter().any(|other| other.class == allocation.class && other.name == allocation.name)
}

/// Whether the object under the shadow's key is the shadow, and not one that a client has created
/// there since.
fn is_ours(snapshot: &Snapshot, shadow: &Shadow) -> bool {
    let Some(entry) = snapshot.get(&shadow.key) else {
        return false;
    };
    let object = StoredRef::parse(&entry.value).and_then(|stored| stored.to_value("", "", 0));
    object.is_ok_and(|object| object.get("spec") == shadow.object.get("spec"))
}
