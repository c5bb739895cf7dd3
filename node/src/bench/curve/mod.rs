//! The curve: one cluster, measured at several numbers of objects.
//!
//! The cluster is made in an empty data folder by `quorate dev`, grown to each number, left to rest,
//! stopped and started again, and measured: so the memory and the start are those of exactly these
//! objects. Invariant: what the measurement of creates makes is deleted before the cluster grows on.
//!
//! Not here: the processes (`cluster`), and how the figures are told (`table`).

mod cluster;
mod table;

use quorate_env::Env;
use tokio::time::{Instant, sleep};

use self::cluster::CurveCluster;
use self::table::{CurveRow, CurveSize, Table};
use super::kind::Kind;
use super::objects::ObjectTemplate;
use super::process::{self, Usage};
use super::report::Report;
use super::workload::Workspace;
use super::{MeasuredCluster, Options};
use crate::cli::Output;
use crate::error::Error;
use crate::terminal::print_line;

/// What is measured at each number of objects, in this order: the kind, and how many clients at the
/// most, since lists of a million objects need no more to keep a server busy.
const MEASURED: [(Kind, u32); 9] = [
    (Kind::Get, 32),
    (Kind::List, 2),
    (Kind::Page, 4),
    (Kind::Select, 2),
    (Kind::SelectPart, 8),
    (Kind::SelectField, 8),
    (Kind::Watch, 32),
    (Kind::Update, 32),
    (Kind::Create, 32),
];
/// Watchers of a curve at the most.
const WATCHERS: u32 = 20;

/// Makes the cluster, measures it at every number of objects, and stops it.
pub(super) async fn run(options: &Options, env: &Env) -> Result<(), Error> {
    let (mut cluster, servers) = CurveCluster::make(options, env).await?;
    let template = ObjectTemplate::read(options, env)?;
    let workspace =
        Workspace::prepare(&servers, options, (template, options.encoding), env).await?;
    let mut measured = MeasuredCluster { servers, workspace };
    let mut table = Table::default();
    // The nodes have made what they make at their first start.
    sleep(options.rest).await;
    let empty = process::usage(&measured.servers.pids);
    let told = options.output == Output::Table;
    if told {
        print_line(Report::header());
    }
    for (round, objects) in (0..).zip(&options.objects) {
        let mut size = grow(&mut measured, *objects, empty, options, env).await?;
        cluster.stop(&measured.servers).await?;
        let started = Instant::now();
        measured.servers = cluster.start(env).await?;
        size.ready_seconds = started.elapsed().as_secs_f64();
        sleep(options.rest).await;
        size.restarted_megabytes = megabytes(process::usage(&measured.servers.pids));
        for (kind, clients) in MEASURED {
            let options = Options {
                clients: options.clients.min(clients),
                watchers: options.watchers.min(WATCHERS),
                ..options.clone()
            };
            let report = measured.measure(kind, round, &options, env).await?;
            if told {
                print_line(&report);
            }
            size.rows.push(CurveRow::new(kind, report, &measured.workspace));
        }
        measured.workspace.delete_created(&measured.servers, env).await?;
        table.sizes.push(size);
    }
    cluster.stop(&measured.servers).await?;
    match options.output {
        Output::Table => print_line(table),
        Output::Json => print_line(serde_json::to_string_pretty(&table).map_err(Error::failed)?),
    }
    Ok(())
}

/// Grows the collection to a number of objects.
async fn grow(
    measured: &mut MeasuredCluster,
    objects: u32,
    empty: Usage,
    options: &Options,
    env: &Env,
) -> Result<CurveSize, Error> {
    let MeasuredCluster { servers, workspace } = measured;
    let (before, started) = (workspace.objects(), Instant::now());
    let growing = workspace.grow(objects, servers, env);
    let (grown, span) = process::during(&servers.pids, growing).await;
    grown?;
    let (made, seconds) = (f64::from(objects - before), started.elapsed().as_secs_f64());
    sleep(options.rest).await;
    let rested = process::usage(&servers.pids);
    let added = rested.rss_bytes.saturating_sub(empty.rss_bytes) as f64;
    Ok(CurveSize {
        objects,
        json_bytes: workspace.answered_bytes(servers, env).await?,
        made_per_second: made / seconds,
        made_cpu_us: span.cpu().as_secs_f64() * 1e6 / made.max(1.0),
        peak_megabytes: span.peak_rss_bytes as f64 / 1e6,
        resident_megabytes: megabytes(rested),
        bytes_per_object: added / f64::from(objects) / servers.count() as f64,
        ..CurveSize::default()
    })
}

fn megabytes(usage: Usage) -> f64 {
    usage.rss_bytes as f64 / 1e6
}
