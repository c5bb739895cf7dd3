//! Rotation and pruning of audit log files.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use super::*;

const DAY_MS: u64 = 24 * 3600 * 1000;

#[derive(Debug, Default)]
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Writes one event a day; gives the files that are there then, with their contents.
async fn check(limits: Limits, events: &[&'static str], expect: &[(&str, &str)]) {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(TestClock::default());
    let mut sink =
        open(folder.path().join("audit.log").to_str().unwrap(), limits, clock.clone()).unwrap();
    for event in events {
        sink.write(&Lines::from_iter([*event])).await.unwrap();
        clock.0.fetch_add(DAY_MS, Ordering::Relaxed);
    }
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let mut found: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
            (name, std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    let found: Vec<_> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(found, expect);
}

#[tokio::test]
async fn files_are_rotated_and_pruned() {
    let unlimited = Limits { bytes: 0, age: Duration::ZERO, files: 0 };
    check(unlimited, &["one\n", "two\n"], &[("audit.log", "one\ntwo\n")]).await;
    let small = Limits { bytes: 8, ..unlimited };
    let (first, second) =
        ("audit-1970-01-03T00-00-00.000.log", "audit-1970-01-04T00-00-00.000.log");
    let events = ["one\n", "two\n", "three\n", "four\n"];
    let last = ("audit.log", "four\n");
    check(small, &events, &[(first, "one\ntwo\n"), (second, "three\n"), last]).await;
    check(Limits { files: 1, ..small }, &events, &[(second, "three\n"), last]).await;
    let a_moment = Duration::from_secs(3600);
    check(Limits { age: a_moment, ..small }, &events, &[(second, "three\n"), last]).await;
    check(small, &["longer than allowed\n"], &[("audit.log", "longer than allowed\n")]).await;
}

#[tokio::test]
async fn files_that_were_not_rotated_here_stay_and_none_is_overwritten() {
    let folder = TempDir::new().unwrap();
    let others = ["audit-2.log", "audit-20260101.log", "audit-2026-01-01.log", "audit.old"];
    others.iter().for_each(|name| std::fs::write(folder.path().join(name), "other").unwrap());
    let clock = Arc::new(TestClock::default());
    let limits = Limits { bytes: 4, age: Duration::ZERO, files: 2 };
    let mut sink =
        open(folder.path().join("audit.log").to_str().unwrap(), limits, clock.clone()).unwrap();
    sink.write(&Lines::from_iter(["one\n", "two\n", "six\n", "ten\n"])).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    others.iter().for_each(|name| assert_eq!(read(name), "other"));
    // All in one moment: each gets a name of its own.
    let aside =
        ["000", "001", "002"].map(|ms| read(&format!("audit-1970-01-01T00-00-00.{ms}.log")));
    assert_eq!(
        (aside, read("audit.log")),
        (["", "two\n", "six\n"].map(str::to_owned), "ten\n".to_owned())
    );
}

#[tokio::test]
async fn old_files_go_when_none_is_rotated_any_more() {
    let folder = TempDir::new().unwrap();
    let old = folder.path().join("audit-1970-01-01T00-00-00.000.log");
    std::fs::write(&old, "old").unwrap();
    let clock = Arc::new(TestClock::default());
    let limits = Limits { bytes: 0, age: Duration::from_secs(3600), files: 0 };
    let mut sink =
        open(folder.path().join("audit.log").to_str().unwrap(), limits, clock.clone()).unwrap();
    for (ms, expect) in [(0, true), (PRUNE_INTERVAL_MS - 1, true), (PRUNE_INTERVAL_MS + 1, false)] {
        clock.0.store(ms, Ordering::Relaxed);
        sink.write(&Lines::from_iter(["one\n"])).await.unwrap();
        assert_eq!(old.exists(), expect, "{ms}");
    }
}

#[tokio::test]
async fn no_file_is_longer_than_allowed_when_lines_are_filled_up() {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(TestClock::default());
    let limits = Limits { bytes: 300_000, age: Duration::ZERO, files: 0 };
    let mut sink =
        open(folder.path().join("audit.log").to_str().unwrap(), limits, clock.clone()).unwrap();
    let lines: Vec<String> = (0..600).map(|number| format!("{number:999}\n")).collect();
    for batch in lines.chunks(200) {
        sink.write(&batch.iter().map(String::as_str).collect()).await.unwrap();
        clock.0.fetch_add(DAY_MS, Ordering::Relaxed);
    }
    let mut paths: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Names with a time sort before the one without.
    paths.sort();
    let texts: Vec<String> =
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(texts.len() > 1 && texts.iter().all(|text| text.len() <= 300_000));
    let found = texts.iter().flat_map(|text| text.lines()).map(str::trim_end);
    assert!(found.eq(lines.iter().map(|line| line.trim_end())));
}
