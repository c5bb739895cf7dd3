//! The graph of owners and dependents, kept up to date from the store's changes.
//!
//! Only objects that have owners, or whose deletion waits for the collector, take memory here. An
//! owner is known by the key that its reference means, so that its end is noticed by its key alone;
//! its uid is compared when something is decided.
//!
//! Invariant: the catalogue is as new as what is observed, so the resource of an object that is
//! there is known. That of one that has gone may have gone as well.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::{GroupVersion, Value};
use quorate_store::{Entry, Revision, Snapshot};

use quorate_registry::error::Error;
use quorate_registry::{CurrentCatalogue, Resource, stored_codec};
use quorate_registry::{FOREGROUND, ORPHAN};

/// References to owners that are followed to see whether an object waits for itself: each decision
/// stays short. In a circle of more references the objects wait until a client changes one.
const MAX_STEPS: usize = 1000;

/// The key of an object in the store.
pub(super) type ObjectKey = Bytes;

/// A reference to an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// Where the owner is, or was; `None` when such a kind is not served here, so that nothing can
    /// be said about it.
    pub(super) key: Option<ObjectKey>,
    /// Its identity.
    pub(super) uid: String,
    /// Whether its foreground deletion waits for the object with this reference.
    pub(super) blocks: bool,
    /// Whether it has been looked for where the reference leads.
    looked_for: bool,
}

/// What the deletion of an object waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// That no dependent names it any more.
    pub(super) orphan: bool,
    /// That no dependent is left that blocks it.
    pub(super) foreground: bool,
}

/// Objects that name an owner.
#[derive(Debug, Default)]
struct Dependents {
    keys: HashSet<ObjectKey>,
    /// How many references among theirs block the owner's deletion.
    blocking: usize,
}

/// The graph.
#[derive(Debug)]
pub(super) struct Graph {
    catalogue: Arc<CurrentCatalogue>,
    owners: HashMap<ObjectKey, Vec<Owner>>,
    dependents: HashMap<ObjectKey, Dependents>,
    marks: HashMap<ObjectKey, Mark>,
    revision: Revision,
}

impl Graph {
    pub(super) fn new(catalogue: Arc<CurrentCatalogue>) -> Self {
        let (owners, dependents, marks) = Default::default();
        Self { catalogue, owners, dependents, marks, revision: Revision::ZERO }
    }

