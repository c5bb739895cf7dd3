//! Rules of the source that no compiler checks: dependencies go one way, every file says what it
//! is, names and comments are plain.
//!
//! The tables say what holds ([`edges`]) and where it does not hold yet ([`exceptions`]); an
//! exception that is no longer one fails, so that its list only shrinks.

mod edges;
mod exceptions;
mod source;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use self::edges::{CRATES, CrateRule};
use self::exceptions::{BACK_EDGES, REPEATED_TYPES, STRAY_IMPLS, WORDY_FOLDERS};
use self::workspace::{Crate, File, crates, texts};

/// Past this many lines a file must be split, or one of tests.
const LONGEST_FILE: usize = 400;
const LONGEST_TEST_FILE: usize = 450;
/// Words in comments that hide which actor acts, or send the reader elsewhere.
const BANNED: [&str; 4] = ["whoever", "somebody", "nobody", "see the module"];

type Edges<'a> = BTreeSet<(&'a str, &'a str)>;

#[test]
fn every_file_opens_with_what_it_is() {
    let silent: Vec<_> = texts()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "these files do not open with //!: {silent:?}");
}

#[test]
fn no_file_is_too_long() {
    let mut long: Vec<_> =
        texts().into_iter().map(|(path, text)| (text.lines().count(), path)).collect();
    long.retain(|(lines, path)| {
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        *lines > if is_test { LONGEST_TEST_FILE } else { LONGEST_FILE }
    });
    assert!(long.is_empty(), "these files are too long: {long:?}");
}

/// The table of crates is complete and exact, and every crate stands behind those that it uses.
#[test]
fn crates_use_only_what_is_written_down() {
    let found = crates();
    let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
    let rules: Vec<_> = CRATES.iter().map(|rule| rule.name).collect();
    assert_eq!(
        BTreeSet::from_iter(&names),
        BTreeSet::from_iter(&rules),
        "the crates of the workspace and of the table"
    );
    for found in &found {
        let expect: BTreeSet<String> =
            rule(found).uses.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found.dependencies, expect, "the crates that {} uses", found.name);
        let expect: BTreeSet<String> =
            rule(found).tests.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            found.dev_dependencies, expect,
            "the crates that only the tests of {} use",
            found.name
        );
    }
    let edges: Edges<'_> =
        CRATES.iter().flat_map(|rule| rule.uses.iter().map(|used| (rule.name, *used))).collect();
    assert!(edges.len() > 10, "the table has only {} edges between crates", edges.len());
    assert_eq!(cycle(&edges), None, "crates that use each other");
}

/// The tables of modules are complete and exact. A new edge is a decision: it is written down.
#[test]
fn modules_use_only_what_is_written_down() {
    let (mut count, mut wrong) = (0, String::new());
    for found in crates() {
        let listed = rule(&found).modules;
        assert_eq!(
            found.folder.starts_with("api"),
            listed.is_some(),
            "{}: the API's crates have a table",
            found.name
        );
        let Some(listed) = listed else { continue };
        let used = module_uses(&found);
        count += used.values().map(BTreeSet::len).sum::<usize>();
        let rows = used
            .iter()
            .map(|(name, uses)| (name.as_str(), uses.iter().map(String::as_str).collect()));
        let rows: Vec<(&str, Vec<&str>)> = rows.collect();
        if !listed.iter().map(|(name, uses)| (*name, uses.to_vec())).eq(rows.iter().cloned()) {
            wrong += &format!("\n{}:\n", found.name);
            wrong.extend(rows.iter().map(|(name, uses)| format!("    (\"{name}\", &{uses:?}),\n")));
        }
    }
    assert!(wrong.is_empty(), "what is used, in place of what the tables say:{wrong}");
    assert!(count > 50, "the walk found only {count} uses");
}

/// No module of a crate leads back to itself, but for the edges that are known to.
#[test]
fn modules_do_not_use_each_other() {
    for rule in CRATES {
        let modules = rule.modules.unwrap_or_default();
        let all: Edges<'_> = modules
            .iter()
            .flat_map(|(name, uses)| uses.iter().map(|used| (*name, *used)))
            .collect();
        let back: Edges<'_> = BACK_EDGES
            .iter()
            .filter(|(of, ..)| *of == rule.name)
            .map(|(_, a, b)| (*a, *b))
            .collect();
        assert!(back.is_subset(&all), "{}: {back:?} are not all in use", rule.name);
        assert_eq!(cycle(&(&all - &back)), None, "modules of {} that use each other", rule.name);
        for edge in &back {
            let without: Edges<'_> = back.iter().copied().filter(|other| other != edge).collect();
            assert!(
                cycle(&(&all - &without)).is_some(),
                "{}: {edge:?} leads back no more",
                rule.name
            );
        }
    }
}

