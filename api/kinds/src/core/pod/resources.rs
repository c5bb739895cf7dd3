//! ResourceRequirements of containers and pods: names, quantities, requests and limits; the QoS
//! class that follows.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Quantity, Value};

use super::defaults::CONTAINERS;
use crate::field::Field;
use crate::resource_names::{self, is_huge_pages, is_native, may_overcommit, page_size};

/// The resources that the QoS class depends on.
const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// Checks requests and limits; `claims` are the names of the pod's resource claims.
pub(super) fn check(
    names: &Names,
    resources: &Field<'_>,
    claims: &HashSet<String>,
    causes: &mut Vec<Cause>,
) {
    let (limits, requests) = (resources.get("limits"), resources.get("requests"));
    let mut huge = false;
    let mut compute = false;
    for list in [&limits, &requests] {
        for (resource, amount) in list.entries() {
            resource_names::check_container_resource(names, list, resource, causes);
            check_amount(names, resource, &amount, causes);
            if is_huge_pages(resource) {
                huge = true;
                check_pages(resource, &amount, causes);
            }
            compute |= COMPUTE.contains(&resource);
        }
        if list.path() == requests.path() {
            check_against_limits(names, &requests, &limits, causes);
        }
    }
    if huge && !compute {
        causes.push(resources.forbidden("HugePages require cpu or memory"));
    }
    let mut seen = HashSet::new();
    for claim in resources.get("claims").items() {
        let name = claim.get("name");
        let first = seen.insert((name.text(), claim.get("request").text()));
        if name.is_empty() {
            causes.push(name.required(""));
        } else if !first {
            causes.push(name.duplicate());
        } else if !claims.contains(name.text()) {
            causes.push(Cause::not_found(name.path(), name.text()));
        }
    }
}

/// Checks that huge pages are a multiple of the page size.
fn check_pages(resource: &str, amount: &Field<'_>, causes: &mut Vec<Cause>) {
    let given = self::amount(amount.value());
    if page_size(resource).is_none_or(|size| given.units() % size != 0) {
        causes.push(
            amount.invalid(&format!("{given} is not positive integer multiple of {resource}")),
        );
    }
}

fn check_against_limits(
    names: &Names,
    requests: &Field<'_>,
    limits: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    for (resource, request) in requests.entries() {
        let amount = amount(request.value());
        let limit = limits.value().get(resource);
        match limit.map(self::amount) {
            Some(limit) if !may_overcommit(names, resource) && amount != limit => {
                let why = format!("must be equal to {resource} limit of {limit}");
                causes.push(Cause::invalid(requests.path(), request.value().clone(), &why));
            }
            Some(limit) if amount > limit => {
                let why = format!("must be less than or equal to {resource} limit of {limit}");
                causes.push(Cause::invalid(requests.path(), request.value().clone(), &why));
            }
            None if !may_overcommit(names, resource) => {
                causes.push(limits.required("Limit must be set for non overcommitable resources"));
            }
            _ => {}
        }
    }
}

/// Checks a quantity: not negative, and whole for countable resources.
pub(crate) fn check_amount(
    names: &Names,
    resource: &str,
    amount: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    let quantity = self::amount(amount.value());
    if quantity.is_negative() {
        causes.push(amount.invalid("must be greater than or equal to 0"));
    }
    if is_counted(names, resource) && !quantity.is_whole() {
        causes.push(amount.invalid("must be an integer"));
    }
}

/// Whether quantities of the resource must be whole.
fn is_counted(names: &Names, resource: &str) -> bool {
    const OBJECTS: [&str; 9] = [
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    ];
    OBJECTS.contains(&resource) || resource.starts_with("count/") || !is_native(names, resource)
}

fn amount(value: &Value) -> Quantity {
    value.as_str().and_then(Quantity::parse).unwrap_or(Quantity::ZERO)
}

