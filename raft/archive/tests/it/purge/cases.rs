//! Single purges: what clients are told, crashes in between, readers meanwhile, and the bytes on disk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use quorate_archive::ArchiveOptions;
use quorate_store::PastError;

use super::*;
use crate::faults::copy_folder;

/// Several versions of a key among others.
fn written() -> Both {
    let mut both = Both::new();
    (0..60).for_each(|number| both.put(number % KEYS));
    both
}

#[test]
fn a_client_is_told_what_was_purged_and_what_lives_stays() {
    let mut both = written();
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::default());
    let archive = both.archive(&engine);
    let living = both.subject.serving.snapshot().get(&key(3)).unwrap().clone();
    both.purge_key(3);
    let purged = PastError::Purged { upto: Revision::new(60), time_ms: 1060 };
    let past = archive.past();
    assert_eq!(past.get(&key(3), Revision::new(20)), Err(purged));
    assert_eq!(past.get(&key(3), living.modified), Ok(Some(living.clone())));
    assert_eq!(past.get(&key(3), Revision::new(2)), Ok(None), "it was not there yet");
    // What lived when it was purged stays readable after it has changed.
    both.put(3);
    both.delete(3);
    assert_eq!(past.get(&key(3), Revision::new(61)), Ok(Some(living)));
    both.purge_key(3);
    let purged = PastError::Purged { upto: Revision::new(63), time_ms: 1063 };
    assert_eq!(past.get(&key(3), Revision::new(61)), Err(purged));
    assert_eq!(past.get(&key(3), Revision::new(63)), Ok(None));
}

#[test]
fn the_bytes_leave_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut both = written();
    let archive = both.archive(&fjall(folder.path()));
    wait_archived(&archive, &both.subject);
    let old: Vec<Bytes> = both.subject.kept.batches.read()[..48]
        .iter()
        .filter(|batch| batch.events[0].key == key(3))
        .map(|batch| batch.events[0].current.clone().unwrap().value)
        .collect();
    assert_eq!(old.len(), 4);
    assert!(files_have(folder.path(), &old), "the search finds what is there");
    both.purge_key(3);
    wait("the era is written anew", || archive.status().rewritten == 1);
    wait("the bytes are gone", || !files_have(folder.path(), &old));
    assert_eq!(archive.status().failures, 0);
}

#[test]
fn readers_see_whole_answers_meanwhile() {
    let mut both = written();
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::default());
    let archive = both.archive(&engine);
    wait_archived(&archive, &both.subject);
    let (past, done) = (archive.past(), AtomicBool::new(false));
    let read = || {
        let mut reads = 0;
        while !done.load(Ordering::Relaxed) || reads < 100 {
            for at in (0..60).map(Revision::new) {
                let found = past.get(&key(3), at);
                assert!(matches!(found, Ok(_) | Err(PastError::Purged { .. })), "{found:?}");
                assert!(past.range(b"", None, at, 99).is_ok());
            }
            assert_eq!(past.range(b"", None, Revision::new(60), 99).unwrap().len(), 12);
            assert!(past.changes(Revision::ZERO, usize::MAX).unwrap().len() >= 60);
            reads += 1;
        }
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        for number in 0..KEYS {
            let rewritten = archive.status().rewritten;
            both.purge_key(number);
            wait("it is rewritten", || archive.status().rewritten > rewritten);
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    check(&*past, &*both.model.past().unwrap(), both.newest());
}

#[test]
fn a_crash_between_leaves_the_old_era_and_it_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let [path, before, crashed] =
        ["archive", "before", "crashed"].map(|name| folder.path().join(name));
    let mut both = written();
    let archive = both.archive(&fjall(&path));
    wait_archived(&archive, &both.subject);
    drop(archive);
    copy_folder(&path, &before);
    both.purge_key(3);
    let archive = both.archive(&fjall(&path));
    wait("it is rewritten", || archive.status().rewritten == 1);
    wait_archived(&archive, &both.subject);
    drop(archive);
    // The new era is complete and the old one not yet gone; or it was only begun.
    for (is_complete, failures) in [(true, 1), (false, 1)] {
        fs::remove_dir_all(&crashed).ok();
        copy_folder(&before, &crashed);
        if is_complete {
            copy_folder(&path, &crashed);
        } else {
            fjall(&crashed).open("era-00000000000000000000-001").unwrap();
        }
        let archive = both.archive(&fjall(&crashed));
        assert_eq!(archive.status().failures, failures);
        check(&*archive.past(), &*both.model.past().unwrap(), both.newest());
        wait("it is rewritten again", || archive.status().rewritten == 1);
        check(&*archive.past(), &*both.model.past().unwrap(), both.newest());
        drop(archive);
        assert!(!tables_have(&*fjall(&crashed), &both.values().0));
    }
}

#[test]
fn a_member_that_is_behind_its_archive_keeps_it() {
    let mut both = written();
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::default());
    let archive = both.archive(&engine);
    wait_archived(&archive, &both.subject);
    drop(archive);
    for number in 0..KEYS {
        both.delete(number);
        both.purge_key(number);
    }
    // The purges are applied, and rewritten, before anything newer is archived.
    let slow = || ArchiveOptions {
        bulk_wait: Duration::from_secs(3600),
        bulk_bytes: usize::MAX,
        ..options(engine.clone())
    };
    let archive = both.subject.archive(slow());
    wait("it is rewritten", || archive.status().rewritten > 0);
    drop(archive);
    // After a crash the member has applied less than before.
    let behind = Both::new();
    for batch in both.subject.kept.batches.read()[..60].iter() {
        let event = &batch.events[0];
        let value = event.current.clone().unwrap().value;
        let put = Operation::Put { key: event.key.clone(), value };
        behind.subject.write(batch.time_ms, vec![put], "");
    }
    let archive = behind.archive(&engine);
    rest(&archive);
    assert_eq!((archive.status().failures, archive.status().oldest), (0, Revision::ZERO));
    let told = archive.past().changes(Revision::ZERO, usize::MAX).unwrap();
    assert_eq!(told.len(), 60);
    assert!(!tables_have(&*engine, &both.values().0));
}
