//! Lists as of a moment of the past, whole or in pages.
//!
//! Invariants: every page shows the revision that the first one has read, which its token carries;
//! a whole list is written from the archive while the client reads. No count of what is left is
//! told, because it would take reading all of it.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_store::Snapshot;

use super::order::{self, Span};
use super::source::PastSource;
use super::stream::ListStream;
use super::writer::ListWriter;
use super::{corrupt, page, respond_with};
use crate::Api;
use crate::body::Body;
use crate::continue_token::Position;
use crate::handlers::options::ListOptions;
use crate::handlers::past::{self, CHUNK_OBJECTS, Moment, PastChunk, PastState};
use crate::handlers::render::ListMeta;
use crate::handlers::{Request, freshness};

/// A list of the past.
pub(super) struct PastList {
    state: PastState,
    /// Where the page before ended.
    after: Option<Bytes>,
    scope: String,
}

impl PastList {
    /// The list that a request asks for; `None` when that is about the present.
    ///
    /// # Errors
    /// 400 for a moment that is malformed, or in the future, or beside parameters that do not fit;
    /// 410 beyond the archive.
    pub(super) async fn find(
        api: &Api,
        request: &Request<'_>,
        options: &ListOptions,
        scope: &str,
    ) -> Result<Option<Self>, Error> {
        let asked = past::asked(request)?;
        let scope = format!("past\n{scope}");
        if options.token.is_empty() {
            let Some(moment) = asked else { return Ok(None) };
            let state = past::resolve(api, request, moment).await?;
            return Ok(Some(Self { state, after: None, scope }));
        }
        match api.tokens.open(&scope, &options.token) {
            Some(Position { revision, last, .. }) => {
                let state = past::resolve(api, request, Moment::Revision(revision)).await?;
                Ok(Some(Self { state, after: Some(last.into()), scope }))
            }
            None if asked.is_some() => Err(Error::bad_request(
                "continue key is not valid: it was not made for a list of the past, this collection and these selectors",
            )),
            None => Ok(None),
        }
    }

    /// Answers with the list.
    pub(super) async fn respond(
        self,
        api: &Api,
        request: &Request<'_>,
        options: ListOptions,
        writer: ListWriter,
    ) -> Result<Response<Body>, Error> {
        let resource = request.resource()?;
        let prefix = resource.prefix(request.namespace());
        let (at, ranked) = (self.state.at, writer.renderer().is_ranked());
        let is_streamed = options.limit == 0 && resource.remote.is_none() && !ranked;
        let mut meta = ListMeta { revision: at, ..ListMeta::default() };
        let list = if is_streamed {
            let selection = (!options.selection.is_everything()).then_some(options.selection);
            let source = PastSource::new(self.state, resource.clone());
            ListStream::of_past(source, (prefix, self.after), selection, Arc::new(writer), meta)
        } else {
            let objects = self.read(resource, &prefix, &options).await?;
            let page = page::find(&objects, &prefix, None, &options, false);
            let page = page.await.map_err(corrupt)?;
            let stop = page.last.filter(|_| page.more);
            if let Some(last) = &stop {
                let position = Position { revision: at, last: last.to_vec(), remaining: 0 };
                meta.token = api.tokens.seal(&self.scope, &position);
            }
            let (objects, stop) = if ranked {
                let stop = stop.as_ref();
                let span = Span { prefix: &prefix, after: None, stop, selection: None };
                let page = order::ranked(writer.renderer(), &objects, span).await;
                (page.map_err(corrupt)?, None)
            } else {
                (objects, stop)
            };
            ListStream::new(objects, prefix, None, stop, None, Arc::new(writer), meta)
        };
        let mut response = respond_with(api, request, list).await?;
        freshness::tell(api, at, &mut response);
        Ok(response)
    }

    /// The objects of the page that are selected, and one after them if there is one.
    async fn read(
        &self,
        resource: &Resource,
        prefix: &[u8],
        options: &ListOptions,
    ) -> Result<Snapshot, Error> {
        let most = if options.limit == 0 { usize::MAX } else { options.limit.saturating_add(1) };
        let everything = options.selection.is_everything();
        let (mut found, mut after) = (Vec::new(), self.after.clone());
        while found.len() < most {
            let wanted =
                if everything { (most - found.len()).min(CHUNK_OBJECTS) } else { CHUNK_OBJECTS };
            let chunk = self.state.chunk(resource, prefix, after.as_deref(), wanted);
            let PastChunk { found: mut chunk, more } = chunk.map_err(past::failure)?;
            if let Some(remote) = &resource.remote {
                let mut values: Vec<Bytes> =
                    chunk.iter().map(|(_, entry)| entry.value.clone()).collect();
                remote.to_served(&mut values).await?;
                for ((_, entry), value) in chunk.iter_mut().zip(values) {
                    entry.value = value;
                }
            }
            for (key, entry) in chunk {
                if everything || options.selection.matches(&entry.value).map_err(corrupt)? {
                    found.push((key, entry));
                }
            }
            after = more;
            if after.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        found.truncate(most);
        Ok(Snapshot::of(self.state.at, found))
    }
}
