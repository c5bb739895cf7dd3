//! Defaults of a PodSpec that are not literals in the schema.
//!
//! Some hold for pods only and not for pod templates, so a pod can differ from its template.

use std::collections::BTreeMap;

use quorate_meta::{Map, Quantity, Value};

/// The fields that hold containers.
pub(super) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
/// Resources that the pod-level requests sum up over containers.
const SUMMED: [&str; 2] = ["cpu", "memory"];
const HUGE_PAGES: &str = "hugepages-";

/// Defaults the specification of a pod or a template.
pub(crate) fn spec(spec: &mut Map) {
    for volume in spec.get_mut("volumes").and_then(Value::as_list_mut).into_iter().flatten() {
        default_volume(volume);
    }
    for field in CONTAINERS {
        for container in spec.get_mut(field).and_then(Value::as_list_mut).into_iter().flatten() {
            default_pull_policy(container, &["image"], &["imagePullPolicy"]);
        }
    }
    let account = ["serviceAccountName", "serviceAccount"]
        .into_iter()
        .find_map(|field| spec.get_str(field).filter(|name| !name.is_empty()).map(str::to_owned));
    if let Some(account) = account {
        spec.insert("serviceAccount", account.as_str());
        spec.insert("serviceAccountName", account);
    }
}

/// Defaults the specification of a pod only.
pub(super) fn pod(spec: &mut Map) {
    self::spec(spec);
    spec.get_or_insert_with("enableServiceLinks", || true.into());
    let host_network = spec.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    for field in ["initContainers", "containers"] {
        for container in spec.get_mut(field).and_then(Value::as_list_mut).into_iter().flatten() {
            default_requests(container);
            if host_network {
                default_host_ports(container);
            }
        }
    }
    default_pod_resources(spec);
}

fn default_volume(volume: &mut Value) {
    if let Some(map) = volume.as_map_mut().filter(|map| map.keys().all(|key| key == "name")) {
        map.insert("emptyDir", Map::new());
    }
    if volume.at(&["image"]).is_some_and(|image| image.as_map().is_some()) {
        default_pull_policy(volume, &["image", "reference"], &["image", "pullPolicy"]);
    }
}

/// Defaults the pull policy: `Always` for the tag `latest`, else `IfNotPresent`.
fn default_pull_policy(holder: &mut Value, image: &[&str], policy: &[&str]) {
    if holder.str_at(policy).is_some_and(|policy| !policy.is_empty()) {
        return;
    }
    let moves = tag(holder.str_at(image).unwrap_or_default()) == "latest";
    holder.set_at(policy, if moves { "Always" } else { "IfNotPresent" });
}

/// The tag of an image reference; `latest` without tag and digest.
fn tag(image: &str) -> &str {
    let (name, digest) = image.split_once('@').map_or((image, ""), |(name, digest)| (name, digest));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag,
        None if digest.is_empty() => "latest",
        None => "",
    }
}

/// Defaults requests to limits.
fn default_requests(container: &mut Value) {
    let Some(limits) = container.at(&["resources", "limits"]).and_then(Value::as_map).cloned()
    else {
        return;
    };
    let Some(resources) = container.get_mut("resources").and_then(Value::as_map_mut) else {
        return;
    };
    let Some(requests) = resources.map_mut("requests") else {
        return;
    };
    requests.add_missing(limits);
}

fn default_host_ports(container: &mut Value) {
    for port in container.get_mut("ports").and_then(Value::as_list_mut).into_iter().flatten() {
        let set = port.get("hostPort").and_then(Value::as_i64).unwrap_or_default() != 0;
        if let Some(number) = port.get("containerPort").cloned().filter(|_| !set) {
            port.set_at(&["hostPort"], number);
        }
    }
}

