//! What was purged is in no answer from the moment on that its record is applied, and soon in no table.

mod cases;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use quorate_archive::{Archive, Engine, MemoryEngine};
use quorate_store::{
    MemoryOptions, MemoryStore, Operation, PURGES, Past, Purge, PurgeCount, Purges, Revision,
    Store, Txn,
};

use crate::faults::files;
use crate::support::{Running, Subject, Ticking, fjall, key, options, wait, wait_archived};

/// Keys of [`key`] that are used.
const KEYS: u8 = 12;

/// A subject and the memory store, given the same.
struct Both {
    subject: Subject,
    model: MemoryStore,
    clock: Arc<Ticking>,
    number: u64,
}

impl Both {
    fn new() -> Self {
        let clock = Arc::new(Ticking(1000.into()));
        let model = MemoryStore::new(MemoryOptions::new(clock.clone()));
        Self { subject: Subject::new(), model, clock, number: 0 }
    }

    fn commit(&mut self, operations: Vec<Operation>) {
        *self.clock.0.lock() += 1;
        let txn = Txn { operations: operations.clone(), ..Txn::default() };
        futures::executor::block_on(self.model.txn(txn)).unwrap();
        self.subject.write(*self.clock.0.lock(), operations, "");
    }

    fn put(&mut self, number: u8) {
        self.number += 1;
        let value = format!("<{}>{}", self.number, self.number * 0x9e37_79b9_7f4a).into();
        self.commit(vec![Operation::Put { key: key(number), value }]);
    }

    fn delete(&mut self, number: u8) {
        self.commit(vec![Operation::Delete { key: key(number) }]);
    }

    /// A purge of everything between two keys, by the newest state.
    fn purge_of(&self, from: Bytes, to: Bytes) -> Purge {
        let newest = self.subject.serving.snapshot();
        let within = newest.range(b"", None).filter(|(key, _)| from <= **key && **key < to);
        let kept: BTreeMap<_, _> =
            within.map(|(key, entry)| (key.clone(), entry.modified)).collect();
        let (user, reason) = ("ann".to_owned(), "leaked".to_owned());
        let upto = newest.revision();
        Purge { from, to, upto, kept, time_ms: *self.clock.0.lock(), user, reason }
    }

    fn record(&mut self, purge: &Purge) {
        self.number += 1;
        let key = format!("u/{}", self.number).into();
        self.commit(vec![Operation::Put { key, value: purge.encode() }]);
    }

    fn purge_key(&mut self, number: u8) {
        let purge = self.purge_of(key(number), end_of(&key(number)));
        self.record(&purge);
    }

    fn newest(&self) -> u64 {
        self.subject.serving.revision().get()
    }

    fn archive(&self, engine: &Arc<dyn Engine>) -> Running {
        self.subject.archive(options(engine.clone()))
    }

    /// The values that no answer and no table may have, and those that the past still has.
    fn values(&self) -> (Vec<Bytes>, Vec<Bytes>) {
        let purges = Purges::of(&self.subject.serving.snapshot());
        let batches = self.subject.kept.batches.read();
        let events = batches.iter().flat_map(|batch| batch.events.iter());
        let told = events.filter(|event| !event.key.starts_with(PURGES));
        let entries = told.filter_map(|event| Some((event.key.clone(), event.current.clone()?)));
        let (gone, kept): (Vec<_>, Vec<_>) =
            entries.partition(|(key, entry)| purges.taking(key, entry.modified).is_some());
        let values = |entries: Vec<(Bytes, quorate_store::Entry)>| {
            entries.into_iter().map(|(_, entry)| entry.value).collect()
        };
        (values(gone), values(kept))
    }
}

/// The key after this one.
fn end_of(key: &[u8]) -> Bytes {
    [key, b"\0"].concat().into()
}

fn check(found: &dyn Past, expect: &dyn Past, newest: u64) {
    for at in (0..=newest).map(Revision::new) {
        for number in 0..KEYS {
            assert_eq!(found.get(&key(number), at), expect.get(&key(number), at), "{number} {at}");
        }
        for (prefix, after, limit) in [(&b""[..], None, 100), (b"o/", Some(&b"o/a\0"[..]), 2)] {
            let range = found.range(prefix, after, at, limit);
            assert_eq!(range, expect.range(prefix, after, at, limit), "{prefix:?} {after:?} {at}");
        }
    }
    let all = usize::MAX;
    assert_eq!(found.changes(Revision::ZERO, all), expect.changes(Revision::ZERO, all));
    for number in 0..KEYS {
        for (before, limit) in [(Revision::MAX, all), (Revision::new(newest / 2), 3)] {
            let versions = found.versions(&key(number), before, limit);
            assert_eq!(versions, expect.versions(&key(number), before, limit), "{number} {before}");
        }
    }
}

