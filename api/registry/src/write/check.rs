//! Validation of object metadata: the rules for every object, and for every change of one.
//!
//! Not here: the rules of a kind, which are its strategy's.

use std::collections::HashSet;

use quorate_meta::{Cause, GroupVersion, Names, Path, Value, name, well_known};

use super::metadata::{finalizers, is_terminating, text};
use crate::{NameRule, Strategy};

const IMMUTABLE: &str = "field is immutable";
/// Bytes of a field manager's name.
pub const MAX_MANAGER_BYTES: usize = 128;
/// Bytes of the name of the subresource that a field manager wrote through.
const MAX_SUBRESOURCE_BYTES: usize = 256;

/// What is wrong with a name.
fn name_problems(rule: NameRule, text: &str) -> Vec<String> {
    match rule {
        NameRule::Subdomain => name::dns_subdomain(text),
        NameRule::Label => name::dns_label(text),
        NameRule::HostName => name::dns_1035_label(text),
        NameRule::PathSegment => name::path_segment(text),
        NameRule::Own => Vec::new(),
    }
}

/// What is wrong with an object's metadata.
pub(super) fn metadata(names: &Names, strategy: &dyn Strategy, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_names(strategy.name_rule(), object, &mut causes);
    if object
        .at(&["metadata", "generation"])
        .and_then(Value::as_i64)
        .is_some_and(|generation| generation < 0)
    {
        causes.push(Cause::invalid(
            "metadata.generation",
            -1,
            "must be greater than or equal to 0",
        ));
    }
    let texts = |field: &str| {
        let map = object.at(&["metadata", field]).and_then(Value::as_map);
        map.into_iter()
            .flat_map(|map| map.iter())
            .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
    };
    causes.extend(name::labels(&Path::new("metadata.labels"), texts("labels")));
    causes.extend(name::annotations(&Path::new("metadata.annotations"), texts("annotations")));
    check_owners(object, &mut causes);
    check_finalizers(names, strategy.checks_finalizers(), object, &mut causes);
    check_managers(object, &mut causes);
    causes
}

/// What is wrong with the name of a field manager.
pub fn check_manager(path: &Path, manager: &str, causes: &mut Vec<Cause>) {
    if manager.len() > MAX_MANAGER_BYTES {
        causes.push(Cause::too_long(path, MAX_MANAGER_BYTES));
    }
    for (at, bad) in
        manager.char_indices().filter(|(_, c)| c.is_control() || (*c != ' ' && c.is_whitespace()))
    {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(bad));
        causes.push(Cause::invalid(path, manager, &why));
    }
}

/// What is wrong with the change of an object's metadata.
pub(super) fn metadata_update(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if is_terminating(old) {
        let kept: HashSet<&str> = finalizers(old).collect();
        let added: Vec<&str> = finalizers(new).filter(|added| !kept.contains(added)).collect();
        if !added.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers: {}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let value = |object: &Value| object.at(&["metadata", field]).cloned().unwrap_or_default();
        let (before, after) = (value(old), value(new));
        if before != after {
            causes.push(Cause::invalid(Path::new("metadata").child(field), after, IMMUTABLE));
        }
    }
    causes
}

fn check_names(rule: NameRule, object: &Value, causes: &mut Vec<Cause>) {
    let prefix = text(object, "generateName");
    if !prefix.is_empty() {
        // A suffix is appended to the prefix, which may therefore end with a dash.
        let sample =
            prefix.strip_suffix('-').map_or_else(|| prefix.to_owned(), |head| format!("{head}a"));
        let problems = name_problems(rule, &sample);
        causes.extend(
            problems.iter().map(|why| Cause::invalid("metadata.generateName", prefix, why)),
        );
    }
    let own = text(object, "name");
    if own.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        causes.extend(
            name_problems(rule, own).iter().map(|why| Cause::invalid("metadata.name", own, why)),
        );
    }
}

