//! `quorate status`: the cluster as one node sees it. Fails when the node does not answer, and with
//! `--ready` when it cannot carry out a consistent read, so that it can be a health check.

mod archives;
mod validity;

use std::time::Duration;

use quorate_env::Env;
use quorate_raft::admin::{AdminRequest, NodeStatus};
use quorate_raft::{Member, Role};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::admin::Admin;
use crate::cli::{Output, Status, Target};
use crate::error::Error;
use crate::setup::now;
use crate::terminal::{print_line, print_table};

/// Between two questions whether a node is ready.
const READY_INTERVAL: Duration = Duration::from_millis(200);

/// Asks and prints.
pub(crate) async fn run(Status { ready, wait, query }: &Status, env: &Env) -> Result<(), Error> {
    let mut admin = match ready {
        true => ready_within(*wait, &query.target, env).await?,
        false => Admin::connect(&query.target, env).await?,
    };
    let status = admin.status().await?;
    // A health check waits for no other node.
    let archives = match ready {
        true => None,
        false => Some(archives::ask(&status.members, admin, &query.target, env).await),
    };
    let (ends, now) = (validity::read(&query.target.data_dir), now(env));
    match query.output {
        Output::Json => {
            let mut answer = to_json(&status);
            if let Some(archives) = &archives {
                answer["archives"] = archives::to_json(archives);
            }
            answer["certificates"] = validity::to_json(&ends, now);
            print_line(format_args!("{answer:#}"));
        }
        Output::Table => {
            let store = &status.store;
            let leader =
                store.leader.map_or_else(|| "unknown".to_owned(), |leader| leader.to_string());
            print_line(format_args!("cluster  {}", status.cluster));
            print_line(format_args!("node     {}", store.node));
            print_line(format_args!("leader   {leader} (term {})", store.term));
            print_line(format_args!(
                "applied  revision {}, {} entries behind",
                store.applied, store.lag
            ));
            print_line(format_args!(
                "log      entries {} to {}",
                status.log_purged + 1,
                status.log_last
            ));
            print_line(format_args!("history  from revision {}", store.oldest));
            print_line(format_args!("size     {} of {} bytes", store.size, store.size_limit));
            if status.changing_voters {
                print_line(
                    "voters   are changing: majorities of the old and of the new ones are needed",
                );
            }
            print_members(&status.members);
            if let Some(archives) = &archives {
                print_line("");
                archives::print(archives);
            }
            print_line("");
            validity::print(&ends, now);
        }
    }
    Ok(())
}

/// Connects to a node that can carry out a consistent read, once it can.
async fn ready_within(wait: Duration, target: &Target, env: &Env) -> Result<Admin, Error> {
    let deadline = Instant::now() + wait;
    loop {
        match ready_now(target, env).await {
            Err(Error::Failed(_)) if Instant::now() < deadline => sleep(READY_INTERVAL).await,
            outcome => return outcome,
        }
    }
}

async fn ready_now(target: &Target, env: &Env) -> Result<Admin, Error> {
    let mut admin = Admin::connect(target, env).await?;
    admin.carry_out(AdminRequest::Ready).await?;
    Ok(admin)
}

/// A row for each member.
pub(crate) fn print_members(members: &[Member]) {
    let rows: Vec<_> = members
        .iter()
        .map(|member| {
            let lag = member.lag.map_or_else(|| "-".to_owned(), |lag| lag.to_string());
            [
                member.node.to_string(),
                role(member.role).to_owned(),
                member.address.clone(),
                member.api.clone(),
                lag,
            ]
        })
        .collect();
    print_table(["NODE", "ROLE", "PEER ADDRESS", "API ADDRESS", "LAG"], &rows);
}

/// Members as JSON.
pub(crate) fn members_json(members: &[Member]) -> Value {
    let member = |member: &Member| {
        json!({
            "node": member.node,
            "role": role(member.role),
            "peerAddress": member.address,
            "apiAddress": member.api,
            "lag": member.lag,
        })
    };
    members.iter().map(member).collect()
}

fn to_json(status: &NodeStatus) -> Value {
    let store = &status.store;
    json!({
        "cluster": status.cluster.to_string(),
        "node": store.node,
        "leader": store.leader,
        "term": store.term,
        "applied": store.applied.get(),
        "lag": store.lag,
        "logPurged": status.log_purged,
        "logLast": status.log_last,
        "changingVoters": status.changing_voters,
        "oldest": store.oldest.get(),
        "size": store.size,
        "sizeLimit": store.size_limit,
        "members": members_json(&status.members),
    })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Leader => "leader",
        Role::Voter => "voter",
        Role::Learner => "learner",
    }
}
