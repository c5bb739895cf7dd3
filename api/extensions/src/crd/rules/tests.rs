//! Definitions with rules, and objects that they are asked about.

use std::collections::HashSet;

use quorate_meta::{Path, Value};
use quorate_registry::Findings;
use serde_json::{Value as Json, json};

use super::{check, written};
use crate::crd::testing;

/// A schema of objects with these properties.
fn object(properties: Json) -> Json {
    json!({"type": "object", "properties": properties})
}

/// `schema` with rules.
fn ruled(mut schema: Json, rules: Json) -> Json {
    schema["x-svc-validations"] = rules;
    schema
}

fn rule(text: &str) -> Json {
    json!([{"rule": text}])
}

/// What is told of a definition with this schema.
fn told(schema: Json) -> Vec<String> {
    let version = testing::version(schema);
    let compiled = version.compiled();
    assert_eq!(compiled.problems(), &[]);
    let schema = version.schema().expect("a schema").parse();
    let stored = written::Stored { expressions: &HashSet::new(), is_same_schema: false };
    let causes = written::check(compiled.structural(), &schema, &Path::new("schema"), stored);
    causes.iter().map(quorate_meta::Cause::text).collect()
}

/// What is told of an object, and of its change.
fn found(schema: &Json, old: Option<Json>, new: Json) -> Findings {
    let compiled = testing::version(schema.clone()).compiled();
    assert_eq!(compiled.problems(), &[]);
    let old = old.map(Value::from);
    check(compiled.rules(), compiled.structural(), &new.into(), old.as_ref())
}

