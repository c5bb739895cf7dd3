//! Which collector is asked, and how.

use std::collections::HashMap;

use super::*;

#[test]
fn the_collector_is_found() {
    let check = |option: Option<&str>, variables: &[(&str, &str)], expect: Result<&str, &str>| {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let found = OtlpCollector::find(option, |name| {
            variables.get(name).map(|value| (*value).to_owned())
        });
        let found = found.map(|found| {
            found.map_or(String::new(), |found| {
                let protocol = if found.is_grpc { "grpc" } else { "http" };
                format!("{protocol} {} {}ms", found.endpoint(), found.timeout.as_millis())
            })
        });
        let found = found.map_err(|error| error.to_string());
        match (&found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{found}"),
            _ => panic!("{option:?} {variables:?}: {found:?}"),
        }
    };
    let (all, own) = (ENDPOINT[1], ENDPOINT[0]);
    check(None, &[], Ok(""));
    check(None, &[(all, "")], Ok(""));
    check(Some("http://a:4318"), &[], Ok("http http://a:4318/v1/metrics 10000ms"));
    check(Some("http://a:4318/x/"), &[], Ok("http http://a:4318/x/v1/metrics 10000ms"));
    check(Some("http://a/v1/metrics"), &[], Ok("http http://a/v1/metrics 10000ms"));
    check(None, &[(all, "http://b")], Ok("http http://b/v1/metrics 10000ms"));
    check(None, &[(all, "http://b"), (own, "http://c/x")], Ok("http http://c/x 10000ms"));
    check(Some("http://a"), &[(own, "http://c/x")], Ok("http http://a/v1/metrics 10000ms"));
    let grpc = (PROTOCOL[1], "grpc");
    check(Some("https://a:4317"), &[grpc], Ok("grpc https://a:4317/ 10000ms"));
    check(Some("http://a"), &[grpc, (TIMEOUT_MS[0], "250")], Ok("grpc http://a/ 250ms"));
    check(Some("http://a"), &[(PROTOCOL[0], "http/json")], Err("neither grpc nor"));
    check(Some("http://a"), &[(TIMEOUT_MS[1], "1s")], Err("is no number of ms"));
    for wrong in ["a:4317", "ftp://a", "http://", "/x", "http://a b"] {
        check(Some(wrong), &[], Err("the OTLP endpoint"));
    }
}
