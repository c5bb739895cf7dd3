//! PersistentVolume: storage with a life of its own.
//!
//! Its source is checked in `volume_source`.

use quorate_meta::{Cause, Map, Names, Time, Value, name};

use super::pod::{check_node_selector, node_labels};
use super::volume_source;
use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The strategy of PersistentVolume.
#[derive(Debug)]
pub(super) struct PersistentVolume;

impl Strategy for PersistentVolume {
    fn checks_structure(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_create(&self, names: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("phase", "Pending")]));
        add_protection(object, names.domain_key("pv-protection"));
    }

    /// Sets `lastPhaseTransitionTime` with the phase, unless the client sets it.
    fn stamp(&self, _: &Names, old: Option<&Value>, new: &mut Value, now: Time) {
        const TIME: [&str; 2] = ["status", "lastPhaseTransitionTime"];
        const PHASE: [&str; 2] = ["status", "phase"];
        let keeps_time = old
            .is_some_and(|old| old.at(&PHASE) == new.at(&PHASE) || old.at(&TIME) != new.at(&TIME));
        if !keeps_time {
            new.set_at(&TIME, now.seconds());
        }
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        check_capacity(&spec.get("capacity"), &mut causes);
        let modes = spec.get("accessModes");
        if modes.is_empty() {
            causes.push(modes.required(""));
        }
        access_modes(&modes, &mut causes);
        let policy = spec.get("persistentVolumeReclaimPolicy");
        rules::optional_one_of(&policy, &["Delete", "Recycle", "Retain"], &mut causes);
        volume_source::check(&spec, &mut causes);
        if policy.text() == "Recycle" && is_root(spec.get("hostPath.path").text()) {
            causes.push(policy.forbidden("may not be 'recycle' for a hostPath mount of '/'"));
        }
        check_affinity(&spec.get("nodeAffinity"), &mut causes);
        if spec.get("local").is_set() && !spec.get("nodeAffinity").is_set() {
            causes.push(spec.get("nodeAffinity").required("Local volume requires node affinity"));
        }
        rules::optional_name(&spec.get("storageClassName"), name::dns_subdomain, &mut causes);
        rules::optional_one_of(&spec.get("volumeMode"), &["Block", "Filesystem"], &mut causes);
        check_attributes_class(&spec, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if !volume_source::is_unchanged(old, new) {
            let why = "spec.persistentvolumesource is immutable after creation";
            causes.push(Cause::forbidden("spec.persistentvolumesource", why));
        }
        if old.at(&["spec", "volumeMode"]) != new.at(&["spec", "volumeMode"]) {
            let mode = new.at(&["spec", "volumeMode"]).cloned().unwrap_or_default();
            causes.push(Cause::invalid("volumeMode", mode, rules::IMMUTABLE));
        }
        let affinity = |object| Field::root(object).get("spec.nodeAffinity");
        if affinity(old).is_set() && affinity(old).value() != affinity(new).value() {
            causes.push(Cause::invalid(
                "nodeAffinity",
                affinity(new).value().clone(),
                rules::IMMUTABLE,
            ));
        }
        causes
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings: Vec<String> = class_annotation_warning(names, new).into_iter().collect();
        let options = format!("volume.beta.{}", names.domain_key("mount-options"));
        if new.at(&["metadata", "annotations", &options]).is_some() {
            let why = "deprecated since v1.31; use \"mountOptions\" attribute instead";
            warnings.push(format!("metadata.annotations[{options}]: {why}"));
        }
        let terms = Field::root(new).get("spec.nodeAffinity.required.nodeSelectorTerms");
        terms.items().for_each(|term| node_labels::of_term(names, &term, &mut warnings));
        if new.str_at(&["spec", "persistentVolumeReclaimPolicy"]) == Some("Recycle") {
            let why = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
            warnings.push(format!("spec.persistentVolumeReclaimPolicy: {why}"));
        }
        warnings.extend(volume_source::warnings(new));
        warnings
    }
}

/// The warning about the deprecated storage class annotation.
pub(super) fn class_annotation_warning(names: &Names, object: &Value) -> Option<String> {
    let old = format!("volume.beta.{}", names.domain_key("storage-class"));
    object.at(&["metadata", "annotations", &old])?;
    let why = "deprecated since v1.8; use \"storageClassName\" attribute instead";
    Some(format!("metadata.annotations[{old}]: {why}"))
}

/// Adds the finalizer that protects a volume or claim in use from deletion.
pub(super) fn add_protection(object: &mut Value, finalizer: String) {
    let finalizers =
        object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    if !finalizers.iter().any(|own| own.as_str() == Some(&finalizer)) {
        let all = finalizers.iter().cloned().chain([finalizer.into()]).collect();
        object.set_at(&["metadata", "finalizers"], Value::List(all));
    }
}