    /// Everything up to this revision has been observed.
    pub(super) fn reached(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// The newest revision that has been observed whole.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// The resource that an object's key belongs to, in the version that objects are stored in.
    pub(super) fn resource(&self, key: &[u8]) -> Option<Arc<Resource>> {
        self.catalogue.load().of_key(key).cloned()
    }

    /// The owners that an object names.
    pub(super) fn owners(&self, key: &[u8]) -> &[Owner] {
        self.owners.get(key).map_or(&[], Vec::as_slice)
    }

    /// The objects that name this one as an owner, by name if not by uid.
    pub(super) fn dependents(&self, key: &[u8]) -> impl Iterator<Item = &ObjectKey> {
        self.dependents.get(key).into_iter().flat_map(|dependents| &dependents.keys)
    }

    /// Whether any dependent blocks the foreground deletion of this object.
    pub(super) fn is_blocked(&self, key: &[u8]) -> bool {
        self.dependents.get(key).is_some_and(|dependents| dependents.blocking > 0)
    }

    /// What the deletion of this object waits for, when it has begun and waits for the collector.
    pub(super) fn mark(&self, key: &[u8]) -> Option<Mark> {
        self.marks.get(key).copied()
    }

    /// Whether the deletion of this object has begun and waits for dependents.
    pub(super) fn waits(&self, key: &[u8]) -> bool {
        self.mark(key).is_some_and(|mark| mark.foreground)
    }

    /// Whether an object that blocks its owners' deletion is among what it waits for itself, as far
    /// as [`MAX_STEPS`] references tell.
    pub(super) fn waits_for_itself(&self, key: &ObjectKey) -> bool {
        let (mut known, mut ahead, mut steps) = (HashSet::new(), vec![key], 0);
        while let Some(next) = ahead.pop() {
            for owner in self.owners(next) {
                steps += 1;
                if steps > MAX_STEPS {
                    return false;
                }
                let Some(owner) = owner.key.as_ref().filter(|key| owner.blocks && self.waits(key))
                else {
                    continue;
                };
                if owner == key {
                    return true;
                }
                if known.insert(owner) {
                    ahead.push(owner);
                }
            }
        }
        false
    }

    /// Observes what a key holds now; gives the objects to queue because of it.
    pub(super) fn observe(
        &mut self,
        key: &ObjectKey,
        current: Option<&Entry>,
    ) -> Result<Vec<ObjectKey>, Error> {
        let now = match (current, self.resource(key)) {
            (None, _) => None,
            (Some(entry), Some(resource)) => Some((entry, resource)),
            (Some(_), None) => return Ok(Vec::new()),
        };
        let stored = now.as_ref().map(|(entry, resource)| {
            stored_codec::header(resource, &entry.value).map(|stored| (stored, entry, resource))
        });
        let stored = stored.transpose()?;
        let mut touched = Vec::new();
        let owners: Vec<Owner> = match &stored {
            Some((stored, ..)) => {
                let namespace = Some(stored.namespace()).filter(|namespace| !namespace.is_empty());
                stored
                    .owner_references()
                    .map(|reference| self.owner(namespace, reference))
                    .collect()
            }
            None => Vec::new(),
        };
        self.link(key, owners, &mut touched);
        let mark = match stored {
            Some((stored, entry, resource)) if stored.deletion_timestamp().is_some() => {
                mark(&stored_codec::decode(resource, entry)?)
            }
            _ => Mark::default(),
        };
        if mark == Mark::default() {
            self.marks.remove(key);
        } else {
            self.marks.insert(key.clone(), mark);
            touched.push(key.clone());
        }
        if current.is_none() {
            touched.extend(self.dependents(key).cloned());
        }
        Ok(touched)
    }

    fn owner(
        &self,
        namespace: Option<&str>,
        reference: quorate_wire::stored::OwnerReference<'_>,
    ) -> Owner {
        let catalogue = self.catalogue.load();
        let resource = GroupVersion::parse(reference.api_version).and_then(|version| {
            catalogue.find_kind(&version.group, &version.version, reference.kind)
        });
        // A cluster-scoped object cannot be owned by a namespaced one: the reference has no
        // namespace.
        let resource = resource.filter(|resource| !resource.namespaced || namespace.is_some());
        let key = resource.map(|resource| resource.key(namespace, reference.name));
        Owner {
            key,
            uid: reference.uid.to_owned(),
            blocks: reference.block_owner_deletion,
            looked_for: false,
        }
    }

    /// The owners (by uid) of an object that are looked for now for the first time, and are not
    /// where its references lead.
    pub(super) fn look_for_owners(&mut self, key: &[u8], state: &Snapshot) -> Vec<String> {
        let catalogue = self.catalogue.load();
        let is_there = |owner: &Owner| {
            let found = owner.key.as_ref().and_then(|key| Some((catalogue.of_key(key)?, key)));
            found.is_some_and(|(resource, key)| {
                let header = state
                    .get(key)
                    .and_then(|entry| stored_codec::header(resource, &entry.value).ok());
                header.is_some_and(|header| header.uid() == owner.uid)
            })
        };
        let mut missing = Vec::new();
        for owner in self.owners.get_mut(key).into_iter().flatten() {
            if !std::mem::replace(&mut owner.looked_for, true) && !is_there(owner) {
                missing.push(owner.uid.clone());
            }
        }
        missing
    }

    fn link(&mut self, key: &ObjectKey, mut owners: Vec<Owner>, touched: &mut Vec<ObjectKey>) {
        let before = self.owners.remove(key).unwrap_or_default();
        for owner in &mut owners {
            let same = before.iter().find(|same| same.uid == owner.uid && same.key == owner.key);
            owner.looked_for = same.is_some_and(|same| same.looked_for);
        }
        if before.is_empty() && owners.is_empty() {
            return;
        }
        if before != owners {
            for owner in &before {
                self.unlink(key, owner);
            }
            for owner in &owners {
                let Some(owner_key) = &owner.key else {
                    continue;
                };
                let dependents = self.dependents.entry(owner_key.clone()).or_default();
                dependents.keys.insert(key.clone());
                dependents.blocking += usize::from(owner.blocks);
            }
            let released = before.iter().filter_map(|owner| owner.key.as_ref());
            touched.extend(
                released
                    .filter(|owner| self.marks.contains_key(*owner) && !self.is_blocked(owner))
                    .cloned(),
            );
        }
        if !owners.is_empty() {
            self.owners.insert(key.clone(), owners);
            touched.push(key.clone());
        }
    }

    fn unlink(&mut self, key: &ObjectKey, owner: &Owner) {
        let Some(owner_key) = &owner.key else { return };
        let Some(dependents) = self.dependents.get_mut(owner_key) else {
            return;
        };
        dependents.keys.remove(key);
        dependents.blocking -= usize::from(owner.blocks);
        if dependents.keys.is_empty() && dependents.blocking == 0 {
            self.dependents.remove(owner_key);
        }
    }
}

fn mark(object: &Value) -> Mark {
    let finalizers =
        object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    let has = |wanted: &str| finalizers.iter().any(|finalizer| finalizer.as_str() == Some(wanted));
    Mark { orphan: has(ORPHAN), foreground: has(FOREGROUND) }
}

#[cfg(test)]
mod tests {
    use quorate_kinds::builtin;
    use quorate_meta::Naming;
    use quorate_registry::Catalogue;
    use quorate_schema::Graph as Schema;
    use quorate_store::{Operation, State, Txn};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_has_gone_with_its_resource_is_forgotten() {
        let schema = Arc::new(Schema::builtin(Naming::Svc.names()));
        let served = builtin::catalogue(&schema).find("", "v1", "configmaps").cloned();
        let maps = served.unwrap();
        let object = json!({"metadata": {
            "name": "m", "namespace": "a", "uid": "u", "finalizers": [FOREGROUND],
            "deletionTimestamp": "2030-01-01T00:00:00Z",
        }});
        let key = maps.key(Some("a"), "m");
        let value = stored_codec::encode(&maps, &object.into()).unwrap();
        let mut state = State::new();
        let operations = vec![Operation::Put { key: key.clone(), value }];
        state.apply(1000, &Txn { conditions: Vec::new(), operations, ..Txn::default() });
        let snapshot = state.snapshot();
        let catalogue = CurrentCatalogue::new(Catalogue::new(schema, Vec::new()));
        let mut graph = Graph::new(catalogue.clone());
        catalogue.publish(&[], std::slice::from_ref(&maps));
        assert_eq!(graph.observe(&key, snapshot.get(&key)).unwrap(), std::slice::from_ref(&key));
        assert!(graph.waits(&key));
        catalogue.publish(&[maps], &[]);
        graph.observe(&key, None).unwrap();
        assert!(!graph.waits(&key));
    }
}
