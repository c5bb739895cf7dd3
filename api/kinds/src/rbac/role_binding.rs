//! RoleBinding and ClusterRoleBinding: the subjects that a role is granted to.
//!
//! Invariants: `roleRef` never changes; the subjects have an API group. A user or group with a
//! namespace is stored as it is; the authorizer reports it.

use quorate_meta::{Cause, Names, Path, Value, name};

use super::differs;
use quorate_registry::{Grant, NameRule, Part, Strategy};

const GROUP: &str = "rbac.authorization";

/// The strategy of RoleBinding and ClusterRoleBinding.
#[derive(Debug)]
pub(super) struct RoleBinding {
    /// Whether the kind is namespaced.
    pub(super) namespaced: bool,
}

impl Strategy for RoleBinding {
    fn has_declared_rules(&self) -> bool {
        self.namespaced
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn checks_structure(&self) -> bool {
        false
    }

    fn default(&self, names: &Names, object: &mut Value) {
        for subject in object.get_mut("subjects").and_then(Value::as_list_mut).into_iter().flatten()
        {
            let is_ours = matches!(text(subject, "kind"), "User" | "Group");
            if is_ours && text(subject, "apiGroup").is_empty() {
                subject.set_at(&["apiGroup"], names.group(GROUP));
            }
        }
    }

    fn grant(&self, old: Option<&Value>, new: &Value) -> Option<Grant> {
        if old.is_some_and(|old| !differs(old, new)) {
            return None;
        }
        let role = new.get("roleRef").unwrap_or(&Value::Null);
        Some(Grant::Role {
            in_namespace: text(role, "kind") == "Role",
            name: text(role, "name").to_owned(),
        })
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let group = names.group(GROUP);
        self.check_role(object.get("roleRef").unwrap_or(&Value::Null), &group, &mut causes);
        let subjects = object.get("subjects").and_then(Value::as_list).unwrap_or_default();
        for (index, subject) in subjects.iter().enumerate() {
            self.check_subject(subject, &Path::new("subjects").index(index), &group, &mut causes);
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let (before, after) = (old.get("roleRef"), new.get("roleRef"));
        if before == after {
            return Vec::new();
        }
        vec![Cause::invalid("roleRef", after.cloned().unwrap_or_default(), "cannot change roleRef")]
    }
}

impl RoleBinding {
    fn check_role(&self, role: &Value, group: &str, causes: &mut Vec<Cause>) {
        let path = Path::new("roleRef");
        if text(role, "apiGroup") != group {
            causes.push(Cause::not_supported(
                path.child("apiGroup"),
                text(role, "apiGroup"),
                &[group],
            ));
        }
        let kinds: &[&str] =
            if self.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
        if !kinds.contains(&text(role, "kind")) {
            causes.push(Cause::not_supported(path.child("kind"), text(role, "kind"), kinds));
        }
        match text(role, "name") {
            "" => causes.push(Cause::required(path.child("name"), "")),
            own => causes.extend(name::object_name(&path.child("name"), own, name::path_segment)),
        }
    }

    fn check_subject(&self, subject: &Value, path: &Path, group: &str, causes: &mut Vec<Cause>) {
        let own = text(subject, "name");
        if own.is_empty() {
            causes.push(Cause::required(path.child("name"), ""));
        }
        let mut check_group = |expected: &str| {
            if text(subject, "apiGroup") != expected {
                causes.push(Cause::not_supported(
                    path.child("apiGroup"),
                    text(subject, "apiGroup"),
                    &[expected],
                ));
            }
        };
        match text(subject, "kind") {
            "User" | "Group" => check_group(group),
            "ServiceAccount" => {
                check_group("");
                if !own.is_empty() {
                    causes.extend(name::object_name(&path.child("name"), own, name::dns_subdomain));
                }
                if !self.namespaced && text(subject, "namespace").is_empty() {
                    causes.push(Cause::required(path.child("namespace"), ""));
                }
            }
            other => {
                let known = ["ServiceAccount", "User", "Group"];
                causes.push(Cause::not_supported(path.child("kind"), other, &known));
            }
        }
    }
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.str_at(&[field]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn shown(causes: &[Cause]) -> Vec<String> {
        causes.iter().map(|cause| format!("{} {}", cause.reason.as_str(), cause.field)).collect()
    }

    #[track_caller]
    fn check(
        namespaced: bool,
        role: serde_json::Value,
        subject: serde_json::Value,
        expect: &[&str],
    ) {
        let names = Naming::Svc.names();
        let mut object = Value::from(json!({"roleRef": role, "subjects": [subject]}));
        let binding = RoleBinding { namespaced };
        binding.default(names, &mut object);
        assert_eq!(shown(&binding.validate(names, &object)), expect);
    }

    fn role(kind: &str) -> serde_json::Value {
        json!({"apiGroup": "rbac.authorization.svc.io", "kind": kind, "name": "r"})
    }

    #[test]
    fn roles() {
        let check = |namespaced: bool, role: serde_json::Value, expect: &[&str]| {
            check(namespaced, role, json!({"kind": "User", "name": "u"}), expect);
        };
        check(true, role("Role"), &[]);
        check(true, role("ClusterRole"), &[]);
        check(false, role("ClusterRole"), &[]);
        check(false, role("Role"), &["FieldValueNotSupported roleRef.kind"]);
        let all =
            ["NotSupported roleRef.apiGroup", "NotSupported roleRef.kind", "Required roleRef.name"];
        let all = all.map(|cause| format!("FieldValue{cause}"));
        check(true, json!({}), &all.each_ref().map(String::as_str));
        let named = json!({"apiGroup": "rbac.authorization.svc.io", "kind": "Role", "name": "a/b"});
        check(true, named, &["FieldValueInvalid roleRef.name"]);
    }

    #[test]
    fn subjects() {
        let check = |namespaced: bool, subject: serde_json::Value, expect: &[&str]| {
            check(namespaced, role("ClusterRole"), subject, expect);
        };
        check(true, json!({"kind": "Group", "name": "any name/at all"}), &[]);
        check(true, json!({"kind": "User", "name": "u", "namespace": "n"}), &[]);
        check(true, json!({"kind": "ServiceAccount", "name": "s"}), &[]);
        check(
            false,
            json!({"kind": "ServiceAccount", "name": "s"}),
            &["FieldValueRequired subjects[0].namespace"],
        );
        check(
            true,
            json!({"kind": "ServiceAccount", "name": "S_"}),
            &["FieldValueInvalid subjects[0].name"],
        );
        let other = json!({"kind": "User", "name": "u", "apiGroup": "apps"});
        check(true, other, &["FieldValueNotSupported subjects[0].apiGroup"]);
        let nothing =
            ["FieldValueRequired subjects[0].name", "FieldValueNotSupported subjects[0].kind"];
        check(true, json!({}), &nothing);
    }

    #[test]
    fn the_role_stays() {
        let check = |new: serde_json::Value, expect: usize| {
            let object = |role: serde_json::Value| Value::from(json!({"roleRef": role}));
            let (old, new) = (object(role("Role")), object(new));
            let causes = RoleBinding { namespaced: true }.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &old,
                &new,
            );
            assert_eq!(causes.len(), expect);
        };
        check(role("Role"), 0);
        check(role("ClusterRole"), 1);
        check(json!(null), 1);
    }
}
