//! Logging: one subscriber for the process, to standard error, as text or as JSON lines.
//!
//! The level comes from `QUORATE_LOG` (the usual directive syntax), else `info` and warnings only
//! from libraries.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::Error;

const VARIABLE: &str = "QUORATE_LOG";
const DEFAULT: &str = "warn,quorate=info,quorate_raft=info,quorate_store=info,quorate_api=info";

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging for this process.
pub(crate) fn start(format: LogFormat) -> Result<(), Error> {
    let directives = std::env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.to_owned());
    let filter = EnvFilter::try_new(directives)
        .map_err(|error| Error::config(format_args!("{VARIABLE}: {error}")))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_ansi(false).finish().init(),
        LogFormat::Json => builder.json().flatten_event(true).finish().init(),
    }
    Ok(())
}
