//! The measurement of overload: reads of many identities, first without and then with one that is
//! greedy and has many connections.
//!
//! Every identity is a user that the client's own one impersonates, in no group that is exempt from
//! priority and fairness. Invariants: a client of the greedy identity comes back at once when it is
//! refused, one of the others when it was told to; what is reported as operations and latency are
//! the others, while the greedy one is there.

use std::fmt;
use std::time::Duration;

use futures::future::join_all;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use quorate_env::Env;
use quorate_webhook::Connection;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::kind::Kind;
use super::latency::{Latencies, Percentiles};
use super::report::{Counts, Figures, Report};
use super::servers::Servers;
use super::workload::{self, Workspace};
use super::{Options, process};
use crate::error::Error;

/// The group that the identities are in.
pub(super) const GROUP: &str = "quorate:bench";
/// How often the health of the server is asked for.
const HEALTH_PERIOD: Duration = Duration::from_millis(50);

/// What is told of an overload besides the requests of the others.
#[derive(Debug, Default, Serialize)]
pub(super) struct OverloadFigures {
    /// The latency of the others without the greedy identity.
    alone_ms: Percentiles,
    /// The fewest requests of one of the others that were answered, with the greedy one and
    /// without.
    fewest_operations: [u64; 2],
    greedy_ms: Percentiles,
    greedy_operations: u64,
    /// Requests of the others, and of the greedy one, that were answered 429.
    refused: [u64; 2],
    /// Those of them that did not say when to come back.
    refused_without_advice: u64,
    health_ms: Percentiles,
    health_errors: u64,
}

/// What one client, or several, have come to.
#[derive(Debug)]
struct ClientFigures {
    latencies: Latencies,
    operations: u64,
    refused: u64,
    without_advice: u64,
    errors: u64,
    /// The fewest operations of one client.
    fewest: u64,
}

/// One client: its identity, its requests, and whether it is greedy.
struct Sender<'a> {
    workspace: &'a Workspace,
    server: &'a str,
    connection: Connection,
    user: HeaderValue,
    /// Its number and how many clients there are.
    place: (u32, u32),
    is_greedy: bool,
}

/// Measures both phases, each as long as the options say.
pub(super) async fn run(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    workspace.let_read(GROUP, servers, env).await?;
    let others = options.identities.saturating_sub(1).max(1);
    let mut calm = Vec::new();
    for number in 0..others {
        calm.push(connect(servers, workspace, env, (number, others), false).await?);
    }
    let mut greedy = Vec::new();
    for number in 0..options.greedy_connections {
        let place = (number, options.greedy_connections);
        greedy.push(connect(servers, workspace, env, place, true).await?);
    }
    let mut probe = connect(servers, workspace, env, (0, 1), false).await?;
    let alone = all(&mut calm, Instant::now() + options.duration).await;
    let started = Instant::now();
    let until = started + options.duration;
    let work =
        async { tokio::join!(all(&mut calm, until), all(&mut greedy, until), probe.health(until)) };
    let ((calm, greedy, health), span) = process::during(&servers.pids, work).await;
    let counts = Counts { operations: calm.operations, errors: calm.errors, bytes: 0 };
    let figures = OverloadFigures {
        alone_ms: alone.latencies.percentiles(),
        fewest_operations: [calm.fewest, alone.fewest],
        greedy_ms: greedy.latencies.percentiles(),
        greedy_operations: greedy.operations,
        refused: [calm.refused, greedy.refused],
        refused_without_advice: calm.without_advice + greedy.without_advice,
        health_ms: health.latencies.percentiles(),
        health_errors: health.errors,
    };
    let name = Kind::Overload.to_string();
    let report = Report::new(name, started.elapsed(), &counts, &calm.latencies, &span);
    Ok(report.with(Figures::Overload(figures)))
}

