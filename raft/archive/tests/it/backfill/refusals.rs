//! What another member gives that cannot be the past of this cluster is refused; a member that gives
//! it is asked for nothing more at that time, and another one is.

use std::sync::Arc;

use quorate_archive::{ArchiveOptions, BULK_BYTES, MemoryEngine, SLICE_VERSIONS};
use quorate_store::{Past, Store};

use super::source::{Lie, Other, Source};
use super::{check_whole, fill, late, step};
use crate::support::{Pair, Step, options, wait};

const WRITES: u8 = 150;

/// Whether a lie counts as a failure; in the end all is as the member has it that does not lie.
fn check(lie: Lie, expect_failure: bool) {
    let said = format!("{lie:?}");
    let pair = late(WRITES, 20);
    let options = || ArchiveOptions {
        bulk_bytes: BULK_BYTES,
        slice_versions: SLICE_VERSIONS,
        ..options(Arc::new(MemoryEngine::default()))
    };
    let other = || Other::new(pair.model.past().unwrap(), 60);
    let archive = pair.subject.archive(options());
    let oldest = archive.status().oldest;
    let source = Source::new([other().lying(lie.clone())]);
    let filling = fill(&archive, &source);
    wait("it was tried", || {
        let tries = source.rounds.load(std::sync::atomic::Ordering::Relaxed);
        tries > 3 && (archive.status().fill_failures > 2 || !expect_failure)
    });
    drop(filling);
    let status = archive.status();
    assert_eq!((status.filled, status.oldest), (0, oldest), "{said}");
    assert_eq!(status.fill_failures > 0, expect_failure, "{said}");
    drop(archive);
    let archive = pair.subject.archive(options());
    let _filling = fill(&archive, &Source::new([other().lying(lie), other()]));
    check_whole(&archive, &pair);
}

/// The same times and keys, and other values.
fn another_history() -> Arc<dyn Past> {
    let mut other = Pair::new();
    for number in 0..WRITES {
        let Step { mut operations, pause_ms } = step(number);
        operations[0].1 = operations[0].1.map(|length| length + 1);
        operations[1].1 = Some(3);
        other.write(&Step { operations, pause_ms });
    }
    other.model.past().unwrap()
}

#[test]
fn what_cannot_be_is_refused() {
    check(Lie::Owner, true);
    check(Lie::Overlap, true);
    check(Lie::Unimplemented, false);
    check(Lie::Other(another_history()), true);
    check(Lie::Hole, true);
    check(Lie::Reordered, true);
    check(Lie::Previous, true);
    check(Lie::Later, true);
    check(Lie::Twice, true);
    check(Lie::Time, true);
}
