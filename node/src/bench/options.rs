//! The options of `quorate bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::encoding::Encoding;
use super::load::MAX_ROUNDS;
use super::workload::Kind;
use crate::cli::{Output, bytes};
use crate::error::Error;

/// What to measure, where, and with how much.
#[derive(Debug, Args)]
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
    /// How many objects there are to read, update and list.
    #[arg(long, default_value_t = 5000)]
    pub(crate) objects: u32,
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
        Ok(())
    }
}