/// Whether the tables have any of these values. No archive may have them open.
fn tables_have(engine: &dyn Engine, values: &[Bytes]) -> bool {
    let has = |bytes: &[u8]| {
        values.iter().any(|value| bytes.windows(value.len()).any(|window| window == value))
    };
    engine.names().unwrap().iter().any(|name| {
        let table = engine.open(name).unwrap();
        table.scan(b"", &[0xff; 9]).any(|record| has(&record.unwrap().1))
    })
}

/// Whether a file has one of these values.
fn files_have(folder: &Path, values: &[Bytes]) -> bool {
    files(folder).iter().any(|file| {
        let bytes = fs::read(file).unwrap_or_default();
        values.iter().any(|value| bytes.windows(value.len()).any(|window| window == value))
    })
}

/// Waits until no table has what was purged, which the archive looks for between its other work.
fn wait_clean(both: &Both, engine: &Arc<dyn Engine>) {
    let gone = both.values().0;
    wait("what was purged is in no table", || {
        let archive = both.archive(engine);
        wait_archived(&archive, &both.subject);
        let before = archive.status().rewritten;
        wait("it has looked at its tables", || {
            archive.status().rewritten > before || gone.is_empty() || rest(&archive)
        });
        drop(archive);
        !tables_have(&**engine, &gone)
    });
}

/// Lets the writer come to its next look.
fn rest(archive: &Archive) -> bool {
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    receiver.recv_timeout(Duration::from_millis(20)).ok();
    archive.status().failures == 0
}

#[derive(Debug, Clone)]
enum Action {
    Put(u8),
    Delete(u8),
    Purge(u8),
    PurgeAll(&'static [u8], &'static [u8]),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        12 => (0..KEYS).prop_map(Action::Put),
        4 => (0..KEYS).prop_map(Action::Delete),
        1 => (0..KEYS).prop_map(Action::Purge),
        1 => prop_oneof![Just((&b"o/a"[..], &b"o/b"[..])), Just((&b"o/"[..], &b"o0"[..]))]
            .prop_map(|(from, to)| Action::PurgeAll(from, to)),
    ];
    prop::collection::vec(action, 1..120)
}

fn act(both: &mut Both, actions: &[Action], past: Option<&dyn Past>) {
    for action in actions {
        let purge = match action {
            Action::Put(number) => {
                both.put(*number);
                continue;
            }
            Action::Delete(number) => {
                both.delete(*number);
                continue;
            }
            Action::Purge(number) => both.purge_of(key(*number), end_of(&key(*number))),
            Action::PurgeAll(from, to) => {
                both.purge_of(Bytes::from_static(from), Bytes::from_static(to))
            }
        };
        let expect = both.model.past().unwrap();
        if let Some(past) = past {
            assert_eq!(past.count_purged(&purge), expect.count_purged(&purge));
        }
        both.record(&purge);
        for past in past.into_iter().chain([&*expect]) {
            assert_eq!(past.count_purged(&purge), Ok(PurgeCount::default()));
        }
    }
}

fn run(engine: &Arc<dyn Engine>, parts: [&[Action]; 3]) {
    let mut both = Both::new();
    let expect = both.model.past().unwrap();
    for part in parts {
        let archive = both.archive(engine);
        act(&mut both, part, Some(&*archive.past()));
        check(&*archive.past(), &*expect, both.newest());
        wait_archived(&archive, &both.subject);
        check(&*archive.past(), &*expect, both.newest());
        assert_eq!(archive.status().failures, 0);
    }
    wait_clean(&both, engine);
    assert!(
        both.values().1.iter().all(|value| tables_have(&**engine, std::slice::from_ref(value)))
    );
    let archive = both.archive(engine);
    check(&*archive.past(), &*expect, both.newest());
    assert_eq!(archive.past().extent(), expect.extent());
    assert_eq!(archive.status().failures, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn in_memory(first in actions(), second in actions(), last in actions()) {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::default());
        run(&engine, [&first, &second, &last]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]

    #[test]
    fn on_disk(first in actions(), second in actions(), last in actions()) {
        let folder = tempfile::tempdir().unwrap();
        run(&fjall(folder.path()), [&first, &second, &last]);
    }
}
