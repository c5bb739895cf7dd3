//! The IP families and the IP family policy of a Service, from its fields and the ranges of the
//! cluster (KEP-563, dual-stack).

use quorate_meta::{Cause, Path, Value, net};

use super::strings;
use crate::core::service::addresses::ip_family;
use crate::core::service::fields as kind;
use crate::core::service::ranges::{DEFAULT_FAMILY, Ranges, SECOND_FAMILY};
use quorate_registry::allocation::Unavailable;

/// Whether the old Service had cluster IPs and the new one asks for the same, whatever ServiceCIDRs
/// there are now.
fn keeps_addresses(old: &Value, new: &Value) -> bool {
    let same = |field: &str| {
        let had = old.at(&["spec", field]).filter(|value| !value.is_empty());
        had.is_some() && had == new.at(&["spec", field])
    };
    kind::is_headless_without_selector(old) == kind::is_headless_without_selector(new)
        && ["clusterIPs", "ipFamilies", "ipFamilyPolicy"].into_iter().all(same)
}

/// Sets the IP families and the IP family policy.
pub(super) fn set(
    ranges: &Ranges,
    old: Option<&Value>,
    new: &mut Value,
) -> Result<(), Unavailable> {
    const POLICY: [&str; 2] = ["spec", "ipFamilyPolicy"];
    if old.is_some_and(|old| keeps_addresses(old, new)) {
        return Ok(());
    }
    let known = ranges.families();
    let mut wanted: Vec<&'static str> =
        strings(new, "ipFamilies").into_iter().map(|text| ip_family(text == "IPv4")).collect();
    for address in strings(new, "clusterIPs").into_iter().filter_map(net::address) {
        let own = ip_family(address.is_ipv4());
        if !wanted.contains(&own) {
            wanted.push(own);
        }
    }
    let headless_without_selector = kind::is_headless_without_selector(new);
    let policy = match new.str_at(&POLICY) {
        Some(policy) => policy.to_owned(),
        None if headless_without_selector => "RequireDualStack".to_owned(),
        None if wanted.len() > 1 => "RequireDualStack".to_owned(),
        None => "SingleStack".to_owned(),
    };
    if wanted.is_empty() {
        wanted.push(DEFAULT_FAMILY);
    }
    let choice =
        if headless_without_selector { vec![DEFAULT_FAMILY, SECOND_FAMILY] } else { known.clone() };
    if policy != "SingleStack" {
        let more: Vec<&str> =
            choice.iter().filter(|ip_family| !wanted.contains(ip_family)).copied().collect();
        wanted.extend(more);
    }
    if !headless_without_selector {
        let refuse = |path: Path, value: Value, why: &str| {
            Err(Unavailable::Refused(vec![Cause::invalid(path, value, why)]))
        };
        if policy == "RequireDualStack" && known.len() < 2 {
            let why = "this cluster is not configured for dual-stack services";
            return refuse(Path::new("spec.ipFamilyPolicy"), policy.into(), why);
        }
        if let Some(index) = wanted.iter().position(|ip_family| !known.contains(ip_family)) {
            let path = Path::new("spec.ipFamilies").index(index);
            return refuse(path, wanted[index].into(), "not configured on this cluster");
        }
    }
    new.set_at(&POLICY, policy);
    new.set_at(&["spec", "ipFamilies"], Value::List(wanted.into_iter().map(Value::from).collect()));
    Ok(())
}
#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::net::Range;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(cidrs: &[&str], old: Option<Json>, new: Json, expect: Result<(&str, &[&str]), &str>) {
        let ranges = Ranges(cidrs.iter().map(|cidr| Range::parse(cidr).unwrap()).collect());
        let old = old.map(|spec| Value::from(json!({ "spec": spec })));
        let mut new = Value::from(json!({ "spec": new }));
        let result = match set(&ranges, old.as_ref(), &mut new) {
            Ok(()) => Ok((
                new.str_at(&["spec", "ipFamilyPolicy"]).unwrap_or_default(),
                strings(&new, "ipFamilies"),
            )),
            Err(Unavailable::Refused(causes)) => Err(causes[0].field.clone()),
            Err(Unavailable::Exhausted(why)) => Err(why),
        };
        assert_eq!(
            result,
            expect.map(|(policy, families)| (policy, families.to_vec())).map_err(str::to_owned)
        );
    }

    const FOUR: &str = "10.0.0.0/24";
    const SIX: &str = "fd00::/112";

    #[test]
    fn the_default_family_does_not_depend_on_ranges() {
        for cidrs in [&[][..], &[FOUR], &[SIX], &[SIX, FOUR]] {
            check(cidrs, None, json!({"type": "ClusterIP"}), Ok(("SingleStack", &["IPv4"])));
            let selects = json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"}});
            check(cidrs, None, selects, Ok(("SingleStack", &["IPv4"])));
            let headless_without_selector =
                json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]});
            check(
                cidrs,
                None,
                headless_without_selector,
                Ok(("RequireDualStack", &["IPv4", "IPv6"])),
            );
        }
    }

    #[test]
    fn the_second_family_needs_a_range() {
        let of = |families: &[&str], policy: &str| json!({"type": "ClusterIP", "ipFamilies": families, "ipFamilyPolicy": policy});
        for cidrs in [&[][..], &[FOUR]] {
            check(cidrs, None, of(&["IPv6"], "SingleStack"), Err("spec.ipFamilies[0]"));
            check(cidrs, None, of(&[], "PreferDualStack"), Ok(("PreferDualStack", &["IPv4"])));
            check(cidrs, None, of(&[], "RequireDualStack"), Err("spec.ipFamilyPolicy"));
        }
        for cidrs in [&[SIX][..], &[FOUR, SIX]] {
            check(cidrs, None, of(&["IPv6"], "SingleStack"), Ok(("SingleStack", &["IPv6"])));
            check(
                cidrs,
                None,
                of(&["IPv6"], "PreferDualStack"),
                Ok(("PreferDualStack", &["IPv6", "IPv4"])),
            );
            check(
                cidrs,
                None,
                of(&[], "RequireDualStack"),
                Ok(("RequireDualStack", &["IPv4", "IPv6"])),
            );
        }
    }

    #[test]
    fn ip_families_are_stable() {
        let old = |policy: &str| json!({"type": "ClusterIP", "clusterIPs": ["fd00::1"], "ipFamilies": ["IPv6"], "ipFamilyPolicy": policy});
        check(&[], Some(old("SingleStack")), old("SingleStack"), Ok(("SingleStack", &["IPv6"])));
        check(
            &[FOUR, SIX],
            Some(old("PreferDualStack")),
            old("PreferDualStack"),
            Ok(("PreferDualStack", &["IPv6"])),
        );
        check(
            &[FOUR, SIX],
            Some(old("SingleStack")),
            old("PreferDualStack"),
            Ok(("PreferDualStack", &["IPv6", "IPv4"])),
        );
        check(&[], Some(old("SingleStack")), old("RequireDualStack"), Err("spec.ipFamilyPolicy"));
        let alias = json!({"type": "ExternalName"});
        check(&[], Some(alias), json!({"type": "ClusterIP"}), Ok(("SingleStack", &["IPv4"])));
    }
}
