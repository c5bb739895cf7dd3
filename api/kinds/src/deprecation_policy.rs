//! The table of API versions, held against the deprecation policy: rules 3, 4a and 4b, and that
//! nothing released is forgotten.
//!
//! `released.txt` has the rows of the last release: group version, kind and releases.

use std::sync::Arc;

use quorate_meta::Naming;
use quorate_registry::features::Gates;
use quorate_registry::release::Release;
use quorate_registry::runtime_config::Stability;
use quorate_schema::Graph;

use crate::api_versions::{ApiVersion, read};
use crate::builtin;

const RELEASED: &str = include_str!("api_versions/released.txt");

/// How many minor releases a beta version goes on being served after it was deprecated, and may
/// take until it is.
const BETA_RELEASES: u16 = 3;
/// The release from which on beta versions end by themselves; those before it lived longer.
const BETAS_END: Release = Release::new(1, 22);

/// What breaks the policy.
fn breaches(rows: &[ApiVersion], released: &str) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        found.extend(row_breaches(row));
    }
    for line in released.lines() {
        let mut words = line.split(' ');
        let place = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let since: Option<Release> = words.next().and_then(|text| text.parse().ok());
        let (deprecated, removed): (Option<Release>, Option<Release>) = (
            words.next().and_then(|text| text.parse().ok()),
            words.next().and_then(|text| text.parse().ok()),
        );
        let own = |row: &&ApiVersion| {
            (format!("{}/{}", row.group, row.version).as_str(), row.kind) == place
        };
        let Some(row) = rows.iter().find(own) else {
            found.push(format!("{line}: no longer in the table"));
            continue;
        };
        if row.introduced != since {
            found.push(format!("{line}: introduced in another release"));
        }
        if deprecated.is_some() && row.deprecated > deprecated
            || removed.is_some() && row.removed < removed
        {
            found.push(format!("{line}: an announced release has changed"));
        }
    }
    found
}

fn row_breaches(row: &ApiVersion) -> Vec<String> {
    let (what, stability) =
        (format!("{}/{} {}", row.group, row.version, row.kind), Stability::of(row.version));
    let mut found = Vec::new();
    if let Some((group, version, kind)) = row.replacement
        && Stability::of(version) > stability
    {
        found.push(format!("{what}: {group}/{version} {kind} is less stable"));
    }
    match (stability, row.deprecated, row.removed) {
        (Stability::Ga, _, Some(_)) => found.push(format!("{what}: a GA version is removed")),
        (Stability::Beta, None, _) => found.push(format!("{what}: a beta version without an end")),
        (Stability::Beta, Some(deprecated), removed) if row.introduced >= Some(BETAS_END) => {
            let introduced = row.introduced.unwrap_or(deprecated);
            if deprecated.minors_since(introduced) > BETA_RELEASES {
                found.push(format!("{what}: deprecated too late"));
            }
            if removed.is_some_and(|removed| removed.minors_since(deprecated) < BETA_RELEASES) {
                found.push(format!("{what}: removed too soon"));
            }
        }
        _ => {}
    }
    if row.removed.is_some() && row.deprecated.is_none() {
        found.push(format!("{what}: removed and never deprecated"));
    }
    found
}

#[test]
fn the_table_keeps_the_policy() {
    // What a release before this one did.
    let known = ["apidiscovery/v2beta1 APIGroupDiscovery: deprecated too late"];
    let found = breaches(&ApiVersion::all(), RELEASED);
    let found: Vec<_> =
        found.iter().filter(|breach| !known.iter().any(|one| breach.starts_with(one))).collect();
    assert_eq!(found, [] as [&String; 0]);
}

#[test]
fn breaches_are_found() {
    let check = |row: &'static str, expect: &[&str]| {
        assert_eq!(breaches(&[read(row).unwrap()], ""), expect, "{row}");
    };
    check("a/v1 K ks | 1.30 1.33 | b/v1 K", &[]);
    check("a/v1 K ks | 1.30 1.33 | b/v1beta1 K", &["a/v1 K: b/v1beta1 K is less stable"]);
    check("a/v1 K ks | 1.30 1.33 1.40", &["a/v1 K: a GA version is removed"]);
    check("a/v1beta1 K ks | 1.30 1.33 1.36 | a/v1beta2 K", &[]);
    check(
        "a/v1beta1 K ks | 1.30 1.33 1.36 | a/v1alpha1 K",
        &["a/v1beta1 K: a/v1alpha1 K is less stable"],
    );
    check("a/v1beta1 K ks | 1.30 1.34 1.37", &["a/v1beta1 K: deprecated too late"]);
    check("a/v1beta1 K ks | 1.30 1.33 1.35", &["a/v1beta1 K: removed too soon"]);
    check("a/v1beta1 K ks | 1.30", &["a/v1beta1 K: a beta version without an end"]);
    check("a/v1alpha1 K ks | 1.30 1.31 1.31", &[]);
    check("a/v1alpha1 K ks | 1.30 - 1.31", &["a/v1alpha1 K: removed and never deprecated"]);
    let now = [read("a/v1 K ks | 1.30").unwrap(), read("a/v1beta1 K ks | 1.30 1.33 1.36").unwrap()];
    let before = "a/v1 K 1.29\na/v1beta1 K 1.30 1.33 1.38\nb/v1 L 1.1";
    let expect = [
        "a/v1 K 1.29: introduced in another release",
        "a/v1beta1 K 1.30 1.33 1.38: an announced release has changed",
        "b/v1 L 1.1: no longer in the table",
    ];
    assert_eq!(breaches(&now, before), expect);
}

/// Rule 4b: the release before this one reads what is stored, and has what clients prefer.
#[test]
fn the_release_before_reads_what_is_stored() {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let catalogue = builtin::catalogue_with(&graph, &Gates::default(), &"".parse().unwrap());
    let before = Release::new(Release::CURRENT.major, Release::CURRENT.minor - 1);
    let rows = ApiVersion::all();
    let names = graph.names();
    let introduced = |group: &str, version: &str, kind: &str| {
        let own = rows.iter().find(|row| {
            let full = if row.group == "core" { String::new() } else { names.group(row.group) };
            (full.as_str(), row.version, row.kind) == (group, version, kind)
        });
        own.and_then(|row| row.introduced)
    };
    let mut preferred = std::collections::BTreeSet::new();
    for resource in catalogue.iter() {
        let is_preferred = preferred.insert((resource.group.clone(), resource.plural.clone()));
        let places = [
            is_preferred.then_some((&resource.group, &resource.version)),
            resource.stored.then_some((&resource.storage_group, &resource.storage_version)),
        ];
        for (group, version) in places.into_iter().flatten() {
            // What has no row is older than the table.
            let since = introduced(group, version, &resource.kind);
            assert!(since <= Some(before), "{group}/{version} {}: {since:?}", resource.kind);
        }
    }
}
