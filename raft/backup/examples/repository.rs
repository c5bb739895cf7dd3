//! Makes a repository of many objects, to measure restores with, and times what is done with it here.
//!
//! `cargo run --release -p quorate-backup --example repository -- FOLDER KEY_FILE 100000 1000`, then
//! `quorate restore --from FOLDER --key-file KEY_FILE --data-dir …`.

#![expect(clippy::print_stdout, reason = "its output is for people")]

use std::sync::Arc;
use std::time::Instant;

use quorate_backup::{
    Backup, BackupKey, Identity, Remote, RemoteOptions, Repository, StoreSource, Target, create,
    restore, verify,
};
use quorate_env::{Entropy, SystemEnv};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};

/// Objects that one transaction puts.
const BATCH: usize = 100;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().unwrap_or_else(|| panic!("{what} is missing"));
    let (folder, key_file) = (next("FOLDER"), next("KEY_FILE"));
    let count: usize = next("COUNT").parse().expect("COUNT is a number");
    let bytes: usize = next("BYTES").parse().expect("BYTES is a number");
    let key = BackupKey::generate(&SystemEnv);
    std::fs::write(&key_file, key.as_bytes()).expect("the key file can be written");
    let source = source(count, bytes).await;
    let remote = Remote::open(&folder, &RemoteOptions::new(Arc::new(SystemEnv), vec![]));
    let seams = (Arc::new(SystemEnv) as _, Arc::new(SystemEnv) as _);
    let repository =
        Repository::open_for(remote.expect("a folder"), key, seams, &source.identity).await;
    let repository = repository.expect("the folder is empty");

    let start = Instant::now();
    let backup = Backup {
        repository: &repository,
        source: &source,
        credentials: None,
        base: true,
        progress: &|_| {},
    };
    let created = create(backup).await.expect("it is backed up");
    let stored = created.base.map_or(0, |(_, manifest, _)| manifest.stored_bytes());
    println!("created in {:.2} s, {stored} bytes stored", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let restored = restore(&repository, Target::Newest).await.expect("it is restored");
    let seconds = start.elapsed().as_secs_f64();
    println!("{} keys restored in memory in {seconds:.2} s", restored.entries.len());
    let start = Instant::now();
    let verified = verify(&repository).await.expect("it is read");
    let (seconds, findings) = (start.elapsed().as_secs_f64(), verified.findings.len());
    println!("verified in {seconds:.2} s, {findings} findings");
}

/// A store with so many objects of so many bytes, half of which are random.
async fn source(count: usize, bytes: usize) -> StoreSource {
    let store = MemoryStore::new(MemoryOptions::new(Arc::new(SystemEnv)));
    let mut value = vec![b'x'; bytes];
    for first in (0..count).step_by(BATCH) {
        let mut operations = Vec::new();
        for number in first..count.min(first + BATCH) {
            SystemEnv.fill(&mut value[..bytes / 2]);
            let key = format!("o/core/configmaps/namespace-{}/name-{number}", number % 100);
            operations.push(Operation::Put { key: key.into(), value: value.clone().into() });
        }
        let txn = Txn { operations, ..Txn::default() };
        store.txn(txn).await.expect("there is room");
    }
    let identity = Identity { cluster: "0".repeat(32), naming: "svc".to_owned() };
    let (store, clock) = (Arc::new(store), Arc::new(SystemEnv));
    StoreSource { store, clock, identity, credentials: None, digested_ms: Arc::default() }
}
