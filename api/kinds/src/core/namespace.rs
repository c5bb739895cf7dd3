//! Namespace: the scope of names, with the phases `Active` and `Terminating`.
//!
//! Invariants: the live marker of a namespace (`registry::keys`) is written and removed with its
//! phase, in the same transaction. A namespace is removed only when `spec.finalizers` is empty,
//! which the namespace controller empties through the `finalize` subresource once all objects in it
//! are deleted.

use quorate_meta::{Cause, Map, Names, Path, Value, name, well_known};
use quorate_store::Operation;

use quorate_registry::strategy::live_marker;
use quorate_registry::{NameRule, Part, Step, Strategy};

const ACTIVE: &str = "Active";
const TERMINATING: &str = "Terminating";
const FINALIZERS: &str = "spec.finalizers";

/// The strategy of Namespace.
#[derive(Debug)]
pub(super) struct Namespace;

impl Strategy for Namespace {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn default(&self, names: &Names, object: &mut Value) {
        let name = object.str_at(&["metadata", "name"]).unwrap_or_default().to_owned();
        if !name.is_empty() {
            object.set_at(&["metadata", "labels", names.label_metadata_name], name);
        }
    }

    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            Part::Status => &["spec"],
            _ => &["status"],
        }
    }

    fn prepare_create(&self, names: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("phase", ACTIVE)]));
        let own = Value::from(names.finalizer_namespace);
        if !finalizers(object).contains(&own) {
            let mut all = finalizers(object).to_vec();
            all.push(own);
            object.set_at(&["spec", "finalizers"], Value::List(all));
        }
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        let kept: &[&str] = match part {
            Part::Status => &["spec"],
            Part::Finalize => &["status"],
            _ => &["spec", "status"],
        };
        for field in kept {
            restore(old, new, field);
        }
    }

    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let path = Path::new(FINALIZERS);
        finalizers(object)
            .iter()
            .flat_map(|finalizer| finalizer_causes(names, &path, finalizer))
            .collect()
    }

    fn validate_update(&self, names: &Names, part: Part, _: &Value, new: &Value) -> Vec<Cause> {
        if part == Part::Finalize {
            let path = Path::new(FINALIZERS);
            let all = finalizers(new).iter().enumerate();
            return all
                .flat_map(|(index, own)| finalizer_causes(names, &path.index(index), own))
                .collect();
        }
        if part != Part::Status {
            return Vec::new();
        }
        let phase = new.str_at(&["status", "phase"]).unwrap_or_default();
        let deleting =
            new.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null());
        let (expected, why) = if deleting {
            (TERMINATING, "may only be 'Terminating' if `deletionTimestamp` is not empty")
        } else {
            (ACTIVE, "may only be 'Active' if `deletionTimestamp` is empty")
        };
        if phase == expected {
            Vec::new()
        } else {
            vec![Cause::invalid("status.Phase", phase, why)]
        }
    }

    fn begin_deletion(&self, object: &mut Value) {
        object.set_at(&["status", "phase"], TERMINATING);
    }

    fn shows_grace_period(&self) -> bool {
        false
    }

    fn is_held(&self, object: &Value) -> bool {
        !finalizers(object).is_empty()
    }

    fn undeletable(&self, names: &Names, name: &str) -> Option<&'static str> {
        let fixed = [well_known::NAMESPACE_DEFAULT, names.namespace_system, names.namespace_public];
        fixed.contains(&name).then_some("this namespace may not be deleted")
    }

    fn companions(&self, step: Step, name: &str) -> Vec<Operation> {
        vec![live_marker(step, name)]
    }
}

fn finalizers(object: &Value) -> &[Value] {
    object.at(&["spec", "finalizers"]).and_then(Value::as_list).unwrap_or_default()
}

