//! Lists: GET of a collection, whole or in pages.
//!
//! Invariants: every page shows one snapshot, whose revision is the list's resourceVersion; items
//! are written from stored bytes while the client reads, so a list of any length costs one buffer.
//! What fits the first buffer is sent whole.

mod ahead;
mod cbor;
mod of_past;
mod order;
mod page;
mod protobuf;
pub(super) mod rope;
mod source;
mod stream;
mod writer;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use quorate_meta::Status;
use quorate_store::Snapshot;

use crate::Api;
use crate::body::Body;
use crate::continue_token::Position;
use crate::handlers::Request;
use crate::handlers::component_status;
use crate::handlers::converted::{self, Part};
use crate::handlers::options::{At, ListOptions};
use crate::handlers::render::{ListMeta, Renderer};
use crate::handlers::{compression, freshness, past, selected, snapshot};
use crate::negotiation::Media;
use crate::respond;
use of_past::PastList;
use order::Span;
use page::Page;
use quorate_registry::error::Error;
use stream::ListStream;
use writer::ListWriter;

pub(crate) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    past::asked(request)?;
    let options = ListOptions::parse(api.names, request, resource)?;
    let writer = ListWriter::new(request, Renderer::new(api, request, resource, true)?)?;
    let prefix = resource.prefix(request.namespace());
    let scope = scope_of(&prefix, &options);
    if let Some(list) = PastList::find(api, request, &options, &scope).await? {
        return list.respond(api, request, options, writer).await;
    }
    let (snapshot, position) = starting_point(api, request, &options, &scope).await?;
    let after = position.as_ref().map(|position| Bytes::copy_from_slice(&position.last));
    let counts = position.as_ref().is_none_or(Position::is_inconsistent);
    // What is selected by is known of converted objects only: a webhook may change labels too.
    let (snapshot, index) = if options.selection.is_everything() {
        (snapshot, String::new())
    } else {
        let part = Part { prefix: &prefix, after: after.as_deref(), stop: None };
        let wanted = (&options.selection, options.limit);
        let selected = selected::part(api, resource, snapshot, part, wanted).await?;
        (selected.snapshot, selected.index)
    };
    let page = page::find(&snapshot, &prefix, after.as_deref(), &options, counts)
        .await
        .map_err(corrupt)?;
    let meta = list_meta(api, &options, &scope, &snapshot, position.as_ref(), &page);
    let (stop, revision) = (page.last.filter(|_| page.more), meta.revision);
    let is_newest = position.is_none() && !matches!(options.at, At::Exact(_));
    let meter = api.metrics.reads.list(resource, is_newest, &index);
    let selection = (!options.selection.is_everything()).then_some(options.selection);
    let part = Part { prefix: &prefix, after: after.as_deref(), stop: stop.as_ref() };
    let snapshot = converted::part(resource, snapshot, part).await?;
    let list = if writer.renderer().is_ranked() {
        let (after, stop, selection) = (after.as_deref(), stop.as_ref(), selection.as_ref());
        let span = Span { prefix: &prefix, after, stop, selection };
        let page = order::ranked(writer.renderer(), &snapshot, span).await.map_err(corrupt)?;
        ListStream::new(page, prefix, None, None, None, Arc::new(writer), meta)
    } else {
        ListStream::new(snapshot, prefix, after, stop, selection, Arc::new(writer), meta)
    };
    let list = list.counted_by(meter);
    let mut response = respond_with(api, request, list).await?;
    freshness::tell(api, revision, &mut response);
    Ok(response)
}

/// What continue tokens are bound to: the collection and the selectors.
pub(super) fn scope_of(prefix: &[u8], options: &ListOptions) -> String {
    format!("{}\n{}", prefix.escape_ascii(), options.selection.text())
}

/// The snapshot to list and, on a later page, where the page before it ended.
pub(super) async fn starting_point(
    api: &Api,
    request: &Request<'_>,
    options: &ListOptions,
    scope: &str,
) -> Result<(Snapshot, Option<Position>), Error> {
    if options.token.is_empty() {
        return Ok((component_status::state(api, request, options.at).await?, None));
    }
    let position = api.tokens.open(scope, &options.token).ok_or_else(|| {
        Error::bad_request(
            "continue key is not valid: it was not made by this cluster for this collection and selectors",
        )
    })?;
    if position.is_inconsistent() || component_status::is_observed(request.resource()?) {
        return Ok((component_status::state(api, request, At::MostRecent).await?, Some(position)));
    }
    match snapshot::exactly(api, request, position.revision).await? {
        Some(snapshot) => Ok((snapshot, Some(position))),
        None => {
            let rest = api.tokens.seal(scope, &position.inconsistent());
            Err(snapshot::failure(api, Status::continuation_expired(rest)))
        }
    }
}

fn list_meta(
    api: &Api,
    options: &ListOptions,
    scope: &str,
    snapshot: &Snapshot,
    before: Option<&Position>,
    page: &Page,
) -> ListMeta {
    let mut meta = ListMeta { revision: snapshot.revision(), ..ListMeta::default() };
    let (Some(last), true) = (&page.last, page.more) else {
        return meta;
    };
    // Every page shows the same state, so what one page has counted the next one only has to
    // subtract from.
    let remaining = match before {
        Some(before) if !before.is_inconsistent() => before.remaining.saturating_sub(page.items),
        _ => page.remaining,
    };
    meta.remaining = options.selection.is_everything().then_some(remaining);
    meta.token = api
        .tokens
        .seal(scope, &Position { revision: meta.revision, last: last.to_vec(), remaining });
    meta
}

/// A list of up to so many bytes that is ready at once is sent whole, with its length, even if it
/// has large objects.
const WHOLE_BYTES: usize = 1 << 20;

async fn respond_with(
    api: &Api,
    request: &Request<'_>,
    mut list: ListStream,
) -> Result<Response<Body>, Error> {
    match request.format.media {
        Media::Protobuf(_) => {
            return Ok(compression::apply(
                api,
                request,
                protobuf::answer(&request.format, list).await?,
            ));
        }
        Media::Cbor(_) => {
            return Ok(compression::apply(
                api,
                request,
                cbor::answer(&request.format, list).await?,
            ));
        }
        Media::Json | Media::Yaml => {}
    }
    let first = list.next_buffer().map_err(corrupt)?.unwrap_or_default();
    let first = list.with_rest(first, WHOLE_BYTES);
    let mut body =
        if list.is_done() { Body::full(first) } else { Body::stream(list.into_chunks(first)) };
    if request.format.pretty && request.format.media == Media::Json {
        body = respond::indent::body(body);
    }
    let mut response = respond::encoded(&request.format, StatusCode::OK, Bytes::new());
    *response.body_mut() = body;
    Ok(compression::apply(api, request, response))
}

fn corrupt(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}
