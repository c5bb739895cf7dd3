//! The measurement of a herd: many informers that lose their connections at one moment and begin
//! anew, each with all objects as initial events.
//!
//! They have all objects once before that, so what memory they cost at rest is there already. One
//! operation is an informer that has been told all objects and the end of them again; its latency is
//! the time from the loss on. Invariants: an informer that is refused comes back when it was told
//! to, one whose connection breaks at once and at the next server; one that was told another number
//! of objects is an error.

use std::fmt;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use http::StatusCode;
use http::header::RETRY_AFTER;
use quorate_env::Env;
use quorate_webhook::Connection;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::events::WatchEvents;
use super::kind::Kind;
use super::latency::Latencies;
use super::report::{Counts, Figures, Report};
use super::servers::Servers;
use super::watchers::count_objects;
use super::workload::Workspace;
use super::{Options, process};
use crate::error::Error;

/// Within this time an informer has all objects, or it counts as one that never comes back.
const LIMIT: Duration = Duration::from_secs(300);
/// Before an attempt that follows one which was not answered.
const PAUSE: Duration = Duration::from_millis(50);
/// When a refusal does not say when to come back.
const REFUSAL_PAUSE: Duration = Duration::from_secs(1);

/// What is told of a herd besides its informers.
#[derive(Debug, Serialize)]
pub(super) struct HerdFigures {
    informers: u32,
    objects: u32,
    /// Seconds until the last one had all objects.
    seconds: f64,
    /// Requests that were refused for the time being.
    refused: u64,
    rss_before_megabytes: f64,
    rss_peak_megabytes: f64,
}

/// An informer that has all objects, with the connection that its watch needs.
struct Informer {
    _connection: Connection,
    events: WatchEvents,
    objects: u32,
    refused: u64,
    took: Duration,
}

/// Lets the informers begin twice.
pub(super) async fn run(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    let lost = begin(servers, workspace, options, env).await?;
    // What freed memory the servers keep for what comes next is theirs, before and after.
    sleep(options.duration).await;
    let server = servers.server(0);
    let objects = count_objects(&mut servers.connect(env, 0).await?, workspace, server).await?;
    let started = Instant::now();
    let again = async {
        drop(lost);
        begin(servers, workspace, options, env).await
    };
    let (informers, span) = process::during(&servers.pids, again).await;
    let (informers, took) = (informers?, started.elapsed());
    let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
    for informer in &informers {
        let is_whole = informer.objects == objects;
        counts.operations += u64::from(is_whole);
        counts.errors += u64::from(!is_whole);
        counts.bytes += informer.events.bytes;
        latencies.record(informer.took);
    }
    let figures = HerdFigures {
        informers: options.watchers,
        objects,
        seconds: took.as_secs_f64(),
        refused: informers.iter().map(|informer| informer.refused).sum(),
        rss_before_megabytes: span.before.rss_bytes as f64 / 1e6,
        rss_peak_megabytes: span.peak_rss_bytes as f64 / 1e6,
    };
    let report = Report::new(Kind::Herd.to_string(), took, &counts, &latencies, &span);
    Ok(report.with(Figures::Herd(figures)))
}

/// Begins all informers at once, on as many connections as the options say.
async fn begin(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Vec<Informer>, Error> {
    let started = Instant::now();
    let wanted = options.connections.unwrap_or(options.watchers).clamp(1, options.watchers);
    let connections = (0..wanted).map(|number| async move {
        let informers = (number..options.watchers).step_by(wanted as usize);
        let first = connect(servers, number as usize, env).await?;
        let all = informers.map(|_| {
            let shared = first.share();
            sync(shared, servers, workspace, (number as usize, started), env)
        });
        join_all(all).await.into_iter().collect::<Result<Vec<_>, Error>>()
    });
    Ok(try_join_all(connections).await?.into_iter().flatten().collect())
}

/// A connection to a server from this number on.
async fn connect(servers: &Servers, number: usize, env: &Env) -> Result<Connection, Error> {
    let deadline = Instant::now() + LIMIT;
    let mut attempt = 0;
    loop {
        match servers.connect(env, number + attempt).await {
            Ok(connection) => return Ok(connection),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => sleep(PAUSE).await,
        }
        attempt += 1;
    }
}

/// Asks for all objects until there is a watch that has told them.
async fn sync(
    mut shared: Option<Connection>,
    servers: &Servers,
    workspace: &Workspace,
    (number, started): (usize, Instant),
    env: &Env,
) -> Result<Informer, Error> {
    let (mut refused, mut attempt) = (0, 0);
    loop {
        if started.elapsed() >= LIMIT {
            let why = format_args!("an informer is without all objects after {LIMIT:?}");
            return Err(Error::failed(why));
        }
        let mut connection = match shared.take().filter(|shared| !shared.is_closed()) {
            Some(connection) => connection,
            None => connect(servers, number + attempt, env).await?,
        };
        attempt += 1;
        let server = servers.server(number);
        let request = workspace.request(Kind::Herd, server, (0, 1), 0, "");
        let Ok(answer) = connection.send(request).await else {
            sleep(PAUSE).await;
            continue;
        };
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            let after = answer.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
            let after = after.and_then(|after| after.parse().ok()).map(Duration::from_secs);
            refused += 1;
            shared = Some(connection);
            sleep(after.unwrap_or(REFUSAL_PAUSE)).await;
            continue;
        }
        if !answer.status().is_success() {
            let status = answer.status();
            return Err(Error::failed(format_args!("{server}: a watch is answered with {status}")));
        }
        let mut events = WatchEvents::new(answer.into_body(), workspace.encoding);
        if let Some(objects) = all_objects(&mut events, workspace).await {
            let took = started.elapsed();
            return Ok(Informer { _connection: connection, events, objects, refused, took });
        }
    }
}

/// How many objects come before the end of the initial events; `None` when that does not come.
pub(super) async fn all_objects(events: &mut WatchEvents, workspace: &Workspace) -> Option<u32> {
    let (mut objects, mut is_over) = (0, false);
    while !is_over {
        let arrived = events.next(|event| {
            is_over = is_over || workspace.encoding.is_end_of_initial(event);
            objects += u32::from(!is_over);
        });
        if !arrived.await.unwrap_or(false) {
            return None;
        }
    }
    Some(objects)
}

impl fmt::Display for HerdFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { informers, objects, seconds, refused, .. } = self;
        writeln!(
            f,
            "  {informers} informers have {objects} objects each after {seconds:.2} s; {refused} refusals"
        )?;
        let (before, peak) = (self.rss_before_megabytes, self.rss_peak_megabytes);
        let times = peak / before.max(f64::MIN_POSITIVE);
        write!(f, "  RSS MB: before {before:.1}, at the most {peak:.1}, {times:.2} times that")
    }
}
