//! Cluster IPs and IP families of a Service, as the client sets them.
//!
//! Which families the cluster has is checked in `allocation`.

use std::collections::HashSet;

use quorate_meta::{Cause, Value};

use crate::core::service::fields as kind;
use crate::field::Field;
use crate::rules;
use quorate_meta::net;

/// Cluster IPs of a Service, at most: one of each IP family.
const MAX_ADDRESSES: usize = 2;
const FIXED: &str = "may not change once set";

/// Checks cluster IPs and IP families.
pub(super) fn check(service: &Value, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (own, all) = (spec.get("clusterIP"), spec.get("clusterIPs"));
    let (families, policy) = (spec.get("ipFamilies"), spec.get("ipFamilyPolicy"));
    if kind::kind(service) == "ExternalName" {
        let why = "may not be set for ExternalName services";
        causes.extend(
            [&all, &families, &policy]
                .iter()
                .filter(|field| !field.is_empty())
                .map(|field| field.forbidden(why)),
        );
        return;
    }
    rules::optional_one_of(
        &policy,
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
        causes,
    );
    match (own.is_empty(), all.is_empty()) {
        (true, false) => {
            causes.push(all.invalid("must be empty when `clusterIP` is not specified"))
        }
        (false, true) => causes.push(all.required("")),
        (false, false) if all.items().next().is_some_and(|first| first.text() != own.text()) => {
            causes.push(all.invalid("first value must match `clusterIP`"));
        }
        _ => check_all(&all, causes),
    }
    let mut seen = HashSet::new();
    for ip_family in families.items() {
        rules::one_of(&ip_family, &["IPv4", "IPv6"], causes);
        if !seen.insert(ip_family.text()) {
            causes.push(ip_family.duplicate());
        }
    }
    for (index, (address, ip_family)) in all.items().zip(families.items()).enumerate() {
        if net::address(address.text())
            .is_some_and(|parsed| self::ip_family(parsed.is_ipv4()) != ip_family.text())
        {
            let why = format!(
                "expected an {} value as indicated by `ipFamilies[{index}]`",
                ip_family.text()
            );
            causes.push(address.invalid(&why));
        }
    }
    if policy.text() == "SingleStack" && (all.items().len() > 1 || families.items().len() > 1) {
        let why = "may only hold up to 1 value when `ipFamilyPolicy` is 'SingleStack'";
        let many = [&all, &families].into_iter().filter(|field| field.items().len() > 1);
        causes.extend(many.map(|field| field.invalid(why)));
    }
}

/// The name of an IP family.
pub(super) fn ip_family(v4: bool) -> &'static str {
    if v4 { "IPv4" } else { "IPv6" }
}

fn check_all(all: &Field<'_>, causes: &mut Vec<Cause>) {
    if all.items().len() > MAX_ADDRESSES {
        causes.push(all.invalid("may only hold up to 2 values"));
        return;
    }
    let headless = all.items().any(|address| address.text() == kind::HEADLESS);
    if headless {
        if all.items().len() > 1 {
            causes.push(all.invalid("'None' must be the first and only value"));
        }
        return;
    }
    all.items().for_each(|address| rules::address(&address, causes));
    let mut families: Vec<bool> =
        all.items().filter_map(|item| Some(net::address(item.text())?.is_ipv4())).collect();
    families.dedup();
    if all.items().len() == MAX_ADDRESSES && families.len() == 1 {
        causes.push(all.invalid("may specify no more than one IP for each IP family"));
    }
}

/// Checks that cluster IPs do not change: the primary never, the secondary while it is needed.
pub(super) fn check_change(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if !kind::needs_address(old) || !kind::needs_address(new) {
        return causes;
    }
    let field = |object, name| Field::root(object).get("spec").get(name);
    let (before, after) = (field(old, "clusterIPs"), field(new, "clusterIPs"));
    let at = |field: &Field<'_>, index: usize| {
        field.items().nth(index).map_or_else(String::new, |item| item.text().to_owned())
    };
    for index in 0..MAX_ADDRESSES {
        let (was, is) = (at(&before, index), at(&after, index));
        let path = after.path().index(index);
        match (index, is.is_empty()) {
            _ if was.is_empty() || was == is => {}
            (0, true) => causes.push(Cause::invalid(
                path,
                after.value().clone(),
                "primary clusterIP can not be unset",
            )),
            (_, false) => causes.push(Cause::invalid(path, after.value().clone(), FIXED)),
            (_, true) if field(new, "ipFamilyPolicy").text() != "SingleStack" => {
                let why = "must be set to 'SingleStack' when releasing the secondary clusterIP";
                causes.push(Cause::invalid(
                    field(new, "ipFamilyPolicy").path(),
                    field(new, "ipFamilyPolicy").text(),
                    why,
                ));
            }
            _ => {}
        }
    }
    check_families(old, new, &mut causes);
    causes
}

