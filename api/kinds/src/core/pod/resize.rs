//! Resizing of a pod (KEP-1287): the requests and limits of its containers change while they run.
//!
//! Invariants: only CPU and memory change, of containers and of sidecars; nothing that was requested
//! or limited becomes free; the QoS class stays. What the kubelet makes of it is in the status.
//!
//! Not here: resources of the whole pod (KEP-5419), which are not resized.

use quorate_meta::{Cause, Names, Value};

use super::ephemeral::restore_all_but;
use super::pod_annotations::is_mirror;
use super::resources::qos_class;
use crate::field::Field;

/// The fields that the subresource writes.
pub(super) const FIELDS: [&str; 4] = [
    "spec.containers[].resources",
    "spec.containers[].resizePolicy",
    "spec.initContainers[].resources",
    "spec.initContainers[].resizePolicy",
];
const LISTS: [&str; 2] = ["containers", "initContainers"];
const AMOUNTS: [&str; 2] = ["requests", "limits"];
/// The resources that can be resized.
const RESIZABLE: [&str; 2] = ["cpu", "memory"];

fn list<'v>(pod: &'v Value, name: &str) -> &'v [Value] {
    pod.at(&["spec", name]).and_then(Value::as_list).unwrap_or_default()
}

/// Restores all fields but resources and resize policies. Containers that are not the same ones stay
/// as they were sent, which [`check`] refuses.
pub(super) fn restore(old: &Value, new: &mut Value) {
    for name in LISTS {
        let before = list(old, name);
        if !are_same(before, list(new, name)) {
            continue;
        }
        let after = new.at_mut(&["spec", name]).and_then(Value::as_list_mut);
        for (container, before) in after.into_iter().flatten().zip(before) {
            let mut restored = before.clone();
            for field in ["resources", "resizePolicy"] {
                match container.get(field) {
                    Some(value) => drop(restored.set_at(&[field], value.clone())),
                    None => drop(restored.remove_at(&[field])),
                }
            }
            *container = restored;
        }
    }
    restore_all_but(&[&["spec", LISTS[0]], &["spec", LISTS[1]]], old, new);
}

fn name(container: &Value) -> &str {
    container.str_at(&["name"]).unwrap_or_default()
}

/// Whether two lists have the same containers in the same order.
fn are_same(before: &[Value], after: &[Value]) -> bool {
    before.iter().map(name).eq(after.iter().map(name))
}

/// Checks a change.
pub(super) fn check(names: &Names, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if let Some(cause) = other_containers(old, new).or_else(|| unsupported(names, old, new)) {
        causes.push(cause);
        return;
    }
    let spec = Field::root(new).get("spec");
    let class = old.str_at(&["status", "qosClass"]).filter(|class| !class.is_empty());
    let class = class.unwrap_or_else(|| qos_class(old.get("spec").unwrap_or(&Value::Null)));
    if class != qos_class(spec.value()) {
        let why = "Pod QOS Class may not change as a result of resizing";
        causes.push(Cause::invalid(spec.path(), class, why));
    }
    if !runs_on_supporting_node(old) {
        causes.push(spec.forbidden("Pod running on node without support for resize"));
    }
    for name in LISTS.into_iter().rev() {
        for (container, before) in spec.get(name).items().zip(list(old, name)) {
            if name == "containers" || is_sidecar(before) {
                check_removals(&container.get("resources"), before, causes);
            }
        }
    }
    for name in LISTS {
        for (container, before) in spec.get(name).items().zip(list(old, name)) {
            let (is_plain, is_sidecar) = (name == "containers", is_sidecar(before));
            let why = match (is_plain, is_sidecar) {
                _ if fixed(container.value(), is_plain || is_sidecar)
                    == fixed(before, is_plain || is_sidecar) =>
                {
                    continue;
                }
                (true, _) => "only cpu and memory resources are mutable",
                (_, true) => "only cpu and memory resources for sidecar containers are mutable",
                _ => "resources for non-sidecar init containers are immutable",
            };
            causes.push(spec.forbidden(why));
        }
    }
}

