//! Pod usage in quotas: the number of pods, and the requests and limits of their containers.
//!
//! Invariant: a pod that has ended, or has outlived its `deletionTimestamp` by more than its grace
//! period, uses nothing, except that it still counts as an object (`count/pods`).

use std::collections::BTreeSet;

use quorate_meta::{Names, Quantity, Time, Value};

use crate::plugins::amounts::{self, Amounts};

/// Resources that are counted as requests and as limits.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";
const LIMITS: &str = "limits.";
/// Resources that every container must set when a quota counts them.
const REQUIRED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

static ABSENT: Value = Value::Null;

/// Whether pods use this amount, besides their count as objects.
pub(super) fn measures(names: &Names, name: &str) -> bool {
    let requested = name.strip_prefix(REQUESTS);
    let own = requested.or_else(|| name.strip_prefix(LIMITS)).unwrap_or(name);
    name == "pods"
        || COMPUTE.contains(&own)
        || requested.unwrap_or(name).starts_with(HUGE_PAGES)
        || requested.is_some_and(|own| is_extended(names, own))
}

/// What a pod uses at this time, besides its count as an object.
pub(super) fn usage(names: &Names, pod: &Value, now: Time) -> Amounts {
    let mut used = Amounts::new();
    if !is_alive(pod, now) {
        return used;
    }
    used.insert("pods".to_owned(), Quantity::from_units(1));
    let spec = spec(pod);
    for (resource, amount) in amounts::pod_requests(spec) {
        if COMPUTE.contains(&resource.as_str()) || resource.starts_with(HUGE_PAGES) {
            used.insert(format!("{REQUESTS}{resource}"), amount);
            used.insert(resource, amount);
        } else if is_extended(names, &resource) {
            used.insert(format!("{REQUESTS}{resource}"), amount);
        }
    }
    for (resource, amount) in amounts::pod_limits(spec) {
        if COMPUTE.contains(&resource.as_str()) {
            used.insert(format!("{LIMITS}{resource}"), amount);
        }
    }
    used
}

/// The amounts that a container leaves unset although a quota counts them; `None` when there are
/// none.
pub(super) fn open_question(counted: &Amounts, pod: &Value) -> Option<String> {
    let spec = spec(pod);
    if speaks_for_its_containers(spec) {
        return None;
    }
    let lists = ["containers", "initContainers"]
        .map(|list| spec.get(list).and_then(Value::as_list).unwrap_or_default());
    let containers = || lists.iter().flat_map(|list| list.iter());
    let mut missing = Vec::new();
    for name in REQUIRED.into_iter().filter(|name| counted.contains_key(*name)) {
        let (list, resource) = match name.strip_prefix(LIMITS) {
            Some(resource) => ("limits", resource),
            None => ("requests", name.strip_prefix(REQUESTS).unwrap_or(name)),
        };
        let silent =
            containers().filter(|container| container.at(&["resources", list, resource]).is_none());
        let silent: BTreeSet<&str> =
            silent.filter_map(|container| container.str_at(&["name"])).collect();
        if !silent.is_empty() {
            missing
                .push(format!("{name} for: {}", silent.into_iter().collect::<Vec<_>>().join(",")));
        }
    }
    (!missing.is_empty()).then(|| format!("must specify {}", missing.join("; ")))
}

