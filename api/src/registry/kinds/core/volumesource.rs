//! Where a PersistentVolume's storage is: exactly one source, with what that one needs.

use quorate_meta::{Cause, Value};

use crate::registry::kinds::field::Field;
use crate::registry::kinds::rules;

/// A kind of source: its field, what it must have, and what is said of sources that are out of use.
struct Source {
    field: &'static str,
    required: &'static [&'static str],
    warning: &'static str,
}

const fn source(field: &'static str, required: &'static [&'static str]) -> Source {
    Source { field, required, warning: "" }
}

const fn old(field: &'static str, required: &'static [&'static str], warning: &'static str) -> Source {
    Source { field, required, warning }
}

/// All sources, in the order in which the first one given counts.
const SOURCES: [Source; 21] = [
    source("hostPath", &["path"]),
    old("gcePersistentDisk", &["pdName"], "deprecated in v1.17, non-functional in v1.28+; use CSI instead"),
    old("awsElasticBlockStore", &["volumeID"], "deprecated in v1.17, non-functional in v1.27+"),
    old("glusterfs", &["endpoints", "path"], "deprecated in v1.25, non-functional in v1.26+"),
    source("nfs", &["server", "path"]),
    old("rbd", &["monitors", "image"], "deprecated in v1.28, non-functional in v1.31+"),
    old("quobyte", &["registry", "volume"], "deprecated in v1.22, non-functional in v1.25+"),
    old("cephfs", &["monitors"], "deprecated in v1.28, non-functional in v1.31+"),
    source("iscsi", &["targetPortal", "iqn"]),
    old("cinder", &["volumeID"], "deprecated in v1.11, non-functional in v1.26+"),
    source("fc", &[]),
    old("flocker", &[], "deprecated in v1.22, non-functional in v1.25+"),
    old("azureFile", &["secretName", "shareName"], "deprecated in v1.21, non-functional in v1.26+"),
    old("vsphereVolume", &["volumePath"], "deprecated in v1.19, non-functional in v1.29+"),
    old("azureDisk", &["diskName", "diskURI"], "deprecated in v1.19, non-functional in v1.27+"),
    old("photonPersistentDisk", &["pdID"], "deprecated in v1.11, non-functional in v1.16+"),
    old("portworxVolume", &["volumeID"], "deprecated in v1.25, non-functional in v1.31+"),
    old("scaleIO", &["gateway", "system", "volumeName"], "deprecated in v1.16, non-functional in v1.22+"),
    source("local", &["path"]),
    old("storageos", &["volumeName"], "deprecated in v1.22, non-functional in v1.25+"),
    source("csi", &["driver", "volumeHandle"]),
];

/// The source of a volume: the first one that it has.
pub(super) fn of(volume: &Value) -> Option<(&'static str, &Value)> {
    SOURCES.iter().find_map(|source| Some((source.field, volume.at(&["spec", source.field])?)))
}

/// Checks that there is one source, and that it has what it needs.
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
    for path in ["path", "readOnlyPath"].map(|name| field.get(name)) {
        if path.text().split('/').any(|step| step == "..") {
            causes.push(path.invalid("must not contain '..'"));
        }
    }
    if first.field == "nfs" && !field.get("path").text().starts_with('/') && !field.get("path").is_empty() {
        causes.push(field.get("path").invalid("must be an absolute path"));
    }
    causes.extend(given.map(|more| spec.get(more.field).forbidden("may not specify more than 1 volume type")));
}

/// What users of a source that is out of use should know.
pub(super) fn warnings(volume: &Value) -> Vec<String> {
    let given = SOURCES.iter().filter(|source| !source.warning.is_empty());
    let given = given.filter(|source| volume.at(&["spec", source.field]).is_some());
    given.map(|source| format!("spec.{}: {}", source.field, source.warning)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds::rules::testing::shown;
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
        check_spec(json!({"nfs": {"path": "p"}}), &["Required spec.nfs.server", "Invalid spec.nfs.path"], 0);
        check_spec(json!({"csi": {}}), &["Required spec.csi.driver", "Required spec.csi.volumeHandle"], 0);
        check_spec(json!({"flocker": {"datasetName": "d"}}), &[], 1);
        assert_eq!(of(&json!({"spec": {"csi": {}}}).into()), Some(("csi", &json!({}).into())));
    }
}
