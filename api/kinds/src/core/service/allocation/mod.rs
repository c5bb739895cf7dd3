//! Allocation for Services: cluster IPs out of the ServiceCIDRs, node ports, and the IP families
//! that follow.
//!
//! A dynamic allocation takes the upper part of a range first, which leaves the lower part to
//! clients that name an address or a port (KEP-3070 and KEP-3668). Every cluster IP has an
//! IPAddress object, written in the same transaction.

mod cluster_ips;
mod ip_families;
mod node_ports;

use std::collections::BTreeSet;

use quorate_meta::{Map, Names, Value};

use crate::core::service::addresses::ip_family;
use crate::core::service::fields as kind;
use crate::core::service::ranges::Ranges;
use quorate_meta::net;
use quorate_registry::allocation::{Allocation, AllocationView, Allocator, Shadow, Unavailable};
use quorate_registry::keys::Key;

const ADDRESS: &str = "address";
const PORT: &str = "port";

/// The allocation of a Service.
#[derive(Debug)]
pub(super) struct ServiceAllocator;

impl Allocator for ServiceAllocator {
    fn choose(
        &self,
        view: AllocationView<'_>,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<(), Unavailable> {
        if kind::needs_address(new) {
            let ranges = Ranges::read(&view);
            ip_families::set(&ranges, old, new)?;
            if kind::address(new) != kind::HEADLESS {
                cluster_ips::allocate(&view, &ranges, old, new)?;
            }
        }
        node_ports::allocate(&view, old, new)
    }

    fn allocations(&self, names: &Names, object: &Value) -> Vec<Allocation> {
        let owner = owner(object);
        let addresses = strings(object, "clusterIPs");
        let addresses = addresses
            .into_iter()
            .filter_map(net::address)
            .map(|ip| address_allocation(names, &owner, &ip.to_string()));
        let ports = node_ports::of(object).into_iter().collect::<BTreeSet<_>>();
        addresses.chain(ports.into_iter().map(|port| port_allocation(&owner, port))).collect()
    }

    fn allocation(
        &self,
        names: &Names,
        namespace: &str,
        name: &str,
        class: &str,
        which: &str,
    ) -> Option<Allocation> {
        let owner = Owner { namespace: namespace.to_owned(), name: name.to_owned() };
        match class {
            ADDRESS => Some(address_allocation(names, &owner, which)),
            PORT => which.parse().ok().map(|port| port_allocation(&owner, port)),
            _ => None,
        }
    }
}

/// Namespace and name of a Service.
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
    labels.insert(label("ip-family"), ip_family(!address.contains(':')));
    labels.insert(label("managed-by"), format!("ipallocator.{}", names.group_suffix));
    let parent = Map::from([
        ("namespace", owner.namespace.as_str()),
        ("name", owner.name.as_str()),
        ("resource", "services"),
    ]);
    let mut object = Value::Map(Map::new());
    object.set_at(&["metadata", "name"], address);
    object.set_at(&["metadata", "labels"], labels);
    object.set_at(&["spec", "parentRef"], parent);
    let group = names.group("networking");
    let key =
        Key::Object { group: &group, resource: "ipaddresses", namespace: None, name: address }
            .encode();
    Allocation {
        class: ADDRESS,
        name: address.to_owned(),
        owner: owner.text(),
        shadow: Some(Shadow { key, object }),
    }
}

fn strings<'v>(object: &'v Value, field: &str) -> Vec<&'v str> {
    let list = object.at(&["spec", field]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}

/// The first result of `look` over `size` indexes, from a random one on; the first `named` indexes
/// come last.
fn search<T>(
    view: &AllocationView<'_>,
    size: u128,
    named: u128,
    look: impl Fn(u128) -> Option<T>,
) -> Option<T> {
    let upper = size - named;
    let start = named + view.below(upper);
    let places = (start..size).chain(named..start).chain(0..named);
    places.into_iter().find_map(look)
}
