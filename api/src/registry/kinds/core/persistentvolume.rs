//! PersistentVolume: storage that exists whether it is claimed or not. Where it comes from is checked in `volumesource`.

use quorate_meta::{Cause, Map, Names, Time, Value, name};

use super::pod::node_labels;
use super::volumesource;
use crate::registry::kinds::field::Field;
use crate::registry::kinds::rules;
use crate::registry::{Part, Strategy};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The semantics of volumes.
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
        protect(object, names.domain_key("pv-protection"));
    }

    /// The time of the last change of phase follows the phase, unless the writer says it.
    fn stamp(&self, _: &Names, old: Option<&Value>, new: &mut Value, now: Time) {
        const TIME: [&str; 2] = ["status", "lastPhaseTransitionTime"];
        const PHASE: [&str; 2] = ["status", "phase"];
        let stays = old.is_some_and(|old| old.at(&PHASE) == new.at(&PHASE) || old.at(&TIME) != new.at(&TIME));
        if !stays {
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
        volumesource::check(&spec, &mut causes);
        if policy.text() == "Recycle" && is_root(spec.get("hostPath.path").text()) {
            causes.push(policy.forbidden("may not be 'recycle' for a hostPath mount of '/'"));
        }
        check_affinity(&spec.get("nodeAffinity"), &mut causes);
        if spec.get("local").is_set() && !spec.get("nodeAffinity").is_set() {
            causes.push(spec.get("nodeAffinity").required("Local volume requires node affinity"));
        }
        for class in ["storageClassName", "volumeAttributesClassName"] {
            rules::optional_name(&spec.get(class), name::dns_subdomain, &mut causes);
        }
        rules::optional_one_of(&spec.get("volumeMode"), &["Block", "Filesystem"], &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if volumesource::of(old) != volumesource::of(new) {
            let why = "spec.persistentvolumesource is immutable after creation";
            causes.push(Cause::forbidden("spec.persistentvolumesource", why));
        }
        if old.at(&["spec", "volumeMode"]) != new.at(&["spec", "volumeMode"]) {
            let mode = new.at(&["spec", "volumeMode"]).cloned().unwrap_or_default();
            causes.push(Cause::invalid("volumeMode", mode, rules::IMMUTABLE));
        }
        let affinity = |object| Field::root(object).get("spec.nodeAffinity");
        if affinity(old).is_set() {
            rules::immutable(&affinity(old), &affinity(new), &mut causes);
        }
        causes
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings: Vec<String> = warning_of_class(names, new).into_iter().collect();
        let terms = Field::root(new).get("spec.nodeAffinity.required.nodeSelectorTerms");
        terms.items().for_each(|term| node_labels::of_term(names, &term, &mut warnings));
        if new.str_at(&["spec", "persistentVolumeReclaimPolicy"]) == Some("Recycle") {
            let why = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
            warnings.push(format!("spec.persistentVolumeReclaimPolicy: {why}"));
        }
        warnings.extend(volumesource::warnings(new));
        warnings
    }
}

/// What is told of a class that is named in the annotation of old.
pub(super) fn warning_of_class(names: &Names, object: &Value) -> Option<String> {
    let old = format!("volume.beta.{}", names.domain_key("storage-class"));
    object.at(&["metadata", "annotations", &old])?;
    let why = "deprecated since v1.8; use \"storageClassName\" attribute instead";
    Some(format!("metadata.annotations[{old}]: {why}"))
}

/// Adds the finalizer that keeps a volume or a claim while it is in use.
pub(super) fn protect(object: &mut Value, finalizer: String) {
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    if !finalizers.iter().any(|own| own.as_str() == Some(&finalizer)) {
        let all = finalizers.iter().cloned().chain([finalizer.into()]).collect();
        object.set_at(&["metadata", "finalizers"], Value::List(all));
    }
}

/// The ways of access must be known, and the one for a single pod stands alone.
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
    if !affinity.is_set() {
        return;
    }
    let required = affinity.get("required");
    if !required.is_set() {
        causes.push(required.required("must specify required node constraints"));
        return;
    }
    let terms = required.get("nodeSelectorTerms");
    if terms.is_empty() {
        causes.push(terms.required("must have at least one node selector term"));
    }
    for expression in terms.items().flat_map(|term| term.get("matchExpressions").items().collect::<Vec<_>>()) {
        let (operator, values) = (expression.get("operator"), expression.get("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                causes.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                causes.push(values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
            }
            "Gt" | "Lt" if values.items().len() != 1 => {
                causes.push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => causes.push(Cause::invalid(operator.path(), other, "not a valid selector operator")),
        }
        let key = expression.get("key");
        let wrong = name::qualified_name(key.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(key.path(), key.text(), why)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds::rules::testing::{but, shown};
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
            let causes = PersistentVolume.validate(Naming::Svc.names(), &but(&volume(), changes));
            assert_eq!(shown(&causes), expect, "{changes:?}");
        };
        check(&[], &[]);
        check(&[("/spec/capacity", json!(null))], &["Required spec.capacity", "NotSupported spec.capacity"]);
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
        check(&[("/spec/hostPath/path", json!("//.")), recycled], &["Forbidden spec.persistentVolumeReclaimPolicy"]);
        check(&[("/spec/volumeMode", json!("Tape"))], &["NotSupported spec.volumeMode"]);
        check(&[("/spec/storageClassName", json!("A b"))], &["Invalid spec.storageClassName"]);
        check(
            &[("/spec/hostPath", json!(null)), ("/spec/local", json!({"path": "/x"}))],
            &["Required spec.nodeAffinity"],
        );
    }

    #[test]
    fn affinities() {
        let check = |affinity: Json, expect: &[&str]| {
            let object = but(&volume(), &[("/spec/nodeAffinity", affinity)]);
            assert_eq!(shown(&PersistentVolume.validate(Naming::Svc.names(), &object)), expect);
        };
        const TERMS: &str = "spec.nodeAffinity.required.nodeSelectorTerms";
        let term = |term: Json| json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}});
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
    }

    #[test]
    fn changes() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let new = but(&volume(), &[(pointer, value)]);
            let causes = PersistentVolume.validate_update(Naming::Svc.names(), Part::Main, &volume().into(), &new);
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
        assert_eq!(object.at(&["metadata", "finalizers"]), Some(&json!(["svc.io/pv-protection"]).into()));
        let status = json!({"phase": "Pending", "lastPhaseTransitionTime": "1970-01-01T00:00:00Z"});
        assert_eq!(object.get("status"), Some(&status.into()));
        let mut next = object.clone();
        PersistentVolume.stamp(names, Some(&object), &mut next, Time::from_ms(5000));
        assert_eq!(next, object);
        next.set_at(&["status", "phase"], "Bound");
        PersistentVolume.stamp(names, Some(&object), &mut next, Time::from_ms(5000));
        assert_eq!(next.str_at(&["status", "lastPhaseTransitionTime"]), Some("1970-01-01T00:00:05Z"));
    }
}