async fn connect<'a>(
    servers: &'a Servers,
    workspace: &'a Workspace,
    env: &Env,
    place: (u32, u32),
    is_greedy: bool,
) -> Result<Sender<'a>, Error> {
    let name = if is_greedy { "greedy".to_owned() } else { format!("calm-{}", place.0) };
    let connection = servers.connect(env, place.0 as usize).await?;
    let server = servers.server(place.0 as usize);
    let user = HeaderValue::try_from(name).map_err(Error::failed)?;
    Ok(Sender { workspace, server, connection, user, place, is_greedy })
}

/// Lets all clients send until then.
async fn all(senders: &mut [Sender<'_>], until: Instant) -> ClientFigures {
    let tallies = join_all(senders.iter_mut().map(|sender| sender.run(until))).await;
    let mut sum = ClientFigures { fewest: u64::MAX, ..ClientFigures::new() };
    for tally in &tallies {
        sum.latencies.add(&tally.latencies);
        sum.operations += tally.operations;
        sum.refused += tally.refused;
        sum.without_advice += tally.without_advice;
        sum.errors += tally.errors;
        sum.fewest = sum.fewest.min(tally.operations);
    }
    sum
}

impl Sender<'_> {
    async fn run(&mut self, until: Instant) -> ClientFigures {
        let (mut tally, mut turn) = (ClientFigures::new(), 0);
        while Instant::now() < until {
            let get = self.workspace.request(Kind::Get, self.server, self.place, turn, "");
            turn += 1;
            if self.exchange(get, &mut tally).await && !self.is_greedy {
                sleep(Duration::from_secs(1)).await;
            }
        }
        tally
    }

    /// Asks for the health again and again.
    async fn health(&mut self, until: Instant) -> ClientFigures {
        let mut tally = ClientFigures::new();
        while Instant::now() < until {
            let get = workload::request(Method::GET, self.server, "/readyz", String::new());
            self.exchange(get, &mut tally).await;
            sleep(HEALTH_PERIOD).await;
        }
        tally.errors += tally.refused;
        tally
    }

    /// Sends a request on behalf of the identity and counts how it ends; whether it was refused.
    async fn exchange(
        &mut self,
        mut request: workload::MeasuredRequest,
        tally: &mut ClientFigures,
    ) -> bool {
        let headers = request.headers_mut();
        headers.insert("impersonate-user", self.user.clone());
        headers.insert("impersonate-group", HeaderValue::from_static(GROUP));
        headers.append("impersonate-group", HeaderValue::from_static("system:authenticated"));
        let sent = Instant::now();
        let Ok(answer) = self.connection.send(request).await else {
            tally.errors += 1;
            return false;
        };
        let (head, body) = answer.into_parts();
        let is_whole = body.collect().await.is_ok();
        if head.status == StatusCode::TOO_MANY_REQUESTS {
            tally.refused += 1;
            tally.without_advice += u64::from(!head.headers.contains_key(RETRY_AFTER));
            return true;
        }
        if is_whole && head.status.is_success() {
            tally.operations += 1;
            tally.latencies.record(sent.elapsed());
        } else {
            tally.errors += 1;
        }
        false
    }
}

impl ClientFigures {
    fn new() -> Self {
        let latencies = Latencies::new();
        Self { latencies, operations: 0, refused: 0, without_advice: 0, errors: 0, fewest: 0 }
    }
}

impl fmt::Display for OverloadFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { alone_ms, greedy_ms, health_ms, refused, .. } = self;
        writeln!(f, "  without the greedy one p50 {:.2} p99 {:.2} ms", alone_ms.p50, alone_ms.p99)?;
        let [with, without] = self.fewest_operations;
        writeln!(f, "  fewest requests of one of the others {with}, without {without}")?;
        let operations = self.greedy_operations;
        writeln!(f, "  greedy: {operations} requests, p99 {:.2} ms", greedy_ms.p99)?;
        let without_advice = self.refused_without_advice;
        let [calm, greedy] = refused;
        writeln!(f, "  429: others {calm}, greedy {greedy}, {without_advice} without Retry-After")?;
        let errors = self.health_errors;
        write!(f, "  /readyz: p99 {:.2} ms, {errors} errors", health_ms.p99)
    }
}
