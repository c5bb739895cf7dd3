//! Telemetry. Logging: one subscriber for the process, to standard error, as text or as JSON lines.
//!
//! The level comes from `QUORATE_LOG` (the usual directive syntax), else `info` and warnings only
//! from libraries. Lines of traced requests have the ids of their trace. Metrics and traces: what the process and Raft add to those of the API, and their export.

mod archive;
mod otlp;
mod process;
mod raft;
mod traced_lines;
mod traces;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use futures::future::join;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::Error;
pub(crate) use archive::observe as observe_archive;
pub(crate) use otlp::{Otlp, ServiceIdentity};
pub(crate) use process::observe as observe_process;
pub(crate) use raft::{LogSyncs, count_leaders, observe as observe_raft};
use traced_lines::TracedLines;
pub(crate) use traces::Traces;

/// How long the last exports may take when the node stops.
const EXPORT_GRACE: Duration = Duration::from_secs(2);
const VARIABLE: &str = "QUORATE_LOG";
const DEFAULT: &str =
    "warn,quorate=info,quorate_raft=info,quorate_archive=info,quorate_store=info,quorate_api=info";

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where log lines go, and whether the last one got there.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogWriter {
    failed: Arc<AtomicBool>,
}

impl LogWriter {
    /// Whether the last line was written.
    pub(crate) fn works(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }

    fn told<T>(&self, written: io::Result<T>) -> io::Result<T> {
        self.failed.store(written.is_err(), Ordering::Relaxed);
        written
    }
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = io::stderr().write(bytes);
        self.told(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = io::stderr().flush();
        self.told(flushed)
    }
}

/// Exports metrics and traces a last time, for [`EXPORT_GRACE`] at most together: the SDK itself waits
/// for some seconds more where a collector does not answer.
#[expect(clippy::disallowed_methods, reason = "a simulation exports nothing")]
pub(crate) async fn stop_exports(otlp: Option<Arc<Otlp>>, traces: Option<Arc<Traces>>) {
    let metrics = spawn_blocking(move || otlp.iter().for_each(|otlp| otlp.stop()));
    let traces = spawn_blocking(move || traces.iter().for_each(|traces| traces.stop()));
    if timeout(EXPORT_GRACE, join(metrics, traces)).await.is_err() {
        tracing::warn!("the last metrics and traces could not be sent in time");
    }
}

/// Starts logging for this process.
pub(crate) fn start(form: LogFormat) -> Result<LogWriter, Error> {
    let directives = std::env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.to_owned());
    let filter = EnvFilter::try_new(directives)
        .map_err(|error| Error::config(format_args!("{VARIABLE}: {error}")))?;
    let log = LogWriter::default();
    let writer = log.clone();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.clone());
    match form {
        LogFormat::Text => {
            let builder = builder.with_ansi(false);
            builder.map_event_format(|format| TracedLines { format, form }).finish().init();
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true);
            builder.map_event_format(|format| TracedLines { format, form }).finish().init();
        }
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_written_is_noticed() {
        let log = LogWriter::default();
        let writer = log.clone();
        assert!(log.works());
        assert!(writer.told::<()>(Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(!log.works());
        assert!(writer.told(Ok(())).is_ok());
        assert!(log.works());
    }
}
