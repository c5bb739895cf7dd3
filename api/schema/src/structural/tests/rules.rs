//! Schemas that break a rule, and what is said of it; recorded from release 1.35.

use super::*;

/// What is wrong with a schema in which `a` is this property.
fn check(naming: Naming, schema: &str, expect: &[&str]) {
    let schema = schema.strip_prefix("a: ").map_or_else(
        || schema.to_owned(),
        |property| format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#),
    );
    let found = try_compile(&base(naming), &json(&schema), false).err().unwrap_or_default();
    assert_eq!(shown(&found), expect, "{schema}");
}

fn checks(cases: &[(&str, &[&str])]) {
    cases.iter().for_each(|(schema, expect)| check(Naming::Svc, schema, expect));
}

#[test]
fn types() {
    checks(&[
        (
            r#"{"properties":{"a":{"type":"string"}}}"#,
            &["~.type: Required value: must not be empty at the root"],
        ),
        (
            r#"{"type":"string"}"#,
            &[r#"~.type: Invalid value: "string": must be object at the root"#],
        ),
        (
            r#"{"type":"object","properties":{"a":{"description":"x"},"b":{"type":"object","properties":{"c":{}}}}}"#,
            &[
                "~.properties[a].type: Required value: must not be empty for specified object fields",
                "~.properties[b].properties[c].type: Required value: must not be empty for specified object fields",
            ],
        ),
        (
            r#"a: {"type":"array","items":{"description":"x"}}"#,
            &[
                "~.properties[a].items.type: Required value: must not be empty for specified array items",
            ],
        ),
        (r#"a: {"type":"array"}"#, &["~.properties[a].items: Required value: must be specified"]),
        (
            r#"a: {"type":"text"}"#,
            &[
                r#"~.properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            ],
        ),
        (
            r#"a: {"type":"null"}"#,
            &[
                r#"~.properties[a].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string""#,
                "~.properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative",
            ],
        ),
        (
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            &["~.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            r#"a: {"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
            &[
                "~.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        ),
        (
            r#"a: {"type":"string","pattern":"("}"#,
            &[
                r#"~.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"#,
            ],
        ),
        (r#"a: {"x-svc-preserve-unknown-fields":true}"#, &[]),
        (r#"a: {"x-svc-int-or-string":true}"#, &[]),
    ]);
}

#[test]
fn logic() {
    checks(&[
        (
            r#"a: {"type":"string","allOf":[{"type":"string"}]}"#,
            &["~.properties[a].allOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (
            r#"a: {"type":"string","not":{"type":"string"}}"#,
            &["~.properties[a].not.type: Forbidden: must be empty to be structural"],
        ),
        (
            r#"a: {"type":"string","anyOf":[{"description":"d"},{"default":"x"},{"nullable":true},{"title":"t"}]}"#,
            &[
                "~.properties[a].anyOf[0].description: Forbidden: must be empty to be structural",
                "~.properties[a].anyOf[1].default: Forbidden: must be undefined to be structural",
                "~.properties[a].anyOf[2].nullable: Forbidden: must be false to be structural",
                "~.properties[a].anyOf[3].title: Forbidden: must be empty to be structural",
            ],
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"properties":{"b":{"minLength":1}}}]}"#,
            &["~.properties[b]: Required value: because it is defined in ~.anyOf[0].properties[b]"],
        ),
        (
            r#"a: {"type":"array","items":{"type":"string"},"oneOf":[{"x-svc-list-type":"set"},{"x-svc-preserve-unknown-fields":true}]}"#,
            &[
                "~.properties[a].oneOf[0].type: Required value: must be array if x-svc-list-type is specified",
                "~.properties[a].oneOf[0].x-svc-list-type: Forbidden: must be undefined to be structural",
                "~.properties[a].oneOf[1].x-svc-preserve-unknown-fields: Forbidden: must be false to be structural",
            ],
        ),
        (r#"a: {"x-svc-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}"#, &[]),
        (
            r#"a: {"x-svc-int-or-string":true,"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
            &[
                "~.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
                "~.properties[a].anyOf[1].type: Forbidden: must be empty to be structural",
            ],
        ),
    ]);
}

#[test]
fn words() {
    checks(&[
        (
            r#"a: {"type":"array","items":{"type":"string"},"uniqueItems":true}"#,
            &[
                "~.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (r##"a: {"$ref":"#/x"}"##, &["~.properties[a].$ref: Forbidden: $ref is not supported"]),
        (
            r#"{"type":"object","definitions":{"x":{"type":"string"}}}"#,
            &["~.definitions: Forbidden: definitions is not supported"],
        ),
        (
            r#"{"type":"object","dependencies":{"a":["b"]}}"#,
            &["~.dependencies: Forbidden: dependencies is not supported"],
        ),
        (
            r#"a: {"type":"object","patternProperties":{"x":{"type":"string"}}}"#,
            &["~.properties[a].patternProperties: Forbidden: patternProperties is not supported"],
        ),
        (
            r#"a: {"type":"array","items":[{"type":"string"}]}"#,
            &["~.properties[a].items: Forbidden: items must be a schema object and not an array"],
        ),
        (
            r#"{"type":"object","nullable":true}"#,
            &["~.nullable: Forbidden: nullable cannot be true at the root"],
        ),
        (
            r#"{"type":"object","$schema":"x"}"#,
            &[r#"~: Invalid value: "": OpenAPIV3Schema 'schema' is not supported"#],
        ),
    ]);
}

#[test]
fn extensions() {
    let embedded = "Required value: must not be empty if x-svc-embedded-type is true without x-svc-preserve-unknown-fields";
    let properties = format!("~.properties[a].properties: {embedded}");
    checks(&[
        (
            r#"a: {"type":"object","x-svc-preserve-unknown-fields":false}"#,
            &[
                "~.properties[a].x-svc-preserve-unknown-fields: Invalid value: false: must be true or undefined",
            ],
        ),
        (
            r#"a: {"type":"string","x-svc-embedded-type":true}"#,
            &[
                &properties,
                r#"~.properties[a].type: Invalid value: "string": must be object if x-svc-embedded-type is true"#,
            ],
        ),
        (r#"a: {"type":"object","x-svc-embedded-type":true}"#, &[&properties]),
        (
            r#"a: {"type":"object","properties":{"k":{"type":"string"}},"x-svc-map-type":"set"}"#,
            &[
                r#"~.properties[a].x-svc-map-type: Unsupported value: "set": supported values: "atomic", "granular""#,
            ],
        ),
        (
            r#"a: {"type":"array","items":{"type":"string"},"x-svc-map-type":"atomic"}"#,
            &[
                r#"~.properties[a].type: Invalid value: "array": must be object if x-svc-map-type is specified"#,
            ],
        ),
    ]);
    check(
        Naming::Kubernetes,
        r#"a: {"type":"object","x-kubernetes-embedded-resource":true}"#,
        &[
            "~.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ],
    );
}

#[test]
fn list_types() {
    let items = r#""items":{"type":"object","properties":{"k":{"type":"string"}}}"#;
    let check = |rest: &str, expect: &[&str]| {
        let schema = format!(r#"a: {{"type":"array",{rest}}}"#);
        check(Naming::Svc, &schema.replace("ITEMS", items), expect);
    };
    check(
        r#""items":{"type":"string"},"x-svc-list-type":"bag""#,
        &[
            r#"~.properties[a].x-svc-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map""#,
        ],
    );
    check(
        r#"ITEMS,"x-svc-list-type":"map""#,
        &[
            "~.properties[a].x-svc-list-map-keys: Required value: must not be empty if x-svc-list-type is map",
        ],
    );
    check(
        r#"ITEMS,"x-svc-list-map-keys":["k"]"#,
        &[
            "~.properties[a].x-svc-list-type: Required value: must be map if x-svc-list-map-keys is non-empty",
        ],
    );
    check(
        r#"ITEMS,"x-svc-list-type":"map","x-svc-list-map-keys":["other"]"#,
        &[
            r#"~.properties[a].x-svc-list-map-keys: Invalid value: ["other"]: entries must all be names of item properties"#,
        ],
    );
    check(
        r#"ITEMS,"x-svc-list-type":"map","x-svc-list-map-keys":["k"]"#,
        &[
            "~.properties[a].items.properties[k].default: Required value: this property is in x-svc-list-map-keys, so it must have a default or be a required property",
        ],
    );
    check(
        r#"ITEMS,"x-svc-list-type":"set""#,
        &[
            "~.properties[a].items.x-svc-map-type: Invalid value: null: must be atomic as item of a list with x-svc-list-type=set",
        ],
    );
    check(
        r#""items":{"type":"object","x-svc-map-type":"atomic","properties":{"k":{"type":"string"}}},"x-svc-list-type":"set""#,
        &[],
    );
}

#[test]
fn defaults() {
    checks(&[
        (
            r#"a: {"type":"string","default":5}"#,
            &[
                r#"~.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer""#,
            ],
        ),
        (
            r#"a: {"type":"integer","default":5,"maximum":4}"#,
            &[
                "~.properties[a].default: Invalid value: 5:  in body should be less than or equal to 4",
            ],
        ),
        (
            r#"a: {"type":"string","default":"c","enum":["a","b"]}"#,
            &[r#"~.properties[a].default: Unsupported value: "c": supported values: "a", "b""#],
        ),
        (r#"a: {"type":"string","default":null,"nullable":true}"#, &[]),
        (
            r#"a: {"type":"object","properties":{"b":{"type":"string"}},"default":{"b":"x","c":"y"}}"#,
            &[
                r#"~.properties[a].default: Invalid value: {"b":"x","c":"y"}: must not have unknown fields"#,
            ],
        ),
        (
            r#"a: {"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"default":{}}"#,
            &["~.properties[a].default.b: Required value"],
        ),
        (
            r#"{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","default":"x"}}}}}"#,
            &[
                "~.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
            ],
        ),
        (
            r#"{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}"#,
            &[
                "~.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
        (
            r#"{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":3}}}}}"#,
            &[],
        ),
    ]);
}

#[test]
fn the_status_subresource_asks_for_an_object() {
    let found = try_compile(&base(Naming::Svc), &json(r#"{"type":"array"}"#), true)
        .err()
        .unwrap_or_default();
    let expect = [
        r#"~.type: Invalid value: "array": only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#,
        "~.items: Required value: must be specified",
        r#"~.type: Invalid value: "array": must be object at the root"#,
    ];
    assert_eq!(shown(&found), expect);
}

#[test]
fn forms_of_rules() {
    let rule = |rule: &str| {
        format!(
            r#"a: {{"type":"object","properties":{{"x":{{"type":"string"}}}},"x-svc-validations":[{rule}]}}"#
        )
    };
    let check = |text: &str, expect: &[&str]| {
        let at = "~.properties[a].x-svc-validations[0].";
        let expect: Vec<String> = expect.iter().map(|text| format!("{at}{text}")).collect();
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        checks(&[(&rule(text), &expect)]);
    };
    check(r#"{"rule":"true","message":"m","reason":"FieldValueInvalid","fieldPath":".x"}"#, &[]);
    check(r#"{"rule":" "}"#, &["rule: Required value: rule is not specified"]);
    check(
        r#"{"rule":"true","message":"  "}"#,
        &[r#"message: Invalid value: "  ": must be non-empty if specified"#],
    );
    check(
        r#"{"rule":"true","message":"a\nb"}"#,
        &[r#"message: Invalid value: "a\nb": must not contain line breaks"#],
    );
    check(
        r#"{"rule":"true\n||true"}"#,
        &["message: Required value: must be specified if rule contains line breaks"],
    );
    check(
        r#"{"rule":"true","messageExpression":" "}"#,
        &["messageExpression: Required value: must be non-empty if specified"],
    );
    check(
        r#"{"rule":"true","reason":"Strange"}"#,
        &[
            r#"reason: Unsupported value: "Strange": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#,
        ],
    );
    check(
        r#"{"rule":"true","fieldPath":".y"}"#,
        &[r#"fieldPath: Invalid value: ".y": must be a valid path"#],
    );
}
