//! The measurement of fan-out: many watchers, each of a share of the objects or of all, while objects
//! are written at a fixed rate.
//!
//! First the same writes are made without watchers, so that what is added is the watchers'. One
//! operation is an event at a watcher, its latency the time from the moment its write is sent.
//! Invariants: every watch begins at a revision before the first write, and is read until it has one
//! event for each write that succeeded in its part, or for [`GRACE`] after the last write; a
//! difference is an error.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use quorate_env::Env;
use quorate_webhook::Connection;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::events::WatchEvents;
use super::kind::Kind;
use super::latency::Latencies;
use super::load::{connect, progress};
use super::process::Span;
use super::report::{Counts, Figures, Report};
use super::servers::Servers;
use super::watchers::newest;
use super::workload::{Workspace, must_succeed};
use super::{Options, process};
use crate::error::Error;

/// How long events may take to arrive after the last write.
const GRACE: Duration = Duration::from_secs(60);

/// What is told of a fan-out besides its events.
#[derive(Debug, Serialize)]
pub(super) struct FanoutFigures {
    watchers: u32,
    /// One watcher sees one in so many objects.
    parts: u32,
    writes: u64,
    writes_per_second: f64,
    /// Events that there are to deliver.
    expected: u64,
    cpu_us_per_write: f64,
    cpu_us_per_write_without_watchers: f64,
    /// What the watchers add, for each event.
    cpu_us_per_event: f64,
}

/// The writes of one phase.
struct Writing {
    started: Instant,
    until: Instant,
    rate: u32,
    /// The stamp of the first write. A stamp that an object has already would change nothing, so that
    /// no event would come of it.
    first: u32,
    /// The number of the next write.
    next: AtomicU32,
    /// When each was sent, in microseconds from the start.
    sent: Vec<AtomicU64>,
    /// How many have succeeded in each part.
    done: Vec<AtomicU64>,
}

