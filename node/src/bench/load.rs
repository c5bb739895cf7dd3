//! Clients that send one request after the other for a fixed time, and what they count.
//!
//! Invariants: an answer counts when its last byte has arrived; an answer that is no success counts
//! as an error and not as an operation. A client whose connection breaks goes on with the next server,
//! so that a measurement outlives the loss of one.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use indicatif::{ProgressBar, ProgressStyle};
use quorate_env::Env;
use quorate_webhook::Connection;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::Options;
use super::kind::Kind;
use super::latency::Latencies;
use super::process;
use super::report::{Counts, Report};
use super::servers::Servers;
use super::workload::{Workspace, must_succeed};
use crate::error::Error;

/// Requests of a client in one round at most: those of the next round count from there on.
const ROUND_REQUESTS: u32 = 1 << ROUND_BITS;
const ROUND_BITS: u32 = 24;
/// Rounds at most: all requests of a client are counted in 32 bits.
pub(super) const MAX_ROUNDS: i64 = 1 << (u32::BITS - ROUND_BITS);
/// How often each server is asked for a selection before it is measured: it makes an index when lists
/// ask again.
const SELECTIONS_BEFORE: u32 = 3;
/// After so long without an answer a connection counts as broken.
const REQUEST_LIMIT: Duration = Duration::from_secs(120);
/// Between attempts of a client to connect again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// How often the progress moves.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Measures one kind of request, for the first time in this workspace or in a later round.
pub(super) async fn run(
    kind: Kind,
    round: u32,
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    if kind.selects() {
        select_before(kind, servers, workspace, env).await?;
    }
    let connections = connect(servers, options.clients, options, env).await?;
    let started = Instant::now();
    let until = started + options.duration;
    let clients = connections.into_iter().enumerate().map(|(client, connection)| {
        let client = u32::try_from(client).expect("the number of clients is a u32");
        let place = (client, options.clients);
        let server = client as usize;
        Client { kind, servers, server, env, workspace, place, connection }
            .run(round * ROUND_REQUESTS, until)
    });
    let work = async { tokio::join!(join_all(clients), progress(kind, started, until)) };
    let ((results, ()), span) = process::during(&servers.pids, work).await;
    let elapsed = started.elapsed();
    let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
    for (part, times) in &results {
        counts.operations += part.operations;
        counts.errors += part.errors;
        counts.bytes += part.bytes;
        latencies.add(times);
    }
    Ok(Report::new(kind.to_string(), elapsed, &counts, &latencies, &span))
}

async fn select_before(
    kind: Kind,
    servers: &Servers,
    workspace: &Workspace,
    env: &Env,
) -> Result<(), Error> {
    for number in 0..servers.count() {
        let mut connection = servers.connect(env, number).await?;
        for turn in 0..SELECTIONS_BEFORE {
            let select = workspace.request(kind, servers.server(number), (0, 1), turn, "");
            must_succeed(&mut connection, select).await?;
        }
    }
    Ok(())
}

/// A connection for each client, shared as far as the options and the protocol say.
pub(super) async fn connect(
    servers: &Servers,
    clients: u32,
    options: &Options,
    env: &Env,
) -> Result<Vec<Connection>, Error> {
    let wanted = options.connections.unwrap_or(clients).clamp(1, clients);
    let mut all: Vec<Connection> = Vec::new();
    for client in 0..clients as usize {
        let shared = all.get(client % wanted as usize).and_then(Connection::share);
        let connection = match shared {
            Some(connection) => connection,
            None => servers.connect(env, client).await?,
        };
        all.push(connection);
    }
    Ok(all)
}

/// One client.
struct Client<'a> {
    kind: Kind,
    servers: &'a Servers,
    /// Which of the servers it uses: the count goes round.
    server: usize,
    env: &'a Env,
    workspace: &'a Workspace,
    /// Its number, and how many clients there are.
    place: (u32, u32),
    connection: Connection,
}

impl Client<'_> {
    async fn run(mut self, mut turn: u32, until: Instant) -> (Counts, Latencies) {
        let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
        let mut token = String::new();
        while Instant::now() < until {
            let server = self.servers.server(self.server);
            let request = self.workspace.request(self.kind, server, self.place, turn, &token);
            let sent = Instant::now();
            let answered = timeout(REQUEST_LIMIT, self.exchange(request)).await;
            latencies.record(sent.elapsed());
            turn += 1;
            match answered {
                Ok(Ok((bytes, next))) => {
                    counts.operations += 1;
                    counts.bytes += bytes;
                    token = next;
                }
                Ok(Err(())) | Err(_) => {
                    counts.errors += 1;
                    token.clear();
                    if answered.is_err() || self.connection.is_closed() {
                        self.reconnect(until).await;
                    }
                }
            }
        }
        (counts, latencies)
    }

    /// Connects to the next server that can be reached, after a pause, while there is time.
    async fn reconnect(&mut self, until: Instant) {
        while Instant::now() + RECONNECT_PAUSE < until {
            sleep(RECONNECT_PAUSE).await;
            self.server += 1;
            let connecting = self.servers.connect(self.env, self.server);
            if let Ok(Ok(connection)) = timeout_at(until, connecting).await {
                self.connection = connection;
                return;
            }
        }
        sleep_until(until).await;
    }

    async fn exchange(
        &mut self,
        request: http::Request<http_body_util::Full<Bytes>>,
    ) -> Result<(u64, String), ()> {
        let answer = self.connection.send(request).await.map_err(drop)?;
        let success = answer.status().is_success();
        let head = drain(answer.into_body()).await.map_err(drop)?;
        if success { Ok((head.bytes, self.kind.next_page(&head.first))) } else { Err(()) }
    }
}

/// What is kept of an answer.
struct Drained {
    bytes: u64,
    /// The first piece that arrived; a list's metadata is in it.
    first: Bytes,
}

/// Reads an answer to its end, keeping nothing but its size and its first piece.
async fn drain(mut body: Incoming) -> Result<Drained, hyper::Error> {
    let mut drained = Drained { bytes: 0, first: Bytes::new() };
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            drained.bytes += data.len() as u64;
            if drained.first.is_empty() {
                drained.first = data;
            }
        }
    }
    Ok(drained)
}

/// Shows on a terminal how far a measurement is.
pub(super) async fn progress(kind: Kind, started: Instant, until: Instant) {
    let total = u64::try_from((until - started).as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{msg:<10} {wide_bar} {elapsed}")
        .expect("the template is well formed");
    bar.set_style(style);
    bar.set_message(kind.to_string());
    let mut next = started;
    while next < until {
        bar.set_position(u64::try_from(started.elapsed().as_millis()).unwrap_or(total));
        next = (next + PROGRESS_INTERVAL).min(until);
        sleep_until(next).await;
    }
    bar.finish_and_clear();
}
