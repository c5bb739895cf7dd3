//! Appended lines, direct and through the page cache.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use quorate_api::audit::Lines;
use tempfile::TempDir;

use super::*;

/// A line of so many bytes, which differ from block to block.
fn line(length: usize) -> String {
    let text = (1..length).map(|at| char::from(b'a' + u8::try_from((at / 97 + at) % 23).unwrap()));
    text.chain(['\n']).collect()
}

/// Lines in memory as a spool has them.
fn lines(lengths: &[usize]) -> Lines {
    let lines: Vec<String> = lengths.iter().map(|length| line(*length)).collect();
    lines.iter().map(String::as_str).collect()
}

/// Whether the disk takes anything directly from memory here at all.
fn takes_direct(folder: &Path) -> bool {
    let path = folder.join("probe");
    let mut probe = Appender::open(&path).unwrap();
    let taken = probe.write_blocks(lines(&[BLOCK_BYTES]).text());
    assert!(taken == BLOCK_BYTES || probe.direct.is_none());
    taken == BLOCK_BYTES
}

/// Writes lines of these lengths one by one; gives how long the file was after each.
fn check(lengths: &[usize], expect: &[usize], is_direct: bool) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let takes_direct = takes_direct(folder.path());
    let mut appender = Appender::open(&path).unwrap();
    if !is_direct {
        appender.direct = None;
    } else if !takes_direct {
        return;
    }
    for (length, expect) in lengths.iter().zip(expect) {
        let (foretold, expect) = (appender.size_with(*length), *expect as u64);
        appender.append(lines(&[*length]).text()).unwrap();
        let found = std::fs::metadata(&path).unwrap().len();
        assert_eq!((appender.size(), foretold, found), (expect, expect, expect), "{lengths:?}");
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found
            .lines()
            .map(str::trim_end)
            .eq(lengths.iter().map(|length| line(*length).trim_end().to_owned()))
    );
    assert_eq!(appender.direct.is_some(), is_direct);
}

#[test]
fn what_is_written_lies_behind_each_other() {
    check(&[1, 7, LONG_BYTES - 1], &[1, 8, LONG_BYTES + 7], true);
    check(&[LONG_BYTES, 3 * LONG_BYTES], &[LONG_BYTES, 4 * LONG_BYTES], true);
    check(&[7, LONG_BYTES, 7], &[7, LONG_BYTES + 7, LONG_BYTES + 14], false);
}

#[test]
fn the_last_of_long_lines_ends_with_a_block() {
    let (long, block) = (LONG_BYTES, BLOCK_BYTES);
    let ends = [long + block, 2 * (long + block), 3 * long + 2 * block, 3 * long + 2 * block + 1];
    check(&[long + 1, long + block - 1, long, 1], &ends, true);
    // Not at the beginning of a block: the ordinary way, and then it is.
    check(&[7, long, long + 5], &[7, long + block, 2 * long + 2 * block], true);
}

#[test]
fn lines_that_lie_anywhere_in_memory_are_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let mut appender = Appender::open(&path).unwrap();
    let two = lines(&[1, LONG_BYTES + 1]);
    appender.append(&two.text()[1..]).unwrap();
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found.ends_with('\n') && found.trim_end() == line(LONG_BYTES + 1).trim_end());
    assert_eq!(found.len() as u64, appender.size());
}

#[test]
fn whatever_others_leave_at_the_end_a_line_begins_behind_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let mut appender = Appender::open(&path).unwrap();
    let long = lines(&[LONG_BYTES + 1]);
    for (left, expect) in [("", ""), ("torn", "torn\n"), ("whole\n", "whole\n")] {
        std::fs::write(&path, left).unwrap();
        appender.append(long.text()).unwrap();
        appender.append(b"next\n").unwrap();
        let found = std::fs::read_to_string(&path).unwrap();
        let trimmed: String = found.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
        assert!(trimmed == [expect, &line(LONG_BYTES + 1), "next\n"].concat());
    }
}

#[test]
fn a_file_is_its_owners_only_unless_it_was_there() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let check = |expect: u32| {
        Appender::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, expect);
    };
    check(0o600);
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    check(0o640);
}

#[test]
fn blocks_that_are_not_taken_go_the_ordinary_way() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let mut appender = Appender::open(&path).unwrap();
    // Only for reading: every direct write fails.
    appender.direct = Some(File::open(&path).unwrap());
    let long = lines(&[LONG_BYTES + 1]);
    appender.append(long.text()).unwrap();
    assert!(appender.direct.is_none());
    assert!(std::fs::read(&path).unwrap() == long.text());
}

#[test]
fn what_was_not_written_whole_is_not_there() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let mut appender = Appender::open(&path).unwrap();
    appender.append(b"whole\n").unwrap();
    let writing = std::mem::replace(&mut appender.file, File::open(&path).unwrap());
    appender.append(b"never\n").unwrap_err();
    assert_eq!(appender.size(), 6);
    appender.file = writing;
    appender.append(b"next\n").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"whole\nnext\n");
}
