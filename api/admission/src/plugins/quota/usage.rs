//! Usage of services and claims in quotas.
//!
//! Invariant: every object also counts as one, by `count/PLURAL.GROUP` ([`super::counted`]).
//!
//! Not here: pods.

use quorate_meta::{Names, Quantity, Value};

use crate::plugins::amounts::{self, Amounts};

/// The most devices of one allocation, and so the most that a request for all devices can use.
const MOST_DEVICES: i64 = 32;

/// The resource names of a PersistentVolumeClaim; those of one StorageClass have them as a suffix.
pub(super) const CLAIMS: &str = "persistentvolumeclaims";
pub(super) const STORAGE: &str = "requests.storage";

/// The text between the name of a StorageClass and the resource name that is counted for it.
pub(super) fn of_storage_class(names: &Names) -> String {
    format!(".storageclass.{}/", names.group("storage"))
}

/// The suffix after the name of a DeviceClass whose devices are counted.
pub(super) fn of_device_class(names: &Names) -> String {
    format!(".deviceclass.{}/devices", names.group("resource"))
}

/// What a service uses. Node ports count as requested: most are not allocated yet when the service
/// is first counted.
pub(super) fn service(service: &Value) -> Amounts {
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let wanted = service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool)
        != Some(false);
    let chosen = |port: &&Value| {
        port.get("nodePort").and_then(Value::as_i64).is_some_and(|number| number != 0)
    };
    let kind = service.str_at(&["spec", "type"]).unwrap_or_default();
    let node_ports = match kind {
        "NodePort" => ports.len(),
        "LoadBalancer" if wanted => ports.len(),
        "LoadBalancer" => ports.iter().filter(chosen).count(),
        _ => 0,
    };
    Amounts::from([
        ("services".to_owned(), Quantity::from_units(1)),
        (
            "services.loadbalancers".to_owned(),
            Quantity::from_units(i64::from(kind == "LoadBalancer")),
        ),
        (
            "services.nodeports".to_owned(),
            Quantity::from_units(i64::try_from(node_ports).unwrap_or(i64::MAX)),
        ),
    ])
}

/// What a PersistentVolumeClaim uses, in all and of its StorageClass.
pub(super) fn claim(names: &Names, claim: &Value) -> Amounts {
    let mut used = Amounts::from([(CLAIMS.to_owned(), Quantity::from_units(1))]);
    used.extend(storage(claim).map(|size| (STORAGE.to_owned(), size)));
    let older = format!("volume.beta.{}", names.domain_key("storage-class"));
    let older = claim.str_at(&["metadata", "annotations", &older]);
    let class = older.or_else(|| claim.str_at(&["spec", "storageClassName"])).unwrap_or_default();
    if !class.is_empty() {
        let of_class = of_storage_class(names);
        let own: Vec<_> = used
            .iter()
            .map(|(name, amount)| (format!("{class}{of_class}{name}"), *amount))
            .collect();
        used.extend(own);
    }
    used
}

/// The size that a claim requests, in whole bytes, or its allocated size when that is more.
fn storage(claim: &Value) -> Option<Quantity> {
    let size = |place: &[&str]| {
        let size = claim.str_at(place).and_then(Quantity::parse)?;
        Some(if size.is_whole() { size } else { Quantity::from_units(size.units()) })
    };
    let asked = size(&["spec", "resources", "requests", "storage"])?;
    let given = size(&["status", "allocatedResources", "storage"]);
    Some(given.map_or(asked, |given| given.max(asked)))
}

/// The devices that a ResourceClaim uses of each DeviceClass: the most, where it leaves a choice.
pub(super) fn device_claim(names: &Names, claim: &Value) -> Amounts {
    let suffix = of_device_class(names);
    let mut used = Amounts::new();
    let requests =
        claim.at(&["spec", "devices", "requests"]).and_then(Value::as_list).unwrap_or_default();
    for request in requests {
        let choices = request.get("firstAvailable").and_then(Value::as_list).unwrap_or_default();
        let choices = if choices.is_empty() {
            request.get("exactly").map(std::slice::from_ref)
        } else {
            Some(choices)
        };
        let mut worst = Amounts::new();
        for choice in choices.unwrap_or_default() {
            let class = choice.str_at(&["deviceClassName"]).unwrap_or_default();
            let most = worst.entry(format!("{class}{suffix}")).or_insert(Quantity::ZERO);
            *most = devices(choice).max(*most);
        }
        amounts::add(&mut used, &worst);
    }
    used
}

