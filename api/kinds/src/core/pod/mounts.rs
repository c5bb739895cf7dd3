//! Volume mounts and volume devices of containers.

use std::collections::HashSet;

use quorate_meta::Cause;

use super::volume_files::local_path_problems;
use crate::field::Field;
use crate::rules;

/// Checks the mounts of a container; `volumes` are the names of the pod's volumes.
pub(super) fn check(container: &Field<'_>, volumes: &HashSet<String>, causes: &mut Vec<Cause>) {
    let mut paths = HashSet::new();
    let privileged = container.get("securityContext.privileged").is_true();
    for mount in container.get("volumeMounts").items() {
        check_volume_name(&mount.get("name"), volumes, causes);
        let path = mount.get("mountPath");
        rules::required(&path, causes);
        if !paths.insert(path.text()) {
            causes.push(path.invalid("must be unique"));
        }
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
    for device in container.get("volumeDevices").items() {
        check_volume_name(&device.get("name"), volumes, causes);
        let path = device.get("devicePath");
        rules::required(&path, causes);
        if !paths.insert(path.text()) && !path.is_empty() {
            causes.push(path.invalid("must be unique"));
        }
        if path.text().split('/').any(|part| part == "..") {
            causes.push(path.invalid("can not contain backsteps ('..')"));
        }
    }
}

fn check_volume_name(name: &Field<'_>, volumes: &HashSet<String>, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        causes.push(name.required(""));
    } else if !volumes.contains(name.text()) {
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
            check(&Field::root(&object), &HashSet::from(["v".to_owned()]), &mut causes);
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
}
