//! The measurement of idle watches: many watches of a collection that does not change.
//!
//! One operation is an open watch; the latency is that of its opening. What they cost is the memory
//! that the servers add from before the first connection until the end, divided by their number;
//! with fewer connections than watches it shows what a watch costs without a connection of its own.

use quorate_env::Env;
use tokio::time::{Instant, sleep};

use super::latency::Latencies;
use super::load::connect;
use super::report::{Counts, Report};
use super::servers::Servers;
use super::watchers::newest;
use super::workload::Workspace;
use super::{Options, process};
use crate::error::Error;

/// Opens the watches and keeps them for as long as the options say.
pub(super) async fn run(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    let started = Instant::now();
    let (opened, span) =
        process::during(&servers.pids, open(servers, workspace, options, env)).await;
    let (counts, latencies) = opened?;
    Ok(Report::new("idle".to_owned(), started.elapsed(), &counts, &latencies, &span))
}

async fn open(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<(Counts, Latencies), Error> {
    let mut connections = connect(servers, options.watchers, options, env).await?;
    let (mut counts, mut latencies, mut streams) =
        (Counts::default(), Latencies::new(), Vec::new());
    let after = newest(&mut servers.connect(env, 0).await?, workspace, servers.server(0)).await?;
    for (watcher, connection) in connections.iter_mut().enumerate() {
        let sent = Instant::now();
        let answer = connection
            .send(workspace.watch(servers.server(watcher), &after))
            .await
            .map_err(Error::failed)?;
        latencies.record(sent.elapsed());
        if answer.status().is_success() {
            counts.operations += 1;
            streams.push(answer.into_body());
        } else {
            counts.errors += 1;
        }
    }
    sleep(options.duration).await;
    Ok((counts, latencies))
}