fn devices(request: &Value) -> Quantity {
    let count = match request.str_at(&["allocationMode"]) {
        None | Some("" | "ExactCount") => request.get("count").and_then(Value::as_i64).unwrap_or(1),
        Some("All") => MOST_DEVICES,
        Some(_) => 0,
    };
    Quantity::from_units(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[track_caller]
    fn check(used: &Amounts, expect: &[(&str, &str)]) {
        let shown: Vec<_> =
            used.iter().map(|(name, amount)| (name.as_str(), amount.to_string())).collect();
        let expect: Vec<_> =
            expect.iter().map(|(name, amount)| (*name, (*amount).to_owned())).collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn services() {
        let check = |spec: serde_json::Value, expect: [&str; 2]| {
            let used = service(&json!({ "spec": spec }).into());
            let [balancers, ports] = expect;
            check(
                &used,
                &[
                    ("services", "1"),
                    ("services.loadbalancers", balancers),
                    ("services.nodeports", ports),
                ],
            );
        };
        let ports = json!([{"port": 80}, {"port": 443, "nodePort": 30_000}]);
        check(json!({}), ["0", "0"]);
        check(json!({"type": "ClusterIP", "ports": ports}), ["0", "0"]);
        check(json!({"type": "NodePort", "ports": ports}), ["0", "2"]);
        check(json!({"type": "LoadBalancer", "ports": ports}), ["1", "2"]);
        check(
            json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": true, "ports": ports}),
            ["1", "2"],
        );
        check(
            json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": ports}),
            ["1", "1"],
        );
        check(json!({"type": "ExternalName"}), ["0", "0"]);
    }

    #[test]
    fn claims() {
        let check = |object: serde_json::Value, expect: &[(&str, &str)]| {
            check(&claim(Naming::Svc.names(), &object.into()), expect);
        };
        let asks = |size: &str| json!({"resources": {"requests": {"storage": size}}});
        check(json!({}), &[("persistentvolumeclaims", "1")]);
        check(
            json!({ "spec": asks("1Gi") }),
            &[("persistentvolumeclaims", "1"), ("requests.storage", "1Gi")],
        );
        check(
            json!({ "spec": asks("1500m") }),
            &[("persistentvolumeclaims", "1"), ("requests.storage", "2")],
        );
        let given = |size: &str| json!({"spec": asks("1Gi"), "status": {"allocatedResources": {"storage": size}}});
        check(given("2Gi"), &[("persistentvolumeclaims", "1"), ("requests.storage", "2Gi")]);
        check(given("1Mi"), &[("persistentvolumeclaims", "1"), ("requests.storage", "1Gi")]);
        let gold = [
            ("gold.storageclass.storage.svc.io/persistentvolumeclaims", "1"),
            ("gold.storageclass.storage.svc.io/requests.storage", "1Gi"),
            ("persistentvolumeclaims", "1"),
            ("requests.storage", "1Gi"),
        ];
        let mut classed = json!({ "spec": asks("1Gi") });
        classed["spec"]["storageClassName"] = json!("gold");
        check(classed.clone(), &gold);
        classed["metadata"] = json!({"annotations": {"volume.beta.svc.io/storage-class": "gold"}});
        classed["spec"]["storageClassName"] = json!("other");
        check(classed, &gold);
    }

    #[test]
    fn device_claims() {
        let check = |requests: serde_json::Value, expect: &[(&str, &str)]| {
            let claim = json!({"spec": {"devices": {"requests": requests}}});
            check(&device_claim(Naming::Kubernetes.names(), &claim.into()), expect);
        };
        let device = |class: &str, mode: &str, count: i64| json!({"deviceClassName": class, "allocationMode": mode, "count": count});
        let (gpu, fpga) =
            ("gpu.deviceclass.resource.k8s.io/devices", "fpga.deviceclass.resource.k8s.io/devices");
        check(json!([]), &[]);
        check(
            json!([{"exactly": device("gpu", "ExactCount", 2)}, {"exactly": {"deviceClassName": "gpu"}}]),
            &[(gpu, "3")],
        );
        check(json!([{"exactly": device("gpu", "All", 0)}]), &[(gpu, "32")]);
        let choices = [
            device("gpu", "ExactCount", 4),
            device("gpu", "ExactCount", 2),
            device("fpga", "ExactCount", 1),
        ];
        check(
            json!([{"firstAvailable": choices}, {"exactly": device("gpu", "ExactCount", 1)}]),
            &[(fpga, "1"), (gpu, "5")],
        );
    }
}
