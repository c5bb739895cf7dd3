//! What is counted of cluster IPs and node ports, and how many of them are left.
//!
//! How many there are is read off the store when metrics are read; a range is that of a ServiceCIDR.

use std::sync::Arc;

use quorate_meta::net::Range;
use quorate_meta::{Names, Value, net};
use quorate_metrics::{Counter, Histogram, Observations, Registry};
use quorate_registry::allocation::{AllocationAttempt, AllocationMetrics};
use quorate_registry::keys::{self, Key, resource_prefix};
use quorate_store::{Snapshot, Store};
use quorate_wire::stored::StoredRef;

const ADDRESS: &str = "address";
const PORT: &str = "port";
/// Node ports that there are.
const NODE_PORTS: u64 = 2_768;

/// The metrics of the allocators.
#[derive(Debug)]
pub(crate) struct AllocatorMetrics {
    addresses: Counter<2>,
    address_errors: Counter<2>,
    address_duration: Histogram<1>,
    ports: Counter<1>,
    port_errors: Counter<1>,
}

impl AllocatorMetrics {
    /// Nothing counted yet.
    pub(crate) fn new(registry: &Registry) -> Arc<Self> {
        let address = |what: &str| format!("kube_apiserver_clusterip_allocator_{what}");
        let port = |what: &str| format!("kube_apiserver_nodeport_allocator_{what}");
        Arc::new(Self {
            addresses: registry.counter(&address("allocation_total")),
            address_errors: registry.counter(&address("allocation_errors_total")),
            address_duration: registry.histogram(&address("allocation_duration_seconds")),
            ports: registry.counter(&port("allocation_total")),
            port_errors: registry.counter(&port("allocation_errors_total")),
        })
    }
}

impl AllocationMetrics for AllocatorMetrics {
    fn attempted(&self, attempt: &AllocationAttempt<'_>) {
        let AllocationAttempt { class, range, is_requested, succeeds, took } = *attempt;
        let scope = if is_requested { "static" } else { "dynamic" };
        match (class, succeeds) {
            (ADDRESS, true) => {
                self.addresses.inc([range, scope]);
                self.address_duration.observe_duration([range], took);
            }
            (ADDRESS, false) => self.address_errors.inc([range, scope]),
            (PORT, true) => self.ports.inc([scope]),
            (PORT, false) => self.port_errors.inc([scope]),
            _ => {}
        }
    }
}

/// Tells how many addresses and ports are in use, and how many are left.
pub(super) fn observe(registry: &Registry, names: &'static Names, store: &Arc<dyn Store>) {
    let addresses = |name: &str, of: fn(&RangeUse) -> u128| {
        let store = store.clone();
        registry.observe(&format!("kube_apiserver_clusterip_allocator_{name}"), move |to| {
            for used in ranges_in_use(names, &store.snapshot()) {
                add(to, &[&used.range.to_string()], of(&used));
            }
        });
    };
    addresses("allocated_ips", |used| used.taken);
    addresses("available_ips", |used| used.range.usable().saturating_sub(used.taken));
    let ports = |name: &str, of: fn(u64) -> u64| {
        let store = store.clone();
        registry.observe(&format!("kube_apiserver_nodeport_allocator_{name}"), move |to| {
            let taken = values(&store.snapshot(), PORT).count();
            to.add_count(&[], of(taken as u64));
        });
    };
    ports("allocated_ports", |taken| taken);
    ports("available_ports", |taken| NODE_PORTS.saturating_sub(taken));
}

/// A range of cluster IPs.
struct RangeUse {
    range: Range,
    taken: u128,
}

fn ranges_in_use(names: &Names, snapshot: &Snapshot) -> Vec<RangeUse> {
    let prefix = resource_prefix(&names.group("networking"), "servicecidrs");
    let mut ranges = Vec::new();
    for (_, entry) in snapshot.range(&prefix, None) {
        let stored = StoredRef::parse(&entry.value).and_then(|stored| stored.to_value("", "", 0));
        let Ok(object) = stored else { continue };
        let cidrs = object.at(&["spec", "cidrs"]).and_then(Value::as_list).unwrap_or_default();
        let parsed = cidrs.iter().filter_map(|cidr| Range::parse(cidr.as_str()?));
        ranges.extend(parsed.map(|range| RangeUse { range, taken: 0 }));
    }
    for address in values(snapshot, ADDRESS).filter_map(net::address) {
        if let Some(used) = ranges.iter_mut().find(|used| used.range.contains(address)) {
            used.taken += 1;
        }
    }
    ranges
}

/// The values of a class that are allocated.
fn values<'s>(snapshot: &'s Snapshot, of: &'static str) -> impl Iterator<Item = &'s str> {
    snapshot.range(&keys::allocations(), None).filter_map(move |(key, _)| match Key::parse(key) {
        Some(Key::Allocation { class, name }) if class == of => Some(name),
        _ => None,
    })
}

fn add(to: &mut Observations<'_>, labels: &[&str], count: u128) {
    // What is larger than any cluster is told as that.
    to.add_count(labels, u64::try_from(count).unwrap_or(u64::MAX));
}
