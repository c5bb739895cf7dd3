//! Archives that are filled from other members: whole in the end, and never with something else.

mod limits;
mod refusals;
mod source;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use quorate_archive::{Archive, ArchiveOptions, BackfillOptions, Engine, MemoryEngine};
use quorate_store::{Revision, Store};
use tokio::runtime::{Builder, Runtime};

use crate::model;
use crate::support::{Pair, Step, fjall, options, wait, wait_archived};
use source::{Lie, Other, Source};

fn step(number: u8) -> Step {
    let deletes = number % 7 == 6;
    Step {
        operations: vec![(number % 12, (!deletes).then_some(40)), (number % 5, Some(9))],
        pause_ms: 1,
    }
}

/// A member's history, of which its journal has only the newest changes.
fn late(writes: u8, kept: u8) -> Pair {
    let mut pair = Pair::new();
    (0..writes).for_each(|number| pair.write(&step(number)));
    *pair.subject.kept.oldest.write() = Revision::new(u64::from(writes - kept));
    pair
}

/// Fills the archive for as long as the runtime is there.
fn fill(archive: &Archive, source: &Arc<Source>) -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let options = BackfillOptions {
        look: Duration::from_millis(2),
        retry: Duration::from_millis(10),
        bytes_per_second: u64::MAX,
        answer_bytes: 3000,
    };
    runtime.spawn(archive.backfill(source.clone(), options).run());
    runtime
}

fn is_whole(archive: &Archive) -> bool {
    let status = archive.status();
    status.oldest == Revision::ZERO && status.gaps.is_empty()
}

/// Waits until all is there, and compares it with the model.
fn check_whole(archive: &Archive, pair: &Pair) {
    wait("the past is whole", || is_whole(archive));
    wait_archived(archive, &pair.subject);
    let newest = pair.subject.serving.revision().get();
    model::check(&*archive.past(), &*pair.model.past().unwrap(), newest);
}

/// A part of a history: how much, and whether the archive followed.
type Segment = (u8, bool);

/// An archive with gaps: it did not follow, and the journal forgot.
fn with_gaps(engine: &Arc<dyn Engine>, segments: &[Segment]) -> Pair {
    let mut pair = Pair::new();
    let mut number = 0_u8;
    for (writes, is_followed) in segments {
        let forgotten = pair.subject.serving.revision();
        *pair.subject.kept.oldest.write() = forgotten;
        let archive = is_followed.then(|| pair.subject.archive(options(engine.clone())));
        for _ in 0..*writes {
            pair.write(&step(number));
            number = number.wrapping_add(1);
        }
        if let Some(archive) = archive {
            wait_archived(&archive, &pair.subject);
        }
    }
    *pair.subject.kept.oldest.write() = pair.subject.serving.revision();
    pair
}

fn run(engine: &Arc<dyn Engine>, segments: &[Segment], part: u64, answers: usize) {
    let mut pair = with_gaps(engine, segments);
    let honest = || Other::new(pair.model.past().unwrap(), part);
    // The first member goes away, and so does the archive.
    let source = Source::new([honest().until(answers)]);
    let archive = pair.subject.archive(options(engine.clone()));
    let filling = fill(&archive, &source);
    wait("the member goes", || source.is_exhausted() || is_whole(&archive));
    drop(filling);
    drop(archive);
    let source = Source::new([honest().until(1), honest()]);
    let archive = pair.subject.archive(options(engine.clone()));
    let _filling = fill(&archive, &source);
    check_whole(&archive, &pair);
    pair.write(&step(3));
    check_whole(&archive, &pair);
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    prop::collection::vec((1..30_u8, any::<bool>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn gaps_anywhere(segments in segments(), part in 1..80_u64, answers in 0..20_usize) {
        run(&(Arc::new(MemoryEngine::default()) as Arc<dyn Engine>), &segments, part, answers);
    }
}

#[test]
fn on_disk() {
    let folder = tempfile::tempdir().unwrap();
    run(&fjall(folder.path()), &[(40, true), (30, false), (35, true), (20, false)], 25, 4);
}

#[test]
fn a_damaged_era_is_dropped_and_filled_again() {
    let folder = tempfile::tempdir().unwrap();
    let pair = with_gaps(&fjall(folder.path()), &[(40, true), (2, false), (40, true)]);
    let mut eras: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    eras.sort_by_key(std::fs::DirEntry::file_name);
    let [first, second] = &eras[..] else { panic!("{eras:?}") };
    for (era, failures) in [(first, 1), (second, 1)] {
        empty_files(&era.path());
        let archive = pair.subject.archive(options(fjall(folder.path())));
        assert_eq!(archive.status().failures, failures);
        let source = Source::new([Other::new(pair.model.past().unwrap(), 30)]);
        let _filling = fill(&archive, &source);
        check_whole(&archive, &pair);
        assert!(archive.status().filled_transactions >= 40, "{:?}", archive.status());
    }
}

fn empty_files(folder: &Path) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => empty_files(&path),
            false => std::fs::write(&path, b"").unwrap(),
        }
    }
}

#[test]
fn what_was_archived_of_another_cluster_is_not_believed() {
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::default());
    let pair = late(120, 20);
    let foreign = ArchiveOptions { owner: "another".to_owned(), ..options(engine.clone()) };
    drop(pair.subject.archive(foreign));
    let archive = pair.subject.archive(options(engine));
    let source = Source::new([
        Other::new(pair.model.past().unwrap(), 50).lying(Lie::Owner),
        Other::new(pair.model.past().unwrap(), 50),
    ]);
    let _filling = fill(&archive, &source);
    check_whole(&archive, &pair);
    assert!(archive.status().fill_failures > 0);
}
