//! `quorate operator-step leave`: takes the node of a pod out of the cluster before the pod ends for good. A
//! voter leaves only where its StatefulSet is scaled below it; a restart changes no member.
//!
//! Invariant: a folder has the file [`LEAVING`] before its node may be out of the members, and only the
//! other members say whether it is.

use std::time::Duration;

use quorate_env::Env;
use quorate_raft::AdminError;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use tokio::time::sleep;

use super::host::{Host, VoterSet};
use super::{ordinal, target};
use crate::admin::{Admin, unexpected};
use crate::cli::Pod;
use crate::data_dir::DataDir;
use crate::error::{Error, at};
use crate::files::write_public;
use crate::terminal::{print_line, print_warning};

/// In the data folder of a node that may have left.
const LEAVING: &str = "leaving";
/// Between two attempts.
const RETRY: Duration = Duration::from_secs(1);
/// How often the host is asked before the pod ends as a member.
const HOST_ATTEMPTS: u32 = 5;

/// Leaves, if the set is to have fewer pods than this one's number asks for.
pub(super) async fn run(pod: &Pod, env: &Env) -> Result<(), Error> {
    let (set, ordinal) = ordinal(&pod.pod)?;
    let voters = voters(pod, set, env).await?;
    if voters.is_none_or(|voters| ordinal < voters.replicas) {
        print_line("the node stays a member");
        return Ok(());
    }
    leave(pod, env).await
}

/// How many voters there are to be. The host may be away for a moment.
async fn voters(pod: &Pod, set: &str, env: &Env) -> Result<Option<VoterSet>, Error> {
    let mut attempts = 1;
    loop {
        let asked = match Host::connect(pod, env).await {
            Ok(mut host) => host.voters(set).await,
            Err(error) => Err(error),
        };
        if asked.is_ok() || attempts == HOST_ATTEMPTS {
            return asked;
        }
        attempts += 1;
        sleep(RETRY).await;
    }
}

/// Takes the pod's node out of the members. Tries until it is out: the pod's grace period bounds that.
pub(super) async fn leave(pod: &Pod, env: &Env) -> Result<(), Error> {
    let dir = DataDir::new(&pod.data_dir);
    if !dir.is_set_up() {
        return Ok(());
    }
    let mark = dir.path().join(LEAVING);
    write_public(&mark, b"")?;
    let mut told = String::new();
    loop {
        let problem = match remove(pod, env).await {
            Ok(node) => {
                print_line(format_args!("node {node} is no longer a member"));
                return Ok(());
            }
            Err(Error::Admin(AdminError::Gone(_))) => return Ok(()),
            Err(Error::Admin(AdminError::LastVoter(_))) => {
                print_line("the node stays: it is the last voter");
                return std::fs::remove_file(&mark).map_err(at(&mark));
            }
            Err(error) => error.to_string(),
        };
        if problem != told {
            print_warning(&problem);
            told = problem;
        }
        sleep(RETRY).await;
    }
}

async fn remove(pod: &Pod, env: &Env) -> Result<u64, Error> {
    let mut admin = any_member(pod, env).await?;
    let node = admin.config.node;
    admin.carry_out(AdminRequest::Remove(node)).await?;
    Ok(node)
}

/// The node itself while it serves, or the first voter that answers.
async fn any_member(pod: &Pod, env: &Env) -> Result<Admin, Error> {
    let target = target(pod);
    let mut connected = Admin::connect(&target, env).await;
    for peer in &pod.peer {
        if connected.is_ok() {
            break;
        }
        connected = Admin::connect_to(&target, peer, env).await;
    }
    connected
}

/// Whether the node of the folder has left. Fails while no member says so or otherwise.
pub(super) async fn has_left(pod: &Pod, env: &Env) -> Result<bool, Error> {
    let mark = DataDir::new(&pod.data_dir).path().join(LEAVING);
    if !mark.exists() {
        return Ok(false);
    }
    let left = match members(pod, env).await {
        Ok(is_member) => !is_member,
        Err(Error::Admin(AdminError::Gone(_))) => true,
        Err(error) => return Err(error),
    };
    if !left {
        std::fs::remove_file(&mark).map_err(at(&mark))?;
    }
    Ok(left)
}

async fn members(pod: &Pod, env: &Env) -> Result<bool, Error> {
    let mut admin = any_member(pod, env).await?;
    let node = admin.config.node;
    match admin.ask(AdminRequest::Members).await? {
        AdminAnswer::Members(members) => Ok(members.iter().any(|member| member.node == node)),
        other => Err(unexpected(&other)),
    }
}
