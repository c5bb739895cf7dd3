//! What a Service gets: addresses out of the ServiceCIDRs, ports of nodes, and the versions of addresses that follow.
//!
//! Chosen ones come from the upper part of a range first: the lower part is left to those who name an address or a port
//! themselves. An address has an IPAddress as its shadow.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use quorate_meta::{Cause, Map, Names, Path, Value};

use crate::core::service::addresses::version;
use crate::core::service::fields as kind;
use crate::core::service::ranges::{OTHER_VERSION, Ranges, USUAL_VERSION};
use quorate_meta::net;
use quorate_registry::allocation::{Allocator, Allocation, Shadow, Unavailable, AllocationView};
use quorate_registry::keys::Key;

const ADDRESS: &str = "address";
const PORT: &str = "port";
/// Ports of nodes that services get.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// How many of them are left to those who name one.
const NAMED_NODE_PORTS: u128 = 86;

/// The allocations of services.
#[derive(Debug)]
pub(super) struct ServiceAllocator;

impl Allocator for ServiceAllocator {
    fn choose(&self, view: AllocationView<'_>, old: Option<&Value>, new: &mut Value) -> Result<(), Unavailable> {
        if kind::needs_address(new) {
            let ranges = Ranges::read(&view);
            settle_versions(&ranges, old, new)?;
            if kind::address(new) != kind::HEADLESS {
                choose_addresses(&view, &ranges, old, new)?;
            }
        }
        choose_node_ports(&view, old, new)
    }

    fn allocations(&self, names: &Names, object: &Value) -> Vec<Allocation> {
        let owner = owner(object);
        let addresses = strings(object, "clusterIPs");
        let addresses =
            addresses.into_iter().filter_map(net::address).map(|ip| address_allocation(names, &owner, &ip.to_string()));
        let ports = node_ports(object).into_iter().collect::<std::collections::BTreeSet<_>>();
        addresses.chain(ports.into_iter().map(|port| port_allocation(&owner, port))).collect()
    }

    fn allocation(&self, names: &Names, namespace: &str, name: &str, class: &str, which: &str) -> Option<Allocation> {
        let owner = Owner { namespace: namespace.to_owned(), name: name.to_owned() };
        match class {
            ADDRESS => Some(address_allocation(names, &owner, which)),
            PORT => which.parse().ok().map(|port| port_allocation(&owner, port)),
            _ => None,
        }
    }
}

/// Namespace and name of a service.
struct Owner {
    namespace: String,
    name: String,
}

fn owner(object: &Value) -> Owner {
    let text = |field| object.str_at(&["metadata", field]).unwrap_or_default().to_owned();
    Owner { namespace: text("namespace"), name: text("name") }
}

impl Owner {
    fn text(&self) -> String {
        format!("services/{}/{}", self.namespace, self.name)
    }
}

fn port_allocation(owner: &Owner, port: i64) -> Allocation {
    Allocation { class: PORT, name: port.to_string(), owner: owner.text(), shadow: None }
}

fn address_allocation(names: &Names, owner: &Owner, address: &str) -> Allocation {
    let label = |name: &str| format!("ipaddress.{}", names.domain_key(name));
    let mut labels = Map::new();
    labels.insert(label("ip-family"), version(!address.contains(':')));
    labels.insert(label("managed-by"), format!("ipallocator.{}", names.group_suffix));
    let parent =
        Map::from([("namespace", owner.namespace.as_str()), ("name", owner.name.as_str()), ("resource", "services")]);
    let mut object = Value::Map(Map::new());
    object.set_at(&["metadata", "name"], address);
    object.set_at(&["metadata", "labels"], labels);
    object.set_at(&["spec", "parentRef"], parent);
    let group = names.group("networking");
    let key = Key::Object { group: &group, resource: "ipaddresses", namespace: None, name: address }.encode();
    Allocation { class: ADDRESS, name: address.to_owned(), owner: owner.text(), shadow: Some(Shadow { key, object }) }
}

fn strings<'v>(object: &'v Value, field: &str) -> Vec<&'v str> {
    let list = object.at(&["spec", field]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}

