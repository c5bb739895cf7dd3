//! What is too old or too much goes, an era at a time, and what is left is whole.

use std::sync::Arc;
use std::time::Duration;

use quorate_archive::{ArchiveOptions, MemoryEngine};
use quorate_store::{PastError, Revision, Store};

use crate::support::{Pair, Step, key, options, wait, wait_archived};

fn step(number: u8) -> Step {
    Step { operations: vec![(number % 12, (number % 5 != 4).then_some(30))], pause_ms: 10 }
}

#[test]
fn what_is_older_than_the_retention() {
    let mut pair = Pair::new();
    let options = ArchiveOptions {
        clock: pair.clock.clone(),
        retention: Duration::from_millis(1200),
        bulk_bytes: 500,
        ..options(Arc::new(MemoryEngine::default()))
    };
    let archive = pair.subject.archive(options);
    for number in 0..200 {
        pair.write(&step(number));
        wait_archived(&archive, &pair.subject);
    }
    let (past, expect) = (archive.past(), pair.model.past().unwrap());
    wait("the oldest era goes", || past.extent().oldest_ms > 1500);
    let extent = past.extent();
    let (oldest, oldest_ms) = (extent.oldest, extent.oldest_ms);
    assert!(archive.status().eras > 8 && oldest_ms < 3000 - 1200, "{:?}", archive.status());
    let before = Revision::new(oldest.get() - 1);
    let expired = PastError::Expired { oldest, oldest_ms };
    assert_eq!(past.get(&key(1), before), Err(expired));
    assert_eq!(past.revision_at(oldest_ms - 1), Err(expired));
    for at in (oldest.get()..=200).map(Revision::new) {
        assert_eq!(past.time_of(at), expect.time_of(at), "{at}");
        assert_eq!(past.range(b"", None, at, 100), expect.range(b"", None, at, 100), "{at}");
        for number in 0..12 {
            assert_eq!(past.get(&key(number), at), expect.get(&key(number), at), "{number} {at}");
        }
    }
    for number in 0..12 {
        let found = past.versions(&key(number), Revision::MAX, usize::MAX).unwrap();
        let all = expect.versions(&key(number), Revision::MAX, usize::MAX).unwrap();
        let (last, newer) = found.split_last().unwrap();
        assert_eq!(newer, &all[..newer.len()]);
        let expect = &all[newer.len()];
        assert_eq!((last.revision, &last.entry), (expect.revision, &expect.entry));
        assert_eq!(last.time_ms, (last.revision > oldest).then_some(expect.time_ms.unwrap()));
    }
    // An hour later all has expired but what is now.
    *pair.clock.0.lock() += 3_600_000;
    wait("everything expires", || past.extent().oldest == Revision::new(200));
    assert_eq!(past.get(&key(1), Revision::new(200)), expect.get(&key(1), Revision::new(200)));
}

#[test]
fn what_is_too_much() {
    let mut pair = Pair::new();
    let options = ArchiveOptions {
        bytes: 20_000,
        bulk_bytes: 500,
        ..options(Arc::new(MemoryEngine::default()))
    };
    let archive = pair.subject.archive(options);
    for number in 0..=255 {
        pair.write(&step(number));
        wait_archived(&archive, &pair.subject);
    }
    wait("it is small enough", || archive.status().bytes <= 20_000);
    assert!(archive.status().bytes > 10_000, "{:?}", archive.status());
    let past = archive.past();
    let (oldest, at) = (past.extent().oldest, Revision::new(256));
    assert!(oldest > Revision::ZERO);
    let expect = pair.model.past().unwrap();
    for at in [oldest, at] {
        assert_eq!(past.range(b"", None, at, 100), expect.range(b"", None, at, 100));
    }
}
