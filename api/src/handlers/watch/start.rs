//! The start of a watch: from which state it begins, and when it is refused.
//!
//! Invariant: the store's watch is opened at exactly the revision of the state that comes first, so
//! nothing lies between.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, USER_AGENT};
use quorate_meta::{Status, well_known};
use quorate_store::{HistoryError, Purges, Revision};

use super::end::ResourceEnd;
use super::event;
use super::of_past;
use super::parts::{Initial, Parts};
use super::starting_hold::StartingHold;
use super::stream::WatchStream;
use crate::Api;
use crate::body::Body;
use crate::fanout::InitialKey;
use crate::handlers::Request;
use crate::handlers::converted::Part;
use crate::handlers::freshness;
use crate::handlers::narrowing::narrowed;
use crate::handlers::options::{At, Start, WatchOptions};
use crate::handlers::past;
use crate::handlers::render::Renderer;
use crate::handlers::selected;
use crate::handlers::snapshot;
use crate::metrics::WatchMeter;
use crate::negotiation::Media;
use crate::respond;
use quorate_registry::error::Error;

pub(in crate::handlers) async fn handle(
    api: &Arc<Api>,
    request: &Request<'_>,
) -> Result<Response<Body>, Error> {
    if let Some(moment) = past::asked(request)? {
        return of_past::handle(api, request, moment).await;
    }
    let resource = request.resource()?;
    let options = WatchOptions::parse(api.names, request, resource)?;
    let renderer = Renderer::new(api, request, resource, false)?;
    let prefix = resource.prefix(request.namespace());
    let is_whole = options.selection.is_everything();
    let variant = renderer.variant().filter(|_| is_whole);
    let (body, after) = match begin(api, request, &options, (&prefix, variant)).await {
        Ok((after, initial)) => {
            let end = ResourceEnd::new(api, resource.removal.clone());
            let is_list = initial.as_ref().is_some_and(|initial| !initial.end.is_empty());
            let meter = api.metrics.watches.meter(resource, request.namespace(), is_list);
            (stream(api, options, (renderer, end, meter), (prefix, after, initial))?, after)
        }
        // What comes too late ends the stream; until then nothing was wrong with the request.
        Err(Error::Read(status, _)) => (last_line(&renderer, &status)?, api.store.status().applied),
        Err(error) => return Err(error),
    };
    respond_with(api, request, body, after)
}

/// The answer with the events after a revision.
pub(super) fn respond_with(
    api: &Api,
    request: &Request<'_>,
    body: Body,
    after: Revision,
) -> Result<Response<Body>, Error> {
    let media = match &request.format.media {
        Media::Protobuf(protobuf) => format!("{};stream=watch", protobuf.media_type()),
        Media::Cbor(_) => well_known::MEDIA_CBOR_SEQUENCE.to_owned(),
        Media::Json | Media::Yaml => request.format.content_type().to_owned(),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, respond::header(&media)?);
    // Of a version in the future there is no state yet.
    freshness::tell(api, after.min(api.store.status().applied), &mut response);
    Ok(response)
}

/// The revision after which the watch begins, and the state that is told first. With a variant,
/// other watches may be told the same.
async fn begin(
    api: &Api,
    request: &Request<'_>,
    options: &WatchOptions,
    (prefix, variant): (&Bytes, Option<Arc<str>>),
) -> Result<(Revision, Option<Initial>), Error> {
    Ok(match options.start {
        Start::Initial { at, mark } => {
            let snapshot = snapshot::snapshot(api, request, at).await?;
            let reader = variant.map(|variant| {
                let key = InitialKey { prefix: prefix.clone(), variant };
                let revision = snapshot.revision();
                let is_unchanged = |since| is_unchanged(api, prefix, since, revision);
                api.fanout.read_initial(key, revision, is_unchanged)
            });
            let (resource, part) = (request.resource()?, Part { prefix, after: None, stop: None });
            let wanted = (&options.selection, 0);
            let snapshot = selected::part(api, resource, snapshot, part, wanted).await?.snapshot;
            let end =
                if mark { api.names.initial_events_end(is_for_kubernetes(request)) } else { &[] };
            let hold = StartingHold::new(request.starting.lock().take(), reader);
            (snapshot.revision(), Some(Initial::new(snapshot, prefix.clone(), end, hold)))
        }
        Start::After(At::Exact(revision) | At::NotOlderThan(revision)) => (revision, None),
        Start::After(at) => (snapshot::snapshot(api, request, at).await?.revision(), None),
    })
}

/// Whether it is known that nothing in a collection has changed between two revisions.
fn is_unchanged(api: &Api, prefix: &Bytes, since: Revision, revision: Revision) -> bool {
    let Ok(mut watch) = api.store.watch(prefix.clone(), since) else { return false };
    match watch.try_next() {
        Ok(Some(batch)) => batch.revision() > revision,
        Ok(None) => watch.position() >= revision,
        Err(_) => false,
    }
}

/// The stream of what follows, or of the one line that says why there is none.
fn stream(
    api: &Arc<Api>,
    options: WatchOptions,
    (renderer, end, meter): (Renderer, ResourceEnd, WatchMeter),
    (prefix, after, initial): (Bytes, Revision, Option<Initial>),
) -> Result<Body, Error> {
    let counted = api.flow_control.watches().join(prefix.clone());
    // The history still has what was purged, so it counts as forgotten.
    if let Some(upto) = Purges::since(&api.store.snapshot(), &prefix, after) {
        return last_line(&renderer, &Status::watch_expired(after.get(), upto.get()));
    }
    let watch = match api.store.watch(prefix, after) {
        Ok(watch) => narrowed(watch, renderer.resource(), &options.selection),
        Err(error) => return last_line(&renderer, &refusal(after, error)),
    };
    let selection = (!options.selection.is_everything()).then_some(options.selection);
    let (bookmarks, timeout) = (options.bookmarks, options.timeout);
    let first = true;
    let parts = Parts {
        watch,
        initial,
        selection,
        renderer,
        end,
        bookmarks,
        timeout,
        counted,
        meter,
        first,
    };
    Ok(Body::stream(WatchStream::new(api, parts).into_chunks()))
}

/// A stream that says why it ends.
fn last_line(renderer: &Renderer, status: &Status) -> Result<Body, Error> {
    let mut line = Vec::new();
    event::error(renderer, status, &mut line)
        .map_err(|error| Error::internal(error.to_string()))?;
    Ok(Body::full(line))
}

/// What a watch that cannot go on after a revision says.
pub(super) fn refusal(after: Revision, error: HistoryError) -> Status {
    match error {
        HistoryError::Compacted { oldest } => Status::watch_expired(after.get(), oldest.get()),
        other => Error::from(other).into_status(),
    }
}

/// Whether the client is built for Kubernetes whatever the cluster's names are: the official
/// libraries say so of themselves.
fn is_for_kubernetes(request: &Request<'_>) -> bool {
    let agent = request.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    agent.is_some_and(|agent| agent.contains(" kubernetes/"))
}
