//! Measures whole replicas: writes and linearizable reads per second, their latency, and the CPU
//! that they cost.
//!
//! `cargo run --release -p quorate-raft --example replicas -- [VOTERS] [CLIENTS] [VALUE BYTES]
//! [SECONDS] [ENTRIES BETWEEN SNAPSHOTS]`. Everything runs in one process, over mutual TLS on
//! loopback, with every log synced. Prints one line per measurement.

#[path = "../tests/it/cluster/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod cluster;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cluster::{Cluster, Tuning};
use quorate_raft::replica::Compaction;
use quorate_store::{Operation, Store, Txn};

/// Keys of one client.
const KEYS: u64 = 64;
/// Clock ticks per second of `/proc/self/stat`.
const TICKS: f64 = 100.0;

/// What the clients do.
#[derive(Debug, Clone, Copy)]
enum Work {
    Write,
    Read,
    /// Three reads for each write.
    Mixed,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "its figures are its purpose")]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let mut next = |default| arguments.next().unwrap_or(default);
    let (voters, clients, bytes, seconds) = (next(3), next(256), next(1024), next(4));
    let compaction =
        Compaction { every: next(Compaction::default().every), ..Compaction::default() };
    let cluster = Cluster::tuned(voters, Tuning { compaction, ..Tuning::default() }).await;
    let leader = cluster.leader().await;
    let mut nodes = vec![("leader", leader)];
    if voters > 1 {
        nodes.push(("follower", cluster.follower().await));
    }
    let value = Bytes::from(vec![b'x'; usize::try_from(bytes).expect("a small number")]);
    for (role, node) in nodes {
        for work in [Work::Write, Work::Read, Work::Mixed] {
            let result =
                measure(cluster.store(node), work, clients, &value, Duration::from_secs(seconds))
                    .await;
            println!(
                "voters={voters} clients={clients} bytes={bytes} through={role} work={work:?} {result}"
            );
        }
    }
}

async fn measure(
    store: Arc<dyn Store>,
    work: Work,
    clients: u64,
    value: &Bytes,
    time: Duration,
) -> String {
    let stop = Arc::new(AtomicBool::new(false));
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let running: Vec<_> = (0..clients)
        .map(|client| tokio::spawn(run(store.clone(), work, client, value.clone(), stop.clone())))
        .collect();
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    let mut latencies = vec![];
    for client in running {
        latencies.extend(client.await.expect("a client ends"));
    }
    let (elapsed, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    latencies.sort_unstable();
    let count = latencies.len();
    let (rate, cost, cores) = (count as f64 / elapsed, cpu * 1e6 / count as f64, cpu / elapsed);
    let (p50, p99) = (latencies[count / 2], latencies[count * 99 / 100]);
    format!("{rate:.0} op/s p50={p50}us p99={p99}us cpu={cost:.1}us/op cores={cores:.2}")
}

/// Latencies in microseconds.
async fn run(
    store: Arc<dyn Store>,
    work: Work,
    client: u64,
    value: Bytes,
    stop: Arc<AtomicBool>,
) -> Vec<u128> {
    let mut latencies = vec![];
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        count += 1;
        if matches!(work, Work::Write) || (matches!(work, Work::Mixed) && count % 4 == 0) {
            let key = Bytes::from(format!("bench/{client:04}/{:02}", count % KEYS));
            let operations = vec![Operation::Put { key, value: value.clone() }];
            store
                .txn(Txn { conditions: vec![], operations, ..Txn::default() })
                .await
                .expect("a write");
        } else {
            store.read_index().await.expect("a read index");
        }
        latencies.push(started.elapsed().as_micros());
    }
    latencies
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit_once(')').expect("a process has a name").1;
    let ticks =
        after_name.split_whitespace().skip(11).take(2).map(|t| t.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / TICKS
}
