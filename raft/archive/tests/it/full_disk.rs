//! A full disk: the archive gives its oldest part up for the newest, or waits; and goes on when there
//! is room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_archive::{ArchiveOptions, Engine, MemoryEngine, Record, Records, Table};
use quorate_store::{PastError, Revision, Store};

use crate::model;
use crate::support::{Pair, Step, options, wait, wait_archived};

/// Tables on a disk of this size.
#[derive(Debug)]
struct SmallDisk {
    tables: MemoryEngine,
    room: AtomicU64,
}

impl SmallDisk {
    fn new(room: u64) -> Arc<Self> {
        Arc::new(Self { tables: MemoryEngine::default(), room: AtomicU64::new(room) })
    }

    fn used(&self) -> u64 {
        let names = self.tables.names().unwrap();
        names.iter().map(|name| self.tables.open(name).unwrap().bytes()).sum()
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        match self.used() + bytes > self.room.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

#[derive(Debug)]
struct Disk(Arc<SmallDisk>);

#[derive(Debug)]
struct SmallTable {
    table: Arc<dyn Table>,
    disk: Arc<SmallDisk>,
}

impl Engine for Disk {
    fn names(&self) -> io::Result<Vec<String>> {
        self.0.tables.names()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Table>> {
        let table = self.0.tables.open(name)?;
        Ok(Arc::new(SmallTable { table, disk: Arc::clone(&self.0) }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.tables.remove(name)
    }
}

impl Table for SmallTable {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.table.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8]) -> Records {
        self.table.scan(from, to)
    }

    fn scan_back(&self, from: &[u8], to: &[u8]) -> Records {
        self.table.scan_back(from, to)
    }

    fn ingest(&self, records: &mut dyn Iterator<Item = Record>) -> io::Result<()> {
        let records: Vec<Record> = records.collect();
        self.disk
            .take(records.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum())?;
        self.table.ingest(&mut records.into_iter())
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn give_up(&self) {
        self.table.give_up();
    }
}

fn step(number: u8) -> Step {
    Step { operations: vec![(number % 12, (number % 5 != 4).then_some(30))], pause_ms: 10 }
}

fn check(pair: &Pair, past: &dyn quorate_store::Past, newest: u64) -> u64 {
    let expect = pair.model.past().unwrap();
    let mut told = 0;
    for at in (0..=newest).map(Revision::new) {
        match past.range(b"", None, at, 100) {
            Err(PastError::Expired { oldest, .. }) if at < oldest => {}
            found => {
                assert_eq!(found, expect.range(b"", None, at, 100), "{at}");
                told += 1;
            }
        }
    }
    told
}

#[test]
fn the_oldest_goes_for_the_newest() {
    let mut pair = Pair::new();
    let disk = SmallDisk::new(30_000);
    let options = ArchiveOptions {
        bytes: 24_000,
        bulk_bytes: 500,
        ..options(Arc::new(Disk(Arc::clone(&disk))))
    };
    let archive = pair.subject.archive(options);
    for number in 0..=150 {
        pair.write(&step(number));
        wait_archived(&archive, &pair.subject);
    }
    disk.room.store(12_000, Ordering::Relaxed);
    (151..=170).for_each(|number| pair.write(&step(number)));
    wait_archived(&archive, &pair.subject);
    let status = archive.status();
    assert!(status.oldest.get() > 20 && status.failures > 0, "{status:?}");
    assert_eq!(status.gaps, []);
    let told = check(&pair, &*archive.past(), 171);
    assert!(told > 20 && disk.used() <= 12_000, "{told} {}", disk.used());
    disk.room.store(u64::MAX, Ordering::Relaxed);
    (171..=255).for_each(|number| pair.write(&step(number)));
    wait_archived(&archive, &pair.subject);
    assert_eq!(archive.status().oldest, status.oldest);
    assert!(check(&pair, &*archive.past(), 256) > told + 80);
}

#[test]
fn what_cannot_be_written_waits_and_is_read_from_what_is_served() {
    let mut pair = Pair::new();
    let disk = SmallDisk::new(0);
    let archive = pair.subject.archive(options(Arc::new(Disk(Arc::clone(&disk)))));
    for number in 0..=199 {
        // One key changes so often that its changes are not looked up one by one.
        let mut step = step(number);
        step.operations.extend((number % 2 == 0).then_some((1, Some(3))));
        pair.write(&step);
    }
    wait("it has failed", || archive.status().failures > 1);
    assert_eq!(archive.status().lag, 200);
    assert!(disk.tables.names().unwrap().len() <= 1, "one that cannot be written is removed");
    model::check(&*archive.past(), &*pair.model.past().unwrap(), 200);
    disk.room.store(u64::MAX, Ordering::Relaxed);
    wait_archived(&archive, &pair.subject);
    model::check(&*archive.past(), &*pair.model.past().unwrap(), 200);
    assert_eq!(archive.status().oldest, Revision::ZERO);
}
