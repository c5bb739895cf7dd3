//! The bootstrap objects of every cluster: namespaces, priority classes, flow control, an
//! APIService for each group version, the range of services' addresses, the service of the API
//! itself, and the ConfigMaps that other components read.
//!
//! Invariants: missing objects are made whenever a node begins to lead, all in one transaction;
//! fields that the cluster owns are restored, and those that users may change stay. Flow control,
//! without which no request is served, and the ConfigMaps are reconciled again all the time.

mod api_services;
mod config_maps;
mod flow_control;
mod network;
mod object;

pub use network::SERVICE_ADDRESS;
pub(super) use network::api_service;

use std::time::Duration;

use quorate_meta::{Map, Value, well_known};
use quorate_store::Snapshot;
use tokio::time::sleep;

use self::object::BootstrapObject;
use crate::context::Context;
use quorate_registry::error::Error;
use quorate_registry::write::{Put, Target};
use quorate_registry::{NAMESPACES, Resource, stored_codec};

/// Attempts of the transaction, count: another writer may change one of the objects meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// How often priority levels, flow schemas and ConfigMaps are reconciled.
const RESYNC_PERIOD: Duration = Duration::from_secs(60);

/// Makes the bootstrap objects that are missing, but for the service of the API.
pub(super) async fn objects(context: &Context) -> Result<(), Error> {
    let names = context.names;
    let namespaces = [
        well_known::NAMESPACE_DEFAULT,
        names.namespace_system,
        names.namespace_public,
        names.namespace_node_lease,
    ];
    let resource = &*context.resource(NAMESPACES)?;
    for name in namespaces {
        if context.store.snapshot().get(&resource.key(None, name)).is_none() {
            context.ensure(NAMESPACES, None, name, Map::new()).await?;
        }
    }
    let mut wanted = priority_classes();
    wanted.extend(flow_control::objects(names));
    wanted.extend(api_services::objects(names, &context.catalogue.load()));
    wanted.push(network::service_cidr(names));
    reconcile(context, &wanted).await
}

/// Makes the ConfigMaps that other components read, and puts them right.
pub(super) async fn config_maps(context: &Context, authority: &str) -> Result<(), Error> {
    config_maps::reconcile(context, authority).await
}

/// Restores priority levels, flow schemas and ConfigMaps that a client has removed, and what the
/// cluster owns of them; returns only with an error, after which it is started again.
pub(super) async fn maintain(context: &Context, authority: &str) -> Result<(), Error> {
    loop {
        sleep(RESYNC_PERIOD).await;
        context.work.item(reconcile(context, &flow_control::objects(context.names))).await?;
        context.work.item(config_maps::reconcile(context, authority)).await?;
    }
}

fn priority_classes() -> Vec<BootstrapObject> {
    const CLASSES: [(&str, i64); 2] =
        [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
    let class = |(name, value): (&str, i64)| BootstrapObject {
        group: "scheduling",
        plural: "priorityclasses",
        name: name.to_owned(),
        metadata: Map::new(),
        fields: Map::from([("value", Value::from(value))]),
        autoupdate_annotation: None,
        creates_only: false,
    };
    CLASSES.into_iter().map(class).collect()
}

/// Writes every object that differs, in one transaction.
async fn reconcile(context: &Context, wanted: &[BootstrapObject]) -> Result<(), Error> {
    for _ in 0..MAX_ATTEMPTS {
        let snapshot = context.current().await?;
        let catalogue = context.catalogue.load();
        let mut puts = Vec::new();
        for object in wanted {
            let group = context.names.group(object.group);
            let Some(resource) = catalogue.find_builtin(&group, "v1", object.plural) else {
                continue;
            };
            puts.extend(put(context, resource, &snapshot, object)?);
        }
        if puts.is_empty() || context.writer.put_all(puts, context.options()).await?.is_some() {
            return Ok(());
        }
    }
    Err(Error::internal(
        "the objects that every cluster has change faster than they can be put right",
    ))
}

fn put<'a>(
    context: &Context,
    resource: &'a Resource,
    snapshot: &Snapshot,
    wanted: &'a BootstrapObject,
) -> Result<Option<Put<'a>>, Error> {
    let target = Target { resource, namespace: None, name: &wanted.name };
    let Some(entry) = snapshot.get(&target.key()).cloned() else {
        let mut object = Value::Map(wanted.fields.clone());
        object.set_at(&["metadata"], wanted.metadata.clone());
        object.set_at(&["metadata", "name"], wanted.name.as_str());
        context.complete(resource, &mut object)?;
        return Ok(Some(Put { target, replaces: None, object }));
    };
    let old = stored_codec::decode(resource, &entry)?;
    if wanted.creates_only {
        return Ok(None);
    }
    let mut object = old.clone();
    let key = wanted.autoupdate_annotation.as_ref();
    let is_kept = key.is_none_or(|key| is_kept_up_to_date(&old, key));
    if let Some(key) = key {
        object.set_at(&["metadata", "annotations", key], is_kept.to_string());
    }
    if is_kept {
        for (field, value) in wanted.fields.iter() {
            object.set_at(&[field], value.clone());
        }
    } else if object == old {
        return Ok(None);
    }
    context.complete(resource, &mut object)?;
    Ok((object != old).then_some(Put { target, replaces: Some(entry), object }))
}

/// Whether the cluster keeps the specification of an object: its annotation says so, or, where that
/// says nothing, no client has changed the specification yet.
fn is_kept_up_to_date(object: &Value, annotation: &str) -> bool {
    match object.str_at(&["metadata", "annotations", annotation]) {
        Some("1" | "t" | "T" | "TRUE" | "true" | "True") => true,
        Some("0" | "f" | "F" | "FALSE" | "false" | "False") => false,
        _ => object.at(&["metadata", "generation"]).and_then(Value::as_i64) == Some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::{Names, Naming};
    use serde_json::json;

    #[test]
    fn the_annotation_says_what_is_kept_up_to_date() {
        let check = |annotations: serde_json::Value, generation: i64, expect: bool| {
            let metadata = json!({"annotations": annotations, "generation": generation});
            let object = Value::from(json!({ "metadata": metadata }));
            assert_eq!(is_kept_up_to_date(&object, "a"), expect, "{object:?}");
        };
        check(json!({"a": "true"}), 5, true);
        check(json!({"a": "false"}), 1, false);
        for absent in [json!(null), json!({}), json!({"a": "maybe"})] {
            check(absent.clone(), 1, true);
            check(absent, 2, false);
        }
    }

    #[test]
    fn every_object_has_a_name_of_its_own() {
        let names: &Names = Naming::Svc.names();
        let all =
            [priority_classes(), flow_control::objects(names), vec![network::service_cidr(names)]]
                .concat();
        assert_eq!(all.len(), 2 + 8 + 11 + 1);
        let mut seen: Vec<(&str, &str)> =
            all.iter().map(|object| (object.plural, object.name.as_str())).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all.len());
    }
}