/// The QoS class of a specification, from the requests and limits of CPU and memory.
pub(super) fn qos_class(spec: &Value) -> &'static str {
    let own = spec.get("resources").filter(|own| {
        ["limits", "requests"]
            .iter()
            .any(|field| own.get(field).is_some_and(|amounts| !amounts.is_empty()))
    });
    let containers = CONTAINERS[..2]
        .iter()
        .flat_map(|field| spec.get(field).and_then(Value::as_list).unwrap_or_default());
    let holders: Vec<&Value> = match own {
        Some(own) => vec![own],
        None => containers.filter_map(|container| container.get("resources")).collect(),
    };
    let set = |holder: &Value, field: &str, name: &str| {
        holder.at(&[field, name]).map(amount).filter(|amount| *amount > Quantity::ZERO)
    };
    let any = |holder: &&Value| {
        COMPUTE.iter().any(|name| {
            ["limits", "requests"].iter().any(|field| set(holder, field, name).is_some())
        })
    };
    if !holders.iter().any(any) {
        return "BestEffort";
    }
    let guaranteed = |holder: &&Value| {
        COMPUTE.iter().all(|name| {
            let (limit, request) = (set(holder, "limits", name), set(holder, "requests", name));
            limit.is_some() && (request.is_none() || request == limit)
        })
    };
    if holders.iter().all(guaranteed) { "Guaranteed" } else { "Burstable" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn names_amounts_and_limits() {
        let check = |resources: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({ "r": resources }));
            let mut causes = Vec::new();
            check(
                Naming::Svc.names(),
                &Field::root(&object).get("r"),
                &HashSet::from(["known".to_owned()]),
                &mut causes,
            );
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        check(json!({}), &[]);
        check(json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m"}}), &[]);
        check(json!({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}), &["Invalid r.requests"]);
        check(json!({"requests": {"cpu": "-1"}}), &["Invalid r.requests[cpu]"]);
        check(json!({"requests": {"example.com/gpu": "1"}}), &["Required r.limits"]);
        check(
            json!({"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}),
            &["Invalid r.requests"],
        );
        check(json!({"limits": {"gpu": "1"}}), &["Invalid r.limits[gpu]"; 2]);
        check(json!({"limits": {"a/b/c": "1"}}), &["Invalid r.limits[a/b/c]"; 2]);
        check(
            json!({"limits": {"example.com/gpu": "500m"}}),
            &["Invalid r.limits[example.com/gpu]"],
        );
        check(json!({"limits": {"hugepages-2Mi": "2Mi"}}), &["Forbidden r"]);
        let pages = |amount: &str| json!({"limits": {"cpu": 1, "hugepages-2Mi": amount}});
        check(pages("4Mi"), &[]);
        check(pages("3Mi"), &["Invalid r.limits[hugepages-2Mi]"]);
        check(
            json!({"limits": {"cpu": 1, "hugepages-x": "2Mi"}}),
            &["Invalid r.limits[hugepages-x]"],
        );
        check(
            json!({"claims": [{"name": "known"}, {"name": "other"}, {"name": "known"}, {}]}),
            &[
                "NotFound r.claims[1].name",
                "Duplicate r.claims[2].name",
                "Required r.claims[3].name",
            ],
        );
    }

    #[test]
    fn classes() {
        let check =
            |spec: serde_json::Value, expect: &str| assert_eq!(qos_class(&spec.into()), expect);
        let with = |resources: serde_json::Value| json!({"containers": [{"resources": resources}]});
        check(with(json!({})), "BestEffort");
        check(with(json!({"limits": {"example.com/gpu": "2"}})), "BestEffort");
        check(with(json!({"requests": {"cpu": "0"}})), "BestEffort");
        check(with(json!({"requests": {"cpu": "1"}})), "Burstable");
        let both = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}});
        check(with(both.clone()), "Guaranteed");
        check(json!({"containers": [{"resources": both}, {"resources": {}}]}), "Burstable");
        check(json!({"resources": both, "containers": [{"resources": {}}]}), "Guaranteed");
    }
}
