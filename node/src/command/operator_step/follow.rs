//! `quorate operator-step follow`: looks after the node of a pod while it serves. It takes over a renewed
//! certificate, makes a voter of the node once it has caught up, and on the leader keeps the registration
//! and its join token valid, and removes API nodes whose pods have been gone for a while.
//! When the pod of an API node ends and its node has, the node leaves the cluster.
//!
//! Invariant: each look starts from what it finds; a look that fails is told once and repeated.

use std::time::Duration;

use quorate_env::Env;
use quorate_raft::Role;
use quorate_raft::admin::{AdminAnswer, AdminRequest, TokenInfo};
use tokio::time::{sleep, timeout};

use super::departed::Departed;
use super::host::Host;
use super::registration::{Founded, Registration};
use super::{certificate, leave, setup, target};
use crate::admin::{Admin, unexpected};
use crate::cli::{FollowStep, Pod, PodRole};
use crate::error::Error;
use crate::signals::Termination;
use crate::terminal::{print_line, print_warning};

/// How long a node whose pod ends may take.
const NODE_END_LIMIT: Duration = Duration::from_secs(30);
/// Between two looks whether it has ended.
const END_LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long a join token is valid, milliseconds.
const TOKEN_LIFE_MS: u64 = 24 * 3_600_000;
/// A token with less than this left is replaced, milliseconds.
const TOKEN_RENEWAL_MS: u64 = TOKEN_LIFE_MS / 2;
/// What a token is for, in the list of tokens.
const TOKEN_DESCRIPTION: &str = "pods";

/// Looks again and again until the pod ends.
pub(super) async fn run(options: &FollowStep, env: &Env) -> Result<(), Error> {
    let mut termination = Termination::listen()?;
    let pod = &options.pod;
    let (mut told, mut departed) = (String::new(), Departed::default());
    loop {
        let looked = tokio::select! {
            looked = look(options, &mut departed, env) => looked,
            () = termination.requested() => break,
        };
        let problem = looked.err().map(|error| error.to_string()).unwrap_or_default();
        if problem != told && !problem.is_empty() {
            print_warning(&problem);
        }
        told = problem;
        tokio::select! {
            () = sleep(options.interval) => {}
            () = termination.requested() => break,
        }
    }
    match pod.role {
        PodRole::Voter => Ok(()),
        PodRole::Api => {
            node_ended(pod, env).await;
            leave::leave(pod, env).await
        }
    }
}

/// Waits until the node of a pod that ends answers no longer: it finishes its requests as a member.
async fn node_ended(pod: &Pod, env: &Env) {
    let ended = async {
        while Admin::connect(&target(pod), env).await.is_ok() {
            sleep(END_LOOK_INTERVAL).await;
        }
    };
    // It leaves the cluster all the same.
    let _ = timeout(NODE_END_LIMIT, ended).await;
}

async fn look(options: &FollowStep, departed: &mut Departed, env: &Env) -> Result<(), Error> {
    let pod = &options.pod;
    if certificate::take_over(pod)? {
        print_line("the serving certificate was replaced");
    }
    let mut admin = Admin::connect(&target(pod), env).await?;
    let (node, status) = (admin.config.node, admin.status().await?);
    let is_learner =
        status.members.iter().any(|member| member.node == node && member.role == Role::Learner);
    if pod.role == PodRole::Voter && is_learner {
        admin.carry_out(AdminRequest::Promote(node)).await?;
        print_line(format_args!("node {node} votes"));
    }
    if pod.role == PodRole::Voter && status.store.leader == Some(node) {
        register(pod, &mut admin, env).await?;
        if let Some(labels) = &options.api_pods {
            let pods = Host::connect(pod, env).await?.pod_addresses(labels).await?;
            let service = admin.config.api.advertise.clone();
            let limit = options.forget_after;
            for node in departed.overdue(&status.members, &service, &pods, limit) {
                admin.carry_out(AdminRequest::Remove(node)).await?;
                print_line(format_args!("node {node} is removed: its pod is gone"));
            }
        }
    }
    Ok(())
}

/// On the leader: keeps the cluster registered, with a token that is valid for a while.
async fn register(pod: &Pod, admin: &mut Admin, env: &Env) -> Result<(), Error> {
    let mut host = Host::connect(pod, env).await?;
    let before = host.registered().await?;
    let mut founded = setup::founded(&pod.data_dir)?;
    if let Some(Registration::Founded(registered)) =
        before.as_ref().map(|before| &before.registration)
    {
        if registered.cluster != founded.cluster {
            return Err(Error::failed(format_args!(
                "the registration {} is of cluster {}, not of this one",
                pod.registration, registered.cluster
            )));
        }
        founded.token.clone_from(&registered.token);
    }
    let tokens = match admin.ask(AdminRequest::Tokens).await? {
        AdminAnswer::Tokens(tokens) => tokens,
        other => return Err(unexpected(&other)),
    };
    if before.is_some() && is_valid(&founded, &tokens, env.clock.now_ms()) {
        return Ok(());
    }
    let request = AdminRequest::CreateToken {
        description: TOKEN_DESCRIPTION.to_owned(),
        ttl_ms: TOKEN_LIFE_MS,
    };
    founded.token = match admin.ask(request).await? {
        AdminAnswer::Token(token) => Some(token.to_string()),
        other => return Err(unexpected(&other)),
    };
    host.register(&Registration::Founded(founded), before.as_ref()).await?;
    Ok(())
}

/// Whether the registered token is known to the cluster and lasts for a while.
pub(super) fn is_valid(founded: &Founded, tokens: &[TokenInfo], now_ms: u64) -> bool {
    let id = founded.token.as_deref().and_then(|token| token.split_once('.')).map(|(id, _)| id);
    tokens
        .iter()
        .any(|token| Some(token.id.as_str()) == id && token.expires_ms > now_ms + TOKEN_RENEWAL_MS)
}