/// Every port of nodes that the service has, that of health checks as well.
fn node_ports(object: &Value) -> Vec<i64> {
    let ports = object.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let health = object.at(&["spec", "healthCheckNodePort"]);
    let all = ports.iter().map(|port| port.get("nodePort")).chain([health]);
    all.filter_map(|port| port?.as_i64()).filter(|port| *port != 0).collect()
}

/// Whether the old service had addresses and the new one asks for the same, whatever has become of the ranges since.
fn keeps_addresses(old: &Value, new: &Value) -> bool {
    let same = |field: &str| {
        let had = old.at(&["spec", field]).filter(|value| !value.is_empty());
        had.is_some() && had == new.at(&["spec", field])
    };
    kind::is_bare(old) == kind::is_bare(new) && ["clusterIPs", "ipFamilies", "ipFamilyPolicy"].into_iter().all(same)
}

/// Says which versions of addresses the service has.
fn settle_versions(ranges: &Ranges, old: Option<&Value>, new: &mut Value) -> Result<(), Unavailable> {
    const POLICY: [&str; 2] = ["spec", "ipFamilyPolicy"];
    if old.is_some_and(|old| keeps_addresses(old, new)) {
        return Ok(());
    }
    let known = ranges.versions();
    let mut wanted: Vec<&'static str> =
        strings(new, "ipFamilies").into_iter().map(|text| version(text == "IPv4")).collect();
    for address in strings(new, "clusterIPs").into_iter().filter_map(net::address) {
        let own = version(address.is_ipv4());
        if !wanted.contains(&own) {
            wanted.push(own);
        }
    }
    let bare = kind::is_bare(new);
    let policy = match new.str_at(&POLICY) {
        Some(policy) => policy.to_owned(),
        None if bare => "RequireDualStack".to_owned(),
        None if wanted.len() > 1 => "RequireDualStack".to_owned(),
        None => "SingleStack".to_owned(),
    };
    if wanted.is_empty() {
        wanted.push(USUAL_VERSION);
    }
    let choice = if bare { vec![USUAL_VERSION, OTHER_VERSION] } else { known.clone() };
    if policy != "SingleStack" {
        let more: Vec<&str> = choice.iter().filter(|version| !wanted.contains(version)).copied().collect();
        wanted.extend(more);
    }
    if !bare {
        let refuse =
            |path: Path, value: Value, why: &str| Err(Unavailable::Refused(vec![Cause::invalid(path, value, why)]));
        if policy == "RequireDualStack" && known.len() < 2 {
            let why = "this cluster is not configured for dual-stack services";
            return refuse(Path::new("spec.ipFamilyPolicy"), policy.into(), why);
        }
        if let Some(index) = wanted.iter().position(|version| !known.contains(version)) {
            let path = Path::new("spec.ipFamilies").index(index);
            return refuse(path, wanted[index].into(), "not configured on this cluster");
        }
    }
    new.set_at(&POLICY, policy);
    new.set_at(&["spec", "ipFamilies"], Value::List(wanted.into_iter().map(Value::from).collect()));
    Ok(())
}

fn choose_addresses(
    view: &AllocationView<'_>,
    ranges: &Ranges,
    old: Option<&Value>,
    new: &mut Value,
) -> Result<(), Unavailable> {
    let owner = owner(new);
    let had: Vec<String> =
        old.map_or_else(Vec::new, |old| strings(old, "clusterIPs").into_iter().map(str::to_owned).collect());
    let asked: Vec<String> = strings(new, "clusterIPs").into_iter().map(str::to_owned).collect();
    let versions: Vec<String> = strings(new, "ipFamilies").into_iter().map(str::to_owned).collect();
    let mut chosen = Vec::new();
    for (index, wanted) in versions.iter().enumerate() {
        let address = match asked.get(index) {
            Some(address) if had.contains(address) => address.clone(),
            Some(address) => named_address(view, ranges, &owner, address, &asked)?,
            None => free_address(view, ranges, &owner, wanted)?,
        };
        chosen.push(Value::from(address));
    }
    if let Some(first) = chosen.first().cloned() {
        new.set_at(&["spec", "clusterIP"], first);
        new.set_at(&["spec", "clusterIPs"], Value::List(chosen));
    }
    Ok(())
}

