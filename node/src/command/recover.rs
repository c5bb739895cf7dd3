//! `quorate recover`: a stopped node whose quorum is lost for good goes on alone, as the only voter
//! of a new cluster.
//!
//! Prints what it finds and which members are given up; changes something with `--yes` only. May be
//! killed and run again at any moment: the replica's marker goes last, and a node that has it does
//! not start.

use std::sync::Arc;

use quorate_env::Env;
use quorate_env::disk::SystemDisk;
use quorate_raft::Role;
use quorate_raft::recovery::{self, Plan, REVISION_MARGIN, Recovered, Recovery};
use quorate_raft::types::Peer;

use super::token::moment;
use crate::cli::Recover;
use crate::config::NodeConfig;
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::pki::sealed::{self, ClusterSecret};
use crate::pki::{Authority, Identity, Subject, names};
use crate::setup::now;
use crate::terminal::print_line;

/// Explains, and carries it out if told to.
pub(crate) async fn run(options: &Recover, env: &Env) -> Result<(), Error> {
    let dir = DataDir::new(&options.data_dir);
    NodeConfig::read(&dir)?;
    let _lock = dir.lock().await?;
    // The process that held the lock until now may have changed it.
    let config = NodeConfig::read(&dir)?;
    let recovery = Recovery::open(recovery_options(&config, &dir)).await.map_err(Error::config)?;
    explain(&config, &dir, recovery.plan());
    if !options.yes {
        print_line("Nothing was changed. To carry it out, add --yes.");
        return Ok(());
    }
    let recovered = recovery::execute(recovery, &*env.entropy).await.map_err(Error::failed)?;
    let (cluster, node, revision) = (recovered.cluster, recovered.node, recovered.revision);
    reissue(&recovered, &dir, env)?;
    NodeConfig { cluster, founders: vec![], ..config }.write(&dir)?;
    recovered.finish().map_err(Error::failed)?;
    let path = dir.path().display();
    print_line(format_args!(
        "node {node} is the only voter of cluster {cluster}; its revisions go on after {revision}"
    ));
    print_line(format_args!("  serve it:           quorate serve --data-dir {path}"));
    print_line(format_args!("  let others join it: quorate token create --data-dir {path}"));
    Ok(())
}

/// The node's certificate among nodes names its cluster. The authority is in the state, or still in
/// the folder of a founder that never got to put it there.
fn reissue(recovered: &Recovered, dir: &DataDir, env: &Env) -> Result<(), Error> {
    let pki = dir.pki();
    let secret = ClusterSecret::read(&dir.cluster_secret())?;
    let authority = match sealed::authority_in(&recovered.snapshot, &secret, names::PEER_AUTHORITY)
    {
        Ok(authority) => authority,
        Err(missing) => Identity::read(&pki, names::PEER_AUTHORITY)
            .map(Authority::from_identity)
            .map_err(|_| missing)?,
    };
    let subject = Subject::Peer { cluster: recovered.cluster, node: recovered.node };
    authority.issue(&subject, now(env))?.write(&pki, names::PEER)
}

fn recovery_options(config: &NodeConfig, dir: &DataDir) -> recovery::RecoveryOptions {
    recovery::RecoveryOptions {
        node: config.node,
        cluster: config.cluster,
        naming: config.naming.to_string(),
        peer: Peer { address: config.peer.advertise.clone(), api: config.api.advertise.clone() },
        disk: Arc::new(SystemDisk),
        directory: dir.raft(),
    }
}

fn explain(config: &NodeConfig, dir: &DataDir, plan: &Plan) {
    let role = match plan.role {
        Some(Role::Leader | Role::Voter) => "a voter",
        Some(Role::Learner) => "a learner",
        None => "no member any more",
    };
    print_line(format_args!(
        "node {} of cluster {}, {role}, in {}",
        config.node,
        plan.old,
        dir.path().display()
    ));
    if let Some(new) = plan.begun {
        print_line(format_args!("  begun     a recovery as cluster {new}, which this finishes"));
    }
    let (term, index) = plan.last;
    print_line(format_args!("  log       ends with entry {index} of term {term}"));
    let (revision, time) = (plan.revision, moment(plan.time_ms));
    print_line(format_args!(
        "  state     revision {revision}, of {time}; {} entries of the log follow it",
        plan.unapplied
    ));
    for given in &plan.given_up {
        let role = if given.voter { "a voter" } else { "a learner" };
        print_line(format_args!(
            "  given up  node {}, {role}, at {}",
            given.node, given.peer.address
        ));
    }
    print_line(
        "It becomes the only voter of a new cluster, with everything that it has: all of its log counts as committed.",
    );
    print_line(
        "What the others acknowledged and its log does not have is lost. Wherever another node's data can still be read, run this",
    );
    print_line(
        "there too, without --yes, and recover the node whose log ends with the highest term, then the highest entry.",
    );
    print_line(format_args!(
        "Revisions go on {REVISION_MARGIN} higher, so that none is used twice; every watch begins anew."
    ));
    print_line(
        "The nodes given up are refused from then on: empty their data folders and let them join again.",
    );
}
