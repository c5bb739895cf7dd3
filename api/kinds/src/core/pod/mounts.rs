//! Volume mounts and volume devices of containers.

use std::collections::{HashMap, HashSet};

use quorate_meta::Cause;

use super::context::VolumeType;
use super::volume_files::local_path_problems;
use crate::field::Field;
use crate::rules;

/// Checks the mounts and devices of a container; `volumes` are those of the pod.
pub(super) fn check(
    container: &Field<'_>,
    volumes: &HashMap<String, VolumeType>,
    causes: &mut Vec<Cause>,
) {
    let mut paths = HashSet::new();
    let privileged = container.get("securityContext.privileged").is_true();
    let (mounts, devices) = (container.get("volumeMounts"), container.get("volumeDevices"));
    for mount in mounts.items() {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        check_volume_name(&name, volumes, causes);
        rules::required(&path, causes);
        if !paths.insert(path.text()) {
            causes.push(path.invalid("must be unique"));
        }
        check_overlap(&name, &path, &devices, "devicePath", "volumeDevices", causes);
        let (below, expression) = (mount.get("subPath"), mount.get("subPathExpr"));
        for field in [&below, &expression] {
            if !field.is_empty() {
                causes.extend(field.invalid_for(&local_path_problems(field.text())));
            }
        }
        if !below.is_empty() && !expression.is_empty() {
            causes.push(expression.invalid("subPathExpr and subPath are mutually exclusive"));
        }
        check_propagation(&mount, privileged, causes);
    }
    check_devices(&devices, &mounts, volumes, causes);
}

/// Checks devices: raw blocks of claims.
fn check_devices(
    devices: &Field<'_>,
    mounts: &Field<'_>,
    volumes: &HashMap<String, VolumeType>,
    causes: &mut Vec<Cause>,
) {
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for device in devices.items() {
        let (name, path) = (device.get("name"), device.get("devicePath"));
        if !name.is_empty() && !names.insert(name.text()) {
            causes.push(name.invalid("must be unique"));
        }
        check_volume_name(&name, volumes, causes);
        if volumes.get(name.text()).is_some_and(|kind| *kind != VolumeType::Claim) {
            let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            causes.push(name.invalid(why));
        }
        rules::required(&path, causes);
        if !path.is_empty() && !paths.insert(path.text()) {
            causes.push(path.invalid("must be unique"));
        }
        if path.text().split('/').any(|part| part == "..") {
            causes.push(path.invalid("can not contain backsteps ('..')"));
        }
        check_overlap(&name, &path, mounts, "mountPath", "volumeMounts", causes);
    }
}

/// Checks that a volume or path is not both a mount and a device.
fn check_overlap(
    name: &Field<'_>,
    path: &Field<'_>,
    others: &Field<'_>,
    other_path: &str,
    list: &str,
    causes: &mut Vec<Cause>,
) {
    let exists = |field: &str, text: &str| {
        others.items().any(|other| other.get(field).text() == text && !text.is_empty())
    };
    if exists("name", name.text()) {
        causes.push(name.invalid(&format!("must not already exist in {list}")));
    }
    if exists(other_path, path.text()) {
        causes.push(path.invalid(&format!("must not already exist as a path in {list}")));
    }
}

fn check_volume_name(
    name: &Field<'_>,
    volumes: &HashMap<String, VolumeType>,
    causes: &mut Vec<Cause>,
) {
    if name.is_empty() {
        causes.push(name.required(""));
    } else if !volumes.contains_key(name.text()) {
        causes.push(Cause::not_found(name.path(), name.text()));
    }
}

fn check_propagation(mount: &Field<'_>, privileged: bool, causes: &mut Vec<Cause>) {
    let (propagation, recursive) = (mount.get("mountPropagation"), mount.get("recursiveReadOnly"));
    rules::optional_one_of(&propagation, &["Bidirectional", "HostToContainer", "None"], causes);
    if propagation.text() == "Bidirectional" && !privileged {
        causes.push(propagation.forbidden(
            "Bidirectional mount propagation is available only to privileged containers",
        ));
    }
    rules::optional_one_of(&recursive, &["Disabled", "Enabled", "IfPossible"], causes);
    if matches!(recursive.text(), "Enabled" | "IfPossible") {
        if !mount.get("readOnly").is_true() {
            causes.push(recursive.forbidden("may only be specified when readOnly is true"));
        }
        if !matches!(propagation.text(), "" | "None") {
            causes.push(
                recursive.forbidden(
                    "may only be specified when mountPropagation is None or not specified",
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn mounts() {
        let run = |mounts: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"volumeMounts": mounts}));
            let mut causes = Vec::new();
            let volumes = HashMap::from([("v".to_owned(), VolumeType::EmptyDir)]);
            check(&Field::root(&object), &volumes, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let at = |path: &str| json!({"name": "v", "mountPath": path});
        run(json!([at("/a"), at("/b")]), &[]);
        run(json!([at("/a"), at("/a")]), &["Invalid volumeMounts[1].mountPath"]);
        run(
            json!([{"name": "w", "mountPath": "/a"}, {"mountPath": ""}]),
            &[
                "NotFound volumeMounts[0].name",
                "Required volumeMounts[1].name",
                "Required volumeMounts[1].mountPath",
            ],
        );
        run(
            json!([{"name": "v", "mountPath": "/a", "subPath": "../x"}]),
            &["Invalid volumeMounts[0].subPath"],
        );
        run(
            json!([{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}]),
            &["Forbidden volumeMounts[0].mountPropagation"],
        );
    }

    #[test]
    fn devices() {
        let run = |container: serde_json::Value, expect: &[&str]| {
            let (object, mut causes) = (Value::from(container), Vec::new());
            let volumes = HashMap::from([
                ("c".to_owned(), VolumeType::Claim),
                ("d".to_owned(), VolumeType::Claim),
                ("e".to_owned(), VolumeType::EmptyDir),
            ]);
            check(&Field::root(&object), &volumes, &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        let device = |name: &str, path: &str| json!({"name": name, "devicePath": path});
        let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
        run(json!({"volumeDevices": [device("c", "/a"), device("d", "/b")]}), &[]);
        run(json!({"volumeDevices": [device("e", "/a")]}), &["Invalid volumeDevices[0].name"]);
        run(json!({"volumeDevices": [device("x", "/a")]}), &["NotFound volumeDevices[0].name"]);
        run(
            json!({"volumeDevices": [device("c", "/a"), device("c", "/a/../b")]}),
            &["Invalid volumeDevices[1].name", "Invalid volumeDevices[1].devicePath"],
        );
        run(
            json!({"volumeDevices": [device("c", "/a")], "volumeMounts": [mount("c", "/a")]}),
            &[
                "Invalid volumeMounts[0].name",
                "Invalid volumeMounts[0].mountPath",
                "Invalid volumeDevices[0].name",
                "Invalid volumeDevices[0].devicePath",
            ],
        );
    }
}
