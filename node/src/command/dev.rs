//! `quorate dev`: a cluster on loopback, each node a process of its own, supervised until it is
//! stopped.
//!
//! Invariants: the nodes end when this process ends, however it ends (their standard input is a
//! pipe that it holds); a node that stops by itself is reported and not started again, so that what
//! a user does to a node stays done.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use quorate_env::Env;
use quorate_meta::Naming;
use quorate_webhook::{Connection, HTTP_1};
use rustls::ClientConfig;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, timeout};

use crate::cli::Dev;
use crate::config::NodeConfig;
use crate::data_dir::DataDir;
use crate::error::{Error, at};
use crate::files::read_text;
use crate::pki::leaf::is_due;
use crate::pki::{self, Authority, Identity, names};
use crate::setup::{NewCluster, make_empty, now, write_admin};
use crate::signals::Termination;
use crate::terminal::print_line;

const DEFAULT_BIND: &str = "127.0.0.1:6443";
/// Where tokio reads how many threads a process runs its tasks on.
const WORKER_THREADS: &str = "TOKIO_WORKER_THREADS";
/// How long a node may take from start to ready.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a node may take to say whether it is ready.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// How often readiness is asked for.
const READY_INTERVAL: Duration = Duration::from_millis(20);
/// How long a node may take to stop, beyond its shutdown delay.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// Makes or reopens the cluster of a folder and serves it.
pub(crate) async fn run(options: &Dev, env: &Env) -> Result<(), Error> {
    let started = Instant::now();
    let root = &options.data_dir;
    let configs = if DataDir::of_node(root, 1).is_set_up() {
        reopen(options, env)?
    } else {
        make(options, env)?
    };
    options.tuning.audit.check_apart(configs.len())?;
    let mut nodes = Vec::new();
    for config in &configs {
        print_line(format_args!(
            "starting node {} (API {}, peers {})",
            config.node, config.api.bind, config.peer.bind
        ));
        nodes.push(NodeProcess::start(
            root,
            config.clone(),
            worker_threads(configs.len()),
            options,
        )?);
    }
    let mut termination = Termination::listen()?;
    tokio::select! {
        ready = all_ready(root, env, &mut nodes) => ready?,
        () = termination.requested() => return stop(nodes, options).await,
    }
    print_addresses(root, &configs, started.elapsed())?;
    let mut events = Box::pin(report_exits(&mut nodes));
    tokio::select! {
        () = &mut events => {}
        () = termination.requested() => {}
    }
    drop(events);
    stop(nodes, options).await
}

/// The nodes that a folder has already; options that say otherwise are refused.
fn reopen(options: &Dev, env: &Env) -> Result<Vec<NodeConfig>, Error> {
    let root = &options.data_dir;
    let configs = (1..)
        .map(|node| DataDir::of_node(root, node))
        .take_while(DataDir::is_set_up)
        .map(|dir| NodeConfig::read(&dir))
        .collect::<Result<Vec<_>, _>>()?;
    let first = &configs[0];
    let differs = |what: &str, has: &dyn std::fmt::Display| {
        Err(Error::config(format_args!(
            "{}: the cluster in this folder has {what} {has}",
            root.display()
        )))
    };
    if configs.len() < first.founders.len() {
        return differs(
            &format!("{} nodes, but here are only", first.founders.len()),
            &configs.len(),
        );
    }
    if options.nodes.is_some_and(|nodes| nodes != configs.len() as u64) {
        return differs("another number of nodes:", &configs.len());
    }
    if options.naming.is_some_and(|naming| naming != first.naming) {
        return differs("another naming profile:", &first.naming);
    }
    if options.bind.is_some_and(|bind| bind.to_string() != first.api.bind) {
        return differs("another address:", &first.api.bind);
    }
    print_line(format_args!("opening the cluster in {} (naming {})", root.display(), first.naming));
    renew_admin(root, &first.api.advertise, env)?;
    Ok(configs)
}

/// Renews the administrator's certificate before it ends: no node does that.
fn renew_admin(root: &Path, server: &str, env: &Env) -> Result<(), Error> {
    let (pki, now) = (root.join("pki"), now(env));
    if is_due(&Identity::read(&pki, names::ADMIN)?.chain()?[0], now)? {
        let authority = Authority::from_identity(Identity::read(&pki, names::AUTHORITY)?);
        write_admin(&authority, now, root, &format!("https://{server}"))?;
        print_line("the administrator's certificate was renewed: admin.kubeconfig has the new one");
    }
    Ok(())
}

/// Makes a new cluster in an empty folder.
fn make(options: &Dev, env: &Env) -> Result<Vec<NodeConfig>, Error> {
    let root = &options.data_dir;
    make_empty(root)?;
    let (nodes, naming) = (options.nodes.unwrap_or(1), options.naming.unwrap_or(Naming::Svc));
    let bind =
        options.bind.unwrap_or_else(|| DEFAULT_BIND.parse().expect("the default address is one"));
    print_line(format_args!(
        "making a cluster in {} (naming {naming}): authorities, certificates, kubeconfig",
        root.display()
    ));
    NewCluster::new(naming, env)?.set_up_dev(root, nodes, bind)?;
    (1..=nodes).map(|node| NodeConfig::read(&DataDir::of_node(root, node))).collect()
}

