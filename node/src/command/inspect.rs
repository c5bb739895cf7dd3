//! `quorate inspect`: what the data folder of a stopped node holds, and whether it is sound.
//!
//! It opens log and state as a start does, so whatever would keep the node from starting is told here. Nothing in the folder
//! is changed: not its format either. Of the archive only the size is told, because opening it changes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use quorate_env::disk::SystemDisk;
use quorate_raft::recovery::{Inspection, RecoveryOptions, inspect, state_format};
use quorate_raft::types::Peer;
use quorate_registry::keys::Key;
use quorate_store::Snapshot;
use serde_json::{Value, json};

use super::token::moment;
use crate::cli::{Inspect, Output};
use crate::config::NodeConfig;
use crate::data_dir::DataDir;
use crate::error::{Error, at};
use crate::terminal::{print_line, print_table};

/// The parts of a node's raft folder.
const FOLDERS: [&str; 2] = ["log", "state"];

/// How many there are, and their bytes.
#[derive(Debug, Clone, Copy, Default)]
struct FolderTally {
    count: u64,
    bytes: u64,
}

/// Looks.
pub(crate) async fn run(options: &Inspect) -> Result<(), Error> {
    let dir = DataDir::new(&options.data_dir);
    NodeConfig::read(&dir)?;
    let _lock = dir.lock().await?;
    let config = NodeConfig::read(&dir)?;
    let format = state_format(&SystemDisk, &dir.raft()).map_err(Error::failed)?;
    let mut files = files(&dir.raft())?;
    files.extend(archive(&dir.archive())?);
    let inspected = inspect(recovery_options(&config, &dir)).await;
    match options.output {
        Output::Json => print_json(&config, format, &files, inspected.as_ref().ok()),
        Output::Table => print_text(&config, format, &files, inspected.as_ref().ok()),
    }
    inspected.map(drop).map_err(|damage| Error::failed(format_args!("DAMAGED: {damage}")))
}

fn recovery_options(config: &NodeConfig, dir: &DataDir) -> RecoveryOptions {
    RecoveryOptions {
        node: config.node,
        cluster: config.cluster,
        naming: config.naming.to_string(),
        peer: Peer { address: config.peer.advertise.clone(), api: config.api.advertise.clone() },
        disk: Arc::new(SystemDisk),
        directory: dir.raft(),
    }
}

/// The files of log and state, by what they are.
fn files(raft: &Path) -> Result<BTreeMap<String, FolderTally>, Error> {
    let mut files: BTreeMap<String, FolderTally> = BTreeMap::new();
    for folder in FOLDERS {
        let path = raft.join(folder);
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries {
            let entry = entry.map_err(at(&path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = name.split(['-', '.']).next().unwrap_or_default();
            let tally = files.entry(format!("{folder}/{kind}")).or_default();
            tally.count += 1;
            tally.bytes += entry.metadata().map_err(at(&path))?.len();
        }
    }
    Ok(files)
}

/// The files of the archive, by what lies in its folder: those of each part of it together.
fn archive(folder: &Path) -> Result<BTreeMap<String, FolderTally>, Error> {
    let mut files = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(files) };
    for entry in entries {
        let entry = entry.map_err(at(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let tally: &mut FolderTally = files.entry(format!("archive/{name}")).or_default();
        add_tree(&entry.path(), tally)?;
    }
    Ok(files)
}

/// Adds a file, or all files of a folder.
fn add_tree(path: &Path, tally: &mut FolderTally) -> Result<(), Error> {
    let about = std::fs::symlink_metadata(path).map_err(at(path))?;
    if !about.is_dir() {
        tally.count += 1;
        tally.bytes += about.len();
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(at(path))? {
        add_tree(&entry.map_err(at(path))?.path(), tally)?;
    }
    Ok(())
}

/// Objects by group and resource, and the other keys by what they are.
fn tallies(snapshot: &Snapshot) -> BTreeMap<String, FolderTally> {
    let mut tallies: BTreeMap<String, FolderTally> = BTreeMap::new();
    for (key, entry) in snapshot.range(b"", None) {
        let kind = match Key::parse(key) {
            Some(Key::Object { group: "", resource, .. }) => resource.to_owned(),
            Some(Key::Object { group, resource, .. }) => format!("{resource}.{group}"),
            Some(Key::System { .. }) => "(nodes' own)".to_owned(),
            Some(_) => "(markers)".to_owned(),
            None => "(unknown)".to_owned(),
        };
        let tally = tallies.entry(kind).or_default();
        tally.count += 1;
        tally.bytes += (key.len() + entry.value.len()) as u64;
    }
    tallies
}

fn print_text(
    config: &NodeConfig,
    format: Option<u32>,
    files: &BTreeMap<String, FolderTally>,
    found: Option<&Inspection>,
) {
    print_line(format_args!(
        "node {} of cluster {}, naming {}, folder format {}, state format {}",
        config.node,
        config.cluster,
        config.naming,
        config.format,
        format.map_or_else(|| "none".to_owned(), |format| format.to_string())
    ));
    for (name, FolderTally { count, bytes }) in files {
        print_line(format_args!("  {name:<20} {count} files, {bytes} bytes"));
    }
    let Some(Inspection { plan, first, snapshot }) = found else { return };
    let (term, last) = plan.last;
    print_line(format_args!("log       entries {first} to {last}, the last one of term {term}"));
    print_line(format_args!(
        "state     revision {}, of {}; {} keys of {} bytes; {} entries of the log follow it",
        plan.revision,
        moment(plan.time_ms),
        snapshot.len(),
        snapshot.size(),
        plan.unapplied
    ));
    for other in &plan.given_up {
        let role = if other.voter { "voter" } else { "learner" };
        print_line(format_args!("member    {} at {}, {role}", other.node, other.peer.address));
    }
    let rows: Vec<_> = tallies(snapshot)
        .into_iter()
        .map(|(kind, tally)| [kind, tally.count.to_string(), tally.bytes.to_string()])
        .collect();
    print_table(["RESOURCE", "OBJECTS", "BYTES"], &rows);
}

fn print_json(
    config: &NodeConfig,
    format: Option<u32>,
    files: &BTreeMap<String, FolderTally>,
    found: Option<&Inspection>,
) {
    let tally = |(name, tally): (&String, &FolderTally)| {
        (name.clone(), json!({ "count": tally.count, "bytes": tally.bytes }))
    };
    let files: serde_json::Map<String, Value> = files.iter().map(tally).collect();
    let mut answer = json!({
        "node": config.node, "cluster": config.cluster.to_string(),
        "naming": config.naming.to_string(), "format": config.format,
        "stateFormat": format, "files": files, "sound": found.is_some(),
    });
    if let Some(Inspection { plan, first, snapshot }) = found {
        let resources: serde_json::Map<String, Value> =
            tallies(snapshot).iter().map(tally).collect();
        answer["log"] = json!({ "first": first, "last": plan.last.1, "term": plan.last.0 });
        answer["state"] = json!({
            "revision": plan.revision.get(), "time": moment(plan.time_ms),
            "keys": snapshot.len(), "bytes": snapshot.size(), "unapplied": plan.unapplied,
        });
        answer["resources"] = Value::Object(resources);
    }
    print_line(format_args!("{answer:#}"));
}
