//! Resource names: those of `resources`, `ResourceQuota` and `LimitRange`, native or extended.
//!
//! Amounts are checked where they are used.

use quorate_meta::{Cause, Names, Quantity, name};

use super::field::Field;

/// The native resources of containers, but for huge pages.
const CONTAINER_RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// The other resource names without a domain, which quotas count.
const QUOTA_RESOURCES: [&str; 17] = [
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";

/// Checks a resource name; `amounts` is the map that has it as a key.
pub(super) fn check(amounts: &Field<'_>, resource: &str, causes: &mut Vec<Cause>) {
    let wrong = name::qualified_name(resource);
    causes.extend(wrong.iter().map(|why| invalid(amounts, resource, why)));
    if wrong.is_empty() && !resource.contains('/') && !is_standard(resource) {
        causes.push(invalid(
            amounts,
            resource,
            "must be a standard resource type or fully qualified",
        ));
    }
}

/// Checks the resource name of a container's requests or limits.
pub(super) fn check_container_resource(
    names: &Names,
    amounts: &Field<'_>,
    resource: &str,
    causes: &mut Vec<Cause>,
) {
    check(amounts, resource, causes);
    let why = if !resource.contains('/') {
        let known = CONTAINER_RESOURCES.contains(&resource) || is_huge_pages(resource);
        (!known).then_some("must be a standard resource for containers")
    } else {
        let known = is_native(names, resource) || is_extended(names, resource);
        (!known).then_some("doesn't follow extended resource name standard")
    };
    causes.extend(why.map(|why| invalid(amounts, resource, why)));
}

fn invalid(amounts: &Field<'_>, resource: &str, why: &str) -> Cause {
    Cause::invalid(amounts.path().key(resource), resource, why)
}

fn is_standard(resource: &str) -> bool {
    let pages =
        is_huge_pages(resource) || resource.strip_prefix(REQUESTS).is_some_and(is_huge_pages);
    CONTAINER_RESOURCES.contains(&resource) || QUOTA_RESOURCES.contains(&resource) || pages
}

/// Whether the resource is a size of huge pages.
pub(super) fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with(HUGE_PAGES)
}

/// Bytes of one huge page, if the resource name has a valid size.
pub(super) fn page_size(resource: &str) -> Option<i64> {
    let size = resource.strip_prefix(HUGE_PAGES).and_then(Quantity::parse)?;
    Some(size.units()).filter(|bytes| *bytes > 0 && size.is_whole())
}

/// Whether the resource is native: its name has no domain or the domain of the project.
pub(super) fn is_native(names: &Names, resource: &str) -> bool {
    let of_domain = |(at, _)| resource[..at].ends_with(names.domain);
    !resource.contains('/') || resource.match_indices('/').any(of_domain)
}

/// Whether the name can be that of an extended resource, of which a quota counts the requests.
pub(super) fn is_extended(names: &Names, resource: &str) -> bool {
    !is_native(names, resource)
        && !resource.starts_with(REQUESTS)
        && name::qualified_name(&format!("{REQUESTS}{resource}")).is_empty()
}

/// Whether a request may be lower than the limit.
pub(super) fn may_overcommit(names: &Names, resource: &str) -> bool {
    is_native(names, resource) && !is_huge_pages(resource)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    #[test]
    fn names() {
        let check = |resource: &str, plain: usize, of_container: usize| {
            let object = Value::from(json!({resource: "1"}));
            let amounts = Field::root(&object);
            let (mut all, mut container) = (Vec::new(), Vec::new());
            check(&amounts, resource, &mut all);
            check_container_resource(Naming::Svc.names(), &amounts, resource, &mut container);
            assert_eq!((all.len(), container.len()), (plain, of_container), "{resource}");
        };
        for resource in ["cpu", "hugepages-2Mi", "example.com/gpu", "svc.io/foo"] {
            check(resource, 0, 0);
        }
        for resource in ["storage", "pods", "requests.hugepages-2Mi", "requests.example.com/gpu"] {
            check(resource, 0, 1);
        }
        check("foo", 1, 2);
        check("a b", 1, 2);
    }

    #[test]
    fn extensions() {
        let check = |resource: &str, expect: bool| {
            assert_eq!(is_extended(Naming::Svc.names(), resource), expect, "{resource}");
            assert_eq!(
                may_overcommit(Naming::Svc.names(), resource),
                !resource.contains('.'),
                "{resource}"
            );
        };
        check("cpu", false);
        check("example.com/gpu", true);
        check("requests.example.com/gpu", false);
    }
}
