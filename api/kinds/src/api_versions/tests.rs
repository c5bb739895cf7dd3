//! Tests of the table of API versions.

use std::collections::BTreeMap;
use std::path::Path;

use quorate_meta::Naming;
use serde_json::Value as Json;

use super::*;

#[test]
fn what_is_deprecated_says_so_from_its_release_on() {
    let names = Naming::Svc.names();
    let check = |release: &str, place: (&str, &str, &str), expect: Option<&str>| {
        let all = ApiVersion::all();
        let row = all.iter().find(|row| (row.group, row.version, row.kind) == place).unwrap();
        let told = row.deprecation(names, release.parse().unwrap());
        assert_eq!(told.map(|told| told.warning).as_deref(), expect);
    };
    let endpoints = ("core", "v1", "Endpoints");
    check("1.32", endpoints, None);
    check(
        "1.35",
        endpoints,
        Some("v1 Endpoints is deprecated in v1.33+; use discovery.svc.io/v1 EndpointSlice"),
    );
    check(
        "1.35",
        ("core", "v1", "ComponentStatus"),
        Some("v1 ComponentStatus is deprecated in v1.19+"),
    );
    check("1.35", ("admissionregistration", "v1beta1", "MutatingAdmissionPolicy"), None);
    check(
        "1.37",
        ("admissionregistration", "v1beta1", "MutatingAdmissionPolicy"),
        Some(
            "admissionregistration.svc.io/v1beta1 MutatingAdmissionPolicy is deprecated in v1.37+, unavailable in v1.40+",
        ),
    );
}

/// Holds the table against the recorded facts about the release, where those are there.
#[test]
fn the_table_agrees_with_the_release() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/facts/api_lifecycle.json");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let facts: Json = serde_json::from_str(&text).unwrap();
    let names = Naming::Kubernetes.names();
    let mut expect = BTreeMap::new();
    for (path, fact) in facts["resources"].as_object().unwrap() {
        let (place, resource) = path.rsplit_once('/').unwrap();
        let kind = fact["kind"].as_str().unwrap();
        expect.insert((place.to_owned(), kind.to_owned()), (resource.to_owned(), fact));
    }
    for (place, fact) in facts["gone"].as_object().unwrap() {
        let (place, kind) = place.split_once(' ').unwrap();
        // Some that are gone are registered still, and never served.
        let place = (place.to_owned(), kind.to_owned());
        expect.entry(place).or_insert_with(|| ("-".to_owned(), fact));
    }
    let rows = ApiVersion::all();
    assert_eq!(rows.len(), expect.len());
    for row in rows {
        let group = names.group(row.group);
        let place = match row.group {
            "core" => row.version.to_owned(),
            _ => format!("{group}/{}", row.version),
        };
        let (resource, fact) = &expect[&(place.clone(), row.kind.to_owned())];
        assert_eq!(row.resource.unwrap_or("-"), resource, "{place} {}", row.kind);
        for (name, release) in [
            ("introduced", row.introduced),
            ("deprecated", row.deprecated),
            ("removed", row.removed),
        ] {
            let release = release.map(|release| release.to_string());
            assert_eq!(fact[name].as_str(), release.as_deref(), "{place} {}: {name}", row.kind);
        }
        let told = row.deprecation(names, Release::CURRENT).map(|told| told.warning);
        if row.resource.is_some() && fact["default"] != "never" {
            assert_eq!(fact["warning"].as_str(), told.as_deref(), "{place} {}", row.kind);
        }
    }
}
