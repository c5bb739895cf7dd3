//! Holdings in transactions: what an object takes and gives up when it is written.

use bytes::Bytes;
use quorate_meta::Value;
use quorate_store::{Condition, Operation, Revision, Snapshot};
use quorate_wire::stored::{self, StoredRef};

use super::options::Target;
use super::refusal::invalid;
use super::{Writer, metadata};
use crate::Part;
use crate::allocation::{Holder, Holding, Shadow, Unavailable, World};
use crate::error::Error;
use crate::keys::{self, Key};

/// What is added to a transaction.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) conditions: Vec<Condition>,
    pub(super) operations: Vec<Operation>,
}

impl Writer {
    /// Chooses what the object lacks, and says what its transaction puts and removes besides it.
    pub(super) async fn allocate(
        &self,
        target: Target<'_>,
        part: Part,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<Changes, Error> {
        let Some(holder) = target.resource.strategy.holder().filter(|_| part == Part::Main) else {
            return Ok(Changes::default());
        };
        let snapshot = self.current().await?;
        let world = World { names: self.names, snapshot: &snapshot, entropy: &*self.env.entropy };
        holder.choose(world, old, new).map_err(|unavailable| match unavailable {
            Unavailable::Refused(causes) => invalid(target.resource, target.name, causes),
            Unavailable::Exhausted(why) => Error::internal(why),
        })?;
        self.changes(holder, &snapshot, old, Some(new))
    }

    /// What the removal of an object gives up.
    pub(super) fn give_up(&self, target: Target<'_>, object: &Value) -> Result<Vec<Operation>, Error> {
        let Some(holder) = target.resource.strategy.holder() else { return Ok(Vec::new()) };
        Ok(self.changes(holder, &self.store.snapshot(), Some(object), None)?.operations)
    }

    /// What the removal of an object gives up of which nothing is known but its name. It is found by its owner, so the whole
    /// of what is held in the cluster is looked through.
    pub(super) fn give_up_unread(&self, target: Target<'_>, snapshot: &Snapshot) -> Vec<Operation> {
        let Some(holder) = target.resource.strategy.holder() else { return Vec::new() };
        let namespace = target.namespace.unwrap_or_default();
        let mut operations = Vec::new();
        for (key, entry) in snapshot.range(&keys::holdings(), None) {
            let Some(Key::Holding { class, name }) = Key::parse(key) else { continue };
            let held = holder.holding(self.names, namespace, target.name, class, name);
            if let Some(held) = held.filter(|held| held.owner.as_bytes() == entry.value) {
                give_up(&held, snapshot, &mut operations);
            }
        }
        operations
    }

    fn changes(
        &self,
        holder: &dyn Holder,
        snapshot: &Snapshot,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Changes, Error> {
        let holdings =
            |object: Option<&Value>| object.map_or_else(Vec::new, |object| holder.holdings(self.names, object));
        let (before, after) = (holdings(old), holdings(new));
        let mut changes = Changes::default();
        for taken in after.iter().filter(|holding| !has(&before, holding)) {
            self.take(taken, &mut changes)?;
        }
        for given_up in before.iter().filter(|holding| !has(&after, holding)) {
            give_up(given_up, snapshot, &mut changes.operations);
        }
        Ok(changes)
    }

    fn take(&self, holding: &Holding, changes: &mut Changes) -> Result<(), Error> {
        let mut put = |key: Bytes, value: Bytes| {
            changes.conditions.push(Condition::Modified { key: key.clone(), revision: Revision::ZERO });
            changes.operations.push(Operation::Put { key, value });
        };
        put(holding.key(), Bytes::from(holding.owner.clone()));
        if let Some(shadow) = &holding.shadow {
            let mut object = shadow.object.clone();
            metadata::begin(&mut object, None, metadata::new_uid(&*self.env.entropy), self.now(), false);
            let value = stored::encode(&object, &[]).map_err(|error| Error::internal(error.to_string()))?;
            put(shadow.key.clone(), value);
        }
        Ok(())
    }
}

fn give_up(holding: &Holding, snapshot: &Snapshot, operations: &mut Vec<Operation>) {
    operations.push(Operation::Delete { key: holding.key() });
    let own = holding.shadow.iter().filter(|shadow| is_ours(snapshot, shadow));
    operations.extend(own.map(|shadow| Operation::Delete { key: shadow.key.clone() }));
}

fn has(holdings: &[Holding], holding: &Holding) -> bool {
    holdings.iter().any(|other| other.class == holding.class && other.name == holding.name)
}

/// Whether the object in a shadow's place is the shadow, and not what somebody has put there since.
fn is_ours(snapshot: &Snapshot, shadow: &Shadow) -> bool {
    let Some(entry) = snapshot.get(&shadow.key) else { return false };
    let object = StoredRef::parse(&entry.value).and_then(|stored| stored.to_value("", "", 0));
    object.is_ok_and(|object| object.get("spec") == shadow.object.get("spec"))
}
