//! The tracer of a process: begins the traces of requests, and hands them to the sink when they end.
//!
//! Invariants: a request is sampled or not from its beginning on; a trace that is not sampled may still
//! be handed over when it ends, with what its request has measured of itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::context::{ParentSpan, SpanId, TraceContext, TraceId};
use crate::current::CurrentSpan;
use crate::ids::{Ids, Numbers};
use crate::sampler::{Sampler, SamplerOptions, Sampling};
use crate::span::{FinishedTrace, SpanBuffer, SpanRecord, TraceSink, child};
use crate::state::TraceState;

/// Begins traces.
#[derive(Debug)]
pub struct Tracer {
    ids: Arc<Ids>,
    sampler: Sampler,
    sink: Arc<dyn TraceSink>,
}

/// The trace of a request that is under way.
#[derive(Debug)]
pub struct Trace<'t> {
    tracer: &'t Tracer,
    /// The span of the request.
    span: CurrentSpan,
    parent: Option<SpanId>,
    sampling: Sampling,
}

/// A span that ends after its request.
#[derive(Debug)]
pub struct LateSpan {
    sink: Arc<dyn TraceSink>,
    trace: TraceId,
    state: Option<TraceState>,
    /// Until it has ended.
    span: Option<SpanRecord>,
}

impl Drop for LateSpan {
    fn drop(&mut self) {
        let Some(mut span) = self.span.take() else { return };
        span.end = Instant::now();
        let (trace, state, spans) = (self.trace, self.state.take(), vec![span]);
        let (has_remote_parent, dropped) = (false, 0);
        self.sink.export(FinishedTrace { trace, state, spans, has_remote_parent, dropped });
    }
}

impl Tracer {
    /// A tracer whose ids come from this random key.
    #[must_use]
    pub fn new(key: [u8; 16], options: SamplerOptions, sink: Arc<dyn TraceSink>) -> Arc<Self> {
        let sampler = Sampler::new(options);
        Arc::new(Self { ids: Arc::new(Ids::new(key)), sampler, sink })
    }

    /// Begins the trace of a request of a client, which may name a parent.
    #[must_use]
    pub fn begin(&self, parent: Option<ParentSpan>) -> Trace<'_> {
        let numbers = self.ids.numbers();
        let context = parent.as_ref().map(|parent| &parent.context);
        let sampling = self.sampler.decide(context, numbers.random());
        self.trace(parent, sampling, &numbers)
    }

    /// Goes on with a trace of another node, which records it.
    #[must_use]
    pub fn resume(&self, parent: ParentSpan) -> Trace<'_> {
        self.trace(Some(parent), Sampling::ByParent, &self.ids.numbers())
    }

    fn trace(
        &self,
        parent: Option<ParentSpan>,
        sampling: Sampling,
        numbers: &Numbers,
    ) -> Trace<'_> {
        let is_sampled = sampling != Sampling::No;
        let (parent, state) = match parent {
            Some(ParentSpan { context, state }) => (Some(context), state),
            None => (None, None),
        };
        let trace = parent.map_or_else(|| numbers.trace(), |parent| parent.trace);
        let context = TraceContext { trace, span: numbers.span(), is_sampled };
        let buffer = is_sampled.then(|| Arc::new(SpanBuffer::new(self.ids.clone())));
        let span = CurrentSpan { context: Some(context), state, buffer };
        let parent = parent.map(|parent| parent.span);
        Trace { tracer: self, span, parent, sampling }
    }
}

impl Trace<'_> {
    /// The span of the request, for [`crate::scope`].
    #[must_use]
    pub fn span(&self) -> &CurrentSpan {
        &self.span
    }

    fn context(&self) -> TraceContext {
        self.span.context.expect("the span of a request has a context")
    }

    /// Whether its spans are recorded, and why.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// What the request has measured of itself, as a part of it.
    #[must_use]
    pub fn part(&self, name: &'static str, begin: Instant, end: Instant) -> SpanRecord {
        child(name, &self.context(), &self.tracer.ids, (begin, end))
    }

    /// From when on a request counts as slow.
    #[must_use]
    pub fn slow(&self) -> Duration {
        self.tracer.sampler.slow()
    }

    /// Takes back that the request was sampled for the sake of its client, whose user is not
    /// known.
    pub fn distrust(&mut self) {
        if self.sampling == Sampling::ByParent {
            self.tracer.sampler.give_back();
            self.sampling = Sampling::No;
        }
    }

    /// A span that begins now and is handed over by itself when it is dropped: of what goes on when
    /// the request has been answered.
    #[must_use]
    pub fn late(&self, name: &'static str) -> LateSpan {
        let now = Instant::now();
        let span = Some(self.part(name, now, now));
        let (sink, state) = (self.tracer.sink.clone(), self.span.state.clone());
        LateSpan { sink, trace: self.context().trace, state, span }
    }

    /// Hands the trace over: with the spans that were recorded, or with these parts where none were.
    pub fn finish(self, mut root: SpanRecord, parts: Vec<SpanRecord>) {
        let context = self.context();
        (root.span, root.parent) = (context.span, self.parent);
        let recorded = self.span.buffer.as_ref().map(|buffer| buffer.close());
        let (mut spans, dropped) = recorded.unwrap_or((parts, 0));
        spans.push(root);
        let has_remote_parent = self.parent.is_some();
        let (trace, state) = (context.trace, self.span.state);
        let sink = &self.tracer.sink;
        sink.export(FinishedTrace { trace, state, spans, has_remote_parent, dropped });
    }
}
