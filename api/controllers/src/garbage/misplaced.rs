//! References to owners that are where a reference cannot lead: in another namespace, or in any
//! namespace for a cluster-scoped object. A Warning event on the dependent tells of each.
//!
//! Invariants: a reference is looked at once by each leader, and only when its owner was not where
//! the reference leads; an event that cannot be written delays nothing. What becomes of the
//! dependent is not decided here.

use quorate_meta::{GroupVersion, Map, Time, Value, well_known};
use quorate_store::Snapshot;

use super::graph::ObjectKey;
use crate::context::Context;
use quorate_registry::error::Error;
use quorate_registry::{NAMESPACES, Resource, stored_codec};

const REASON: &str = "OwnerRefInvalidNamespace";
/// What such events say that they come from.
const COMPONENT: &str = "garbage-collector-controller";
/// Bytes of an object's name in the name of its event, at most.
const MAX_NAME_BYTES: usize = 200;
/// Namespaces looked into in one go.
const NAMESPACES_STEP: usize = 256;

/// Writes an event for each of these owners (by uid) of an object that is in a wrong namespace.
pub(super) async fn report(context: &Context, key: &ObjectKey, owners: &[String]) {
    if owners.is_empty() {
        return;
    }
    if let Err(error) = try_report(context, key, owners).await {
        tracing::debug!(%error, key = %key.escape_ascii(), "a misplaced owner is not reported");
    }
}

async fn try_report(context: &Context, key: &ObjectKey, owners: &[String]) -> Result<(), Error> {
    let snapshot = context.store.snapshot();
    let (Some(entry), Some(resource)) = (snapshot.get(key), context.of_key(key)) else {
        return Ok(());
    };
    let Some((namespace, _)) = resource.parse_key(key) else {
        return Ok(());
    };
    let object = stored_codec::decode(&resource, entry)?;
    let references =
        object.at(&["metadata", "ownerReferences"]).and_then(Value::as_list).unwrap_or_default();
    for reference in references {
        let uid = reference.str_at(&["uid"]).unwrap_or_default();
        if owners.iter().any(|owner| owner == uid)
            && is_elsewhere(context, &snapshot, namespace, reference).await?
        {
            write_event(context, &resource, &object, reference).await?;
        }
    }
    Ok(())
}

/// Whether the owner that a reference names is in a namespace other than this one.
async fn is_elsewhere(
    context: &Context,
    snapshot: &Snapshot,
    own: Option<&str>,
    reference: &Value,
) -> Result<bool, Error> {
    let text = |field: &str| reference.str_at(&[field]).unwrap_or_default();
    let Some(version) = GroupVersion::parse(text("apiVersion")) else {
        return Ok(false);
    };
    let catalogue = context.catalogue.load();
    let resource = catalogue.find_kind(&version.group, &version.version, text("kind"));
    let Some(resource) = resource.filter(|resource| resource.namespaced) else {
        return Ok(false);
    };
    let namespaces = &*context.resource(NAMESPACES)?;
    for (count, (key, _)) in snapshot.range(&namespaces.prefix(None), None).enumerate() {
        if count % NAMESPACES_STEP == NAMESPACES_STEP - 1 {
            tokio::task::yield_now().await;
        }
        let Some((_, namespace)) = namespaces.parse_key(key) else {
            continue;
        };
        let found = snapshot.get(&resource.key(Some(namespace), text("name")));
        if Some(namespace) != own
            && let Some(entry) = found
            && stored_codec::header(resource, &entry.value)?.uid() == text("uid")
        {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn write_event(
    context: &Context,
    resource: &Resource,
    object: &Value,
    reference: &Value,
) -> Result<(), Error> {
    let metadata = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default();
    let mut end = metadata("name").len().min(MAX_NAME_BYTES);
    while !metadata("name").is_char_boundary(end) {
        end -= 1;
    }
    let name = format!("{}.{}", &metadata("name")[..end], context.uuid().replace('-', ""));
    let namespace = match metadata("namespace") {
        "" => well_known::NAMESPACE_DEFAULT,
        namespace => namespace,
    };
    let fields = event_of(resource, object, reference, context.env.clock.now_ms());
    context.ensure("events", Some(namespace), &name, fields).await
}

/// The fields of the event.
fn event_of(resource: &Resource, object: &Value, reference: &Value, now_ms: u64) -> Map {
    let metadata = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default();
    let owner = |field: &str| reference.str_at(&[field]).unwrap_or_default();
    let involved = [
        ("apiVersion", resource.api_version.as_str()),
        ("kind", resource.kind.as_str()),
        ("name", metadata("name")),
        ("namespace", metadata("namespace")),
        ("uid", metadata("uid")),
    ];
    let involved = Map::from_iter(involved.into_iter().filter(|(_, text)| !text.is_empty()));
    let message = format!(
        "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace \
         \"{namespace}\"",
        owner("apiVersion"),
        owner("kind"),
        owner("name"),
        owner("uid"),
        namespace = metadata("namespace"),
    );
    let now = Time::from_ms(now_ms).seconds();
    Map::from([
        ("involvedObject", Value::Map(involved)),
        ("reason", REASON.into()),
        ("message", message.into()),
        ("source", Map::from([("component", COMPONENT)]).into()),
        ("firstTimestamp", now.as_str().into()),
        ("lastTimestamp", now.as_str().into()),
        ("count", 1.into()),
        ("type", "Warning".into()),
        ("reportingComponent", COMPONENT.into()),
        ("reportingInstance", "".into()),
    ])
}
