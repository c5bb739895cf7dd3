//! LimitRange defaults: the requests and limits of the containers of a new pod that set none.
//!
//! Invariants: nothing that a container sets is changed. An annotation names what was set; where
//! several LimitRanges set something, it names what the last one set.

use quorate_meta::{Map, Value};

use super::items;

/// Lists of containers, and the word for one container of each.
const CONTAINERS: [(&str, &str); 2] =
    [("containers", "container"), ("initContainers", "init container")];

/// The defaults of one LimitRange.
struct Defaults<'v> {
    requests: &'v Map,
    limits: &'v Map,
}

/// Sets the defaults of a LimitRange in a pod's containers, and names them in the annotation `key`.
pub(super) fn give(range: &Value, pod: &mut Value, key: &str) {
    let Some(item) = items(range).iter().find(|item| item.str_at(&["type"]) == Some("Container"))
    else {
        return;
    };
    let nothing = Map::new();
    let amounts = |field: &str| item.get(field).and_then(Value::as_map).unwrap_or(&nothing);
    let defaults = Defaults { requests: amounts("defaultRequest"), limits: amounts("default") };
    let mut given = Vec::new();
    for (list, called) in CONTAINERS {
        for container in
            pod.at_mut(&["spec", list]).and_then(Value::as_list_mut).into_iter().flatten()
        {
            defaults.give(container, called, &mut given);
        }
    }
    if !given.is_empty() {
        pod.set_at(
            &["metadata", "annotations", key],
            format!("LimitRanger plugin set: {}", given.join("; ")),
        );
    }
}

impl Defaults<'_> {
    /// Sets what one container lacks, and appends its name and theirs to the annotation.
    fn give(&self, container: &mut Value, called: &str, given: &mut Vec<String>) {
        for (field, what, amounts) in
            [("requests", "request", self.requests), ("limits", "limit", self.limits)]
        {
            let added = fill(container, field, amounts);
            if !added.is_empty() {
                let name = container.str_at(&["name"]).unwrap_or_default();
                given.push(format!("{} {what} for {called} {name}", added.join(", ")));
            }
        }
    }
}

/// Adds what one of a container's lists lacks; returns the names of the added resources.
fn fill<'v>(container: &mut Value, field: &str, amounts: &'v Map) -> Vec<&'v str> {
    let is_missing = |name: &str| container.at(&["resources", field, name]).is_none();
    let missing: Vec<(&str, &Value)> =
        amounts.iter().filter(|(name, _)| is_missing(name)).collect();
    for (name, amount) in &missing {
        container.set_at(&["resources", field, name], (*amount).clone());
    }
    missing.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn containers_get_what_they_lack() {
        let check = |item: Json, spec: Json, expect: Json, told: Option<&str>| {
            let range = Value::from(
                json!({"spec": {"limits": [{"type": "Pod", "max": {"cpu": "9"}}, item]}}),
            );
            let mut pod = Value::from(json!({"metadata": {"name": "p"}, "spec": spec}));
            give(&range, &mut pod, "limit-ranger");
            assert_eq!(pod.get("spec"), Some(&expect.into()));
            assert_eq!(pod.str_at(&["metadata", "annotations", "limit-ranger"]), told);
        };
        let range = json!({"type": "Container", "default": {"cpu": "2", "memory": "2Gi"},
            "defaultRequest": {"cpu": "1", "memory": "1Gi"}});
        let all = json!({"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
        check(
            range.clone(),
            json!({"containers": [{"name": "c"}]}),
            json!({"containers": [{"name": "c", "resources": all}]}),
            Some(
                "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c",
            ),
        );
        check(
            range.clone(),
            json!({"containers": [{"name": "c", "resources": all}], "initContainers": [{"name": "i", "resources":
                {"limits": {"cpu": "5"}, "requests": {"cpu": "5", "memory": "5Gi"}}}]}),
            json!({"containers": [{"name": "c", "resources": all}], "initContainers": [{"name": "i", "resources":
                {"limits": {"cpu": "5", "memory": "2Gi"}, "requests": {"cpu": "5", "memory": "5Gi"}}}]}),
            Some("LimitRanger plugin set: memory limit for init container i"),
        );
        let full = json!({"containers": [{"name": "c", "resources": all}]});
        check(range, full.clone(), full, None);
        let plain = json!({"containers": [{"name": "c", "resources": {}}]});
        check(json!({"type": "Container"}), plain.clone(), plain.clone(), None);
        check(
            json!({"type": "PersistentVolumeClaim", "default": {"cpu": "1"}}),
            plain.clone(),
            plain,
            None,
        );
    }

    #[test]
    fn the_last_range_that_gave_something_is_told_of() {
        let range = |field: &str, resource: &str| {
            Value::from(
                json!({"spec": {"limits": [{"type": "Container", field: {resource: "1"}}]}}),
            )
        };
        let mut pod = Value::from(json!({"spec": {"containers": [{"name": "c"}]}}));
        for range in [range("default", "a"), range("defaultRequest", "b"), range("default", "a")] {
            give(&range, &mut pod, "key");
        }
        let told = pod.str_at(&["metadata", "annotations", "key"]);
        assert_eq!(told, Some("LimitRanger plugin set: b request for container c"));
    }
}
