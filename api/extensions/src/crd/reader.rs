//! The reader and writer of stored custom objects, for one served version.
//!
//! An object is read in three steps: [`Reader::settle`] prunes it and fills in defaults by the
//! schema that the version it was stored as has today, [`Reader::convert`] turns it into the wanted
//! version, and [`Reader::fit`] prunes it by the schema of that. Defaults of the wanted version are
//! for bodies of requests only. An object is written the same way around: converted from the
//! version of the request to the storage version, then settled by that.
//!
//! Invariants: an object that all steps would leave as it is, which its mark tells, is not touched.
//! What is read is never written back by itself. Nothing is lost of an object whose version is no
//! longer in the definition, but what the served version does not have.
//!
//! Not here: conversion by webhooks ([`super::conversion`]), which takes the place of the second step
//! and is awaited before.

use std::sync::Arc;

use quorate_meta::Value;
use quorate_registry::{Conversion, VersionReader};
use quorate_schema::{apply_defaults, canonicalize, unknown_fields};

use super::definition::DefinitionVersion;
use super::mark::{self, VersionMark};
use super::version::CompiledVersion;

/// One version that objects may be stored as.
#[derive(Debug)]
pub struct ReadVersion {
    /// Its types.
    pub types: Arc<CompiledVersion>,
    /// Its mark.
    pub mark: VersionMark,
}

/// Reads and writes objects as one version of a definition.
#[derive(Debug)]
pub struct Reader {
    versions: Arc<[ReadVersion]>,
    own: usize,
    storage: usize,
    /// Whether a webhook converts: then versions differ even where their schemas do not.
    asks_webhook: bool,
}

impl Reader {
    /// A reader for the version at `own` of a definition with these versions, of which the one at
    /// `storage` is what objects are written as.
    ///
    /// # Panics
    /// When there is no such version.
    #[must_use]
    pub fn new(versions: &Arc<[ReadVersion]>, own: usize, storage: usize) -> Self {
        assert!(own.max(storage) < versions.len(), "both are versions of the definition");
        Self { versions: versions.clone(), own, storage, asks_webhook: false }
    }

    /// The same for objects that a webhook converts before they are read here.
    #[must_use]
    pub fn asking_a_webhook(self) -> Self {
        Self { asks_webhook: true, ..self }
    }

    /// The name of the served version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.own().mark.version()
    }

    /// The name of the version that objects are written as.
    #[must_use]
    pub fn storage_version(&self) -> &str {
        self.storage().mark.version()
    }

    /// The first step: brings a decoded tree that was stored as a version into the form that the
    /// schema of this version has today; nothing for a version that is not in the definition.
    pub fn settle(&self, stored: &str, object: &mut Value) {
        if let Some(version) = self.versions.iter().find(|one| one.mark.version() == stored) {
            version.settle(object);
        }
    }

    /// The second step: turns decoded trees, settled as the version `from`, into the version `to`.
    /// Without a webhook only `apiVersion` differs, which no stored object has.
    pub fn convert(&self, _objects: &mut [Value], _from: &str, _to: &str) {}

    /// The third step: drops what the served version does not have.
    pub fn fit(&self, object: &mut Value) {
        self.own().prune(object);
    }

    fn own(&self) -> &ReadVersion {
        &self.versions[self.own]
    }

    fn storage(&self) -> &ReadVersion {
        &self.versions[self.storage]
    }
}

impl ReadVersion {
    /// A version of a definition, which `types` has the schema of.
    #[must_use]
    pub fn new(types: Arc<CompiledVersion>, version: &DefinitionVersion) -> Self {
        Self { mark: VersionMark::new(&types, version), types }
    }

    fn settle(&self, object: &mut Value) {
        let compiled = self.types.compiled();
        let (graph, ty) = (compiled.structural().graph(), compiled.structural().ty());
        unknown_fields(graph, ty, object, true);
        apply_defaults(graph, ty, object);
        canonicalize(graph, ty, object);
    }

    fn prune(&self, object: &mut Value) {
        let compiled = self.types.compiled();
        let (graph, ty) = (compiled.structural().graph(), compiled.structural().ty());
        unknown_fields(graph, ty, object, true);
        canonicalize(graph, ty, object);
    }
}

impl VersionReader for Reader {
    fn mark(&self) -> &str {
        self.storage().mark.text()
    }

    fn served_mark(&self) -> &str {
        self.own().mark.text()
    }

