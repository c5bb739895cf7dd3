//! Options of `serve` and `dev`, and their form as arguments of the processes that `dev` starts.

use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use quorate_access::flow_control::InFlightLimits;

use super::Access;
use super::{BackupFlags, Features, Kubelets, MetricsFlags, bytes};
use crate::audit::AuditOptions;
use crate::telemetry::LogFormat;

/// What an operator may tune from start to start.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Tuning {
    /// How log lines look.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// After SIGTERM, how long to go on serving while not ready.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) shutdown_delay_duration: Duration,
    /// After the start, how long `/livez` forgives what has not started yet.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) livez_grace_period: Duration,
    /// How long past revisions stay readable.
    #[arg(long, default_value = "5m", value_parser = humantime::parse_duration)]
    pub(crate) history_duration: Duration,
    /// Bytes of history beyond which the oldest goes before its time.
    #[arg(long, default_value = "4GiB", value_parser = bytes)]
    pub(crate) history_size: u64,
    /// Whether every version of every object is archived, so that the past can be read.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) archive: Switch,
    /// How far back the archive reaches.
    #[arg(long, default_value = "72h", value_parser = humantime::parse_duration)]
    pub(crate) archive_retention: Duration,
    /// Bytes of the archive beyond which the oldest goes before its time.
    #[arg(long, default_value = "10GiB", value_parser = bytes)]
    pub(crate) archive_size: u64,
    /// Bytes of keys and values at which nothing is added to them: deletes and renewals pass.
    #[arg(long, alias = "size-limit", default_value = "8GiB", value_parser = bytes)]
    pub(crate) store_size_limit: u64,
    /// Bytes of protobuf messages of stored objects that are kept for all readers, and of their
    /// sizes; taken as clients ask for protobuf.
    #[arg(long, default_value = "256MiB", value_parser = bytes)]
    pub(crate) protobuf_cache_size: u64,
    /// Log entries after which the state is made durable, so that the log before can go. Bounds
    /// what a restart applies again.
    #[arg(long, default_value = "20000", value_name = "ENTRIES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) snapshot_every: u64,
    /// Log entries before that point that stay, for members that are a little behind. Members
    /// further behind get a snapshot.
    #[arg(long, default_value = "50000", value_name = "ENTRIES")]
    pub(crate) log_keep: u64,
    /// Whether requests are queued by flow schemas and priority levels, which divide the limits of
    /// what reads and what writes as one sum; without, and where one of these is 0, each is a limit
    /// of its own, of which one user gets at most half.
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true")]
    pub(crate) enable_priority_and_fairness: bool,
    /// Requests that only read and may run at one time; 0 is any number.
    #[arg(long, default_value_t = InFlightLimits::default().read_only)]
    pub(crate) max_requests_inflight: usize,
    /// Requests that write and may run at one time; 0 is any number.
    #[arg(long, default_value_t = InFlightLimits::default().mutating)]
    pub(crate) max_mutating_requests_inflight: usize,
    /// Watches that may be open at one time; 0 is any number.
    #[arg(long, default_value_t = InFlightLimits::default().long_running)]
    pub(crate) max_watches: usize,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) kubelets: Kubelets,
    #[command(flatten)]
    pub(crate) features: Features,
    #[command(flatten)]
    pub(crate) audit: AuditOptions,
    #[command(flatten)]
    pub(crate) metrics: MetricsFlags,
    #[command(flatten)]
    pub(crate) backup: BackupFlags,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// It is.
    #[default]
    On,
    /// It is not.
    Off,
}

impl Tuning {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let Self {
            log_format,
            shutdown_delay_duration,
            livez_grace_period,
            history_duration,
            history_size,
            archive,
            archive_retention,
            archive_size,
            store_size_limit,
            protobuf_cache_size,
            ..
        } = self;
        let duration = |duration: &Duration| humantime::format_duration(*duration).to_string();
        let format = log_format.to_possible_value().expect("no format is hidden");
        let archive = archive.to_possible_value().expect("neither is hidden");
        [
            ("log-format", format.get_name().to_owned()),
            ("shutdown-delay-duration", duration(shutdown_delay_duration)),
            ("livez-grace-period", duration(livez_grace_period)),
            ("history-duration", duration(history_duration)),
            ("history-size", history_size.to_string()),
            ("archive", archive.get_name().to_owned()),
            ("archive-retention", duration(archive_retention)),
            ("archive-size", archive_size.to_string()),
            ("store-size-limit", store_size_limit.to_string()),
            ("protobuf-cache-size", protobuf_cache_size.to_string()),
            ("snapshot-every", self.snapshot_every.to_string()),
            ("log-keep", self.log_keep.to_string()),
            ("enable-priority-and-fairness", self.enable_priority_and_fairness.to_string()),
            ("max-requests-inflight", self.max_requests_inflight.to_string()),
            ("max-mutating-requests-inflight", self.max_mutating_requests_inflight.to_string()),
            ("max-watches", self.max_watches.to_string()),
        ]
        .map(|(name, value)| format!("--{name}={value}"))
        .into_iter()
        .chain(self.access.to_args())
        .chain(self.kubelets.to_args())
        .chain(self.features.to_args())
        .chain(self.audit.to_args())
        .chain(self.metrics.to_args())
        .chain(self.backup.to_args())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn tuning_survives_the_way_to_another_process() {
        let given = [
            "--history-duration=90s",
            "--history-size=1MiB",
            "--archive=off",
            "--archive-retention=36h",
            "--archive-size=2GiB",
            "--protobuf-cache-size=1GiB",
            "--log-format=json",
            "--shutdown-delay-duration=1500ms",
            "--livez-grace-period=30s",
            "--snapshot-every=7",
            "--log-keep=9",
            "--feature-gates=ClusterTrustBundle=false",
            "--feature-gates=DRADeviceTaints=true",
            "--runtime-config=batch/v1=false",
            "--runtime-config=apps/v1=false",
            "--emulated-version=1.34",
            "--enable-priority-and-fairness=false",
            "--show-hidden-metrics-for-version=1.34",
            "--disabled-metrics=a,b",
            "--disabled-metrics=c",
            "--allow-metric-labels=m,l=x,y",
            "--allow-metric-labels=n,l=",
            "--allow-metric-labels-manifest=labels.yaml",
            "--otlp-endpoint=https://collector:4317",
            "--tracing-sampling-rate-per-million=1000",
            "--kubelet-certificate-authority=ca.crt",
            "--kubelet-client-certificate=c.crt",
            "--kubelet-client-key=c.key",
            "--kubelet-preferred-address-types=InternalIP,Hostname",
            "--kubelet-timeout=7s",
            "--backup-to=s3://bucket/cluster",
            "--backup-key-file=backup.key",
            "--backup-every=6h",
            "--backup-keep=3",
            "--backup-with-credentials",
        ];
        let parse = |arguments: Vec<String>| {
            let all = ["quorate", "serve", "--data-dir=d"]
                .map(str::to_owned)
                .into_iter()
                .chain(arguments);
            let Command::Serve(serve) = Cli::try_parse_from(all).unwrap().command else {
                panic!("not serve")
            };
            serve.tuning
        };
        let tuning = parse(given.map(str::to_owned).to_vec());
        assert_eq!(tuning.history_duration, Duration::from_secs(90));
        assert_eq!(tuning.history_size, 1 << 20);
        assert_eq!(tuning.protobuf_cache_size, 1 << 30);
        assert_eq!((tuning.archive, tuning.archive_size), (Switch::Off, 2 << 30));
        assert_eq!(parse(tuning.to_args()), tuning);
    }
}