/// The refusal of a pod with other containers.
fn other_containers(old: &Value, new: &Value) -> Option<Cause> {
    LISTS.iter().find_map(|list_name| {
        let (before, after) = (list(old, list_name), list(new, list_name));
        let field = Field::root(new).get("spec").get(list_name);
        if before.len() != after.len() {
            let why = format!("{list_name} may not be added or removed on resize");
            return Some(field.forbidden(&why));
        }
        let mut pairs = field.items().zip(before);
        let (renamed, _) = pairs.find(|(after, before)| name(after.value()) != name(before))?;
        let why = format!("{list_name} may not be renamed or reordered on resize");
        Some(renamed.get("name").forbidden(&why))
    })
}

/// The refusal of a pod that is never resized.
fn unsupported(names: &Names, old: &Value, new: &Value) -> Option<Cause> {
    let whole = |pod: &Value| {
        let amounts = AMOUNTS.iter().filter_map(|field| pod.at(&["spec", "resources", field]));
        amounts.into_iter().any(|amounts| !amounts.is_empty())
    };
    let why = if whole(old) || whole(new) {
        "pods with pod-level resources cannot be resized"
    } else if is_mirror(names, old) {
        "static pods cannot be resized"
    } else if old.str_at(&["spec", "os", "name"]) == Some("windows") {
        "windows pods cannot be resized"
    } else {
        return None;
    };
    Some(Cause::forbidden("", why))
}

/// Whether the pod's node reports what its containers have; a pod without running containers says
/// nothing of it.
fn runs_on_supporting_node(pod: &Value) -> bool {
    let statuses = pod.at(&["status", "containerStatuses"]).and_then(Value::as_list);
    let mut statuses = statuses.unwrap_or_default().iter();
    let running = statuses
        .find(|status| status.at(&["state", "running"]).is_some_and(|running| !running.is_null()));
    running.is_none_or(|status| status.get("resources").is_some_and(|own| !own.is_null()))
}

fn is_sidecar(container: &Value) -> bool {
    container.str_at(&["restartPolicy"]) == Some("Always")
}

/// Checks that no request and no limit is removed.
fn check_removals(resources: &Field<'_>, before: &Value, causes: &mut Vec<Cause>) {
    for amounts in AMOUNTS {
        let after = resources.get(amounts);
        let had = before.at(&["resources", amounts]).and_then(Value::as_map);
        let removed = |key: &str| after.value().get(key).is_none();
        if had.is_some_and(|had| had.keys().any(removed)) {
            causes.push(after.forbidden(&format!("resource {amounts} cannot be removed")));
        }
    }
}

