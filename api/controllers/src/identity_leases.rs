//! The removal of the Leases of servers that are there no longer: of those that every server of the
//! API renews, the ones that have expired.
//!
//! Invariant: a Lease that was renewed since it was read stays.

use std::time::Duration;

use quorate_meta::{Time, Value};
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_registry::write::Target;
use tokio::time::sleep;

use super::context::{Context, skip_failed_object};

/// How often expired Leases are looked for.
const PERIOD: Duration = Duration::from_secs(3600);
/// The component that holds such Leases.
const COMPONENT: &str = "kube-apiserver";

/// Removes Leases for ever.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    loop {
        sweep(context).await?;
        sleep(PERIOD).await;
    }
}

/// Removes every Lease of a server that has expired.
async fn sweep(context: &Context) -> Result<(), Error> {
    let names = context.names;
    let Some(leases) = context.find(&names.group("coordination"), "v1", "leases") else {
        return Ok(());
    };
    let (snapshot, now) = (context.current().await?, context.env.clock.now_ms());
    let label = format!("apiserver.{}", names.domain_key("identity"));
    for (key, entry) in snapshot.range(&leases.prefix(Some(names.namespace_system)), None) {
        let Some((namespace, name)) = leases.parse_key(key) else { continue };
        let Ok(lease) = stored_codec::decode(&leases, entry) else { continue };
        let is_server = lease.str_at(&["metadata", "labels", &label]) == Some(COMPONENT);
        if is_server && has_expired(&lease, now) {
            let target = Target { resource: &leases, namespace, name };
            skip_failed_object(context.delete_at(target, entry).await, target)?;
        }
    }
    Ok(())
}

/// Whether a Lease was not renewed in its time; one without a time has expired.
fn has_expired(lease: &Value, now_ms: u64) -> bool {
    let renewed = lease.str_at(&["spec", "renewTime"]).and_then(|text| Time::parse(text).ok());
    let seconds = lease.at(&["spec", "leaseDurationSeconds"]).and_then(Value::as_u64);
    renewed.zip(seconds).is_none_or(|(renewed, seconds)| {
        renewed.ms().saturating_add(seconds.saturating_mul(1000)) < now_ms
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn a_lease_expires_after_its_time() {
        let check = |spec: Json, expect: bool| {
            let lease = json!({ "spec": spec }).into();
            assert_eq!(has_expired(&lease, 10_000), expect, "{lease:?}");
        };
        let renewed =
            |time: &str, seconds: i64| json!({"renewTime": time, "leaseDurationSeconds": seconds});
        check(renewed("1970-01-01T00:00:05.000000Z", 5), false);
        check(renewed("1970-01-01T00:00:04.999000Z", 5), true);
        check(json!({"leaseDurationSeconds": 5}), true);
        check(json!({"renewTime": "1970-01-01T00:00:09.000000Z"}), true);
        check(json!({}), true);
    }
}
