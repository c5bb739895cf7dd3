//! PersistentVolumeClaim: a request of a namespace for storage.

use quorate_meta::{Cause, Map, Names, Value, name, quoted};

use super::claim_status;
use super::persistent_volume::{access_modes, add_protection, class_annotation_warning};
use crate::field::Field;
use crate::rules;
use quorate_registry::strategy::status;
use quorate_registry::{Part, Strategy};

const FIXED: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const CLAIM: &str = "PersistentVolumeClaim";

/// The strategy of PersistentVolumeClaim.
#[derive(Debug)]
pub(super) struct PersistentVolumeClaim;

impl Strategy for PersistentVolumeClaim {
    fn checks_structure(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_create(&self, names: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("phase", "Pending")]));
        add_protection(object, names.domain_key("pvc-protection"));
        drop_cross_namespace_source(None, object);
        align_sources(names, object);
    }

    fn prepare_update(&self, names: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        drop_cross_namespace_source(Some(old), new);
        align_sources(names, new);
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let modes = spec.get("accessModes");
        if modes.is_empty() {
            causes.push(modes.required("at least 1 access mode is required"));
        }
        access_modes(&modes, &mut causes);
        rules::selector(&spec.get("selector"), &mut causes);
        let resources = spec.get("resources");
        let size = resources.get("requests.storage");
        if !size.is_set() {
            causes.push(Cause::required(resources.path().key("storage"), ""));
        } else if !rules::is_positive(&size) {
            causes.push(Cause::invalid(
                resources.path().key("storage"),
                size.value().clone(),
                "must be greater than zero",
            ));
        }
        for class in ["storageClassName", "volumeAttributesClassName"] {
            rules::optional_name(&spec.get(class), name::dns_subdomain, &mut causes);
        }
        rules::optional_one_of(&spec.get("volumeMode"), &["Block", "Filesystem"], &mut causes);
        check_sources(names, &spec, &mut causes);
        causes
    }

    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if part != Part::Main {
            claim_status::check(names, &Field::root(new).get("status"), &mut causes);
            return causes;
        }
        if fixed(old, old) != fixed(old, new) {
            causes.push(Cause::forbidden("spec", FIXED));
        }
        let mode = |object| Field::root(object).get("spec.volumeMode");
        rules::immutable(&mode(old), &mode(new), &mut causes);
        let size = |object, field| rules::quantity(&Field::root(object).get(field));
        let asked = "spec.resources.requests.storage";
        let (before, after, have) =
            (size(old, asked), size(new, asked), size(old, "status.capacity.storage"));
        if after < before && after < have {
            causes.push(Cause::forbidden(
                "spec.resources.requests.storage",
                "field can not be less than status.capacity",
            ));
        }
        causes
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings: Vec<String> = class_annotation_warning(names, new).into_iter().collect();
        warnings.extend(fraction_warning(&Field::root(new).get("spec")));
        warnings
    }
}

/// The warning about a request that is no whole number of bytes, in the specification of a claim.
pub(crate) fn fraction_warning(spec: &Field<'_>) -> Option<String> {
    let size = spec.get("resources.requests");
    let size = Field::new(size.get("storage").value(), size.path().key("storage"));
    let (path, text) = (size.path(), quoted(size.text()));
    let is_whole = rules::quantity(&size).is_whole();
    (!is_whole)
        .then(|| format!("{path}: fractional byte value {text} is invalid, must be an integer"))
}

/// The immutable part of a claim's specification, given the old claim.
fn fixed(old: &Value, claim: &Value) -> Option<Map> {
    let mut spec = claim.get("spec")?.as_map()?.clone();
    let was = |field: &str| old.at(&["spec", field]).is_some_and(|value| !value.is_empty());
    if old.str_at(&["status", "phase"]) == Some("Bound") {
        spec.remove("volumeAttributesClassName");
        if let Some(requests) =
            spec.get_mut("resources").and_then(|resources| resources.get_mut("requests"))
        {
            requests.remove_at(&["storage"]);
        }
    }
    // The volume binder sets `volumeName`; the default storage class may be assigned retroactively
    // (KEP-3333).
    if !was("volumeName") {
        spec.remove("volumeName");
    }
    if old.at(&["spec", "storageClassName"]).is_none() && !was("volumeName") {
        spec.remove("storageClassName");
    }
    Some(spec)
}

