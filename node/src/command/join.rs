//! `quorate join`: sets up a further node of an existing cluster. Serving it is the next command.
//!
//! The node makes its keys, a member signs them against a token, and nothing secret of the node
//! leaves it.

use quorate_env::Env;
use quorate_raft::admin::{AdminAnswer, AdminRequest, JoinRequest, JoinToken, join};
use quorate_raft::types::Peer;

use super::token::{parse_hash, peer_authority_hash};
use crate::admin::{Admin, unexpected};
use crate::cli::{ADVERTISE, Join, PEER_ADVERTISE, Target};
use crate::config::{Address, FORMAT, NodeConfig};
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::join_protocol::{JoinAnswer, SigningRequests};
use crate::setup::make_empty;
use crate::terminal::print_line;

/// How long a token is valid that the command makes for itself, milliseconds.
const OWN_TOKEN_LIFE_MS: u64 = 600_000;

/// Asks a member to let this node in, and makes its data folder.
pub(crate) async fn run(options: &Join, env: &Env) -> Result<(), Error> {
    let api =
        Address::new(&options.addresses.bind, options.addresses.advertise.as_deref(), ADVERTISE)?;
    let peer = Address::new(
        &options.addresses.peer_bind,
        options.addresses.peer_advertise.as_deref(),
        PEER_ADVERTISE,
    )?;
    let dir = DataDir::new(&options.data_dir);
    if options.if_needed && dir.is_set_up() {
        print_line(format_args!("{} is set up already", options.data_dir.display()));
        return Ok(());
    }
    let (token, authority) = credentials(options, env).await?;
    make_empty(&options.data_dir)?;
    let (request, keys) = SigningRequests::new()?;
    let this = Peer { address: peer.advertise.clone(), api: api.advertise.clone() };
    let request = JoinRequest { token, peer: this, csr: request.to_bytes()? };
    let joined = join(env.network.clone(), &options.member, authority, &request)
        .await
        .map_err(Error::Admin)?;
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

/// The token and the hash of the authority: those given, or a new one that a member makes for one of its
/// own data folder.
async fn credentials(options: &Join, env: &Env) -> Result<(JoinToken, [u8; 32]), Error> {
    if let Some(data_dir) = &options.member_data_dir {
        let target = Target { data_dir: data_dir.clone() };
        let mut admin =
            Admin::connect_to(&target, &options.member, env).await.map_err(|error| {
                Error::failed(format_args!("{} does not answer: {error}", options.member))
            })?;
        let description = options.data_dir.display().to_string();
        let request = AdminRequest::CreateToken { description, ttl_ms: OWN_TOKEN_LIFE_MS };
        let token = match admin.ask(request).await? {
            AdminAnswer::Token(token) => token,
            other => return Err(unexpected(&other)),
        };
        return Ok((token, peer_authority_hash(&admin.dir)?));
    }
    let given = options.token.as_deref().zip(options.ca_hash.as_deref());
    let (token, hash) = given.ok_or_else(|| Error::config("--token and --ca-hash go together"))?;
    Ok((token.parse().map_err(Error::config)?, parse_hash(hash)?))
}