fn named_address(
    view: &AllocationView<'_>,
    ranges: &Ranges,
    owner: &Owner,
    address: &str,
    asked: &[String],
) -> Result<String, Unavailable> {
    let refuse = |why: &str| {
        let value = Value::List(asked.iter().map(|text| Value::from(text.as_str())).collect());
        let cause = Cause::invalid("spec.clusterIPs", value, &format!("failed to allocate IP {address}: {why}"));
        Err(Unavailable::Refused(vec![cause]))
    };
    let Some(parsed) = net::address(address) else { return refuse("it is no address") };
    if ranges.0.is_empty() {
        return refuse("no ServiceCIDR is ready");
    }
    if !ranges.0.iter().any(|range| range.contains(parsed)) {
        let shown: Vec<String> = ranges.0.iter().map(ToString::to_string).collect();
        return refuse(&format!(
            "the provided IP is not in the valid range. The range of valid IPs is {}",
            shown.join(",")
        ));
    }
    let allocation = address_allocation(view.names, owner, &parsed.to_string());
    if view.is_taken(&allocation) { refuse("provided IP is already allocated") } else { Ok(address.to_owned()) }
}

fn free_address(view: &AllocationView<'_>, ranges: &Ranges, owner: &Owner, wanted: &str) -> Result<String, Unavailable> {
    let mut why = format!("no ServiceCIDR with {wanted} addresses is ready");
    for range in ranges.of(wanted) {
        let size = range.usable();
        let named = if size < 32 { 0 } else { (size / 16).clamp(16, 256) };
        let free = search(view, size, named, |index| {
            let address = range.usable_at(index)?.to_string();
            (!view.is_taken(&address_allocation(view.names, owner, &address))).then_some(address)
        });
        if let Some(address) = free {
            return Ok(address);
        }
        "range is full".clone_into(&mut why);
    }
    Err(Unavailable::Exhausted(format!("failed to allocate a serviceIP: {why}")))
}

/// The first of `size` places, from a random one on, that gives something; the first `named` of them come last.
fn search<T>(view: &AllocationView<'_>, size: u128, named: u128, look: impl Fn(u128) -> Option<T>) -> Option<T> {
    let upper = size - named;
    let start = named + view.below(upper);
    let places = (start..size).chain(named..start).chain(0..named);
    places.into_iter().find_map(look)
}

fn choose_node_ports(view: &AllocationView<'_>, old: Option<&Value>, new: &mut Value) -> Result<(), Unavailable> {
    let owner = owner(new);
    let had: HashSet<i64> = old.map_or_else(Vec::new, node_ports).into_iter().collect();
    let mut used: HashSet<i64> = node_ports(new).into_iter().collect();
    let free = |port: i64| had.contains(&port) || !view.is_taken(&port_allocation(&owner, port));
    for (path, port) in named_ports(new) {
        let why = if !NODE_PORTS.contains(&port) && !had.contains(&port) {
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        } else if free(port) {
            continue;
        } else {
            "provided port is already allocated"
        };
        return Err(Unavailable::Refused(vec![Cause::invalid(path, port, why)]));
    }
    let mut pick = || {
        let size = u128::try_from(NODE_PORTS.end() - NODE_PORTS.start() + 1).unwrap_or_default();
        let port = search(view, size, NAMED_NODE_PORTS, |index| {
            let port = NODE_PORTS.start() + i64::try_from(index).ok()?;
            (!used.contains(&port) && !view.is_taken(&port_allocation(&owner, port))).then_some(port)
        });
        used.extend(port);
        port.ok_or_else(|| Unavailable::Exhausted("failed to allocate a nodePort: range is full".to_owned()))
    };
    if kind::needs_node_ports(new) {
        fill_node_ports(new, &mut pick)?;
    }
    if kind::needs_health_port(new)
        && new.at(&["spec", "healthCheckNodePort"]).and_then(Value::as_i64).unwrap_or_default() == 0
    {
        let port = pick()?;
        new.set_at(&["spec", "healthCheckNodePort"], port);
    }
    Ok(())
}