/// Whether the pod ends by itself (the scope `Terminating`).
pub(super) fn has_deadline(pod: &Value) -> bool {
    let deadline = pod.at(&["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64);
    deadline.is_some_and(|seconds| seconds >= 0)
}

/// Whether the pod has the QoS class BestEffort.
pub(super) fn is_best_effort(pod: &Value) -> bool {
    pod.str_at(&["status", "qosClass"]) == Some("BestEffort")
}

/// Whether the pod has affinity or anti-affinity to pods of other namespaces (the scope
/// `CrossNamespacePodAffinity`).
pub(super) fn reaches_out(pod: &Value) -> bool {
    const MUST: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const SHOULD: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let terms = |kind: &str, list: &str| {
        let terms = pod.at(&["spec", "affinity", kind, list]).and_then(Value::as_list);
        terms.unwrap_or_default().iter()
    };
    let elsewhere = |term: &Value| {
        term.get("namespaces").is_some_and(|names| !names.is_empty())
            || term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        terms(kind, MUST).any(elsewhere)
            || terms(kind, SHOULD).filter_map(|term| term.get("podAffinityTerm")).any(elsewhere)
    })
}

fn spec(pod: &Value) -> &Value {
    pod.get("spec").unwrap_or(&ABSENT)
}

/// Whether the pod has neither ended nor outlived its `deletionTimestamp` by more than its grace
/// period.
fn is_alive(pod: &Value, now: Time) -> bool {
    if matches!(pod.str_at(&["status", "phase"]), Some("Failed" | "Succeeded")) {
        return false;
    }
    let end =
        pod.str_at(&["metadata", "deletionTimestamp"]).and_then(|text| Time::parse(text).ok());
    let grace = pod.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_u64);
    match (end, grace) {
        (Some(end), Some(grace)) => now.ms() <= end.ms().saturating_add(grace.saturating_mul(1000)),
        _ => true,
    }
}

/// Whether the pod sets its resources as a whole (KEP-2837), so that its containers need not.
fn speaks_for_its_containers(spec: &Value) -> bool {
    let names = ["requests", "limits"]
        .into_iter()
        .filter_map(|list| spec.at(&["resources", list])?.as_map());
    names
        .flat_map(|amounts| amounts.keys())
        .any(|name| matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES))
}

