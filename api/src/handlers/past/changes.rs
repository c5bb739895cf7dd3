//! `GET /past/changes`: what has changed in the cluster, as far as the caller may see it.
//!
//! Invariants: a page looks at a bounded number of transactions and asks the authorizer a bounded
//! number of questions; it may therefore be empty and have a next one. The items of one transaction
//! are on one page.

mod filter;
mod scan;

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::{Map, Value};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::{Origin, Resource, stored_codec};
use quorate_store::{Batch, Event, Past, Revision};

use super::change::{Change, ChangeType};
use super::extent::{document, oldest};
use super::history::put_changed;
use super::moment::Moment;
use super::parameters;
use super::state::{archive, failure, is_purged, revision_of};
use super::visible::{Named, Visible};
use crate::Api;
use crate::body::Body;
use crate::handlers::options::At;
use crate::handlers::{Request, snapshot};
use crate::respond;
use filter::Filter;
use scan::{Order, Scan};

/// Items on a page at most, but for those of its last transaction.
const MAX_LIMIT: usize = 500;

/// Answers with a page of changes.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let limit = parameters::limit(request, MAX_LIMIT)?;
    let filter = Filter::parse(&request.info.query)?;
    let order = Order::parse(request.info.query.text("order"))?;
    let past = archive(api)?;
    let newest = snapshot::snapshot(api, request, At::MostRecent).await?.revision();
    let scope = format!("changes\n{}", filter::scope(&request.info.query));
    let position = parameters::position(api, request, &scope)?;
    let extent = past.extent();
    let since = bound(api, request, &*past, "since", newest)?.unwrap_or(extent.oldest);
    let until = match &position {
        Some(position) => Revision::new(position.remaining),
        None => bound(api, request, &*past, "until", newest)?.unwrap_or(newest),
    };
    let from = position.map(|position| position.revision);
    let mut scan = Scan::new(past, order, since.max(extent.oldest), until, from);
    let mut page = ChangesPage { filter, visible: Visible::new(api, request), items: Vec::new() };
    while page.items.len() < limit && !page.visible.is_exhausted() {
        let Some(batch) = scan.next().map_err(failure)? else { break };
        page.add(request, &batch).await;
    }
    let mut metadata = Map::from([("resourceVersion", until.to_string())]);
    if let Some(next) = scan.rest() {
        metadata.insert("continue", parameters::token(api, &scope, next, until));
    }
    let mut answer = document(api, "ChangeList");
    answer.insert("metadata", Value::Map(metadata));
    answer.insert("oldest", oldest(&extent));
    answer.insert("items", Value::List(page.items));
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}

/// The revision of a bound; a moment before the archive is where that begins.
fn bound(
    api: &Api,
    request: &Request<'_>,
    past: &dyn Past,
    parameter: &str,
    newest: Revision,
) -> Result<Option<Revision>, Error> {
    let Some(text) = request.info.query.get(parameter) else { return Ok(None) };
    let moment = Moment::parse(parameter, text)?;
    let extent = past.extent();
    let is_before = match moment {
        Moment::Revision(revision) => revision < extent.oldest,
        Moment::Time(ms) => ms < extent.oldest_ms,
    };
    if is_before {
        return Ok(Some(extent.oldest));
    }
    revision_of(api, past, (parameter, moment), newest).map(Some)
}

/// A page that is being filled.
struct ChangesPage<'a> {
    filter: Filter<'a>,
    visible: Visible<'a>,
    items: Vec<Value>,
}

impl ChangesPage<'_> {
    /// Adds what a transaction did to objects, as far as it is asked for and may be seen.
    async fn add(&mut self, request: &Request<'_>, batch: &Batch) {
        if !self.filter.has_origin(|| Origin::decode(&batch.origin)) {
            return;
        }
        let change = Change {
            revision: batch.revision,
            time_ms: Some(batch.time_ms),
            origin: &batch.origin,
        };
        for event in batch.events.iter() {
            let Some(Key::Object { group, resource, namespace, name }) = Key::parse(&event.key)
            else {
                continue;
            };
            if !self.filter.has_object(group, resource, namespace, name) {
                continue;
            }
            let Some(resource) = request.catalogue.stored_as(group, resource) else { continue };
            let is_of_today = namespace.is_some() == resource.namespaced;
            if is_of_today && self.visible.includes(Named { resource, namespace, name }).await {
                let mut members = change.members();
                put_object(resource, event, (namespace, name), &mut members).await;
                self.items.push(Value::Map(members));
            }
        }
    }
}

/// Adds which object changed, and how.
async fn put_object(
    resource: &Resource,
    event: &Event,
    (namespace, name): (Option<&str>, &str),
    members: &mut Map,
) {
    let texts = [
        ("group", resource.group.as_str()),
        ("version", resource.version.as_str()),
        ("resource", resource.plural.as_str()),
        ("kind", resource.kind.as_str()),
        ("name", name),
    ];
    for (member, text) in texts {
        members.insert(member, text);
    }
    if let Some(namespace) = namespace {
        members.insert("namespace", namespace);
    }
    let kind = match (&event.previous, &event.current) {
        (_, None) => ChangeType::Deleted,
        (None, Some(_)) => ChangeType::Added,
        (Some(_), Some(_)) => ChangeType::Modified,
    };
    members.insert("type", kind.name());
    if event.current.as_ref().is_some_and(is_purged) {
        members.insert("purged", true);
    }
    if let (Some(before), Some(after)) = (&event.previous, &event.current) {
        // What cannot be read today still has changed.
        let before = stored_codec::decode_converted(resource, before).await;
        let after = stored_codec::decode_converted(resource, after).await;
        if let (Ok(before), Ok(after)) = (before, after) {
            put_changed(resource, &before, &after, members);
        }
    }
}