    fn serves_as_stored(&self, mark: &str) -> bool {
        let own = self.own().mark.text();
        if mark == own {
            return true;
        }
        let (version, form) = mark::parts(mark);
        let mut versions = self.versions.iter();
        !self.asks_webhook
            && form == mark::parts(own).1
            && versions.any(|one| one.mark.version() == version && one.mark.form() == form)
    }

    fn read(&self, mark: &str, object: &mut Value) {
        let (stored, wanted) = (mark::parts(mark).0, self.own().mark.version());
        self.settle(stored, object);
        if stored != wanted {
            self.convert(std::slice::from_mut(object), stored, wanted);
            self.fit(object);
        }
    }
}

impl Conversion for Reader {
    fn to_stored(&self, object: &mut Value) {
        let (own, storage) = (self.own().mark.version(), self.storage());
        self.convert(std::slice::from_mut(object), own, storage.mark.version());
        storage.settle(object);
    }

    fn to_served(&self, object: &mut Value) {
        let own = self.own().mark.version();
        self.convert(std::slice::from_mut(object), self.storage().mark.version(), own);
        self.fit(object);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    const V1: usize = 0;
    const V2: usize = 1;

    fn versions(specs: &[(&str, serde_json::Value)]) -> Arc<[ReadVersion]> {
        let versions: Vec<_> = specs
            .iter()
            .map(|(name, spec)| {
                json!({"name": name, "served": true, "storage": false, "schema": {"openAPIV3Schema":
                    {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}}})
            })
            .collect();
        let names = json!({"plural": "ws", "kind": "W"});
        let object = json!({"spec": {"group": "x.example", "names": names, "versions": versions}});
        let (definition, base) = (testing::read(object), testing::base());
        let read = |version| ReadVersion::new(testing::compiled(&base, version), version);
        definition.versions.iter().map(read).collect()
    }

    fn both() -> Arc<[ReadVersion]> {
        versions(&[
            ("v1", json!({"a": {"type": "string"}, "both": {"type": "string", "default": "d"}})),
            ("v2", json!({"b": {"type": "string", "default": "x"}, "both": {"type": "string"}})),
        ])
    }

    #[test]
    fn objects_are_read_by_the_schemas_of_both_versions() {
        let versions = both();
        let check = |mark: &str, own: usize, spec: serde_json::Value, expect: serde_json::Value| {
            let mut object = Value::from(json!({"metadata": {"name": "a"}, "spec": spec}));
            Reader::new(&versions, own, V1).read(mark, &mut object);
            let expect = Value::from(json!({"metadata": {"name": "a"}, "spec": expect}));
            assert_eq!(object, expect, "{mark} {own}");
        };
        check("v1/00", V1, json!({"a": "1", "z": 1}), json!({"a": "1", "both": "d"}));
        check("v1/00", V1, json!({"both": "2"}), json!({"both": "2"}));
        check("v1/00", V2, json!({"a": "1", "b": "1"}), json!({"both": "d"}));
        check("v2/00", V1, json!({"both": "1"}), json!({"both": "1"}));
        check("v2/00", V2, json!({"z": null}), json!({"b": "x"}));
        check("v0/00", V2, json!({"z": 1, "both": "1"}), json!({"both": "1"}));
    }

    #[test]
    fn objects_are_written_as_the_storage_version() {
        let versions = both();
        let mut object = Value::from(json!({"spec": {"b": "1"}}));
        Reader::new(&versions, V2, V1).to_stored(&mut object);
        assert_eq!(object.get("spec"), Some(&json!({"both": "d"}).into()));
    }

    #[test]
    fn what_is_in_form_is_not_touched() {
        let field = json!({"a": {"type": "string"}});
        let same = versions(&[("v1", field.clone()), ("v2", field.clone()), ("v3", json!({}))]);
        let check = |own: usize, mark: &str, expect: bool| {
            assert_eq!(Reader::new(&same, own, V1).serves_as_stored(mark), expect, "{own} {mark}");
        };
        let marks: Vec<&str> = same.iter().map(|version| version.mark.text()).collect();
        for own in [V1, V2] {
            check(own, marks[V1], true);
            check(own, marks[V2], true);
            check(own, marks[2], false);
        }
        check(2, marks[V1], false);
        check(V1, "v1/0000000000000000", false);
        check(V1, &marks[V1].replace("v1", "v9"), false);
        check(V1, "", false);
    }
}
