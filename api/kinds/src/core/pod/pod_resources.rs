//! Resources of a whole pod (KEP-2837): which there are, and how those of its containers fit in.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Quantity, Value};

use super::defaults::totals;
use super::resources;
use crate::field::Field;
use crate::resource_names::is_huge_pages;

/// The resources that a whole pod can have, besides huge pages.
const SUPPORTED: [&str; 2] = ["cpu", "memory"];

/// Checks the resources of a whole pod or of a template.
pub(super) fn check(names: &Names, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let own = spec.get("resources");
    if !own.is_set() {
        return;
    }
    if !own.get("claims").is_empty() {
        causes
            .push(own.get("claims").forbidden("claims may not be set for Resources at pod-level"));
        return;
    }
    resources::check(names, &own, &HashSet::new(), causes);
    for list in [own.get("limits"), own.get("requests")] {
        for (resource, amount) in list.entries() {
            if !SUPPORTED.contains(&resource) && !is_huge_pages(resource) {
                let name = Value::from(resource);
                causes.push(Field::new(&name, amount.path().clone()).not_supported(&SUPPORTED));
            }
        }
    }
    check_fit(spec, &own, causes);
}

/// Checks that the containers request no more than the pod does, and that none has a higher limit.
fn check_fit(spec: &Field<'_>, own: &Field<'_>, causes: &mut Vec<Cause>) {
    let amount = |field: &Field<'_>| Quantity::parse(field.text());
    let requested = spec.value().as_map().map(|spec| totals(spec, "requests")).unwrap_or_default();
    for (resource, given) in own.get("requests").entries() {
        if let (Some(sum), Some(given_amount)) = (requested.get(resource), amount(&given))
            && *sum > given_amount
        {
            let why =
                format!("must be greater than or equal to aggregate container requests of {sum}");
            causes.push(given.invalid(&why));
        }
    }
    let limits = own.get("limits");
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).items() {
            for (resource, limit) in container.get("resources.limits").entries() {
                let whole = limits.value().str_at(&[resource]).and_then(Quantity::parse);
                if let (Some(whole), Some(own)) = (whole, amount(&limit))
                    && own > whole
                {
                    let why = format!("must be less than or equal to pod limits of {whole}");
                    causes.push(limit.invalid(&why));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn the_pod_has_room_for_its_containers() {
        let run = |own: Json, expect: &[&str]| {
            let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}});
            let spec = json!({"resources": own, "containers": [container("1"), container("500m")]});
            let (object, mut causes) = (Value::from(json!({ "spec": spec })), Vec::new());
            check(Naming::Svc.names(), &Field::root(&object).get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        run(json!(null), &[]);
        run(json!({"requests": {"cpu": "1500m"}, "limits": {"cpu": "2", "memory": "1Gi"}}), &[]);
        run(json!({"requests": {"cpu": "1"}}), &["Invalid spec.resources.requests[cpu]"]);
        run(
            json!({"limits": {"cpu": "700m"}}),
            &["Invalid spec.containers[0].resources.limits[cpu]"],
        );
        run(json!({"claims": [{"name": "c"}]}), &["Forbidden spec.resources.claims"]);
        run(
            json!({"requests": {"ephemeral-storage": "1Gi"}}),
            &["NotSupported spec.resources.requests[ephemeral-storage]"],
        );
        run(
            json!({"limits": {"cpu": "2", "hugepages-2Mi": "2Mi"}, "requests": {"hugepages-2Mi": "2Mi"}}),
            &[],
        );
    }
}
