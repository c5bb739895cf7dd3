//! ResourceClaimStatus: the allocated devices, the pods that reserved them, and their status from
//! the drivers.

use std::collections::HashSet;

use quorate_meta::{Cause, CauseReason, name};

use super::{device_requests, names};
use crate::core::pod::check_node_selector;
use crate::field::Field;
use crate::rules;
use quorate_meta::net;

/// Consumers of a claim (`reservedFor`), at most.
const MAX_CONSUMERS: usize = 256;
/// Allocated devices of a claim, at most.
const MAX_RESULTS: usize = 32;
/// Configurations of an allocation, at most: those of the classes and of the claim.
const MAX_CONFIGURATIONS: usize = 64;
/// Conditions of a device, at most.
const MAX_CONDITIONS: usize = 8;
/// Bytes of the name of a network interface, at most.
const MAX_INTERFACE: usize = 256;
/// Bytes of the hardware address of a network interface, at most.
const MAX_HARDWARE_ADDRESS: usize = 128;
/// IP addresses of a network interface, at most.
const MAX_ADDRESSES: usize = 16;

/// Checks a status and its change.
pub(super) fn check(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<Cause>) {
    let (before, after) = (old.get("status"), new.get("status"));
    let deleting = new.get("metadata.deletionTimestamp").is_set();
    check_consumers(&before.get("reservedFor"), &after, deleting, causes);
    let (had, allocation) = (before.get("allocation"), after.get("allocation"));
    check_devices(&after.get("devices"), &allocation, causes);
    if had.is_set() && allocation.is_set() {
        rules::immutable(&had, &allocation, causes);
    } else if allocation.is_set() {
        let known = device_requests::names_of(&new.get("spec.devices.requests"));
        check_allocation(&allocation, &known, causes);
    }
}

fn check_consumers(
    before: &Field<'_>,
    status: &Field<'_>,
    deleting: bool,
    causes: &mut Vec<Cause>,
) {
    let consumers = status.get("reservedFor");
    rules::at_most_items(&consumers, MAX_CONSUMERS, causes);
    let mut seen = HashSet::new();
    for consumer in consumers.items() {
        let uid = consumer.get("uid").text();
        if !seen.insert(uid) {
            causes.push(Cause::duplicate(consumer.path(), uid));
        }
    }
    if !consumers.is_empty() && !status.get("allocation").is_set() {
        causes.push(consumers.forbidden("may not be specified when `allocated` is not set"));
    } else if deleting {
        let had: Vec<_> = before.items().map(|consumer| consumer.value()).collect();
        if consumers.items().any(|consumer| !had.contains(&consumer.value())) {
            let why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
            causes.push(consumers.forbidden(why));
        }
    }
}

fn check_allocation(allocation: &Field<'_>, known: &HashSet<String>, causes: &mut Vec<Cause>) {
    let (results, configurations) =
        (allocation.get("devices.results"), allocation.get("devices.config"));
    rules::at_most_items(&results, MAX_RESULTS, causes);
    for result in results.items().take(MAX_RESULTS) {
        device_requests::reference(&result.get("request"), known, causes);
        check_identity(&result, causes);
        device_requests::tolerations(&result.get("tolerations"), causes);
        names::binding_conditions(&result, causes);
    }
    rules::at_most_items(&configurations, MAX_CONFIGURATIONS, causes);
    for config in configurations.items().take(MAX_CONFIGURATIONS) {
        device_requests::references(&config.get("requests"), known, causes);
        device_requests::configuration(&config, causes);
    }
    let nodes = allocation.get("nodeSelector");
    if nodes.is_set() {
        check_node_selector(&nodes, causes);
    }
}

/// Checks the names that identify a device.
fn check_identity(device: &Field<'_>, causes: &mut Vec<Cause>) {
    names::driver(&device.get("driver"), causes);
    names::pool(&device.get("pool"), causes);
    rules::optional_name(&device.get("device"), name::dns_label, causes);
    names::share(&device.get("shareID"), causes);
}

/// The identity of a device, or of a share of it.
fn identity(device: &Field<'_>) -> String {
    let part = |field: &str| device.get(field).text();
    let share =
        if part("shareID").is_empty() { String::new() } else { format!("/{}", part("shareID")) };
    format!("{}/{}/{}{share}", part("driver"), part("pool"), part("device"))
}

/// Checks the device status from drivers: only of allocated devices, and of each once.
fn check_devices(devices: &Field<'_>, allocation: &Field<'_>, causes: &mut Vec<Cause>) {
    let given: HashSet<String> =
        allocation.get("devices.results").items().map(|result| identity(&result)).collect();
    let mut seen = HashSet::new();
    for device in devices.items() {
        let own = identity(&device);
        check_identity(&device, causes);
        if !given.contains(&own) {
            let message = format!("Invalid value: {own}: must be an allocated device in the claim");
            causes.push(Cause::new(CauseReason::FieldValueInvalid, device.path(), message));
        }
        rules::at_most_items(&device.get("conditions"), MAX_CONDITIONS, causes);
        check_network(&device.get("networkData"), causes);
        if !seen.insert(own.clone()) {
            causes.push(Cause::new(
                CauseReason::FieldValueDuplicate,
                device.path(),
                format!("Duplicate value: {own}"),
            ));
        }
    }
}

