//! The shared engine on custom resources: unknown fields, null, defaults, metadata, ownership.

use super::*;
use crate::apply::Config;
use crate::fieldset::{compare, members};
use crate::testing::text;
use crate::{apply_defaults, decode};

/// Decodes and defaults an object with this `spec`; the unknown fields, and what is left of it.
fn settled(schema: &Structural, spec: &str) -> (Vec<String>, String) {
    let mut object = json(&format!(r#"{{"spec":{spec}}}"#));
    let unknown = decode(schema.graph(), schema.ty(), &mut object)
        .unwrap_or_else(|error| panic!("{spec}: {error}"));
    apply_defaults(schema.graph(), schema.ty(), &mut object);
    let once = object.clone();
    decode(schema.graph(), schema.ty(), &mut object).expect("a settled object");
    apply_defaults(schema.graph(), schema.ty(), &mut object);
    assert_eq!(object, once, "settling twice changes nothing");
    (unknown.paths, object.get("spec").map_or_else(|| "none".to_owned(), text))
}

#[test]
fn unknown_fields_are_pruned() {
    let schema = of_spec(
        r#"{"a":{"type":"string"},"o":{"type":"object","properties":{"b":{"type":"string"}}},"e":{"type":"object"},
        "l":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string"}}}},
        "m":{"type":"object","additionalProperties":{"type":"object","properties":{"d":{"type":"string"}}}},
        "open":{"type":"object","x-svc-preserve-unknown-fields":true,"properties":{"known":{"type":"object","properties":{"a":{"type":"string"}}}}},
        "any":{"x-svc-preserve-unknown-fields":true},"t":{"type":"object","additionalProperties":true}}"#,
    );
    let check = |spec: &str, unknown: &[&str], expect: &str| {
        assert_eq!(
            settled(&schema, spec),
            (unknown.iter().map(ToString::to_string).collect(), expect.to_owned())
        );
    };
    check(
        r#"{"a":"x","z":1,"o":{"b":"x","z":1},"e":{"z":1},"l":[{"c":"x","z":1},{}],"m":{"k":{"d":"x","z":1}}}"#,
        &["spec.e.z", "spec.l[0].z", "spec.m.k.z", "spec.o.z", "spec.z"],
        r#"{"a":"x","e":{},"l":[{"c":"x"},{}],"m":{"k":{"d":"x"}},"o":{"b":"x"}}"#,
    );
    check(
        r#"{"open":{"z":{"deep":[1,"x",null]},"known":{"a":"x","z":1}},"any":{"a":null},"t":{"a":1,"b":[{"c":1}]}}"#,
        &["spec.open.known.z", "spec.t.b[0].c"],
        r#"{"any":{"a":null},"open":{"known":{"a":"x"},"z":{"deep":[1,"x",null]}},"t":{"a":1,"b":[{}]}}"#,
    );
    for any in ["1", r#""x""#, r#"[1,{"a":2}]"#, "true", r#""""#, "[]", "{}", "0", "false"] {
        check(&format!(r#"{{"any":{any}}}"#), &[], &format!(r#"{{"any":{any}}}"#));
    }
}

#[test]
fn defaults_are_filled_in() {
    let schema = of_spec(
        r#"{"s":{"type":"string","default":"x"},"i":{"type":"integer","default":0},"l":{"type":"array","items":{"type":"string"},"default":["p"]},
        "deep":{"type":"object","default":{},"properties":{"in":{"type":"object","default":{},"properties":{"s":{"type":"string","default":"y"}}}}},
        "absent":{"type":"object","properties":{"s":{"type":"string","default":"z"}}},
        "items":{"type":"array","items":{"type":"object","properties":{"n":{"type":"string"},"k":{"type":"string","default":"kk"}}}},
        "map":{"type":"object","additionalProperties":{"type":"object","properties":{"k":{"type":"integer","default":7}}}},
        "plain":{"type":"object","properties":{"rows":{"type":"array","items":{"type":"array","items":
        {"type":"object","properties":{"k":{"type":"integer","default":8}}}}}}}}"#,
    );
    assert!(schema.has_defaults() && !schema.has_status_defaults());
    let check = |spec: &str, expect: &str| assert_eq!(settled(&schema, spec).1, expect);
    let all = r#"{"deep":{"in":{"s":"y"}},"i":0,"l":["p"],"s":"x"}"#;
    check("{}", all);
    check(r#"{"s":null,"i":null,"l":null}"#, all);
    check(r#"{"s":"","i":5,"l":[],"deep":{}}"#, r#"{"deep":{"in":{"s":"y"}},"i":5,"l":[],"s":""}"#);
    check(
        r#"{"absent":{}}"#,
        r#"{"absent":{"s":"z"},"deep":{"in":{"s":"y"}},"i":0,"l":["p"],"s":"x"}"#,
    );
    check(
        r#"{"plain":{"rows":[[],[{}]]}}"#,
        r#"{"deep":{"in":{"s":"y"}},"i":0,"l":["p"],"plain":{"rows":[[],[{"k":8}]]},"s":"x"}"#,
    );
    check(
        r#"{"items":[{"n":"a","k":null},{"k":"own"}],"map":{"a":{},"b":{"k":null}}}"#,
        r#"{"deep":{"in":{"s":"y"}},"i":0,"items":[{"k":"kk","n":"a"},{"k":"own"}],"l":["p"],"map":{"a":{"k":7},"b":{"k":7}},"s":"x"}"#,
    );
}

#[test]
fn null_is_kept_where_the_schema_allows_it() {
    let schema = of_spec(
        r#"{"a":{"type":"string","nullable":true,"default":"d"},"b":{"type":"string","nullable":true},"c":{"type":"string","default":"d"},
        "e":{"type":"string"},"l":{"type":"array","items":{"type":"string","nullable":true}},"m":{"type":"object","additionalProperties":{"type":"string"}},
        "p":{"x-svc-int-or-string":true}}"#,
    );
    let check = |spec: &str, expect: &str| assert_eq!(settled(&schema, spec).1, expect);
    check("{}", r#"{"a":"d","c":"d"}"#);
    check(r#"{"a":null}"#, r#"{"a":null,"c":"d"}"#);
    check(r#"{"b":null}"#, r#"{"a":"d","b":null,"c":"d"}"#);
    check(r#"{"c":null,"e":null,"p":null}"#, r#"{"a":"d","c":"d"}"#);
    check(r#"{"l":[null,"a"],"m":{"a":null}}"#, r#"{"a":"d","c":"d","l":[null,"a"],"m":{}}"#);
}

#[test]
fn metadata_has_its_type_everywhere() {
    let schema = of_spec(
        r#"{"r":{"type":"object","x-svc-embedded-type":true,"properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}},
        "open":{"type":"object","x-svc-embedded-type":true,"x-svc-preserve-unknown-fields":true},
        "deep":{"type":"object","additionalProperties":{"type":"array","items":
        {"type":"object","x-svc-embedded-type":true,"x-svc-preserve-unknown-fields":true}}}}"#,
    );
    let check = |object: &str, expect: Result<&str, &str>| {
        let mut object = json(object);
        let decoded =
            decode(schema.graph(), schema.ty(), &mut object).map_err(|error| error.to_string());
        let found = decoded.map(|unknown| format!("{:?} {}", unknown.paths, text(&object)));
        assert_eq!(found.as_deref().map_err(String::as_str), expect);
    };
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{},"nope":1},"spec":{"a":"x","z":1},"z":1}"#;
    check(
        &format!(r#"{{"spec":{{"r":{pod}}}}}"#),
        Ok(
            r#"["spec.r.metadata.nope", "spec.r.spec.z", "spec.r.z"] {"metadata":{},"spec":{"r":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"a":"x"}}}}"#,
        ),
    );
    check(
        r#"{"metadata":{"labels":{"a":1}}}"#,
        Err("json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
    );
    check(
        r#"{"spec":{"open":{"metadata":{"labels":{"a":1}}}}}"#,
        Err(
            r#"spec.open.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"#,
        ),
    );
    check(r#"{"spec":{"r":{"kind":1}}}"#, Err("spec.r.kind: Invalid value: 1: must be a string"));
    check(
        r#"{"spec":{"deep":{"a":[{},{"kind":1}]}}}"#,
        Err("spec.deep[a][1].kind: Invalid value: 1: must be a string"),
    );
}

#[test]
fn fields_are_owned_as_the_schema_says() {
    let schema = of_spec(
        r#"{"atomic":{"type":"array","items":{"type":"string"}},"set":{"type":"array","items":{"type":"string"},"x-svc-list-type":"set"},
        "map":{"type":"array","x-svc-list-type":"map","x-svc-list-map-keys":["k","n"],"items":{"type":"object","required":["k"],
        "properties":{"k":{"type":"string"},"n":{"type":"integer","default":1}}}},
        "whole":{"type":"object","x-svc-map-type":"atomic","properties":{"a":{"type":"string"}}},
        "free":{"type":"object","x-svc-preserve-unknown-fields":true},
        "sets":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"},"x-svc-list-type":"set"}}}"#,
    );
    let check = |spec: &str, expect: &str| {
        let fields = members(schema.graph(), schema.ty(), &json(&format!(r#"{{"spec":{spec}}}"#)));
        assert_eq!(text(&fields.encode()), expect, "{spec}");
    };
    check(r#"{"atomic":["a"],"whole":{"a":"x"}}"#, r#"{"f:spec":{"f:atomic":{},"f:whole":{}}}"#);
    check(r#"{"set":["a"]}"#, r#"{"f:spec":{"f:set":{"v:\"a\"":{}}}}"#);
    check(
        r#"{"map":[{"k":"a"}]}"#,
        r#"{"f:spec":{"f:map":{"k:{\"k\":\"a\",\"n\":1}":{".":{},"f:k":{}}}}}"#,
    );
    check(
        r#"{"free":{"a":{"b":1},"c":[1]}}"#,
        r#"{"f:spec":{"f:free":{"f:a":{".":{},"f:b":{}},"f:c":{}}}}"#,
    );
    check(r#"{"sets":{"a":["x"]}}"#, r#"{"f:spec":{"f:sets":{"f:a":{".":{},"v:\"x\"":{}}}}}"#);
    let (old, new) =
        (json(r#"{"spec":{"free":{"a":{"b":1}}}}"#), json(r#"{"spec":{"free":{"a":[1]}}}"#));
    let changes = compare(schema.graph(), schema.ty(), &old, &new);
    assert_eq!(text(&changes.modified.encode()), r#"{"f:spec":{"f:free":{"f:a":{}}}}"#);
}

#[test]
fn applied_bodies_are_checked() {
    let schema = of_spec(
        r#"{"a":{"type":"string"},"free":{"type":"object","x-svc-preserve-unknown-fields":true},"any":{"x-svc-preserve-unknown-fields":true}}"#,
    );
    let check = |spec: &str, expect: Option<&str>| {
        let body = json(&format!(r#"{{"spec":{spec}}}"#));
        let found =
            Config::new(schema.graph(), schema.ty(), body).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expect, "{spec}");
    };
    check(r#"{"a":"x","free":{"z":[1]},"any":[1]}"#, None);
    check(r#"{"z":1}"#, Some(".spec.z: field not declared in schema"));
    check(r#"{"a":{}}"#, Some(".spec.a: expected string, got object"));
}

#[test]
fn layers_share_the_base() {
    let base = base(Naming::Svc);
    let before = Arc::strong_count(&base);
    let schemas: Vec<Structural> = (0..3)
        .map(|_| {
            try_compile(&base, &json(r#"{"type":"object"}"#), false).expect("a structural schema")
        })
        .collect();
    assert_eq!(Arc::strong_count(&base), before + 3);
    let meta = base.type_named("meta/v1.ObjectMeta").expect("a type").id;
    for schema in &schemas {
        assert!(
            std::ptr::eq(schema.graph().ty(meta), base.ty(meta)),
            "the machinery's types are shared"
        );
        assert_eq!(schema.graph().types().len(), 1);
        let metadata = schema.graph().property(schema.ty(), "metadata").expect("metadata");
        assert_eq!(metadata.shape.message(), Some(meta));
        assert!(schema.graph().type_named("core/v1.Pod").is_some());
    }
}
