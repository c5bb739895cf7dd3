//! Resource amounts of containers and pods, by resource name.
//!
//! Invariants: a pod needs the sum of its containers, or the amount of its most demanding init
//! container, whichever is more; a restartable init container (sidecar, KEP-753) counts for
//! everything that starts after it. A value that is no quantity counts for nothing.
//!
//! Not here: what quotas and limit ranges make of the amounts.

use std::collections::BTreeMap;

use quorate_meta::{Quantity, Value};

/// How much of each resource.
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// Resources that a pod can set as a whole (KEP-2837), besides huge pages.
const OF_PODS: [&str; 2] = ["cpu", "memory"];
const HUGE_PAGES: &str = "hugepages-";

/// The amounts in a map of resources, such as the `requests` of a container.
pub(super) fn of(list: &Value) -> Amounts {
    let entries = list.as_map().into_iter().flat_map(|map| map.iter());
    entries
        .filter_map(|(name, amount)| Some((name.to_owned(), Quantity::parse(amount.as_str()?)?)))
        .collect()
}

/// The amounts in the map at a path; none where there is no map.
pub(super) fn at(object: &Value, path: &[&str]) -> Amounts {
    object.at(path).map(of).unwrap_or_default()
}

/// Adds other amounts.
pub(super) fn add(all: &mut Amounts, others: &Amounts) {
    for (name, other) in others {
        all.entry(name.clone()).and_modify(|amount| *amount = *amount + *other).or_insert(*other);
    }
}

/// Raises each amount to the other one where that is more.
pub(super) fn max(all: &mut Amounts, others: &Amounts) {
    for (name, other) in others {
        let amount = all.entry(name.clone()).or_insert(*other);
        if *other > *amount {
            *amount = *other;
        }
    }
}

/// The requests of a pod by its specification: with its overhead, and with the pod-level requests
/// in place of those of its containers.
pub(super) fn pod_requests(spec: &Value) -> Amounts {
    let mut all = of_pod(spec, "requests");
    add(&mut all, &at(spec, &["overhead"]));
    all
}

/// The limits of a pod; the overhead is added to each resource that has a limit.
pub(super) fn pod_limits(spec: &Value) -> Amounts {
    let mut all = of_pod(spec, "limits");
    for (name, overhead) in at(spec, &["overhead"]) {
        if let Some(limit) = all.get_mut(&name).filter(|limit| !limit.is_zero()) {
            *limit = *limit + overhead;
        }
    }
    all
}

/// The amounts in one list (`requests`, `limits`) of the containers, or of the pod in their place.
fn of_pod(spec: &Value, list: &str) -> Amounts {
    let mut all = of_containers(spec, list);
    let own = at(spec, &["resources", list]).into_iter();
    all.extend(
        own.filter(|(name, _)| OF_PODS.contains(&name.as_str()) || name.starts_with(HUGE_PAGES)),
    );
    all
}

