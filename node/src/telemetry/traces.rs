//! The export of traces by OTLP, through the OpenTelemetry SDK's batches.
//!
//! What is traced is recorded by `quorate_trace`, not by spans of `tracing` through
//! tracing-opentelemetry: that makes each span in a registry, with its extensions, before a sampler is
//! asked, which a request that is not sampled would pay for, and it cannot tell afterwards of a request
//! that was slow.
//!
//! Invariants: a request never waits for a collector; of spans there wait at most [`WAITING_SPANS`], or
//! as many as a standard variable says, and those beyond are counted and dropped; a stop waits at most
//! [`STOP_GRACE`].

mod exporter;
mod sampling;
mod sink;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanExporter as _, SpanProcessor,
};
use quorate_env::{Env, blocking};
use quorate_metrics::Registry;
use quorate_trace::{SamplerOptions, Tracer};

use self::exporter::CountedExporter;
use self::sink::{SpanCounts, SpanQueue};
use super::otlp::{OtlpCollector, ServiceIdentity, Signal, resource};
use crate::error::Error;

/// Spans that wait to be sent, where no variable says how many.
const WAITING_SPANS: usize = 4096;
/// The standard variable of the same.
const QUEUE_SIZE: &str = "OTEL_BSP_MAX_QUEUE_SIZE";
/// How long the last export may take when the node stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The export of traces.
#[derive(Debug)]
pub(crate) struct Traces {
    queue: Arc<SpanQueue>,
    tracer: Arc<Tracer>,
}

impl Traces {
    /// Begins to trace, if the option or a variable names a collector and none switches it off.
    pub(crate) fn start(
        endpoint: Option<&str>,
        per_million: Option<u32>,
        env: &Env,
        (identity, registry): (&ServiceIdentity, &Registry),
    ) -> Result<Option<Self>, Error> {
        let variable = |name: &str| std::env::var(name).ok();
        let Some(options) = sampling::find(per_million, variable) else { return Ok(None) };
        let Some(collector) = OtlpCollector::find(Signal::Traces, endpoint, variable)? else {
            return Ok(None);
        };
        Self::start_to(&collector, options, env, (identity, registry)).map(Some)
    }

    /// Begins to trace to a collector.
    fn start_to(
        collector: &OtlpCollector,
        options: SamplerOptions,
        env: &Env,
        (identity, registry): (&ServiceIdentity, &Registry),
    ) -> Result<Self, Error> {
        let (endpoint, per_million) = (collector.endpoint(), options.per_million);
        tracing::info!(endpoint, per_million, "traces are sent by OTLP");
        let mut exporter = collector.span_exporter(env)?;
        exporter.set_resource(&resource(identity));
        let counts = Arc::new(SpanCounts::new(registry));
        let exporter = CountedExporter::new(exporter, collector.timeout(), counts.clone());
        let limit = queue_size(std::env::var(QUEUE_SIZE).ok());
        let config = BatchConfigBuilder::default().with_max_queue_size(limit).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let queue = Arc::new(SpanQueue::new(processor, limit, env.clock.clone(), counts));
        let mut key = [0; 16];
        env.entropy.fill(&mut key);
        let tracer = Tracer::new(key, options, queue.clone());
        Ok(Self { queue, tracer })
    }

    /// Traces the requests of this node.
    pub(crate) fn tracer(&self) -> &Arc<Tracer> {
        &self.tracer
    }

    /// Exports a last time, for [`STOP_GRACE`] at most.
    pub(crate) fn stop(&self) {
        let stopped = blocking(|| self.queue.processor().shutdown_with_timeout(STOP_GRACE));
        if let Err(error) = stopped {
            tracing::debug!(%error, "the last traces were not sent");
        }
    }
}

/// How many spans may wait.
fn queue_size(variable: Option<String>) -> usize {
    let given = variable.and_then(|text| text.parse().ok());
    given.filter(|size| *size > 0).unwrap_or(WAITING_SPANS)
}