/// Checks that the first IP family stays, and the second one while it is needed.
fn check_families(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let field = |object, name| Field::root(object).get("spec").get(name);
    let (before, after) = (field(old, "ipFamilies"), field(new, "ipFamilies"));
    let first = |field: &Field<'_>| field.items().next().map(|item| item.text().to_owned());
    let (was, is) = (first(&before), first(&after));
    // For a Service with as many cluster IPs as before, the field error of the address is enough.
    let headless = kind::address(new) == kind::HEADLESS;
    let counted = before.items().len() != after.items().len();
    if (headless || counted) && was.is_some() && is.is_some() && was != is {
        causes.push(Cause::invalid(after.path().index(0), after.value().clone(), FIXED));
    }
    let policy = field(new, "ipFamilyPolicy");
    let released = before.items().len() > after.items().len() && after.items().len() == 1;
    if released && policy.text() != "SingleStack" {
        let why = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        causes.push(Cause::invalid(policy.path(), policy.text(), why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::{Value as Json, json};

    #[test]
    fn addresses_and_families_agree() {
        let refused = |spec: Json, expect: &[&str]| {
            let service = json!({"spec": spec}).into();
            let mut causes = Vec::new();
            check(&service, &Field::root(&service).get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect, "{service:?}");
        };
        let addresses = |all: &[&str], families: &[&str]| json!({"type": "ClusterIP", "clusterIP": all.first(), "clusterIPs": all, "ipFamilies": families});
        refused(addresses(&["10.0.0.5"], &["IPv4"]), &[]);
        refused(addresses(&["10.0.0.5", "fd00::5"], &["IPv4", "IPv6"]), &[]);
        refused(addresses(&["None"], &["IPv4", "IPv6"]), &[]);
        refused(addresses(&["x"], &[]), &["Invalid spec.clusterIPs[0]"]);
        refused(addresses(&["10.0.0.5"], &["IPv6"]), &["Invalid spec.clusterIPs[0]"]);
        refused(addresses(&["10.0.0.5", "10.0.0.6"], &[]), &["Invalid spec.clusterIPs"]);
        refused(addresses(&["10.0.0.5", "None"], &[]), &["Invalid spec.clusterIPs"]);
        refused(addresses(&["a", "b", "c"], &[]), &["Invalid spec.clusterIPs"]);
        refused(addresses(&[], &["IPv5"]), &["NotSupported spec.ipFamilies[0]"]);
        refused(addresses(&[], &["IPv4", "IPv4"]), &["Duplicate spec.ipFamilies[1]"]);
        refused(json!({"type": "ClusterIP", "clusterIPs": ["None"]}), &["Invalid spec.clusterIPs"]);
        refused(json!({"type": "ClusterIP", "clusterIP": "None"}), &["Required spec.clusterIPs"]);
        refused(
            json!({"type": "ClusterIP", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.6"]}),
            &["Invalid spec.clusterIPs"],
        );
        let single = json!({"type": "ClusterIP", "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]});
        refused(single, &["Invalid spec.ipFamilies"]);
        refused(
            json!({"type": "ExternalName", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"]}),
            &["Forbidden spec.clusterIPs"],
        );
        refused(
            json!({"type": "ExternalName", "ipFamilies": ["IPv4"]}),
            &["Forbidden spec.ipFamilies"],
        );
    }

    #[test]
    fn addresses_stay() {
        let refused = |old: &[&str], new: &[&str], policy: &str, expect: &[&str]| {
            let service = |all: &[&str]| {
                json!({"spec": {"type": "ClusterIP", "clusterIP": all.first(), "clusterIPs": all, "ipFamilyPolicy": policy}}).into()
            };
            assert_eq!(shown(&check_change(&service(old), &service(new))), expect);
        };
        refused(&["10.0.0.5"], &["10.0.0.5", "fd00::5"], "PreferDualStack", &[]);
        refused(&["10.0.0.5"], &["None"], "", &["Invalid spec.clusterIPs[0]"]);
        refused(&["10.0.0.5"], &[], "", &["Invalid spec.clusterIPs[0]"]);
        refused(&["10.0.0.5", "fd00::5"], &["10.0.0.5"], "SingleStack", &[]);
        refused(
            &["10.0.0.5", "fd00::5"],
            &["10.0.0.5"],
            "PreferDualStack",
            &["Invalid spec.ipFamilyPolicy"],
        );
        refused(
            &["10.0.0.5", "fd00::5"],
            &["10.0.0.5", "fd00::6"],
            "",
            &["Invalid spec.clusterIPs[1]"],
        );
        let families = |policy: &str, all: &[&str]| {
            json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"],
                "ipFamilies": all, "ipFamilyPolicy": policy}})
            .into()
        };
        let released = |policy: &str, all: &[&str], expect: &[&str]| {
            let old = families("PreferDualStack", &["IPv4", "IPv6"]);
            assert_eq!(
                shown(&check_change(&old, &families(policy, all))),
                expect,
                "{policy} {all:?}"
            );
        };
        released("SingleStack", &["IPv4"], &[]);
        released("PreferDualStack", &["IPv4"], &["Invalid spec.ipFamilyPolicy"]);
        released("SingleStack", &["IPv6"], &["Invalid spec.ipFamilies[0]"]);
        let headless = |ip_family: &str| {
            json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": [ip_family]}})
                .into()
        };
        assert_eq!(
            shown(&check_change(&headless("IPv4"), &headless("IPv6"))),
            ["Invalid spec.ipFamilies[0]"]
        );
    }
}
