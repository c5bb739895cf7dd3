//! `quorate join`: sets up a further node of an existing cluster. Serving it is the next command.
//!
//! The node makes its keys, a member signs them against a token, and nothing secret of the node
//! leaves it.

use quorate_env::Env;
use quorate_raft::admin::{JoinRequest, join};
use quorate_raft::types::Peer;

use super::token::parse_hash;
use crate::cli::{ADVERTISE, Join, PEER_ADVERTISE};
use crate::config::{Address, FORMAT, NodeConfig};
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::join_protocol::{JoinAnswer, SigningRequests};
use crate::setup::make_empty;
use crate::terminal::print_line;

/// Asks a member to let this node in, and makes its data folder.
pub(crate) async fn run(options: &Join, env: &Env) -> Result<(), Error> {
    let api =
        Address::new(&options.addresses.bind, options.addresses.advertise.as_deref(), ADVERTISE)?;
    let peer = Address::new(
        &options.addresses.peer_bind,
        options.addresses.peer_advertise.as_deref(),
        PEER_ADVERTISE,
    )?;
    let token = options.token.parse().map_err(Error::config)?;
    let authority = parse_hash(&options.ca_hash)?;
    make_empty(&options.data_dir)?;
    let (request, keys) = SigningRequests::new()?;
    let this = Peer { address: peer.advertise.clone(), api: api.advertise.clone() };
    let request = JoinRequest { token, peer: this, csr: request.to_bytes()? };
    let joined = join(env.network.clone(), &options.member, authority, &request)
        .await
        .map_err(Error::failed)?;
    let dir = DataDir::new(&options.data_dir);
    let answer = JoinAnswer::from_bytes(&joined.identity)?;
    let naming = answer.naming()?;
    answer.write(&dir, &keys)?;
    let (cluster, node) = (joined.cluster, joined.node);
    NodeConfig { format: FORMAT, cluster, node, naming, api, peer, founders: vec![] }
        .write(&dir)?;
    let path = options.data_dir.display();
    print_line(format_args!("node {node} of cluster {cluster} is set up in {path}, as a learner"));
    print_line(format_args!("  serve it:         quorate serve --data-dir {path}"));
    print_line(format_args!("  let it vote:      quorate member promote {node} --data-dir {path}"));
    Ok(())
}
