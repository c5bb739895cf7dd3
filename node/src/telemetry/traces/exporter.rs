//! The exporter of spans with its results counted, and its failures told: once, and again when it
//! works.
//!
//! Invariant: an export takes no longer than the collector's timeout, whatever the way to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{self, SpanData};
use tokio::runtime::Handle;
use tokio::time;

use super::sink::SpanCounts;

/// The exporter.
#[derive(Debug)]
pub(super) struct CountedExporter {
    exporter: Arc<SpanExporter>,
    timeout: Duration,
    counts: Arc<SpanCounts>,
    /// Exports come from a thread of the SDK.
    runtime: Handle,
    has_failed: AtomicBool,
}

impl CountedExporter {
    pub(super) fn new(exporter: SpanExporter, timeout: Duration, counts: Arc<SpanCounts>) -> Self {
        let (exporter, runtime) = (Arc::new(exporter), Handle::current());
        Self { exporter, timeout, counts, runtime, has_failed: AtomicBool::new(false) }
    }

    async fn send(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let (exporter, limit) = (self.exporter.clone(), self.timeout);
        let sending = self.runtime.spawn(async move {
            time::timeout(limit, trace::SpanExporter::export(&*exporter, batch)).await
        });
        match sending.await {
            Ok(Ok(exported)) => exported,
            Ok(Err(_)) => Err(OTelSdkError::Timeout(limit)),
            Err(error) => Err(OTelSdkError::InternalFailure(error.to_string())),
        }
    }
}

impl trace::SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let exported = self.send(batch).await;
        self.counts.left(spans, exported.is_ok());
        match (&exported, self.has_failed.swap(exported.is_err(), Ordering::Relaxed)) {
            (Err(error), false) => tracing::warn!(%error, "traces could not be sent by OTLP"),
            (Ok(()), true) => tracing::info!("traces are sent by OTLP again"),
            _ => {}
        }
        exported
    }
}