fn check_network(network: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::at_most_bytes(&network.get("interfaceName"), MAX_INTERFACE, causes);
    rules::at_most_bytes(&network.get("hardwareAddress"), MAX_HARDWARE_ADDRESS, causes);
    let addresses = network.get("ips");
    rules::at_most_items(&addresses, MAX_ADDRESSES, causes);
    let mut seen = HashSet::new();
    for address in addresses.items().take(MAX_ADDRESSES) {
        match net::interface_address(address.text()) {
            None => causes.push(address.invalid(net::NOT_AN_INTERFACE_ADDRESS)),
            Some(canonical) if canonical != address.text() => {
                causes
                    .push(address.invalid(&format!("must be in canonical form (\"{canonical}\")")));
            }
            Some(_) => {}
        }
        if !seen.insert(address.text()) {
            causes.push(address.duplicate());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::{Value as Json, json};

    fn run(old: Json, status: Json, expect: &[&str]) {
        let spec = json!({"devices": {"requests": [{"name": "a"}]}});
        let (old, new) = (old.into(), json!({"spec": spec, "status": status}).into());
        let mut causes = Vec::new();
        check(&Field::root(&old), &Field::root(&new), &mut causes);
        assert_eq!(shown(&causes), expect, "{new:?}");
    }

    fn result() -> Json {
        json!({"request": "a", "driver": "d.example.com", "pool": "p/q", "device": "gpu-1"})
    }

    #[test]
    fn allocations() {
        let check = |allocation: Json, expect: &[&str]| {
            run(json!({}), json!({"allocation": allocation}), expect)
        };
        check(json!({"devices": {"results": [result()]}}), &[]);
        let with = |field: &str, value: &str, expect: &[&str]| {
            let mut result = result();
            result[field] = value.into();
            let at = |text: &&str| format!("Invalid status.allocation.devices.results[0].{text}");
            let expect: Vec<String> = expect.iter().map(at).collect();
            let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
            check(json!({"devices": {"results": [result]}}), &expect);
        };
        with("request", "b", &["request"]);
        with("driver", "A_", &["driver"]);
        with("pool", "p//q", &["pool"]);
        with("device", "D_", &["device"]);
        check(
            json!({"nodeSelector": {"nodeSelectorTerms": []}}),
            &["Required status.allocation.nodeSelector.nodeSelectorTerms"],
        );
    }

    #[test]
    fn an_allocation_stays() {
        let allocated = |node: &str| json!({"allocation": {"devices": {"results": [node]}}});
        run(json!({"status": allocated("a")}), json!({}), &[]);
        run(json!({"status": allocated("a")}), allocated("a"), &[]);
        run(json!({"status": allocated("a")}), allocated("b"), &["Invalid status.allocation"]);
    }

    #[test]
    fn consumers() {
        let consumers =
            |uids: &[&str]| uids.iter().map(|uid| json!({"uid": uid})).collect::<Vec<_>>();
        let check = |uids: &[&str], expect: &[&str]| {
            run(json!({}), json!({"allocation": {}, "reservedFor": consumers(uids)}), expect);
        };
        check(&["u", "v"], &[]);
        check(&["u", "u"], &["Duplicate status.reservedFor[1]"]);
        run(
            json!({}),
            json!({"reservedFor": consumers(&["u"])}),
            &["Forbidden status.reservedFor"],
        );
        let deleted = |uids: &[&str], expect: &[&str]| {
            let status = |uids: &[&str]| json!({"allocation": {}, "reservedFor": consumers(uids)});
            let old = json!({"status": status(&["u"])}).into();
            let new =
                json!({"metadata": {"deletionTimestamp": "t"}, "status": status(uids)}).into();
            let mut causes = Vec::new();
            super::check(&Field::root(&old), &Field::root(&new), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        deleted(&["u"], &[]);
        deleted(&["u", "v"], &["Forbidden status.reservedFor"]);
    }

    #[test]
    fn device_status() {
        let check = |devices: Json, expect: &[&str]| {
            run(
                json!({}),
                json!({"allocation": {"devices": {"results": [result()]}}, "devices": devices}),
                expect,
            );
        };
        check(json!([result()]), &[]);
        check(json!([result(), result()]), &["Duplicate status.devices[1]"]);
        let with = |field: &str, value: Json, expect: &[&str]| {
            let mut device = result();
            device[field] = value;
            check(json!([device]), expect);
        };
        with("device", json!("gpu-2"), &["Invalid status.devices[0]"]);
        with("networkData", json!({"ips": ["10.0.0.1/24", "fd00::1/64"]}), &[]);
        for address in ["x", "10.0.0.1", "010.0.0.1/24"] {
            with(
                "networkData",
                json!({"ips": [address]}),
                &["Invalid status.devices[0].networkData.ips[0]"],
            );
        }
    }
}
