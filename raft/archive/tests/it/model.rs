//! Random histories, archived in random bulks: every answer is the memory store's.

use std::sync::Arc;

use proptest::prelude::*;
use quorate_archive::{Engine, MemoryEngine};
use quorate_store::{Past, Revision, Store};

use crate::support::{Pair, Step, fjall, key, options, wait_archived};

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let operation = (0..12_u8, proptest::option::weighted(0.7, 0..40_u8));
    let step = (prop::collection::vec(operation, 1..4), 0..3_u64)
        .prop_map(|(operations, pause_ms)| Step { operations, pause_ms });
    prop::collection::vec(step, 1..120)
}

pub(crate) fn check(found: &dyn Past, expect: &dyn Past, newest: u64) {
    let future = Revision::new(newest + 1);
    assert_eq!(found.extent(), expect.extent());
    assert_eq!(found.get(b"q", future), expect.get(b"q", future));
    assert_eq!(found.range(b"", None, future, 1), expect.range(b"", None, future, 1));
    assert_eq!(found.changes(future, 1), expect.changes(future, 1));
    for at in (0..=newest).map(Revision::new) {
        assert_eq!(found.time_of(at), expect.time_of(at));
        for number in 0..12 {
            assert_eq!(found.get(&key(number), at), expect.get(&key(number), at), "{number} {at}");
        }
        for (prefix, after, limit) in [
            (&b""[..], None, 100),
            (b"o/", None, 3),
            (b"o/", Some(&b"o/a\0"[..]), 2),
            (b"p", Some(b"o/zzz"), 9),
            (b"o/", Some(b"p"), 9),
        ] {
            let range = found.range(prefix, after, at, limit);
            assert_eq!(range, expect.range(prefix, after, at, limit), "{prefix:?} {after:?} {at}");
        }
        if at.get() % 7 == 0 {
            assert_eq!(found.changes(at, 500), expect.changes(at, 500), "{at}");
        }
    }
    for time in 990..expect.extent().newest_ms + 5 {
        assert_eq!(found.revision_at(time), expect.revision_at(time), "{time}");
    }
    for number in 0..12 {
        for (before, limit) in [(u64::MAX, usize::MAX), (newest / 2, 3), (newest, 1)] {
            let before = Revision::new(before);
            let versions = found.versions(&key(number), before, limit);
            assert_eq!(versions, expect.versions(&key(number), before, limit), "{number} {before}");
        }
    }
    assert_eq!(found.versions(b"never", Revision::MAX, 9), Ok(vec![]));
}

fn run(engine: Arc<dyn Engine>, first: &[Step], second: &[Step], last: &[Step]) {
    let mut pair = Pair::new();
    let expect = pair.model.past().unwrap();
    first.iter().for_each(|step| pair.write(step));
    for steps in [second, last] {
        let archive = pair.subject.archive(options(engine.clone()));
        wait_archived(&archive, &pair.subject);
        check(&*archive.past(), &*expect, pair.subject.serving.revision().get());
        steps.iter().for_each(|step| pair.write(step));
        check(&*archive.past(), &*expect, pair.subject.serving.revision().get());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn in_memory(first in steps(), second in steps(), last in steps()) {
        run(Arc::new(MemoryEngine::default()), &first, &second, &last);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]

    #[test]
    fn on_disk(first in steps(), second in steps(), last in steps()) {
        let folder = tempfile::tempdir().unwrap();
        run(fjall(folder.path()), &first, &second, &last);
    }
}
