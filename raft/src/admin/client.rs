//! The admin client: an operator's connection to a node.
//!
//! Invariant: one connection, made once; a command line asks a few things and exits. Any node may
//! be asked.

use std::io;
use std::sync::Arc;

use quorate_env::Network;

use super::message::{AdminAnswer, AdminRequest};
use super::service::Envelope;
use crate::cluster::ClusterId;
use crate::membership::AdminError;
use crate::network::PeerTls;
use crate::network::connector::ClientTls;
use crate::network::link::{Client, Dialer};
use crate::network::wire::{decode, encode};

/// A connection for administrative requests.
#[derive(Debug)]
pub struct AdminClient {
    client: Client,
}

impl AdminClient {
    /// Connects to the node whose peer RPC is at `host:port`, with the certificate of a member of
    /// this cluster.
    pub async fn connect(
        network: Arc<dyn Network>,
        tls: Arc<PeerTls>,
        cluster: ClusterId,
        address: &str,
    ) -> io::Result<Self> {
        let dialer =
            Dialer { network, tls: ClientTls::Member(tls), cluster: Some(cluster), fatal: None };
        Ok(Self { client: dialer.dial(address).await? })
    }

    /// Asks. The caller bounds the wait.
    pub async fn ask(&mut self, request: AdminRequest) -> Result<AdminAnswer, AdminError> {
        let answer = self.client.admin(encode(&Envelope { hops: 0, request })).await?;
        decode(answer.get_ref())?
    }
}
