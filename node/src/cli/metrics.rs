//! Options of metrics: which of them are shown, and where they are sent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use quorate_api::metrics::{AllowedLabels, MetricsOptions};

use crate::error::Error;
use crate::files::read_text;

/// Which metrics are shown, and where they are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Metrics")]
pub(crate) struct MetricsFlags {
    /// Show the metrics that this release hides because they are deprecated. The value is the
    /// release before this one: MAJOR.MINOR.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "RELEASE")]
    pub(crate) show_hidden_metrics_for_version: String,
    /// Metrics to switch off, by their full names, separated by commas. Can be repeated.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) disabled_metrics: Vec<String>,
    /// The values that a label of a metric may have; any other is shown as "unexpected". Can be
    /// repeated.
    #[arg(long, value_name = "METRIC,LABEL=VALUES")]
    pub(crate) allow_metric_labels: Vec<AllowedLabels>,
    /// A YAML file with a map of the same: METRIC,LABEL: VALUES.
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_metric_labels_manifest: Option<PathBuf>,
    /// Send metrics and traces by OTLP to a collector: http://HOST:PORT or https://HOST:PORT. The
    /// standard variables OTEL_EXPORTER_OTLP_..., OTEL_METRIC_EXPORT_INTERVAL and OTEL_BSP_... say
    /// how; their endpoints count where this option is not given.
    #[arg(long, value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,
    /// Of a million requests so many are traced; 0 where neither this option nor
    /// OTEL_TRACES_SAMPLER says it. Requests of traces that their clients record are traced besides,
    /// 100 in a second at most, and so are those that were slow or failed.
    #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) tracing_sampling_rate_per_million: Option<u32>,
}

impl MetricsFlags {
    /// Which metrics are shown.
    pub(crate) fn resolve(&self) -> Result<MetricsOptions, Error> {
        let mut allowed = self.allow_metric_labels.clone();
        if let Some(path) = &self.allow_metric_labels_manifest {
            let wrong = |error: &dyn std::fmt::Display| {
                Error::config(format_args!("{}: {error}", path.display()))
            };
            let manifest: BTreeMap<String, String> =
                serde_saphyr::from_str(&read_text(path)?).map_err(|error| wrong(&error))?;
            for (key, values) in &manifest {
                allowed.push(AllowedLabels::of(key, values).map_err(|error| wrong(&error))?);
            }
        }
        let show = &self.show_hidden_metrics_for_version;
        MetricsOptions::new(show, &self.disabled_metrics, allowed).map_err(Error::config)
    }

    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let one = |name: &str, value: String| format!("--{name}={value}");
        let show = Some(&self.show_hidden_metrics_for_version).filter(|show| !show.is_empty());
        let show = show.map(|show| one("show-hidden-metrics-for-version", show.clone()));
        let disabled = self.disabled_metrics.iter().cloned();
        let allowed = self.allow_metric_labels.iter().map(ToString::to_string);
        let manifest = self.allow_metric_labels_manifest.iter();
        let manifest = manifest.map(|path| path.display().to_string());
        show.into_iter()
            .chain(disabled.map(|name| one("disabled-metrics", name)))
            .chain(allowed.map(|allowed| one("allow-metric-labels", allowed)))
            .chain(manifest.map(|path| one("allow-metric-labels-manifest", path)))
            .chain(self.otlp_endpoint.iter().map(|url| one("otlp-endpoint", url.clone())))
            .chain(
                self.tracing_sampling_rate_per_million
                    .map(|rate| one("tracing-sampling-rate-per-million", rate.to_string())),
            )
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_and_the_options_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let check = |manifest: &str, show: &str, expect: Result<(), &str>| {
            let path = folder.path().join("labels.yaml");
            std::fs::write(&path, manifest).unwrap();
            let flags = MetricsFlags {
                show_hidden_metrics_for_version: show.to_owned(),
                allow_metric_labels: vec!["m,l=a".parse().unwrap()],
                allow_metric_labels_manifest: Some(path),
                ..MetricsFlags::default()
            };
            match (flags.resolve(), expect) {
                (Ok(_), Ok(())) => {}
                (Err(error), Err(expect)) => {
                    assert!(error.to_string().contains(expect), "{error}");
                }
                (found, _) => panic!("{manifest}: {found:?}"),
            }
        };
        check("m,other: 'a,b'\nn,l: x\n", "1.34", Ok(()));
        check("m: a\n", "", Err("--allow-metric-labels must have the form"));
        check("- a\n", "", Err("labels.yaml"));
        check("{}\n", "1.30", Err("must be omitted or have the value '1.34'"));
    }
}
