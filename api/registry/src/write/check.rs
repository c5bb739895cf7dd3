//! Validation of object metadata: the rules for every object, and for every change of one.
//!
//! Not here: the rules of a kind, which are its strategy's.

use std::collections::HashSet;

use quorate_meta::{Cause, GroupVersion, Names, Path, Value, name, well_known};

use super::metadata::{finalizers, is_terminating};
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
    let absent = Value::Null;
    let checked = MetadataCheck {
        names,
        metadata: object.get("metadata").unwrap_or(&absent),
        path: Path::new("metadata"),
        name_rule: strategy.name_rule(),
        qualifies_finalizers: strategy.checks_finalizers(),
    };
    let mut causes = Vec::new();
    checked.names(&mut causes);
    checked.rest(&mut causes);
    causes
}

/// What is wrong with the metadata of an object that stands at a path inside of another one; it
/// needs no name.
pub fn embedded_metadata(names: &Names, path: &Path, metadata: &Value) -> Vec<Cause> {
    let checked = MetadataCheck {
        names,
        metadata,
        path: path.clone(),
        name_rule: NameRule::PathSegment,
        qualifies_finalizers: false,
    };
    let mut causes = Vec::new();
    if checked.text("name").is_empty() {
        checked.prefix(&mut causes);
    } else {
        checked.names(&mut causes);
    }
    let namespace = checked.text("namespace");
    if !namespace.is_empty() {
        let wrong = name::dns_label(namespace);
        let invalid = |why: &String| Cause::invalid(path.child("namespace"), namespace, why);
        causes.extend(wrong.iter().map(invalid));
    }
    checked.rest(&mut causes);
    causes
}

/// Metadata, its place, and the rules that differ between objects.
struct MetadataCheck<'m> {
    names: &'m Names,
    metadata: &'m Value,
    path: Path,
    name_rule: NameRule,
    qualifies_finalizers: bool,
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

impl<'m> MetadataCheck<'m> {
    fn text(&self, field: &str) -> &'m str {
        self.metadata.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn list(&self, field: &str) -> &'m [Value] {
        self.metadata.get(field).and_then(Value::as_list).unwrap_or_default()
    }

    /// Everything but the names.
    fn rest(&self, causes: &mut Vec<Cause>) {
        let generation = self.metadata.get("generation").and_then(Value::as_i64);
        if generation.is_some_and(|generation| generation < 0) {
            let why = "must be greater than or equal to 0";
            causes.push(Cause::invalid(self.path.child("generation"), -1, why));
        }
        let texts = |field: &str| {
            let map = self.metadata.get(field).and_then(Value::as_map);
            map.into_iter()
                .flat_map(|map| map.iter())
                .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
        };
        causes.extend(name::labels(&self.path.child("labels"), texts("labels")));
        causes.extend(name::annotations(&self.path.child("annotations"), texts("annotations")));
        self.owners(causes);
        self.finalizers(causes);
        self.managers(causes);
    }

    fn prefix(&self, causes: &mut Vec<Cause>) {
        let prefix = self.text("generateName");
        if prefix.is_empty() {
            return;
        }
        // A suffix is appended to the prefix, which may therefore end with a dash.
        let sample =
            prefix.strip_suffix('-').map_or_else(|| prefix.to_owned(), |head| format!("{head}a"));
        let path = self.path.child("generateName");
        let problems = name_problems(self.name_rule, &sample);
        causes.extend(problems.iter().map(|why| Cause::invalid(&path, prefix, why)));
    }

    fn names(&self, causes: &mut Vec<Cause>) {
        self.prefix(causes);
        let (own, path) = (self.text("name"), self.path.child("name"));
        if own.is_empty() {
            causes.push(Cause::required(path, "name or generateName is required"));
        } else {
            let problems = name_problems(self.name_rule, own);
            causes.extend(problems.iter().map(|why| Cause::invalid(&path, own, why)));
        }
    }

    fn owners(&self, causes: &mut Vec<Cause>) {
        let path = self.path.child("ownerReferences");
        let mut controllers = Vec::new();
        for owner in self.list("ownerReferences") {
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
                let why = "an Event is disallowed from being an owner";
                causes.push(Cause::invalid(&path, owner.clone(), why));
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

    fn finalizers(&self, causes: &mut Vec<Cause>) {
        let path = self.path.child("finalizers");
        let standard = [
            self.names.finalizer_namespace,
            self.names.finalizer_custom_resources,
            well_known::FINALIZER_ORPHAN,
            well_known::FINALIZER_FOREGROUND,
        ];
        let own: Vec<&str> = self.list("finalizers").iter().filter_map(Value::as_str).collect();
        for (index, finalizer) in own.iter().enumerate() {
            causes.extend(name::finalizer(&path, finalizer));
            let is_short = !finalizer.contains('/') && !standard.contains(finalizer);
            if self.qualifies_finalizers && is_short {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                causes.push(Cause::invalid(path.index(index), *finalizer, why));
            }
        }
        if own.contains(&well_known::FINALIZER_ORPHAN)
            && own.contains(&well_known::FINALIZER_FOREGROUND)
        {
            let why = "finalizer orphan and foregroundDeletion cannot be both set";
            causes.push(Cause::invalid(&path, own.join(","), why));
        }
    }

    /// What is wrong with `managedFields`, which clients may write too.
    fn managers(&self, causes: &mut Vec<Cause>) {
        let all = self.path.child("managedFields");
        for (index, entry) in self.list("managedFields").iter().enumerate() {
            let path = all.index(index);
            let text = |field: &str| entry.str_at(&[field]).unwrap_or_default();
            check_manager(&path.child("manager"), text("manager"), causes);
            if text("subresource").len() > MAX_SUBRESOURCE_BYTES {
                causes.push(Cause::too_long(path.child("subresource"), MAX_SUBRESOURCE_BYTES));
            }
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
    fn embedded_objects_need_no_name() {
        let check = |fields: serde_json::Value, expect: &[&str]| {
            let path = Path::new("spec.r.metadata");
            let causes = embedded_metadata(Naming::Svc.names(), &path, &fields.into());
            assert_eq!(shown(&causes), expect);
        };
        check(json!({}), &[]);
        check(json!({"name": "Not Valid", "finalizers": ["short"]}), &[]);
        check(json!({"name": "a/b"}), &["FieldValueInvalid spec.r.metadata.name"]);
        check(json!({"generateName": "a/"}), &["FieldValueInvalid spec.r.metadata.generateName"]);
        check(json!({"namespace": "A"}), &["FieldValueInvalid spec.r.metadata.namespace"]);
        check(
            json!({"labels": {"a": "not valid!"}}),
            &["FieldValueInvalid spec.r.metadata.labels"],
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
