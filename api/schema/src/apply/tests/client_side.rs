//! Applies of objects that were applied on the client side before, and of values in another text.

use quorate_meta::Value;

use super::{Object, data};
use crate::testing::text;

#[test]
fn kubectl_may_change_what_it_applied_on_the_client_side() {
    let annotation = r#"{\"data\":{\"k\":\"v\",\"l\":\"v\"},\"metadata\":{\"name\":\"a\"}}"#;
    let live = format!(
        r#"{{"metadata":{{"name":"a","annotations":{{"kubectl.kubernetes.io/last-applied-configuration":"{annotation}"}}}},"data":{{"k":"v","l":"drifted"}}}}"#
    );
    let mut object = Object::new("core/v1.ConfigMap");
    object.update("client", &live);
    object.conflicts("other", &data(r#""k":"w""#), &[r#""client" using v1 .data.k"#]);
    object.conflicts("kubectl", &data(r#""k":"w","l":"w""#), &[r#""client" using v1 .data.l"#]);
    object.apply("kubectl", &data(r#""k":"w""#)).has(&["data"], r#"{"k":"w","l":"drifted"}"#);
    object.has(
        &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
        &text(&Value::from("{\"data\":{\"k\":\"w\"},\"metadata\":{\"name\":\"a\"}}\n")),
    );
    object.apply("other", &data(r#""n":"v""#)).has(
        &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
        &text(&Value::from("{\"data\":{\"k\":\"w\"},\"metadata\":{\"name\":\"a\"}}\n")),
    );
}

#[test]
fn only_the_last_apply_of_the_same_object_is_migrated() {
    let check = |annotation: &str, expect: &[&str]| {
        let annotation = text(&Value::from(annotation));
        let live = format!(
            r#"{{"metadata":{{"name":"a","annotations":{{"kubectl.kubernetes.io/last-applied-configuration":{annotation}}}}},"data":{{"k":"v"}}}}"#
        );
        let mut object = Object::new("core/v1.ConfigMap");
        object.update("client", &live);
        let body =
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}"#;
        match expect {
            [] => drop(object.apply("kubectl", body)),
            conflicts => drop(object.conflicts("kubectl", body, conflicts)),
        }
    };
    let of = |head: &str| format!(r#"{{{head},"metadata":{{"name":"a"}},"data":{{"k":"v"}}}}"#);
    let same = r#""apiVersion":"v1","kind":"ConfigMap""#;
    check(&of(same), &[]);
    let conflict = &[r#""client" using v1 .data.k"#];
    // Odd, of another version or kind, with fields that there are not, or drifted.
    for odd in ["", "null", "[]", "{", "\"text\"", r#"{"data":{"k":"v"}}"#] {
        check(odd, conflict);
    }
    check(&of(r#""apiVersion":"v1beta1","kind":"ConfigMap""#), conflict);
    check(&of(r#""apiVersion":"v1","kind":"Secret""#), conflict);
    check(&of(&format!(r#"{same},"nope":1"#)), conflict);
    check(&of(&format!(r#"{same},"immutable":"yes""#)), conflict);
    check(&of(same).replace(r#""v"}"#, r#""u"}"#), conflict);
}

#[test]
fn the_same_quantity_in_another_text_is_another_value() {
    let limits = |cpu: &str| {
        format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","resources":{{"limits":{{"cpu":"{cpu}"}}}}}}]}}}}"#
        )
    };
    let field = r#".spec.containers[name="c"].resources.limits.cpu"#;
    let mut object = Object::new("core/v1.Pod");
    object.apply("a", &limits("500m"));
    object.apply("b", &limits("500m"));
    object.conflicts("b", &limits("0.5"), &[&format!(r#""a" {field}"#)]);
    object.force("b", &limits("0.5"));
    object.conflicts("a", &limits("1"), &[&format!(r#""b" {field}"#)]);
    // Without another manager it makes no difference.
    let mut object = Object::new("core/v1.Pod");
    object.apply("a", &limits("500m")).apply("a", &limits("0.5"));
}
