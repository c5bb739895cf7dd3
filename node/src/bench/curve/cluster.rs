//! The cluster of a curve: a `quorate dev` of its own, which is stopped and started again.
//!
//! Invariants: the data folder was empty, so nothing else is measured; the processes end with this
//! one.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use http::Method;
use quorate_env::Env;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::bench::Options;
use crate::bench::process::usage;
use crate::bench::servers::Servers;
use crate::bench::workload::{request, status};
use crate::data_dir::DataDir;
use crate::error::Error;

/// How long the cluster may take until it is ready, and until it has stopped.
const LIMIT: Duration = Duration::from_secs(120);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(5);

/// A cluster with its options.
pub(super) struct CurveCluster<'o> {
    options: &'o Options,
    supervisor: Option<Child>,
}

impl<'o> CurveCluster<'o> {
    /// Makes a cluster in the data folder, and waits until it is ready.
    pub(super) async fn make(options: &'o Options, env: &Env) -> Result<(Self, Servers), Error> {
        let root = &options.data_dir;
        if DataDir::of_node(root, 1).is_set_up() {
            let root = root.display();
            return Err(Error::config(format_args!(
                "{root} has a cluster already: a curve makes one of its own in an empty folder"
            )));
        }
        let mut cluster = Self { options, supervisor: None };
        let servers = cluster.start(env).await?;
        Ok((cluster, servers))
    }

    /// Starts the cluster, and waits until all its servers are ready.
    pub(super) async fn start(&mut self, env: &Env) -> Result<Servers, Error> {
        let program = match &self.options.binary {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(Error::failed)?,
        };
        let root = &self.options.data_dir;
        let supervisor = Command::new(program)
            .args(["dev", "--nodes", &self.options.nodes.to_string(), "--data-dir"])
            .arg(root)
            .args(&self.options.node_options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(Error::failed)?;
        let supervisor = self.supervisor.insert(supervisor);
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(servers) = ready(self.options, root, env).await {
                return Ok(servers);
            }
            if let Some(status) = supervisor.try_wait().map_err(Error::failed)? {
                return Err(Error::failed(format_args!("quorate dev has ended: {status}")));
            }
            if Instant::now() >= deadline {
                return Err(Error::failed(format_args!("not ready after {LIMIT:?}")));
            }
            sleep(PAUSE).await;
        }
    }

    /// Stops the cluster, and waits until its processes are gone.
    pub(super) async fn stop(&mut self, servers: &Servers) -> Result<(), Error> {
        let Some(mut supervisor) = self.supervisor.take() else { return Ok(()) };
        let pid = supervisor.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).map_err(Error::failed)?;
        }
        timeout(LIMIT, supervisor.wait()).await.map_err(Error::failed)?.map_err(Error::failed)?;
        while usage(&servers.pids).rss_bytes > 0 {
            sleep(PAUSE).await;
        }
        Ok(())
    }
}

/// The servers, once all of them have a process and are ready.
async fn ready(options: &Options, root: &Path, env: &Env) -> Option<Servers> {
    let servers = Servers::find(options, root).ok()?;
    let running =
        servers.pids.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count();
    if running < options.nodes as usize || servers.count() < options.nodes as usize {
        return None;
    }
    for server in 0..servers.count() {
        let mut connection = servers.connect(env, server).await.ok()?;
        let ask = request(Method::GET, servers.server(server), "/readyz", String::new());
        status(&mut connection, ask).await.ok().filter(|status| status.is_success())?;
    }
    Some(servers)
}