/// Whether a resource is an extended resource, the implicit one of a DeviceClass included.
fn is_extended(names: &Names, resource: &str) -> bool {
    let is_native = !resource.contains('/') || resource.contains(&format!("{}/", names.domain));
    let is_device_class = resource.starts_with(&format!("deviceclass.resource.{}/", names.domain));
    (!is_native && !resource.starts_with(REQUESTS)) || is_device_class
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn names() -> &'static Names {
        Naming::Svc.names()
    }

    #[test]
    fn amounts_that_pods_use() {
        let known = [
            "pods",
            "cpu",
            "requests.memory",
            "limits.ephemeral-storage",
            "hugepages-2Mi",
            "requests.hugepages-1Gi",
        ];
        let extended = ["requests.example.com/gpu", "requests.deviceclass.resource.svc.io/big"];
        for name in known.into_iter().chain(extended) {
            assert!(measures(names(), name), "{name}");
        }
        let others = [
            "example.com/gpu",
            "limits.example.com/gpu",
            "limits.hugepages-2Mi",
            "requests.storage",
            "secrets",
        ];
        for name in others.into_iter().chain([
            "requests.svc.io/x",
            "requests.gpu",
            "count/pods",
            "limits.pods",
        ]) {
            assert!(!measures(names(), name), "{name}");
        }
    }

    #[test]
    fn what_a_pod_uses() {
        let check = |pod: serde_json::Value, expect: &[(&str, &str)]| {
            let used = usage(names(), &pod.into(), Time::from_ms(0));
            let shown: Vec<_> =
                used.iter().map(|(name, amount)| (name.as_str(), amount.to_string())).collect();
            let expect: Vec<_> =
                expect.iter().map(|(name, amount)| (*name, (*amount).to_owned())).collect();
            assert_eq!(shown, expect);
        };
        let container = |requests: serde_json::Value, limits: serde_json::Value| json!({"name": "c", "resources": {"requests": requests, "limits": limits}});
        let with = |container: serde_json::Value| json!({"spec": {"containers": [container]}});
        check(json!({}), &[("pods", "1")]);
        check(json!({"status": {"phase": "Succeeded"}}), &[]);
        check(
            with(container(json!({"cpu": "100m", "memory": "1Gi"}), json!({"cpu": "1"}))),
            &[
                ("cpu", "100m"),
                ("limits.cpu", "1"),
                ("memory", "1Gi"),
                ("pods", "1"),
                ("requests.cpu", "100m"),
                ("requests.memory", "1Gi"),
            ],
        );
        let others =
            json!({"example.com/gpu": "2", "hugepages-2Mi": "4Mi", "requests.example.com/x": "1"});
        check(
            with(container(others.clone(), others)),
            &[
                ("hugepages-2Mi", "4Mi"),
                ("pods", "1"),
                ("requests.example.com/gpu", "2"),
                ("requests.hugepages-2Mi", "4Mi"),
            ],
        );
    }

    #[test]
    fn a_pod_whose_end_is_overdue_uses_nothing() {
        let end = Time::parse("2030-01-01T00:00:00Z").unwrap();
        let check = |metadata: serde_json::Value, seconds: u64, expect: bool| {
            let pod = Value::from(json!({ "metadata": metadata }));
            let used = usage(names(), &pod, Time::from_ms(end.ms() + 1000 * seconds));
            assert_eq!(used.contains_key("pods"), expect, "{pod:?} after {seconds}");
        };
        let going = json!({"deletionTimestamp": end.seconds(), "deletionGracePeriodSeconds": 30});
        check(going.clone(), 0, true);
        check(going.clone(), 30, true);
        check(going, 31, false);
        check(json!({"deletionTimestamp": end.seconds()}), 1000, true);
        check(json!({}), 1000, true);
    }

    #[test]
    fn containers_must_say_what_is_counted() {
        let check = |counted: &[&str], spec: serde_json::Value, expect: Option<&str>| {
            let counted = counted.iter().map(|name| ((*name).to_owned(), Quantity::ZERO)).collect();
            let pod = Value::from(json!({ "spec": spec }));
            assert_eq!(open_question(&counted, &pod).as_deref(), expect);
        };
        let bare = json!({"containers": [{"name": "c"}]});
        check(&[], bare.clone(), None);
        check(
            &["pods", "limits.ephemeral-storage", "requests.example.com/gpu"],
            bare.clone(),
            None,
        );
        check(&["cpu", "memory"], bare.clone(), Some("must specify cpu for: c; memory for: c"));
        check(
            &["requests.cpu", "limits.memory"],
            bare,
            Some("must specify limits.memory for: c; requests.cpu for: c"),
        );
        let some = json!({
            "containers": [{"name": "b", "resources": {"requests": {"cpu": "1"}}}, {"name": "d"}],
            "initContainers": [{"name": "a"}]
        });
        check(&["cpu"], some.clone(), Some("must specify cpu for: a,d"));
        check(&["limits.cpu"], some, Some("must specify limits.cpu for: a,b,d"));
        check(
            &["cpu"],
            json!({"resources": {"limits": {"cpu": "1"}}, "containers": [{"name": "c"}]}),
            None,
        );
        check(&["cpu"], json!({"resources": {"limits": {}}, "containers": []}), None);
    }

    #[test]
    fn terms_about_other_namespaces() {
        let check = |affinity: serde_json::Value, expect: bool| {
            assert_eq!(
                reaches_out(&json!({"spec": {"affinity": affinity}}).into()),
                expect,
                "{affinity}"
            );
        };
        let required = |term: serde_json::Value| json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
        let preferred = |term: serde_json::Value| json!({"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]});
        check(json!({}), false);
        check(json!({"podAffinity": required(json!({"topologyKey": "k"}))}), false);
        check(json!({"podAffinity": required(json!({"namespaces": ["b"]}))}), true);
        check(json!({"podAntiAffinity": required(json!({"namespaceSelector": {}}))}), true);
        check(json!({"podAffinity": preferred(json!({"namespaces": ["b"]}))}), true);
        check(json!({"podAntiAffinity": preferred(json!({"namespaces": []}))}), false);
    }
}
