//! The condition `Available` of APIServices.
//!
//! Invariant: a group version that this server serves itself is available. One that is delegated to
//! a service is not: this server passes no requests on, and the condition says so, or what is wrong
//! with the service already.

use std::future::pending;
use std::time::Duration;

use quorate_meta::Value;
use quorate_store::Snapshot;
use tokio::time::sleep;

use super::context::Context;
use crate::conditions::{self, Condition};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Resource, stored_codec};

const AVAILABLE: &str = "Available";
/// How long changes are batched before they are reconciled.
const BATCH_WINDOW: Duration = Duration::from_millis(200);

/// Keeps the conditions; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let group = context.names.group("apiregistration");
    let Some(resource) = context.find(&group, "v1", "apiservices") else {
        return pending().await;
    };
    let (resource, services) = (&*resource, &*context.resource("services")?);
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.store.watch(resource.prefix(None), snapshot.revision())?;
        let mut service_changes =
            context.store.watch(services.prefix(None), snapshot.revision())?;
        let mut elsewhere = false;
        for (_, entry) in snapshot.range(&resource.prefix(None), None) {
            // An object that cannot be read can have no condition.
            let Ok(object) = stored_codec::decode(resource, entry) else {
                continue;
            };
            elsewhere |= object.at(&["spec", "service"]).is_some();
            context.work.item(reconcile(context, resource, &object, services, &snapshot)).await?;
        }
        drop(snapshot);
        tokio::select! {
            batch = changes.next() => drop(batch?),
            batch = service_changes.next(), if elsewhere => drop(batch?),
        }
        sleep(BATCH_WINDOW).await;
    }
}

/// Writes the condition of one APIService.
async fn reconcile(
    context: &Context,
    resource: &Resource,
    object: &Value,
    services: &Resource,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let name = object.str_at(&["metadata", "name"]).unwrap_or_default();
    let target = Target { resource, namespace: None, name };
    let wanted = object.at(&["spec", "service"]);
    let service = wanted
        .and_then(|wanted| snapshot.get(&services.key(wanted.str_at(&["namespace"]), of(wanted))));
    let service = service.and_then(|entry| stored_codec::decode(services, entry).ok());
    conditions::set(context, target, object, condition(wanted, service.as_ref())).await
}

fn of(wanted: &Value) -> &str {
    wanted.str_at(&["name"]).unwrap_or_default()
}

/// Whether a version is available that is left to the service `wanted`, of which `service` is the
/// object.
fn condition(wanted: Option<&Value>, service: Option<&Value>) -> Condition {
    let Some(wanted) = wanted else {
        return (AVAILABLE, true, "Local", "Local APIServices are always available".to_owned());
    };
    let (namespace, name) = (wanted.str_at(&["namespace"]).unwrap_or_default(), of(wanted));
    let Some(service) = service else {
        return (
            AVAILABLE,
            false,
            "ServiceNotFound",
            format!("service/{name} in {namespace:?} is not present"),
        );
    };
    let port = wanted.get("port").and_then(Value::as_i64).unwrap_or_default();
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let listens = ports.iter().any(|own| own.get("port").and_then(Value::as_i64) == Some(port));
    if service.str_at(&["spec", "type"]) == Some("ClusterIP") && !listens {
        let why = format!("service/{name} in {namespace:?} is not listening on port {port}");
        return (AVAILABLE, false, "ServicePortError", why);
    }
    (
        AVAILABLE,
        false,
        "FailedDiscoveryCheck",
        "this server passes no requests on to other API servers".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn conditions() {
        let check = |wanted: Option<Json>, service: Option<Json>, expect: &str| {
            let (wanted, service) = (wanted.map(Value::from), service.map(Value::from));
            let (_, status, reason, _) = condition(wanted.as_ref(), service.as_ref());
            assert_eq!(format!("{status} {reason}"), expect);
        };
        let wanted = || Some(json!({"namespace": "n", "name": "s", "port": 443}));
        let service =
            |port: u16| Some(json!({"spec": {"type": "ClusterIP", "ports": [{"port": port}]}}));
        check(None, None, "true Local");
        check(wanted(), None, "false ServiceNotFound");
        check(wanted(), service(80), "false ServicePortError");
        check(wanted(), service(443), "false FailedDiscoveryCheck");
        check(
            wanted(),
            Some(json!({"spec": {"type": "ExternalName"}})),
            "false FailedDiscoveryCheck",
        );
    }
}