/// Measures the writes without watchers, and then with them.
pub(super) async fn run(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Report, Error> {
    let mut writers = connect(servers, options.clients, options, env).await?;
    let alone = Writing::new(workspace, options, env);
    let work = async {
        let writers = alone.all(&mut writers, servers, workspace);
        tokio::join!(writers, progress(Kind::Fanout, alone.started, alone.until)).0
    };
    let (written, alone_span) = process::during(&servers.pids, work).await;
    written?;
    let watches = open(servers, workspace, options, env).await?;
    let writing = Writing::new(workspace, options, env);
    let (over, ended) = watch::channel(false);
    let latencies = Mutex::new(Latencies::new());
    let watchers = watches.into_iter().map(|(connection, part, events)| {
        read((connection, part, events), &writing, workspace, ended.clone(), &latencies)
    });
    let work = async {
        let writers = async {
            let written = writing.all(&mut writers, servers, workspace).await;
            let took = writing.started.elapsed();
            over.send_replace(true);
            written.map(|()| took)
        };
        let progress = progress(Kind::Fanout, writing.started, writing.until);
        tokio::join!(writers, join_all(watchers), progress)
    };
    let ((written, results, ()), span) = process::during(&servers.pids, work).await;
    let took = written?;
    let (mut counts, mut expected) = (Counts::default(), 0);
    for (part, delivered, bytes) in results {
        let wanted = writing.done[part as usize].load(Ordering::Relaxed);
        expected += wanted;
        counts.operations += delivered;
        counts.errors += wanted.abs_diff(delivered);
        counts.bytes += bytes;
    }
    let writes = writing.count();
    let cpu_of_write = |span: &Span, writes: u64| span.cpu().as_secs_f64() * 1e6 / writes as f64;
    let without = cpu_of_write(&alone_span, alone.count());
    let with = cpu_of_write(&span, writes);
    let figures = FanoutFigures {
        watchers: options.watchers,
        parts: workspace.template().parts(),
        writes,
        writes_per_second: writes as f64 / took.as_secs_f64(),
        expected,
        cpu_us_per_write: with,
        cpu_us_per_write_without_watchers: without,
        cpu_us_per_event: (with - without) * writes as f64 / counts.operations.max(1) as f64,
    };
    let latencies = latencies.into_inner().expect("no watcher panics");
    let report = Report::new(Kind::Fanout.to_string(), took, &counts, &latencies, &span);
    Ok(report.with(Figures::Fanout(figures)))
}

/// Opens all watches from one revision on. Gives each with its connection, which it needs, and the
/// part that it is of.
async fn open(
    servers: &Servers,
    workspace: &Workspace,
    options: &Options,
    env: &Env,
) -> Result<Vec<(Connection, u32, WatchEvents)>, Error> {
    let after = newest(&mut servers.connect(env, 0).await?, workspace, servers.server(0)).await?;
    let connections = connect(servers, options.watchers, options, env).await?;
    let mut watches = Vec::new();
    for (watcher, mut connection) in (0..).zip(connections) {
        let part = workspace.template().part(watcher);
        let server = servers.server(watcher as usize);
        let request = workspace.watch_part(server, &after, part);
        let answer = connection.send(request).await.map_err(Error::failed)?;
        if !answer.status().is_success() {
            let status = answer.status();
            return Err(Error::failed(format_args!("{server}: a watch is answered with {status}")));
        }
        let events = WatchEvents::new(answer.into_body(), workspace.encoding);
        watches.push((connection, part, events));
    }
    Ok(watches)
}

/// Reads a watch until it has all events. Gives its part, its events and their bytes.
async fn read(
    (_connection, part, mut events): (Connection, u32, WatchEvents),
    writing: &Writing,
    workspace: &Workspace,
    mut ended: watch::Receiver<bool>,
    latencies: &Mutex<Latencies>,
) -> (u32, u64, u64) {
    let mut delivered = 0;
    let mut deadline = None;
    loop {
        let is_over = deadline.is_some();
        if is_over && delivered >= writing.done[part as usize].load(Ordering::Relaxed) {
            break;
        }
        let take = |event: &[u8]| {
            delivered += 1;
            let lag = workspace.encoding.stamp(event).and_then(|stamp| writing.lag(stamp));
            lag.into_iter()
                .for_each(|lag| latencies.lock().expect("no watcher panics").record(lag));
        };
        let until = deadline.unwrap_or(writing.until + GRACE);
        tokio::select! {
            arrived = events.next(take) => if !arrived.unwrap_or(false) { break },
            _ = ended.wait_for(|over| *over), if !is_over => deadline = Some(Instant::now() + GRACE),
            () = sleep_until(until), if is_over => break,
        }
    }
    (part, delivered, events.bytes)
}

impl Writing {
    fn new(workspace: &Workspace, options: &Options, env: &Env) -> Self {
        let mut first = [0; 4];
        env.entropy.fill(&mut first);
        let started = Instant::now();
        let most = options.duration.as_secs_f64() * f64::from(options.rate);
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::default()).collect();
        Self {
            started,
            until: started + options.duration,
            rate: options.rate,
            first: u32::from_le_bytes(first) / 2 + 1,
            next: AtomicU32::default(),
            sent: zeros(most.ceil() as usize),
            done: zeros(workspace.template().parts() as usize),
        }
    }

    /// How many writes have succeeded.
    fn count(&self) -> u64 {
        self.done.iter().map(|done| done.load(Ordering::Relaxed)).sum()
    }

    /// How long ago a write was sent.
    fn lag(&self, stamp: u32) -> Option<Duration> {
        let sent = self.sent.get(stamp.checked_sub(self.first)? as usize)?.load(Ordering::Relaxed);
        self.started.elapsed().checked_sub(Duration::from_micros(sent))
    }

    async fn all(
        &self,
        writers: &mut [Connection],
        servers: &Servers,
        workspace: &Workspace,
    ) -> Result<(), Error> {
        let writers = writers.iter_mut().enumerate();
        let all = writers
            .map(|(writer, connection)| self.write(connection, servers.server(writer), workspace));
        try_join_all(all).await.map(drop)
    }

    /// Sends the writes that it is the turn of, each in its time, one after the other.
    async fn write(
        &self,
        connection: &mut Connection,
        server: &str,
        workspace: &Workspace,
    ) -> Result<(), Error> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let due = self.started + Duration::from_secs(1) * number / self.rate;
            let Some(sent) = self.sent.get(number as usize).filter(|_| due < self.until) else {
                return Ok(());
            };
            if due > Instant::now() {
                sleep_until(due).await;
            }
            if Instant::now() >= self.until {
                return Ok(());
            }
            let micros = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
            sent.store(micros, Ordering::Relaxed);
            let stamp = self.first + number;
            let request = workspace.request(Kind::Fanout, server, (0, 1), stamp, "");
            must_succeed(connection, request).await?;
            let part = workspace.template().part(stamp % workspace.objects());
            self.done[part as usize].fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Display for FanoutFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { watchers, parts, writes, writes_per_second, expected, .. } = self;
        writeln!(
            f,
            "  {watchers} watchers of 1/{parts} each, {writes} writes, {writes_per_second:.0} a second"
        )?;
        writeln!(f, "  {expected} events to deliver")?;
        let (with, without) = (self.cpu_us_per_write, self.cpu_us_per_write_without_watchers);
        let event = self.cpu_us_per_event;
        write!(f, "  CPU us: a write {with:.1}, without watchers {without:.1}; an event {event:.2}")
    }
}
