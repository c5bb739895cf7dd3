//! LimitRange: minimum, maximum and default resources of pods, containers and claims in a
//! namespace.
//!
//! The LimitRanger admission plugin applies them.

use std::collections::HashSet;
use std::iter;

use quorate_meta::{Cause, Map, Names, Quantity, Value, name};

use crate::field::Field;
use crate::{resource_names, rules};
use quorate_registry::Strategy;

const TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

/// The strategy of LimitRange.
#[derive(Debug)]
pub(super) struct LimitRange;

impl Strategy for LimitRange {
    fn checks_structure(&self) -> bool {
        false
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        rules::null_when_empty(object, &["spec", "limits"]);
        for item in
            object.at_mut(&["spec", "limits"]).and_then(Value::as_list_mut).into_iter().flatten()
        {
            if let Some(item) =
                item.as_map_mut().filter(|item| item.get_str("type") == Some("Container"))
            {
                default_item(item);
            }
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let mut types = HashSet::new();
        for item in Field::root(object).get("spec.limits").items() {
            let kind = item.get("type");
            check_type(&kind, &mut causes);
            if !types.insert(kind.text()) {
                causes.push(kind.duplicate());
            }
            check_item(names, &item, &mut causes);
        }
        causes
    }
}

/// Defaults `default` to `max`, and `defaultRequest` to `default` or `min`.
fn default_item(item: &mut Map) {
    let amounts = |item: &Map, field: &str| {
        item.get(field).and_then(Value::as_map).cloned().unwrap_or_default()
    };
    let (max, min) = (amounts(item, "max"), amounts(item, "min"));
    let mut default = amounts(item, "default");
    default.add_missing(max);
    let mut request = amounts(item, "defaultRequest");
    request.add_missing(default.clone());
    request.add_missing(min);
    for (field, amounts) in [("default", default), ("defaultRequest", request)] {
        if !amounts.is_empty() {
            item.insert(field, amounts);
        }
    }
}

fn check_type(kind: &Field<'_>, causes: &mut Vec<Cause>) {
    let wrong = name::qualified_name(kind.text());
    causes.extend(wrong.iter().map(|why| Cause::invalid(kind.path(), kind.text(), why)));
    if wrong.is_empty() && !kind.text().contains('/') && !TYPES.contains(&kind.text()) {
        causes.push(kind.invalid("must be a standard limit type or fully qualified"));
    }
}

fn check_item(names: &Names, item: &Field<'_>, causes: &mut Vec<Cause>) {
    let part = |field: &str| item.get(field);
    let (min, max, default, request) =
        (part("min"), part("max"), part("default"), part("defaultRequest"));
    let ratio = part("maxLimitRequestRatio");
    match item.get("type").text() {
        "Pod" => {
            for field in [&default, &request] {
                if !field.is_empty() {
                    causes.push(field.forbidden("may not be specified when `type` is 'Pod'"));
                }
            }
        }
        "PersistentVolumeClaim" if !min.get("storage").is_set() && !max.get("storage").is_set() => {
            let why =
                "either minimum or maximum storage value is required, but neither was provided";
            causes.push(Cause::required(item.path().child("limits"), why));
        }
        _ => {}
    }
    let maps = [&max, &min, &default, &request, &ratio];
    for map in maps {
        for resource in map.value().as_map().into_iter().flat_map(Map::keys) {
            check_resource(names, item.get("type").text(), map, resource, causes);
        }
    }
    for (resource, [max, min, default, request, ratio]) in amounts_by_resource(maps) {
        check_order(resource, [&min, &request, &default, &max], causes);
        check_ratio(resource, &ratio, [&min, &max], causes);
        if !resource_names::may_overcommit(names, resource) {
            check_equal(resource, &request, &default, causes);
        }
    }
}

/// Checks a resource name; limits of containers and pods are about resources of containers.
fn check_resource(
    names: &Names,
    kind: &str,
    amounts: &Field<'_>,
    resource: &str,
    causes: &mut Vec<Cause>,
) {
    match kind {
        "Pod" | "Container" => {
            resource_names::check_container_resource(names, amounts, resource, causes)
        }
        _ => resource_names::check(amounts, resource, causes),
    }
}

/// The amount of a resource in one of the maps.
struct Amount<'f, 'v> {
    map: &'f Field<'v>,
    quantity: Option<Quantity>,
}

/// For every resource in any of these maps, its amount in each of them.
fn amounts_by_resource<'f, 'v: 'f, const N: usize>(
    maps: [&'f Field<'v>; N],
) -> impl Iterator<Item = (&'v str, [Amount<'f, 'v>; N])> {
    let mut rest =
        maps.map(|map| (map, map.value().as_map().into_iter().flat_map(Map::iter).peekable()));
    iter::from_fn(move || {
        let next = rest.iter_mut().filter_map(|(_, entries)| entries.peek());
        let resource = next.map(|(resource, _)| *resource).min()?;
        let amounts = rest.each_mut().map(|(map, entries)| {
            let entry = entries.next_if(|(name, _)| *name == resource);
            let quantity = entry.and_then(|(_, amount)| Quantity::parse(amount.as_str()?));
            Amount { map, quantity }
        });
        Some((resource, amounts))
    })
}

/// A field error at one amount that shows another one as its value.
fn wrong(at: &Amount<'_, '_>, resource: &str, shown: &Amount<'_, '_>, why: &str) -> Cause {
    let value = shown.map.value().get(resource).cloned().unwrap_or_default();
    Cause::invalid(at.map.path().key(resource), value, why)
}

