//! Whatever becomes of the archive's folder: it starts, and what it says is right or that it does not
//! know.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_archive::{ArchiveOptions, BULK_BYTES};
use quorate_store::{Past, PastError, Revision, Store};

use crate::support::{Pair, Running, Step, fjall, key, options, wait, wait_archived};

const WRITES: u8 = 150;
/// No table of these tests has as many bytes.
const LARGE_BYTES: u64 = 1 << 20;

fn step(number: u8) -> Step {
    let deletes = number % 7 == 6;
    Step {
        operations: vec![(number % 12, (!deletes).then_some(40)), (number % 5, Some(9))],
        pause_ms: 1,
    }
}

fn written() -> Pair {
    let mut pair = Pair::new();
    (0..WRITES).for_each(|number| pair.write(&step(number)));
    pair
}

/// The journal has only the newest changes.
fn forget(pair: &Pair) {
    *pair.subject.kept.oldest.write() = Revision::new(u64::from(WRITES) - 3);
}

fn archive_in(pair: &Pair, folder: &Path) -> Running {
    pair.subject.archive(options(fjall(folder)))
}

fn is_right<T: PartialEq + std::fmt::Debug>(
    found: Result<T, PastError>,
    expect: Result<T, PastError>,
) -> bool {
    let is_unknown = matches!(
        found,
        Err(PastError::Missing { .. } | PastError::Expired { .. } | PastError::Unreadable)
    );
    assert!(is_unknown || found == expect, "{found:?} instead of {expect:?}");
    !is_unknown
}

/// How many answers are given; all of them are right.
fn known(past: &dyn Past, expect: &dyn Past, newest: u64) -> usize {
    let mut known = 0;
    for at in (0..=newest).map(Revision::new) {
        for number in 0..12 {
            let answer = past.get(&key(number), at);
            known += usize::from(is_right(answer, expect.get(&key(number), at)));
        }
        is_right(past.range(b"o/", None, at, 100), expect.range(b"o/", None, at, 100));
        if let Ok(found) = past.changes(at, 300) {
            let expect = expect.changes(at, usize::MAX).unwrap();
            assert_eq!(found[..], expect[..found.len()]);
        }
    }
    for number in 0..12 {
        let found = past.versions(&key(number), Revision::MAX, 5);
        // The last may be what was there when the archive begins.
        let found: Vec<_> = found.unwrap_or_default();
        let told = found.iter().take_while(|version| version.time_ms.is_some()).count();
        let expect = expect.versions(&key(number), Revision::MAX, 5).unwrap();
        assert_eq!(found[..told], expect[..told]);
    }
    known
}

/// Starts the archive on the folder, after the journal has forgotten most.
fn check(pair: &mut Pair, folder: &Path) -> (usize, u64) {
    let archive = archive_in(pair, folder);
    let (past, expect) = (archive.past(), pair.model.past().unwrap());
    known(&*past, &*expect, u64::from(WRITES));
    pair.write(&step(200));
    wait_archived(&archive, &pair.subject);
    let newest = pair.subject.serving.revision();
    let answers = known(&*past, &*expect, newest.get());
    assert_eq!(past.range(b"", None, newest, 99), expect.range(b"", None, newest, 99));
    (answers, archive.status().failures)
}

#[test]
fn killed_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::new();
    let archive = archive_in(&pair, &folder.path().join("archive"));
    let mut copies = Vec::new();
    for number in 0..WRITES {
        pair.write(&step(number));
        if number % 15 == 14 {
            let copy = folder.path().join(format!("copy-{number}"));
            copy_folder(&folder.path().join("archive"), &copy);
            copies.push(copy);
            wait_archived(&archive, &pair.subject);
        }
    }
    drop(archive);
    for copy in copies {
        let archive = archive_in(&pair, &copy);
        wait_archived(&archive, &pair.subject);
        let expect = pair.model.past().unwrap();
        let newest = pair.subject.serving.revision().get();
        let all = 12 * (usize::try_from(newest).unwrap() + 1);
        assert_eq!(known(&*archive.past(), &*expect, newest), all, "{}", copy.display());
    }
}

#[test]
fn deleted_and_emptied() {
    let hurts: [fn(&Path); 5] = [
        |folder: &Path| fs::remove_dir_all(folder).unwrap(),
        |folder: &Path| files(folder).iter().for_each(|file| fs::remove_file(file).unwrap()),
        |folder: &Path| files(folder).iter().for_each(|file| fs::write(file, b"").unwrap()),
        |folder: &Path| {
            files(folder).iter().for_each(|file| fs::write(file, b"something else").unwrap())
        },
        |folder: &Path| fs::write(folder.join("era-9"), b"a file").unwrap(),
    ];
    for hurt in hurts {
        let folder = tempfile::tempdir().unwrap();
        let mut pair = written();
        let path = folder.path().join("archive");
        wait_archived(&archive_in(&pair, &path), &pair.subject);
        forget(&pair);
        hurt(&path);
        check(&mut pair, &path);
    }
}

