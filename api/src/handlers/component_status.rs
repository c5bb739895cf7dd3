//! The ComponentStatus resource, of which nothing is stored: its objects are made for each request,
//! as a state in which the handlers of list and get find them like any other.
//!
//! Deprecated since 1.19, it tells what this server consists of and whether that is healthy. Beside
//! the server itself there is nothing but its store, so that is the one component.

use std::time::Duration;

use quorate_meta::{Map, Value};
use quorate_store::{Entry, Snapshot};
use tokio::time::timeout;

use super::options::At;
use super::snapshot;
use crate::Api;
use crate::handlers::Request;
use quorate_registry::error::Error;
use quorate_registry::{Resource, stored_codec};

const COMPONENT_STATUS: &str = "ComponentStatus";
/// Name of the component that is the replicated store.
const STORE: &str = "store";
/// How long the store may take to say that it is well.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the objects of this resource are made for each request.
pub(super) fn is_observed(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.kind == COMPONENT_STATUS
}

/// The state in which a request finds the objects of a resource.
pub(super) async fn state(api: &Api, request: &Request<'_>, at: At) -> Result<Snapshot, Error> {
    let resource = request.resource()?;
    if !is_observed(resource) {
        return snapshot::snapshot(api, request, at).await;
    }
    let well = matches!(timeout(PATIENCE, api.store.read_index()).await, Ok(Ok(_)));
    let modified = api.store.snapshot().revision();
    let value = stored_codec::encode(resource, &component(STORE, well))?;
    let entry = Entry { value, created: modified, modified };
    Ok(Snapshot::of(modified, [(resource.key(None, STORE), entry)]))
}

fn component(name: &str, well: bool) -> Value {
    let mut condition =
        Map::from([("status", if well { "True" } else { "False" }), ("type", "Healthy")]);
    if well {
        condition.insert("message", "ok");
    } else {
        condition.insert("error", "the quorum does not answer");
    }
    // Every object has a uid; there is only ever one component of a name.
    let metadata = Map::from([("name", name), ("uid", name)]);
    Value::from([
        ("conditions", Value::List(vec![condition.into()])),
        ("metadata", metadata.into()),
    ])
}
