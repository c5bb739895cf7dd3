//! The options, held against the table of their lives and against the deprecation policy.

use std::collections::BTreeSet;

use clap::CommandFactory;

use super::*;
use crate::cli::Cli;

/// The releases of this program and when they came out, year and month; the newest is not out yet.
const RELEASES: [(Release, Option<(u32, u32)>); 1] = [(Release::new(0, 1), None)];

/// The options of the last release, which a later one may not lose too soon. None is out yet.
const RELEASED: &str = "";

/// The breaches of the policy: rules 5a, 5b and 5c of the deprecation policy.
fn breaches(
    rows: &[OptionRow],
    released: &[OptionRow],
    releases: &[(Release, Option<(u32, u32)>)],
) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        let name = row.name;
        if let Some(instead) = row.replacement {
            match rows.iter().find(|other| other.name == instead) {
                None => found.push(format!("{name}: its replacement {instead} is not there")),
                Some(other) if other.stability < row.stability => {
                    found.push(format!("{name}: {instead} is less stable"));
                }
                Some(_) => {}
            }
        }
        if let Some(removed) = row.removed {
            match row.deprecated {
                Some(deprecated) if lasts(row, deprecated, removed, releases) => {}
                _ => found.push(format!("{name}: removed too soon")),
            }
        }
    }
    for before in released {
        match rows.iter().find(|row| row.name == before.name) {
            None => found.push(format!("{}: no longer in the table", before.name)),
            Some(row) if row.stability < before.stability => {
                found.push(format!("{}: less stable than it was", before.name));
            }
            Some(_) => {}
        }
    }
    found
}

/// Whether an option was deprecated for long enough: by months and by releases, whichever takes
/// longer.
fn lasts(
    row: &OptionRow,
    deprecated: Release,
    removed: Release,
    releases: &[(Release, Option<(u32, u32)>)],
) -> bool {
    let (months, count) = match (row.audience, row.stability) {
        (_, OptionStability::Alpha) => (0, 0),
        (Audience::User, OptionStability::Ga) => (12, 2),
        (Audience::Admin, OptionStability::Ga) => (6, 1),
        (_, OptionStability::Beta) => (3, 1),
    };
    let date = |release: Release| {
        let found = releases.iter().find(|(own, _)| *own == release);
        found.and_then(|(_, date)| *date).map(|(year, month)| year * 12 + month)
    };
    let passed = match (date(deprecated), date(removed)) {
        (Some(from), Some(to)) => to >= from + months,
        _ => months == 0,
    };
    passed && removed.minors_since(deprecated) >= count
}

fn options_of(command: &clap::Command, all: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        let names = argument.get_long().into_iter();
        let aliases = argument.get_all_aliases().into_iter().flatten();
        all.extend(names.chain(aliases).map(str::to_owned));
    }
    command.get_subcommands().for_each(|below| options_of(below, all));
}

#[test]
fn every_option_has_a_row_and_every_row_an_option() {
    let mut options = BTreeSet::new();
    options_of(&Cli::command(), &mut options);
    // What only the program says to itself.
    options.remove("supervised");
    let rows = rows();
    let here = rows.iter().filter(|row| row.removed.is_none());
    let here: BTreeSet<String> = here.map(|row| row.name.to_owned()).collect();
    assert_eq!(options, here);
}

#[test]
fn the_table_keeps_the_policy() {
    let released: Vec<OptionRow> = RELEASED.lines().filter_map(read).collect();
    assert_eq!(breaches(&rows(), &released, &RELEASES), [] as [String; 0]);
    let newest = RELEASES.iter().map(|(release, _)| *release).max();
    for row in rows() {
        assert!(Some(row.since) <= newest && row.deprecated <= newest, "{row:?}");
    }
}

#[test]
fn breaches_are_found() {
    let releases = [
        (Release::new(0, 1), Some((2026, 1))),
        (Release::new(0, 2), Some((2026, 5))),
        (Release::new(0, 3), Some((2026, 9))),
        (Release::new(0, 4), Some((2027, 2))),
    ];
    let check = |row: &'static str, expect: &[&str]| {
        let rows = [row, "new admin ga | 0.1", "young admin alpha | 0.1"];
        let rows: Vec<_> = rows.into_iter().filter_map(read).collect();
        assert_eq!(rows.len(), 3, "{row}");
        assert_eq!(breaches(&rows, &[], &releases), expect, "{row}");
    };
    check("a admin ga | 0.1 0.1", &[]);
    check("a admin ga | 0.1 0.1 | new", &[]);
    check("a admin ga | 0.1 0.1 | young", &["a: young is less stable"]);
    check("a admin ga | 0.1 0.1 | other", &["a: its replacement other is not there"]);
    check("a admin ga | 0.1 0.1 0.2", &["a: removed too soon"]);
    check("a admin ga | 0.1 0.1 0.3", &[]);
    check("a admin beta | 0.1 0.1 0.2", &[]);
    check("a admin beta | 0.1 0.1 0.1", &["a: removed too soon"]);
    check("a user ga | 0.1 0.1 0.3", &["a: removed too soon"]);
    check("a user ga | 0.1 0.1 0.4", &[]);
    check("a user alpha | 0.1 0.1 0.1", &[]);
    check("a user alpha | 0.1 - 0.1", &["a: removed too soon"]);
    let before: Vec<_> =
        ["gone admin ga | 0.1", "young admin ga | 0.1"].into_iter().filter_map(read).collect();
    let now: Vec<_> = ["young admin alpha | 0.1"].into_iter().filter_map(read).collect();
    let expect = ["gone: no longer in the table", "young: less stable than it was"];
    assert_eq!(breaches(&now, &before, &releases), expect);
}

#[test]
fn deprecated_options_are_named_once() {
    let check = |given: &str, expect: &[&str]| {
        assert_eq!(deprecation_warnings(given.split(' ').map(str::to_owned)), expect, "{given}");
    };
    let old = "Option --size-limit has been deprecated, use --store-size-limit instead";
    check("serve --data-dir d --store-size-limit 1GiB", &[]);
    check("serve --size-limit=1GiB", &[old]);
    check("serve --size-limit 1GiB --size-limit 2GiB", &[old]);
    check("serve size-limit", &[]);
}
