//! Definitions and custom objects, as clients send them.
//!
//! Invariant: every state of a definition that a client asks for names the request, in a column of
//! tables and in the default of a field: so a table says which state it was made by, and an object
//! which one it was created by.

use rand::Rng;
use serde_json::{Value, json};

use crate::api::{HOLD, ResourceKind, STAMP};
use crate::workload::api::Actor;
use crate::workload::definitions::VERSIONS;

/// What the name of the column begins with that has the stamp in it.
pub(crate) const COLUMN: &str = "S";
/// The field of `spec` whose default is the stamp.
pub(crate) const MARK: &str = "mark";
/// The limits that definitions set to the number of an object: some numbers are above some limits.
const LIMITS: std::ops::RangeInclusive<u64> = 2..=9;
/// The numbers of objects.
const NUMBERS: std::ops::RangeInclusive<u64> = 0..=4;

impl Actor {
    /// A definition that the request with this stamp creates.
    pub(super) fn definition(&mut self, kind: ResourceKind, stamp: &str) -> Value {
        let scope = if kind.is_namespaced() { "Namespaced" } else { "Cluster" };
        json!({
            "apiVersion": format!("{}/v1", ResourceKind::Definitions.group()),
            "kind": ResourceKind::Definitions.name(),
            "metadata": {"name": kind.definition(), "annotations": {STAMP: stamp}},
            "spec": {
                "group": kind.group(),
                "scope": scope,
                "names": {"plural": kind.plural(), "kind": kind.name()},
                "versions": self.versions(stamp),
            },
        })
    }

    /// Its versions: drawn anew, so what is valid, served, stored and shown changes.
    pub(super) fn versions(&mut self, stamp: &str) -> Value {
        let has_second = self.rng.random_ratio(2, 3);
        let stores_second = has_second && self.rng.random_ratio(1, 4);
        let serves_second = self.rng.random_ratio(3, 4);
        let most = self.rng.random_range(LIMITS);
        let version = |name: &str, served: bool, storage: bool| {
            let spec = json!({"type": "object", "properties": {
                "k": {"type": "string"},
                "n": {"type": "integer", "maximum": most},
                MARK: {"type": "string", "default": stamp},
            }});
            json!({
                "name": name, "served": served, "storage": storage,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                "additionalPrinterColumns":
                    [{"name": format!("{COLUMN}{stamp}"), "type": "string", "jsonPath": ".spec.k"}],
            })
        };
        let first = version(VERSIONS[0], true, !stores_second);
        let second = has_second.then(|| version(VERSIONS[1], serves_second, stores_second));
        [first].into_iter().chain(second).collect()
    }

    /// A custom object.
    pub(super) fn custom_object(&mut self, kind: ResourceKind, stamp: &str) -> Value {
        let mut object = json!({
            "kind": kind.name(),
            "metadata": {"labels": {"color": self.color()}, "annotations": {STAMP: stamp}},
            "spec": self.spec(stamp),
        });
        if self.rng.random_ratio(1, 8) {
            object["metadata"]["finalizers"] = json!([HOLD]);
        }
        object
    }

    /// What a custom object says.
    pub(super) fn spec(&mut self, stamp: &str) -> Value {
        json!({"k": stamp, "n": self.rng.random_range(NUMBERS)})
    }
}
