//! `quorate bench`: measurements of a running cluster from outside, through its API, as clients see
//! it.
//!
//! Each measurement prepares what it needs (a namespace, objects), lets a fixed number of clients
//! send one request after the other for a fixed time, and reports throughput, latency, and the CPU
//! time and memory of the server processes over exactly that time; with a second cluster to
//! compare, it measures both in turn. What many large lists at one time cost in memory, a 400 MB
//! collection a hundred times: `quorate bench list --clients 100 --objects 400 --payload 1000000B
//! --duration 1s`, in the last column; what idle watches cost: `quorate bench idle --watchers
//! 10000`, also with `--connections 40`. Objects are ConfigMaps, or made after a sample of another
//! kind. `--encoding` says in which form they are read, and `--versus-json` compares that with JSON:
//! `quorate bench list --encoding protobuf --versus-json`. `quorate bench definitions` measures
//! definitions themselves. Three are of many watchers: `fanout` of writes at a fixed rate, `herd` of
//! informers that come back all at once, `watch-list` of the initial events of one. `quorate bench
//! curve` makes a cluster of its own and measures it at several numbers of objects. It measures durable servers only: there is nothing to turn fsync off
//! with. It does not judge.

mod curve;
mod definition;
mod definitions;
mod encoding;
mod events;
mod fanout;
mod herd;
mod idle;
mod kind;
mod latency;
mod load;
mod objects;
mod options;
mod overload;
mod process;
mod report;
mod servers;
mod versus;
mod watch_list;
mod watchers;
mod workload;

pub(crate) use options::Options;

use std::path::Path;

use quorate_env::Env;

use crate::cli::Output;
use crate::error::Error;
use crate::terminal::print_line;
use encoding::Encoding;
use kind::Kind;
use objects::ObjectTemplate;
use report::Report;
use servers::Servers;
use workload::Workspace;

/// Runs every measurement that was asked for.
pub(crate) async fn run(options: &Options, env: &Env) -> Result<(), Error> {
    options.check()?;
    if options.workloads.contains(&Kind::Curve) {
        return curve::run(options, env).await;
    }
    let objects = ObjectTemplate::read(options, env)?;
    if let Some(other) = &options.versus {
        let second = (other.as_path(), objects.clone(), options.encoding);
        let first = (options.data_dir.as_path(), objects, options.encoding);
        return versus::run(options, [first, second], env).await;
    }
    if options.versus_json {
        let folder = options.data_dir.as_path();
        let json = (folder, objects.clone(), Encoding::Json);
        return versus::run(options, [json, (folder, objects, options.encoding)], env).await;
    }
    if options.versus_config_maps {
        let folder = options.data_dir.as_path();
        let config_maps = definition::config_maps_of_same_size(&objects, options, env).await?;
        let config_maps = (folder, config_maps, options.encoding);
        let objects = (folder, objects, options.encoding);
        return versus::run(options, [config_maps, objects], env).await;
    }
    let subject = (options.data_dir.as_path(), objects, options.encoding);
    let cluster = MeasuredCluster::prepare(options, subject, env).await?;
    let measured = measure_all(&cluster, options, env).await;
    let cleaned_up = cluster.clean_up(env).await;
    let reports = measured?;
    cleaned_up?;
    if options.output == Output::Json {
        print_line(serde_json::to_string_pretty(&reports).map_err(Error::failed)?);
    }
    Ok(())
}

async fn measure_all(
    cluster: &MeasuredCluster,
    options: &Options,
    env: &Env,
) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    for kind in &options.workloads {
        let report = cluster.measure(*kind, 0, options, env).await?;
        if options.output == Output::Table {
            if reports.is_empty() {
                print_line(Report::header());
            }
            print_line(&report);
        }
        reports.push(report);
    }
    Ok(reports)
}

/// What is measured: the data folder of a cluster, the objects that are made there, and the form in
/// which they are read.
type MeasuredObjects<'s> = (&'s Path, ObjectTemplate, Encoding);

/// A cluster and what measurements need in it.
struct MeasuredCluster {
    servers: Servers,
    workspace: Workspace,
}

impl MeasuredCluster {
    async fn prepare(
        options: &Options,
        (folder, objects, encoding): MeasuredObjects<'_>,
        env: &Env,
    ) -> Result<Self, Error> {
        let servers = Servers::find(options, folder)?;
        let workspace = Workspace::prepare(&servers, options, (objects, encoding), env).await?;
        Ok(Self { servers, workspace })
    }

    async fn measure(
        &self,
        kind: Kind,
        round: u32,
        options: &Options,
        env: &Env,
    ) -> Result<Report, Error> {
        match kind {
            Kind::Watch => watchers::run(&self.servers, &self.workspace, options, env).await,
            Kind::Fanout => fanout::run(&self.servers, &self.workspace, options, env).await,
            Kind::Herd => herd::run(&self.servers, &self.workspace, options, env).await,
            Kind::WatchList => watch_list::run(&self.servers, &self.workspace, options, env).await,
            Kind::Definitions => Box::pin(definitions::run(&self.servers, options, env)).await,
            Kind::Idle => idle::run(&self.servers, &self.workspace, options, env).await,
            Kind::Overload => overload::run(&self.servers, &self.workspace, options, env).await,
            _ => load::run(kind, round, &self.servers, &self.workspace, options, env).await,
        }
    }

    async fn clean_up(self, env: &Env) -> Result<(), Error> {
        self.workspace.clean_up(&self.servers, env).await
    }
}
