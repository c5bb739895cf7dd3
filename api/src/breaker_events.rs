//! Events about the circuit breakers of this node's admission webhooks: one on the configuration
//! when a breaker opens, one when it closes.
//!
//! Invariants: what opens and closes between two looks is not told; an event that cannot be written,
//! as when the very webhook refuses it, is left out and delays nothing.
//!
//! Not here: when a breaker opens (`quorate-admission`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use quorate_admission::webhook::{WebhookState, WebhookType};
use quorate_meta::{Map, Time, Value, well_known};
use quorate_registry::error::Error;
use quorate_registry::write::{GivenOptions, Target, WriteOptions};
use quorate_registry::{Catalogue, OriginHead, Resource, stored_codec};
use quorate_schema::apply_defaults;
use tokio::time::sleep;

use crate::Api;

/// How often breakers are looked at, by default.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// The neutral group of configurations.
const GROUP: &str = "admissionregistration";
/// What the events say that they come from.
const COMPONENT: &str = "admission-webhooks";
/// Bytes of a configuration's name in the name of its event, at most.
const MAX_NAME_BYTES: usize = 200;

/// The breakers that are open, by configuration, webhook and type.
type OpenBreakers = BTreeMap<(String, String, &'static str), WebhookState>;

/// Looks at the breakers each time this interval has passed, and tells of changes, without an end.
pub async fn run(api: Arc<Api>, interval: Duration) {
    let mut before = OpenBreakers::new();
    loop {
        sleep(interval).await;
        before = tell_changes(&api, before).await;
    }
}

/// Tells what has changed since the breakers were looked at last, and gives back how they are.
async fn tell_changes(api: &Api, before: OpenBreakers) -> OpenBreakers {
    let key = |state: &WebhookState| {
        (state.configuration.clone(), state.webhook.clone(), state.webhook_type.name())
    };
    let open = api.admission.applied_open_breakers().into_iter();
    let open: OpenBreakers = open.map(|state| (key(&state), state)).collect();
    let opened = open.iter().filter(|(key, _)| !before.contains_key(*key));
    let closed = before.iter().filter(|(key, _)| !open.contains_key(*key));
    let changes = opened.map(|(_, state)| (state, true)).chain(closed.map(|(_, it)| (it, false)));
    for (state, is_open) in changes {
        if let Err(error) = write_event(api, state, is_open).await {
            let configuration = &state.configuration;
            tracing::debug!(%error, configuration, "no event tells of a circuit breaker");
        }
    }
    open
}

async fn write_event(api: &Api, state: &WebhookState, is_open: bool) -> Result<(), Error> {
    let catalogue = api.catalogue.load();
    let find = |group: &str, plural| {
        let found = catalogue.find_builtin(group, "v1", plural);
        found.ok_or_else(|| Error::internal("there is no resource of events or configurations"))
    };
    let plural = match state.webhook_type {
        WebhookType::Mutating => "mutatingwebhookconfigurations",
        WebhookType::Validating => "validatingwebhookconfigurations",
    };
    let configurations = find(&api.names.group(GROUP), plural)?;
    let events = find("", "events")?;
    let Some(involved) = involved_object(api, configurations, &state.configuration)? else {
        // It is gone, and its breaker with it.
        return Ok(());
    };
    let mut object = Value::Map(event_of(state, is_open, involved, api.env.clock.now_ms()));
    object.set_at(&["metadata", "name"], event_name(api, &state.configuration));
    object.set_at(&["apiVersion"], events.api_version.as_str());
    object.set_at(&["kind"], events.kind.as_str());
    complete(&catalogue, events, &mut object);
    let target =
        Target { resource: events, namespace: Some(well_known::NAMESPACE_DEFAULT), name: "" };
    let options = WriteOptions { dry_run: false, manager: COMPONENT, given: GivenOptions::NONE };
    let writer = api.writer().from_origin(OriginHead::of_source(COMPONENT));
    writer.create(target, object, options).await.map(drop)
}

fn complete(catalogue: &Catalogue, resource: &Resource, object: &mut Value) {
    apply_defaults(&resource.graph(), resource.ty(), object);
    resource.strategy.default(catalogue.graph().names(), object);
}

/// The reference to a configuration; `None` when it is not there.
fn involved_object(api: &Api, resource: &Resource, name: &str) -> Result<Option<Map>, Error> {
    let snapshot = api.store.snapshot();
    let Some(entry) = snapshot.get(&resource.key(None, name)) else { return Ok(None) };
    let header = stored_codec::header(resource, &entry.value)?;
    Ok(Some(Map::from([
        ("apiVersion", resource.api_version.as_str()),
        ("kind", resource.kind.as_str()),
        ("name", name),
        ("uid", header.uid()),
    ])))
}

/// A name that no other event has: sixteen random digits after that of the configuration.
fn event_name(api: &Api, configuration: &str) -> String {
    let mut random = [0; 8];
    api.env.entropy.fill(&mut random);
    let mut end = configuration.len().min(MAX_NAME_BYTES);
    while !configuration.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}.{:016x}", &configuration[..end], u64::from_be_bytes(random))
}

fn event_of(state: &WebhookState, is_open: bool, involved: Map, now_ms: u64) -> Map {
    let webhook = &state.webhook;
    let (kind, reason, message) = if is_open {
        let message = format!(
            "webhook {webhook:?} is not called for a while, its failure policy stands in for it: \
             {} calls have failed in a row, the last one: {}",
            state.failures, state.last_failure
        );
        ("Warning", "CircuitBreakerOpened", message)
    } else {
        ("Normal", "CircuitBreakerClosed", format!("webhook {webhook:?} is called again"))
    };
    let now = Time::from_ms(now_ms).seconds();
    Map::from([
        ("involvedObject", Value::Map(involved)),
        ("reason", reason.into()),
        ("message", message.into()),
        ("source", Map::from([("component", COMPONENT)]).into()),
        ("firstTimestamp", now.as_str().into()),
        ("lastTimestamp", now.as_str().into()),
        ("count", 1.into()),
        ("type", kind.into()),
        ("reportingComponent", COMPONENT.into()),
        ("reportingInstance", "".into()),
    ])
}