/// Checks that no amount is above those after it.
fn check_order(
    resource: &str,
    [min, request, default, max]: [&Amount<'_, '_>; 4],
    causes: &mut Vec<Cause>,
) {
    let mut check = |small: (&Amount<'_, '_>, &str), large: (&Amount<'_, '_>, &str), at, shown| {
        let (Some(low), Some(high)) = (small.0.quantity, large.0.quantity) else {
            return;
        };
        if low > high {
            let why = format!("{} value {low} is greater than {} value {high}", small.1, large.1);
            causes.push(wrong(at, resource, shown, &why));
        }
    };
    check((min, "min"), (max, "max"), min, min);
    check((min, "min"), (request, "default request"), request, request);
    check((request, "default request"), (max, "max"), request, request);
    check((request, "default request"), (default, "default limit"), request, request);
    check((min, "min"), (default, "default"), default, min);
    check((default, "default"), (max, "max"), default, max);
}

/// Checks that request and limit are equal for resources that cannot be overcommitted.
fn check_equal(
    resource: &str,
    request: &Amount<'_, '_>,
    default: &Amount<'_, '_>,
    causes: &mut Vec<Cause>,
) {
    let (Some(asked), Some(limit)) = (request.quantity, default.quantity) else {
        return;
    };
    if asked != limit {
        let why = format!(
            "default value {limit} must equal to defaultRequest value {asked} in {resource}"
        );
        causes.push(wrong(request, resource, request, &why));
    }
}

fn check_ratio(
    resource: &str,
    ratio: &Amount<'_, '_>,
    [min, max]: [&Amount<'_, '_>; 2],
    causes: &mut Vec<Cause>,
) {
    let Some(asked) = ratio.quantity else { return };
    if asked < Quantity::from_units(1) {
        causes.push(wrong(ratio, resource, ratio, &format!("ratio {asked} is less than 1")));
    }
    let (Some(low), Some(high)) = (min.quantity, max.quantity) else {
        return;
    };
    // The message shows an inexact number, as in Kubernetes.
    let most = high.millis() as f64 / low.millis() as f64;
    if asked.millis() as f64 / 1000.0 > most {
        causes.push(wrong(
            ratio,
            resource,
            ratio,
            &format!("ratio {asked} is greater than max/min = {most:.6}"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn defaults() {
        let mut object = Value::from(json!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"}}, {"type": "Pod", "max": {"cpu": "4"}}]}}));
        LimitRange.default(Naming::Svc.names(), &mut object);
        let expect = json!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"},
                "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Gi"}},
            {"type": "Pod", "max": {"cpu": "4"}}]}});
        assert_eq!(object, expect.into());
    }

    #[test]
    fn amounts_of_a_resource() {
        let object = Value::from(
            json!({"a": {"cpu": "1", "pods": "2"}, "b": {"memory": "3", "pods": "4"}, "c": {}}),
        );
        let root = Field::root(&object);
        let (a, b, c) = (root.get("a"), root.get("b"), root.get("c"));
        let all: Vec<_> = amounts_by_resource([&a, &b, &c])
            .map(|(resource, amounts)| {
                (resource, amounts.map(|amount| amount.quantity.map(Quantity::units)))
            })
            .collect();
        let expect = [
            ("cpu", [Some(1), None, None]),
            ("memory", [None, Some(3), None]),
            ("pods", [Some(2), Some(4), None]),
        ];
        assert_eq!(all, expect);
    }

    #[test]
    fn items() {
        let check = |limits: serde_json::Value, expect: &[&str]| {
            let causes = LimitRange
                .validate(Naming::Svc.names(), &json!({"spec": {"limits": limits}}).into());
            assert_eq!(shown(&causes), expect);
        };
        let of = |field: &str, amounts: serde_json::Value| json!([{"type": "Pod", field: amounts}]);
        check(json!([{"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "1000m"}}]), &[]);
        check(
            json!([{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]),
            &["Invalid spec.limits[0].min[cpu]"],
        );
        check(
            json!([{"type": "Container", "defaultRequest": {"cpu": "2"}, "default": {"cpu": "1"}}]),
            &["Invalid spec.limits[0].defaultRequest[cpu]"],
        );
        check(json!([{"type": "Pod"}, {"type": "Pod"}]), &["Duplicate spec.limits[1].type"]);
        check(of("default", json!({"cpu": "1"})), &["Forbidden spec.limits[0].default"]);
        check(
            of("maxLimitRequestRatio", json!({"cpu": "500m"})),
            &["Invalid spec.limits[0].maxLimitRequestRatio[cpu]"],
        );
        let ratio = |most: &str| json!([{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "400m"}, "maxLimitRequestRatio": {"cpu": most}}]);
        check(ratio("2500m"), &[]);
        check(ratio("3"), &["Invalid spec.limits[0].maxLimitRequestRatio[cpu]"]);
        check(of("max", json!({"foo": "1"})), &["Invalid spec.limits[0].max[foo]"; 2]);
        check(of("max", json!({"storage": "1"})), &["Invalid spec.limits[0].max[storage]"]);
        check(
            json!([{"type": "PersistentVolumeClaim", "max": {"storage": "1", "pods": "1"}}]),
            &[],
        );
        let pages = |request: &str| json!([{"type": "Container", "default": {"hugepages-2Mi": "4Mi"}, "defaultRequest": {"hugepages-2Mi": request}}]);
        check(pages("4Mi"), &[]);
        check(pages("2Mi"), &["Invalid spec.limits[0].defaultRequest[hugepages-2Mi]"]);
        check(json!([{"type": "PersistentVolumeClaim"}]), &["Required spec.limits[0].limits"]);
        check(json!([{"type": "Box"}]), &["Invalid spec.limits[0].type"]);
    }
}