#[test]
fn truncated_and_with_flipped_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive");
    let mut pair = written();
    wait_archived(&archive_in(&pair, &path), &pair.subject);
    forget(&pair);
    let mut state = 7_u64;
    let mut number = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut noticed = 0;
    for (round, file) in files(&path).into_iter().cycle().take(40).enumerate() {
        let copy = folder.path().join(format!("copy-{round}"));
        copy_folder(&path, &copy);
        let file = copy.join(file.strip_prefix(&path).unwrap());
        let is_table = file.parent().is_some_and(|folder| folder.ends_with("tables"));
        // One that fjall removes late is in the list, and not in the copy.
        let length = fs::metadata(&file).map_or(0, |file| file.len());
        if length == 0 || length > LARGE_BYTES {
            continue;
        }
        let file = fs::File::options().read(true).write(true).open(file).unwrap();
        let at = number() % length;
        // Not where a table says how long its parts are: reading that, fjall asks for as much memory.
        let at = if is_table { at / 4 } else { at };
        if !is_table || number() % 3 == 0 {
            file.set_len(at).unwrap();
        } else {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ (1 << (number() % 8))], at).unwrap();
        }
        let (_, failures) = check(&mut pair, &copy);
        noticed += usize::from(failures > 0);
    }
    assert!(noticed > 3, "{noticed}");
}

#[test]
fn of_another_history_and_of_another_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive");
    let pair = written();
    wait_archived(&archive_in(&pair, &path), &pair.subject);
    let mut other = Pair::new();
    (0..WRITES).for_each(|number| other.write(&step(number.wrapping_mul(3))));
    let archive = archive_in(&other, &path);
    wait("it is noticed", || archive.status().failures == 1);
    wait_archived(&archive, &other.subject);
    let expect = other.model.past().unwrap();
    assert_eq!(
        known(&*archive.past(), &*expect, u64::from(WRITES)),
        12 * (usize::from(WRITES) + 1)
    );
    drop(archive);
    let mut options = options(fjall(&path));
    options.owner = "another cluster".to_owned();
    let archive = pair.subject.archive(options);
    assert_eq!(archive.status().failures, 1);
    let expect = pair.model.past().unwrap();
    assert_eq!(
        known(&*archive.past(), &*expect, u64::from(WRITES)),
        12 * (usize::from(WRITES) + 1)
    );
}

#[test]
fn a_gap_is_said_and_not_guessed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::new();
    (0..50).for_each(|number| pair.write(&step(number)));
    wait_archived(&archive_in(&pair, folder.path()), &pair.subject);
    (50..WRITES).for_each(|number| pair.write(&step(number)));
    forget(&pair);
    check(&mut pair, folder.path());
    let archive = archive_in(&pair, folder.path());
    let gaps = archive.past().extent().gaps;
    assert_eq!(gaps.len(), 1);
    assert_eq!((gaps[0].after.get(), gaps[0].last.get()), (50, u64::from(WRITES) - 3));
    let past = archive.past();
    let missing = PastError::Missing { gap: gaps[0] };
    assert_eq!(past.changes(Revision::new(50), 1), Err(missing));
    assert_eq!(past.get(&key(1), Revision::new(60)), Err(missing));
    assert!(past.changes(Revision::new(40), 1 << 20).unwrap().len() == 10);
}

#[test]
fn a_start_and_a_stop_archive_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let slow = || ArchiveOptions {
        bulk_wait: Duration::from_secs(3600),
        bulk_bytes: BULK_BYTES,
        ..options(fjall(folder.path()))
    };
    let mut pair = written();
    let archive = pair.subject.archive(slow());
    assert_eq!(archive.status().lag, 0);
    pair.write(&step(1));
    assert_eq!(archive.status().lag, 1);
    drop(archive);
    let newest = pair.subject.serving.revision();
    *pair.subject.kept.oldest.write() = newest;
    let archive = pair.subject.archive(slow());
    let (status, expect) = (archive.status(), pair.model.past().unwrap());
    assert_eq!((status.archived, status.oldest, status.failures), (newest, Revision::ZERO, 0));
    let all = 12 * (usize::try_from(newest.get()).unwrap() + 1);
    assert_eq!(known(&*archive.past(), &*expect, newest.get()), all);
}

#[test]
fn a_table_that_ends_the_process_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let pair = written();
    wait_archived(&archive_in(&pair, folder.path()), &pair.subject);
    let name = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().file_name();
    let marker = folder.path().join(format!("opening-{}", name.display()));
    for (tries, failures) in [(&b"."[..], 0), (b"..", 1), (b"", 0)] {
        fs::write(&marker, tries).unwrap();
        let archive = archive_in(&pair, folder.path());
        assert_eq!(archive.status().failures, failures);
        wait_archived(&archive, &pair.subject);
        assert!(!marker.exists());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// As a crash leaves it: what is being written may be there in part.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let Ok(entries) = fs::read_dir(from) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_folder(&path, &target),
            // What fjall sets aside for a journal of its own, which is never written.
            false if fs::metadata(&path).is_ok_and(|file| file.len() > LARGE_BYTES) => {
                let file = fs::File::create(&target).unwrap();
                file.set_len(fs::metadata(&path).unwrap().len()).unwrap();
            }
            false => drop(fs::copy(&path, &target)),
        }
    }
}
