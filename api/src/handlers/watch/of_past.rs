//! A watch of the past: the changes after an archived revision, then the living watch.
//!
//! Invariants: every change is told once and in order, also where the one goes over into the other;
//! one chunk of the archive is in memory at a time. The stream ends as any watch does, or with an
//! ERROR event when a part of the archive is not here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use quorate_access::flow_control::CountedWatch;
use quorate_env::blocking;
use quorate_meta::Status;
use quorate_registry::error::Error;
use quorate_store::{Batch, Event, HistoryError, Purges, Watch};
use quorate_wire::stored::CorruptValue;
use tokio::time::Instant;

use super::end::ResourceEnd;
use super::event;
use super::parts::Parts;
use super::start::{refusal, respond_with};
use super::stream::WatchStream;
use crate::Api;
use crate::body::{Body, Chunks};
use crate::handlers::narrowing::narrowed;
use crate::handlers::options::WatchOptions;
use crate::handlers::past::{self, Moment, PastState};
use crate::handlers::render::Renderer;
use crate::handlers::{Request, converted};
use crate::lifecycle::Phase;
use crate::metrics::WatchMeter;

/// Bytes of changes that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// Seconds that this part of a watch lasts at most, when the client names no end.
const DEFAULT_TIMEOUT_SECONDS: u64 = 1800;

/// The part of a watch that is told from the archive.
struct PastWatch {
    api: Arc<Api>,
    /// The archive, and up to where it has been told.
    state: PastState,
    prefix: Bytes,
    options: WatchOptions,
    renderer: Renderer,
    end: ResourceEnd,
    counted: CountedWatch,
    meter: WatchMeter,
    deadline: Instant,
    /// The first object of a stream of tables brings the columns.
    first: bool,
}

/// What comes next.
enum Next {
    /// Lines, perhaps none.
    Lines(Bytes),
    /// Lines that are the last ones.
    Last(Bytes),
    /// The living watch.
    Living(Watch),
}

/// The event as if what was purged had not been there.
fn told(event: &Event) -> Option<Event> {
    let mut event = event.clone();
    event.previous = event.previous.filter(|entry| !past::is_purged(entry));
    event.current = match event.current {
        Some(entry) if past::is_purged(&entry) => None,
        other => other,
    };
    (event.current.is_some() || event.previous.is_some()).then_some(event)
}

/// A watch on its way to the present.
enum WatchStage {
    Past(Box<PastWatch>),
    Living(Box<WatchStream>),
    Ended,
}

/// Answers with the changes after a moment.
pub(super) async fn handle(
    api: &Arc<Api>,
    request: &Request<'_>,
    moment: Moment,
) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let options = WatchOptions::parse(api.names, request, resource)?;
    let renderer = Renderer::new(api, request, resource, false)?;
    let prefix = resource.prefix(request.namespace());
    let state = past::resolve(api, request, moment).await?;
    blocking(|| state.past.changes(state.at, 1)).map_err(past::failure)?;
    let after = state.at;
    let seconds = options.timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    let watch = PastWatch {
        api: api.clone(),
        state,
        options,
        renderer,
        end: ResourceEnd::new(api, resource.removal.clone()),
        counted: api.flow_control.watches().join(prefix.clone()),
        meter: api.metrics.watches.meter(resource, request.namespace(), false),
        prefix,
        deadline: Instant::now() + Duration::from_secs(seconds),
        first: true,
    };
    respond_with(api, request, Body::stream(into_chunks(watch)), after)
}

/// The stream as a body.
fn into_chunks(watch: PastWatch) -> Chunks {
    Box::pin(futures::stream::unfold(WatchStage::Past(Box::new(watch)), |mut stage| async move {
        loop {
            stage = match stage {
                WatchStage::Ended => return None,
                WatchStage::Living(mut stream) => {
                    let buffer = stream.next().await?;
                    return Some((Ok::<_, io::Error>(buffer), WatchStage::Living(stream)));
                }
                WatchStage::Past(mut watch) => match watch.next().await {
                    Next::Living(living) => WatchStage::Living(Box::new(watch.goes_on(living))),
                    Next::Lines(lines) if lines.is_empty() => WatchStage::Past(watch),
                    Next::Lines(lines) => return Some((Ok(lines), WatchStage::Past(watch))),
                    Next::Last(lines) => return Some((Ok(lines), WatchStage::Ended)),
                },
            };
        }
    }))
}

