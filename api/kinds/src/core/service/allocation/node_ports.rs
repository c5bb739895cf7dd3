//! Node ports of a Service: those that the client requests, and dynamic ones out of the range.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use quorate_meta::{Cause, Path, Value};

use super::{PORT, owner, port_allocation, search};
use crate::core::service::fields as kind;
use quorate_registry::allocation::{AllocationView, Unavailable};

/// The node port range.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// Node ports at the beginning of the range that dynamic allocation takes last.
const STATIC_NODE_PORTS: u128 = 86;

/// All node ports of a Service, including that of health checks.
pub(super) fn of(object: &Value) -> Vec<i64> {
    let ports = object.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let health = object.at(&["spec", "healthCheckNodePort"]);
    let all = ports.iter().map(|port| port.get("nodePort")).chain([health]);
    all.filter_map(|port| port?.as_i64()).filter(|port| *port != 0).collect()
}
/// Checks the node ports that the client requests, and allocates the missing ones.
pub(super) fn allocate(
    view: &AllocationView<'_>,
    old: Option<&Value>,
    new: &mut Value,
) -> Result<(), Unavailable> {
    let owner = owner(new);
    let had: HashSet<i64> = old.map_or_else(Vec::new, of).into_iter().collect();
    let mut used: HashSet<i64> = of(new).into_iter().collect();
    let free = |port: i64| had.contains(&port) || !view.is_taken(&port_allocation(&owner, port));
    for (path, port) in requested(new) {
        let why = if !NODE_PORTS.contains(&port) && !had.contains(&port) {
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        } else if free(port) {
            if !had.contains(&port) {
                view.attempted(PORT, "", true, true);
            }
            continue;
        } else {
            "provided port is already allocated"
        };
        view.attempted(PORT, "", true, false);
        return Err(Unavailable::Refused(vec![Cause::invalid(path, port, why)]));
    }
    let mut pick = || {
        let size = u128::try_from(NODE_PORTS.end() - NODE_PORTS.start() + 1).unwrap_or_default();
        let port = search(view, size, STATIC_NODE_PORTS, |index| {
            let port = NODE_PORTS.start() + i64::try_from(index).ok()?;
            (!used.contains(&port) && !view.is_taken(&port_allocation(&owner, port)))
                .then_some(port)
        });
        used.extend(port);
        view.attempted(PORT, "", false, port.is_some());
        port.ok_or_else(|| {
            Unavailable::Exhausted("failed to allocate a nodePort: range is full".to_owned())
        })
    };
    if kind::needs_node_ports(new) {
        fill(new, &mut pick)?;
    }
    if kind::needs_health_port(new)
        && new.at(&["spec", "healthCheckNodePort"]).and_then(Value::as_i64).unwrap_or_default() == 0
    {
        let port = pick()?;
        new.set_at(&["spec", "healthCheckNodePort"], port);
    }
    Ok(())
}

/// The node ports that the client names, with their paths.
fn requested(object: &Value) -> Vec<(Path, i64)> {
    let ports = object.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let path = |index| Path::new("spec.ports").index(index).child("nodePort");
    let named = ports.iter().enumerate().map(|(index, port)| (path(index), port.get("nodePort")));
    let health =
        (Path::new("spec.healthCheckNodePort"), object.at(&["spec", "healthCheckNodePort"]));
    let all = named.chain([health]).filter_map(|(path, port)| Some((path, port?.as_i64()?)));
    all.filter(|(_, port)| *port != 0).collect()
}

/// Allocates the missing node ports; one port under several protocols has the same node port.
fn fill(
    new: &mut Value,
    pick: &mut impl FnMut() -> Result<i64, Unavailable>,
) -> Result<(), Unavailable> {
    let number =
        |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let Some(ports) = new.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut) else {
        return Ok(());
    };
    let mut chosen: HashMap<i64, i64> = HashMap::new();
    for port in ports.iter().filter(|port| number(port, "nodePort") != 0) {
        chosen.entry(number(port, "port")).or_insert(number(port, "nodePort"));
    }
    for port in ports.iter_mut().filter(|port| number(port, "nodePort") == 0) {
        let node_port = match chosen.entry(number(port, "port")) {
            Entry::Occupied(existing) => *existing.get(),
            Entry::Vacant(own) => *own.insert(pick()?),
        };
        port.set_at(&["nodePort"], node_port);
    }
    Ok(())
}