/// The amounts that the containers need together, by one of their lists.
pub(super) fn of_containers(spec: &Value, list: &str) -> Amounts {
    let containers = |field: &str| spec.get(field).and_then(Value::as_list).unwrap_or_default();
    let mut all = Amounts::new();
    for container in containers("containers") {
        add(&mut all, &at(container, &["resources", list]));
    }
    let (mut staying, mut most) = (Amounts::new(), Amounts::new());
    for container in containers("initContainers") {
        let mut own = at(container, &["resources", list]);
        if container.str_at(&["restartPolicy"]) == Some("Always") {
            add(&mut all, &own);
            add(&mut staying, &own);
            continue;
        }
        // The sum of all has only those init containers that are sidecars.
        for (name, amount) in &mut own {
            *amount = staying.get(name).map_or(*amount, |beside| *amount + *beside);
        }
        max(&mut most, &own);
    }
    max(&mut all, &most);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(amounts: &Amounts) -> String {
        let each: Vec<String> =
            amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        each.join(" ")
    }

    #[test]
    fn maps_of_resources() {
        let check =
            |list: serde_json::Value, expect: &str| assert_eq!(shown(&of(&list.into())), expect);
        check(json!({"memory": "1Gi", "cpu": "500m"}), "cpu=500m memory=1Gi");
        check(json!({"cpu": "x", "memory": null}), "");
        check(json!(null), "");
    }

    #[test]
    fn sums_and_maxima() {
        let check = |one: serde_json::Value, other: serde_json::Value, sum: &str, most: &str| {
            let (mut added, other) = (of(&one.into()), of(&other.into()));
            let mut raised = added.clone();
            add(&mut added, &other);
            max(&mut raised, &other);
            assert_eq!((shown(&added), shown(&raised)), (sum.to_owned(), most.to_owned()));
        };
        check(
            json!({"a": "1", "b": "2"}),
            json!({"b": "3", "c": "4"}),
            "a=1 b=5 c=4",
            "a=1 b=3 c=4",
        );
        check(json!({"a": "2"}), json!({"a": "1500m"}), "a=3500m", "a=2");
        check(json!({"a": "1Ki"}), json!({"a": "1024"}), "a=2Ki", "a=1Ki");
    }

    /// A container that requests `cpu` and is limited to twice as much.
    fn container(cpu: i64, stays: bool) -> serde_json::Value {
        let resources =
            json!({"requests": {"cpu": cpu.to_string()}, "limits": {"cpu": (2 * cpu).to_string()}});
        let policy = if stays { json!("Always") } else { json!(null) };
        json!({"name": "c", "resources": resources, "restartPolicy": policy})
    }

    #[test]
    fn containers_side_by_side_and_one_after_the_other() {
        let check = |initial: &[(i64, bool)], containers: &[i64], expect: i64| {
            let initial: Vec<_> =
                initial.iter().map(|(cpu, stays)| container(*cpu, *stays)).collect();
            let containers: Vec<_> = containers.iter().map(|cpu| container(*cpu, false)).collect();
            let spec = Value::from(json!({"initContainers": initial, "containers": containers}));
            assert_eq!(shown(&pod_requests(&spec)), format!("cpu={expect}"));
            assert_eq!(shown(&pod_limits(&spec)), format!("cpu={}", 2 * expect));
        };
        check(&[], &[1, 2], 3);
        check(&[(2, false), (1, false)], &[1, 2], 3);
        check(&[(2, false), (5, false)], &[1, 2], 5);
        check(&[(2, true)], &[1, 2], 5);
        // A container that starts after a sidecar runs beside it.
        check(&[(2, true), (7, false)], &[1, 2], 9);
        check(&[(7, false), (2, true)], &[1, 2], 7);
        check(&[(2, true), (4, true)], &[1], 7);
        check(&[(2, true), (7, false), (4, true), (8, false)], &[1], 14);
    }

    #[test]
    fn many_that_stay_cost_no_more_each() {
        const MANY: usize = 50_000;
        let container = |number: usize| {
            let policy = if number.is_multiple_of(2) { json!("Always") } else { json!(null) };
            let requests = json!({format!("e.example/r{number}"): "1"});
            json!({"name": "c", "restartPolicy": policy, "resources": {"requests": requests}})
        };
        let initial: Vec<_> = (0..MANY).map(container).collect();
        assert_eq!(pod_requests(&json!({"initContainers": initial}).into()).len(), MANY);
    }

    #[test]
    fn pods_as_a_whole() {
        let check =
            |own: serde_json::Value, overhead: serde_json::Value, requests: &str, limits: &str| {
                let containers = [container(1, false), container(2, false)];
                let spec = Value::from(
                    json!({"containers": containers, "resources": own, "overhead": overhead}),
                );
                assert_eq!(shown(&pod_requests(&spec)), requests);
                assert_eq!(shown(&pod_limits(&spec)), limits);
            };
        check(json!(null), json!(null), "cpu=3", "cpu=6");
        check(json!(null), json!({"cpu": "1", "memory": "1Mi"}), "cpu=4 memory=1Mi", "cpu=7");
        check(json!({"requests": {"cpu": "1"}}), json!(null), "cpu=1", "cpu=6");
        check(
            json!({"limits": {"cpu": "9", "memory": "1Gi"}}),
            json!({"cpu": "1"}),
            "cpu=4",
            "cpu=10 memory=1Gi",
        );
        check(json!({"limits": {"cpu": "0"}}), json!({"cpu": "1"}), "cpu=4", "cpu=0");
        let huge = json!({"requests": {"hugepages-2Mi": "4Mi", "example.com/gpu": "1"}});
        check(huge, json!(null), "cpu=3 hugepages-2Mi=4Mi", "cpu=6");
    }
}