impl PastWatch {
    async fn next(&mut self) -> Next {
        if Instant::now() >= self.deadline || self.api.lifecycle.phase() == Phase::Ending {
            return Next::Last(Bytes::new());
        }
        // The living watch tells what was purged as long as the history has it.
        let newest = self.api.store.snapshot();
        if Purges::since(&newest, &self.prefix, self.state.at).is_none() {
            match self.api.store.watch(self.prefix.clone(), self.state.at) {
                Ok(living) => return Next::Living(living),
                Err(HistoryError::Compacted { .. }) => {}
                Err(error) => return Next::Last(self.last_line(&refusal(self.state.at, error))),
            }
        }
        let read = blocking(|| self.state.past.changes(self.state.at, READ_BYTES));
        let batches = match read {
            Ok(batches) => batches,
            Err(error) => return Next::Last(self.last_line(&past::failure(error).into_status())),
        };
        let mut out = Vec::new();
        for batch in batches {
            if self.end.is_before(batch.revision).await {
                return Next::Last(out.into());
            }
            let whole = out.len();
            if let Err(status) = self.tell(&batch, &mut out).await {
                // A part of a transaction would look like all of it.
                out.truncate(whole);
                out.extend_from_slice(&self.last_line(&status));
                return Next::Last(out.into());
            }
            self.state.at = batch.revision;
        }
        tokio::task::yield_now().await;
        Next::Lines(out.into())
    }

    /// Adds the lines of a transaction.
    async fn tell(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<(), Status> {
        let resource = self.renderer.resource();
        let is_watched = |event: &&Event| {
            event.key.starts_with(&self.prefix) && past::has_shape(resource, &event.key)
        };
        let events: Vec<Event> = batch.events.iter().filter(is_watched).filter_map(told).collect();
        if events.is_empty() {
            return Ok(());
        }
        let events = match converted::events(resource, events.iter()).await {
            Ok(converted) => converted.unwrap_or(events),
            Err(error) => return Err(error.into_status()),
        };
        let broken = |error: CorruptValue| Status::internal(error.to_string());
        let selection =
            Some(&self.options.selection).filter(|selection| !selection.is_everything());
        for change in &events {
            let Some(seen) = event::classify(change, selection).map_err(broken)? else { continue };
            let before = out.len();
            let first = std::mem::take(&mut self.first);
            event::line(&self.renderer, &change.key, &seen, batch.revision, first, out)
                .map_err(broken)?;
            self.meter.made(&[u32::try_from(out.len() - before).unwrap_or(u32::MAX)]);
        }
        Ok(())
    }

    /// The line that says why the stream ends.
    fn last_line(&self, status: &Status) -> Bytes {
        let mut line = Vec::new();
        if let Err(error) = event::error(&self.renderer, status, &mut line) {
            tracing::error!(%error, "a watch of the past ends without saying why");
        }
        line.into()
    }

    /// The living watch of what comes from here on.
    fn goes_on(self, watch: Watch) -> WatchStream {
        let Self { api, options, renderer, end, counted, meter, deadline, first, .. } = self;
        let left = deadline.saturating_duration_since(Instant::now()).as_secs();
        let watch = narrowed(watch, renderer.resource(), &options.selection);
        let selection = (!options.selection.is_everything()).then_some(options.selection);
        let parts = Parts {
            watch,
            initial: None,
            selection,
            renderer,
            end,
            bookmarks: options.bookmarks,
            timeout: options.timeout.map(|_| left),
            counted,
            meter,
            first,
        };
        WatchStream::new(&api, parts)
    }
}