/// Ports of nodes that the writer names, with their paths.
fn named_ports(object: &Value) -> Vec<(Path, i64)> {
    let ports = object.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let path = |index| Path::new("spec.ports").index(index).child("nodePort");
    let named = ports.iter().enumerate().map(|(index, port)| (path(index), port.get("nodePort")));
    let health = (Path::new("spec.healthCheckNodePort"), object.at(&["spec", "healthCheckNodePort"]));
    let all = named.chain([health]).filter_map(|(path, port)| Some((path, port?.as_i64()?)));
    all.filter(|(_, port)| *port != 0).collect()
}

/// Gives every port one of nodes; the same port under another protocol gets the same one.
fn fill_node_ports(new: &mut Value, pick: &mut impl FnMut() -> Result<i64, Unavailable>) -> Result<(), Unavailable> {
    let number = |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let Some(ports) = new.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut) else { return Ok(()) };
    let mut chosen: HashMap<i64, i64> = HashMap::new();
    for port in ports.iter().filter(|port| number(port, "nodePort") != 0) {
        chosen.entry(number(port, "port")).or_insert(number(port, "nodePort"));
    }
    for port in ports.iter_mut().filter(|port| number(port, "nodePort") == 0) {
        let node_port = match chosen.entry(number(port, "port")) {
            Entry::Occupied(twin) => *twin.get(),
            Entry::Vacant(own) => *own.insert(pick()?),
        };
        port.set_at(&["nodePort"], node_port);
    }
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
        let settled = match settle_versions(&ranges, old.as_ref(), &mut new) {
            Ok(()) => Ok((new.str_at(&["spec", "ipFamilyPolicy"]).unwrap_or_default(), strings(&new, "ipFamilies"))),
            Err(Unavailable::Refused(causes)) => Err(causes[0].field.clone()),
            Err(Unavailable::Exhausted(why)) => Err(why),
        };
        assert_eq!(settled, expect.map(|(policy, versions)| (policy, versions.to_vec())).map_err(str::to_owned));
    }

    const FOUR: &str = "10.0.0.0/24";
    const SIX: &str = "fd00::/112";

    #[test]
    fn the_usual_version_does_not_depend_on_ranges() {
        for cidrs in [&[][..], &[FOUR], &[SIX], &[SIX, FOUR]] {
            check(cidrs, None, json!({"type": "ClusterIP"}), Ok(("SingleStack", &["IPv4"])));
            let selects =
                json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"}});
            check(cidrs, None, selects, Ok(("SingleStack", &["IPv4"])));
            let bare = json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]});
            check(cidrs, None, bare, Ok(("RequireDualStack", &["IPv4", "IPv6"])));
        }
    }

    #[test]
    fn the_other_version_needs_a_range() {
        let of = |versions: &[&str], policy: &str| json!({"type": "ClusterIP", "ipFamilies": versions, "ipFamilyPolicy": policy});
        for cidrs in [&[][..], &[FOUR]] {
            check(cidrs, None, of(&["IPv6"], "SingleStack"), Err("spec.ipFamilies[0]"));
            check(cidrs, None, of(&[], "PreferDualStack"), Ok(("PreferDualStack", &["IPv4"])));
            check(cidrs, None, of(&[], "RequireDualStack"), Err("spec.ipFamilyPolicy"));
        }
        for cidrs in [&[SIX][..], &[FOUR, SIX]] {
            check(cidrs, None, of(&["IPv6"], "SingleStack"), Ok(("SingleStack", &["IPv6"])));
            check(cidrs, None, of(&["IPv6"], "PreferDualStack"), Ok(("PreferDualStack", &["IPv6", "IPv4"])));
            check(cidrs, None, of(&[], "RequireDualStack"), Ok(("RequireDualStack", &["IPv4", "IPv6"])));
        }
    }

    #[test]
    fn what_was_settled_stays() {
        let old = |policy: &str| json!({"type": "ClusterIP", "clusterIPs": ["fd00::1"], "ipFamilies": ["IPv6"], "ipFamilyPolicy": policy});
        check(&[], Some(old("SingleStack")), old("SingleStack"), Ok(("SingleStack", &["IPv6"])));
        check(&[FOUR, SIX], Some(old("PreferDualStack")), old("PreferDualStack"), Ok(("PreferDualStack", &["IPv6"])));
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
