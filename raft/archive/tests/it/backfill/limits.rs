//! A back-fill takes no more than there is room and time for.

use std::sync::Arc;
use std::time::Duration;

use quorate_archive::{Archive, ArchiveOptions, MemoryEngine};
use quorate_store::{Past, Revision, Store};

use super::fill;
use super::source::{BYTES_OF_A_TRANSACTION, Other, Source};
use crate::support::{Pair, Step, key, options, wait, wait_archived};

const WRITES: u8 = 200;
/// Looks without anything new after which a back-fill is taken to be over: many of its own.
const LOOKS: u32 = 60;
/// Revisions in a part of the other member.
const PART: u64 = 10;

fn step(number: u8) -> Step {
    Step { operations: vec![(number % 12, (number % 5 != 4).then_some(30))], pause_ms: 10 }
}

fn late(kept: u8) -> Pair {
    let mut pair = Pair::new();
    (0..WRITES).for_each(|number| pair.write(&step(number)));
    *pair.subject.kept.oldest.write() = Revision::new(u64::from(WRITES - kept));
    pair
}

/// Fills the archive until nothing more comes.
fn filled(archive: &Archive, pair: &Pair) {
    wait_archived(archive, &pair.subject);
    let source = Source::new([Other::new(pair.model.past().unwrap(), PART)]);
    let _filling = fill(archive, &source);
    let (mut seen, mut looks) = (0, 0);
    wait("all is filled for which there is room", || {
        let count = archive.status().filled_transactions;
        looks = if count == seen { looks + 1 } else { 0 };
        seen = count;
        seen > 0 && looks > LOOKS
    });
}

fn check_known(past: &dyn Past, expect: &dyn Past) {
    let extent = past.extent();
    assert_eq!(extent.gaps, []);
    for at in (extent.oldest.get()..=extent.newest.get()).map(Revision::new) {
        assert_eq!(past.range(b"", None, at, 100), expect.range(b"", None, at, 100), "{at}");
        assert_eq!(past.get(&key(1), at), expect.get(&key(1), at), "{at}");
    }
}

#[test]
fn what_has_room() {
    let (bytes, kept) = (16_000, 40);
    let pair = late(kept);
    let archive = pair.subject.archive(ArchiveOptions {
        bytes,
        bulk_bytes: 500,
        ..options(Arc::new(MemoryEngine::default()))
    });
    filled(&archive, &pair);
    let status = archive.status();
    assert!(status.bytes <= bytes && status.bytes > bytes / 2, "{status:?}");
    let oldest = status.oldest.get();
    assert!(oldest > 0 && oldest < u64::from(WRITES - kept), "{status:?}");
    assert!(status.filled_transactions < bytes / BYTES_OF_A_TRANSACTION * 2, "{status:?}");
    check_known(&*archive.past(), &*pair.model.past().unwrap());
}

#[test]
fn what_does_not_expire_at_once() {
    let pair = late(40);
    let retention = Duration::from_millis(1000);
    let archive = pair.subject.archive(ArchiveOptions {
        clock: pair.clock.clone(),
        retention,
        ..options(Arc::new(MemoryEngine::default()))
    });
    filled(&archive, &pair);
    let (now, oldest_ms) = (*pair.clock.0.lock(), archive.status().oldest_ms);
    assert!((now - 1000..now - 900).contains(&oldest_ms), "{oldest_ms} {now}");
    check_known(&*archive.past(), &*pair.model.past().unwrap());
}
