//! Device requests of ResourceClaims: requests, selectors, constraints and configuration.

use std::collections::HashSet;

use quorate_meta::{Cause, Value, name};

use super::super::field::Field;
use super::super::rules;
use super::{device_attributes, names};
use quorate_registry::GatedFields;
use quorate_registry::features::Feature;

/// Device requests of a claim, at most; also requests in a reference list.
const MAX_REQUESTS: usize = 32;
/// Constraints of a claim, at most.
const MAX_CONSTRAINTS: usize = 32;
/// Subrequests of a request, at most.
const MAX_SUBREQUESTS: usize = 8;
/// Selectors of a request, at most.
const MAX_SELECTORS: usize = 32;
/// Configurations of a claim or a class, at most.
pub(super) const MAX_CONFIGURATIONS: usize = 32;

/// Gated fields: device taints (KEP-5055), consumable capacity (KEP-5075).
const GATED: &[(Feature, &str)] = &[
    (Feature::DraDeviceTaints, "requests[].exactly.tolerations"),
    (Feature::DraDeviceTaints, "requests[].firstAvailable[].tolerations"),
    (Feature::DraConsumableCapacity, "requests[].exactly.capacity"),
    (Feature::DraConsumableCapacity, "requests[].firstAvailable[].capacity"),
    (Feature::DraConsumableCapacity, "constraints[].distinctAttribute"),
];

/// The gated fields of a claim specification at a path.
pub(super) const fn gated(below: &'static str) -> GatedFields {
    GatedFields { below, fields: GATED, off: &[] }
}

/// Defaults the device count of each request below `spec`.
pub(super) fn default_counts(spec: &mut Value) {
    let requests = spec.at_mut(&["devices", "requests"]).and_then(Value::as_list_mut);
    for request in requests.into_iter().flatten() {
        if let Some(exactly) = request.get_mut("exactly") {
            default_count(exactly);
        }
        let subrequests = request.get_mut("firstAvailable").and_then(Value::as_list_mut);
        subrequests.into_iter().flatten().for_each(default_count);
    }
}

fn default_count(request: &mut Value) {
    let exact = request.str_at(&["allocationMode"]) == Some("ExactCount");
    if exact && request.get("count").and_then(Value::as_i64).unwrap_or_default() == 0 {
        request.set_at(&["count"], 1);
    }
}

/// Checks the requests, constraints and configuration of a claim.
pub(super) fn devices(devices: &Field<'_>, causes: &mut Vec<Cause>) {
    let requests = devices.get("requests");
    if rules::at_most_items(&requests, MAX_REQUESTS, causes) {
        let mut names = HashSet::new();
        for request in requests.items() {
            named(&request, &mut names, causes);
            check_alternatives(&request, causes);
        }
    }
    let known = names_of(&requests);
    let (constraints, configurations) = (devices.get("constraints"), devices.get("config"));
    if rules::at_most_items(&constraints, MAX_CONSTRAINTS, causes) {
        for constraint in constraints.items() {
            references(&constraint.get("requests"), &known, causes);
            let attribute = constraint.get("matchAttribute");
            if attribute.is_set() {
                device_attributes::check_qualified(&attribute, causes);
            } else {
                causes.push(attribute.required(""));
            }
        }
    }
    if rules::at_most_items(&configurations, MAX_CONFIGURATIONS, causes) {
        for config in configurations.items() {
            references(&config.get("requests"), &known, causes);
            configuration(&config, causes);
        }
    }
}

/// Checks what a request asks for: one thing, or the first of several that can be met.
fn check_alternatives(request: &Field<'_>, causes: &mut Vec<Cause>) {
    const ONE: &str = "exactly one of `exactly` or `firstAvailable` is required";
    let (exactly, subrequests) = (request.get("exactly"), request.get("firstAvailable"));
    if exactly.is_set() {
        check_request(&exactly, causes);
    }
    if rules::at_most_items(&subrequests, MAX_SUBREQUESTS, causes) {
        let mut names = HashSet::new();
        for subrequest in subrequests.items() {
            named(&subrequest, &mut names, causes);
            check_request(&subrequest, causes);
        }
    }
    match (exactly.is_set(), subrequests.is_empty()) {
        (false, true) => causes.push(request.required(ONE)),
        (true, false) => {
            causes.push(request.invalid(&format!("{ONE}, but multiple fields are set")));
        }
        _ => {}
    }
}

