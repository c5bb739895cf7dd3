//! Measures a state of many objects and prints it: `cargo run --release -p quorate-store --example
//! collection`.
//!
//! Bytes of memory of an object, also as a share of its key and value, and when all are deleted;
//! nanoseconds of an operation. One state machine without a disk, a network or watchers, and with the allocator of a node. Every
//! write is followed by a snapshot, as a node does for its readers.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quorate_store::{Operation, Snapshot, State, Txn};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Values are from half of this to one and a half, so that all sizes of the allocator occur.
const VALUE_BYTES: usize = 1000;
const NAMESPACES: usize = 100;
const PREFIX: &[u8] = b"o/core/configmaps/";
const PAGE: usize = 500;
const OPERATIONS: usize = 20_000;
const PAGES: usize = 500;

fn main() {
    if let Some(objects) = std::env::args().nth(1) {
        return measure(objects.parse().expect("a number of objects"));
    }
    println!(
        "{:>9} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8}",
        "objects",
        "B/obj",
        "ratio",
        "get",
        "create",
        "update",
        "delete",
        "clone",
        "page",
        "count",
        "back B"
    );
    // Each in a process of its own, whose memory is that of one state.
    let this = std::env::current_exe().expect("it runs");
    for objects in [10_000, 100_000, 1_000_000] {
        let status = Command::new(&this).arg(objects.to_string()).status().expect("it starts");
        assert!(status.success(), "{status}");
    }
}

fn measure(objects: usize) {
    let empty = resident();
    let mut state = State::new();
    for number in 0..objects {
        state.apply(0, &put(shuffled(number, objects)));
    }
    let bytes = resident().saturating_sub(empty) as f64 / objects as f64;
    let ratio = bytes * objects as f64 / state.size() as f64;
    let mut published = state.snapshot();
    let get = nanos(OPERATIONS, |turn| {
        let found = published.get(&key(shuffled(turn * 7919, objects)));
        black_box(found.expect("it was created").value.last());
    });
    let mut write = |transaction: &dyn Fn(usize) -> Txn| {
        nanos(OPERATIONS, |turn| {
            black_box(state.apply(0, &transaction(turn)));
            published = state.snapshot();
        })
    };
    let update = write(&|turn| put(shuffled(turn * 7919, objects)));
    let fresh = |turn: usize| objects + shuffled(turn, OPERATIONS);
    let create = write(&|turn| put(fresh(turn)));
    let delete = write(&|turn| Txn {
        operations: vec![Operation::Delete { key: key(fresh(turn)) }],
        ..Txn::default()
    });
    let clone = nanos(OPERATIONS, |_| drop(black_box(state.snapshot())));
    let page = nanos(PAGES, |turn| read_page(&published, &key(shuffled(turn * 7919, objects))));
    let count = nanos(PAGES.min(20_000_000 / objects), |turn| {
        black_box(published.count(PREFIX, Some(&key(shuffled(turn * 7919, objects)))));
    });
    for number in 0..objects {
        let operations = vec![Operation::Delete { key: key(shuffled(number, objects)) }];
        state.apply(0, &Txn { operations, ..Txn::default() });
    }
    published = state.snapshot();
    settle();
    let left = resident().saturating_sub(empty) as f64 / objects as f64;
    drop((state, published));
    println!(
        "{objects:>9} {bytes:>7.0} {ratio:>7.3} {get:>8.0} {create:>8.0} {update:>8.0} {delete:>8.0} \
         {clone:>8.0} {page:>9.0} {count:>8.0} {left:>8.0}"
    );
}

fn read_page(snapshot: &Snapshot, after: &[u8]) {
    for (key, entry) in snapshot.range(PREFIX, Some(after)).take(PAGE) {
        black_box((key.first(), entry.value.first(), entry.value.last()));
    }
}

/// Nanoseconds that each turn takes.
fn nanos(turns: usize, mut work: impl FnMut(usize)) -> f64 {
    let start = Instant::now();
    (0..turns).for_each(&mut work);
    start.elapsed().as_secs_f64() * 1e9 / turns as f64
}

/// All numbers below `count` in an order that is not theirs; those above it from the beginning.
fn shuffled(number: usize, count: usize) -> usize {
    // Prime, and no factor of the counts.
    (number % count) * 611_953 % count
}

fn key(number: usize) -> Bytes {
    let namespace = number % NAMESPACES;
    let mut key = PREFIX.to_vec();
    key.extend_from_slice(format!("namespace-{namespace:02}/config-{number:07}").as_bytes());
    key.into()
}

/// Creates or updates; each value has bytes of its own.
fn put(number: usize) -> Txn {
    let mut value = vec![b'x'; VALUE_BYTES / 2 + number * 7919 % (VALUE_BYTES + 1)];
    value[..8].copy_from_slice(&number.to_le_bytes());
    let operations = vec![Operation::Put { key: key(number), value: value.into() }];
    Txn { operations, ..Txn::default() }
}

/// Gives the allocator the time and the occasions that it needs to return what is free.
fn settle() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(300) {
        black_box((0..100).map(|size| vec![0_u8; size * 16]).collect::<Vec<_>>());
    }
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    const PAGE_BYTES: usize = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * PAGE_BYTES
}
