//! The queue of spans that wait to be sent: bounded, so that nothing waits for a collector, and
//! counted.
//!
//! Invariants: no more spans wait than the limit, those under way to the collector included, so that
//! the SDK's own queue, which drops without telling, is never full; a trace is queued whole or not
//! at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor,
};
use quorate_env::Clock;
use quorate_metrics::{CounterSeries, Registry};
use quorate_trace::{self as traces, AttributeValue, FinishedTrace, SpanRecord, TraceSink};
use tokio::time::Instant;

use crate::telemetry::otlp::SERVICE;

/// What has become of spans, and how many wait.
#[derive(Debug)]
pub(super) struct SpanCounts {
    waiting: AtomicUsize,
    exported: CounterSeries,
    failed: CounterSeries,
    dropped: CounterSeries,
}

impl SpanCounts {
    pub(super) fn new(registry: &Registry) -> Self {
        let spans = registry.counter::<1>("quorate_trace_spans_total");
        let [exported, failed, dropped] =
            ["exported", "failed", "dropped"].map(|result| spans.with([result]));
        Self { waiting: AtomicUsize::new(0), exported, failed, dropped }
    }

    /// Whether so many more spans may wait; they do then.
    fn enter(&self, spans: usize, limit: usize) -> bool {
        let waiting = self.waiting.fetch_add(spans, Ordering::AcqRel) + spans;
        if waiting > limit {
            self.waiting.fetch_sub(spans, Ordering::AcqRel);
        }
        waiting <= limit
    }

    /// So many spans wait no longer.
    pub(super) fn left(&self, spans: usize, are_exported: bool) {
        self.waiting.fetch_sub(spans, Ordering::AcqRel);
        let series = if are_exported { &self.exported } else { &self.failed };
        series.add(spans as u64);
    }

    fn dropped(&self, spans: usize) {
        if spans > 0 {
            self.dropped.add(spans as u64);
        }
    }
}

/// The queue.
#[derive(Debug)]
pub(super) struct SpanQueue {
    processor: BatchSpanProcessor,
    limit: usize,
    clock: Arc<dyn Clock>,
    counts: Arc<SpanCounts>,
    scope: InstrumentationScope,
}

impl SpanQueue {
    pub(super) fn new(
        processor: BatchSpanProcessor,
        limit: usize,
        clock: Arc<dyn Clock>,
        counts: Arc<SpanCounts>,
    ) -> Self {
        let scope =
            InstrumentationScope::builder(SERVICE).with_version(env!("CARGO_PKG_VERSION")).build();
        Self { processor, limit, clock, counts, scope }
    }

    pub(super) fn processor(&self) -> &BatchSpanProcessor {
        &self.processor
    }

    fn span(
        &self,
        (trace, state): (TraceId, &TraceState),
        span: SpanRecord,
        is_remote: bool,
        wall: &WallClock,
    ) -> SpanData {
        let SpanRecord { name, kind, span, parent, begin, end, attributes, error } = span;
        let id = |id: traces::SpanId| SpanId::from_bytes(id.0.to_be_bytes());
        let state = state.clone();
        SpanData {
            span_context: SpanContext::new(trace, id(span), TraceFlags::SAMPLED, false, state),
            parent_span_id: parent.map_or(SpanId::INVALID, id),
            parent_span_is_remote: is_remote,
            span_kind: match kind {
                traces::SpanKind::Internal => SpanKind::Internal,
                traces::SpanKind::Server => SpanKind::Server,
                traces::SpanKind::Client => SpanKind::Client,
            },
            name,
            start_time: wall.at(begin),
            end_time: wall.at(end),
            attributes: attributes.into_iter().map(|(key, value)| attribute(key, value)).collect(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: error.map_or(Status::Unset, Status::error),
            instrumentation_scope: self.scope.clone(),
        }
    }
}

impl TraceSink for SpanQueue {
    fn export(&self, trace: FinishedTrace) {
        let FinishedTrace { trace, state, spans, has_remote_parent, dropped } = trace;
        let count = spans.len();
        if !self.counts.enter(count, self.limit) {
            return self.counts.dropped(count + dropped);
        }
        self.counts.dropped(dropped);
        let wall = WallClock { now: Instant::now(), now_ms: self.clock.now_ms() };
        let trace = TraceId::from_bytes(trace.0.to_be_bytes());
        let state = state.and_then(|state| state.header().parse().ok()).unwrap_or_default();
        for (index, span) in spans.into_iter().enumerate() {
            let is_remote = has_remote_parent && index + 1 == count;
            self.processor.on_end(self.span((trace, &state), span, is_remote, &wall));
        }
    }
}

fn attribute(key: &'static str, value: AttributeValue) -> KeyValue {
    let value = match value {
        AttributeValue::Text(text) => Value::from(text),
        AttributeValue::Number(number) => Value::from(number),
        AttributeValue::Seconds(seconds) => Value::from(seconds),
    };
    KeyValue::new(key, value)
}

/// The time of day of moments in the past.
struct WallClock {
    now: Instant,
    now_ms: u64,
}

impl WallClock {
    fn at(&self, moment: Instant) -> SystemTime {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.now_ms);
        now - self.now.saturating_duration_since(moment)
    }
}