/// A container without the amounts that can be resized, if any can.
fn fixed(container: &Value, is_resizable: bool) -> Value {
    let mut fixed = container.clone();
    for amounts in AMOUNTS {
        let path = ["resources", amounts];
        for resource in RESIZABLE.iter().filter(|_| is_resizable) {
            fixed.remove_at(&[path[0], path[1], resource]);
        }
        if fixed.at(&path).is_some_and(Value::is_empty) {
            fixed.remove_at(&path);
        }
    }
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn container(name: &str, cpu: &str) -> Json {
        let limits = json!({"cpu": "1", "ephemeral-storage": "1Gi"});
        json!({"name": name, "image": "a", "resources": {"requests": {"cpu": cpu}, "limits": limits}})
    }

    fn pod() -> Json {
        let mut sidecar = container("s", "100m");
        sidecar["restartPolicy"] = "Always".into();
        json!({"metadata": {"name": "p", "labels": {"a": "b"}},
            "spec": {"containers": [container("c", "100m")], "initContainers": [sidecar, container("i", "100m")]},
            "status": {"qosClass": "Burstable"}})
    }

    #[track_caller]
    fn run(old: &Json, change: impl FnOnce(&mut Json), expect: &[&str]) {
        let mut new = old.clone();
        change(&mut new);
        let (old, mut new) = (Value::from(old.clone()), Value::from(new));
        restore(&old, &mut new);
        let mut causes = Vec::new();
        check(Naming::Svc.names(), &old, &new, &mut causes);
        assert_eq!(shown(&causes), expect);
    }

    #[test]
    fn only_resources_change() {
        let (old, mut sent) = (pod(), pod());
        sent["metadata"]["labels"]["a"] = "x".into();
        sent["metadata"]["managedFields"] = json!([]);
        sent["spec"]["nodeName"] = "n".into();
        sent["spec"]["containers"][0] = container("c", "200m");
        sent["spec"]["containers"][0]["image"] = "b".into();
        sent["status"]["phase"] = "Failed".into();
        let mut expect = old.clone();
        expect["metadata"]["managedFields"] = json!([]);
        expect["spec"]["containers"][0] = container("c", "200m");
        let mut new = Value::from(sent);
        restore(&old.into(), &mut new);
        assert_eq!(new, expect.into());
    }

    #[test]
    fn resources_of_containers() {
        let set = |path: &'static str, value: Json| {
            move |pod: &mut Json| *pod.pointer_mut(path).unwrap() = value
        };
        let first = "/spec/containers/0/resources/requests/cpu";
        run(&pod(), set(first, json!("200m")), &[]);
        run(&pod(), set("/spec/initContainers/0/resources/requests/cpu", json!("5m")), &[]);
        run(
            &pod(),
            set("/spec/initContainers/1/resources/requests/cpu", json!("5m")),
            &["Forbidden spec"],
        );
        run(
            &pod(),
            set("/spec/containers/0/resources/limits/ephemeral-storage", json!("2Gi")),
            &["Forbidden spec"],
        );
        run(
            &pod(),
            set("/spec/containers/0/resources/requests", json!({"memory": "1"})),
            &["Forbidden spec.containers[0].resources.requests"],
        );
        run(
            &pod(),
            set("/spec/containers/0/resources", json!({"limits": {"ephemeral-storage": "1Gi"}})),
            &[
                "Forbidden spec.containers[0].resources.requests",
                "Forbidden spec.containers[0].resources.limits",
            ],
        );
        run(
            &pod(),
            |pod| pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "1".into(),
            &[],
        );
        run(
            &pod(),
            |pod| pod["spec"]["containers"][0]["resizePolicy"] = json!([{}]),
            &["Forbidden spec"],
        );
    }

    #[test]
    fn pods_that_cannot_be_resized() {
        run(
            &pod(),
            |pod| pod["spec"]["containers"][0]["name"] = "d".into(),
            &["Forbidden spec.containers[0].name"],
        );
        run(
            &pod(),
            |pod| pod["spec"]["initContainers"] = json!([]),
            &["Forbidden spec.initContainers"],
        );
        let with = |path: &str, value: Json| {
            let mut pod = Value::from(pod());
            pod.set_at(&path.split('/').collect::<Vec<_>>(), Value::from(value));
            serde_json::to_value(&pod).unwrap()
        };
        for old in [
            with("spec/resources/limits", json!({"cpu": "1"})),
            with("metadata/annotations", json!({"svc.io/config.mirror": "x"})),
            with("spec/os/name", json!("windows")),
        ] {
            run(&old, |_| {}, &["Forbidden "]);
        }
        run(&with("status/qosClass", json!("Guaranteed")), |_| {}, &["Invalid spec"]);
        let running = |more: Json| {
            let mut status = json!({"state": {"running": {}}});
            status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            with("status/containerStatuses", json!([status]))
        };
        run(&running(json!({})), |_| {}, &["Forbidden spec"]);
        run(&running(json!({"resources": {}})), |_| {}, &[]);
    }
}
