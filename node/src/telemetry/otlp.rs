//! The export of metrics by OTLP, through the OpenTelemetry SDK.
//!
//! The SDK asks the registry for the values of counters and gauges whenever it exports; observations
//! of histograms go into its own instruments as they are made, for it has none that are asked.
//! Invariants: a request never waits for a collector; what is not delivered in time is dropped, and
//! the next export has the totals again; a collector that fails is named in the log once, until it
//! works again. What is sent is what `/metrics` shows, but that a reset of that page changes nothing
//! here.

mod exporter;
#[cfg(test)]
pub(super) mod tests;
mod transport;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter, MeterProvider};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Instrument, PeriodicReader, SdkMeterProvider, Stream};
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use quorate_env::{Env, blocking};
use quorate_metrics::{HistogramExport, MetricRow, MetricType, Registry, SampleValue, Since};

use crate::error::Error;
pub(super) use transport::{OtlpCollector, Signal};

/// Series of one metric: one more than the registry has.
const SERIES: usize = 10_002;
/// How long the last export may take when the node stops. The SDK waits five seconds for one that a
/// collector does not answer.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// What the metrics are called by at the collector, unless a variable says otherwise.
pub(super) const SERVICE: &str = "quorate";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

/// The attributes of what is exported. The standard variables come before what the node knows.
pub(super) fn resource(identity: &ServiceIdentity) -> Resource {
    let resource = Resource::builder_empty()
        .with_service_name(SERVICE)
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", identity.instance.clone()),
            KeyValue::new("quorate.cluster.id", identity.cluster.clone()),
        ])
        .with_detectors(&[
            Box::new(TelemetryResourceDetector),
            Box::new(EnvResourceDetector::new()),
        ]);
    match std::env::var(SERVICE_NAME) {
        Ok(name) if !name.is_empty() => resource.with_service_name(name).build(),
        _ => resource.build(),
    }
}

/// What the exporter tells of the node.
#[derive(Debug, Clone)]
pub(crate) struct ServiceIdentity {
    /// The cluster and the node's number in it.
    pub(crate) instance: String,
    /// The cluster.
    pub(crate) cluster: String,
}

/// The export.
pub(crate) struct Otlp {
    provider: SdkMeterProvider,
    meter: Meter,
    /// Made at the beginning: while the SDK gathers, it makes none, and waits for ever where that is
    /// asked of it, as by a metric that is counted when it is gathered.
    histograms: HashMap<&'static str, Histogram<f64>>,
}

impl Otlp {
    /// Begins to export, if the option or a variable names a collector.
    pub(crate) fn start(
        option: Option<&str>,
        env: &Env,
        identity: &ServiceIdentity,
    ) -> Result<Option<Arc<Self>>, Error> {
        let collector =
            OtlpCollector::find(Signal::Metrics, option, |name| std::env::var(name).ok())?;
        collector.map(|collector| Self::start_to(&collector, env, identity)).transpose()
    }

    /// Begins to export to a collector.
    fn start_to(
        collector: &OtlpCollector,
        env: &Env,
        identity: &ServiceIdentity,
    ) -> Result<Arc<Self>, Error> {
        tracing::info!(endpoint = collector.endpoint(), "metrics are sent by OTLP");
        let exporter = exporter::OtlpExporter::new(collector.exporter(env)?);
        let provider = SdkMeterProvider::builder()
            .with_reader(PeriodicReader::builder(exporter).build())
            .with_resource(resource(identity))
            .with_view(|_: &Instrument| {
                Stream::builder().with_cardinality_limit(SERIES).build().ok()
            })
            .build();
        let meter = provider.meter(SERVICE);
        let rows = MetricRow::all().into_iter();
        let rows = rows.filter(|row| row.metric_type == MetricType::Histogram);
        let histogram = |row: MetricRow| {
            let builder = meter.f64_histogram(row.name).with_description(row.text);
            (row.name, builder.with_boundaries(row.buckets).build())
        };
        let histograms = rows.map(histogram).collect();
        Ok(Arc::new(Self { provider, meter, histograms }))
    }

    /// Exports the counters and gauges of a registry.
    pub(crate) fn observe(&self, registry: &Arc<Registry>) {
        for row in registry.rows() {
            let name = row.name;
            let registry = Arc::downgrade(registry);
            match row.metric_type {
                MetricType::Counter => drop(
                    self.meter
                        .f64_observable_counter(name)
                        .with_description(row.text)
                        .with_callback(move |to| {
                            values(&registry, name, |value, labels| to.observe(value, labels));
                        })
                        .build(),
                ),
                MetricType::Gauge => drop(
                    self.meter
                        .f64_observable_gauge(name)
                        .with_description(row.text)
                        .with_callback(move |to| {
                            values(&registry, name, |value, labels| to.observe(value, labels));
                        })
                        .build(),
                ),
                MetricType::Histogram => {}
            }
        }
    }

    /// Exports a last time, for a moment at most.
    pub(crate) fn stop(&self) {
        let stopped = blocking(|| self.provider.shutdown_with_timeout(STOP_GRACE));
        if let Err(error) = stopped {
            tracing::debug!(%error, "the last metrics were not sent");
        }
    }
}

/// Tells the values of a counter or a gauge.
fn values(registry: &Weak<Registry>, name: &str, mut tell: impl FnMut(f64, &[KeyValue])) {
    let Some(registry) = registry.upgrade() else { return };
    let Some(metric) = registry.gather_one(name, Since::Start) else { return };
    for sample in &metric.samples {
        let SampleValue::Number(value) = sample.value else { continue };
        let labels = metric.row.labels.iter().zip(&sample.labels);
        let labels: Vec<_> =
            labels.map(|(label, value)| KeyValue::new(*label, value.to_string())).collect();
        tell(value, &labels);
    }
}

impl HistogramExport for Otlp {
    fn series(&self, row: &MetricRow, labels: &[(&str, &str)]) -> Box<dyn Fn(f64) + Send + Sync> {
        let histogram = self.histograms.get(row.name).expect("the table has the metric");
        let labels: Vec<_> = labels
            .iter()
            .map(|(label, value)| KeyValue::new((*label).to_owned(), (*value).to_owned()))
            .collect();
        let bound = histogram.bind(&labels);
        Box::new(move |value| bound.record(value))
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}
