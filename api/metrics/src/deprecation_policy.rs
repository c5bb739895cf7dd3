//! The table of metrics, held against the deprecation policy: rules 11a and 11b, and that nothing
//! released is forgotten.
//!
//! `released.txt` has the rows of the last release: name, type, level, labels and releases.

use quorate_registry::release::Release;

use crate::table::{MetricRow, MetricType, StabilityLevel, read};

const RELEASED: &str = include_str!("deprecation_policy/released.txt");

/// How many minor releases a metric is there before it may be removed.
fn lifetime(level: StabilityLevel) -> u16 {
    match level {
        StabilityLevel::Stable => 4,
        StabilityLevel::Beta => 2,
        _ => 0,
    }
}

/// What breaks the policy.
fn breaches(rows: &[MetricRow], released: &[MetricRow]) -> Vec<String> {
    let mut found: Vec<String> = rows.iter().flat_map(row_breaches).collect();
    for before in released {
        let name = before.name;
        let Some(row) = rows.iter().find(|row| row.name == name) else {
            found.push(format!("{name}: no longer in the table"));
            continue;
        };
        if row.level < before.level {
            found.push(format!("{name}: less stable than it was"));
        }
        if before.level >= StabilityLevel::Beta && row.metric_type != before.metric_type {
            found.push(format!("{name}: another type"));
        }
        let keeps = match before.level {
            StabilityLevel::Stable => row.labels == before.labels && row.buckets == before.buckets,
            StabilityLevel::Beta => before.labels.iter().all(|label| row.labels.contains(label)),
            _ => true,
        };
        if !keeps {
            found.push(format!("{name}: other labels or buckets"));
        }
        let is_later = |now: Option<Release>, then: Option<Release>| {
            then.is_some() && (now.is_none() || now > then)
        };
        if row.since != before.since || is_later(row.deprecated, before.deprecated) {
            found.push(format!("{name}: an announced release has changed"));
        }
    }
    found
}

fn row_breaches(row: &MetricRow) -> Vec<String> {
    let mut found = Vec::new();
    let mut wrong = |is_wrong: bool, what: &str| {
        found.extend(is_wrong.then(|| format!("{}: {what}", row.name)));
    };
    let hidden = row.hidden_from();
    wrong(row.removed.is_some() && hidden.is_none(), "removed and never deprecated");
    wrong(row.deprecated.is_some() && row.deprecated < row.since, "deprecated before it was there");
    if let (Some(removed), Some(hidden)) = (row.removed, hidden) {
        wrong(removed.minors_since(hidden) < 1, "removed before it was hidden for a release");
        let lived = row.since.map(|since| removed.minors_since(since));
        wrong(lived.is_some_and(|lived| lived < lifetime(row.level)), "removed too soon");
    }
    found
}

fn released() -> Vec<MetricRow> {
    RELEASED.lines().map(|row| read(row).expect("a row of the last release")).collect()
}

#[test]
fn the_table_keeps_the_policy() {
    assert_eq!(breaches(&MetricRow::all(), &released()), [] as [String; 0]);
}

/// What is announced is for this release or one before.
#[test]
fn no_row_is_of_a_release_to_come() {
    for row in MetricRow::all() {
        let now = Some(Release::CURRENT);
        assert!(row.since <= now && row.deprecated <= now, "{row:?}");
    }
}

#[test]
fn breaches_are_found() {
    let check = |row: &'static str, expect: &[&str]| {
        assert_eq!(breaches(&[read(row).unwrap()], &[]), expect, "{row}");
    };
    check("a gauge stable | - | - | 1.30 1.31 1.35 | A.", &[]);
    check("a gauge stable | - | - | - 1.31 1.35 | A.", &[]);
    check("a gauge stable | - | - | 1.30 - 1.35 | A.", &["a: removed and never deprecated"]);
    check(
        "a gauge stable | - | - | 1.30 1.31 1.34 | A.",
        &["a: removed before it was hidden for a release"],
    );
    check("a gauge beta | - | - | 1.30 1.31 1.33 | A.", &[]);
    check(
        "a gauge beta | - | - | 1.32 1.31 1.33 | A.",
        &["a: deprecated before it was there", "a: removed too soon"],
    );
    check("a gauge alpha | - | - | 1.31 1.31 1.32 | A.", &[]);
    let now = [
        "a counter stable | x y | - | - 1.35 | A.",
        "b counter alpha | - | - | - | B.",
        "c gauge beta | x | - | - | C.",
        "d histogram stable | - | 1 2 | - 1.34 | D.",
        "e counter alpha | - | - | - | E.",
    ];
    let before = [
        "a counter stable | x | - | - | A.",
        "b counter beta | - | - | - | B.",
        "c counter beta | x y | - | - | C.",
        "d histogram stable | - | 1 3 | - 1.33 | D.",
        "e gauge alpha | x | - | - | E.",
        "f counter alpha | - | - | - | F.",
    ];
    let read_all =
        |rows: &[&'static str]| rows.iter().map(|row| read(row).unwrap()).collect::<Vec<_>>();
    let expect = [
        "a: other labels or buckets",
        "b: less stable than it was",
        "c: another type",
        "c: other labels or buckets",
        "d: other labels or buckets",
        "d: an announced release has changed",
        "f: no longer in the table",
    ];
    assert_eq!(breaches(&read_all(&now), &read_all(&before)), expect);
    assert!(read_all(&now).iter().any(|row| row.metric_type == MetricType::Histogram));
}