fn causes(found: &Findings) -> Vec<String> {
    found.causes.iter().map(quorate_meta::Cause::text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn long_rules_find_what_short_ones_do() {
    const MANY: i64 = 200;
    let list = json!({"type": "array", "maxItems": MANY, "items": {"type": "integer"}});
    let every = ruled(list, rule("self.all(a, self.all(b, a + b >= 0))"));
    let properties = |count: usize| (0..count).map(|n| (format!("p{n}"), every.clone())).collect();
    let told = |lists: usize, first: i64, end: i64| {
        let spec = object(Json::Object(properties(lists)));
        let value = json!((first..end).collect::<Vec<_>>());
        let values = (0..lists).map(|n| (format!("p{n}"), value.clone()));
        let new = json!({"spec": Json::Object(values.collect())});
        causes(&found(&object(json!({"spec": spec})), None, new))
    };
    let check = |lists: usize, first: i64, end: i64, expect: &[&str]| {
        let found = told(lists, first, end);
        let fields = found.iter().map(|text| text.split(": ").next().unwrap_or_default());
        assert_eq!(fields.collect::<Vec<_>>(), expect, "{lists} {first} {end}");
    };
    check(1, 0, 3, &[]);
    check(1, -1, 3, &["spec.p0"]);
    check(1, 0, MANY, &[]);
    check(1, -MANY, 0, &["spec.p0"]);
    check(8, 0, MANY, &[]);
    // All together are over the budget of an object, and the rules end there.
    let over = told(100, 0, MANY);
    assert_eq!(over.len(), 1);
    assert!(over[0].contains("running out of cost budget"), "{over:?}");
}

#[test]
fn written_rules_compile() {
    let check = |rules: Json, expect: &[&str]| {
        let spec = ruled(object(json!({"n": {"type": "integer"}})), rules);
        let found = told(object(json!({"spec": spec})));
        let at = "schema.properties[spec].x-svc-validations[0].";
        let expect: Vec<String> = expect.iter().map(|text| format!("{at}{text}")).collect();
        assert_eq!(found, expect);
    };
    check(json!([{"rule": "self.n > 1", "messageExpression": "'n is %d'.format([self.n])"}]), &[]);
    check(
        json!([{"rule": "self.n"}]),
        &[
            r#"rule: Invalid value: {"Rule":"self.n","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool"#,
        ],
    );
    check(
        json!([{"rule": "self.m > 1", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".n", "optionalOldSelf": true}]),
        &[
            "rule: Invalid value: {\"Rule\":\"self.m > 1\",\"Message\":\"m\",\"MessageExpression\":\"\",\"Reason\":\"FieldValueForbidden\",\"FieldPath\":\".n\",\"OptionalOldSelf\":true}: compilation failed: ERROR: <input>:1:5: undefined field 'm'\n | self.m > 1\n | ....^",
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ],
    );
    check(
        json!([{"rule": "true", "messageExpression": "1"}]),
        &[
            r#"messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"1","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string"#,
        ],
    );
    check(json!([{"rule": "self.n >= oldSelf.n"}]), &[]);
    check(json!([{"rule": "self.n >= oldSelf.?n.orValue(0)", "optionalOldSelf": true}]), &[]);
}

#[test]
fn old_values_are_known_where_values_can_be_told_apart() {
    let check = |schema: Json, expect: Option<(&str, &str)>| {
        let expect: Vec<String> = expect
            .map(|(at, within)| format!("schema.properties[a]{at}.x-svc-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[a]{within}"))
            .into_iter()
            .collect();
        assert_eq!(told(object(json!({"a": schema}))), expect);
    };
    let fixed = |schema: Json| ruled(schema, rule("self == oldSelf"));
    let text = || json!({"type": "string", "maxLength": 9});
    let list = |kind: &str, items: Json| json!({"type": "array", "maxItems": 9, "x-svc-list-type": kind, "items": items});
    let mut keyed = list("map", fixed(object(json!({"k": text()}))));
    keyed["x-svc-list-map-keys"] = json!(["k"]);
    keyed["items"]["required"] = json!(["k"]);
    check(keyed, None);
    check(list("atomic", fixed(text())), Some((".items", "")));
    check(list("set", fixed(text())), Some((".items", "")));
    let nested = list("atomic", list("atomic", fixed(text())));
    check(nested, Some((".items.items", "")));
    let mut whole = object(json!({"b": fixed(text())}));
    check(whole.clone(), None);
    whole["x-svc-map-type"] = json!("atomic");
    check(whole, Some((".properties[b]", "")));
}

#[test]
fn rules_cost_what_they_may() {
    let fields = |schema: Json| {
        let field = |text: &String| text.split(": ").next().unwrap_or_default().to_owned();
        told(object(json!({"a": schema}))).iter().map(field).collect::<Vec<_>>()
    };
    let list = |limit: Option<u64>, items: Json| {
        let mut list = json!({"type": "array", "items": items});
        if let Some(limit) = limit {
            list["maxItems"] = json!(limit);
        }
        list
    };
    let number = || json!({"type": "integer"});
    let once = || rule("self.all(x, x > 0)");
    let twice = || rule("self.all(x, self.all(y, x > y))");
    let own = "schema.properties[a].x-svc-validations[0].rule";
    assert_eq!(fields(ruled(list(None, number()), once())), [""; 0]);
    assert_eq!(fields(ruled(list(Some(100), number()), twice())), [""; 0]);
    assert_eq!(fields(ruled(list(None, number()), twice())), [own, own, "schema"]);
}

#[test]
fn defaults_fulfil_the_rules() {
    let field =
        |default: u64| ruled(json!({"type": "integer", "default": default}), rule("self < 5"));
    assert_eq!(told(object(json!({"a": field(3)}))), [""; 0]);
    let refused = "schema.properties[a].default: Invalid value: 7: failed rule: self < 5";
    assert_eq!(told(object(json!({"a": field(7)}))), [refused]);
}

#[test]
fn objects_fulfil_the_rules() {
    let spec = ruled(
        object(json!({
            "n": ruled(json!({"type": "integer"}), json!([{"rule": "self < 9", "message": "n is small"}])),
            "l": {"type": "array", "items": ruled(json!({"type": "string"}), rule("self != 'bad'"))},
            "m": {"type": "object", "additionalProperties": ruled(json!({"type": "integer"}), rule("self > 0"))}})),
        json!([{"rule": "!has(self.n) || self.n != 7", "reason": "FieldValueForbidden", "fieldPath": ".n", "message": "not seven"}]),
    );
    let schema = ruled(object(json!({"spec": spec})), rule("self.metadata.name != 'x'"));
    let check = |spec: Json, expect: &[&str]| {
        let found = found(&schema, None, json!({"metadata": {"name": "a"}, "spec": spec}));
        assert_eq!(causes(&found), expect);
    };
    check(json!({"n": 1, "l": ["a"], "m": {"k": 1}}), &[]);
    check(json!({"n": 9}), &["spec.n: Invalid value: 9: n is small"]);
    check(json!({"n": 7}), &["spec.n: Forbidden: not seven"]);
    check(
        json!({"l": ["a", "bad"]}),
        &["spec.l[1]: Invalid value: \"bad\": failed rule: self != 'bad'"],
    );
    check(json!({"m": {"k y": 0}}), &["spec.m[k y]: Invalid value: 0: failed rule: self > 0"]);
    check(json!({"n": null}), &[]);
    let whole = found(&schema, None, json!({"metadata": {"name": "x"}}));
    assert_eq!(causes(&whole), ["<nil>: Invalid value: failed rule: self.metadata.name != 'x'"]);
}

#[test]
fn errors_of_rules_name_the_type() {
    let check = |text: &str, expect: &str| {
        let fields = json!({"i": {"type": "integer"}, "l": {"type": "array", "items": {"type": "integer"}}, "s": {"x-svc-int-or-string": true}});
        let schema = object(json!({"spec": ruled(object(fields), rule(text))}));
        let found = found(&schema, None, json!({"spec": {"i": 1, "l": [1], "s": "a"}}));
        assert_eq!(causes(&found), [expect], "{text}");
    };
    check(
        "self.i / (self.i - 1) == 1",
        "spec: Invalid value: \"object\": division by zero evaluating rule: self.i / (self.i - 1) == 1",
    );
    check(
        "self.l[3] == 1",
        "spec: Invalid value: \"object\": index out of bounds: 3 evaluating rule: self.l[3] == 1",
    );
    check(
        "self.s + 1 == 2",
        "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.s + 1 == 2",
    );
}

#[test]
fn transitions_are_checked_where_there_was_a_value() {
    let grows = ruled(json!({"type": "integer"}), rule("self >= oldSelf"));
    let first = json!([{"rule": "oldSelf.hasValue() || self < 3", "optionalOldSelf": true}]);
    let mut keyed = json!({"type": "array", "x-svc-list-type": "map", "x-svc-list-map-keys": ["k"],
        "items": object(json!({"k": {"type": "string"}, "v": grows}))});
    keyed["items"]["required"] = json!(["k"]);
    let schema = object(json!({"spec": object(json!({
        "n": grows, "l": keyed, "o": ruled(json!({"type": "integer"}), first)}))}));
    let check = |old: Option<Json>, new: Json, expect: &[&str]| {
        let old = old.map(|spec| json!({"spec": spec}));
        assert_eq!(causes(&found(&schema, old, json!({"spec": new}))), expect);
    };
    check(None, json!({"n": 1}), &[]);
    check(Some(json!({})), json!({"n": 1}), &[]);
    check(Some(json!({"n": 1})), json!({"n": 2}), &[]);
    check(
        Some(json!({"n": 2})),
        json!({"n": 1}),
        &["spec.n: Invalid value: 1: failed rule: self >= oldSelf"],
    );
    let shrinks = "spec.l[1].v: Invalid value: 1: failed rule: self >= oldSelf";
    check(
        Some(json!({"l": [{"k": "a", "v": 2}]})),
        json!({"l": [{"k": "b", "v": 1}, {"k": "a", "v": 1}]}),
        &[shrinks],
    );
    let large = "spec.o: Invalid value: 5: failed rule: oldSelf.hasValue() || self < 3";
    check(None, json!({"o": 2}), &[]);
    check(None, json!({"o": 5}), &[large]);
    check(Some(json!({})), json!({"o": 5}), &[large]);
    check(Some(json!({"o": 1})), json!({"o": 5}), &[]);
}

#[test]
fn what_stays_as_it_was_is_a_warning() {
    let small = ruled(json!({"type": "integer"}), rule("self < 3"));
    let open = ruled(
        json!({"type": "object", "x-svc-preserve-unknown-fields": true}),
        json!([{"rule": "false", "message": "never"}]),
    );
    let schema = object(json!({"spec": object(json!({
        "a": small, "b": {"type": "integer"}, "p": open, "l": {"type": "array", "items": small},
        "m": {"type": "object", "x-svc-map-type": "atomic", "properties": {"x": small, "y": {"type": "integer"}}}}))}));
    let check = |old: Json, new: Json, refused: &[&str], warned: &[&str]| {
        let found = found(&schema, Some(json!({"spec": old})), json!({"spec": new}));
        assert_eq!(causes(&found), refused);
        assert_eq!(found.warnings, warned);
    };
    let told = "spec.a: Invalid value: 5: failed rule: self < 3";
    check(json!({"a": 5}), json!({"a": 5, "b": 1}), &[], &[told]);
    check(json!({"a": 4}), json!({"a": 5}), &[told], &[]);
    let item = "spec.l[0]: Invalid value: 5: failed rule: self < 3";
    check(json!({"l": [5]}), json!({"l": [5], "b": 1}), &[], &[item]);
    check(json!({"l": [5]}), json!({"l": [5, 1]}), &[item], &[]);
    let own = "spec.p: Invalid value: never";
    check(json!({"p": {}}), json!({"p": {}, "b": 1}), &[], &[own]);
    // Fields without a schema cannot be told to be the same.
    check(json!({"p": {"z": 1}}), json!({"p": {"z": 1}, "b": 1}), &[own], &[]);
    let entry = "spec.m.x: Invalid value: 5: failed rule: self < 3";
    check(json!({"m": {"x": 5}}), json!({"m": {"x": 5, "y": 1}}), &[], &[entry]);
}

#[test]
fn a_change_of_a_rule_to_its_limits_ends_the_check() {
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let slow = "self.l.all(x, self.l.all(y, x + y > 0))";
    let schema = object(json!({
        "a": ruled(object(json!({"l": numbers})), rule(slow)),
        "b": ruled(json!({"type": "integer"}), rule("self < 3"))}));
    let object = json!({"a": {"l": vec![1; 1_000]}, "b": 5});
    let told = format!(
        "a: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {slow}"
    );
    assert_eq!(causes(&found(&schema, None, object)), [told]);
}
