//! The admin client of a node on this machine. It shows the node's own certificate, from the node's
//! data folder.
//!
//! Invariant: an answer of another kind than the request asks for is a defect of the server and is
//! reported as such.

use std::sync::Arc;
use std::time::Duration;

use quorate_env::Env;
use quorate_raft::PeerTls;
use quorate_raft::admin::{AdminAnswer, AdminClient, AdminRequest, NodeStatus};
use tokio::time::timeout;

use crate::cli::Target;
use crate::config::NodeConfig;
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::pki;

/// How long a node may take to answer. Changes of the membership wait for the log.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A connection to the node of a data folder.
#[derive(Debug)]
pub(crate) struct Admin {
    client: AdminClient,
    /// The node's identity.
    pub(crate) config: NodeConfig,
    /// Its data folder.
    pub(crate) dir: DataDir,
}

impl Admin {
    /// Connects; the node must be running.
    pub(crate) async fn connect(target: &Target, env: &Env) -> Result<Self, Error> {
        let config = NodeConfig::read(&DataDir::new(&target.data_dir))?;
        let (node, address) = (config.node, local(&config.peer.bind));
        Self::connect_to(target, &address, env).await.map_err(|error| {
            Error::failed(format_args!("node {node} does not answer at {address}: {error}"))
        })
    }

    /// Connects to another member, as the node of the data folder.
    pub(crate) async fn connect_to(
        target: &Target,
        address: &str,
        env: &Env,
    ) -> Result<Self, Error> {
        let dir = DataDir::new(&target.data_dir);
        let config = NodeConfig::read(&dir)?;
        let tls = PeerTls::new(&pki::peer_credentials(&dir.pki())?).map_err(Error::config)?;
        let (network, tls) = (env.network.clone(), Arc::new(tls));
        let client = AdminClient::connect(network, tls, config.cluster, address).await;
        Ok(Self { client: client.map_err(Error::failed)?, config, dir })
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask(&mut self, request: AdminRequest) -> Result<AdminAnswer, Error> {
        match timeout(ANSWER_LIMIT, self.client.ask(request)).await {
            Ok(answer) => answer.map_err(Error::Admin),
            Err(_) => Err(Error::failed(format_args!(
                "no answer within {ANSWER_LIMIT:?}; the outcome is unknown"
            ))),
        }
    }

    /// Asks for the node's status.
    pub(crate) async fn status(&mut self) -> Result<NodeStatus, Error> {
        match self.ask(AdminRequest::Status).await? {
            AdminAnswer::Status(status) => Ok(status),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends a request whose only answer is that it is done.
    pub(crate) async fn carry_out(&mut self, request: AdminRequest) -> Result<(), Error> {
        match self.ask(request).await? {
            AdminAnswer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

/// An answer that does not fit its request.
pub(crate) fn unexpected(answer: &AdminAnswer) -> Error {
    // The name of the variant only: a token's answer holds its secret.
    let name = format!("{answer:?}");
    let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    Error::failed(format_args!(
        "the node gave an unexpected answer, {name}: is it of another version?"
    ))
}

/// Where a process on the same machine reaches what is bound to this address.
fn local(bind: &str) -> String {
    let port = bind.rsplit_once(':').map_or("", |(_, port)| port);
    if bind.starts_with("0.0.0.0:") {
        format!("127.0.0.1:{port}")
    } else if bind.starts_with("[::]:") {
        format!("[::1]:{port}")
    } else {
        bind.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_is_reached_on_loopback() {
        let check = |bind, expect: &str| assert_eq!(local(bind), expect);
        check("0.0.0.0:7443", "127.0.0.1:7443");
        check("[::]:7443", "[::1]:7443");
        check("10.0.0.7:7443", "10.0.0.7:7443");
    }
}
