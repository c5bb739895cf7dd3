//! Counting, its bounds, and what it costs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::families::Histogram;
use crate::options::{AllowedLabels, MetricsOptions};
use crate::registry::Registry;
use crate::samples::{HistogramExport, Sample, SampleValue, Since};
use crate::series_map::SERIES_LIMIT;
use crate::table::MetricRow;

const COUNTER: &str = "etcd_requests_total";
const HISTOGRAM: &str = "etcd_request_duration_seconds";
const UNLABELLED: &str = "apiserver_cel_evaluation_duration_seconds";
const GAUGE: &str = "apiserver_current_inflight_requests";

fn registry() -> Arc<Registry> {
    Registry::new(&MetricsOptions::default(), None)
}

fn numbers(registry: &Registry, name: &str, since: Since) -> Vec<(String, f64)> {
    let gathered = registry.gather_one(name, since);
    let samples = gathered.map(|gathered| gathered.samples).unwrap_or_default();
    let number = |sample: Sample| match sample.value {
        SampleValue::Number(value) => (sample.labels.join(" "), value),
        SampleValue::Histogram { buckets, sum } => {
            (format!("{} {buckets:?}", sample.labels.join(" ")), sum)
        }
    };
    samples.into_iter().map(number).collect()
}

#[test]
fn counters_and_gauges_count() {
    let registry = registry();
    let counter = registry.counter::<3>(COUNTER);
    assert!(registry.gather_one(COUNTER, Since::Start).is_none(), "nothing is there to tell");
    counter.inc(["get", "", "pods"]);
    counter.with(["create", "apps", "deployments"]).add(3);
    counter.add(["get", "", "pods"], 2);
    let expect = [("create apps deployments".to_owned(), 3.0), ("get  pods".to_owned(), 3.0)];
    assert_eq!(numbers(&registry, COUNTER, Since::Start), expect);
    let gauge = registry.gauge::<1>(GAUGE);
    gauge.set(["mutating"], 2.5);
    gauge.with(["mutating"]).add(-1.0);
    assert_eq!(numbers(&registry, GAUGE, Since::Start), [("mutating".to_owned(), 1.5)]);
}

#[test]
fn histograms_count() {
    let registry = registry();
    let histogram = registry.histogram::<0>(UNLABELLED);
    for value in [0.0, 0.005, 0.006, 0.01, 10.0, 50.0, f64::NAN, f64::INFINITY] {
        histogram.observe([], value);
    }
    let found = numbers(&registry, UNLABELLED, Since::Start);
    assert_eq!(found[0].0, " [2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]");
    assert!((found[0].1 - 60.021).abs() < 1e-9, "{found:?}");
    let seconds = registry.histogram::<3>(HISTOGRAM);
    seconds.observe_duration(["get", "", "pods"], Duration::from_millis(250));
    assert_eq!(numbers(&registry, HISTOGRAM, Since::Start)[0].1, 0.25);
}

