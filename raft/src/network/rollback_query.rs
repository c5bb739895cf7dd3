//! The question of the rollback check, as one call of the peer RPC.
//!
//! Invariant: a voter whose process is not there counts as one that remembers nothing, for what it
//! had seen is forgotten; a voter that cannot be reached is asked again by the caller.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tonic::Code;

use super::links::{Links, Purpose};
use super::wire::decode;
use crate::rollback::{HighWaterMark, NoAnswer, VoterQuery};
use crate::types::Peer;

/// Asks over the control links.
pub(crate) struct RollbackQuery {
    links: Arc<Links>,
}

impl RollbackQuery {
    /// Over these links.
    pub(crate) fn new(links: Arc<Links>) -> Self {
        Self { links }
    }
}

impl VoterQuery for RollbackQuery {
    async fn ask(&self, peer: &Peer) -> Result<Option<HighWaterMark>, NoAnswer> {
        let link = self.links.link(&peer.address, Purpose::Control);
        let mut connected = link.connected().await.map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => NoAnswer::Nothing,
            _ => NoAnswer::Unreachable,
        })?;
        match connected.client.rollback_check(Bytes::new()).await {
            Ok(answer) => decode(answer.get_ref()).map_err(|_| NoAnswer::Nothing),
            Err(status) if status.code() == Code::Unimplemented => Err(NoAnswer::Nothing),
            Err(status) => {
                link.refused(&connected, &status).await;
                Err(NoAnswer::Unreachable)
            }
        }
    }
}
