//! The measurement of definitions of custom resources: how fast many of them, applied at the same
//! time, can be used at every server, what they cost in memory, and what a change of one costs.
//!
//! One operation is a definition. The time is from the first request until every server has each of
//! them, in all served versions, in discovery, in the index of OpenAPI v3 and in the document of its
//! group version; what is discovered is established, which is checked once more afterwards. A few
//! further definitions are applied first: one of these is changed before and after the many are
//! there. Everything is removed at the end.
//!
//! Not here: what the definitions are (`variants`), and the requests (`client`).

mod client;
mod figures;
mod variants;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use quorate_env::Env;
use tokio::time::{Instant, sleep};

use self::client::DefinitionsClient;
use self::figures::{Changes, Phases};
use self::variants::{RUN_LABEL, ServedVersion, Source, Variant};
use super::Options;
use super::latency::Latencies;
use super::process::{self, Span, Usage};
use super::report::{Counts, Figures, Report};
use super::servers::Servers;
use crate::error::Error;

pub(super) use figures::DefinitionFigures;

/// Definitions that are there before the many are applied.
const FEW: usize = 10;
/// How often one of them is changed.
const CHANGES: u32 = 20;

/// The measurement while it runs.
struct DefinitionsRun<'r> {
    servers: &'r Servers,
    clients: Vec<DefinitionsClient<'r>>,
    /// The path of the definitions' collection.
    path: String,
    id: String,
}

/// Items that clients take in turn.
struct Queue<'q, T> {
    items: &'q [T],
    taken: AtomicUsize,
}

impl<'q, T> Queue<'q, T> {
    fn new(items: &'q [T]) -> Self {
        Self { items, taken: AtomicUsize::new(0) }
    }

    fn next(&self) -> Option<&'q T> {
        self.items.get(self.taken.fetch_add(1, Ordering::Relaxed))
    }
}

/// Measures the definitions of the options' folder.
pub(super) async fn run(servers: &Servers, options: &Options, env: &Env) -> Result<Report, Error> {
    let folder = options.definitions.as_deref();
    let folder = folder.ok_or_else(|| Error::config("--definitions FOLDER is missing"))?;
    let mut source = Source::read(folder)?;
    let mut clients = Vec::new();
    for number in 0..options.clients as usize {
        clients.push(DefinitionsClient::connect(servers, number, env).await?);
    }
    let mut id = [0; 4];
    env.entropy.fill(&mut id);
    let id = format!("{:08x}", u32::from_be_bytes(id));
    let path = format!("/apis/{}/customresourcedefinitions", source.api_version);
    let mut run = DefinitionsRun { servers, clients, path, id };
    run.leave_out_refused(&mut source).await?;
    let measured = Box::pin(run.measure(&source, options)).await;
    let started = Instant::now();
    let removed = run.remove().await;
    let mut report = measured?;
    removed?;
    report.set_removal(started.elapsed());
    Ok(report)
}

