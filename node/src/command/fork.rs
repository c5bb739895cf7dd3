//! `quorate fork`: a throwaway cluster of one node with the state of a backup or of a running cluster,
//! to rehearse an upgrade or a policy.
//!
//! Invariants: it listens on this machine only, has authorities of its own, and its folder goes with
//! it; the cluster that it was made from knows nothing of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::StreamExt;
use quorate_backup::{Frame, Restored, Source, Target};
use quorate_env::Env;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep};

use super::backup::cluster_source::ClusterSource;
use super::backup::open;
use super::restore::set_up;
use crate::cli::{BackupPlace, ClusterFlags, Fork};
use crate::cluster_client::ClusterClient;
use crate::config::Address;
use crate::data_dir::DataDir;
use crate::error::{Error, at};
use crate::signals::Termination;
use crate::terminal::print_line;

/// How long the node may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The file in the folder by which its administrator reaches it.
const KUBECONFIG: &str = "admin.kubeconfig";
/// Random bytes in the folder's name.
const NAME_BYTES: usize = 6;

/// A node that serves a state on this machine; its folder goes with [`ForkedNode::end`].
pub(super) struct ForkedNode {
    folder: PathBuf,
    /// Its address.
    pub(super) api: String,
    process: Option<Child>,
    /// The node runs while this is open. Not left to the process, whose wait would close it.
    input: Option<ChildStdin>,
}

/// Makes the cluster and serves it until the command is told to stop.
pub(crate) async fn run(options: &Fork, env: &Env) -> Result<(), Error> {
    let mut termination = Termination::listen()?;
    let restored = state(options, env).await?;
    let (revision, objects) = (restored.revision, restored.entries.len());
    let mut node = ForkedNode::new(env).await?;
    let served = async {
        node.start(restored, env).await?;
        print_line(format_args!(
            "{objects} keys as of revision {revision}, at https://{}",
            node.api
        ));
        print_line(format_args!("export KUBECONFIG={}", node.kubeconfig().display()));
        print_line("ready; Ctrl-C ends it and removes it");
        tokio::select! {
            () = termination.requested() => Ok(()),
            ended = node.ended() => Err(ended),
        }
    };
    let outcome = served.await;
    node.end().await.and(outcome)
}

impl ForkedNode {
    /// One with addresses of its own, that is not there yet.
    pub(super) async fn new(env: &Env) -> Result<Self, Error> {
        let mut name = [0; NAME_BYTES];
        env.entropy.fill(&mut name);
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = std::env::temp_dir().join(format!("quorate-fork-{name}"));
        Ok(Self { folder, api: free_address(env).await?, process: None, input: None })
    }

    /// Starts it, and waits until it is ready.
    pub(super) async fn start(&mut self, restored: Restored, env: &Env) -> Result<(), Error> {
        let dir = DataDir::new(&self.folder);
        let peer = free_address(env).await?;
        let addresses = (Address::same(&self.api), Address::same(&peer));
        set_up(&dir, restored, addresses, false, env).await?;
        let process = self.process.insert(serve(&dir)?);
        self.input = process.stdin.take();
        ready(&dir, process, env).await
    }

    /// A client of its administrator.
    pub(super) async fn client(&self, env: &Env) -> Result<ClusterClient, Error> {
        administrator(&self.folder, env).await
    }

    /// The file by which its administrator reaches it.
    fn kubeconfig(&self) -> PathBuf {
        self.folder.join(KUBECONFIG)
    }

    /// Returns when it ends by itself.
    async fn ended(&mut self) -> Error {
        let Some(process) = &mut self.process else { return std::future::pending().await };
        match process.wait().await {
            Ok(status) => Error::failed(format_args!("the node has ended: {status}")),
            Err(error) => Error::failed(error),
        }
    }

    /// Ends it and removes all of it.
    pub(super) async fn end(mut self) -> Result<(), Error> {
        if let Some(process) = &mut self.process {
            // Its standard input ends, and so does it.
            drop(self.input.take());
            process.wait().await.map_err(Error::failed)?;
        }
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(at(&self.folder)(error))
            }
            _ => Ok(()),
        }
    }
}

async fn state(options: &Fork, env: &Env) -> Result<Restored, Error> {
    if let Some((from, key_file)) = options.from.clone().zip(options.key_file.clone()) {
        let repository = open(&BackupPlace { from, key_file }, env).await?;
        let target = options.at.unwrap_or(Target::Newest);
        return Ok(quorate_backup::restore(&repository, target).await?);
    }
    let source = ClusterSource::open(&options.cluster, env).await?;
    let identity = source.identity().await.map_err(Error::failed)?;
    let mut frames = source.state(None).await.map_err(Error::failed)?;
    let (mut start, mut entries) = (None, BTreeMap::new());
    while let Some(frame) = frames.next().await {
        match frame.map_err(Error::failed)? {
            Frame::State(begun) => start = Some(begun),
            Frame::Entries(part) => entries.extend(part),
            Frame::StateEnd { .. } => {
                let start = start.ok_or_else(|| Error::failed("the state has no beginning"))?;
                let (revision, time_ms) = (start.revision, start.time_ms);
                let (newest, credentials) = (revision, None);
                return Ok(Restored { revision, time_ms, entries, identity, credentials, newest });
            }
            _ => break,
        }
    }
    Err(Error::failed("the answer ends before the state does"))
}

/// A free address of this machine.
async fn free_address(env: &Env) -> Result<String, Error> {
    let listener = env.network.listen("127.0.0.1:0").await.map_err(Error::failed)?;
    Ok(listener.address())
}

fn serve(dir: &DataDir) -> Result<Child, Error> {
    let program = std::env::current_exe().map_err(Error::failed)?;
    let log = dir.log_file();
    let log = std::fs::File::create(&log).map_err(at(&log))?;
    let mut command = Command::new(program);
    command.arg("serve").arg("--supervised").arg("--data-dir").arg(dir.path());
    // Ctrl-C reaches this process alone, which ends the node.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
    command.kill_on_drop(true).spawn().map_err(Error::failed)
}

/// A client of the administrator of the node in a folder.
async fn administrator(folder: &Path, env: &Env) -> Result<ClusterClient, Error> {
    let kubeconfig = Some(folder.join(KUBECONFIG));
    ClusterClient::new(&ClusterFlags { kubeconfig, ..ClusterFlags::default() }, env).await
}

async fn ready(dir: &DataDir, node: &mut Child, env: &Env) -> Result<(), Error> {
    let client = administrator(dir.path(), env).await?;
    let patience = Instant::now() + PATIENCE;
    loop {
        if client.is_ready().await {
            return Ok(());
        }
        if let Some(ended) = node.try_wait().map_err(Error::failed)? {
            let log = std::fs::read_to_string(dir.log_file()).unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            return Err(Error::failed(format_args!("the node has ended ({ended}): {last}")));
        }
        if Instant::now() > patience {
            return Err(Error::failed(format_args!("the node is not ready after {PATIENCE:?}")));
        }
        sleep(LOOK_INTERVAL).await;
    }
}
