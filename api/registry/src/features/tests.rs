//! Tests of feature gates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;

use super::*;

/// The gates that settings change, and what is said about them; or why they are refused.
type Expected<'e> = Result<(&'e [(&'e str, bool)], &'e [&'e str]), &'e str>;

#[track_caller]
fn check_at(release: &str, text: &str, expect: Expected<'_>) {
    let release = release.parse().unwrap();
    let default = GateSettings::default().resolve(release).unwrap().gates;
    let resolved = text.parse::<GateSettings>().and_then(|settings| settings.resolve(release));
    let got = resolved.map_err(|error| error.to_string()).map(|Resolved { gates, warnings }| {
        let changed = Feature::ALL.into_iter().filter(|one| gates.has(*one) != default.has(*one));
        (changed.map(|one| (one.name(), gates.has(one))).collect::<Vec<_>>(), warnings)
    });
    let expect = expect.map_err(str::to_owned).map(|(changed, warnings)| {
        (changed.to_vec(), warnings.iter().map(|text| (*text).to_owned()).collect())
    });
    assert_eq!(got, expect, "{text} at {release}");
}

#[track_caller]
fn check(text: &str, expect: Expected<'_>) {
    check_at("1.35", text, expect);
}

#[test]
fn settings_are_read_and_written() {
    check("", Ok((&[], &[])));
    check("ClusterTrustBundle=false, ", Ok((&[("ClusterTrustBundle", false)], &[])));
    check(
        "APIResponseCompression=f,kube:CBORServingAndStorage=T",
        Ok((&[("APIResponseCompression", false), ("CBORServingAndStorage", true)], &[])),
    );
    check("ClusterTrustBundle", Err("missing bool value for ClusterTrustBundle"));
    check(
        "ClusterTrustBundle=on",
        Err("invalid value of ClusterTrustBundle=on, err: must be true or false"),
    );
    check("Flying=true", Err("unrecognized feature gate: Flying"));
    check("other:ClusterTrustBundle=true", Err("component not registered: other"));
    let mut settings: GateSettings = "ClusterTrustBundle=false".parse().unwrap();
    settings.extend(&"ClusterTrustBundle=true,DRADeviceTaints=true".parse().unwrap());
    let text = "ClusterTrustBundle=false,ClusterTrustBundle=true,DRADeviceTaints=true";
    assert_eq!(settings.to_string(), text);
    // The later of two counts.
    check(text, Ok((&[("DRADeviceTaints", true)], &[])));
}

#[test]
fn gates_that_cannot_be_changed() {
    const LOCKED: &str =
        "cannot set feature gate AuthorizeWithSelectors to false, feature is locked to true";
    check("AuthorizeWithSelectors=false", Err(LOCKED));
    check(
        "AuthorizeWithSelectors=true",
        Ok((
            &[],
            &[
                "Setting GA feature gate AuthorizeWithSelectors=true. It will be removed in a future release.",
            ],
        )),
    );
    check(
        "WatchList=false",
        Err("cannot set feature gate WatchList to false: not implemented here, it is always true"),
    );
    check("WatchList=true", Ok((&[], &[])));
    // Removed in a release before.
    check("HPAContainerMetrics=true", Err("unrecognized feature gate: HPAContainerMetrics"));
    // No API server looks at it.
    check("KubeletInUserNamespace=true", Ok((&[], &[])));
    check(
        "APIListChunking=true",
        Ok((
            &[],
            &["Feature gate APIListChunking=true has no effect any more and will be removed."],
        )),
    );
    check(
        "APIListChunking=false",
        Err("cannot set feature gate APIListChunking to false, feature is locked to true"),
    );
    check(
        "StorageNamespaceIndex=true",
        Ok((
            &[],
            &[
                "Setting deprecated feature gate StorageNamespaceIndex=true. It will be removed in a future release.",
            ],
        )),
    );
}

#[test]
fn a_feature_needs_its_prerequisites() {
    check(
        "DeclarativeValidationTakeover=true",
        Ok((&[("DeclarativeValidationTakeover", true)], &[])),
    );
    check(
        "DeclarativeValidationTakeover=true,DeclarativeValidation=false",
        Err(
            "DeclarativeValidationTakeover is enabled, but depends on features that are disabled: [DeclarativeValidation]",
        ),
    );
}

#[test]
fn all_of_a_stage() {
    for (text, stage, on) in
        [("AllAlpha=true", Stage::Alpha, true), ("AllBeta=false", Stage::Beta, false)]
    {
        let resolved = text.parse::<GateSettings>().unwrap().resolve(Release::CURRENT).unwrap();
        let [warning] = &*resolved.warnings else { panic!("{:?}", resolved.warnings) };
        for gate in Gate::all() {
            let state = gate.at(Release::CURRENT).unwrap();
            if state.stage != stage {
                continue;
            }
            match gate.usage {
                Usage::Here(feature) => {
                    assert_eq!(resolved.gates.has(feature), on, "{}", gate.name)
                }
                Usage::Fixed => {
                    let named = warning.split([' ', ',']).any(|word| word == gate.name);
                    assert_eq!(named, state.default != on, "{}: {warning}", gate.name);
                }
                Usage::Unused => {}
            }
        }
    }
    let gates: Gates = "AllAlpha=true,DRADeviceTaints=false".parse().unwrap();
    assert!(!gates.has(Feature::DraDeviceTaints) && gates.has(Feature::DraConsumableCapacity));
}

#[test]
fn an_older_release_has_other_gates() {
    let warnings = |release: &str| {
        let settings = GateSettings::default();
        settings.resolve(release.parse().unwrap()).unwrap().warnings
    };
    assert_eq!(warnings("1.35"), [] as [&str; 0]);
    let [told] = &*warnings("1.34") else { panic!("one line about all gates") };
    assert!(told.starts_with("not emulated, as in 1.35: "), "{told}");
    let has = |release: &str, feature| {
        GateSettings::default().resolve(release.parse().unwrap()).unwrap().gates.has(feature)
    };
    assert!(!has("1.33", Feature::ListFromCacheSnapshot));
    assert!(has("1.34", Feature::ListFromCacheSnapshot));
    assert!(!has("1.32", Feature::DeclarativeValidation));
    let expect = Err(
        "cannot set feature gate DeclarativeValidation to true, feature is PreAlpha at emulated version 1.32",
    );
    check_at("1.32", "DeclarativeValidation=true", expect);
}

#[test]
fn help_lists_stage_and_default() {
    let help = help();
    for line in [
        "  DeclarativeValidation=true|false (BETA - default=true)\n",
        "  WatchList=true|false (BETA - default=true, not implemented here)\n",
        "  CBORServingAndStorage=true|false (ALPHA - default=false)\n",
        "  StorageNamespaceIndex=true|false (DEPRECATED - default=true, not implemented here)\n",
    ] {
        assert!(help.contains(line), "{line}");
    }
    assert!(!help.contains("AuthorizeWithSelectors="), "a stable feature");
}

#[test]
fn rows_are_in_order_and_consistent() {
    let gates = Gate::all();
    assert!(gates.is_sorted_by(|left, right| left.name < right.name));
    let here: BTreeSet<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    let named = gates.iter().filter(|gate| matches!(gate.usage, Usage::Here(_)));
    assert_eq!(named.map(|gate| gate.name).collect::<BTreeSet<_>>(), here);
    for (index, feature) in Feature::ALL.into_iter().enumerate() {
        assert_eq!(feature as usize, index, "{feature:?}");
    }
    for gate in &gates {
        assert!(gate.history.is_sorted_by(|left, right| left.since < right.since), "{}", gate.name);
        let now = gate.at(Release::CURRENT).unwrap();
        assert!(now.stage != Stage::Alpha || !now.default, "{}: alpha and on", gate.name);
        for needed in &gate.prerequisites {
            assert!(gates.iter().any(|other| other.name == *needed), "{}: {needed}", gate.name);
        }
    }
}

/// Holds the table against the recorded facts about the release, where those are there.
#[test]
fn the_table_agrees_with_the_release() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/facts/feature_gates.json");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let facts: Json = serde_json::from_str(&text).unwrap();
    let special = ["AllAlpha", "AllBeta"];
    let facts: BTreeMap<&str, &Json> = facts["gates"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, gate)| (name.as_str(), gate))
        .filter(|(name, _)| !special.contains(name))
        .collect();
    let gates = Gate::all();
    assert_eq!(
        gates.iter().map(|gate| gate.name).collect::<BTreeSet<_>>(),
        facts.keys().copied().collect()
    );
    for gate in gates {
        let fact = facts[gate.name];
        let states: Vec<Json> = gate.history.iter().map(as_fact).collect();
        assert_eq!(fact["specs"], Json::from(states), "{}", gate.name);
        let needs = Json::from(gate.prerequisites.clone());
        assert_eq!(
            fact.get("needs").cloned().unwrap_or(Json::Array(Vec::new())),
            needs,
            "{}",
            gate.name
        );
        if gate.usage != Usage::Unused {
            assert_eq!(fact["server"], true, "{}", gate.name);
        }
    }
}

fn as_fact(state: &GateState) -> Json {
    let mut fact = serde_json::json!({
        "version": state.since.to_string(), "stage": state.stage.to_string(), "default": state.default,
    });
    if state.locked {
        fact["lock"] = true.into();
    }
    fact
}

/// The gates of the last release: name, stage and since when.
const RELEASED: &str = include_str!("released.txt");

/// The gates that are gone and had to stay (rule 9), and those whose stage went back.
fn breaches(released: &str, now: &[Gate], release: Release) -> Vec<String> {
    let mut found = Vec::new();
    for line in released.lines() {
        let [name, stage, since] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let since: Release = since.parse().unwrap();
        let stays = match stage {
            // The feature stays and the gate works on for two releases; a dropped one for one.
            "ga" => Some(2),
            "deprecated" => Some(1),
            "alpha" => None,
            // A beta gate first becomes GA or deprecated.
            _ => Some(u16::MAX),
        };
        match now.iter().find(|gate| gate.name == name) {
            Some(gate) => {
                let history = &gate.history;
                if !history.iter().any(|state| {
                    state.since == since && state.stage.to_string().eq_ignore_ascii_case(stage)
                }) {
                    found.push(format!("{name}: its history has changed"));
                }
            }
            None if stays.is_some_and(|stays| release.minors_since(since) < stays) => {
                found.push(format!("{name}: removed too soon"));
            }
            None => {}
        }
    }
    found
}

#[test]
fn the_table_keeps_the_policy() {
    assert_eq!(breaches(RELEASED, &Gate::all(), Release::CURRENT), [] as [String; 0]);
}

#[test]
fn breaches_are_found() {
    let now = Gate::all();
    let check = |line: &str, release: (u16, u16), expect: &[&str]| {
        let release = Release::new(release.0, release.1);
        assert_eq!(breaches(line, &now, release), expect, "{line}");
    };
    check("WatchList beta 1.34", (1, 35), &[]);
    check("WatchList ga 1.34", (1, 35), &["WatchList: its history has changed"]);
    check("Gone ga 1.33", (1, 35), &[]);
    check("Gone ga 1.34", (1, 35), &["Gone: removed too soon"]);
    check("Gone deprecated 1.34", (1, 35), &[]);
    check("Gone deprecated 1.35", (1, 35), &["Gone: removed too soon"]);
    check("Gone beta 1.20", (1, 35), &["Gone: removed too soon"]);
    check("Gone alpha 1.35", (1, 35), &[]);
}
