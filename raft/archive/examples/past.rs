//! What the past costs: changes of real objects, archived and read back.
//!
//! `cargo run --release -p quorate-archive --example past -- OBJECTS-DIR ARCHIVE-DIR [CHANGES [OBJECTS]]`

#![expect(clippy::print_stdout, reason = "its figures are its purpose")]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use bytes::Bytes;
use parking_lot::RwLock;
use quorate_archive::{Archive, ArchiveOptions, FjallEngine};
use quorate_env::SystemEnv;
use quorate_env::disk::SystemDisk;
use quorate_store::{
    Batch, History, HistoryError, Operation, Past, Revision, Serving, ServingOptions, State, Txn,
};

/// Transactions that the archive may be behind before writing waits for it.
const MAX_LAG: u64 = 30_000;
const MAX_OBJECT_BYTES: u64 = 16 << 10;

#[derive(Debug, Default)]
struct Kept(RwLock<VecDeque<Arc<Batch>>>);

impl History for Kept {
    fn oldest(&self) -> Revision {
        let first = self.0.read().front().map_or(1, |batch| batch.revision.get());
        Revision::new(first - 1)
    }

    fn read(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, HistoryError> {
        let mut bytes = 0;
        let fits = |batch: &&Arc<Batch>| {
            bytes += batch.footprint();
            bytes <= max_bytes
        };
        let batches = self.0.read();
        let skip = batches.partition_point(|batch| batch.revision <= after);
        Ok(batches.range(skip..).take_while(fits).cloned().collect())
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [objects, folder] = [0, 1].map(|at| PathBuf::from(&arguments[at]));
    let number =
        |at: usize, usual| arguments.get(at).map_or(usual, |text| text.parse().expect("a number"));
    let (changes, count) = (number(2, 1_000_000_u64), number(3, 20_000_u64));
    let manifests = manifests(&objects);
    println!("{} manifests", manifests.len());
    let (kept, state) = (Arc::new(Kept::default()), State::new());
    let serving = Serving::new(state.snapshot(), [], kept.clone(), ServingOptions::default());
    let archive = start(&folder, &serving);
    let began = Instant::now();
    let written = write(state, &manifests, (changes, count), (&kept, &serving, &archive));
    println!("{} MiB of JSON in {:?}", written >> 20, began.elapsed());
    wait(|| archive.status().lag == 0);
    let status = archive.status();
    println!("archived after {:?}: {status:?}", began.elapsed());
    println!("on disk {:.3} of what was written", status.bytes as f64 / written as f64);
    println!("{}", memory());
    read(&*archive.past(), (changes, count));
    println!("{}", memory());
    drop(archive);
    let began = Instant::now();
    let archive = start(&folder, &serving);
    println!("start {:?}", began.elapsed());
    drop(archive);
}

fn start(folder: &Path, serving: &Serving) -> Archive {
    let engine = Arc::new(FjallEngine::open(folder).expect("the folder can be used"));
    let (clock, disk) = (Arc::new(SystemEnv), Arc::new(SystemDisk));
    let usual = ArchiveOptions::new(engine, "an example".to_owned(), clock, disk);
    // Its changes are of another year.
    let retention = Duration::from_secs(1 << 40);
    let options = ArchiveOptions { bulk_wait: Duration::from_secs(2), retention, ..usual };
    Archive::start(options, serving.clone()).expect("the archive starts")
}

/// The objects in a folder, as text.
fn manifests(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json")
                && entry.metadata().is_ok_and(|file| file.len() < MAX_OBJECT_BYTES)
            {
                found.extend(fs::read_to_string(path));
            }
        }
    }
    found.sort();
    found
}

fn key(number: u64) -> Bytes {
    format!("o/example.io/things/namespace-{}/thing-{number:05}", number % 50).into()
}

/// The object's version: another status and another field of its specification.
fn value(manifest: &str, number: u64, version: u64) -> Bytes {
    let open = manifest.rfind('}').unwrap_or(manifest.len());
    let status = format!(
        ",\"metadata2\":{{\"uid\":\"{number:032x}\",\"generation\":{version}}},\"status\":{{\"observedGeneration\":{version},\
         \"conditions\":[{{\"type\":\"Ready\",\"lastTransitionTime\":\"2026-11-28T{:02}:{:02}:{:02}Z\",\"message\":\"run {}\"}}]}}",
        version % 24,
        version % 60,
        version * 7 % 60,
        version.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40,
    );
    [&manifest[..open], &status, &manifest[open..]].concat().into()
}

fn write(
    mut state: State,
    manifests: &[String],
    (changes, count): (u64, u64),
    (kept, serving, archive): (&Kept, &Serving, &Archive),
) -> u64 {
    let (mut random, mut written) = (7_u64, 0);
    for change in 0..changes {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // One object has many versions, the others are changed at random.
        let number = match change {
            _ if change < count => change,
            _ if change % (changes / 1000) == 0 => 0,
            _ => (random >> 33) % count,
        };
        let manifest = &manifests[usize::try_from(number).expect("small") % manifests.len()];
        let value = value(manifest, number, change);
        written += value.len() as u64;
        let operations = vec![Operation::Put { key: key(number), value }];
        let origin = Bytes::from_static(b"user=someone manager=kubectl verb=update");
        let time_ms = 1_700_000_000_000 + change * 10;
        let batch = state
            .apply(time_ms, &Txn { operations, origin, ..Txn::default() })
            .batch
            .expect("it commits");
        let mut recent = kept.0.write();
        recent.push_back(batch.clone());
        let archived = archive.status().archived;
        while recent.front().is_some_and(|first| first.revision.get() + 1000 < archived.get()) {
            recent.pop_front();
        }
        drop(recent);
        serving.publish(state.snapshot(), &[batch]);
        wait(|| archive.status().lag < MAX_LAG);
    }
    written
}

fn wait(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        receiver.recv_timeout(Duration::from_millis(5)).ok();
    }
}

fn read(past: &dyn Past, (changes, count): (u64, u64)) {
    let mut random = 9_u64;
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut times: Vec<Duration> = (0..2000)
        .map(|_| {
            let (key, time) = (key(next(count)), 1_700_000_000_000 + next(changes) * 10);
            let began = Instant::now();
            let at = past.revision_at(time).expect("it is kept");
            past.get(&key, at).expect("it is kept");
            began.elapsed()
        })
        .collect();
    times.sort();
    println!("get as of a time: p50 {:?}, p99 {:?}", times[1000], times[1980]);
    for share in [0.02, 0.25, 0.5, 0.75, 1.0] {
        let at = Revision::new((changes as f64 * share) as u64);
        let (began, mut listed, mut after) = (Instant::now(), 0, None::<Bytes>);
        loop {
            let page = past.range(b"o/", after.as_deref(), at, 5000).expect("it is kept");
            listed += page.len();
            after = page.last().map(|(key, _)| key.clone());
            if page.len() < 5000 {
                break;
            }
        }
        println!("list of {listed} at {at}: {:?}", began.elapsed());
    }
    let began = Instant::now();
    let versions = past.versions(&key(0), Revision::MAX, usize::MAX).expect("they are kept");
    println!("history of {} versions: {:?}", versions.len(), began.elapsed());
    let began = Instant::now();
    let batches = past.changes(Revision::new(changes / 2), 4 << 20).expect("they are kept");
    println!("{} changes in a row: {:?}", batches.len(), began.elapsed());
}

fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
        .collect::<Vec<_>>()
        .join(" ")
}
