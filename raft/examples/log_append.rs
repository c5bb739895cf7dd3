//! Measures the log alone on the real disk: durable appends of 1 KiB per second, from several
//! writers that each wait for their own.
//!
//! `cargo run --release -p quorate-raft --example log_append -- [FOLDER [SECONDS]]`. Writers share
//! one handle as Raft's one core task does, so entries that arrive together are appended together.
//! Also the time to make a log and to open it again. Not a test: it asserts nothing.

#![expect(clippy::print_stdout, reason = "a tool that prints its figures")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use openraft::EntryPayload;
use openraft::alias::OneshotReceiverOf;
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::type_config::TypeConfigExt;
use openraft::vote::RaftLeaderId;
use quorate_env::Fatal;
use quorate_env::disk::SystemDisk;
use quorate_raft::ClusterId;
use quorate_raft::log::{Log, LogIdentity, LogOptions};
use quorate_raft::types::{Command, LogEntry, LogId, TypeConfig};
use quorate_store::{Operation, Txn};

/// Bytes of each value.
const VALUE_BYTES: usize = 1024;
/// Entries kept before the log is purged behind the writers, count.
const KEPT: u64 = 100_000;

type Durable = OneshotReceiverOf<TypeConfig, std::io::Result<()>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = arguments.next().map_or(Ok(4), |seconds| seconds.parse())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for writers in [1, 32, 256] {
        runtime.block_on(measure(&folder, writers, Duration::from_secs(seconds)))?;
    }
    Ok(())
}

async fn measure(
    folder: &Path,
    writers: usize,
    time: Duration,
) -> Result<(), Box<dyn std::error::Error>> {
    let identity = LogIdentity { cluster: ClusterId::new([1; 16]), node: 1 };
    let directory = tempfile::tempdir_in(folder)?;
    let opening = Instant::now();
    let options = LogOptions::new(Arc::new(SystemDisk), directory.path(), identity, Fatal::new());
    let mut log = Log::open(options.clone()).await?;
    let opened = opening.elapsed();
    let (mut next, mut latencies) = (0, Vec::new());
    let start = Instant::now();
    while start.elapsed() < time {
        let round = Instant::now();
        for durable in append(&mut log, next, writers).await? {
            durable.await??;
            latencies.push(round.elapsed());
        }
        next += writers as u64;
        if next % KEPT < writers as u64 && next > KEPT {
            log.purge(log_id(next - KEPT)).await?;
        }
    }
    let rate = next as f64 / start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    log.close().await?;
    let opening = Instant::now();
    Log::open(options).await?.close().await?;
    let again = opening.elapsed();
    let at = |percent: usize| latencies[latencies.len() * percent / 100].as_micros();
    println!(
        "{writers:4} writers: {rate:8.0} appends/s  p50 {} us  p99 {} us  max {} us  made in {} us  opened again in {} us",
        at(50),
        at(99),
        latencies[latencies.len() - 1].as_micros(),
        opened.as_micros(),
        again.as_micros()
    );
    Ok(())
}

/// One entry of each writer, four at a time, as they reach a busy core task.
async fn append(log: &mut Log, next: u64, writers: usize) -> std::io::Result<Vec<Durable>> {
    let mut waiting = Vec::with_capacity(writers);
    let indexes: Vec<u64> = (next..next + writers as u64).collect();
    for some in indexes.chunks(4) {
        let (sender, receiver) = TypeConfig::oneshot();
        let entries: Vec<LogEntry> = some.iter().map(|&index| entry(index)).collect();
        log.append(entries, IOFlushed::signal(sender)).await?;
        waiting.push(receiver);
    }
    Ok(waiting)
}

fn entry(index: u64) -> LogEntry {
    let key = format!("o/core/configmaps/default/{}", index % 1000);
    let operation =
        Operation::Put { key: key.into_bytes().into(), value: vec![7; VALUE_BYTES].into() };
    let txn = Txn { conditions: Vec::new(), operations: vec![operation], ..Txn::default() };
    LogEntry {
        log_id: log_id(index),
        payload: EntryPayload::Normal(Command { time_ms: index, txns: [txn].into() }),
    }
}

fn log_id(index: u64) -> LogId {
    LogId { leader_id: RaftLeaderId::new(1, 1), index }
}
