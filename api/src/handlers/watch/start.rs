//! Where a watch starts, and when it is refused.
//!
//! Invariant: the store's watch is opened at exactly the revision of the state that comes first, so nothing lies between.

use std::sync::Arc;

use http::Response;
use http::header::{CONTENT_TYPE, USER_AGENT};
use quorate_meta::{Status, well_known};
use quorate_store::{HistoryError, Revision};

use super::event;
use super::stream::{Initial, Parts, WatchStream};
use crate::Api;
use crate::body::Body;
use crate::error::Error;
use crate::handlers::freshness;
use crate::handlers::options::{At, Start, WatchOptions};
use crate::handlers::render::Renderer;
use crate::handlers::snapshot;
use crate::negotiation::Media;
use crate::request::Request;
use crate::respond;

pub(in crate::handlers) async fn handle(api: &Arc<Api>, request: &Request) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let options = WatchOptions::parse(api.names, request, resource)?;
    let renderer = Renderer::new(api, request, resource, false)?;
    let prefix = resource.prefix(request.namespace());
    let (after, initial) = match options.start {
        Start::Initial { at, mark } => {
            let snapshot = snapshot::snapshot(api, request, at).await?;
            let end = if mark { api.names.initial_events_end(is_for_kubernetes(request)) } else { &[] };
            (snapshot.revision(), Some(Initial::new(snapshot, prefix.clone(), end)))
        }
        Start::After(At::Exact(revision) | At::NotOlderThan(revision)) => (revision, None),
        Start::After(at) => (snapshot::snapshot(api, request, at).await?.revision(), None),
    };
    let body = match api.store.watch(prefix, after) {
        Ok(watch) => {
            let selection = (!options.selection.is_everything()).then_some(options.selection);
            let (bookmarks, timeout) = (options.bookmarks, options.timeout);
            let parts = Parts { watch, initial, selection, renderer, bookmarks, timeout };
            Body::stream(WatchStream::new(api, parts).into_chunks())
        }
        Err(error) => {
            let mut line = Vec::new();
            let status = refusal(after, error);
            event::error(&renderer, &status, &mut line).map_err(|error| Error::internal(error.to_string()))?;
            Body::full(line)
        }
    };
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

/// What a watch that cannot go on after a revision says.
pub(super) fn refusal(after: Revision, error: HistoryError) -> Status {
    match error {
        HistoryError::Compacted { oldest } => Status::watch_expired(after.get(), oldest.get()),
        other => Error::from(other).into_status(),
    }
}

/// Whether the client is built for Kubernetes whatever the cluster's names are: the official libraries say so of themselves.
fn is_for_kubernetes(request: &Request) -> bool {
    let agent = request.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    agent.is_some_and(|agent| agent.contains(" kubernetes/"))
}