/// The names that references can have: of requests, and of subrequests after the name of their
/// request.
pub(super) fn names_of(requests: &Field<'_>) -> HashSet<String> {
    let mut names = HashSet::new();
    for request in requests.items() {
        let own = request.get("name").text();
        let subrequests = request.get("firstAvailable");
        names.extend(
            subrequests
                .items()
                .map(|subrequest| format!("{own}/{}", subrequest.get("name").text())),
        );
        names.insert(own.to_owned());
    }
    names
}

/// Checks a list of references to requests.
pub(super) fn references(list: &Field<'_>, known: &HashSet<String>, causes: &mut Vec<Cause>) {
    if !rules::at_most_items(list, MAX_REQUESTS, causes) {
        return;
    }
    let mut seen = HashSet::new();
    for reference in list.items() {
        self::reference(&reference, known, causes);
        if !seen.insert(reference.text()) {
            causes.push(reference.duplicate());
        }
    }
}

/// Checks a reference to a request.
pub(super) fn reference(reference: &Field<'_>, known: &HashSet<String>, causes: &mut Vec<Cause>) {
    const UNKNOWN: &str = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    let text = reference.text();
    if text.split('/').count() <= 2 {
        text.split('/').for_each(|part| {
            causes.extend(
                name::dns_label(part).iter().map(|why| Cause::invalid(reference.path(), part, why)),
            );
        });
    }
    if !known.contains(text) {
        causes.push(reference.invalid(UNKNOWN));
    }
}

fn named<'v>(entry: &Field<'v>, seen: &mut HashSet<&'v str>, causes: &mut Vec<Cause>) {
    let own = entry.get("name");
    rules::optional_name(&own, name::dns_label, causes);
    if !seen.insert(own.text()) {
        causes.push(Cause::duplicate(entry.path(), own.text()));
    }
}

fn check_request(request: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::optional_name(&request.get("deviceClassName"), name::dns_subdomain, causes);
    selectors(&request.get("selectors"), causes);
    tolerations(&request.get("tolerations"), causes);
    let count = request.get("count");
    match request.get("allocationMode").text() {
        "All" if count.int().unwrap_or_default() != 0 => {
            causes.push(count.invalid("must not be specified when allocationMode is 'All'"));
        }
        "ExactCount" if count.int().unwrap_or_default() <= 0 => {
            causes.push(count.invalid("must be greater than zero"))
        }
        _ => {}
    }
}

/// Checks the keys of the taints that are tolerated; an empty one stands for all.
pub(super) fn tolerations(list: &Field<'_>, causes: &mut Vec<Cause>) {
    for toleration in list.items() {
        rules::optional_name(&toleration.get("key"), name::qualified_name, causes);
    }
}

/// Checks device selectors: each has a CEL expression.
pub(super) fn selectors(list: &Field<'_>, causes: &mut Vec<Cause>) {
    if !rules::at_most_items(list, MAX_SELECTORS, causes) {
        return;
    }
    let empty = list.items().map(|selector| selector.get("cel")).filter(|cel| !cel.is_set());
    causes.extend(empty.map(|cel| cel.required("")));
}

