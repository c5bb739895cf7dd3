//! Tests of paths.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const VISITS: usize = 1000;

fn object() -> Value {
    json!({
        "metadata": {"name": "a", "labels": {"example.com/x": "y", "plain": "z"}},
        "spec": {"n": 3, "f": 1.5, "on": true, "list": ["p", "q", "r", "s"], "empty": [], "none": null,
            "parts": [{"name": "one", "size": 1}, {"name": "two", "size": 2, "tag": "t"}, {"size": 3}]},
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "A)"},
            {"type": "Synced", "status": "False"}]}
    })
    .into()
}

fn check(path: &str, expect: serde_json::Value) {
    let (object, mut visits) = (object(), VISITS);
    let path_read = JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let expect: Option<Value> = (expect != json!("nothing")).then(|| expect.into());
    assert_eq!(path_read.first(&object, &mut visits), expect.as_ref(), "{path}");
}

#[test]
fn fields() {
    check(".metadata.name", json!("a"));
    check(".spec.none", json!(null));
    check(".spec.missing", json!("nothing"));
    check(".spec.missing.below", json!("nothing"));
    check(".metadata.name.below", json!("nothing"));
    check(r".metadata.labels.example\.com/x", json!("y"));
    check(r".metadata.labels['example\.com/x']", json!("y"));
    check(".metadata.labels['plain']", json!("z"));
    check(".metadata['labels.plain']", json!("z"));
    check(".spec.on", json!(true));
    check("$.spec.n", json!(3));
    check("@.spec.n", json!(3));
    check(".", json!("nothing"));
    check(".spec.f}", json!(1.5));
    check(".spec.f}{.spec.n", json!(1.5));
}

#[test]
fn indexes_and_slices() {
    check(".spec.list[0]", json!("p"));
    check(".spec.list[-1]", json!("s"));
    check(".spec.list[-2]", json!("r"));
    check(".spec.list[-4]", json!("p"));
    check(".spec.list[4]", json!("nothing"));
    check(".spec.list[-5]", json!("nothing"));
    check(".spec.list[]", json!("p"));
    check(".spec.list[1:3]", json!("q"));
    check(".spec.list[2:]", json!("r"));
    check(".spec.list[:2]", json!("p"));
    check(".spec.list[-2:]", json!("r"));
    check(".spec.list[3:1]", json!("nothing"));
    check(".spec.list[2:2]", json!("nothing"));
    check(".spec.list[1:4:2]", json!("q"));
    check(".spec.list[0:4:0]", json!("nothing"));
    check(".spec.list[*]", json!("p"));
    check(".spec.list.*", json!("p"));
    check(".spec.empty[0]", json!("nothing"));
    check(".spec.empty[*]", json!("nothing"));
    check(".spec.n[0]", json!("nothing"));
    check(".spec.none[0]", json!("nothing"));
    check(".spec.missing[0]", json!("nothing"));
    check(".spec.parts[1:].name", json!("two"));
    check(".spec.list[5,1]", json!("nothing"));
    check(".spec.list[1,0]", json!("q"));
    check(".spec['n','f']", json!(3));
    check(".spec['missing', 'f']", json!(1.5));
}

#[test]
fn descent_and_wildcards() {
    check("..type", json!("Ready"));
    check("..tag", json!("t"));
    check(".spec..name", json!("one"));
    check(".metadata.*", json!({"example.com/x": "y", "plain": "z"}));
    check("..missing", json!("nothing"));
}

#[test]
fn filters() {
    check(r#".status.conditions[?(@.type=="Ready")].status"#, json!("True"));
    check(".status.conditions[?(@.type=='Synced')].status", json!("False"));
    check(r#".status.conditions[?(@.type=="Other")].status"#, json!("nothing"));
    check(r#".status.conditions[?(@.type == "Ready")].status"#, json!("True"));
    check(r#".status.conditions[?(@.reason=="A)")].type"#, json!("Ready"));
    check(r#".status.conditions[?(@.type!="Ready")].type"#, json!("Synced"));
    check(".spec.parts[?(@.size>1)].size", json!(2));
    check(".spec.parts[?(@.size>=3)].size", json!(3));
    check(".spec.parts[?(@.size<2)].name", json!("one"));
    check(".spec.parts[?(@.size<=0)].name", json!("nothing"));
    check(".spec.parts[?(@.tag)].name", json!("two"));
    check(".spec.parts[?(@.missing==1)].name", json!("nothing"));
    // A whole number is no number with a fraction, nor a text.
    check(".spec.parts[?(@.size>1.5)].size", json!("nothing"));
    check(".spec.parts[?(@.size==\"1\")].size", json!("nothing"));
    check(".spec.parts[?(@.size=1)].size", json!("nothing"));
    check(".spec.list[?(@=='q')]", json!("q"));
    check(".spec.n[?(@==3)]", json!("nothing"));
}

#[test]
fn ranges_and_constants() {
    check(".spec.parts[*] range}{.name}{end", json!("one"));
    check(".spec.empty[*] range}{.name}{end", json!("nothing"));
    check(".spec.n end", json!("nothing"));
    check(".spec.n word", json!("nothing"));
    check(".spec.n 'text'", json!("text"));
    check(".spec.n 7", json!(7));
    check(r#".spec.n "a\u0041\n""#, json!("aA\n"));
}

#[test]
fn refused() {
    let refused = |path: &str| assert!(JsonPath::parse(path).is_err(), "{path}");
    for path in [
        ".spec[",
        ".spec[a]",
        ".spec[\"a\"]",
        ".spec[1:2:3:4]",
        ".spec[+1]",
        ".spec[-]",
        ".a[?(@.b==1]",
        ".a[?(@.b==1)",
        ".a[?(@.b==)]",
        ".a[?(@.b=~'x')]",
        ".a....b",
        "..*",
        ".a 'b",
        ".a #",
        ".a\n",
        ".a 1.2.3",
        ".a{",
        ".a 'b\\q'",
    ] {
        refused(path);
    }
}

#[test]
fn no_path_takes_long() {
    let check = |path: &str| {
        let path = JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let nested = (0..50).fold(json!([1]), |inner, _| json!([inner, 1]));
        let (object, mut visits) = (json!({"spec": nested}).into(), VISITS);
        assert_eq!(path.first(&object, &mut visits), None);
    };
    check(&format!(".spec{}", "[0,0,0,0,0,0,0,0]".repeat(30)));
    check(&format!(".spec{}", "..[0:]".repeat(30)));
    check(&format!(".spec{}", "[?(@..[*])]".repeat(30)));
    assert!(JsonPath::parse(&format!(".a{}{}", "[".repeat(10_000), "]".repeat(10_000))).is_err());
    assert!(JsonPath::parse(&".a".repeat(100_000)).is_ok());
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in r#"[.\[\]{}()?@$*:,'"\\ =!<>~a-c0-9-]{0,40}"#) {
        if let Ok(path) = JsonPath::parse(&text) {
            let mut visits = VISITS;
            let _ = path.first(&object(), &mut visits);
        }
        if let Ok(path) = JsonPath::parse(&format!(".spec{text}")) {
            let mut visits = VISITS;
            let _ = path.first(&object(), &mut visits);
        }
    }
}
