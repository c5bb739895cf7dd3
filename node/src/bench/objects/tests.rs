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

fn custom(payload: &str) -> ObjectTemplate {
    let kind = CustomKind::new(DEFINITION, SAMPLE).expect("both are well formed");
    ObjectTemplate { kind: ObjectKind::Custom(Box::new(kind)), payload: payload.to_owned() }
}

#[test]
fn a_custom_object_is_the_sample_under_its_own_name() {
    let template = custom("abc");
    assert_eq!(
        template.object(17, 4, "w"),
        concat!(
            r#"{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w","labels":{"shard":"1"},"#,
            r#""annotations":{"bench/turn":"4","bench/payload":"cab"}},"spec":{"size":3}}"#
        )
    );
    assert_eq!(template.collection("n"), "/apis/example.org/v1/namespaces/n/widgets");
    let (path, _) = template.definition().expect("custom objects have one");
    assert_eq!(path, "/apis/apiextensions.svc.io/v1/customresourcedefinitions");
}

#[test]
fn config_maps_of_the_same_size_have_as_many_bytes() {
    for payload in ["", "abc"] {
        let custom = custom(payload);
        let config_maps = custom.config_map_of_same_size().expect("the sample is large enough");
        for number in [0, 1, 170] {
            let size = |template: &ObjectTemplate| template.object(number, 2, "name").len();
            assert_eq!(size(&config_maps), size(&custom), "{payload} {number}");
        }
    }
}

#[test]
fn files_that_make_no_objects_are_refused() {
    let check = |definition: &str, sample: &str, expect: &str| {
        let error = CustomKind::new(definition, sample).expect_err(expect);
        assert!(error.to_string().contains(expect), "{error}");
    };
    check("a: [", SAMPLE, "the definition");
    check(DEFINITION, "kind: Widget", "apiVersion is missing");
    check("spec: {scope: Cluster}", SAMPLE, "must be namespaced");
    check("spec: {scope: Namespaced}", SAMPLE, "apiVersion is missing");
}
