//! Volumes of pods: a name and exactly one source each.

use std::collections::HashSet;

use quorate_meta::{Cause, Quantity, name};

use super::volume_files::{
    check_downward, check_items, check_mode, check_projected, file_path_problems,
};
use crate::field::Field;
use crate::rules;

/// The source types in the order in which a second one is reported, with their required fields.
const SOURCES: [(&str, &[&str]); 30] = [
    ("emptyDir", &[]),
    ("hostPath", &["path"]),
    ("gitRepo", &["repository"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("secret", &["secretName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &["monitors", "image"]),
    ("cinder", &["volumeID"]),
    ("cephfs", &["monitors"]),
    ("quobyte", &["registry", "volume"]),
    ("downwardAPI", &[]),
    ("fc", &[]),
    ("flexVolume", &["driver"]),
    ("configMap", &["name"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("storageos", &["volumeName"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("projected", &[]),
    ("csi", &["driver"]),
    ("ephemeral", &["volumeClaimTemplate"]),
    ("image", &["reference"]),
];
const HOST_PATHS: [&str; 8] = [
    "",
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
];

/// Bytes of a driver name, at most.
const MAX_DRIVER: usize = 63;

/// Checks volumes.
pub(super) fn check(volumes: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut names = HashSet::new();
    for volume in volumes.items() {
        let own = volume.get("name");
        check_source(&volume, causes);
        rules::name(&own, name::dns_label, causes);
        if !own.is_empty() && !names.insert(own.text()) {
            causes.push(own.duplicate());
        }
    }
}

fn check_source(volume: &Field<'_>, causes: &mut Vec<Cause>) {
    let given: Vec<&(&str, &[&str])> =
        SOURCES.iter().filter(|(field, _)| volume.get(field).is_set()).collect();
    for (turn, (kind, required)) in given.iter().enumerate() {
        let source = volume.get(kind);
        if turn > 0 {
            causes.push(source.forbidden("may not specify more than 1 volume type"));
            continue;
        }
        required.iter().for_each(|field| rules::required(&source.get(field), causes));
        check_source_of(kind, &source, causes);
    }
    if given.is_empty() {
        causes.push(volume.required("must specify a volume type"));
    }
}

/// Checks a source of this type beyond its required fields; PersistentVolumes share some types.
pub(in crate::core) fn check_source_of(kind: &str, source: &Field<'_>, causes: &mut Vec<Cause>) {
    match kind {
        "emptyDir" => {
            let limit = source.get("sizeLimit");
            if is_negative(&limit) {
                causes.push(limit.forbidden("SizeLimit field must be a valid resource quantity"));
            }
        }
        "hostPath" => {
            let (path, kind) = (source.get("path"), source.get("type"));
            if path.text().split('/').any(|part| part == "..") {
                causes.push(path.invalid("must not contain '..'"));
            }
            rules::optional_one_of(&kind, &HOST_PATHS, causes);
        }
        "secret" | "configMap" => {
            check_mode(&source.get("defaultMode"), causes);
            check_items(&source.get("items"), causes);
        }
        "nfs" => {
            let path = source.get("path");
            if !path.is_empty() && !path.text().starts_with('/') {
                causes.push(path.invalid("must be an absolute path"));
            }
        }
        "iscsi" => check_iscsi(source, causes),
        "downwardAPI" => {
            check_mode(&source.get("defaultMode"), causes);
            check_downward(&source.get("items"), causes);
        }
        "projected" => check_projected(source, causes),
        "persistentVolumeClaim" => {
            rules::optional_name(&source.get("claimName"), name::dns_subdomain, causes)
        }
        "csi" => check_csi(source, causes),
        "fc" => check_fibre_channel(source, causes),
        "azureDisk" => check_azure_disk(source, causes),
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            check_disk_unit(&source.get("partition"), causes)
        }
        "gitRepo" => {
            let directory = source.get("directory");
            causes.extend(directory.invalid_for(&file_path_problems(directory.text())));
        }
        "image" => rules::optional_one_of(
            &source.get("pullPolicy"),
            &["Always", "IfNotPresent", "Never"],
            causes,
        ),
        "ephemeral" => {
            let template = source.get("volumeClaimTemplate");
            rules::template_metadata(&template.get("metadata"), causes);
            check_claim_template(&template, causes);
        }
        _ => {}
    }
}

fn is_negative(amount: &Field<'_>) -> bool {
    Quantity::parse(amount.text()).is_some_and(Quantity::is_negative)
}

fn driver_name(text: &str) -> Vec<String> {
    name::dns_subdomain(&text.to_lowercase())
}

fn check_csi(source: &Field<'_>, causes: &mut Vec<Cause>) {
    let (driver, secret) = (source.get("driver"), source.get("nodePublishSecretRef"));
    rules::at_most_bytes(&driver, MAX_DRIVER, causes);
    rules::optional_name(&driver, driver_name, causes);
    if secret.is_set() {
        rules::name(&secret.get("name"), name::dns_subdomain, causes);
    }
}

fn check_fibre_channel(source: &Field<'_>, causes: &mut Vec<Cause>) {
    let (targets, lun) = (source.get("targetWWNs"), source.get("lun"));
    match (targets.is_empty(), source.get("wwids").is_empty()) {
        (true, true) => {
            causes.push(targets.required("must specify either targetWWNs or wwids, but not both"))
        }
        (false, false) => {
            causes
                .push(targets.invalid("targetWWNs and wwids can not be specified simultaneously"));
        }
        _ => {}
    }
    if !targets.is_empty() {
        if lun.is_set() {
            check_disk_unit(&lun, causes);
        } else {
            causes.push(lun.required("lun is required if targetWWNs is specified"));
        }
    }
}

fn check_azure_disk(source: &Field<'_>, causes: &mut Vec<Cause>) {
    const MANAGED: &str = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str =
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    let (kind, place) = (source.get("kind"), source.get("diskURI"));
    rules::optional_one_of(&source.get("cachingMode"), &["None", "ReadOnly", "ReadWrite"], causes);
    rules::optional_one_of(&kind, &["Dedicated", "Managed", "Shared"], causes);
    let (begin, form) =
        if kind.text() == "Managed" { ("/subscriptions/", MANAGED) } else { ("https://", BLOB) };
    if kind.is_set() && !place.text().starts_with(begin) {
        causes.push(place.not_supported(&[form]));
    }
}

/// Checks an optional number of a disk unit or partition.
fn check_disk_unit(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if field.is_set() {
        rules::between(field, 0, 255, "must be between 0 and 255, inclusive", causes);
    }
}

fn check_iscsi(source: &Field<'_>, causes: &mut Vec<Cause>) {
    let target = source.get("iqn");
    let known = ["iqn", "eui", "naa"].iter().any(|prefix| target.text().starts_with(prefix));
    if !target.is_empty() && !known {
        causes.push(target.invalid("must be valid format starting with iqn, eui, or naa"));
    }
    check_disk_unit(&source.get("lun"), causes);
    let authenticates =
        ["chapAuthDiscovery", "chapAuthSession"].iter().any(|field| source.get(field).is_true());
    if authenticates && !source.get("secretRef").is_set() {
        causes.push(source.get("secretRef").required(""));
    }
}

/// Checks the claim template of an ephemeral volume or of a StatefulSet.
pub(crate) fn check_claim_template(template: &Field<'_>, causes: &mut Vec<Cause>) {
    let spec = template.get("spec");
    let storage = spec.get("resources.requests.storage");
    if template.is_set() && spec.get("accessModes").is_empty() {
        causes.push(spec.get("accessModes").required("at least 1 access mode is required"));
    }
    if template.is_set() && !storage.is_set() {
        causes.push(Cause::required(spec.get("resources").path().key("storage"), ""));
    } else if is_negative(&storage) {
        let path = spec.get("resources").path().key("storage");
        causes.push(Cause::invalid(path, storage.value().clone(), "must be greater than zero"));
    }
    rules::selector(&spec.get("selector"), causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn sources_in_full() {
        let check = |kind: &str, source: serde_json::Value, expect: &[&str]| {
            let object = json!({"v": {"name": "v", kind: source}}).into();
            let mut causes = Vec::new();
            check_source(&Field::root(&object).get("v"), &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        check("fc", json!({"wwids": ["a"]}), &[]);
        check("fc", json!({}), &["Required v.fc.targetWWNs"]);
        check(
            "fc",
            json!({"targetWWNs": ["a"], "wwids": ["a"], "lun": 0}),
            &["Invalid v.fc.targetWWNs"],
        );
        check("fc", json!({"targetWWNs": ["a"]}), &["Required v.fc.lun"]);
        check("fc", json!({"targetWWNs": ["a"], "lun": 300}), &["Invalid v.fc.lun"]);
        let disk = |uri: &str, kind: &str, mode: &str| json!({"diskName": "a", "diskURI": uri, "kind": kind, "cachingMode": mode});
        check("azureDisk", disk("/subscriptions/x", "Managed", "None"), &[]);
        check("azureDisk", disk("b", "Shared", "None"), &["NotSupported v.azureDisk.diskURI"]);
        check(
            "azureDisk",
            disk("https://b", "Y", "X"),
            &["NotSupported v.azureDisk.cachingMode", "NotSupported v.azureDisk.kind"],
        );
        check(
            "csi",
            json!({"driver": "D.example.com", "nodePublishSecretRef": {"name": "s"}}),
            &[],
        );
        check(
            "csi",
            json!({"driver": "d", "nodePublishSecretRef": {}}),
            &["Required v.csi.nodePublishSecretRef.name"],
        );
        check(
            "gitRepo",
            json!({"repository": "r", "directory": "/x"}),
            &["Invalid v.gitRepo.directory"],
        );
        check(
            "gcePersistentDisk",
            json!({"pdName": "p", "partition": 300}),
            &["Invalid v.gcePersistentDisk.partition"],
        );
        let session =
            json!({"targetPortal": "1", "iqn": "iqn.x", "lun": 0, "chapAuthSession": true});
        check("iscsi", session, &["Required v.iscsi.secretRef"]);
        let claim =
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}});
        check(
            "ephemeral",
            json!({"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": claim}}),
            &["Forbidden v.ephemeral.volumeClaimTemplate.metadata.name"],
        );
    }

    #[test]
    fn volumes() {
        let run = |volumes: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"v": volumes}));
            let mut causes = Vec::new();
            check(&Field::root(&object).get("v"), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let of = |kind: &str, source: serde_json::Value| json!([{"name": "v", kind: source}]);
        run(
            json!([{"name": "a", "emptyDir": {}}, {"name": "b", "iscsi": {"targetPortal": "1", "iqn": "iqn.x", "lun": 0}}]),
            &[],
        );
        run(json!([{"emptyDir": {}}]), &["Required v[0].name"]);
        run(
            json!([{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
            &["Duplicate v[1].name"],
        );
        run(
            json!([{"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}]),
            &["Forbidden v[0].secret"],
        );
        run(of("secret", json!({})), &["Required v[0].secret.secretName"]);
        run(
            of("hostPath", json!({"path": "/a/../b", "type": "Odd"})),
            &["Invalid v[0].hostPath.path", "NotSupported v[0].hostPath.type"],
        );
        run(
            of("configMap", json!({"name": "c", "defaultMode": 4096})),
            &["Invalid v[0].configMap.defaultMode"],
        );
        run(
            of("configMap", json!({"name": "c", "items": [{"key": "k", "path": "../x"}]})),
            &["Invalid v[0].configMap.items[0].path"],
        );
        run(
            of("persistentVolumeClaim", json!({})),
            &["Required v[0].persistentVolumeClaim.claimName"],
        );
        run(of("emptyDir", json!({"sizeLimit": "-1"})), &["Forbidden v[0].emptyDir.sizeLimit"]);
        run(of("nfs", json!({"server": "s", "path": "x"})), &["Invalid v[0].nfs.path"]);
        run(
            of("ephemeral", json!({"volumeClaimTemplate": {"spec": {}}})),
            &[
                "Required v[0].ephemeral.volumeClaimTemplate.spec.accessModes",
                "Required v[0].ephemeral.volumeClaimTemplate.spec.resources[storage]",
            ],
        );
        run(json!([{"name": "v"}]), &["Required v[0]"]);
    }
}
