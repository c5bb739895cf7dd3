//! Options of feature gates and of certificates that are issued through the API.

use std::time::Duration;

use clap::Args;
use quorate_registry::features::Gates;
use quorate_registry::runtime_config::RuntimeConfig;

/// Feature gates, and the lifetime of issued certificates.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Features {
    /// How long certificates last that the cluster's signers issue, when the request asks for
    /// nothing or for more.
    #[arg(long, default_value = "365d", value_parser = lifetime)]
    pub(crate) cluster_signing_duration: Duration,
    /// Features to switch on or off: Feature=true,Other=false.
    #[arg(long, default_value_t)]
    pub(crate) feature_gates: Gates,
    /// Versions and resources of the API to switch on or off: GROUP/VERSION[/RESOURCE][=false],
    /// api/all, api/ga, api/beta, api/alpha.
    #[arg(long, default_value_t, hide_default_value = true)]
    pub(crate) runtime_config: RuntimeConfig,
}

impl Features {
    /// The same as command-line arguments.
    pub(crate) fn to_args(&self) -> Vec<String> {
        vec![
            format!(
                "--cluster-signing-duration={}",
                humantime::format_duration(self.cluster_signing_duration)
            ),
            format!("--feature-gates={}", self.feature_gates),
            format!("--runtime-config={}", self.runtime_config),
        ]
    }
}

/// No certificate lasts less than ten minutes.
fn lifetime(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_secs(600) {
        Err("must be at least 10m".to_owned())
    } else {
        Ok(duration)
    }
}
