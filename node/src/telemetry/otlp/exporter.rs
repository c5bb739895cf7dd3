//! The exporter with its failures told: once, and again when it works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;

/// The exporter.
pub(super) struct OtlpExporter {
    exporter: MetricExporter,
    has_failed: AtomicBool,
}

impl OtlpExporter {
    pub(super) fn new(exporter: MetricExporter) -> Self {
        Self { exporter, has_failed: AtomicBool::new(false) }
    }
}

impl PushMetricExporter for OtlpExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let exported = self.exporter.export(metrics).await;
        let has_failed = exported.is_err();
        match (&exported, self.has_failed.swap(has_failed, Ordering::Relaxed)) {
            (Err(error), false) => tracing::warn!(%error, "metrics could not be sent by OTLP"),
            (Ok(()), true) => tracing::info!("metrics are sent by OTLP again"),
            _ => {}
        }
        exported
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