/// An inherent impl stands where its type is defined, or in a submodule of that place.
#[test]
fn inherent_impls_stand_with_their_types() {
    let mut stray = BTreeSet::new();
    for found in crates() {
        let production = || found.files.iter().filter(|file| !file.is_test);
        for file in production() {
            for name in file.source.inherent_impls() {
                let inside = |other: &File| {
                    file.module.starts_with(&other.module) && other.source.types().contains(&name)
                };
                if !production().any(inside) {
                    stray.insert((found.name.clone(), name));
                }
            }
        }
    }
    check_exceptions("types with an inherent impl outside their module", &stray, STRAY_IMPLS);
}

#[test]
fn no_type_name_occurs_twice_in_a_crate() {
    let (mut count, mut repeated) = (0, BTreeSet::new());
    for found in crates() {
        let mut seen = BTreeSet::new();
        let types =
            found.files.iter().filter(|file| !file.is_test).flat_map(|file| file.source.types());
        repeated.extend(
            types.filter(|name| !seen.insert(name.clone())).map(|name| (found.name.clone(), name)),
        );
        count += seen.len();
    }
    assert!(count > 500, "the walk found only {count} types");
    check_exceptions("type names that occur twice", &repeated, REPEATED_TYPES);
}

/// Comments name their actors, but in the folders that have not been gone through yet.
#[test]
fn comments_name_their_actors() {
    let (mut found, mut still) = (Vec::new(), BTreeSet::new());
    for (path, text) in texts() {
        let folder = WORDY_FOLDERS.iter().find(|folder| path.starts_with(folder));
        for (line, comment) in source::Source::parse(&text).comments {
            let comment = comment.to_lowercase();
            let Some(word) = BANNED.iter().find(|word| comment.contains(*word)) else {
                continue;
            };
            match folder {
                Some(folder) => drop(still.insert(*folder)),
                None => found.push(format!("{}:{line}: {word}", path.display())),
            }
        }
    }
    assert!(found.is_empty(), "words that hide who acts:\n{}", found.join("\n"));
    assert_eq!(
        still,
        WORDY_FOLDERS.iter().copied().collect(),
        "folders that are clean leave the list"
    );
}

fn rule(of: &Crate) -> &'static CrateRule {
    CRATES
        .iter()
        .find(|rule| rule.name == of.name)
        .unwrap_or_else(|| panic!("the crate {} is not in the table", of.name))
}

/// What each module of a crate uses of the others.
fn module_uses(of: &Crate) -> BTreeMap<String, BTreeSet<String>> {
    let (modules, passed_on) = (of.modules(), of.passed_on());
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &of.files {
        let Some(module) = file.module.first() else {
            continue;
        };
        let uses = file.source.uses(file.module.len()).into_iter();
        // What the root defines itself belongs to no module.
        let uses = uses.map(|name| passed_on.get(&name).cloned().unwrap_or(name));
        let others = uses.filter(|name| name != module && modules.contains(name.as_str()));
        all.entry(module.clone()).or_default().extend(others);
    }
    all
}

/// A way from a node back to itself.
fn cycle(edges: &Edges<'_>) -> Option<Vec<String>> {
    let mut left: BTreeSet<&str> = edges.iter().flat_map(|(from, to)| [*from, *to]).collect();
    // A node that leads to no other one that is left is on no cycle.
    while let Some(end) =
        left.iter().copied().find(|node| !edges.iter().any(|(a, b)| a == node && left.contains(b)))
    {
        left.remove(end);
    }
    let mut way = vec![*left.first()?];
    loop {
        let last = way[way.len() - 1];
        let (_, next) = edges
            .iter()
            .find(|(a, b)| *a == last && left.contains(b))
            .expect("what is left leads on");
        if let Some(begin) = way.iter().position(|node| node == next) {
            return Some(way[begin..].iter().map(|node| (*node).to_owned()).collect());
        }
        way.push(next);
    }
}

/// What breaks a rule is exactly what is listed.
fn check_exceptions(what: &str, found: &BTreeSet<(String, String)>, listed: &[(&str, &str)]) {
    let listed: BTreeSet<(String, String)> =
        listed.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let (new, gone): (Vec<_>, Vec<_>) =
        (found.difference(&listed).collect(), listed.difference(found).collect());
    assert!(new.is_empty(), "{what}: {new:?}");
    assert!(gone.is_empty(), "{what}: these are none any more and leave the list: {gone:?}");
}

#[test]
fn cycles_are_found() {
    let check = |edges: &[(&str, &str)], expect: Option<&[&str]>| {
        let found = cycle(&edges.iter().copied().collect());
        assert_eq!(
            found,
            expect.map(|way| way.iter().map(|node| (*node).to_owned()).collect()),
            "{edges:?}"
        );
    };
    check(&[], None);
    check(&[("a", "b"), ("a", "c"), ("b", "c")], None);
    check(&[("a", "b"), ("b", "c"), ("c", "b")], Some(&["b", "c"]));
    check(&[("a", "a")], Some(&["a"]));
}

#[test]
fn the_api_never_sees_raft() {
    for (path, text) in texts() {
        if path.starts_with("api") || path.starts_with(Path::new("raft/store")) {
            assert!(!text.contains("quorate_raft"), "{} uses the raft crate", path.display());
        }
    }
}
