//! PersistentVolumeSource: exactly one source, with its required fields.

use quorate_meta::{Cause, Value, name};

use super::pod::check_source_of;
use crate::field::Field;
use crate::rules;

/// A type of source: its field, its required fields, and the warning about a deprecated one.
struct Source {
    field: &'static str,
    required: &'static [&'static str],
    warning: &'static str,
}

const fn source(field: &'static str, required: &'static [&'static str]) -> Source {
    Source { field, required, warning: "" }
}

const fn deprecated(
    field: &'static str,
    required: &'static [&'static str],
    warning: &'static str,
) -> Source {
    Source { field, required, warning }
}

/// The source types, in the order in which the first one that is set counts.
const SOURCES: [Source; 22] = [
    source("hostPath", &["path"]),
    source("gcePersistentDisk", &["pdName"]),
    source("awsElasticBlockStore", &["volumeID"]),
    deprecated(
        "glusterfs",
        &["endpoints", "path"],
        "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    ),
    source("nfs", &["server", "path"]),
    deprecated(
        "rbd",
        &["monitors", "image"],
        "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
    ),
    source("quobyte", &["registry", "volume"]),
    deprecated(
        "cephfs",
        &["monitors"],
        "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
    ),
    source("iscsi", &["targetPortal", "iqn"]),
    source("cinder", &["volumeID"]),
    source("fc", &[]),
    source("flexVolume", &["driver"]),
    source("flocker", &[]),
    source("azureFile", &["secretName", "shareName"]),
    source("vsphereVolume", &["volumePath"]),
    source("azureDisk", &["diskName", "diskURI"]),
    deprecated(
        "photonPersistentDisk",
        &["pdID"],
        "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    ),
    source("portworxVolume", &["volumeID"]),
    deprecated(
        "scaleIO",
        &["gateway", "system", "volumeName"],
        "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
    ),
    source("local", &["path"]),
    // The warning names the source in another way than the field does, as in Kubernetes.
    deprecated(
        "storageos",
        &["volumeName"],
        "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    ),
    source("csi", &[]),
];
/// The secret references of CSI that must have name and namespace.
const CSI_SECRETS: [&str; 4] =
    ["controllerPublishSecretRef", EXPAND_SECRET, "nodePublishSecretRef", "nodeExpandSecretRef"];
const EXPAND_SECRET: &str = "controllerExpandSecretRef";

/// The source of a volume: the first one that is set.
pub(super) fn of(volume: &Value) -> Option<(&'static str, &Value)> {
    SOURCES.iter().find_map(|source| Some((source.field, volume.at(&["spec", source.field])?)))
}

/// Whether the source has not changed. `controllerExpandSecretRef` of CSI may be added later.
pub(super) fn is_unchanged(old: &Value, new: &Value) -> bool {
    let (Some((kind, before)), Some((other, after))) = (of(old), of(new)) else {
        return of(old) == of(new);
    };
    let mut after = after.clone();
    if kind == "csi" && before.get(EXPAND_SECRET).is_none_or(Value::is_null) {
        after.remove_at(&[EXPAND_SECRET]);
    }
    (kind, before) == (other, &after)
}

/// Checks that there is exactly one source, and its required fields.
pub(super) fn check(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut given = SOURCES.iter().filter(|source| spec.get(source.field).is_set());
    let Some(first) = given.next() else {
        causes.push(spec.required("must specify a volume type"));
        return;
    };
    let field = spec.get(first.field);
    for required in first.required {
        rules::required(&field.get(required), causes);
    }
    match first.field {
        "csi" => check_csi(&field, causes),
        "local" => {
            let path = field.get("path");
            if path.text().split('/').any(|step| step == "..") {
                causes.push(path.invalid("must not contain '..'"));
            }
        }
        kind => check_source_of(kind, &field, causes),
    }
    causes.extend(
        given.map(|more| spec.get(more.field).forbidden("may not specify more than 1 volume type")),
    );
}

fn check_csi(csi: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::csi_driver_name(&csi.get("driver"), causes);
    rules::required(&csi.get("volumeHandle"), causes);
    for secret in CSI_SECRETS.map(|field| csi.get(field)).into_iter().filter(Field::is_set) {
        rules::name(&secret.get("name"), name::dns_subdomain, causes);
        rules::name(&secret.get("namespace"), name::dns_label, causes);
    }
}

/// The warnings about a deprecated source.
pub(super) fn warnings(volume: &Value) -> Vec<String> {
    let given = SOURCES.iter().filter(|source| !source.warning.is_empty());
    let given = given.filter(|source| volume.at(&["spec", source.field]).is_some());
    given.map(|source| source.warning.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::{Value as Json, json};

    #[test]
    fn there_is_one_source_with_what_it_needs() {
        let check_spec = |spec: Json, expect: &[&str], warned: usize| {
            let volume = json!({"spec": spec}).into();
            let mut causes = Vec::new();
            check(&Field::root(&volume).get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect);
            assert_eq!(warnings(&volume).len(), warned);
        };
        check_spec(json!({}), &["Required spec"], 0);
        check_spec(json!({"hostPath": {"path": "/x"}}), &[], 0);
        check_spec(json!({"hostPath": {"path": "/x/../y"}}), &["Invalid spec.hostPath.path"], 0);
        check_spec(
            json!({"hostPath": {"path": "/x"}, "nfs": {"server": "s", "path": "/p"}}),
            &["Forbidden spec.nfs"],
            0,
        );
        check_spec(
            json!({"nfs": {"path": "p"}}),
            &["Required spec.nfs.server", "Invalid spec.nfs.path"],
            0,
        );
        check_spec(
            json!({"csi": {}}),
            &["Required spec.csi.driver", "Required spec.csi.volumeHandle"],
            0,
        );
        let csi = |secret: Json| json!({"csi": {"driver": "D.example.com", "volumeHandle": "h", "nodePublishSecretRef": secret}});
        check_spec(csi(json!({"name": "s", "namespace": "n"})), &[], 0);
        check_spec(
            csi(json!({"name": "s"})),
            &["Required spec.csi.nodePublishSecretRef.namespace"],
            0,
        );
        check_spec(
            json!({"csi": {"driver": "A_b!", "volumeHandle": "h"}}),
            &["Invalid spec.csi.driver"],
            0,
        );
        check_spec(
            json!({"hostPath": {"path": "/x", "type": "Foo"}}),
            &["NotSupported spec.hostPath.type"],
            0,
        );
        let iscsi = json!({"iscsi": {"targetPortal": "1.2.3.4", "iqn": "bad", "lun": 300}});
        check_spec(iscsi, &["Invalid spec.iscsi.iqn", "Invalid spec.iscsi.lun"], 0);
        check_spec(json!({"flocker": {"datasetName": "d"}}), &[], 0);
        check_spec(json!({"storageos": {"volumeName": "d"}}), &[], 1);
        check_spec(json!({"flexVolume": {"driver": "example.com/d"}}), &[], 0);
        check_spec(json!({"flexVolume": {}}), &["Required spec.flexVolume.driver"], 0);
        assert_eq!(of(&json!({"spec": {"csi": {}}}).into()), Some(("csi", &json!({}).into())));
    }

    #[test]
    fn sources_are_immutable_but_for_the_expand_secret() {
        let check = |old: Json, new: Json, expect: bool| {
            let volume = |source: Json| Value::from(json!({"spec": {"csi": source}}));
            assert_eq!(is_unchanged(&volume(old), &volume(new)), expect);
        };
        let secret =
            |name: &str| json!({"driver": "d", "controllerExpandSecretRef": {"name": name}});
        check(json!({"driver": "d"}), json!({"driver": "d"}), true);
        check(json!({"driver": "d"}), json!({"driver": "e"}), false);
        check(json!({"driver": "d"}), secret("a"), true);
        check(secret("a"), secret("b"), false);
        check(secret("a"), json!({"driver": "d"}), false);
    }
}
