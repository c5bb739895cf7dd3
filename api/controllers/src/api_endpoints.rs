//! The Endpoints and EndpointSlices of the API's own service: the addresses of all members that
//! answer the leader ([`crate::member_liveness`]).
//!
//! Invariants: a member's address goes after half a minute in which one leader did not hear it, and
//! comes with its first answer; an address that no leader could judge stays as it was. So a restart
//! of a leader removes no address. Loopback addresses and host names, which lead nowhere from
//! inside a pod, are left out; a cluster that has nothing else publishes nothing, and says so in its
//! log.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use quorate_meta::{Map, Names, Value, well_known};
use quorate_store::Snapshot;
use tokio::time::{Instant, sleep};

use super::context::{Context, skip_failed_object};
use crate::member_liveness::{ApiServers, MemberLiveness};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Resource, stored_codec};

/// How often the members are read.
const RESYNC_PERIOD: Duration = Duration::from_secs(2);
/// The port's name in the service.
const PORT: &str = "https";

/// Publishes for ever; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context, servers: &dyn ApiServers) -> Result<(), Error> {
    let names = context.names;
    let endpoints = &*context.resource("endpoints")?;
    let slices = context.find(&names.group("discovery"), "v1", "endpointslices");
    let mut liveness = MemberLiveness::default();
    let mut has_told = false;
    loop {
        // Current: a leader that stood still and was deposed learns it here, and has heard no
        // member then.
        let snapshot = context.current().await?;
        let before = published(&snapshot, target(endpoints, names.service_api))?;
        let members = servers.servers();
        if !has_told && reachable(members.iter().map(|member| member.address)).is_empty() {
            has_told = true;
            tracing::info!(
                service = names.service_api,
                "the service of the API has no endpoints: no member advertises an IP address other \
                 than a loopback one, and no other leads from a pod to it"
            );
        }
        let addresses_by_port = reachable(liveness.published(&members, &before, Instant::now()));
        if !addresses_by_port.is_empty() {
            let target = target(endpoints, names.service_api);
            skip_failed_object(
                context
                    .ensure_fields_at(&snapshot, target, &endpoints_of(names, &addresses_by_port))
                    .await,
                target,
            )?;
            if let Some(slices) = &slices {
                reconcile_slices(context, slices, &addresses_by_port).await?;
            }
        }
        sleep(RESYNC_PERIOD).await;
    }
}

fn target<'a>(resource: &'a Resource, name: &'a str) -> Target<'a> {
    Target { resource, namespace: Some(well_known::NAMESPACE_DEFAULT), name }
}

/// The addresses that are published now.
fn published(snapshot: &Snapshot, target: Target<'_>) -> Result<HashSet<SocketAddr>, Error> {
    let Some(entry) = snapshot.get(&target.key()) else {
        return Ok(HashSet::new());
    };
    let object = stored_codec::decode(target.resource, entry)?;
    let mut found = HashSet::new();
    for subset in list(&object, "subsets") {
        for port in list(subset, "ports") {
            let port =
                port.get("port").and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
            let ips = list(subset, "addresses")
                .iter()
                .filter_map(|address| address.str_at(&["ip"])?.parse().ok());
            found.extend(ips.filter_map(|ip| Some(SocketAddr::new(ip, port?))));
        }
    }
    Ok(found)
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_list).unwrap_or_default()
}

/// Addresses by version (whether it is the sixth) and port.
type AddressesByPort = BTreeMap<(bool, u16), Vec<IpAddr>>;

/// The addresses that others can reach.
fn reachable(addresses: impl IntoIterator<Item = SocketAddr>) -> AddressesByPort {
    let mut addresses_by_port = AddressesByPort::new();
    for address in addresses {
        let ip = address.ip().to_canonical();
        if !ip.is_loopback() && !ip.is_unspecified() {
            addresses_by_port.entry((ip.is_ipv6(), address.port())).or_default().push(ip);
        }
    }
    for list in addresses_by_port.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    addresses_by_port
}

fn port(number: u16) -> Value {
    let number = Value::from(i64::from(number));
    Value::List(vec![
        Map::from([("name", Value::from(PORT)), ("port", number), ("protocol", "TCP".into())])
            .into(),
    ])
}

fn label(key: String, value: &str) -> Value {
    let mut labels = Map::new();
    labels.insert(key, value);
    Map::from([("labels", labels)]).into()
}

fn endpoints_of(names: &Names, addresses_by_port: &AddressesByPort) -> Map {
    let subset = |((_, number), addresses): (&(bool, u16), &Vec<IpAddr>)| {
        let addresses =
            addresses.iter().map(|ip| Map::from([("ip", ip.to_string())]).into()).collect();
        Value::Map(Map::from([("addresses", Value::List(addresses)), ("ports", port(*number))]))
    };
    // Slices are published besides, so none are to be made from it.
    let metadata = label(format!("endpointslice.{}", names.domain_key("skip-mirror")), "true");
    Map::from([
        ("metadata", metadata),
        ("subsets", Value::List(addresses_by_port.iter().map(subset).collect())),
    ])
}