/// Checks a finalizer of a namespace.
fn finalizer_causes(names: &Names, path: &Path, finalizer: &Value) -> Vec<Cause> {
    let standard =
        [names.finalizer_namespace, well_known::FINALIZER_ORPHAN, well_known::FINALIZER_FOREGROUND];
    let text = finalizer.as_str().unwrap_or_default();
    let mut causes = name::finalizer(path, text);
    if !text.contains('/') && !standard.contains(&text) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        causes.push(Cause::invalid(path, text, why));
    }
    causes
}

fn restore(old: &Value, new: &mut Value, field: &str) {
    let Some(map) = new.as_map_mut() else { return };
    match old.get(field) {
        Some(value) => map.insert(field, value.clone()),
        None => map.remove(field),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn a_new_namespace_is_active_and_labelled() {
        let names = Naming::Svc.names();
        let mut object = Value::from(
            json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["x/y"]}, "status": {"phase": "Odd"}}),
        );
        Namespace.default(names, &mut object);
        Namespace.prepare_create(names, &mut object);
        let labels = json!({"svc.io/metadata.name": "a"});
        let expect = json!({"metadata": {"name": "a", "labels": labels}, "spec": {"finalizers": ["x/y", "svc"]}, "status": {"phase": "Active"}});
        assert_eq!(object, expect.into());
        assert!(Namespace.is_held(&object));
    }

    #[test]
    fn each_part_changes_its_own_fields() {
        let old =
            Value::from(json!({"spec": {"finalizers": ["svc"]}, "status": {"phase": "Active"}}));
        let asked = json!({"spec": {}, "status": {"phase": "Odd"}});
        let check = |part: Part, expect: serde_json::Value| {
            let mut new = Value::from(asked.clone());
            Namespace.prepare_update(Naming::Svc.names(), part, &old, &mut new);
            assert_eq!(new, expect.into());
        };
        check(Part::Main, json!({"spec": {"finalizers": ["svc"]}, "status": {"phase": "Active"}}));
        check(Part::Status, json!({"spec": {"finalizers": ["svc"]}, "status": {"phase": "Odd"}}));
        check(Part::Finalize, json!({"spec": {}, "status": {"phase": "Active"}}));
    }

    #[test]
    fn finalizers_are_known_or_qualified() {
        let check = |finalizer: &str, expect: &[&str]| {
            let names = Naming::Svc.names();
            let object = json!({"spec": {"finalizers": [finalizer]}}).into();
            let created = Namespace.validate_create(names, &object);
            let finalized = Namespace.validate_update(names, Part::Finalize, &object, &object);
            let fields = |causes: &[Cause]| {
                causes.iter().map(|cause| cause.field.clone()).collect::<Vec<_>>()
            };
            assert_eq!([fields(&created), fields(&finalized)].concat(), expect, "{finalizer}");
        };
        check("svc", &[]);
        check("orphan", &[]);
        check("example.com/x", &[]);
        check("foo", &["spec.finalizers", "spec.finalizers[0]"]);
        check("a b/c", &["spec.finalizers", "spec.finalizers[0]"]);
    }

    #[test]
    fn the_phase_follows_the_deletion() {
        let check = |object: serde_json::Value, expect: usize| {
            let object = object.into();
            let causes =
                Namespace.validate_update(Naming::Svc.names(), Part::Status, &object, &object);
            assert_eq!(causes.len(), expect);
        };
        check(json!({"metadata": {}, "status": {"phase": "Active"}}), 0);
        check(json!({"metadata": {}, "status": {"phase": "Terminating"}}), 1);
        check(
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Terminating"}}),
            0,
        );
        check(
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Active"}}),
            1,
        );
    }

    #[test]
    fn the_live_marker_follows_the_phase() {
        let key = b"n/a".as_slice();
        assert!(
            matches!(&Namespace.companions(Step::Created, "a")[..], [Operation::Put { key: k, .. }] if k == key)
        );
        assert!(
            matches!(&Namespace.companions(Step::Terminating, "a")[..], [Operation::Delete { key: k }] if k == key)
        );
        assert!(
            matches!(&Namespace.companions(Step::Removed, "a")[..], [Operation::Delete { key: k }] if k == key)
        );
    }
}
