//! `quorate restore`: the data folder of a new cluster's first node, from a backup.
//!
//! Invariants: the new cluster has an id of its own, so the old nodes and this one refuse each other;
//! revisions go on above all that clients may hold; by default authorities, keys of tokens and join
//! tokens are new, so that no old credential is valid. `node.json` is written last: a folder that was
//! left half made is refused by every other command.

use std::sync::Arc;

use quorate_backup::{Restored, Target};
use quorate_env::Env;
use quorate_env::disk::SystemDisk;
use quorate_meta::Naming;
use quorate_raft::ClusterId;
use quorate_raft::recovery::{Founding, found, restored_revision};
use quorate_raft::types::Peer;
use quorate_store::{Revision, Snapshot};

use super::backup::open;
use super::restore_namespace;
use super::token::moment;
use crate::cli::{ADVERTISE, PEER_ADVERTISE, Restore};
use crate::config::Address;
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::pki::names;
use crate::pki::sealed::{self, ClusterSecret};
use crate::setup::{NewCluster, make_empty};
use crate::terminal::print_line;

/// The first node's number.
const NODE: u64 = 1;

/// Restores.
pub(crate) async fn run(options: &Restore, env: &Env) -> Result<(), Error> {
    if let Some(namespace) = &options.namespace {
        return restore_namespace::run(options, namespace, env).await;
    }
    let Some(data_dir) = &options.data_dir else {
        return Err(Error::config("--data-dir is missing"));
    };
    let given = &options.addresses;
    let api = Address::new(&given.bind, given.advertise.as_deref(), ADVERTISE)?;
    let peer = Address::new(&given.peer_bind, given.peer_advertise.as_deref(), PEER_ADVERTISE)?;
    let repository = open(&options.from, env).await?;
    let target = options.at.unwrap_or(Target::Newest);
    let restored = quorate_backup::restore(&repository, target).await?;
    let (revision, time) = (restored.revision, moment(restored.time_ms));
    let objects = restored.entries.len();
    let dir = DataDir::new(data_dir);
    let set_up = set_up(&dir, restored, (api, peer), options.keep_credentials, env).await?;
    let path = dir.path().display();
    print_line(format_args!(
        "{objects} keys as of revision {revision}, {time}, are cluster {} in {path}",
        set_up.cluster
    ));
    print_line(format_args!("  its revisions go on after {}", set_up.revision));
    print_line(format_args!("  serve it:           quorate serve --data-dir {path}"));
    print_line(format_args!("  administrate it:    export KUBECONFIG={path}/admin.kubeconfig"));
    print_line(format_args!("  let others join it: quorate token create --data-dir {path}"));
    if !options.keep_credentials {
        print_line(
            "Its authorities and keys are new: certificates and tokens of the old cluster are not valid here.",
        );
    }
    Ok(())
}

/// A folder that was made.
pub(super) struct SetUp {
    pub(super) cluster: ClusterId,
    /// Where its revisions begin.
    pub(super) revision: Revision,
}

/// Makes the data folder of a new cluster's only node, with a state.
pub(super) async fn set_up(
    dir: &DataDir,
    mut restored: Restored,
    (api, peer): (Address, Address),
    keep_credentials: bool,
    env: &Env,
) -> Result<SetUp, Error> {
    let naming: Naming =
        restored.identity.naming.parse().map_err(|_| {
            Error::failed("the backup is of a naming profile that is not known here")
        })?;
    let old: ClusterId = restored.identity.cluster.parse().map_err(Error::failed)?;
    let new = match keep_credentials {
        true => kept(&restored, naming, env)?,
        false => {
            // What is sealed there cannot be opened here.
            restored.entries.retain(|key, _| !key.starts_with(&sealed::key_of("")));
            NewCluster::new(naming, env)?
        }
    };
    make_empty(dir.path())?;
    let now = env.clock.now_ms();
    let revision = restored_revision(restored.newest.max(restored.revision), now);
    let founding = Founding {
        node: NODE,
        cluster: new.cluster,
        old,
        naming: naming.to_string(),
        peer: Peer { address: peer.advertise.clone(), api: api.advertise.clone() },
        disk: Arc::new(SystemDisk),
        directory: dir.raft(),
        revision,
        time_ms: restored.time_ms.max(now),
        keep_tokens: keep_credentials,
        objects: restored.entries,
    };
    found(founding).await.map_err(Error::failed)?;
    new.write_admin(dir.path(), &format!("https://{}", api.advertise))?;
    new.set_up_restored(dir, NODE, (api, peer), !keep_credentials)?;
    Ok(SetUp { cluster: new.cluster, revision })
}

/// A new cluster with the authorities and the secret of the old one.
fn kept(restored: &Restored, naming: Naming, env: &Env) -> Result<NewCluster, Error> {
    let credentials = restored.credentials.as_ref().ok_or_else(|| {
        Error::config("the backup has no credentials: it was not made --with-credentials")
    })?;
    let secret = ClusterSecret::from_bytes(&credentials.0)?;
    let sealed = restored.entries.iter().filter(|(key, _)| key.starts_with(&sealed::key_of("")));
    let sealed = sealed.map(|(key, entry)| (key.clone(), entry.clone()));
    let snapshot = Snapshot::of(restored.revision, sealed);
    let authority = sealed::authority_in(&snapshot, &secret, names::AUTHORITY)?;
    let peer_authority = sealed::authority_in(&snapshot, &secret, names::PEER_AUTHORITY)?;
    Ok(NewCluster::with_credentials(naming, (authority, peer_authority), secret, env))
}
