//! The current span of a task: what code below a request adds its spans to.
//!
//! Invariants: outside of a [`scope`], and in a request that is not sampled, nothing is recorded and
//! nothing allocated; a task that a request spawns has no current span, unless it is given one. An
//! open span ends when it is dropped, however that comes about.

use std::pin::Pin;
use std::sync::Arc;

use tokio::task_local;
use tokio::time::Instant;

use crate::context::{ParentSpan, TraceContext};
use crate::span::{AttributeValue, SpanBuffer, SpanKind, SpanRecord, child};
use crate::state::TraceState;

task_local! {
    static CURRENT: CurrentSpan;
}

/// The span that the code of a task runs in.
#[derive(Debug, Clone, Default)]
pub struct CurrentSpan {
    pub(crate) context: Option<TraceContext>,
    /// What other tracing systems keep with the trace.
    pub(crate) state: Option<TraceState>,
    /// `None` in a request that is not sampled.
    pub(crate) buffer: Option<Arc<SpanBuffer>>,
}

impl CurrentSpan {
    /// Its context; `None` outside of traced requests.
    #[must_use]
    pub fn context(&self) -> Option<TraceContext> {
        self.context
    }

    /// What goes to other processes besides the context.
    #[must_use]
    pub fn state(&self) -> Option<&TraceState> {
        self.state.as_ref()
    }

    /// The span, for a process that goes on with the trace; `None` where it is not recorded.
    #[must_use]
    pub fn recorded(self) -> Option<ParentSpan> {
        let context = self.context.filter(|context| context.is_sampled)?;
        Some(ParentSpan { context, state: self.state })
    }

    /// Whether spans are recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.buffer.is_some()
    }

    /// Runs code in this span.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self.clone(), work)
    }

    /// Adds a span that began and ended at these times.
    pub fn record(&self, name: &'static str, begin: Instant, end: Instant) {
        if let (Some(context), Some(buffer)) = (&self.context, &self.buffer) {
            buffer.push(child(name, context, &buffer.ids, (begin, end)));
        }
    }

    fn start(&self, name: &'static str) -> Option<OpenSpan> {
        let (context, buffer) = (self.context.as_ref()?, self.buffer.as_ref()?);
        let now = Instant::now();
        let record = child(name, context, &buffer.ids, (now, now));
        let context = TraceContext { span: record.span, ..*context };
        let (state, buffer) = (self.state.clone(), Some(buffer.clone()));
        let current = Self { context: Some(context), state, buffer };
        Some(OpenSpan(Box::new(UnderWay { current, record: Some(record) })))
    }
}

/// The current span of this task.
#[must_use]
pub fn current() -> CurrentSpan {
    CURRENT.try_with(CurrentSpan::clone).unwrap_or_default()
}

/// Runs a future in a span.
pub fn scope<F: Future>(span: CurrentSpan, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(span, work)
}

/// Begins a span below the current one; `None` where spans are not recorded.
#[must_use]
pub fn start(name: &'static str) -> Option<OpenSpan> {
    CURRENT.try_with(|current| current.start(name)).ok().flatten()
}

/// Adds a span below the current one that began and ended at these times.
pub fn record(name: &'static str, begin: Instant, end: Instant) {
    // Outside of requests there is no span.
    let _ = CURRENT.try_with(|current| current.record(name, begin, end));
}

/// Runs a future in a span of its own. It is pinned by the caller, so that it is not moved.
pub async fn in_span<F: Future>(name: &'static str, work: Pin<&mut F>) -> F::Output {
    match start(name) {
        None => work.await,
        Some(span) => span.run(work).await,
    }
}

/// Runs code in a span of its own.
pub fn measure<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    match start(name) {
        None => work(),
        Some(span) => span.0.current.enter(work),
    }
}

/// A span that is under way. It ends when it is dropped. It is in a box, so that futures keep no room for
/// it in requests that are not sampled.
#[derive(Debug)]
pub struct OpenSpan(Box<UnderWay>);

#[derive(Debug)]
struct UnderWay {
    current: CurrentSpan,
    /// Until it has ended.
    record: Option<SpanRecord>,
}

impl OpenSpan {
    /// The same span with an attribute.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<AttributeValue>) -> Self {
        if let Some(record) = &mut self.0.record {
            record.attributes.push((key, value.into()));
        }
        self
    }

    /// The same span, which stands for a request to another process.
    #[must_use]
    pub fn of_client(mut self) -> Self {
        if let Some(record) = &mut self.0.record {
            record.kind = SpanKind::Client;
        }
        self
    }

    /// It has failed.
    pub fn fail(&mut self, why: &str) {
        if let (Some(record), AttributeValue::Text(why)) = (&mut self.0.record, why.into()) {
            record.error = Some(why);
        }
    }

    /// Runs a future in it.
    pub fn run<F: Future>(&self, work: F) -> Pin<Box<impl Future<Output = F::Output> + use<F>>> {
        Box::pin(CURRENT.scope(self.0.current.clone(), work))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let (Some(mut record), Some(buffer)) = (self.record.take(), &self.current.buffer) {
            record.end = Instant::now();
            buffer.push(record);
        }
    }
}
