//! Ephemeral containers (KEP-277): containers that are added to a running pod, with fewer fields
//! than others.

use std::collections::{HashMap, HashSet};

use quorate_meta::{Cause, Names, Value};

use super::containers;
use super::context::PodContext;
use super::pod_annotations::is_mirror;
use crate::field::Field;

/// The fields that an ephemeral container must not have.
const NOT_ALLOWED: [&str; 7] = [
    "ports",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
];

/// The path of the list.
const LIST: [&str; 2] = ["spec", "ephemeralContainers"];

/// Checks ephemeral containers.
pub(super) fn check(context: &PodContext<'_>, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let hosts: HashSet<&str> = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| {
            spec.get(list).items().map(|container| container.get("name").text()).collect::<Vec<_>>()
        })
        .collect();
    let mut names = hosts.clone();
    for container in spec.get("ephemeralContainers").items() {
        containers::check_one(context, &container, causes);
        let (name, target) = (container.get("name"), container.get("targetContainerName"));
        if !name.is_empty() && !names.insert(name.text()) {
            causes.push(name.duplicate());
        }
        if !target.is_empty() && !hosts.contains(target.text()) {
            causes.push(Cause::not_found(target.path(), target.text()));
        }
        for field in NOT_ALLOWED {
            let part = container.get(field);
            if !part.is_empty() {
                causes.push(part.forbidden("cannot be set for an Ephemeral Container"));
            }
        }
        let resources = container.get("resources");
        if !resources.is_empty() {
            causes.push(resources.forbidden("cannot be set for an Ephemeral Container"));
        }
        for mount in container.get("volumeMounts").items() {
            let below = mount.get("subPath");
            if !below.is_empty() {
                causes.push(below.forbidden("cannot be set for an Ephemeral Container"));
            }
        }
    }
}

/// Restores all fields but the ephemeral containers and the managed fields.
pub(super) fn restore(old: &Value, new: &mut Value) {
    restore_all_but(&[&LIST], old, new);
}

/// Restores all fields but those at these paths and the managed fields.
pub(super) fn restore_all_but(paths: &[&[&str]], old: &Value, new: &mut Value) {
    const OWNERS: [&str; 2] = ["metadata", "managedFields"];
    let paths = paths.iter().copied().chain([&OWNERS[..]]);
    let kept: Vec<_> = paths.map(|path| (path, new.at(path).cloned())).collect();
    *new = old.clone();
    for (path, value) in kept {
        match value {
            Some(value) => {
                new.set_at(path, value);
            }
            None => {
                new.remove_at(path);
            }
        }
    }
}

/// Checks a change: ephemeral containers are only added, and to no pod that a kubelet made.
pub(super) fn check_update(names: &Names, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if is_mirror(names, old) {
        causes.push(Cause::forbidden("", "static pods do not support ephemeral containers"));
        return;
    }
    let (before, after) = (Field::root(old).get("spec.ephemeralContainers"), Field::root(new));
    let after = after.get("spec.ephemeralContainers");
    let now: HashMap<&str, &Value> =
        after.items().map(|container| (container.get("name").text(), container.value())).collect();
    for container in before.items() {
        let name = container.get("name");
        let became = match now.get(name.text()) {
            None => "removed",
            Some(now) if *now != container.value() => "changed",
            Some(_) => continue,
        };
        causes.push(after.forbidden(&format!(
            "existing ephemeral containers {:?} may not be {became}",
            name.text()
        )));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn ephemeral_containers() {
        let run = |change: serde_json::Value, expect: &[&str]| {
            let mut container = json!({"name": "e", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
            for (key, value) in change.as_object().unwrap() {
                container[key] = value.clone();
            }
            let object = Value::from(
                json!({"containers": [{"name": "c"}], "ephemeralContainers": [container]}),
            );
            let root = Field::root(&object);
            let context = PodContext::of(Naming::Svc.names(), &root, Vec::new());
            let mut causes = Vec::new();
            check(&context, &root, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        run(json!({"targetContainerName": "c"}), &[]);
        run(
            json!({"targetContainerName": "d"}),
            &["NotFound ephemeralContainers[0].targetContainerName"],
        );
        run(json!({"name": "c"}), &["Duplicate ephemeralContainers[0].name"]);
        let port = json!([{"containerPort": 1, "protocol": "TCP"}]);
        run(json!({"ports": port}), &["Forbidden ephemeralContainers[0].ports"]);
    }

    #[test]
    fn ephemeral_containers_are_only_added() {
        let pod = |ephemeral_containers: serde_json::Value| {
            Value::from(json!({"spec": {"ephemeralContainers": ephemeral_containers}}))
        };
        let check = |ephemeral_containers: serde_json::Value, expect: &[&str]| {
            let mut causes = Vec::new();
            check_update(
                Naming::Svc.names(),
                &pod(json!([{"name": "e", "image": "a"}])),
                &pod(ephemeral_containers),
                &mut causes,
            );
            assert_eq!(shown(&causes), expect);
        };
        check(json!([{"name": "f"}, {"name": "e", "image": "a"}]), &[]);
        check(json!([{"name": "e", "image": "b"}]), &["Forbidden spec.ephemeralContainers"]);
        check(json!([]), &["Forbidden spec.ephemeralContainers"]);
    }

    #[test]
    fn nothing_else_changes() {
        let old = Value::from(
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "n"}, "status": {}}),
        );
        let ephemeral_containers = json!([{"name": "e"}]);
        let mut new =
            json!({"metadata": {"managedFields": []}, "spec": {"nodeName": "m", "ephemeralContainers": ephemeral_containers}}).into();
        restore(&old, &mut new);
        let expect = json!({"metadata": {"labels": {"a": "b"}, "managedFields": []}, "spec": {"nodeName": "n", "ephemeralContainers": ephemeral_containers}, "status": {}});
        assert_eq!(new, expect.into());
    }
}
