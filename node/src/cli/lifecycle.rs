//! The life of each option: since when it exists, is deprecated and goes, read from
//! `options.table`; and the warnings about deprecated ones.
//!
//! Invariant: an option that is deprecated goes on working until it is removed.
//!
//! Not here: what options mean.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use quorate_registry::release::Release;

const TABLE: &str = include_str!("options.table");

/// An option of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OptionRow {
    /// Its name, without dashes.
    name: &'static str,
    audience: Audience,
    stability: OptionStability,
    /// The first release of this program that has it.
    since: Release,
    /// The first release that warns of its use.
    deprecated: Option<Release>,
    /// The first release without it.
    removed: Option<Release>,
    /// What to use in its place.
    replacement: Option<&'static str>,
}

/// Who gives an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Those who use a cluster.
    User,
    /// Those who run one.
    Admin,
}

/// How much users may rely on an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OptionStability {
    Alpha,
    Beta,
    Ga,
}

/// One warning for each deprecated option among these arguments.
pub(crate) fn deprecation_warnings(given: impl Iterator<Item = String>) -> Vec<String> {
    let given = given.filter_map(|argument| {
        let option = argument.strip_prefix("--")?;
        Some(option.split_once('=').map_or(option, |(name, _)| name).to_owned())
    });
    let given: BTreeSet<String> = given.collect();
    let used = |row: &OptionRow| row.deprecated.is_some() && given.contains(row.name);
    rows().into_iter().filter(used).map(|row| warning(&row)).collect()
}

fn warning(row: &OptionRow) -> String {
    let name = row.name;
    match row.replacement {
        Some(instead) => format!("Option --{name} has been deprecated, use --{instead} instead"),
        None => format!("Option --{name} has been deprecated"),
    }
}

fn rows() -> Vec<OptionRow> {
    let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| read(row).expect("every row of the table is well formed")).collect()
}

/// Reads `OPTION AUDIENCE STABILITY | RELEASES [| REPLACEMENT]`.
fn read(row: &'static str) -> Option<OptionRow> {
    let mut columns = row.split(" | ");
    let mut words = columns.next()?.split(' ');
    let name = words.next()?;
    let audience = match words.next()? {
        "user" => Audience::User,
        "admin" => Audience::Admin,
        _ => return None,
    };
    let stability = match words.next()? {
        "ga" => OptionStability::Ga,
        "beta" => OptionStability::Beta,
        "alpha" => OptionStability::Alpha,
        _ => return None,
    };
    let mut releases = columns.next()?.split(' ').map(str::parse);
    let mut release = || releases.next().map(Result::ok);
    let since = release()??;
    let (deprecated, removed) = (release().flatten(), release().flatten());
    Some(OptionRow {
        name,
        audience,
        stability,
        since,
        deprecated,
        removed,
        replacement: columns.next(),
    })
}
