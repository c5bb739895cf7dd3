//! `GET /past/changes`: what has changed in the cluster, as far as the caller may see it.
//!
//! Invariants: a page looks at a bounded number of transactions and asks the authorizer a bounded
//! number of questions; it may therefore be empty and have a next one. The items of one transaction
//! are on one page.

mod filter;
mod scan;

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use quorate_meta::{Map, Value};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::{Origin, Resource};
use quorate_store::{Batch, Entry, Event, Past, Revision};

use super::change::{Change, ChangeType};
use super::extent::{document, oldest};
use super::gone::GoneResources;
use super::history::put_changed;
use super::moment::Moment;
use super::parameters;
use super::shown::shown;
use super::state::{archive, failure, is_purged, revision_of};
use super::visible::{Named, Visible};
use crate::Api;
use crate::body::Body;
use crate::handlers::options::At;
use crate::handlers::{Request, snapshot};
use crate::respond;
use filter::Filter;
use scan::{Order, Scan};

/// The resource whose objects holders renew.
const LEASES: &str = "leases";
/// The field that a renewal changes.
const RENEWAL: &str = ".spec.renewTime";
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
    let mut page = ChangesPage {
        filter,
        visible: Visible::new(api, request),
        hides_heartbeats: request.info.query.flag("heartbeats") == Some(false),
        leases: api.names.group("coordination"),
        items: Vec::new(),
        hidden: 0,
        unreadable: HashSet::new(),
        gone: GoneResources::default(),
    };
    while page.items.len() < limit && !page.visible.is_exhausted() {
        let Some(batch) = scan.next().map_err(failure)? else { break };
        page.add(api, request, &batch).await?;
    }
    let mut metadata = Map::from([("resourceVersion", until.to_string())]);
    if let Some(next) = scan.rest() {
        metadata.insert("continue", parameters::token(api, &scope, next, until));
    }
    let mut answer = document(api, "ChangeList");
    answer.insert("metadata", Value::Map(metadata));
    answer.insert("oldest", oldest(&extent));
    if page.hides_heartbeats {
        answer.insert("hidden", page.hidden);
    }
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
    /// Whether changes of leases that only renew them are counted and not told.
    hides_heartbeats: bool,
    /// The group of leases.
    leases: String,
    items: Vec<Value>,
    hidden: i64,
    /// The collections of which a webhook has failed to convert something.
    unreadable: HashSet<Bytes>,
    gone: GoneResources,
}

impl ChangesPage<'_> {
    /// Adds what a transaction did to objects, as far as it is asked for and may be seen.
    async fn add(&mut self, api: &Api, request: &Request<'_>, batch: &Batch) -> Result<(), Error> {
        if !self.filter.has_origin(|| Origin::decode(&batch.origin)) {
            return Ok(());
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
            let found = match request.catalogue.stored_as(group, resource) {
                Some(found) => Some(found.clone()),
                None => self.gone.find(api, request.catalogue, (group, resource))?,
            };
            let Some(resource) = found.as_deref() else { continue };
            let is_of_today = namespace.is_some() == resource.namespaced;
            if is_of_today && self.visible.includes(Named { resource, namespace, name }).await {
                let mut members = change.members();
                let both = put_object(resource, event, (namespace, name), &mut members);
                if let Some(both) = both {
                    self.put_paths(resource, both, &mut members).await;
                }
                if self.hides_heartbeats && self.is_heartbeat(resource, &members) {
                    self.hidden += 1;
                    continue;
                }
                self.items.push(Value::Map(members));
            }
        }
        Ok(())
    }

    /// Whether a change of a lease does nothing but renew it, as leaders, nodes and servers do all the time.
    fn is_heartbeat(&self, resource: &Resource, members: &Map) -> bool {
        let changed = members.get("changed").and_then(Value::as_list).unwrap_or_default();
        resource.plural == LEASES
            && resource.group == self.leases
            && matches!(changed, [only] if only.as_str() == Some(RENEWAL))
    }

    /// Adds the paths that differ. What cannot be read today still has changed: a webhook that fails is not
    /// asked again for this page.
    async fn put_paths(&mut self, resource: &Resource, both: [&Entry; 2], members: &mut Map) {
        let prefix = resource.prefix(None);
        if self.unreadable.contains(&prefix) {
            return;
        }
        let mut found = shown(resource, both.map(|entry| Some(entry.clone())).into()).await;
        if let (Some(Some(Ok(after))), Some(Some(Ok(before)))) = (found.pop(), found.pop()) {
            put_changed(resource, &before, &after, members);
        } else if resource.remote.is_some() {
            self.unreadable.insert(prefix);
        }
    }
}

/// Adds which object changed, and how; gives the two versions of one that was there before and after.
fn put_object<'e>(
    resource: &Resource,
    event: &'e Event,
    (namespace, name): (Option<&str>, &str),
    members: &mut Map,
) -> Option<[&'e Entry; 2]> {
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
    let (kind, both) = match (&event.previous, &event.current) {
        (_, None) => (ChangeType::Deleted, None),
        (None, Some(_)) => (ChangeType::Added, None),
        (Some(before), Some(after)) => (ChangeType::Modified, Some([before, after])),
    };
    members.insert("type", kind.name());
    if event.current.as_ref().is_some_and(is_purged) {
        members.insert("purged", true);
    }
    both.filter(|both| !both.iter().any(|entry| is_purged(entry)))
}
