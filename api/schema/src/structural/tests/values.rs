//! Values that a schema refuses, and what is said of them; recorded from release 1.35.

use super::*;

fn check(schema: &Structural, spec: &str, expect: &[&str]) {
    let object = json(&format!(r#"{{"spec":{spec}}}"#));
    let mut causes = schema.validate(&object);
    causes.extend(schema.duplicates(&object));
    assert_eq!(shown(&causes), expect, "{spec}");
}

#[test]
fn types() {
    let schema = of_spec(
        r#"{"s":{"type":"string"},"i":{"type":"integer","format":"int32"},"n":{"type":"number"},"b":{"type":"boolean"},
        "o":{"type":"object"},"l":{"type":"array","items":{"type":"string"}},"m":{"type":"object","additionalProperties":{"type":"integer"}},
        "p":{"x-svc-int-or-string":true,"maximum":10,"pattern":"%"}}"#,
    );
    let check = |spec: &str, expect: &[&str]| check(&schema, spec, expect);
    check(r#"{"s":"x","i":2.0,"n":1,"b":true,"o":{},"l":["a"],"m":{"k":1},"p":1}"#, &[]);
    check(r#"{"i":2147483648}"#, &[]);
    check(
        r#"{"s":1}"#,
        &[r#"spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer""#],
    );
    check(
        r#"{"i":"x"}"#,
        &[r#"spec.i: Invalid value: "string": spec.i in body must be of type integer: "string""#],
    );
    check(
        r#"{"o":[]}"#,
        &[r#"spec.o: Invalid value: "array": spec.o in body must be of type object: "array""#],
    );
    check(
        r#"{"b":1,"l":[1,"a",null],"m":{"k":"x"}}"#,
        &[
            r#"spec.b: Invalid value: "integer": spec.b in body must be of type boolean: "integer""#,
            r#"spec.l[0]: Invalid value: "integer": spec.l[0] in body must be of type string: "integer""#,
            r#"spec.l[2]: Invalid value: "null": spec.l[2] in body must be of type string: "null""#,
            r#"spec.m.k: Invalid value: "string": spec.m.k in body must be of type integer: "string""#,
        ],
    );
    check(
        r#"{"p":1.5}"#,
        &[
            r#"spec.p: Invalid value: "number": spec.p in body must be of type integer,string: "number""#,
        ],
    );
    check(
        r#"{"p":11}"#,
        &["spec.p: Invalid value: 11: spec.p in body should be less than or equal to 10"],
    );
    check(
        r#"{"p":"half"}"#,
        &[r#"spec.p: Invalid value: "half": spec.p in body should match '%'"#],
    );
}

#[test]
fn bounds() {
    let schema = of_spec(
        r#"{"e":{"type":"string","enum":["a","b"]},"p":{"type":"string","pattern":"^ab"},"len":{"type":"string","minLength":2,"maxLength":4},
        "x":{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":true},"m":{"type":"integer","multipleOf":3},
        "f":{"type":"number","multipleOf":0.5},"n":{"type":"integer","enum":[1,2]},"l":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2},
        "o":{"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2},
        "r":{"type":"array","items":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}}"#,
    );
    let check = |spec: &str, expect: &[&str]| check(&schema, spec, expect);
    check(
        r#"{"e":"a","p":"abc","len":"äöüß","x":1.01,"m":0,"f":1.5,"n":2,"l":["a"],"o":{"k":1},"r":[{"n":""}]}"#,
        &[],
    );
    check(r#"{"e":""}"#, &[r#"spec.e: Unsupported value: "": supported values: "a", "b""#]);
    check(r#"{"p":"x"}"#, &[r#"spec.p: Invalid value: "x": spec.p in body should match '^ab'"#]);
    check(
        r#"{"len":"😀"}"#,
        &[r#"spec.len: Invalid value: "😀": spec.len in body should be at least 2 chars long"#],
    );
    check(r#"{"len":"abcde"}"#, &["spec.len: Too long: may not be more than 4 bytes"]);
    check(r#"{"x":1}"#, &["spec.x: Invalid value: 1: spec.x in body should be greater than 1"]);
    check(r#"{"x":5}"#, &["spec.x: Invalid value: 5: spec.x in body should be less than 5"]);
    check(r#"{"m":10}"#, &["spec.m: Invalid value: 10: spec.m in body should be a multiple of 3"]);
    check(
        r#"{"f":1.25}"#,
        &["spec.f: Invalid value: 1.25: spec.f in body should be a multiple of 0.5"],
    );
    check(r#"{"n":3}"#, &[r#"spec.n: Unsupported value: 3: supported values: "1", "2""#]);
    check(
        r#"{"l":[]}"#,
        &["spec.l: Invalid value: 0: spec.l in body should have at least 1 items"],
    );
    check(r#"{"l":["a","b","c"]}"#, &["spec.l: Too many: 3: must have at most 2 items"]);
    check(
        r#"{"o":{}}"#,
        &["spec.o: Invalid value: 0: spec.o in body should have at least 1 properties"],
    );
    check(r#"{"r":[{"n":"x"},{}]}"#, &["spec.r[1].n: Required value"]);
}

#[test]
fn logic() {
    let text = r#"{"type":"object","properties":{
        "any":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]},
        "one":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]},
        "all":{"type":"integer","allOf":[{"minimum":2},{"maximum":4}]},"no":{"type":"string","not":{"enum":["bad"]}}}}"#;
    let schema = try_compile(&base(Naming::Svc), &json(text), false).expect("a structural schema");
    let check = |object: &str, expect: &[&str]| {
        assert_eq!(shown(&schema.validate(&json(object))), expect, "{object}")
    };
    check(
        r#"{"any":{}}"#,
        &[
            r#"<nil>: Invalid value: "": "any" must validate at least one schema (anyOf)"#,
            "any.a: Required value",
        ],
    );
    check(r#"{"any":{"a":"x","b":"x"},"one":{"a":"x"},"all":3,"no":"good"}"#, &[]);
    check(
        r#"{"one":{}}"#,
        &[
            r#"<nil>: Invalid value: "": "one" must validate one and only one schema (oneOf). Found none valid"#,
            "one.a: Required value",
        ],
    );
    check(
        r#"{"one":{"a":"x","b":"x"}}"#,
        &[
            r#"<nil>: Invalid value: "": "one" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        ],
    );
    check(
        r#"{"all":1}"#,
        &[
            "all: Invalid value: 1: all in body should be greater than or equal to 2",
            r#"<nil>: Invalid value: "": "all" must validate all the schemas (allOf)"#,
        ],
    );
    check(
        r#"{"no":"bad"}"#,
        &[r#"<nil>: Invalid value: "": "no" must not validate the schema (not)"#],
    );
}

#[test]
fn sets_and_maps_are_unique() {
    let schema = of_spec(
        r#"{"set":{"type":"array","items":{"type":"string"},"x-svc-list-type":"set"},"nums":{"type":"array","items":{"type":"number"},"x-svc-list-type":"set"},
        "map":{"type":"array","x-svc-list-type":"map","x-svc-list-map-keys":["k","n"],"items":{"type":"object","required":["k"],
        "properties":{"k":{"type":"string"},"n":{"type":"integer","default":1},"v":{"type":"string"}}}}}"#,
    );
    let check = |spec: &str, expect: &[&str]| check(&schema, spec, expect);
    check(r#"{"set":["a","b"],"nums":[1,1.0],"map":[{"k":"a","n":1},{"k":"a","n":2}]}"#, &[]);
    check(
        r#"{"set":["a","b","a","b","a"]}"#,
        &[r#"spec.set[2]: Duplicate value: "a""#, r#"spec.set[3]: Duplicate value: "b""#],
    );
    check(
        r#"{"map":[{"k":"a","n":2,"v":"x"},{"k":"b"},{"k":"a","n":2,"v":"y"}]}"#,
        &[r#"spec.map[2]: Duplicate value: {"k":"a","n":2}"#],
    );
}

#[test]
fn sets_are_unique_at_every_depth() {
    let schema = of_spec(
        r#"{"m":{"type":"object","additionalProperties":{"type":"array","items":{"type":"object","properties":{
        "set":{"type":"array","items":{"type":"string"},"x-svc-list-type":"set"}}}}}}"#,
    );
    check(&schema, r#"{"m":{"a":[{},{"set":["x","y"]}]}}"#, &[]);
    check(
        &schema,
        r#"{"m":{"a":[{},{"set":["x","x"]}]}}"#,
        &[r#"spec.m[a][1].set[1]: Duplicate value: "x""#],
    );
}

#[test]
fn formats() {
    let check = |format: &str, good: &[&str], bad: &[&str]| {
        let schema = of_spec(&format!(r#"{{"f":{{"type":"string","format":"{format}"}}}}"#));
        for text in good {
            check(&schema, &format!(r#"{{"f":"{text}"}}"#), &[]);
        }
        for text in bad {
            let expect = format!(
                r#"spec.f: Invalid value: "{text}": spec.f in body must be of type {format}: "{text}""#
            );
            check(&schema, &format!(r#"{{"f":"{text}"}}"#), &[&expect]);
        }
    };
    check(
        "date-time",
        &["2020-01-02T03:04:05Z", "2020-01-02T03:04:05.123+02:00"],
        &["2020-01-02", "x", "2020-01-02T24:00:00Z"],
    );
    check("date", &["2020-02-29"], &["2020-13-02", "2021-02-29", "2020-01-02T00:00:00Z"]);
    check("byte", &["aGVsbG8=", "YQ=="], &["a", "!!", ""]);
    check("duration", &["5m", "1h30m", "-1.5h", "3 days", "0"], &["x", "", "5", "1y"]);
    check("ipv4", &["10.0.0.1"], &["::1", "10.0.0.256"]);
    check("ipv6", &["::1"], &["10.0.0.1"]);
    check("cidr", &["10.0.0.0/8", "fd00::/8"], &["10.0.0.0", "10.0.0.0/33"]);
    check("uuid", &["123e4567-e89b-12d3-a456-426614174000"], &["123e4567"]);
    check(
        "uuid3",
        &["123e4567-e89b-32d3-a456-426614174000"],
        &["123e4567-e89b-12d3-a456-426614174000"],
    );
    check("email", &["a@example.com", "Ann <a@example.com>"], &["example.com", "a b@example.com"]);
    check("hostname", &["example.com"], &["-x-", "a..b"]);
    check("uri", &["https://example.com/x", "/path", "urn:x"], &["no uri", "", "https://a b/"]);
    check("mac", &["01:23:45:67:89:ab"], &["01:23", "GG:GG:GG:GG:GG:GG"]);
    check("password", &["anything"], &[]);
    check("unheard-of", &["anything"], &[]);
    check("isbn", &["0321751043", "978-0321751041"], &["0321751044"]);
    check("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]);
    check("ssn", &["111-11-1111", "111111111"], &["11-111-1111"]);
    check("hexcolor", &["#FFFFFF", "abc"], &["#FFFF"]);
    check("rgbcolor", &["rgb(0, 10, 255)"], &["rgb(0,10,256)"]);
    check("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f"]);
    check("k8s-short-name", &["a-b"], &["A"]);
    check("quantity", &["10Gi"], &["x"]);
}

#[test]
fn status_stands_below_its_name() {
    let text = r#"{"type":"object","properties":{"status":{"type":"object","properties":{"ready":{"type":"boolean"}}}}}"#;
    let schema = try_compile(&base(Naming::Svc), &json(text), true).expect("a structural schema");
    let causes = schema.validate_status(&json(r#"{"status":{"ready":"x"}}"#), None);
    let expect = [
        r#"status.ready: Invalid value: "string": ready in body must be of type boolean: "string""#,
    ];
    assert_eq!(shown(&causes), expect);
}

#[test]
fn what_stays_may_be_wrong() {
    let schema = of_spec(
        r#"{"a":{"type":"string","maxLength":4},"b":{"type":"string"},"l":{"type":"array","items":{"type":"string","maxLength":4}},
        "o":{"type":"object","properties":{"x":{"type":"integer","maximum":10},"y":{"type":"integer"}}},
        "m":{"type":"array","x-svc-list-type":"map","x-svc-list-map-keys":["k"],"items":{"type":"object","required":["k"],
        "properties":{"k":{"type":"string"},"x":{"type":"integer","maximum":10},"y":{"type":"integer"}}}}}"#,
    );
    let old = json(
        r#"{"spec":{"a":"long text","l":["long text"],"o":{"x":100,"y":1},"m":[{"k":"a","x":100}]}}"#,
    );
    let check = |spec: &str, expect: &[&str]| {
        let object = json(&format!(r#"{{"spec":{spec}}}"#));
        assert_eq!(shown(&schema.validate_update(&object, &old)), expect, "{spec}");
    };
    check(
        r#"{"a":"long text","b":"new","l":["long text"],"o":{"x":100,"y":2},"m":[{"k":"b"},{"k":"a","x":100,"y":1}]}"#,
        &[],
    );
    check(r#"{"a":"other long text"}"#, &["spec.a: Too long: may not be more than 4 bytes"]);
    check(r#"{"l":["long text","x"]}"#, &["spec.l[0]: Too long: may not be more than 4 bytes"]);
    check(
        r#"{"m":[{"k":"b","x":100}]}"#,
        &[
            "spec.m[0].x: Invalid value: 100: spec.m[0].x in body should be less than or equal to 10",
        ],
    );
}
