//! `quorate member` and `quorate leader`: the members of the cluster, and its leader.

use quorate_env::Env;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use quorate_raft::types::Peer;

use super::status::{members_json, print_members};
use crate::admin::{Admin, unexpected};
use crate::cli::{Leader, Member, Output};
use crate::error::Error;
use crate::terminal::print_line;

/// Carries out `quorate member`.
pub(crate) async fn run(command: Member, env: &Env) -> Result<(), Error> {
    match command {
        Member::List(query) => {
            let members =
                match Admin::connect(&query.target, env).await?.ask(AdminRequest::Members).await? {
                    AdminAnswer::Members(members) => members,
                    other => return Err(unexpected(&other)),
                };
            match query.output {
                Output::Json => print_line(format_args!("{:#}", members_json(&members))),
                Output::Table => print_members(&members),
            }
        }
        Member::Add { peer_address: address, api_address: api, target } => {
            let mut admin = Admin::connect(&target, env).await?;
            let node = node_of(
                admin.ask(AdminRequest::Add(Peer { address: address.clone(), api })).await?,
            )?;
            print_line(format_args!("node {node} may join from {address}"));
        }
        Member::Promote { node, target } => {
            Admin::connect(&target, env).await?.carry_out(AdminRequest::Promote(node)).await?;
            print_line(format_args!("node {node} votes"));
        }
        Member::Remove { node, target } => {
            Admin::connect(&target, env).await?.carry_out(AdminRequest::Remove(node)).await?;
            print_line(format_args!(
                "node {node} is no longer a member; its data folder can be deleted"
            ));
        }
    }
    Ok(())
}

/// Carries out `quorate leader`.
pub(crate) async fn lead(command: Leader, env: &Env) -> Result<(), Error> {
    let Leader::Transfer { to, target } = command;
    let node = node_of(Admin::connect(&target, env).await?.ask(AdminRequest::Transfer(to)).await?)?;
    print_line(format_args!("node {node} leads"));
    Ok(())
}

fn node_of(answer: AdminAnswer) -> Result<u64, Error> {
    match answer {
        AdminAnswer::Node(node) => Ok(node),
        other => Err(unexpected(&other)),
    }
}
