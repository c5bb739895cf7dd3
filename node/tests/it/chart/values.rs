//! The values of the chart: each is in the schema, in `values.yaml` and in what is rendered, and says there
//! what it should; the schema takes nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::rows::ROWS;
use super::{check_schemas, workspace};
use crate::support::{Cluster, Helm};

/// Of helm itself.
const OF_HELM: &str = "global";

#[test]
fn each_value_is_rendered() {
    let cluster = Cluster::start(1, &[]);
    let Some(helm) = Helm::find(&cluster.root()) else { return };
    let chart = workspace().join("deploy/helm/quorate");
    let render = |base: &str, set: &str| {
        helm.run(&["template", "q", chart.to_str().unwrap(), "--set", base, "--set", set])
    };
    let mut without: BTreeMap<&str, String> = BTreeMap::new();
    let mut all = String::new();
    for (value, base, set, expect) in ROWS {
        assert!(set.starts_with(value), "{set} sets {value}");
        let before = without.entry(base).or_insert_with(|| render(base, ""));
        let after = render(base, set);
        let (is_there, text) = match expect.strip_prefix('!') {
            Some(text) => (false, text),
            None => (true, *expect),
        };
        assert_eq!(before.contains(text), !is_there, "without {set}: {text}\n{before}");
        assert_eq!(after.contains(text), is_there, "with {set}: {text}\n{after}");
        all.push_str(&after);
    }
    let file = cluster.spare("rows");
    fs::write(&file, all).unwrap();
    check_schemas("each value", file.to_str().unwrap());
}

#[test]
fn each_value_has_a_row_a_default_and_a_rule() {
    let read = |name: &str| {
        let path = workspace().join("deploy/helm/quorate").join(name);
        fs::read_to_string(path).unwrap()
    };
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let values: Value = serde_saphyr::from_str(&read("values.yaml")).unwrap();
    let mut rules = BTreeSet::new();
    leaves(&schema, &schema, "", &mut rules);
    assert!(rules.remove(OF_HELM));
    let rows: BTreeSet<String> = ROWS.iter().map(|(value, ..)| (*value).to_owned()).collect();
    assert_eq!(rows, rules, "rows, rules");
    let mut defaults = BTreeSet::new();
    given(&schema, &schema, &values, "", &mut defaults);
    let bare: BTreeSet<_> = rules.difference(&defaults).collect();
    // What a probe may have besides is the default of Kubernetes.
    let is_of_probe = |value: &str| value.starts_with("probes.") && value.ends_with("Seconds");
    assert!(bare.iter().all(|value| is_of_probe(value)), "without a default: {bare:?}");
}

#[test]
fn the_store_fits_into_the_memory() {
    let path = workspace().join("deploy/helm/quorate/values.yaml");
    let values: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let gib = |value: &Value, unit: &str| -> u64 {
        value.as_str().and_then(|text| text.strip_suffix(unit)?.parse().ok()).unwrap()
    };
    let store = gib(&values["store"]["sizeLimit"], "GiB");
    for part in ["voters", "api"] {
        let memory = gib(&values[part]["resources"]["limits"]["memory"], "Gi");
        assert!(memory > 3 * store, "{part}: {memory} Gi for a store of {store}");
    }
}

/// A part of the schema, also where it is defined elsewhere.
fn resolve<'s>(schema: &'s Value, part: &'s Value) -> &'s Value {
    match part["$ref"].as_str() {
        Some(place) => schema.pointer(&place[1..]).unwrap_or_else(|| panic!("{place}")),
        None => part,
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The values that the schema knows. Where it names some, it refuses all others.
fn leaves(schema: &Value, part: &Value, path: &str, found: &mut BTreeSet<String>) {
    let part = resolve(schema, part);
    let Some(properties) = part["properties"].as_object() else {
        found.insert(path.to_owned());
        return;
    };
    assert_eq!(part["additionalProperties"], false, "{path}");
    for (name, part) in properties {
        leaves(schema, part, &below(path, name), found);
    }
}

/// The values that have a default.
fn given(schema: &Value, part: &Value, value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let Some(properties) = resolve(schema, part)["properties"].as_object() else {
        found.insert(path.to_owned());
        return;
    };
    for (name, value) in value.as_object().unwrap_or_else(|| panic!("{path}: {value}")) {
        let path = below(path, name);
        let part = properties.get(name).unwrap_or_else(|| panic!("the schema has no {path}"));
        given(schema, part, value, &path, found);
    }
}
