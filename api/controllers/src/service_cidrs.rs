//! The reconciler of ServiceCIDRs: their condition `Ready`, and the finalizer that holds one while
//! addresses need it.
//!
//! Invariant: a range goes only when no address of a service lies in it alone. A client that was
//! given an address from it before its deletion began has had time to write the service.

use std::future::pending;
use std::net::IpAddr;
use std::time::Duration;

use quorate_meta::{Time, Value};
use quorate_store::Snapshot;
use tokio::time::sleep;

use super::context::{Context, is_conflict, is_settled};
use crate::conditions;
use crate::retry_queue::RetryQueue;
use quorate_meta::net::Range;
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Part, Resource, stored_codec};

const READY: &str = "Ready";
/// How often a terminating range is reconciled.
const RESYNC_PERIOD: Duration = Duration::from_secs(1);
/// How long a range stays after its deletion has begun, in milliseconds.
const GRACE_MS: u64 = 10_000;

/// Keeps the ranges; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let group = context.names.group("networking");
    let find = |plural| context.find(&group, "v1", plural);
    let (Some(resource), Some(addresses)) = (&find("servicecidrs"), &find("ipaddresses")) else {
        return pending().await;
    };
    let mut retries = RetryQueue::default();
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.store.watch(resource.prefix(None), snapshot.revision())?;
        let all = read(resource, &snapshot);
        let any_terminates = all.iter().any(is_terminating);
        let addresses =
            if any_terminates { addresses_of(addresses, &snapshot).await } else { Vec::new() };
        for object in &all {
            let target = Target { resource, namespace: None, name: text(object, "name") };
            retries.record(
                target.name.to_owned(),
                context.work.item(reconcile(context, target, object, &all, &addresses)).await,
            )?;
        }
        drop(snapshot);
        let wait = async {
            match any_terminates {
                true => sleep(RESYNC_PERIOD).await,
                false => pending().await,
            }
        };
        tokio::select! {
            batch = changes.next() => drop(batch?),
            () = wait => {}
            // All are reconciled anyway; those that are gone are forgotten.
            due = retries.due() => {
                let is_there = |name: &String| all.iter().any(|object| text(object, "name") == name);
                due.iter().filter(|name| !is_there(name)).for_each(|name| retries.forget(name));
            }
        }
    }
}

/// All ranges that can be read.
fn read(resource: &Resource, snapshot: &Snapshot) -> Vec<Value> {
    let entries = snapshot.range(&resource.prefix(None), None);
    entries.filter_map(|(_, entry)| stored_codec::decode(resource, entry).ok()).collect()
}

async fn addresses_of(resource: &Resource, snapshot: &Snapshot) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for (key, _) in snapshot.range(&resource.prefix(None), None) {
        tokio::task::consume_budget().await;
        found.extend(resource.parse_key(key).and_then(|(_, name)| name.parse::<IpAddr>().ok()));
    }
    found
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.str_at(&["metadata", field]).unwrap_or_default()
}

fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

fn ranges(object: &Value) -> impl Iterator<Item = Range> {
    let list = object.at(&["spec", "cidrs"]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(|text| Range::parse(text.as_str()?))
}

/// Reconciles one range.
async fn reconcile(
    context: &Context,
    target: Target<'_>,
    object: &Value,
    all: &[Value],
    addresses: &[IpAddr],
) -> Result<(), Error> {
    if !is_terminating(object) {
        set_finalizer(context, target, object, true).await?;
        return conditions::set(
            context,
            target,
            object,
            (READY, true, "", "Kubernetes Service CIDR is ready".to_owned()),
        )
        .await;
    }
    if strands_addresses(object, all, addresses) {
        let why = "There are still IPAddresses referencing the ServiceCIDR, \
                   please remove them or create a new ServiceCIDR";
        return conditions::set(
            context,
            target,
            object,
            (READY, false, "Terminating", why.to_owned()),
        )
        .await;
    }
    let since = Time::parse(text(object, "deletionTimestamp")).map(Time::ms).unwrap_or_default();
    if context.env.clock.now_ms() < since + GRACE_MS {
        return Ok(());
    }
    set_finalizer(context, target, object, false).await
}

/// Whether some address lies in no other range that stays.
fn strands_addresses(object: &Value, all: &[Value], addresses: &[IpAddr]) -> bool {
    let own: Vec<Range> = ranges(object).collect();
    let stay = all
        .iter()
        .filter(|other| !is_terminating(other) && text(other, "uid") != text(object, "uid"));
    let others: Vec<Range> = stay.flat_map(ranges).collect();
    let lies =
        |ranges: &[Range], address: &IpAddr| ranges.iter().any(|range| range.contains(*address));
    addresses.iter().any(|address| lies(&own, address) && !lies(&others, address))
}

/// Puts the finalizer that holds a range in its place, or takes it away.
async fn set_finalizer(
    context: &Context,
    target: Target<'_>,
    object: &Value,
    held: bool,
) -> Result<(), Error> {
    const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];
    let own = Value::from(format!("{}/service-cidr-finalizer", context.names.group("networking")));
    let list = |object: &Value| {
        object.at(&FINALIZERS).and_then(Value::as_list).unwrap_or_default().to_vec()
    };
    if list(object).contains(&own) == held {
        return Ok(());
    }
    let change = |current: Option<&Value>| {
        let mut object = conditions::unchanged(target, object, current)?;
        let mut finalizers = list(&object);
        finalizers.retain(|finalizer| *finalizer != own);
        if held {
            finalizers.push(own.clone());
        }
        object.set_at(&FINALIZERS, finalizers);
        Ok(object)
    };
    let options = context.update_options(Part::Main);
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
        updated => updated.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_that_would_be_left() {
        let range = |uid: &str, cidr: &str, going: bool| {
            let mut metadata = json!({ "uid": uid });
            if going {
                metadata["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
            }
            Value::from(json!({"metadata": metadata, "spec": {"cidrs": [cidr]}}))
        };
        let check = |others: &[Value], addresses: &[&str], expect: bool| {
            let own = range("own", "10.0.0.0/24", true);
            let all = [std::slice::from_ref(&own), others].concat();
            let addresses: Vec<IpAddr> =
                addresses.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(
                strands_addresses(&own, &all, &addresses),
                expect,
                "{others:?} {addresses:?}"
            );
        };
        check(&[], &[], false);
        check(&[], &["10.0.1.1", "fd00::1"], false);
        check(&[], &["10.0.0.1"], true);
        check(&[range("wide", "10.0.0.0/16", false)], &["10.0.0.1"], false);
        check(&[range("wide", "10.0.0.0/16", true)], &["10.0.0.1"], true);
        check(&[range("half", "10.0.0.0/25", false)], &["10.0.0.1", "10.0.0.200"], true);
    }
}
