//! The options of `quorate bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::encoding::Encoding;
use super::kind::Kind;
use super::load::MAX_ROUNDS;
use crate::cli::{MAX_FOUNDERS, Output, bytes};
use crate::error::Error;

/// Parts of the objects of a curve.
const CURVE_PARTS: u32 = 1000;

/// What to measure, where, and with how much.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  quorate bench create get list watch
  quorate bench curve --data-dir /tmp/curve --objects 10000,100000,1000000 --payload 600B --node-options=--archive=off
  quorate bench fanout --watchers 10000 --connections 100 --share 1/100 --rate 1000
  quorate bench herd --watchers 5000 --connections 100 --objects 1000
  quorate bench watch-list --objects 100000 --clients 2 --encoding protobuf")]
pub(crate) struct Options {
    /// What to measure, in this order.
    #[arg(value_enum, required = true)]
    pub(crate) workloads: Vec<Kind>,
    /// Folder of a `dev` cluster: servers, credentials and process ids are found there.
    #[arg(long, default_value = "quorate-data")]
    pub(crate) data_dir: PathBuf,
    /// Folder of a second `dev` cluster, to see what a setting costs: each measurement is made on
    /// both in turn, and the last lines say how the second does beside the first.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["server", "pids"])]
    pub(crate) versus: Option<PathBuf>,
    /// How often each of the two is measured, with --versus and its kin; from six on, an interval
    /// is told with each ratio.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=MAX_ROUNDS))]
    pub(crate) rounds: u32,
    /// Servers to use instead, host:port; clients take them in turn. Needs --ca, --cert and --key.
    #[arg(long, value_delimiter = ',', value_name = "HOST:PORT", requires_all = ["ca", "cert", "key"])]
    pub(crate) server: Vec<String>,
    /// Authority of the servers' certificates.
    #[arg(long)]
    pub(crate) ca: Option<PathBuf>,
    /// Client certificate.
    #[arg(long)]
    pub(crate) cert: Option<PathBuf>,
    /// Its key.
    #[arg(long)]
    pub(crate) key: Option<PathBuf>,
    /// Server processes whose CPU time and memory are reported [default: those of the data folder].
    #[arg(long, value_delimiter = ',')]
    pub(crate) pids: Vec<u32>,
    /// Requests at a time.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) clients: u32,
    /// Connections that the clients or the idle watches share [default: one each].
    #[arg(long)]
    pub(crate) connections: Option<u32>,
    /// HTTP version, 1 or 2. With 1, every client has a connection of its own.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) http: u8,
    /// How long each measurement lasts.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) duration: Duration,
    /// Bytes of data in each object.
    #[arg(long, default_value = "1KiB", value_parser = bytes)]
    pub(crate) payload: u64,
    /// A definition of custom resources, in YAML or JSON: it is created unless it is there, stays,
    /// and its objects are measured in place of ConfigMaps.
    #[arg(long, value_name = "FILE", requires = "sample")]
    pub(crate) definition: Option<PathBuf>,
    /// One object of the definition, or of a built-in kind, in YAML or JSON. Every object is a copy
    /// of it under a name of its own, with the payload in an annotation.
    #[arg(long, value_name = "FILE")]
    pub(crate) sample: Option<PathBuf>,
    /// Measure ConfigMaps in turn with the objects of the definition, such that both are answered
    /// in as many bytes; the last lines say how these do beside the ConfigMaps.
    #[arg(long, requires = "sample", conflicts_with = "versus")]
    pub(crate) versus_config_maps: bool,
    /// The form in which objects are read, listed and watched.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) encoding: Encoding,
    /// Measure in JSON in turn with that form; the last lines say how the form does beside JSON.
    #[arg(long, requires = "encoding", conflicts_with_all = ["versus", "versus_config_maps"])]
    pub(crate) versus_json: bool,
    /// How many objects there are to read, update and list; the curve takes several numbers,
    /// smallest first.
    #[arg(long, default_value = "5000", value_delimiter = ',')]
    pub(crate) objects: Vec<u32>,
    /// The share of the objects that have one label in common, `1/N` or `all`: what `select-part`
    /// lists, and what a watcher of the fan-out sees [default: 1/1000 of a curve, else all].
    #[arg(long, value_name = "1/N", value_parser = share)]
    pub(crate) share: Option<u32>,
    /// Writes a second, in the measurement of fan-out.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: u32,
    /// Nodes of the cluster that the curve makes in the data folder, which must be empty.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MAX_FOUNDERS))]
    pub(crate) nodes: u64,
    /// Options of `quorate dev` for that cluster, in one word each: `--node-options=--archive=off`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) node_options: Vec<String>,
    /// The program that the cluster of a curve is made of [default: this one].
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// A folder with definitions of custom resources in YAML, for the measurement of that name; those
    /// that the server refuses are left out.
    #[arg(long, value_name = "FOLDER", required_if_eq("workloads", "definitions"))]
    pub(crate) definitions: Option<PathBuf>,
    /// How many definitions are made from them, under other groups and kinds.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: u32,
    /// How long the servers rest before the memory of the definitions is read.
    #[arg(long, default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) rest: Duration,
    /// Objects on a page.
    #[arg(long, default_value_t = 500)]
    pub(crate) page_size: u32,
    /// Watches at a time.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) watchers: u32,
    /// Identities that read at a time in the measurement of overload, with the greedy one.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) identities: u32,
    /// Connections of the greedy one; each of the others has one.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) greedy_connections: u32,
    /// How the answer looks.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

impl Options {
    /// Refuses what cannot be measured in a form.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.workloads.contains(&Kind::Page) && self.encoding.is_protobuf() {
            return Err(Error::config("pages are measured in JSON only: their tokens are read"));
        }
        let is_curve = self.workloads.contains(&Kind::Curve);
        if is_curve && (self.workloads.len() > 1 || !self.server.is_empty()) {
            return Err(Error::config("a curve is of a cluster of its own, and stands alone"));
        }
        if is_curve && (self.versus.is_some() || self.versus_json || self.versus_config_maps) {
            return Err(Error::config(
                "curves are compared by their tables: --binary makes another",
            ));
        }
        if !is_curve && self.objects.len() > 1 {
            return Err(Error::config("only a curve has several numbers of objects"));
        }
        if self.objects.is_empty() || !self.objects.is_sorted() || self.objects[0] == 0 {
            return Err(Error::config("--objects takes numbers from 1 on, smallest first"));
        }
        Ok(())
    }

    /// How many parts the objects are in.
    pub(super) fn parts(&self) -> u32 {
        let is_curve = self.workloads.contains(&Kind::Curve);
        self.share.unwrap_or(if is_curve { CURVE_PARTS } else { 1 })
    }

    /// The number of objects to begin with.
    pub(super) fn first_objects(&self) -> u32 {
        self.objects.first().copied().unwrap_or(1).max(1)
    }
}

/// The number of equal shares, of which one is meant.
fn share(text: &str) -> Result<u32, String> {
    if text == "all" {
        return Ok(1);
    }
    let parts = text.strip_prefix("1/").and_then(|parts| parts.parse().ok());
    parts.filter(|parts| *parts > 0).ok_or_else(|| format!("'{text}' is no share: use 1/N or all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let check = |text, expect: Option<u32>| assert_eq!(share(text).ok(), expect, "{text}");
        check("all", Some(1));
        check("1/100", Some(100));
        check("1/0", None);
        check("2/3", None);
        check("0.5", None);
    }
}