/// Drops a data source in another namespace (KEP-3294, off by default), unless the old claim has
/// one.
fn drop_cross_namespace_source(old: Option<&Value>, new: &mut Value) {
    const SOURCE: [&str; 2] = ["spec", "dataSourceRef"];
    let source = |claim: &Value| claim.at(&SOURCE).cloned();
    let is_foreign = |source: &Value| {
        source.str_at(&["namespace"]).is_some_and(|namespace| !namespace.is_empty())
    };
    let had = old.and_then(source).is_some_and(|source| is_foreign(&source));
    if !had && source(new).is_some_and(|source| is_foreign(&source)) {
        new.remove_at(&SOURCE);
    }
}

/// Copies `dataSource` to `dataSourceRef` or back. The former only allows claims and snapshots.
fn align_sources(names: &Names, object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_map_mut) else {
        return;
    };
    let newer = spec.get("dataSourceRef").filter(|source| !source.is_null()).cloned();
    match (spec.get("dataSource").filter(|source| !source.is_null()).cloned(), newer) {
        (Some(older), None) if is_known_source(names, &older) => {
            spec.insert("dataSourceRef", older);
        }
        (Some(_), None) => {
            spec.remove("dataSource");
        }
        (None, Some(newer)) if newer.str_at(&["namespace"]).unwrap_or_default().is_empty() => {
            let fields = newer
                .as_map()
                .into_iter()
                .flat_map(Map::iter)
                .filter(|(key, _)| *key != "namespace");
            let mut older = Map::new();
            for (key, value) in fields {
                older.insert(key, value.clone());
            }
            spec.insert("dataSource", older);
        }
        _ => {}
    }
}

fn is_known_source(names: &Names, source: &Value) -> bool {
    let (group, kind) = (
        source.str_at(&["apiGroup"]).unwrap_or_default(),
        source.str_at(&["kind"]).unwrap_or_default(),
    );
    let snapshots = format!("snapshot.storage.{}", names.group_suffix);
    (group.is_empty() && kind == CLAIM) || (group == snapshots && kind == "VolumeSnapshot")
}

