//! The types of the CEL mapping table, line by line, and the names of fields.

use super::*;
use crate::structural::cel_types::{
    CelField, CelFieldType, CelList, CelType, Declarations, escape, unescape,
};

/// The type of the property `a` of the spec, in short.
fn check(schema: &str, expect: &str) {
    let compiled = of_spec(&format!(r#"{{"a":{schema}}}"#));
    let spec = compiled.node(compiled.root()).property("spec").expect("a spec");
    let id = compiled.node(spec).property("a").expect("a property");
    let declarations = Declarations::new(&compiled);
    assert_eq!(short(&declarations, declarations.of(id)), expect, "{schema}");
}

fn short(declarations: &Declarations<'_>, ty: Option<CelType>) -> String {
    let inner = |id| short(declarations, declarations.of(id));
    let field = |field: CelField| match field.of {
        CelFieldType::Node(id) => format!("{}: {}", field.escaped, inner(id)),
        of => format!("{}: {of:?}", field.escaped),
    };
    match ty {
        None => "none".to_owned(),
        Some(CelType::Object(fields)) => {
            format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Some(CelType::Map { value, max_entries }) => {
            format!("map({}, {max_entries})", inner(value))
        }
        Some(CelType::List { element, kind, max_elements }) => {
            let kind = match kind {
                CelList::Plain => "list".to_owned(),
                CelList::Set => "set".to_owned(),
                CelList::Map(keys) => format!("map list by {}", keys.join("+")),
            };
            format!("{kind}({}, {max_elements})", inner(element))
        }
        Some(other) => format!("{other:?}"),
    }
}

#[test]
fn mapping_table() {
    check(r#"{"type":"object","properties":{"b":{"type":"boolean"}}}"#, "{b: Bool}");
    check(
        r#"{"type":"object","additionalProperties":{"type":"integer"},"maxProperties":3}"#,
        "map(Int, 3)",
    );
    check(r#"{"type":"object","additionalProperties":{"type":"integer"}}"#, "map(Int, 449389)");
    check(
        r#"{"type":"object","x-svc-embedded-type":true,"x-svc-preserve-unknown-fields":true}"#,
        "{apiVersion: Text, kind: Text, metadata: Metadata}",
    );
    check(
        r#"{"type":"object","x-svc-preserve-unknown-fields":true,"properties":{"n":{"type":"number"}}}"#,
        "{n: Double}",
    );
    check(r#"{"x-svc-preserve-unknown-fields":true}"#, "none");
    check(r#"{"x-svc-int-or-string":true}"#, "IntOrString(3145726)");
    check(r#"{"type":"array","items":{"type":"integer"},"maxItems":5}"#, "list(Int, 5)");
    check(r#"{"type":"array","items":{"type":"boolean"}}"#, "list(Bool, 629145)");
    check(r#"{"type":"array","items":{"x-svc-preserve-unknown-fields":true}}"#, "none");
    check(
        r#"{"type":"array","x-svc-list-type":"set","items":{"type":"integer"},"maxItems":5}"#,
        "set(Int, 5)",
    );
    check(
        r#"{"type":"array","x-svc-list-type":"map","x-svc-list-map-keys":["k"],"maxItems":5,
        "items":{"type":"object","required":["k"],"properties":{"k":{"type":"integer"}}}}"#,
        "map list by k({k: Int}, 5)",
    );
    check(r#"{"type":"number","format":"double"}"#, "Double");
    check(r#"{"type":"integer","format":"int32"}"#, "Int");
    check(r#"{"type":"string","maxLength":5}"#, "String(20)");
    check(r#"{"type":"string","enum":["a","bcd"]}"#, "String(3)");
    check(r#"{"type":"string"}"#, "String(3145726)");
    check(r#"{"type":"string","format":"byte","maxLength":5}"#, "Bytes(5)");
    check(r#"{"type":"string","format":"date"}"#, "Date(12)");
    check(r#"{"type":"string","format":"datetime"}"#, "Timestamp(32)");
    check(r#"{"type":"string","format":"date-time"}"#, "Timestamp(32)");
    check(r#"{"type":"string","format":"duration"}"#, "Duration(32)");
    check(
        r#"{"type":"object","properties":{"a.b":{"type":"integer"},"é":{"type":"integer"},"in":{"type":"integer"},"x":{"x-svc-preserve-unknown-fields":true}}}"#,
        "{a__dot__b: Int, __in__: Int}",
    );
}

#[test]
fn least_sizes_count_required_fields() {
    let compiled = of_spec(
        r#"{"a":{"type":"object","required":["bc","d"],"properties":{"bc":{"type":"boolean"},"d":{"type":"string","default":"x"},"e":{"type":"string"}}}}"#,
    );
    let spec = compiled.node(compiled.root()).property("spec").expect("a spec");
    let id = compiled.node(spec).property("a").expect("a property");
    assert_eq!(
        Declarations::new(&compiled).min_bytes(id),
        Some(2 + 2 + 4 + 4),
        "a field with a default counts nothing"
    );
}

#[test]
fn the_root_has_what_every_object_has() {
    let compiled = try_compile(&base(Naming::Svc), &json(r#"{"type":"object"}"#), false)
        .expect("a structural schema");
    let declarations = Declarations::new(&compiled);
    let found = short(&declarations, declarations.of(compiled.root()));
    assert_eq!(found, "{apiVersion: Text, kind: Text, metadata: Metadata}");
}

#[test]
fn names() {
    let check = |name: &str, expect: Option<&str>| {
        let escaped = escape(name);
        assert_eq!(escaped.as_deref(), expect, "{name}");
        if let Some(escaped) = escaped {
            assert_eq!(unescape(&escaped).as_deref(), Some(name), "{escaped}");
        }
    };
    check("a", Some("a"));
    check("a.b-c/d", Some("a__dot__b__dash__c__slash__d"));
    check("a__b", Some("a__underscores__b"));
    check("___", Some("__underscores___"));
    check("namespace", Some("__namespace__"));
    check(".a", Some("__dot__a"));
    check("1a", None);
    check("", None);
    check("é", None);
    check("a b", None);
    assert_eq!(unescape("a__nope__b"), None);
    assert_eq!(unescape("in"), None);
}