/// Defaults pod-level resources (KEP-2837), where any are set: huge pages and requests from the
/// containers.
fn default_pod_resources(spec: &mut Map) {
    let own = |field: &str| {
        spec.get("resources").and_then(|own| own.get(field)).and_then(Value::as_map).cloned()
    };
    let (limits, requests) = (own("limits"), own("requests"));
    if limits.is_none() && requests.is_none() {
        return;
    }
    let (mut all_limits, mut all_requests) =
        (limits.clone().unwrap_or_default(), requests.unwrap_or_default());
    let huge = totals(spec, "limits").into_iter();
    let huge =
        huge.filter(|(name, _)| name.starts_with(HUGE_PAGES) && !all_requests.contains_key(name));
    all_limits.add_missing(huge.map(|(name, sum)| (name, sum.to_string())).collect());
    if limits.is_some() {
        let summed = totals(spec, "requests")
            .into_iter()
            .filter(|(name, _)| SUMMED.contains(&name.as_str()));
        all_requests.add_missing(summed.map(|(name, sum)| (name, sum.to_string())).collect());
    }
    let requested =
        all_limits.iter().filter(|(name, _)| SUMMED.contains(name) || name.starts_with(HUGE_PAGES));
    all_requests.add_missing(requested.map(|(name, limit)| (name, limit.clone())).collect());
    let Some(resources) = spec.map_mut("resources") else {
        return;
    };
    for (field, amounts) in [("limits", all_limits), ("requests", all_requests)] {
        if !amounts.is_empty() {
            resources.insert(field, amounts);
        }
    }
}

/// The aggregate of the containers: the sum of all, or the largest init container, whichever is
/// more.
pub(super) fn totals(spec: &Map, field: &str) -> BTreeMap<String, Quantity> {
    let mut totals: BTreeMap<String, Quantity> = BTreeMap::new();
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).and_then(Value::as_list).unwrap_or_default() {
            let alone =
                list == "initContainers" && container.str_at(&["restartPolicy"]) != Some("Always");
            let amounts = container.at(&["resources", field]).and_then(Value::as_map);
            for (name, amount) in amounts.into_iter().flat_map(|amounts| amounts.iter()) {
                let Some(amount) = amount.as_str().and_then(Quantity::parse) else {
                    continue;
                };
                match totals.get_mut(name) {
                    Some(total) if alone => *total = (*total).max(amount),
                    Some(total) => *total = *total + amount,
                    None => drop(totals.insert(name.to_owned(), amount)),
                }
            }
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(of: fn(&mut Map), spec: serde_json::Value, expect: serde_json::Value) {
        let mut spec = Value::from(spec);
        of(spec.as_map_mut().unwrap());
        assert_eq!(serde_json::to_value(&spec).unwrap(), expect);
        let once = spec.clone();
        of(spec.as_map_mut().unwrap());
        assert_eq!(spec, once, "once is enough");
    }

    #[test]
    fn tags() {
        let digest = format!("app@sha256:{}", "a".repeat(64));
        let both = format!("app:latest@sha256:{}", "a".repeat(64));
        for (image, expect) in [
            ("app", "latest"),
            ("app:latest", "latest"),
            ("app:1", "1"),
            ("registry.example:5000/app", "latest"),
            ("registry.example:5000/app:2", "2"),
            (&digest, ""),
            (&both, "latest"),
        ] {
            assert_eq!(tag(image), expect, "{image}");
        }
    }

    #[test]
    fn templates_and_pods() {
        let given = json!({"containers": [{"image": "a:1", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}],
            "hostNetwork": true, "serviceAccountName": "robot", "volumes": [{"name": "v"}, {"name": "i", "image": {"reference": "x"}}]});
        let template = json!({"containers": [{"image": "a:1", "imagePullPolicy": "IfNotPresent", "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1"}}}],
            "hostNetwork": true, "serviceAccount": "robot", "serviceAccountName": "robot",
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "i", "image": {"reference": "x", "pullPolicy": "Always"}}]});
        let mut whole = template.clone();
        whole["enableServiceLinks"] = true.into();
        whole["containers"][0]["ports"][0]["hostPort"] = 80.into();
        whole["containers"][0]["resources"]["requests"] = json!({"cpu": "1"});
        check(spec, given.clone(), template);
        check(pod, given, whole);
    }

    #[test]
    fn resources_of_the_whole_pod() {
        let with = |own: serde_json::Value, expect: serde_json::Value| {
            let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}, "imagePullPolicy": "Never"});
            let given = json!({"containers": [container("1"), container("500m")], "initContainers": [container("2")],
                "enableServiceLinks": true, "resources": own});
            let mut whole = given.clone();
            whole["resources"] = expect;
            check(pod, given, whole);
        };
        with(json!({}), json!({}));
        with(
            json!({"limits": {"cpu": "4"}}),
            json!({"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}),
        );
        with(
            json!({"limits": {"memory": "1Gi", "hugepages-2Mi": "2Mi"}, "requests": {"cpu": "1"}}),
            json!({"limits": {"memory": "1Gi", "hugepages-2Mi": "2Mi"},
                "requests": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}}),
        );
    }
}