/// Checks a device configuration: opaque parameters of one driver.
pub(super) fn configuration(config: &Field<'_>, causes: &mut Vec<Cause>) {
    let opaque = config.get("opaque");
    if !opaque.is_set() {
        causes.push(opaque.required(""));
        return;
    }
    names::driver(&opaque.get("driver"), causes);
    let parameters = opaque.get("parameters");
    if parameters.is_set() && parameters.value().as_map().is_none() {
        causes.push(parameters.invalid("must be a valid JSON object"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::{Value as Json, json};

    #[test]
    fn counts() {
        let check = |request: Json, expect: Json| {
            let mut spec = json!({"devices": {"requests": [request]}}).into();
            default_counts(&mut spec);
            assert_eq!(spec, json!({"devices": {"requests": [expect]}}).into());
        };
        let exact = |count: Option<i64>| match count {
            Some(count) => json!({"allocationMode": "ExactCount", "count": count}),
            None => json!({"allocationMode": "ExactCount"}),
        };
        check(json!({"exactly": exact(None)}), json!({"exactly": exact(Some(1))}));
        check(json!({"exactly": exact(Some(3))}), json!({"exactly": exact(Some(3))}));
        check(
            json!({"exactly": {"allocationMode": "All"}}),
            json!({"exactly": {"allocationMode": "All"}}),
        );
        check(
            json!({"firstAvailable": [exact(None)]}),
            json!({"firstAvailable": [exact(Some(1))]}),
        );
    }

    #[test]
    fn requests() {
        let check = |requests: Json, expect: &[&str]| {
            let object = json!({"requests": requests}).into();
            let mut causes = Vec::new();
            devices(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let one = |count: i64| json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": count});
        check(json!([{"name": "a", "exactly": one(1)}]), &[]);
        check(
            json!([{"name": "A", "exactly": one(0)}]),
            &["Invalid requests[0].name", "Invalid requests[0].exactly.count"],
        );
        check(json!([{"name": "a"}]), &["Required requests[0]"]);
        check(
            json!([{"name": "a", "exactly": one(1)}, {"name": "a", "exactly": one(1)}]),
            &["Duplicate requests[1]"],
        );
        let all = json!({"deviceClassName": "c", "allocationMode": "All", "count": 1});
        check(
            json!([{"name": "a", "firstAvailable": [all]}]),
            &["Invalid requests[0].firstAvailable[0].count"],
        );
    }

    #[test]
    fn gated_fields_of_devices_are_kept_with_their_gates() {
        let with = json!({"deviceClassName": "c", "tolerations": [{"operator": "Exists"}], "capacity": {}});
        let without = json!({"deviceClassName": "c"});
        let claim = |request: &Json| json!({"d": {"requests": [{"exactly": request}, {"firstAvailable": [request]}]}});
        let check = |gates: &str, expect: &Json| {
            let mut object = claim(&with).into();
            gated("d").clear(&gates.parse().unwrap(), None, &mut object);
            assert_eq!(object, claim(expect).into(), "{gates}");
        };
        check("", &without);
        check("DRADeviceTaints=true,DRAConsumableCapacity=true", &with);
    }

    #[test]
    fn references_of_constraints_and_configurations() {
        let one = json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1});
        let mut subrequest = one.clone();
        subrequest["name"] = "s".into();
        let requests =
            json!([{"name": "a", "exactly": one}, {"name": "b", "firstAvailable": [subrequest]}]);
        let check = |field: &str, entry: Json, expect: &[&str]| {
            let object = json!({"requests": requests, field: [entry]}).into();
            let mut causes = Vec::new();
            devices(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        let about =
            |requests: &[&str]| json!({"requests": requests, "matchAttribute": "x.example.com/a"});
        check("constraints", about(&[]), &[]);
        check("constraints", about(&["a", "b", "b/s"]), &[]);
        check("constraints", about(&["a", "a"]), &["Duplicate constraints[0].requests[1]"]);
        for unknown in ["c", "a/s", "b/t", "b/s/s"] {
            check("constraints", about(&[unknown]), &["Invalid constraints[0].requests[0]"]);
        }
        check("constraints", json!({}), &["Required constraints[0].matchAttribute"]);
        check(
            "constraints",
            json!({"matchAttribute": "a"}),
            &["Invalid constraints[0].matchAttribute"],
        );
        let opaque = json!({"driver": "x.example.com", "parameters": {}});
        check("config", json!({"requests": ["b/s"], "opaque": opaque}), &[]);
        check(
            "config",
            json!({"requests": ["c"], "opaque": opaque}),
            &["Invalid config[0].requests[0]"],
        );
    }

    #[test]
    fn configurations() {
        let check = |config: Json, expect: &[&str]| {
            let object = config.into();
            let mut causes = Vec::new();
            configuration(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"opaque": {"driver": "x.example.com", "parameters": {}}}), &[]);
        check(json!({}), &["Required opaque"]);
        check(
            json!({"opaque": {"driver": "A b", "parameters": 1}}),
            &["Invalid opaque.driver", "Invalid opaque.parameters"],
        );
    }
}
