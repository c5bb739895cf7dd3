//! Patches on real types, as in Kubernetes 1.35, and laws that hold for every patch.

use proptest::prelude::*;
use quorate_meta::Value;

use super::*;
use crate::testing::{graph, json, text, ty};

fn check(name: &str, object: &str, patch: &str, expect: &str) {
    let graph = graph();
    let mut object = json(object);
    let result = strategic(&graph, ty(&graph, name), &mut object, &json(patch));
    let found = result.map_or_else(|error| error.to_string(), |()| text(&object));
    assert_eq!(found, expect, "{patch}");
}

const POD: &str = "core/v1.PodSpec";
const TWO: &str = r#"{"containers":[{"env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}],"name":"a"},{"name":"b"}],"nodeSelector":{"disk":"none"}}"#;

#[test]
fn lists_are_merged_by_key() {
    check(
        POD,
        TWO,
        r#"{"containers":[{"name":"b","image":"i"}],"nodeSelector":null}"#,
        r#"{"containers":[{"env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}],"name":"a"},{"image":"i","name":"b"}]}"#,
    );
    let accounts = "core/v1.ServiceAccount";
    let patch = r#"{"secrets":[{"name":"s3"},{"name":"s1","namespace":"n"}],"imagePullSecrets":[{"name":"p2"}]}"#;
    let expect = r#"{"imagePullSecrets":[{"name":"p2"}],"secrets":[{"name":"s3"},{"name":"s1","namespace":"n"},{"name":"s2"}]}"#;
    check(
        accounts,
        r#"{"imagePullSecrets":[{"name":"p1"}],"secrets":[{"name":"s1"},{"name":"s2"}]}"#,
        patch,
        expect,
    );
    check(accounts, "{}", r#"{"secrets":[{"name":"s"}]}"#, r#"{"secrets":[{"name":"s"}]}"#);
    check(
        POD,
        TWO,
        r#"{"containers":[{"image":"x"}]}"#,
        "an element of a merged list does not have its merge key \"name\"",
    );
}

#[test]
fn delete_directive() {
    let env = |env: &str| {
        format!(
            r#"{{"containers":[{{"env":[{env}],"name":"a"}},{{"name":"b"}}],"nodeSelector":{{"disk":"none"}}}}"#
        )
    };
    check(
        POD,
        TWO,
        r#"{"containers":[{"name":"a","env":[{"name":"X","$patch":"delete"},{"name":"W","value":"0"}]}]}"#,
        &env(r#"{"name":"W","value":"0"},{"name":"Y","value":"2"}"#),
    );
    check(POD, TWO, r#"{"containers":[{"name":"none","$patch":"delete"}]}"#, TWO);
    check(
        POD,
        r#"{"nodeSelector":{"disk":"none"}}"#,
        r#"{"nodeSelector":{"$patch":"delete"}}"#,
        r#"{"nodeSelector":{}}"#,
    );
    check(
        POD,
        r#"{"containers":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"containers":[{"name":"b","$patch":"delete"}]}"#,
        r#"{"containers":[{"name":"a"}]}"#,
    );
}

#[test]
fn replace_directive() {
    check(
        POD,
        TWO,
        r#"{"containers":[{"name":"z"},{"$patch":"replace"}],"nodeSelector":{"$patch":"replace","a":"b"}}"#,
        r#"{"containers":[{"name":"z"}],"nodeSelector":{"a":"b"}}"#,
    );
    check(
        "meta/v1.ObjectMeta",
        "{}",
        r#"{"labels":{"$patch":"juggle"}}"#,
        "unknown $patch directive \"juggle\"",
    );
    check(
        POD,
        TWO,
        r#"{"containers":[{"name":"a","$patch":1}]}"#,
        "$patch is number instead of string",
    );
}

#[test]
fn scalar_lists_and_orders() {
    let meta = "meta/v1.ObjectMeta";
    check(
        meta,
        r#"{"finalizers":["a","b"]}"#,
        r#"{"finalizers":["c","a"]}"#,
        r#"{"finalizers":["c","a","b"]}"#,
    );
    check(
        meta,
        r#"{"finalizers":["c","a","b"]}"#,
        r#"{"$deleteFromPrimitiveList/finalizers":["b","none"]}"#,
        r#"{"finalizers":["c","a"]}"#,
    );
    check(
        meta,
        r#"{"finalizers":["c","a"]}"#,
        r#"{"$setElementOrder/finalizers":["a","c"]}"#,
        r#"{"finalizers":["a","c"]}"#,
    );
    check(meta, "{}", r#"{"$setElementOrder/finalizers":["a","c"]}"#, "{}");
    check(
        meta,
        r#"{"finalizers":["c"]}"#,
        r#"{"$setElementOrder/finalizers":["a"],"finalizers":["b"]}"#,
        "$setElementOrder does not name every element of the patched list",
    );
    check(
        meta,
        "{}",
        r#"{"$setElementOrder/finalizers":"x"}"#,
        "invalid patch format of setElementOrder list",
    );
    check(
        meta,
        "{}",
        r#"{"$deleteFromPrimitiveList/finalizers":"x"}"#,
        "invalid patch format of primitive list",
    );
    let ab = r#"{"containers":[{"name":"a"},{"name":"b"}]}"#;
    check(
        POD,
        ab,
        r#"{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}"#,
        r#"{"containers":[{"name":"b"},{"name":"a"}]}"#,
    );
    let patch = r#"{"$setElementOrder/containers":[{"name":"c"},{"name":"b"},{"name":"a"}],"containers":[{"name":"c","image":"i"}]}"#;
    check(POD, ab, patch, r#"{"containers":[{"image":"i","name":"c"},{"name":"b"},{"name":"a"}]}"#);
}

#[test]
fn what_kubectl_sends_to_swap_an_element() {
    let patch = r#"{"$setElementOrder/secrets":[{"name":"s2"}],"secrets":[{"name":"s2"},{"$patch":"delete","name":"s1"}]}"#;
    check(
        "core/v1.ServiceAccount",
        r#"{"secrets":[{"name":"s1"}]}"#,
        patch,
        r#"{"secrets":[{"name":"s2"}]}"#,
    );
}

#[test]
fn retain_keys() {
    let spec = "apps/v1.DeploymentSpec";
    let rolling = r#"{"strategy":{"rollingUpdate":{"maxSurge":1},"type":"RollingUpdate"}}"#;
    check(
        spec,
        rolling,
        r#"{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}"#,
        r#"{"strategy":{"type":"Recreate"}}"#,
    );
    check(
        spec,
        rolling,
        r#"{"strategy":{"$retainKeys":["x"],"type":"Recreate"}}"#,
        "invalid patch format of retainKeys",
    );
    check(
        spec,
        rolling,
        r#"{"strategy":{"$retainKeys":"x"}}"#,
        "invalid patch format of retainKeys",
    );
    check(
        spec,
        rolling,
        r#"{"strategy":{"$retainKeys":["type"],"type":"Recreate","rollingUpdate":null}}"#,
        r#"{"strategy":{"type":"Recreate"}}"#,
    );
}

#[test]
fn plain_values() {
    let map = "core/v1.ConfigMap";
    check(
        map,
        r#"{"data":{"k":"1"}}"#,
        r#"{"data":{"l":"2","none":null},"foo":1}"#,
        r#"{"data":{"k":"1","l":"2"},"foo":1}"#,
    );
    check(map, "{}", r#"{"data":{"none":null}}"#, r#"{"data":{}}"#);
    check(map, "{}", "[]", "a strategic merge patch is an object");
    check(
        POD,
        r#"{"tolerations":[{"key":"k"}]}"#,
        r#"{"tolerations":[{"key":"o"}]}"#,
        r#"{"tolerations":[{"key":"o"}]}"#,
    );
    let budget = r#"{"selector":{"matchLabels":{"a":"b"}}}"#;
    check(
        "policy/v1.PodDisruptionBudgetSpec",
        budget,
        r#"{"selector":{"matchLabels":{"c":"d"}}}"#,
        r#"{"selector":{"matchLabels":{"c":"d"}}}"#,
    );
}

fn account() -> impl Strategy<Value = Value> {
    let names = proptest::collection::btree_set("[a-e]", 0..4);
    let finalizers = proptest::collection::btree_set("[a-e]", 0..4);
    let labels = proptest::collection::btree_map("[a-c]", "[x-z]", 0..3);
    (names, finalizers, labels).prop_map(|(names, finalizers, labels)| {
        let secrets: Vec<Value> =
            names.into_iter().map(|name| Value::from([("name", name)])).collect();
        let finalizers: Vec<Value> = finalizers.into_iter().map(Value::from).collect();
        let labels = Value::Map(labels.into_iter().collect());
        let metadata = Value::from([("finalizers", Value::List(finalizers)), ("labels", labels)]);
        Value::from([("metadata", metadata), ("secrets", Value::List(secrets))])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_empty_patch_and_the_object_itself_change_nothing(object in account()) {
        let graph = graph();
        let ty = ty(&graph, "core/v1.ServiceAccount");
        for patch in [json("{}"), object.clone()] {
            let mut patched = object.clone();
            strategic(&graph, ty, &mut patched, &patch).expect("applies");
            prop_assert_eq!(&patched, &object);
        }
    }

    #[test]
    fn a_patch_applied_twice_is_applied_once(object in account(), patch in account()) {
        let graph = graph();
        let ty = ty(&graph, "core/v1.ServiceAccount");
        let mut once = object.clone();
        strategic(&graph, ty, &mut once, &patch).expect("applies");
        let mut twice = once.clone();
        strategic(&graph, ty, &mut twice, &patch).expect("applies");
        prop_assert_eq!(&twice, &once);
    }
}

#[test]
fn very_long_lists_and_maps_are_merged_in_one_pass() {
    const MANY: usize = 100_000;
    let all = |range: std::ops::Range<usize>, item: &dyn Fn(usize) -> String| {
        range.map(item).collect::<Vec<_>>().join(",")
    };
    let graph = graph();
    let length = |kind: &str, object: String, patch: String, path: &[&str]| {
        let mut object = json(&object);
        strategic(&graph, ty(&graph, kind), &mut object, &json(&patch)).expect("fits");
        match object.at(path) {
            Some(Value::List(items)) => items.len(),
            Some(Value::Map(map)) => map.len(),
            _ => 0,
        }
    };
    let text = |at: usize| format!("\"e.x/f{at}\"");
    let finalizers = |range| format!(r#"{{"metadata":{{"finalizers":[{}]}}}}"#, all(range, &text));
    let merged = |patch| {
        length("core/v1.ConfigMap", finalizers(0..MANY), patch, &["metadata", "finalizers"])
    };
    assert_eq!(merged(finalizers(MANY / 2..2 * MANY)), 2 * MANY);
    let gone = all(1..MANY, &text);
    assert_eq!(
        merged(format!(r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":[{gone}]}}}}"#)),
        1
    );
    let (order, added) = (all(0..2 * MANY, &text), all(MANY..2 * MANY, &text));
    let ordered = format!(
        r#"{{"metadata":{{"$setElementOrder/finalizers":[{order}],"finalizers":[{added}]}}}}"#
    );
    assert_eq!(merged(ordered), 2 * MANY);
    let volumes = |range, more: &str| {
        let volumes = all(range, &|at| format!(r#"{{"name":"v{at}"{more}}}"#));
        format!(r#"{{"spec":{{"volumes":[{volumes}]}}}}"#)
    };
    let merged = |patch| length("core/v1.Pod", volumes(0..MANY, ""), patch, &["spec", "volumes"]);
    assert_eq!(merged(volumes(MANY / 2..2 * MANY, r#","emptyDir":{}"#)), 2 * MANY);
    assert_eq!(merged(volumes(1..MANY, r#","$patch":"delete""#)), 1);
    let data =
        |range, entry: &dyn Fn(usize) -> String| format!(r#"{{"data":{{{}}}}}"#, all(range, entry));
    let merged = |patch| {
        length("core/v1.Pod", data(0..MANY, &|at| format!("\"k{at}\":\"v\"")), patch, &["data"])
    };
    let kept = all(0..MANY / 2, &|at| format!("\"k{at}\""));
    assert_eq!(merged(format!(r#"{{"data":{{"$retainKeys":[{kept}]}}}}"#)), MANY / 2);
    let lists = data(MANY..2 * MANY, &|at| format!(r#""$setElementOrder/k{at}":[],"k{at}":[]"#));
    let merged = length("core/v1.Pod", "{}".to_owned(), lists, &["data"]);
    assert_eq!(merged, MANY);
}
