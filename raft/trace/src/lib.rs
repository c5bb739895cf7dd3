//! Traces: the spans of one request, across the parts of a node and across nodes.
//!
//! A [`Tracer`] begins a [`Trace`] for each request and decides then whether it is sampled
//! ([`Sampler`]). While the request runs, [`scope`] makes its span the current one of the task, so that
//! code below adds spans ([`start`], [`in_span`], [`record`]) without an argument. When the request
//! has ended, its spans go to a [`TraceSink`].
//!
//! Invariants: what is not sampled allocates nothing and costs one look at a task-local value for each
//! span that it leaves out; a trace has at most [`MAX_SPANS`] spans; nothing here waits.
//!
//! Not here: the export (the node's), and what is worth a span.

mod context;
mod current;
mod ids;
mod sampler;
mod span;
mod state;
#[cfg(test)]
mod tests;
mod tracer;

pub use context::{ParentSpan, SpanId, TRACEPARENT, TraceContext, TraceId};
pub use current::{CurrentSpan, OpenSpan, current, in_span, measure, record, scope, start};
pub use sampler::{MAX_PARENT_SAMPLED, ParentSampling, Sampler, SamplerOptions, Sampling};
pub use span::{
    AttributeValue, FinishedTrace, MAX_SPANS, SpanKind, SpanRecord, TRACE_TEXT_BYTES, TraceSink,
};
pub use state::{MAX_STATE_BYTES, TRACESTATE, TraceState};
pub use tracer::{LateSpan, Trace, Tracer};
