//! The audit log of a node: its options and its sinks (a file, a webhook).

mod appender;
mod file;
mod webhook;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use quorate_api::audit::{
    Audit, AuditWriter, AuditWriterHandle, Batching, Sink, SpoolOptions, parse_policy,
};
use quorate_env::Env;
use quorate_meta::Names;

use crate::error::Error;
use crate::files::read_text;

/// Batches for the file: the events of this time, or as many bytes as one write takes.
const FILE_BATCHING: Batching =
    Batching { events: usize::MAX, bytes: 512 << 10, wait: Duration::from_millis(50) };
/// Batches for the webhook: fewer events, less often.
const WEBHOOK_BATCHING: Batching =
    Batching { events: 400, bytes: 4 << 20, wait: Duration::from_secs(1) };

/// Options of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Audit log")]
pub(crate) struct AuditOptions {
    /// Policy that says how much of which request is logged.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_policy_file: Option<PathBuf>,
    /// File for the events, a line of JSON each (some end with blanks); `{node}` in its name is the
    /// node's number, `-` is standard output.
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    pub(crate) audit_log_path: Option<String>,
    /// MiB at which the file is rotated; 0 is never.
    #[arg(long, value_name = "MIB", default_value_t = 100)]
    pub(crate) audit_log_maxsize: u64,
    /// Days that rotated files stay; 0 is for ever.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub(crate) audit_log_maxage: u64,
    /// Rotated files that stay; 0 is any number.
    #[arg(long, value_name = "FILES", default_value_t = 0)]
    pub(crate) audit_log_maxbackup: usize,
    /// Where to send events as lists: a kubeconfig with the server's URL and authority, and a token
    /// or client certificate. It is read again when it changes, and so are the files that it names.
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    pub(crate) audit_webhook_config_file: Option<PathBuf>,
    /// MiB of events that may wait for the file, and as much for the webhook; events beyond that
    /// are dropped and counted.
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) audit_spool_size: u32,
}

/// An audit log and the writers that carry its events to the sinks.
pub(crate) type AuditLog = (Audit, Vec<(AuditWriter, AuditWriterHandle)>);

impl AuditOptions {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let file = |path: &PathBuf| path.display().to_string();
        let given = [
            ("audit-policy-file", self.audit_policy_file.as_ref().map(file)),
            ("audit-log-path", self.audit_log_path.clone()),
            ("audit-webhook-config-file", self.audit_webhook_config_file.as_ref().map(file)),
            ("audit-log-maxsize", Some(self.audit_log_maxsize.to_string())),
            ("audit-log-maxage", Some(self.audit_log_maxage.to_string())),
            ("audit-log-maxbackup", Some(self.audit_log_maxbackup.to_string())),
            ("audit-spool-size", Some(self.audit_spool_size.to_string())),
        ];
        given.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?))).collect()
    }

    /// Whether standard output gets the events.
    pub(crate) fn is_on_standard_output(&self) -> bool {
        self.audit_log_path.as_deref() == Some(file::STANDARD_OUTPUT)
    }

    /// Refuses one file for several nodes: each truncates it after a failed write, and rotates it.
    pub(crate) fn check_apart(&self, nodes: usize) -> Result<(), Error> {
        match &self.audit_log_path {
            Some(path)
                if nodes > 1 && path != file::STANDARD_OUTPUT && !path.contains("{node}") =>
            {
                Err(Error::config(format_args!(
                    "--audit-log-path {path}: {nodes} nodes cannot share a file; put {{node}} into its name"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The audit log that these options ask for, if any.
    pub(crate) fn open_log(
        &self,
        node: u64,
        names: &'static Names,
        env: &Env,
    ) -> Result<Option<AuditLog>, Error> {
        let Some(path) = &self.audit_policy_file else {
            return Ok(None);
        };
        let wrong = |error: &dyn std::fmt::Display| {
            Error::config(format_args!("{}: {error}", path.display()))
        };
        let policy =
            parse_policy(names, read_text(path)?.as_bytes()).map_err(|error| wrong(&error))?;
        let mut sinks: Vec<(Box<dyn Sink>, SpoolOptions)> = Vec::new();
        let bytes = usize::try_from(self.audit_spool_size).map_err(Error::config)? << 20;
        let spool = |batching| SpoolOptions { bytes, batching };
        if let Some(path) = &self.audit_log_path {
            let path = path.replace("{node}", &node.to_string());
            let limits = file::Limits {
                bytes: self.audit_log_maxsize.saturating_mul(1 << 20),
                age: Duration::from_secs(self.audit_log_maxage.saturating_mul(24 * 3600)),
                files: self.audit_log_maxbackup,
            };
            sinks.push((file::open(&path, limits, env.clock.clone())?, spool(FILE_BATCHING)));
        }
        if let Some(path) = &self.audit_webhook_config_file {
            let sink = webhook::WebhookSink::new(path, names, env.network.clone())?;
            sinks.push((Box::new(sink), spool(WEBHOOK_BATCHING)));
        }
        if sinks.is_empty() {
            return Err(wrong(&"a policy needs --audit-log-path or --audit-webhook-config-file"));
        }
        Ok(Some(Audit::new(policy, sinks, Arc::clone(&env.clock), names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_nodes_do_not_share_a_file() {
        let check = |path: Option<&str>, nodes, expect| {
            let options =
                AuditOptions { audit_log_path: path.map(str::to_owned), ..AuditOptions::default() };
            assert_eq!(options.check_apart(nodes).is_ok(), expect, "{path:?} {nodes}");
        };
        check(Some("audit.log"), 1, true);
        check(Some("audit.log"), 3, false);
        check(Some("audit-{node}.log"), 3, true);
        check(Some("-"), 3, true);
        check(None, 3, true);
    }
}