fn check_sources(names: &Names, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (older, newer) = (spec.get("dataSource"), spec.get("dataSourceRef"));
    for source in [&older, &newer].into_iter().filter(|source| source.is_set()) {
        for field in ["name", "kind"] {
            rules::required(&source.get(field), causes);
        }
        let group = source.get("apiGroup");
        if group.is_empty()
            && !source.get("kind").is_empty()
            && !is_known_source(names, source.value())
        {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            causes.push(source.invalid(why));
        }
        rules::optional_name(&group, name::dns_subdomain, causes);
    }
    let differ = ["apiGroup", "kind", "name"]
        .iter()
        .any(|field| older.get(field).text() != newer.get(field).text());
    if older.is_set() && newer.is_set() && differ {
        causes.push(Cause::invalid(spec.path(), older.value().clone(), "must match dataSourceRef"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn reported_warnings() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let claim = patched(&claim(), &[(pointer, value)]);
            assert_eq!(PersistentVolumeClaim.warnings(Naming::Svc.names(), None, &claim), expect);
        };
        check("/metadata/annotations", json!({"a": "b"}), &[]);
        check(
            "/metadata/annotations",
            json!({"volume.beta.svc.io/storage-class": "slow"}),
            &[
                "metadata.annotations[volume.beta.svc.io/storage-class]: deprecated since v1.8; use \"storageClassName\" attribute instead",
            ],
        );
        check(
            "/spec/resources/requests/storage",
            json!("1500m"),
            &[
                "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer",
            ],
        );
    }

    fn claim() -> Json {
        let spec = json!({
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "slow", "volumeMode": "Filesystem"
        });
        json!({"metadata": {"name": "a"}, "spec": spec, "status": {"phase": "Pending"}})
    }

    #[test]
    fn claims() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let object = patched(&claim(), &[(pointer, value)]);
            assert_eq!(
                shown(&PersistentVolumeClaim.validate(Naming::Svc.names(), &object)),
                expect,
                "{pointer}"
            );
        };
        check("/spec/storageClassName", json!(""), &[]);
        check("/spec/storageClassName", json!("A b"), &["Invalid spec.storageClassName"]);
        check("/spec/resources", json!({}), &["Required spec.resources[storage]"]);
        check("/spec/resources/requests/storage", json!("0"), &["Invalid spec.resources[storage]"]);
        check("/spec/accessModes", json!(null), &["Required spec.accessModes"]);
        check("/spec/volumeMode", json!("Tape"), &["NotSupported spec.volumeMode"]);
        check(
            "/spec/selector",
            json!({"matchLabels": {"a b": "c"}}),
            &["Invalid spec.selector.matchLabels"],
        );
        check("/spec/dataSource", json!({"kind": CLAIM}), &["Required spec.dataSource.name"]);
        check(
            "/spec/dataSourceRef",
            json!({"kind": "Pod", "name": "p"}),
            &["Invalid spec.dataSourceRef"],
        );
    }

    #[test]
    fn sources_say_the_same() {
        let check = |spec: Json, expect: Json| {
            let mut object = json!({"spec": spec}).into();
            align_sources(Naming::Svc.names(), &mut object);
            assert_eq!(object, json!({"spec": expect}).into());
        };
        let source = json!({"apiGroup": null, "kind": CLAIM, "name": "a"});
        let both = json!({"dataSource": source, "dataSourceRef": source});
        check(json!({"dataSource": source}), both.clone());
        check(json!({"dataSourceRef": source}), both.clone());
        check(both.clone(), both);
        check(json!({"dataSource": {"kind": "Pod", "name": "a"}}), json!({}));
        let elsewhere = json!({"dataSourceRef": {"kind": CLAIM, "name": "a", "namespace": "n"}});
        check(elsewhere.clone(), elsewhere);
    }

    #[test]
    fn sources_in_another_namespace() {
        let source = |namespace: &str| json!({"kind": CLAIM, "name": "a", "namespace": namespace});
        let check = |old: Option<Json>, namespace: &str, expect: bool| {
            let old = old.map(|source| Value::from(json!({"spec": {"dataSourceRef": source}})));
            let mut object = json!({"spec": {"dataSourceRef": source(namespace)}}).into();
            drop_cross_namespace_source(old.as_ref(), &mut object);
            assert_eq!(object.at(&["spec", "dataSourceRef"]).is_some(), expect);
        };
        check(None, "", true);
        check(None, "b", false);
        check(Some(source("b")), "b", true);
    }

    #[test]
    fn mutable_fields() {
        let check = |old: &[(&str, Json)], pointer: &str, value: Json, expect: &[&str]| {
            let (old, new) =
                (patched(&claim(), old), patched(&claim(), &[old, &[(pointer, value)]].concat()));
            let causes =
                PersistentVolumeClaim.validate_update(Naming::Svc.names(), Part::Main, &old, &new);
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        const SIZE: &str = "/spec/resources/requests/storage";
        check(&[], "/metadata/name", json!("a"), &[]);
        check(&[], "/spec/accessModes", json!(["ReadWriteMany"]), &["Forbidden spec"]);
        check(
            &[],
            "/spec/volumeMode",
            json!("Block"),
            &["Forbidden spec", "Invalid spec.volumeMode"],
        );
        check(&[], SIZE, json!("2Gi"), &["Forbidden spec"]);
        check(&[], "/spec/volumeName", json!("v"), &[]);
        check(
            &[("/spec/volumeName", json!("v"))],
            "/spec/volumeName",
            json!("w"),
            &["Forbidden spec"],
        );
        check(
            &[("/spec/storageClassName", json!(null))],
            "/spec/storageClassName",
            json!("x"),
            &[],
        );
        let bound = [("/status", json!({"phase": "Bound", "capacity": {"storage": "1Gi"}}))];
        check(&bound, SIZE, json!("2Gi"), &[]);
        check(&bound, SIZE, json!("500Mi"), &["Forbidden spec.resources.requests.storage"]);
        check(&bound, "/spec/volumeAttributesClassName", json!("x"), &[]);
    }
}