/// The name of a slice: the service's own for the lowest port of the fourth version; the others say
/// version and port.
fn slice_name(names: &Names, addresses_by_port: &AddressesByPort, place: (bool, u16)) -> String {
    match place {
        (false, _) if addresses_by_port.keys().next() == Some(&place) => {
            names.service_api.to_owned()
        }
        (v6, port) => format!("{}-ipv{}-{port}", names.service_api, if v6 { 6 } else { 4 }),
    }
}

/// Whether [`slice_name`] can have given this name.
fn is_slice_name(names: &Names, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(names.service_api) else {
        return false;
    };
    let place = rest.strip_prefix("-ipv").and_then(|place| place.split_once('-'));
    rest.is_empty()
        || place.is_some_and(|(version, port)| {
            ["4", "6"].contains(&version) && port.parse::<u16>().is_ok()
        })
}

fn slice_of(names: &Names, (v6, number): (bool, u16), addresses: &[IpAddr]) -> Map {
    let ready = || Value::Map(Map::from([("ready", true)]));
    let endpoint = |ip: &IpAddr| {
        let own = Value::List(vec![ip.to_string().into()]);
        Value::Map(Map::from([("addresses", own), ("conditions", ready())]))
    };
    Map::from([
        ("metadata", label(names.domain_key("service-name"), names.service_api)),
        ("addressType", if v6 { "IPv6" } else { "IPv4" }.into()),
        ("endpoints", Value::List(addresses.iter().map(endpoint).collect())),
        ("ports", port(number)),
    ])
}

/// Reconciles the slices, and removes those of ports that no member has any more.
async fn reconcile_slices(
    context: &Context,
    resource: &Resource,
    addresses_by_port: &AddressesByPort,
) -> Result<(), Error> {
    let names = context.names;
    let mut wanted = Vec::new();
    for (place, addresses) in addresses_by_port {
        let name = slice_name(names, addresses_by_port, *place);
        let target = target(resource, &name);
        skip_failed_object(
            reconcile_slice(context, target, &slice_of(names, *place, addresses)).await,
            target,
        )?;
        wanted.push(name);
    }
    let snapshot = context.store.snapshot();
    let service = names.domain_key("service-name");
    for (key, entry) in snapshot.range(&resource.prefix(Some(well_known::NAMESPACE_DEFAULT)), None)
    {
        let Some((_, name)) = resource.parse_key(key) else {
            continue;
        };
        let is_own = is_slice_name(names, name)
            && stored_codec::decode(resource, entry).is_ok_and(|slice| {
                slice.str_at(&["metadata", "labels", &service]) == Some(names.service_api)
            });
        if is_own && !wanted.iter().any(|wanted| wanted == name) {
            let target = target(resource, name);
            skip_failed_object(context.delete_at(target, entry).await, target)?;
        }
    }
    Ok(())
}

/// Reconciles one slice. `addressType` is immutable: a slice that a client has made with another
/// one is deleted first.
async fn reconcile_slice(context: &Context, target: Target<'_>, fields: &Map) -> Result<(), Error> {
    const ADDRESS_TYPE: &str = "addressType";
    let snapshot = context.store.snapshot();
    if let Some(entry) = snapshot.get(&target.key())
        && stored_codec::decode(target.resource, entry)?.get(ADDRESS_TYPE)
            != fields.get(ADDRESS_TYPE)
    {
        context.delete_at(target, entry).await?;
    }
    context.ensure_fields(target, fields).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    #[test]
    fn only_what_others_reach_is_published() {
        let check = |addresses: &[&str], expect: &[(&str, &[&str])]| {
            let names = Naming::Kubernetes.names();
            let addresses_by_port = reachable(addresses.iter().map(|text| text.parse().unwrap()));
            let found: Vec<(String, Vec<String>)> = addresses_by_port
                .iter()
                .map(|(place, ips)| {
                    (
                        slice_name(names, &addresses_by_port, *place),
                        ips.iter().map(IpAddr::to_string).collect(),
                    )
                })
                .collect();
            let expect: Vec<(String, Vec<String>)> = expect
                .iter()
                .map(|(name, ips)| {
                    ((*name).to_owned(), ips.iter().map(|ip| (*ip).to_owned()).collect())
                })
                .collect();
            assert_eq!(found, expect);
        };
        check(&["127.0.0.1:6443", "[::1]:6443", "0.0.0.0:6443"], &[]);
        check(
            &["10.0.0.2:6443", "10.0.0.1:6443", "10.0.0.2:6443"],
            &[("kubernetes", &["10.0.0.1", "10.0.0.2"])],
        );
        check(
            &["10.0.0.1:6443", "10.0.0.2:7443", "[fd00::1]:6443"],
            &[
                ("kubernetes", &["10.0.0.1"]),
                ("kubernetes-ipv4-7443", &["10.0.0.2"]),
                ("kubernetes-ipv6-6443", &["fd00::1"]),
            ],
        );
    }
}
