//! Objects of both sorts, and their sizes beside each other.

use super::*;

const DEFINITION: &str = "apiVersion: apiextensions.svc.io/v1
kind: CustomResourceDefinition
spec: {group: example.org, scope: Namespaced, names: {plural: widgets}}
";
const SAMPLE: &str = "apiVersion: example.org/v1
kind: Widget
metadata: {name: sample}
spec: {size: 3}
";

fn template(kind: SampleKind, payload: usize, parts: u32) -> ObjectTemplate {
    ObjectTemplate { kind: ObjectKind::Sample(Box::new(kind)), seed: 1, payload, parts }
}

fn custom(payload: usize, parts: u32) -> ObjectTemplate {
    let kind = SampleKind::new(Some(DEFINITION), SAMPLE).expect("both are well formed");
    template(kind, payload, parts)
}

#[test]
fn a_custom_object_is_the_sample_under_its_own_name() {
    let check = |parts: u32, labels: &str| {
        let template = custom(0, parts);
        let expect = concat!(
            r#"{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w","labels":LABELS,"#,
            r#""annotations":{"bench/turn":"4","bench/payload":""}},"spec":{"size":3}}"#
        );
        assert_eq!(template.object(17, 4, "w"), expect.replace("LABELS", labels));
    };
    check(1, r#"{"shard":"1"}"#);
    check(10, r#"{"shard":"1","part":"7"}"#);
    let template = custom(0, 1);
    assert_eq!(template.collection("n"), "/apis/example.org/v1/namespaces/n/widgets");
    let (path, _) = template.definition().expect("custom objects have one");
    assert_eq!(path, "/apis/apiextensions.svc.io/v1/customresourcedefinitions");
}

#[test]
fn a_built_in_kind_needs_no_definition() {
    let check = |sample: &str, expect: &str| {
        let kind = SampleKind::new(None, sample).expect("the kind is known");
        assert_eq!(kind.definition, None);
        assert_eq!(template(kind, 0, 1).collection("n"), expect);
    };
    check("apiVersion: v1\nkind: Pod\n", "/api/v1/namespaces/n/pods");
    check("apiVersion: apps/v1\nkind: Deployment\n", "/apis/apps/v1/namespaces/n/deployments");
}

#[test]
fn each_config_map_has_as_many_bytes_and_a_payload_of_its_own() {
    for payload in [0, 3] {
        let config_maps = custom(payload, 1).config_map(25);
        let empty = custom(payload, 1).config_map(0).object(0, 0, "name").len();
        let all = [0, 1, 2].map(|number| config_maps.object(number, 0, "name"));
        assert!(all.iter().all(|object| object.len() == empty + 25), "{payload}");
        assert!(all[0] != all[1].replace(r#""shard":"1""#, r#""shard":"0""#), "{payload}");
        assert_eq!(config_maps.collection("n"), "/api/v1/namespaces/n/configmaps");
    }
}

#[test]
fn payloads_have_no_letter_in_common_but_by_chance() {
    let template = custom(1000, 1);
    let (first, second) = (template.payload(0), template.payload(1));
    let same = first.bytes().zip(second.bytes()).filter(|(first, second)| first == second).count();
    assert_eq!((first.len(), second.len(), template.payload(0) == first), (1000, 1000, true));
    assert!(same < 50, "{same} of 1000");
}

#[test]
fn few_objects_are_selected_by_a_field() {
    let check = |sample: &str, expect: &str| {
        let kind = SampleKind::new(None, sample).expect("the kind is known");
        let template = template(kind, 0, 10);
        assert_eq!(template.field_selector(17, "p"), expect);
        let object = template.object(17, 0, "p");
        assert_eq!(
            object.contains(r#""nodeName":"node-7""#),
            expect.contains("node-7"),
            "{object}"
        );
    };
    let pod = "apiVersion: v1\nkind: Pod\nspec: {nodeName: NODE}\n";
    check(&pod.replace("NODE", "node-$(part)"), "spec.nodeName%3Dnode-7");
    check(&pod.replace("NODE", "n"), "metadata.name%3Dp");
}

#[test]
fn a_stamp_is_a_patch_of_every_object() {
    assert_eq!(ObjectTemplate::stamp(7), r#"{"metadata":{"annotations":{"bench/turn":"7"}}}"#);
}

#[test]
fn files_that_make_no_objects_are_refused() {
    let check = |definition: Option<&str>, sample: &str, expect: &str| {
        let error = SampleKind::new(definition, sample).expect_err(expect);
        assert!(error.to_string().contains(expect), "{error}");
    };
    check(Some("a: ["), SAMPLE, "the definition");
    check(Some(DEFINITION), "kind: Widget", "apiVersion is missing");
    check(Some("spec: {scope: Cluster}"), SAMPLE, "must be namespaced");
    check(Some("spec: {scope: Namespaced}"), SAMPLE, "spec.names.plural is missing");
    check(None, SAMPLE, "no built-in kind");
    check(None, "apiVersion: v1\nkind: Node\n", "no built-in kind");
}