impl DefinitionsRun<'_> {
    /// Leaves out what the server refuses, which would only be counted as errors.
    async fn leave_out_refused(&mut self, source: &mut Source) -> Result<(), Error> {
        let all: Vec<Variant> =
            (0..source.len()).map(|number| source.variant(number, &self.id)).collect();
        let mut refused = Vec::new();
        for (number, one) in all.iter().enumerate() {
            let sent = (one.name.as_str(), one.json.as_str());
            let why = self.clients[0].apply(&self.path, sent, true).await?;
            if why.is_some() || one.served.is_empty() {
                refused.push(number);
            }
        }
        if refused.len() == source.len() {
            return Err(Error::failed("the server refuses every definition"));
        }
        source.retain(|number| !refused.contains(&number));
        Ok(())
    }

    async fn measure(&mut self, source: &Source, options: &Options) -> Result<Report, Error> {
        // The many come after whole rounds of the folder, so that no group has both.
        let step = (source.len() / FEW).max(1);
        let begin = (FEW * step).next_multiple_of(source.len());
        let few: Vec<Variant> =
            (0..FEW).map(|number| source.variant(number * step, &self.id)).collect();
        let many: Vec<Variant> = (begin..begin + options.count as usize)
            .map(|number| source.variant(number, &self.id))
            .collect();
        self.apply(&few).await?;
        self.until_visible(&few, Instant::now()).await?;
        let changed = median(&few);
        let among_few = self.change(changed, "few").await?;
        let before = process::usage(&self.servers.pids);
        let started = Instant::now();
        let pids = &self.servers.pids;
        let (phases, span) = process::during(pids, self.all(&many, started)).await;
        let (phases, latencies) = phases?;
        let label = format!("{RUN_LABEL}%3D{}", self.id);
        let established = self.clients[0].established(&self.path, &label).await?;
        sleep(options.rest).await;
        let rested = process::usage(pids);
        let among_many = self.change(changed, "many").await?;
        let counts = Counts {
            operations: many.len() as u64,
            errors: (many.len() + few.len() - established) as u64,
            bytes: many.iter().map(|one| one.json.len() as u64).sum(),
        };
        let figures = DefinitionFigures {
            files: source.len(),
            servers: self.servers.count(),
            json_bytes: counts.bytes / counts.operations.max(1),
            phases,
            resident: each(before, &span, rested, many.len() * self.servers.count()),
            among_few,
            among_many,
            removed: Duration::ZERO,
        };
        let report =
            Report::new("definitions".to_owned(), phases.described, &counts, &latencies, &span);
        Ok(report.with(Figures::Definitions(figures)))
    }

    /// Applies definitions and waits until they are visible.
    async fn all(
        &mut self,
        many: &[Variant],
        started: Instant,
    ) -> Result<(Phases, Latencies), Error> {
        let latencies = self.apply(many).await?;
        let applied = started.elapsed();
        let phases = self.until_visible(many, started).await?;
        Ok((Phases { applied, ..phases }, latencies))
    }

    /// Applies definitions with all clients; gives the latencies of these requests.
    async fn apply(&mut self, variants: &[Variant]) -> Result<Latencies, Error> {
        let (queue, path) = (Queue::new(variants), &self.path);
        let all = self.clients.iter_mut().map(async |client| {
            let mut latencies = Latencies::new();
            while let Some(one) = queue.next() {
                let sent = Instant::now();
                let refused = client.apply(path, (&one.name, &one.json), false).await?;
                if let Some(why) = refused {
                    return Err(Error::failed(format_args!("{}: {why}", one.name)));
                }
                latencies.record(sent.elapsed());
            }
            Ok(latencies)
        });
        let mut latencies = Latencies::new();
        try_join_all(all).await?.iter().for_each(|part| latencies.add(part));
        Ok(latencies)
    }

    /// Waits until every server shows the definitions; times are from `started` on.
    async fn until_visible(
        &mut self,
        variants: &[Variant],
        started: Instant,
    ) -> Result<Phases, Error> {
        let versions: Vec<&ServedVersion> = variants.iter().flat_map(|one| &one.served).collect();
        let servers = 0..self.servers.count();
        let of_servers = |version| servers.clone().map(move |server| (server, version));
        let all: Vec<(usize, &ServedVersion)> =
            versions.iter().flat_map(|version| of_servers(*version)).collect();
        let queue = Queue::new(&all);
        try_join_all(self.clients.iter_mut().map(async |client| {
            while let Some((server, version)) = queue.next() {
                client.until_discovered(*server, version).await?;
            }
            Ok::<_, Error>(())
        }))
        .await?;
        let discovered = started.elapsed();
        self.until_described(&versions).await?;
        Ok(Phases { applied: discovered, discovered, described: started.elapsed() })
    }

    /// Waits until every server has the versions in OpenAPI.
    async fn until_described(&mut self, versions: &[&ServedVersion]) -> Result<(), Error> {
        let wanted: BTreeSet<&str> =
            versions.iter().map(|version| version.api_version.as_str()).collect();
        for server in 0..self.servers.count() {
            let found: BTreeSet<String> =
                self.clients[0].index(server).await?.into_iter().collect();
            if let Some(lacking) = wanted.iter().find(|version| !found.contains(**version)) {
                return Err(Error::failed(format_args!("the index of OpenAPI lacks {lacking}")));
            }
        }
        // A document has all kinds of its group version: the last one is looked for.
        let last: BTreeMap<&str, &ServedVersion> =
            versions.iter().map(|version| (version.api_version.as_str(), *version)).collect();
        let servers = 0..self.servers.count();
        let all: Vec<(usize, &ServedVersion)> = last
            .into_values()
            .flat_map(|version| servers.clone().map(move |server| (server, version)))
            .collect();
        let queue = Queue::new(&all);
        try_join_all(self.clients.iter_mut().map(async |client| {
            while let Some((server, version)) = queue.next() {
                client.until_described(*server, version, &version.kind).await?;
            }
            Ok::<_, Error>(())
        }))
        .await
        .map(drop)
    }

    /// Changes a definition again and again, each time until every server shows it.
    async fn change(&mut self, changed: &Variant, stage: &str) -> Result<Changes, Error> {
        let (path, servers) = (self.path.clone(), self.servers.count());
        let (client, pids) = (&mut self.clients[0], &self.servers.pids);
        let work = async {
            let mut latencies = Latencies::new();
            for number in 0..CHANGES {
                let text = format!("{stage} {number}");
                let json = changed.described(&text)?;
                let sent = Instant::now();
                client.apply(&path, (&changed.name, &json), false).await?;
                for version in &changed.served {
                    for server in 0..servers {
                        client.until_described(server, version, &text).await?;
                    }
                }
                latencies.record(sent.elapsed());
            }
            Ok::<_, Error>(latencies)
        };
        let (latencies, span) = process::during(pids, work).await;
        let cpu = span.after.cpu.saturating_sub(span.before.cpu);
        Ok(Changes::new(&latencies?, cpu / CHANGES))
    }

    async fn remove(&mut self) -> Result<(), Error> {
        let label = format!("{RUN_LABEL}%3D{}", self.id);
        self.clients[0].remove(&self.path, &label).await
    }
}

/// Of some definitions the one of median size.
fn median(variants: &[Variant]) -> &Variant {
    let mut sorted: Vec<&Variant> = variants.iter().collect();
    sorted.sort_by_key(|one| one.json.len());
    sorted[sorted.len() / 2]
}

/// What is resident for each definition and server: at the most, and after the rest.
fn each(before: Usage, span: &Span, rested: Usage, count: usize) -> (u64, u64) {
    let share = |bytes: u64| bytes.saturating_sub(before.rss_bytes) / count.max(1) as u64;
    (share(span.peak_rss_bytes), share(rested.rss_bytes))
}
