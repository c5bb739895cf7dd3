//! How the programs come to a server.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Whatever ends a program.
pub type Failure = Box<dyn std::error::Error>;

/// A client with the credentials of a kubeconfig, through one address.
///
/// # Errors
/// When the kubeconfig is none, or the address is no `HOST:PORT`.
pub async fn connect(kubeconfig: &str, address: &str) -> Result<Client, Failure> {
    let kubeconfig = Kubeconfig::read_from(Path::new(kubeconfig))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.cluster_url = format!("https://{address}").parse()?;
    Ok(Client::try_from(config)?)
}
