//! Warnings about the pods that exist in a namespace when its enforced level is raised (Pod
//! Security Admission).
//!
//! Invariants: one pod of each controller is checked before further ones, because those are alike;
//! at most [`MAX_PODS`] with [`MAX_BYTES`] are checked, and a warning is added when there are more,
//! or when some cannot be read.
//!
//! Not here: eviction; no running pod is refused or removed.

use std::collections::{BTreeMap, HashSet};

use quorate_meta::quoted;
use quorate_store::Entry;

use super::checks::{in_short, violations};
use super::level::Standard;
use super::pod::Pod;
use crate::snapshot_view::SnapshotView;
use quorate_registry::{Resource, stored_codec};

/// Pods that are checked for one change of a namespace.
const MAX_PODS: usize = 3000;
/// Bytes of the stored pods that are checked.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// For each set of reasons, the first violating pod by name, and how many there are.
type Groups<'p> = BTreeMap<String, (&'p str, usize)>;

/// The warnings for the client that writes the namespace.
pub(super) fn warnings(
    view: &SnapshotView<'_>,
    namespace: &str,
    standard: Standard,
) -> Vec<String> {
    let Some(resource) = view.resource("", "v1", "pods") else {
        return Vec::new();
    };
    let pods = in_order(resource, view.list(resource, Some(namespace)));
    let mut groups = Groups::new();
    let (mut checked, mut bytes) = (0, 0);
    for &(name, entry) in pods.iter().take(MAX_PODS) {
        bytes += entry.value.len();
        if bytes > MAX_BYTES {
            break;
        }
        let Ok(object) = stored_codec::decode(resource, entry) else {
            continue;
        };
        checked += 1;
        let found = violations(standard, &Pod::new(view.names, &object));
        if !found.is_empty() {
            let (first, count) = groups.entry(in_short(&found)).or_insert((name, 0));
            *first = std::cmp::min(*first, name);
            *count += 1;
        }
    }
    told(namespace, standard, [checked, pods.len()], &groups)
}

/// The pods in the order of checks: one of each controller and those without a controller, then the
/// others.
fn in_order<'a>(
    resource: &Resource,
    pods: impl Iterator<Item = (&'a str, &'a Entry)>,
) -> Vec<(&'a str, &'a Entry)> {
    let mut controllers = HashSet::new();
    let is_first = |(_, entry): &(&'a str, &'a Entry)| {
        let header = stored_codec::header(resource, &entry.value).ok();
        let controller =
            header.and_then(|header| header.owner_references().find(|owner| owner.controller));
        controller.is_none_or(|owner| controllers.insert(owner.uid))
    };
    let (mut first, others): (Vec<_>, Vec<_>) = pods.partition(is_first);
    first.extend(others);
    first
}

/// The sentences, given how many of how many pods were checked.
fn told(
    namespace: &str,
    standard: Standard,
    [checked, all]: [usize; 2],
    groups: &Groups<'_>,
) -> Vec<String> {
    let mut told = Vec::new();
    if checked < all {
        told.push(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {all} existing pods"
        ));
    }
    if !groups.is_empty() {
        let (namespace, standard) = (quoted(namespace), quoted(&standard.to_string()));
        told.push(format!(
            "existing pods in namespace {namespace} violate the new PodSecurity enforce level {standard}"
        ));
    }
    let of_group = |(reasons, (first, count)): (&String, &(&str, usize))| match count {
        1 => format!("{first}: {reasons}"),
        2 => format!("{first} (and 1 other pod): {reasons}"),
        _ => format!("{first} (and {} other pods): {reasons}", count - 1),
    };
    let mut pods: Vec<String> = groups.iter().map(of_group).collect();
    pods.sort();
    told.extend(pods);
    told
}

#[cfg(test)]
mod tests {
    use super::super::level::Policy;
    use super::*;
    use bytes::Bytes;
    use quorate_kinds::builtin;
    use quorate_meta::{Naming, Value};
    use quorate_store::{Revision, Snapshot};
    use serde_json::json;

