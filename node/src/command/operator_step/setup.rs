//! `quorate operator-step setup`: makes a pod's data folder by founding the cluster or joining it, as
//! [`super::decision`] says; does nothing where the folder is set up.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use quorate_env::Env;
use quorate_raft::AdminError;
use tokio::time::{Instant, sleep, timeout};

use super::super::token::{peer_authority_hash, print_hash};
use super::super::{init, join};
use super::decision::{Decision, Folder, decide};
use super::host::{Host, Registered};
use super::registration::{Founded, Registration};
use super::{certificate, leave, ordinal};
use crate::cli::{Init, Join, PodRole, SetupStep};
use crate::config::NodeConfig;
use crate::data_dir::DataDir;
use crate::error::{Error, at};
use crate::files::make_folder;
use crate::terminal::print_line;

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// How long a peer may take to accept a connection.
const PEER_LIMIT: Duration = Duration::from_secs(2);
/// Random bytes of a claim.
const CLAIM_BYTES: usize = 16;

/// Sets the folder up, or waits for as long as the options say.
pub(super) async fn run(options: &SetupStep, env: &Env) -> Result<(), Error> {
    let deadline = Instant::now() + options.wait;
    let mut told = String::new();
    loop {
        let why = match attempt(options, env).await {
            Ok(None) => {
                certificate::take_over(&options.pod)?;
                return Ok(());
            }
            Ok(Some(why)) => why.to_owned(),
            // What is wrong about the pod itself stays wrong.
            Err(error @ Error::Config(_)) => return Err(error),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline {
            return Err(Error::failed(why));
        }
        if why != told {
            print_line(format_args!("waiting: {why}"));
            told = why;
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// Does what can be done now. Gives what is waited for, if it is not done with that.
async fn attempt(options: &SetupStep, env: &Env) -> Result<Option<&'static str>, Error> {
    let pod = &options.pod;
    let _lock = lock(&pod.data_dir)?;
    let ordinal = match pod.role {
        PodRole::Voter => ordinal(&pod.pod)?.1,
        PodRole::Api => 0,
    };
    let folder = folder(options, env).await?;
    let mut host = Host::connect(pod, env).await?;
    let registered = host.registered().await?;
    let answers = registered.is_none() && others_serve(options, &mut host, env).await?;
    let registration = registered.as_ref().map(|registered| &registered.registration);
    match decide(folder, registration, (pod.role, ordinal), answers) {
        Decision::Keep => print_line("the node is set up already"),
        Decision::Found => return found(options, &mut host, registered, env).await,
        Decision::Publish => return publish(&pod.data_dir, &mut host, registered.as_ref()).await,
        Decision::Join { ca_hash, token } => {
            remove(&pod.data_dir)?;
            join_any(options, &ca_hash, &token, env).await?;
        }
        Decision::Wait(why) => return Ok(Some(why)),
        Decision::Refuse(why) => return Err(Error::config(why)),
    }
    Ok(None)
}

/// What is in the folder.
async fn folder(options: &SetupStep, env: &Env) -> Result<Folder, Error> {
    let pod = &options.pod;
    let dir = DataDir::new(&pod.data_dir);
    if !dir.is_set_up() {
        if dir.raft().exists() {
            return Err(Error::config(format_args!(
                "{} has data and no node.json: restore that, or empty the folder",
                dir.path().display()
            )));
        }
        return Ok(Folder::Empty);
    }
    let config = NodeConfig::read(&dir)?;
    // The pod has moved; a member of this address does not exist.
    let here = options.addresses.peer_advertise.as_ref();
    let moved = here.is_some_and(|here| *here != config.peer.advertise);
    if pod.role == PodRole::Api && moved || leave::has_left(pod, env).await? {
        return Ok(Folder::Left);
    }
    let was_served = dir.raft().exists();
    match config.founders.is_empty() || was_served {
        true => Ok(Folder::SetUp(config.cluster)),
        false => Ok(Folder::Founding(config.cluster)),
    }
}

/// Whether there is a cluster already, although nothing is registered: a voter is ready as the host sees it,
/// or accepts connections.
async fn others_serve(options: &SetupStep, host: &mut Host, env: &Env) -> Result<bool, Error> {
    let pod = &options.pod;
    if pod.role == PodRole::Voter
        && host.voters(ordinal(&pod.pod)?.0).await?.is_some_and(|voters| voters.ready > 0)
    {
        return Ok(true);
    }
    let own = options.addresses.peer_advertise.as_ref();
    let others = options.pod.peer.iter().filter(|peer| Some(*peer) != own);
    for peer in others {
        if matches!(timeout(PEER_LIMIT, env.network.connect(peer)).await, Ok(Ok(_))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Claims the founding, founds, and tells it done. In between, members of an older cluster have time to see
/// the claim and to register theirs in its place.
async fn found(
    options: &SetupStep,
    host: &mut Host,
    before: Option<Registered>,
    env: &Env,
) -> Result<Option<&'static str>, Error> {
    let mut claim = [0; CLAIM_BYTES];
    env.entropy.fill(&mut claim);
    let claim = claim.iter().map(|byte| format!("{byte:02x}")).collect();
    let claim = Registration::Founding { claim };
    let Some(claimed) = host.register(&claim, before.as_ref()).await? else {
        return Ok(Some("another pod has claimed the founding"));
    };
    sleep(options.objection_time).await;
    let data_dir = options.pod.data_dir.clone();
    remove(&data_dir)?;
    let (naming, addresses) = (options.naming, options.addresses.clone());
    let init = Init { data_dir, naming, founder: vec![], if_needed: false, addresses };
    init::run(&init, env)?;
    // Where that is refused, the next look says whose cluster is registered. It may be this one.
    publish(&options.pod.data_dir, host, Some(&claimed)).await
}

/// Keeps other steps off the folder for as long as the result lives. The file lies beside the folder, which
/// may be removed.
fn lock(data_dir: &Path) -> Result<File, Error> {
    let path = data_dir.with_extension("setup");
    if let Some(parent) = path.parent() {
        make_folder(parent)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::failed(format_args!(
            "{} is being set up by another process",
            data_dir.display()
        ))),
        Err(TryLockError::Error(error)) => Err(at(&path)(error)),
    }
}

/// Tells that the cluster in this folder is founded.
async fn publish(
    data_dir: &Path,
    host: &mut Host,
    before: Option<&Registered>,
) -> Result<Option<&'static str>, Error> {
    let founded = Registration::Founded(founded(data_dir)?);
    let published = host.register(&founded, before).await?;
    // The next look says whether the folder is that of the cluster.
    Ok(published.is_none().then_some("another pod has changed the registration"))
}

/// What is registered of the cluster of a folder.
pub(super) fn founded(data_dir: &Path) -> Result<Founded, Error> {
    let dir = DataDir::new(data_dir);
    let ca_hash = print_hash(&peer_authority_hash(&dir)?);
    Ok(Founded { cluster: NodeConfig::read(&dir)?.cluster, ca_hash, token: None })
}

/// Joins through the first voter that lets the node in. A refusal is the cluster's; of voters that cannot say,
/// the first is told of: the last ones of a set may not exist.
async fn join_any(options: &SetupStep, ca_hash: &str, token: &str, env: &Env) -> Result<(), Error> {
    let own = options.addresses.peer_advertise.as_ref();
    let mut failed = None;
    for member in options.pod.peer.iter().filter(|peer| Some(*peer) != own) {
        let join = Join {
            member: member.clone(),
            data_dir: options.pod.data_dir.clone(),
            token: Some(token.to_owned()),
            ca_hash: Some(ca_hash.to_owned()),
            member_data_dir: None,
            if_needed: false,
            addresses: options.addresses.clone(),
        };
        match join::run(&join, env).await {
            Ok(()) => return Ok(()),
            Err(error @ Error::Admin(AdminError::Refused(_))) => return Err(error),
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    Err(failed.unwrap_or_else(|| Error::config("--peer: no other voter is named")))
}

/// Removes the folder; see the invariant of [`super`]. It is gone whole or not at all, whenever the process
/// ends.
fn remove(folder: &Path) -> Result<(), Error> {
    let aside = folder.with_extension("removed");
    // What an earlier process has left there.
    if_there(std::fs::remove_dir_all(&aside)).map_err(at(&aside))?;
    if_there(std::fs::rename(folder, &aside)).map_err(at(folder))?;
    if_there(std::fs::remove_dir_all(&aside)).map_err(at(&aside))
}

fn if_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