/// How many threads a node gets: its share of the processors, since nodes that each count on all of
/// them wake each other up in vain. One is enough: what computes for long lets another thread go on
/// with the rest. What the user has set for this process holds for each node.
fn worker_threads(nodes: usize) -> String {
    let share = || {
        std::thread::available_parallelism().map_or(1, |all| all.get().div_ceil(nodes)).to_string()
    };
    std::env::var(WORKER_THREADS).unwrap_or_else(|_| share())
}

/// A node's process.
#[derive(Debug)]
struct NodeProcess {
    config: NodeConfig,
    dir: DataDir,
    child: Child,
    /// The node stops when this is closed. Held apart from the child, which closes its own when it
    /// is waited for.
    stdin: Option<ChildStdin>,
}

impl NodeProcess {
    fn start(
        root: &Path,
        config: NodeConfig,
        threads: String,
        options: &Dev,
    ) -> Result<Self, Error> {
        let dir = DataDir::of_node(root, config.node);
        let program = std::env::current_exe().map_err(Error::failed)?;
        let log_file = dir.log_file();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&log_file)
            .map_err(at(&log_file))?;
        let mut child = Command::new(program)
            .args(["serve", "--supervised", "--data-dir"])
            .arg(dir.path())
            .args(options.tuning.to_args())
            .env(WORKER_THREADS, threads)
            .stdin(Stdio::piped())
            .stdout(if options.tuning.audit.is_on_standard_output() {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stderr(log)
            .spawn()
            .map_err(Error::failed)?;
        let stdin = child.stdin.take();
        Ok(Self { config, dir, child, stdin })
    }

    /// Whether this process, and no other one that has the folder or the address, is ready.
    async fn is_ready(&self, env: &Env, tls: &Arc<ClientConfig>) -> bool {
        let id = std::fs::read_to_string(self.dir.pid_file()).ok().and_then(|id| id.parse().ok());
        let answer = is_ready(env, &self.config.api.advertise, tls.clone());
        id.is_some()
            && id == self.child.id()
            && timeout(ANSWER_LIMIT, answer).await.unwrap_or(false)
    }

    /// The last line that the node logged.
    fn last_log_line(&self) -> String {
        let text = std::fs::read_to_string(self.dir.log_file()).unwrap_or_default();
        text.lines().last().unwrap_or("it said nothing").to_owned()
    }
}

async fn all_ready(root: &Path, env: &Env, nodes: &mut [NodeProcess]) -> Result<(), Error> {
    let admin = Identity::read(&root.join("pki"), names::ADMIN)?;
    let authority = read_text(&root.join("pki").join(names::AUTHORITY_CERTIFICATE))?;
    let tls = pki::client_config(&authority, Some(&admin), &HTTP_1)?;
    let deadline = Instant::now() + START_LIMIT;
    for node in nodes {
        while !node.is_ready(env, &tls).await {
            if let Some(status) = node.child.try_wait().map_err(Error::failed)? {
                let words = node.last_log_line();
                return Err(Error::failed(format_args!(
                    "node {} stopped ({status}): {words}",
                    node.config.node
                )));
            }
            if Instant::now() > deadline {
                let log = node.dir.log_file();
                return Err(Error::failed(format_args!(
                    "node {} is not ready after {START_LIMIT:?}; see {}",
                    node.config.node,
                    log.display()
                )));
            }
            tokio::time::sleep(READY_INTERVAL).await;
        }
        print_line(format_args!("node {} is ready", node.config.node));
    }
    Ok(())
}

async fn is_ready(env: &Env, address: &str, tls: Arc<ClientConfig>) -> bool {
    let Ok(mut connection) = Connection::open(&*env.network, address, tls).await else {
        return false;
    };
    let request = Request::get("/readyz").header("host", address).body(Full::<Bytes>::default());
    let request = request.expect("the request is well formed");
    connection.send(request).await.is_ok_and(|answer| answer.status() == StatusCode::OK)
}

fn print_addresses(root: &Path, configs: &[NodeConfig], took: Duration) -> Result<(), Error> {
    let root: PathBuf = std::fs::canonicalize(root).map_err(at(root))?;
    print_line(format_args!("ready after {:.2} s", took.as_secs_f64()));
    for config in configs {
        print_line(format_args!("  https://{}  node {}", config.api.advertise, config.node));
    }
    print_line(format_args!("  export KUBECONFIG={}", root.join("admin.kubeconfig").display()));
    print_line("  kubectl get namespaces");
    print_line("Ctrl-C stops the cluster; its data stays.");
    Ok(())
}

/// Reports every node that stops; returns never, so that the others go on and the user decides.
async fn report_exits(nodes: &mut [NodeProcess]) {
    let ends = nodes.iter_mut().map(|node| async {
        let status = node.child.wait().await;
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let dir = node.dir.path().display();
        print_line(format_args!(
            "node {} stopped ({how}); start it again with: quorate serve --data-dir {dir}",
            node.config.node
        ));
    });
    futures::future::join_all(ends).await;
    std::future::pending::<()>().await;
}

async fn stop(mut nodes: Vec<NodeProcess>, options: &Dev) -> Result<(), Error> {
    print_line("stopping");
    for node in &mut nodes {
        drop(node.stdin.take());
    }
    let limit = options.tuning.shutdown_delay_duration + STOP_LIMIT;
    for node in &mut nodes {
        if timeout(limit, node.child.wait()).await.is_err() {
            print_line(format_args!(
                "node {} does not stop within {limit:?} and is killed",
                node.config.node
            ));
            node.child.kill().await.map_err(Error::failed)?;
        }
    }
    Ok(())
}
