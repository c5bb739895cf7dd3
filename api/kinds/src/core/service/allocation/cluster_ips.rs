//! Cluster IPs of a Service: those that the client requests, and dynamic ones out of the ranges.

use quorate_meta::{Cause, Value, net};

use super::{ADDRESS, Owner, address_allocation, owner, search, strings};
use crate::core::service::ranges::Ranges;
use quorate_registry::allocation::{AllocationView, Unavailable};

/// Sets a cluster IP for each IP family of the Service.
pub(super) fn allocate(
    view: &AllocationView<'_>,
    ranges: &Ranges,
    old: Option<&Value>,
    new: &mut Value,
) -> Result<(), Unavailable> {
    let owner = owner(new);
    let had: Vec<String> = old.map_or_else(Vec::new, |old| {
        strings(old, "clusterIPs").into_iter().map(str::to_owned).collect()
    });
    let asked: Vec<String> = strings(new, "clusterIPs").into_iter().map(str::to_owned).collect();
    let families: Vec<String> = strings(new, "ipFamilies").into_iter().map(str::to_owned).collect();
    let mut chosen = Vec::new();
    for (index, wanted) in families.iter().enumerate() {
        let address = match asked.get(index) {
            Some(address) if had.contains(address) => address.clone(),
            Some(address) => allocate_requested(view, ranges, &owner, address, &asked)?,
            None => allocate_dynamically(view, ranges, &owner, wanted)?,
        };
        chosen.push(Value::from(address));
    }
    if let Some(first) = chosen.first().cloned() {
        new.set_at(&["spec", "clusterIP"], first);
        new.set_at(&["spec", "clusterIPs"], Value::List(chosen));
    }
    Ok(())
}

fn allocate_requested(
    view: &AllocationView<'_>,
    ranges: &Ranges,
    owner: &Owner,
    address: &str,
    asked: &[String],
) -> Result<String, Unavailable> {
    let refuse = |why: &str| {
        let value = Value::List(asked.iter().map(|text| Value::from(text.as_str())).collect());
        let cause = Cause::invalid(
            "spec.clusterIPs",
            value,
            &format!("failed to allocate IP {address}: {why}"),
        );
        Err(Unavailable::Refused(vec![cause]))
    };
    let Some(parsed) = net::address(address) else {
        return refuse("it is no address");
    };
    if ranges.0.is_empty() {
        return refuse("no ServiceCIDR is ready");
    }
    let Some(range) = ranges.0.iter().find(|range| range.contains(parsed)) else {
        let shown: Vec<String> = ranges.0.iter().map(ToString::to_string).collect();
        return refuse(&format!(
            "the provided IP is not in the valid range. The range of valid IPs is {}",
            shown.join(",")
        ));
    };
    let allocation = address_allocation(view.names, owner, &parsed.to_string());
    let is_taken = view.is_taken(&allocation);
    view.attempted(ADDRESS, &range.to_string(), true, !is_taken);
    if is_taken { refuse("provided IP is already allocated") } else { Ok(address.to_owned()) }
}

fn allocate_dynamically(
    view: &AllocationView<'_>,
    ranges: &Ranges,
    owner: &Owner,
    wanted: &str,
) -> Result<String, Unavailable> {
    let mut why = format!("no ServiceCIDR with {wanted} addresses is ready");
    for range in ranges.of(wanted) {
        let size = range.usable();
        let named = if size < 32 { 0 } else { (size / 16).clamp(16, 256) };
        let free = search(view, size, named, |index| {
            let address = range.usable_at(index)?.to_string();
            (!view.is_taken(&address_allocation(view.names, owner, &address))).then_some(address)
        });
        view.attempted(ADDRESS, &range.to_string(), false, free.is_some());
        if let Some(address) = free {
            return Ok(address);
        }
        "range is full".clone_into(&mut why);
    }
    Err(Unavailable::Exhausted(format!("failed to allocate a serviceIP: {why}")))
}
