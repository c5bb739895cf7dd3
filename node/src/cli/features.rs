//! Options of feature gates, of API versions, and of certificates that are issued through the API.

use std::time::Duration;

use clap::Args;
use quorate_kinds::check_runtime_config;
use quorate_registry::features::{self, GateSettings, Gates};
use quorate_registry::release::Release;
use quorate_registry::runtime_config::RuntimeConfig;
use quorate_schema::Graph;

use crate::error::Error;

/// Feature gates, API versions, and the lifetime of issued certificates.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Features {
    /// How long certificates last that the cluster's signers issue, when the request asks for
    /// nothing or for more.
    #[arg(long, default_value = "365d", value_parser = lifetime)]
    pub(crate) cluster_signing_duration: Duration,
    /// Features to switch on or off: Feature=true,Other=false. Can be repeated.
    #[arg(long, value_name = "LIST", long_help = feature_gates_help())]
    pub(crate) feature_gates: Vec<GateSettings>,
    /// Versions and resources of the API to switch on or off: GROUP/VERSION, GROUP/VERSION/RESOURCE,
    /// api/all, api/ga, api/beta or api/alpha, each with =true or =false. Can be repeated.
    #[arg(long, value_name = "LIST")]
    pub(crate) runtime_config: Vec<RuntimeConfig>,
    /// The release to behave like, from 1.32 to 1.35.
    #[arg(long, default_value_t = Release::CURRENT, value_name = "RELEASE", value_parser = emulated)]
    pub(crate) emulated_version: Release,
}

/// What feature gates and runtime configuration come to.
#[derive(Debug)]
pub(crate) struct Switches {
    /// The enabled features.
    pub(crate) gates: Gates,
    /// Which API versions are on or off.
    pub(crate) runtime_config: RuntimeConfig,
    /// What the operator should know of the options.
    pub(crate) warnings: Vec<String>,
}

impl Features {
    /// What the options come to; what cannot be followed is refused by its name.
    pub(crate) fn resolve(&self, graph: &Graph) -> Result<Switches, Error> {
        let mut settings = GateSettings::default();
        self.feature_gates.iter().for_each(|list| settings.extend(list));
        let resolved = settings.resolve(self.emulated_version).map_err(Error::config)?;
        let runtime_config = RuntimeConfig::merged(&self.runtime_config).map_err(Error::config)?;
        let told = check_runtime_config(graph, &resolved.gates, &runtime_config);
        let mut warnings = resolved.warnings;
        warnings.extend(told.map_err(Error::config)?);
        Ok(Switches { gates: resolved.gates, runtime_config, warnings })
    }

    /// The same as command-line arguments.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let duration = humantime::format_duration(self.cluster_signing_duration);
        let gates = self.feature_gates.iter().map(|list| format!("--feature-gates={list}"));
        let versions = self.runtime_config.iter().map(|list| format!("--runtime-config={list}"));
        let fixed = [
            format!("--cluster-signing-duration={duration}"),
            format!("--emulated-version={}", self.emulated_version),
        ];
        fixed.into_iter().chain(gates).chain(versions).collect()
    }
}

fn feature_gates_help() -> String {
    format!(
        "Features to switch on or off: Feature=true,Other=false. Can be repeated.\n\n{}",
        features::help()
    )
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

/// A release, `kube=` before it or not.
fn emulated(text: &str) -> Result<Release, String> {
    let release: Release = text
        .strip_prefix("kube=")
        .unwrap_or(text)
        .parse()
        .map_err(|error: quorate_registry::release::InvalidRelease| error.to_string())?;
    let (oldest, newest) = (Release::OLDEST_EMULATED, Release::CURRENT);
    if (oldest..=newest).contains(&release) {
        Ok(release)
    } else {
        Err(format!("must be from {oldest} to {newest}"))
    }
}
