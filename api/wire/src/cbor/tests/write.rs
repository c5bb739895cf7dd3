//! Tests of writing: the deterministic form, the schema's binary fields and floats, round trips.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(json: &str, expect: &str) {
    let mut out = Vec::new();
    encode_item(None, json.as_bytes(), &mut out).expect(json);
    assert_eq!(hex(&out), expect.replace(' ', ""), "{json}");
}

#[test]
fn the_deterministic_form() {
    check("null", "f6");
    check("true", "f5");
    check("23", "17");
    check("24", "1818");
    check("-1", "20");
    check("-9223372036854775808", "3b7fffffffffffffff");
    check("18446744073709551615", "1bffffffffffffffff");
    check("1.5", "f93e00");
    check("100000.5", "fa47c35040");
    check("1.1", "fb3ff199999999999a");
    check("1e300", "fb7e37e43c8800759c");
    check("\"IETF\"", "4449455446");
    check(r#""\u00fc\n""#, "43c3bc0a");
    check("[1,[2],{}]", "83 01 81 02 a0");
    check(r#"{"a":1,"b":{}}"#, "a2 4161 01 4162 a0");
    check(r#"{"aa":1,"b":2}"#, "a2 4162 02 426161 01");
    check(
        r#" { "items" : [ { "zz" : 1 , "y" : 2 } ] , "kind" : "L" } "#,
        "a2 446b696e64 414c 456974656d73 81 a2 4179 02 427a7a 01",
    );
    let many: Vec<String> = (0..30).map(|at| format!("\"{at:02}\":{at}")).collect();
    let entries: String = (0..30)
        .map(|at| {
            format!(
                "42{}{}",
                hex(format!("{at:02}").as_bytes()),
                if at < 24 { format!("{at:02x}") } else { format!("18{at:02x}") }
            )
        })
        .collect();
    check(&format!("{{{}}}", many.join(",")), &format!("b81e{entries}"));
    check(r#"{"b":0,"a":1,"b":2}"#, "a2 4161 01 4162 02");
}

#[test]
fn text_that_is_not_json_is_refused() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{1:2}",
        "[1 2]",
        "x",
        "tru",
        "1 2",
        "\"a",
        "{\"a\":}",
        "-",
    ] {
        assert!(encode_item(None, text.as_bytes(), &mut Vec::new()).is_err(), "{text}");
    }
}

#[test]
fn the_schema_tells_bytes_and_floats() {
    let graph = graph();
    let encoded = |ty: &str, json: &str| {
        let mut out = Vec::new();
        let schema = Schema { graph: &graph, ty: graph.type_named(ty).unwrap().id };
        encode(Some(schema), json.as_bytes(), &mut out).unwrap();
        hex(&out)
    };
    let secret = encoded("core/v1.Secret", r#"{"data":{"k":"AQIDBA==","l":"?"},"type":"Opaque"}"#);
    assert_eq!(secret, "d9d9f7a24464617461a2416bd64401020304416c413f4474797065464f7061717565");
    let list = encoded("core/v1.SecretList", r#"{"items":[{"data":{"k":"AQ=="}}]}"#);
    assert_eq!(list, "d9d9f7a1456974656d7381a14464617461a1416bd64101");
    let maps = encoded("core/v1.ConfigMap", r#"{"binaryData":{"k":"AQ=="},"data":{"k":"AQ=="}}"#);
    assert_eq!(
        maps,
        "d9d9f7a2446461746 1a1416b4441513d3d4a62696e61727944617461a1416bd64101".replace(' ', "")
    );
}

#[test]
fn bodies_in_pieces() {
    let list = tree(
        r#"{"apiVersion":"v1","items":[],"kind":"ConfigMapList","metadata":{"resourceVersion":"7"}}"#,
    );
    let (mut body, tail) = around_list(&list, "items", 2).unwrap();
    for item in [r#"{"data":{"b":"1","aa":"2"}}"#, "{}"] {
        encode_item(None, item.as_bytes(), &mut body).unwrap();
    }
    body.extend_from_slice(&tail);
    let mut whole = Vec::new();
    let text = r#"{"apiVersion":"v1","items":[{"data":{"aa":"2","b":"1"}},{}],"kind":"ConfigMapList","metadata":{"resourceVersion":"7"}}"#;
    encode(None, text.as_bytes(), &mut whole).unwrap();
    assert_eq!(hex(&body), hex(&whole));

    let (mut event, mut object) = (Vec::new(), Vec::new());
    encode(None, b"{}", &mut object).unwrap();
    write_event("ADDED", &object, &mut event);
    assert_eq!(
        hex(&event),
        "d9d9f7a244747970654541444445 44466f626a656374d9d9f7a0".replace(' ', "")
    );
}

proptest! {
    #[test]
    fn trees_come_back(value in json::tests::any_value()) {
        let text = json::to_vec(&value);
        let mut out = Vec::new();
        encode(None, &text, &mut out).unwrap();
        let back = parse(&out).unwrap();
        prop_assert_eq!(String::from_utf8(json::to_vec(&back)), String::from_utf8(text.clone()));
        let mut again = Vec::new();
        encode(None, &json::to_vec(&back), &mut again).unwrap();
        prop_assert_eq!(out, again, "one form for one tree");
    }

    #[test]
    fn any_bytes_are_read_or_refused(body: Vec<u8>) {
        let _ = parse(&body);
    }
}