#[test]
fn a_pair_is_counted_for_both() {
    let registry = registry();
    let (plain, seconds) =
        (registry.histogram::<0>(UNLABELLED).with([]), registry.histogram::<3>(HISTOGRAM));
    let labels = ["get", "", "pods"];
    let pair = plain.paired_with(&seconds.with(labels));
    plain.observe(0.25);
    let millis = [1, 5, 6, 25, 100, 700, 90_000];
    for millis in millis.map(Duration::from_millis) {
        pair.observe_duration(millis);
        seconds.observe_duration(labels, millis);
    }
    let sample = |name: &str| {
        let found = registry.gather_one(name, Since::Start).unwrap().samples.remove(0);
        match found.value {
            SampleValue::Histogram { buckets, sum } => (buckets, sum),
            SampleValue::Number(_) => panic!("{name} is a histogram"),
        }
    };
    let (buckets, sum) = sample(HISTOGRAM);
    assert!(buckets.iter().all(|count| count % 2 == 0), "{buckets:?}");
    assert_eq!(buckets.iter().sum::<u64>(), 14);
    assert!((sum - 2.0 * 90.837).abs() < 1e-9, "{sum}");
    let (buckets, sum) = sample(UNLABELLED);
    assert_eq!(buckets, [2, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1]);
    assert!((sum - 91.087).abs() < 1e-9, "{sum}");
    registry.reset();
    pair.observe_duration(Duration::from_millis(100));
    assert_eq!(sample(UNLABELLED).0, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let off = Histogram::<0>(None).with([]);
    off.paired_with(&plain).observe_duration(Duration::from_millis(1));
    off.paired_with(&off).observe_duration(Duration::from_millis(1));
    assert_eq!(sample(UNLABELLED).0.iter().sum::<u64>(), 2);
}

#[test]
fn a_reset_is_for_those_who_read_since_then() {
    let registry = registry();
    let counter = registry.counter::<3>(COUNTER);
    let histogram = registry.histogram::<3>(HISTOGRAM);
    counter.add(["get", "", "pods"], 5);
    histogram.observe(["get", "", "pods"], 1.0);
    registry.reset();
    assert_eq!(numbers(&registry, COUNTER, Since::Reset), []);
    assert_eq!(numbers(&registry, HISTOGRAM, Since::Reset), []);
    counter.inc(["get", "", "pods"]);
    assert_eq!(numbers(&registry, COUNTER, Since::Reset), [("get  pods".to_owned(), 1.0)]);
    assert_eq!(numbers(&registry, COUNTER, Since::Start), [("get  pods".to_owned(), 6.0)]);
}

#[test]
fn hostile_labels_cost_a_bounded_number_of_series() {
    let registry = registry();
    let counter = registry.counter::<3>(COUNTER);
    for number in 0..SERIES_LIMIT + 50 {
        counter.inc(["get", "evil.example.com", &format!("r{number}")]);
    }
    let found = numbers(&registry, COUNTER, Since::Start);
    assert_eq!(found.len(), SERIES_LIMIT + 1);
    assert!(found.contains(&("overflow overflow overflow".to_owned(), 50.0)));
    let overflowed = numbers(&registry, "quorate_metrics_overflowed_total", Since::Start);
    assert_eq!(overflowed, [(String::new(), 50.0)]);
}

#[test]
fn values_that_are_not_allowed_are_unexpected() {
    let allowed: AllowedLabels = format!("{COUNTER},operation=get,list").parse().unwrap();
    let other: AllowedLabels = format!("{COUNTER},nothing=x").parse().unwrap();
    let options = MetricsOptions::new("", &[], vec![allowed, other]).unwrap();
    let registry = Registry::new(&options, None);
    let counter = registry.counter::<3>(COUNTER);
    for operation in ["get", "list", "create", "delete"] {
        counter.inc([operation, "", "pods"]);
    }
    let expect = [("get  pods", 1.0), ("list  pods", 1.0), ("unexpected  pods", 2.0)];
    let found = numbers(&registry, COUNTER, Since::Start);
    assert!(found.iter().map(|(labels, value)| (labels.as_str(), *value)).eq(expect));
    let name = "cardinality_enforcement_unexpected_categorizations_total";
    assert_eq!(numbers(&registry, name, Since::Start), [(String::new(), 2.0)]);
}

#[test]
fn what_is_off_or_hidden_is_not_there() {
    let check = |show: &str, disabled: &[&str], expect: [bool; 2], counts: [f64; 2]| {
        let disabled: Vec<String> = disabled.iter().map(|&name| name.to_owned()).collect();
        let registry = Registry::new(&MetricsOptions::new(show, &disabled, vec![]).unwrap(), None);
        registry.counter::<3>(COUNTER).inc(["get", "", "pods"]);
        let old = "apiserver_request_slo_duration_seconds";
        registry.histogram::<7>(old).observe(["GET", "", "v1", "pods", "", "", ""], 1.0);
        let is_there = [COUNTER, old].map(|name| registry.gather_one(name, Since::Start).is_some());
        assert_eq!(is_there, expect, "{show} {disabled:?}");
        let own = ["hidden_metrics_total", "disabled_metrics_total"];
        assert_eq!(own.map(|name| numbers(&registry, name, Since::Start)[0].1), counts);
    };
    check("", &[], [true, false], [2.0, 0.0]);
    check("1.34", &[], [true, true], [0.0, 0.0]);
    check("1.34", &[COUNTER, "no_such_metric"], [false, true], [0.0, 1.0]);
}

#[test]
fn what_was_seen_before_allocates_nothing() {
    let registry = registry();
    let counter = registry.counter::<3>(COUNTER);
    let histogram = registry.histogram::<3>(HISTOGRAM);
    let count = || {
        counter.inc(["get", "", "pods"]);
        histogram.observe(["get", "", "pods"], 0.003);
    };
    count();
    assert_eq!(allocation_counter::measure(count).count_total, 0);
}

#[test]
#[should_panic(expected = "type and labels of the metric etcd_requests_total")]
fn a_wrong_number_of_labels_is_a_defect() {
    let _ = registry().counter::<2>(COUNTER);
}

#[derive(Debug, Clone, Default)]
struct Exported(Arc<Mutex<Vec<(String, f64)>>>);

impl HistogramExport for Exported {
    fn series(&self, row: &MetricRow, labels: &[(&str, &str)]) -> Box<dyn Fn(f64) + Send + Sync> {
        let (all, name) = (self.0.clone(), format!("{} {labels:?}", row.name));
        Box::new(move |value| all.lock().unwrap().push((name.clone(), value)))
    }
}

#[test]
fn histograms_are_exported_as_well() {
    let exported = Exported::default();
    let export: Arc<dyn HistogramExport> = Arc::new(exported.clone());
    let registry = Registry::new(&MetricsOptions::default(), Some(export));
    registry.histogram::<1>("quorate_write_phase_duration_seconds").observe(["admit"], 0.5);
    let expect = r#"quorate_write_phase_duration_seconds [("phase", "admit")]"#;
    assert_eq!(*exported.0.lock().unwrap(), [(expect.to_owned(), 0.5)]);
}
