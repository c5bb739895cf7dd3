//! Which collector is asked, and how.

use std::collections::HashMap;

use super::*;

#[test]
fn the_collector_is_found() {
    let of = |signal: Signal,
              option: Option<&str>,
              variables: &[(&str, &str)],
              expect: Result<&str, &str>| {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let found = OtlpCollector::find(signal, option, |name| {
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
    let check = |option: Option<&str>, variables: &[(&str, &str)], expect: Result<&str, &str>| {
        of(Signal::Metrics, option, variables, expect);
    };
    let (all, own) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    check(None, &[], Ok(""));
    check(None, &[(all, "")], Ok(""));
    check(Some("http://a:4318"), &[], Ok("http http://a:4318/v1/metrics 10000ms"));
    check(Some("http://a:4318/x/"), &[], Ok("http http://a:4318/x/v1/metrics 10000ms"));
    check(Some("http://a/v1/metrics"), &[], Ok("http http://a/v1/metrics 10000ms"));
    check(None, &[(all, "http://b")], Ok("http http://b/v1/metrics 10000ms"));
    check(None, &[(all, "http://b"), (own, "http://c/x")], Ok("http http://c/x 10000ms"));
    check(Some("http://a"), &[(own, "http://c/x")], Ok("http http://a/v1/metrics 10000ms"));
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    check(Some("https://a:4317"), &[grpc], Ok("grpc https://a:4317/ 10000ms"));
    check(
        Some("http://a"),
        &[grpc, ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "250")],
        Ok("grpc http://a/ 250ms"),
    );
    check(
        Some("http://a"),
        &[("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json")],
        Err("neither grpc nor"),
    );
    check(Some("http://a"), &[("OTEL_EXPORTER_OTLP_TIMEOUT", "1s")], Err("is no number of ms"));
    let traces = |option: Option<&str>, variables: &[(&str, &str)], expect: &str| {
        of(Signal::Traces, option, variables, Ok(expect));
    };
    let of_traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    traces(Some("http://a:4318"), &[], "http http://a:4318/v1/traces 10000ms");
    traces(Some("http://a/v1/metrics"), &[], "http http://a/v1/traces 10000ms");
    traces(None, &[(own, "http://c/x")], "");
    traces(None, &[(all, "http://b"), (of_traces, "http://c/x")], "http http://c/x 10000ms");
    let off = |name, value, expect_metrics: &str, expect_traces: &str| {
        of(Signal::Metrics, Some("http://a"), &[(name, value)], Ok(expect_metrics));
        of(Signal::Traces, Some("http://a"), &[(name, value)], Ok(expect_traces));
    };
    let (metrics, both) = ("http http://a/v1/metrics 10000ms", "http http://a/v1/traces 10000ms");
    off("OTEL_SDK_DISABLED", "True", "", "");
    off("OTEL_SDK_DISABLED", "false", metrics, both);
    off("OTEL_TRACES_EXPORTER", "none", metrics, "");
    off("OTEL_METRICS_EXPORTER", "none", "", both);
    for wrong in ["a:4317", "ftp://a", "http://", "/x", "http://a b"] {
        check(Some(wrong), &[], Err("the OTLP endpoint"));
    }
}
