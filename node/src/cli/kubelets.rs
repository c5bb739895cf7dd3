//! Options of the way to kubelets.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use quorate_api::kubelet::{ADDRESS_TYPES, Identity, KubeletClient, KubeletOptions};
use quorate_env::Clock;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::Error;
use crate::files::read_text;

/// How kubelets are reached, for logs and proxies.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Kubelets")]
pub(crate) struct Kubelets {
    /// Authority (PEM) of kubelets; without it their certificates are not checked.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubelet_certificate_authority: Option<PathBuf>,
    /// Certificate (PEM) that is shown to kubelets.
    #[arg(long, value_name = "FILE", requires = "kubelet_client_key")]
    pub(crate) kubelet_client_certificate: Option<PathBuf>,
    /// Key (PEM) of that certificate.
    #[arg(long, value_name = "FILE", requires = "kubelet_client_certificate")]
    pub(crate) kubelet_client_key: Option<PathBuf>,
    /// Types of node addresses, in the order in which they are tried.
    #[arg(long, value_name = "TYPE", value_delimiter = ',', default_values = ADDRESS_TYPES)]
    pub(crate) kubelet_preferred_address_types: Vec<String>,
    /// How long connecting to a kubelet may take.
    #[arg(long, default_value = "5s", value_parser = humantime::parse_duration)]
    pub(crate) kubelet_timeout: Duration,
}

impl Kubelets {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let types = self.kubelet_preferred_address_types.join(",");
        let timeout = humantime::format_duration(self.kubelet_timeout);
        let mut args = vec![
            format!("--kubelet-preferred-address-types={types}"),
            format!("--kubelet-timeout={timeout}"),
        ];
        let files = [
            ("kubelet-certificate-authority", &self.kubelet_certificate_authority),
            ("kubelet-client-certificate", &self.kubelet_client_certificate),
            ("kubelet-client-key", &self.kubelet_client_key),
        ];
        args.extend(
            files
                .into_iter()
                .filter_map(|(name, file)| Some(format!("--{name}={}", file.as_ref()?.display()))),
        );
        args
    }

    /// The client of kubelets. Its files are read once.
    pub(crate) fn client(&self, clock: &Arc<dyn Clock>) -> Result<KubeletClient, Error> {
        let authorities = self.kubelet_certificate_authority.as_deref().map(certificates);
        let identity = match (&self.kubelet_client_certificate, &self.kubelet_client_key) {
            (Some(certificate), Some(key)) => Some(identity(certificate, key)?),
            _ => None,
        };
        let options = KubeletOptions {
            authorities: authorities.transpose()?.unwrap_or_default(),
            identity,
            address_types: self.kubelet_preferred_address_types.clone(),
            timeout: self.kubelet_timeout,
        };
        KubeletClient::new(options, clock.clone()).map_err(Error::config)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read_text(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(Error::config(format_args!("{}: no certificate", path.display()))),
        Err(error) => Err(Error::config(format_args!("{}: {error}", path.display()))),
    }
}

fn identity(certificate: &Path, key: &Path) -> Result<Identity, Error> {
    let text = read_text(key)?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|error| Error::config(format_args!("{}: {error}", key.display())))?;
    Ok((certificates(certificate)?, key))
}
