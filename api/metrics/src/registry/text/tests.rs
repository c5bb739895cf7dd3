//! The text forms.

use super::*;
use crate::options::MetricsOptions;

#[test]
fn the_form_that_clients_ask_for() {
    let check = |accept: &str, expect: TextFormat| {
        assert_eq!(TextFormat::of_accept(accept), expect, "{accept}");
    };
    let (plain, open) = (TextFormat::Prometheus, TextFormat::OpenMetrics);
    check("", plain);
    check("*/*", plain);
    check("application/json", plain);
    check("application/openmetrics-text", open);
    check("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1", open);
    check("text/plain, application/openmetrics-text", plain);
    check("application/openmetrics-text; version=1.0.0; q=0.2, text/plain; q=0.9", plain);
    check("application/openmetrics-text;version=9.9", plain);
    check("application/openmetrics-text;q=x", plain);
}

#[test]
fn metrics_are_written() {
    let registry = Registry::new(&MetricsOptions::default(), None);
    registry.counter::<1>("authentication_attempts").add(["a\\b\"c\nd"], 2_000_000);
    registry.counter::<1>("quorate_store_transactions_total").inc(["committed"]);
    registry.gauge::<0>("quorate_store_revision").with([]).set(3.0);
    let histogram = registry.histogram::<1>("authentication_duration_seconds");
    histogram.observe(["success"], 0.0015);
    histogram.observe(["success"], 20.0);
    registry.histogram::<0>("apiserver_cel_evaluation_duration_seconds").observe([], 2.0);
    registry.gauge::<1>("apiserver_storage_objects").set(["pods"], 1.0);
    let wanted = |name: &str| {
        name.starts_with("auth")
            || name.starts_with("quorate_store")
            || name.contains("cel")
            || name.contains("objects")
    };
    let plain = registry.text(TextFormat::Prometheus, wanted);
    let check = |text: &str, lines: &[&str]| {
        for expect in lines {
            assert!(text.lines().any(|line| line == *expect), "{expect} is not in\n{text}");
        }
    };
    check(
        &plain,
        &[
            "# HELP apiserver_storage_objects [STABLE] (Deprecated from 1.34) Objects stored, label in the form resource.group; -1 when the count failed.",
            "# TYPE authentication_attempts counter",
            "authentication_attempts{result=\"a\\\\b\\\"c\\nd\"} 2e+06",
            "# TYPE authentication_duration_seconds histogram",
            "authentication_duration_seconds_bucket{result=\"success\",le=\"0.001\"} 0",
            "authentication_duration_seconds_bucket{result=\"success\",le=\"0.002\"} 1",
            "authentication_duration_seconds_bucket{result=\"success\",le=\"+Inf\"} 2",
            "authentication_duration_seconds_sum{result=\"success\"} 20.0015",
            "authentication_duration_seconds_count{result=\"success\"} 2",
            "apiserver_cel_evaluation_duration_seconds_bucket{le=\"5\"} 1",
            "# TYPE quorate_store_transactions_total counter",
            "quorate_store_transactions_total{outcome=\"committed\"} 1",
            "quorate_store_revision 3",
        ],
    );
    assert!(!plain.contains("EOF"));
    let open = registry.text(TextFormat::OpenMetrics, wanted);
    check(
        &open,
        &[
            "# TYPE authentication_attempts counter",
            "authentication_attempts_total{result=\"a\\\\b\\\"c\\nd\"} 2e+06",
            "# TYPE quorate_store_transactions counter",
            "quorate_store_transactions_total{outcome=\"committed\"} 1",
            "apiserver_cel_evaluation_duration_seconds_bucket{le=\"5.0\"} 1",
            "# EOF",
        ],
    );
    assert!(open.ends_with("# EOF\n"));
}

/// OpenMetrics takes the end off the names of counters, and no name may be there twice.
#[test]
fn names_stay_different_without_their_ends() {
    let mut names: Vec<_> = MetricRow::all()
        .iter()
        .map(|row| match row.metric_type {
            MetricType::Counter => row.name.strip_suffix("_total").unwrap_or(row.name),
            _ => row.name,
        })
        .collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