/// Checks access modes: known ones, and `ReadWriteOncePod` only alone.
pub(super) fn access_modes(modes: &Field<'_>, causes: &mut Vec<Cause>) {
    let unknown = modes.items().filter(|mode| !MODES.contains(&mode.text()));
    causes.extend(unknown.map(|mode| Cause::not_supported(modes.path(), mode.text(), &MODES)));
    if modes.items().len() > 1 && modes.items().any(|mode| mode.text() == "ReadWriteOncePod") {
        causes.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

fn check_capacity(capacity: &Field<'_>, causes: &mut Vec<Cause>) {
    if capacity.is_empty() {
        causes.push(capacity.required(""));
    }
    let names: Vec<&str> = capacity.entries().map(|(name, _)| name).collect();
    if names != ["storage"] {
        causes.push(Cause::not_supported(capacity.path(), capacity.value().clone(), &["storage"]));
    }
    let empty = capacity.entries().filter(|(_, size)| !rules::is_positive(size));
    causes.extend(empty.map(|(_, size)| size.invalid("must be greater than zero")));
}

fn is_root(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|step| step.is_empty() || step == ".")
}

fn check_affinity(affinity: &Field<'_>, causes: &mut Vec<Cause>) {
    let required = affinity.get("required");
    if required.is_set() {
        check_node_selector(&required, causes);
    } else if affinity.is_set() {
        causes.push(required.required("must specify required node constraints"));
    }
}

/// Checks the volume attributes class, which only CSI volumes may have.
fn check_attributes_class(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let class = spec.get("volumeAttributesClassName");
    if !class.is_set() {
        return;
    }
    if class.is_empty() {
        causes.push(class.required("an empty string is disallowed"));
    } else {
        causes.extend(class.invalid_for(&name::dns_subdomain(class.text())));
    }
    if !spec.get("csi").is_set() {
        causes.push(
            spec.get("csi").required("has to be specified when using volumeAttributesClassName"),
        );
    }
}

/// Checks the inline specification of a VolumeAttachment: a CSI source, and few other fields.
pub(crate) fn check_inline(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    const INLINE: &str = "in the context of inline volumes";
    let forbid = |fields: &[&str], causes: &mut Vec<Cause>| {
        let given = fields.iter().map(|field| spec.get(field)).filter(|field| !field.is_empty());
        causes
            .extend(given.map(|field| field.forbidden(&format!("may not be specified {INLINE}"))));
    };
    forbid(&["claimRef", "capacity"], causes);
    if !spec.get("csi").is_set() {
        causes.push(spec.get("csi").required(&format!("has to be specified {INLINE}")));
    }
    let (modes, policy, mode) = (
        spec.get("accessModes"),
        spec.get("persistentVolumeReclaimPolicy"),
        spec.get("volumeMode"),
    );
    if modes.is_empty() {
        causes.push(modes.required(""));
    }
    access_modes(&modes, causes);
    if !matches!(policy.text(), "" | "Retain") {
        causes.push(policy.forbidden(&format!("may only be Retain {INLINE}")));
    }
    forbid(&["nodeAffinity"], causes);
    volume_source::check(spec, causes);
    forbid(&["storageClassName"], causes);
    if !matches!(mode.text(), "" | "Filesystem") {
        causes.push(
            mode.forbidden(&format!("may not specify volumeMode other than Filesystem {INLINE}")),
        );
    }
    forbid(&["volumeAttributesClassName"], causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn volume() -> Json {
        let spec = json!({
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x", "type": ""},
            "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"
        });
        json!({"metadata": {"name": "a"}, "spec": spec, "status": {"phase": "Pending"}})
    }

    #[test]
    fn volumes() {
        let check = |changes: &[(&str, Json)], expect: &[&str]| {
            let causes =
                PersistentVolume.validate(Naming::Svc.names(), &patched(&volume(), changes));
            assert_eq!(shown(&causes), expect, "{changes:?}");
        };
        check(&[], &[]);
        check(
            &[("/spec/capacity", json!(null))],
            &["Required spec.capacity", "NotSupported spec.capacity"],
        );
        check(&[("/spec/capacity", json!({"cpu": "1"}))], &["NotSupported spec.capacity"]);
        check(&[("/spec/capacity", json!({"storage": "0"}))], &["Invalid spec.capacity[storage]"]);
        check(&[("/spec/accessModes", json!([]))], &["Required spec.accessModes"]);
        check(&[("/spec/accessModes", json!(["Once"]))], &["NotSupported spec.accessModes"]);
        let modes = json!(["ReadWriteOncePod", "ReadWriteMany"]);
        check(&[("/spec/accessModes", modes)], &["Forbidden spec.accessModes"]);
        check(
            &[("/spec/persistentVolumeReclaimPolicy", json!("Keep"))],
            &["NotSupported spec.persistentVolumeReclaimPolicy"],
        );
        let recycled = ("/spec/persistentVolumeReclaimPolicy", json!("Recycle"));
        check(
            &[("/spec/hostPath/path", json!("//.")), recycled],
            &["Forbidden spec.persistentVolumeReclaimPolicy"],
        );
        check(&[("/spec/volumeMode", json!("Tape"))], &["NotSupported spec.volumeMode"]);
        check(&[("/spec/storageClassName", json!("A b"))], &["Invalid spec.storageClassName"]);
        check(
            &[("/spec/hostPath", json!(null)), ("/spec/local", json!({"path": "/x"}))],
            &["Required spec.nodeAffinity"],
        );
        let class = |class: &str| ("/spec/volumeAttributesClassName", json!(class));
        check(&[class("c")], &["Required spec.csi"]);
        check(&[class("")], &["Required spec.volumeAttributesClassName", "Required spec.csi"]);
    }

    #[test]
    fn affinities() {
        let check = |affinity: Json, expect: &[&str]| {
            let object = patched(&volume(), &[("/spec/nodeAffinity", affinity)]);
            assert_eq!(shown(&PersistentVolume.validate(Naming::Svc.names(), &object)), expect);
        };
        const TERMS: &str = "spec.nodeAffinity.required.nodeSelectorTerms";
        let term =
            |term: Json| json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}});
        check(json!({}), &["Required spec.nodeAffinity.required"]);
        check(json!({"required": {"nodeSelectorTerms": []}}), &[&format!("Required {TERMS}")]);
        check(term(json!({"key": "k", "operator": "Exists"})), &[]);
        check(
            term(json!({"key": "k", "operator": "In"})),
            &[&format!("Required {TERMS}[0].matchExpressions[0].values")],
        );
        check(
            term(json!({"key": "k", "operator": "Is"})),
            &[&format!("Invalid {TERMS}[0].matchExpressions[0].operator")],
        );
        let named = json!({"key": "metadata.name", "operator": "In", "values": ["a", "b"]});
        check(
            json!({"required": {"nodeSelectorTerms": [{"matchFields": [named]}]}}),
            &[&format!("Required {TERMS}[0].matchFields[0].values")],
        );
    }

    #[test]
    fn volumes_without_an_object() {
        let check = |changes: &[(&str, Json)], expect: &[&str]| {
            let base = json!({"spec": {"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}});
            let object = patched(&base, changes);
            let mut causes = Vec::new();
            check_inline(&Field::root(&object).get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect, "{changes:?}");
        };
        check(&[], &[]);
        check(&[("/spec/csi", json!(null))], &["Required spec.csi", "Required spec"]);
        check(&[("/spec/accessModes", json!(null))], &["Required spec.accessModes"]);
        check(&[("/spec/capacity", json!({"storage": "1"}))], &["Forbidden spec.capacity"]);
        check(&[("/spec/storageClassName", json!("x"))], &["Forbidden spec.storageClassName"]);
        check(&[("/spec/volumeMode", json!("Block"))], &["Forbidden spec.volumeMode"]);
        let policy = ("/spec/persistentVolumeReclaimPolicy", json!("Delete"));
        check(&[policy], &["Forbidden spec.persistentVolumeReclaimPolicy"]);
    }

    #[test]
    fn changes() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let new = patched(&volume(), &[(pointer, value)]);
            let causes = PersistentVolume.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &volume().into(),
                &new,
            );
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        check("/spec/capacity/storage", json!("2Gi"), &[]);
        check("/spec/nodeAffinity", json!({}), &[]);
        check("/spec/hostPath/path", json!("/other"), &["Forbidden spec.persistentvolumesource"]);
        check("/spec/volumeMode", json!("Block"), &["Invalid volumeMode"]);
    }

    #[test]
    fn a_new_volume_is_protected_and_its_phase_dated() {
        let names = Naming::Svc.names();
        let mut object = volume().into();
        PersistentVolume.prepare_create(names, &mut object);
        PersistentVolume.stamp(names, None, &mut object, Time::from_ms(0));
        assert_eq!(
            object.at(&["metadata", "finalizers"]),
            Some(&json!(["svc.io/pv-protection"]).into())
        );
        let status = json!({"phase": "Pending", "lastPhaseTransitionTime": "1970-01-01T00:00:00Z"});
        assert_eq!(object.get("status"), Some(&status.into()));
        let mut next = object.clone();
        PersistentVolume.stamp(names, Some(&object), &mut next, Time::from_ms(5000));
        assert_eq!(next, object);
        next.set_at(&["status", "phase"], "Bound");
        PersistentVolume.stamp(names, Some(&object), &mut next, Time::from_ms(5000));
        assert_eq!(
            next.str_at(&["status", "lastPhaseTransitionTime"]),
            Some("1970-01-01T00:00:05Z")
        );
    }
}
