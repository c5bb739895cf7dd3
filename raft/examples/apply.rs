//! Measures the state machine: applying groups, restarting, sending and receiving a snapshot.
//!
//! `cargo run --release -p quorate-raft --example apply -- [GROUPS] [GROUP] [VALUE BYTES]
//! [OBJECTS]`. Prints one line per measurement with CPU time of the whole process (background
//! threads included) where it matters.

use std::time::Instant;

use bytes::Bytes;
use futures::executor::block_on;
use futures::stream;
use openraft::storage::RaftStateMachine;
use openraft::vote::RaftLeaderId;
use quorate_raft::ClusterId;
use quorate_raft::state_machine::{StateIdentity, StateMachine, StateMachineOptions};
use quorate_raft::types::{Command, LogEntry, LogId, Payload};
use quorate_store::{Operation, Txn};

#[expect(clippy::print_stdout, reason = "its figures are its purpose")]
fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let mut next = |default| arguments.next().unwrap_or(default);
    let (groups, group, bytes, objects) = (next(4000), next(64), next(1024), next(20_000));
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let [sender, receiver] = [0, 1].map(|i| {
        let identity = StateIdentity { cluster: ClusterId::new([1; 16]), naming: "svc".to_owned() };
        StateMachineOptions::new(folders[i].path(), identity)
    });

    let mut machine = StateMachine::open(&sender).expect("it opens");
    let value = Bytes::from(pseudo_json(bytes as usize));
    let meter = Meter::start();
    let mut slowest = 0.0_f64;
    for number in 0..groups {
        let entries = (1..=group).map(|i| Ok((entry(number * group + i, objects, &value), None)));
        let started = Instant::now();
        block_on(machine.apply(stream::iter(entries))).expect("it applies");
        slowest = slowest.max(started.elapsed().as_secs_f64());
    }
    let (seconds, cpu) = meter.stop();
    let total = (groups * group) as f64;
    println!(
        "apply    {:.0}/s, {:.2} us CPU each, {:.1} us CPU per group of {group}, slowest group {:.1} ms",
        total / seconds,
        cpu * 1e6 / total,
        cpu * 1e6 / groups as f64,
        slowest * 1e3
    );
    println!(
        "disk     {} MiB, resident {} MiB",
        machine.disk_usage().bytes() >> 20,
        resident_mib()
    );

    let mut target = StateMachine::open(&receiver).expect("it opens");
    let meter = Meter::start();
    let frames =
        block_on(machine.get_current_snapshot()).expect("it is built").expect("there is one");
    let frames = frames.snapshot.outgoing().expect("it was built here").frames();
    let mut incoming = target.receiver().begin();
    let mut size = 0;
    for frame in frames {
        let frame = frame.expect("it is read");
        size += frame.len();
        incoming.push(&frame).expect("it is received");
    }
    let received = incoming.finish().expect("it is complete");
    let (seconds, cpu) = meter.stop();
    println!(
        "transfer {} MiB in {seconds:.2} s, {cpu:.2} s CPU, resident {} MiB",
        size >> 20,
        resident_mib()
    );
    let started = Instant::now();
    block_on(target.install_snapshot(&received.meta, received.snapshot)).expect("it is installed");
    println!("install  {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    assert_eq!(machine.position(), target.position());

    drop(machine);
    let started = Instant::now();
    let machine = StateMachine::open(&sender).expect("it opens again");
    println!(
        "restart  {:.2} s, {} objects",
        started.elapsed().as_secs_f64(),
        machine.position().progress.objects
    );
}

fn entry(index: u64, objects: u64, value: &Bytes) -> LogEntry {
    // A step that is coprime to the usual object counts scatters the keys.
    let key =
        format!("o/core/configmaps/default/object-{:08}", index.wrapping_mul(7_919) % objects);
    let txn = Txn {
        conditions: vec![],
        operations: vec![Operation::Put { key: key.into(), value: value.clone() }],
        ..Txn::default()
    };
    LogEntry {
        log_id: LogId { leader_id: RaftLeaderId::new(1, 1), index },
        payload: Payload::Normal(Command { time_ms: index / 10, txns: [txn].into() }),
    }
}

fn pseudo_json(bytes: usize) -> Vec<u8> {
    let mut seed = 88_172_645_463_325_252_u64;
    let mut text = Vec::with_capacity(bytes + 32);
    while text.len() < bytes {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        text.extend_from_slice(format!("\"field-{}\":\"{seed:x}\",", seed % 50).as_bytes());
    }
    text.truncate(bytes);
    text
}

struct Meter {
    started: Instant,
    cpu: f64,
}

impl Meter {
    fn start() -> Self {
        Self { started: Instant::now(), cpu: cpu_seconds() }
    }

    fn stop(self) -> (f64, f64) {
        (self.started.elapsed().as_secs_f64(), cpu_seconds() - self.cpu)
    }
}

/// User and system time of this process, from `/proc` (100 ticks a second).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

fn resident_mib() -> u64 {
    // Pages of 4 KiB.
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) >> 8
}