fn check_owners(object: &Value, causes: &mut Vec<Cause>) {
    let owners =
        object.at(&["metadata", "ownerReferences"]).and_then(Value::as_list).unwrap_or_default();
    let path = Path::new("metadata.ownerReferences");
    let mut controllers = Vec::new();
    for owner in owners {
        let field = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        let group_version = GroupVersion::parse(field("apiVersion"));
        if group_version.as_ref().is_none_or(|gv| gv.version.is_empty()) {
            causes.push(Cause::invalid(
                path.child("apiVersion"),
                field("apiVersion"),
                "version must not be empty",
            ));
        }
        for name in ["kind", "name", "uid"] {
            if field(name).is_empty() {
                causes.push(Cause::invalid(path.child(name), "", "must not be empty"));
            }
        }
        if group_version.is_some_and(|gv| gv == GroupVersion::new("", "v1"))
            && field("kind") == "Event"
        {
            causes.push(Cause::invalid(
                &path,
                owner.clone(),
                "an Event is disallowed from being an owner",
            ));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers.push(field("name"));
        }
    }
    if controllers.len() > 1 {
        let why = "only one reference can have controller set to true";
        causes.push(Cause::invalid(&path, controllers.join(", "), why));
    }
}

fn check_finalizers(names: &Names, qualified: bool, object: &Value, causes: &mut Vec<Cause>) {
    let path = Path::new("metadata.finalizers");
    let standard = [
        names.finalizer_namespace,
        names.finalizer_custom_resources,
        well_known::FINALIZER_ORPHAN,
        well_known::FINALIZER_FOREGROUND,
    ];
    for (index, finalizer) in finalizers(object).enumerate() {
        causes.extend(name::finalizer(&path, finalizer));
        if qualified && !finalizer.contains('/') && !standard.contains(&finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(path.index(index), finalizer, why));
        }
    }
    let has = |name: &str| finalizers(object).any(|finalizer| finalizer == name);
    if has(well_known::FINALIZER_ORPHAN) && has(well_known::FINALIZER_FOREGROUND) {
        let both = finalizers(object).collect::<Vec<_>>().join(",");
        causes.push(Cause::invalid(
            &path,
            both,
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
}

/// What is wrong with `managedFields`, which clients may write too.
fn check_managers(object: &Value, causes: &mut Vec<Cause>) {
    let entries =
        object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    for (index, entry) in entries.iter().enumerate() {
        let path = Path::new("metadata.managedFields").index(index);
        check_manager(
            &path.child("manager"),
            entry.str_at(&["manager"]).unwrap_or_default(),
            causes,
        );
        if entry
            .str_at(&["subresource"])
            .is_some_and(|subresource| subresource.len() > MAX_SUBRESOURCE_BYTES)
        {
            causes.push(Cause::too_long(path.child("subresource"), MAX_SUBRESOURCE_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[derive(Debug)]
    struct Plain;

    impl Strategy for Plain {}

    fn shown(causes: &[Cause]) -> Vec<String> {
        causes.iter().map(|cause| format!("{} {}", cause.reason.as_str(), cause.field)).collect()
    }

    #[track_caller]
    fn check(fields: serde_json::Value, expect: &[&str]) {
        let mut object = Value::from(json!({"metadata": {"name": "a"}}));
        crate::patch::merge(&mut object, json!({"metadata": fields}).into());
        let causes = metadata(Naming::Svc.names(), &Plain, &object);
        assert_eq!(shown(&causes), expect);
    }

    #[test]
    fn names() {
        check(json!({}), &[]);
        check(json!({"name": "Upper"}), &["FieldValueInvalid metadata.name"]);
        check(json!({"name": null}), &["FieldValueRequired metadata.name"]);
        check(json!({"generateName": "a-"}), &[]);
        check(json!({"generateName": "A-"}), &["FieldValueInvalid metadata.generateName"]);
    }

    #[test]
    fn labels_and_annotations() {
        check(json!({"labels": {"example.com/Key_1.x": "A_v.1", "empty": ""}}), &[]);
        check(json!({"labels": {"a/b/c": "v"}}), &["FieldValueInvalid metadata.labels"]);
        check(json!({"labels": {"k": "bad value!"}}), &["FieldValueInvalid metadata.labels"]);
        check(json!({"annotations": {"UPPER.example.com/k": "any text\n"}}), &[]);
        check(
            json!({"annotations": {"k": "x".repeat(256 << 10)}}),
            &["FieldValueTooLong metadata.annotations"],
        );
    }

    #[test]
    fn finalizers_are_qualified_and_do_not_contradict() {
        check(json!({"finalizers": ["example.com/ok"]}), &[]);
        check(
            json!({"finalizers": ["unqualified"]}),
            &["FieldValueInvalid metadata.finalizers[0]"],
        );
        check(
            json!({"finalizers": ["orphan", "foregroundDeletion"]}),
            &["FieldValueInvalid metadata.finalizers"],
        );
        check(
            json!({"finalizers": ["example.com/ok", "bad name/x"]}),
            &["FieldValueInvalid metadata.finalizers"],
        );
    }

    #[test]
    fn owners_are_complete() {
        let owner = |change: serde_json::Value| {
            let mut owner = Value::from(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}),
            );
            crate::patch::merge(&mut owner, change.into());
            serde_json::to_value(owner).unwrap()
        };
        check(json!({"ownerReferences": [owner(json!({}))]}), &[]);
        for field in ["apiVersion", "kind", "name", "uid"] {
            let expect = format!("FieldValueInvalid metadata.ownerReferences.{field}");
            check(json!({"ownerReferences": [owner(json!({field: ""}))]}), &[&expect]);
        }
        let controller = || owner(json!({"controller": true}));
        check(
            json!({"ownerReferences": [controller(), controller()]}),
            &["FieldValueInvalid metadata.ownerReferences"],
        );
        check(
            json!({"ownerReferences": [owner(json!({"kind": "Event"}))]}),
            &["FieldValueInvalid metadata.ownerReferences"],
        );
    }

    #[test]
    fn owners_of_fields_have_short_names() {
        let entry = |manager: &str, subresource: &str| json!([{"manager": manager, "subresource": subresource}]);
        check(json!({"managedFields": entry(&"x".repeat(128), "status")}), &[]);
        check(
            json!({"managedFields": entry(&"x".repeat(129), "")}),
            &["FieldValueTooLong metadata.managedFields[0].manager"],
        );
        check(
            json!({"managedFields": entry("a\nb", "")}),
            &["FieldValueInvalid metadata.managedFields[0].manager"],
        );
        let long = entry("a", &"x".repeat(257));
        check(
            json!({"managedFields": long}),
            &["FieldValueTooLong metadata.managedFields[0].subresource"],
        );
    }

    #[test]
    fn changes() {
        let check = |old: serde_json::Value, new: serde_json::Value, expect: &[&str]| {
            let causes =
                metadata_update(&json!({"metadata": old}).into(), &json!({"metadata": new}).into());
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"uid": "u"}), json!({"uid": "u", "finalizers": ["a/b"]}), &[]);
        check(json!({"uid": "u"}), json!({"uid": "v"}), &["FieldValueInvalid metadata.uid"]);
        let gone = "2001-01-01T00:00:00Z";
        check(
            json!({}),
            json!({"deletionTimestamp": gone}),
            &["FieldValueInvalid metadata.deletionTimestamp"],
        );
        let terminating =
            |finalizers: &[&str]| json!({"deletionTimestamp": gone, "finalizers": finalizers});
        check(terminating(&["a/b", "a/c"]), terminating(&["a/c"]), &[]);
        check(
            terminating(&["a/b"]),
            terminating(&["a/c"]),
            &["FieldValueForbidden metadata.finalizers"],
        );
    }
}
