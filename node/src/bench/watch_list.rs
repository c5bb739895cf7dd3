//! The measurement of initial events: all objects as the beginning of a watch, in turn with lists.
//!
//! One operation is an object; the latency is that of a whole beginning, up to the bookmark at its
//! end. Each watch ends there. Invariant: both are asked for by as many clients, in the same form.

use std::fmt;

use futures::future::try_join_all;
use quorate_env::Env;
use quorate_webhook::Connection;
use serde::Serialize;
use tokio::time::{Duration, Instant};

use super::events::WatchEvents;
use super::herd::all_objects;
use super::kind::Kind;
use super::latency::Latencies;
use super::load::{self, connect};
use super::process::Span;
use super::report::{Counts, Figures, Report};
use super::servers::Servers;
use super::watchers::count_objects;
use super::workload::Workspace;
use super::{Options, process};
use crate::error::Error;

/// How often each of the two is measured.
const TURNS: u32 = 3;

/// What is told of initial events beside lists.
#[derive(Debug, Serialize)]
pub(super) struct WatchListFigures {
    cpu_us_per_object: f64,
    cpu_us_per_object_of_list: f64,
    objects_per_second: f64,
    objects_per_second_of_list: f64,
}

/// Measures both in turn, for half of the duration each.
pub(super) async fn run(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    let mut clients = connect(servers, options.clients, options, env).await?;
    let server = servers.server(0);
    let objects = count_objects(&mut servers.connect(env, 0).await?, workspace, server).await?;
    let turn = Options { duration: options.duration / (2 * TURNS), ..options.clone() };
    let (mut counts, mut latencies, mut span) =
        (Counts::default(), Latencies::new(), Span::default());
    let mut took = Duration::ZERO;
    let (mut list_cpu_us, mut lists_per_second) = (0.0, 0.0);
    for round in 0..TURNS {
        let list = load::run(Kind::List, round, servers, workspace, &turn, env).await?;
        counts.errors += list.errors;
        list_cpu_us += list.cpu_ms_per_1000_operations / f64::from(TURNS);
        lists_per_second += list.operations_per_second / f64::from(TURNS);
        let started = Instant::now();
        let until = started + turn.duration;
        let all = clients.iter_mut().enumerate().map(|(client, connection)| {
            read(connection, servers.server(client), (workspace, objects), until)
        });
        let (results, part) = process::during(&servers.pids, try_join_all(all)).await;
        took += started.elapsed();
        for (part, times) in results? {
            counts.operations += part.operations;
            counts.errors += part.errors;
            counts.bytes += part.bytes;
            latencies.add(&times);
        }
        span = span.and(&part);
    }
    let figures = WatchListFigures {
        cpu_us_per_object: span.cpu().as_secs_f64() * 1e6 / counts.operations.max(1) as f64,
        cpu_us_per_object_of_list: list_cpu_us / f64::from(objects),
        objects_per_second: counts.operations as f64 / took.as_secs_f64(),
        objects_per_second_of_list: lists_per_second * f64::from(objects),
    };
    let report = Report::new(Kind::WatchList.to_string(), took, &counts, &latencies, &span);
    Ok(report.with(Figures::WatchList(figures)))
}

/// Begins one watch after the other, each of which tells so many objects.
async fn read(
    connection: &mut Connection,
    server: &str,
    (workspace, wanted): (&Workspace, u32),
    until: Instant,
) -> Result<(Counts, Latencies), Error> {
    let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
    while Instant::now() < until {
        let request = workspace.request(Kind::WatchList, server, (0, 1), 0, "");
        let sent = Instant::now();
        let answer = connection.send(request).await.map_err(Error::failed)?;
        if !answer.status().is_success() {
            counts.errors += 1;
            continue;
        }
        let mut events = WatchEvents::new(answer.into_body(), workspace.encoding);
        let objects = all_objects(&mut events, workspace).await;
        latencies.record(sent.elapsed());
        counts.operations += u64::from(objects.unwrap_or_default());
        counts.errors += u64::from(objects != Some(wanted));
        counts.bytes += events.bytes;
    }
    Ok((counts, latencies))
}

impl fmt::Display for WatchListFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (events, list) = (self.cpu_us_per_object, self.cpu_us_per_object_of_list);
        writeln!(
            f,
            "  CPU us an object: initial events {events:.3}, list {list:.3}; {:.2} times that",
            events / list.max(f64::MIN_POSITIVE)
        )?;
        let (events, list) = (self.objects_per_second, self.objects_per_second_of_list);
        write!(f, "  objects a second: initial events {events:.0}, list {list:.0}")
    }
}
