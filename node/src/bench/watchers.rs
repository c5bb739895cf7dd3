//! The watch measurement: many watches of one collection while writers change its objects.
//!
//! One operation is one event that arrived at one watcher. The latency is from the moment a writer
//! sends a change until the first watcher has its event. The servers' CPU time includes the writes;
//! with many watchers they are a small part.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::join_all;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use quorate_env::Env;
use quorate_webhook::Connection;
use tokio::time::{Instant, timeout_at};

use super::encoding::Encoding;
use super::kind::Kind;
use super::latency::Latencies;
use super::load::progress;
use super::report::{Counts, Report};
use super::servers::Servers;
use super::workload::{Workspace, must_succeed};
use super::{Options, process};
use crate::error::Error;

/// Clients that change objects.
const WRITERS: u32 = 4;
/// How long after the last write events may still arrive.
const GRACE: Duration = Duration::from_secs(2);

/// When each change was sent, by its stamp.
type Sent = Mutex<HashMap<u32, Instant>>;

/// Measures how events reach the watchers.
pub(super) async fn run(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    let mut streams = Vec::new();
    for watcher in 0..options.watchers as usize {
        streams.push(open(servers, workspace, env, watcher).await?);
    }
    let sent = Sent::default();
    let started = Instant::now();
    let until = started + options.duration;
    let writers =
        join_all((0..WRITERS).map(|writer| write(servers, workspace, env, writer, until, &sent)));
    // The connections are kept: a watch ends with its own.
    let (_connections, bodies): (Vec<Connection>, Vec<Incoming>) = streams.into_iter().unzip();
    let watchers = join_all(bodies.into_iter().enumerate().map(|(watcher, body)| {
        let stamps = (watcher == 0).then_some(&sent);
        count(body, workspace.encoding, until + GRACE, stamps)
    }));
    let work = async { tokio::join!(writers, watchers, progress(Kind::Watch, started, until)) };
    let ((written, results, ()), span) = process::during(&servers.pids, work).await;
    written.into_iter().collect::<Result<Vec<()>, Error>>()?;
    let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
    for (part, times) in &results {
        counts.operations += part.operations;
        counts.bytes += part.bytes;
        latencies.add(times);
    }
    let last = results.iter().map(|(part, _)| part.operations).max().unwrap_or_default();
    counts.errors = results.iter().map(|(part, _)| last - part.operations).sum();
    Ok(Report::new(Kind::Watch.to_string(), options.duration, &counts, &latencies, &span))
}

/// Opens a watch from now on.
async fn open(
    servers: &Servers,
    workspace: &Workspace,
    env: &Env,
    watcher: usize,
) -> Result<(Connection, Incoming), Error> {
    let mut connection = servers.connect(env, watcher).await?;
    let server = servers.server(watcher);
    let after = newest(&mut connection, workspace, server).await?;
    let answer = connection.send(workspace.watch(server, &after)).await.map_err(Error::failed)?;
    if !answer.status().is_success() {
        return Err(Error::failed(format_args!(
            "{server}: a watch is answered with {}",
            answer.status()
        )));
    }
    Ok((connection, answer.into_body()))
}

/// The newest resourceVersion of the collection.
pub(super) async fn newest(
    connection: &mut Connection,
    workspace: &Workspace,
    server: &str,
) -> Result<String, Error> {
    let list = head(connection, workspace, server).await?;
    Ok(list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned())
}

/// How many objects the collection has, those of controllers too.
pub(super) async fn count_objects(
    connection: &mut Connection,
    workspace: &Workspace,
    server: &str,
) -> Result<u32, Error> {
    let list = head(connection, workspace, server).await?;
    let shown = list["items"].as_array().map_or(0, Vec::len) as u64;
    let rest = list["metadata"]["remainingItemCount"].as_u64().unwrap_or_default();
    u32::try_from(shown + rest).map_err(Error::failed)
}

/// A list with one object.
async fn head(
    connection: &mut Connection,
    workspace: &Workspace,
    server: &str,
) -> Result<serde_json::Value, Error> {
    let list = must_succeed(connection, workspace.head_of_list(server)).await?;
    serde_json::from_slice(&list).map_err(Error::failed)
}

async fn write(
    servers: &Servers,
    workspace: &Workspace,
    env: &Env,
    writer: u32,
    until: Instant,
    sent: &Sent,
) -> Result<(), Error> {
    let mut connection = servers.connect(env, writer as usize).await?;
    let mut turn = 0;
    while Instant::now() < until {
        let stamp = turn * WRITERS + writer;
        let server = servers.server(writer as usize);
        let request = workspace.request(Kind::Watch, server, (writer, WRITERS), stamp, "");
        sent.lock().expect("no writer panics").insert(stamp, Instant::now());
        let answer = connection.send(request).await.map_err(Error::failed)?;
        let status = answer.status();
        answer.into_body().collect().await.map_err(Error::failed)?;
        if !status.is_success() {
            return Err(Error::failed(format_args!(
                "{server}: a change is answered with {status}"
            )));
        }
        turn += 1;
    }
    Ok(())
}

/// Counts events until the time is over; with stamps, notes how long each change took to arrive.
async fn count(
    mut body: Incoming,
    encoding: Encoding,
    until: Instant,
    stamps: Option<&Sent>,
) -> (Counts, Latencies) {
    let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
    let mut rest: Vec<u8> = Vec::new();
    while let Ok(Some(Ok(frame))) = timeout_at(until, body.frame()).await {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        counts.bytes += data.len() as u64;
        rest.extend_from_slice(&data);
        let mut at = 0;
        while let Some(event) = encoding.event(&rest[at..]) {
            at += event.len();
            counts.operations += 1;
            let Some(sent) = stamps else { continue };
            if let Some(at) = encoding
                .stamp(event)
                .and_then(|stamp| sent.lock().expect("no writer panics").remove(&stamp))
            {
                latencies.record(at.elapsed());
            }
        }
        rest.drain(..at);
    }
    (counts, latencies)
}