    /// A pod with a part of its specification, and the uid of its controller unless that is empty.
    fn pod(name: &str, controller: &str, mut spec: serde_json::Value) -> Value {
        spec["containers"] = json!([{"name": "c", "image": "i"}]);
        let owner = json!({"apiVersion": "v1", "kind": "K", "name": "o", "uid": controller, "controller": true});
        let owners = if controller.is_empty() { json!([]) } else { json!([owner]) };
        let metadata =
            json!({"name": name, "namespace": "n", "uid": "u", "ownerReferences": owners});
        json!({"metadata": metadata, "spec": spec}).into()
    }

    /// The warnings about these pods, besides those of another namespace, when the baseline is
    /// enforced from now on.
    fn of(pods: &[Value]) -> Vec<String> {
        let names = Naming::Svc.names();
        let catalogue = builtin::catalogue_of(names);
        let resource = catalogue.find("", "v1", "pods").unwrap();
        let entry =
            |value: Bytes| Entry { value, created: Revision::ZERO, modified: Revision::ZERO };
        let text = |pod: &Value, field: &str| pod.str_at(&["metadata", field]).unwrap().to_owned();
        let stored = pods.iter().map(|pod| {
            let value = if text(pod, "uid").is_empty() {
                Bytes::new()
            } else {
                stored_codec::encode(resource, pod).unwrap()
            };
            (resource.key(Some(&text(pod, "namespace")), &text(pod, "name")), entry(value))
        });
        let snapshot = Snapshot::of(Revision::new(1), stored);
        let labels = [("pod-security.svc.io/enforce", "baseline")];
        let standard = Policy::of(names, labels.into_iter()).0.enforce;
        warnings(&SnapshotView::new(names, &catalogue, &snapshot), "n", standard)
    }

    #[test]
    fn pods_that_break_the_level() {
        let check = |pods: &[Value], expect: &[&str]| assert_eq!(of(pods), expect);
        let rises = r#"existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest""#;
        let host = json!({"hostNetwork": true});
        check(&[], &[]);
        check(&[pod("a", "", json!({}))], &[]);
        check(&[pod("a", "", host.clone())], &[rises, "a: host namespaces"]);
        let volumes =
            json!({"hostPID": true, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]});
        let pods = [
            pod("a", "", volumes),
            pod("b", "x", host.clone()),
            pod("c", "y", json!({"hostIPC": true})),
            pod("d", "y", host.clone()),
        ];
        let (one, three) =
            ("a: host namespaces, hostPath volumes", "b (and 2 other pods): host namespaces");
        check(&pods, &[rises, one, three]);
        check(&pods[1..3], &[rises, "b (and 1 other pod): host namespaces"]);
        let mut other = pod("a", "", host);
        other.set_at(&["metadata", "namespace"], "na");
        check(&[other], &[]);
    }

    #[test]
    fn pods_that_cannot_be_read() {
        let mut unreadable = pod("a", "", json!({}));
        unreadable.set_at(&["metadata", "uid"], "");
        let pods = [unreadable, pod("b", "", json!({}))];
        let some =
            "new PodSecurity enforce level only checked against the first 1 of 2 existing pods";
        assert_eq!(of(&pods), [some]);
    }

    #[test]
    fn very_many_pods() {
        let alike = (0..MAX_PODS).map(|at| pod(&format!("a{at:04}"), "x", json!({})));
        let last = [
            pod("b", "y", json!({"hostNetwork": true})),
            pod("c", "x", json!({"hostNetwork": true})),
        ];
        let pods: Vec<Value> = alike.chain(last).collect();
        let told = of(&pods);
        let some = "new PodSecurity enforce level only checked against the first 3000 of 3002 existing pods";
        assert_eq!(
            (told[0].as_str(), told[2].as_str(), told.len()),
            (some, "b: host namespaces", 3),
            "{told:?}"
        );
    }
}
