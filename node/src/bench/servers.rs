//! The servers under measurement: addresses, credentials, process ids.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;

use super::Options;
use crate::config::NodeConfig;
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::files::read_text;
use crate::pki::{self, Identity, names};
use quorate_env::Env;
use quorate_webhook::{Connection, HTTP_1, HTTP_2};

/// The servers under load.
#[derive(Debug)]
pub(super) struct Servers {
    servers: Vec<String>,
    tls: Arc<ClientConfig>,
    /// Their processes, as far as known.
    pub(super) pids: Vec<u32>,
}

impl Servers {
    /// Takes what the options name, and the rest from the data folder of a `dev` cluster.
    pub(super) fn find(options: &Options, data_dir: &Path) -> Result<Self, Error> {
        let (authority, identity) = match (&options.ca, &options.cert, &options.key) {
            (Some(ca), Some(cert), Some(key)) => {
                let identity = Identity { certificate: read_text(cert)?, key: read_text(key)? };
                (read_text(ca)?, identity)
            }
            _ => {
                let folder = data_dir.join("pki");
                let authority = read_text(&folder.join(names::AUTHORITY_CERTIFICATE))?;
                (authority, Identity::read(&folder, names::ADMIN)?)
            }
        };
        let nodes: Vec<DataDir> = (1..)
            .map(|node| DataDir::of_node(data_dir, node))
            .take_while(DataDir::is_set_up)
            .collect();
        let pids = nodes
            .iter()
            .filter_map(|dir| std::fs::read_to_string(dir.pid_file()).ok()?.trim().parse().ok());
        let pids = if options.pids.is_empty() { pids.collect() } else { options.pids.clone() };
        let servers = if options.server.is_empty() {
            let address = |dir| NodeConfig::read(dir).map(|config| config.api.advertise);
            nodes.iter().map(address).collect::<Result<Vec<_>, _>>()?
        } else {
            options.server.clone()
        };
        if servers.is_empty() {
            return Err(Error::config(format_args!(
                "{} is not the folder of a dev cluster: name servers with --server",
                data_dir.display()
            )));
        }
        let protocols: &[&[u8]] = if options.http == 1 { &HTTP_1 } else { &HTTP_2 };
        Ok(Self { servers, tls: pki::client_config(&authority, Some(&identity), protocols)?, pids })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.servers.len()
    }

    /// The address that the client with this number uses.
    pub(super) fn server(&self, client: usize) -> &str {
        &self.servers[client % self.servers.len()]
    }

    /// A connection for the client with this number.
    pub(super) async fn connect(&self, env: &Env, client: usize) -> Result<Connection, Error> {
        Ok(Connection::open(&*env.network, self.server(client), self.tls.clone()).await?)
    }
}
