//! Requests are counted under labels of the server's making, at a bounded cost.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use quorate_access::request::RequestInfo;
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_metrics::{Registry, SampleValue, Since};

use super::*;

const NAMING: Naming = Naming::Svc;

fn info(method: &str, uri: &str) -> RequestInfo {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    RequestInfo::parse(NAMING.names(), &method, &uri.parse().unwrap())
}

/// The labels of each series, in order, with its count.
pub(super) fn series(registry: &Registry, name: &str) -> Vec<String> {
    let gathered = registry.gather_one(name, Since::Start);
    let samples = gathered.map(|gathered| gathered.samples).unwrap_or_default();
    let line = |sample: quorate_metrics::Sample| match sample.value {
        SampleValue::Number(value) => format!("{} = {value}", sample.labels.join(",")),
        SampleValue::Histogram { buckets, sum } => {
            format!("{} = {} {sum}", sample.labels.join(","), buckets.iter().sum::<u64>())
        }
    };
    samples.into_iter().map(line).collect()
}

fn end<'r>(
    info: &'r RequestInfo,
    headers: &'r HeaderMap,
    resource: Option<&'r quorate_registry::Resource>,
) -> RequestEnd<'r> {
    RequestEnd {
        info,
        headers,
        resource,
        status: StatusCode::OK,
        request_bytes: 0,
        deprecated: None,
        is_terminated: false,
        is_own: false,
        waited: Duration::from_millis(100),
    }
}

#[test]
fn a_request_is_counted() {
    let registry = Arc::<Registry>::default();
    let metrics = RequestMetrics::new(&registry);
    let (catalogue, headers) = (builtin::catalogue_of(NAMING.names()), HeaderMap::new());
    let resource = catalogue.find("", "v1", "configmaps").map(|resource| &**resource);
    let read = info("GET", "/api/v1/namespaces/a/configmaps/b");
    metrics.ended(&end(&read, &headers, resource), Duration::from_millis(500), 2_000);
    let write = info("POST", "/api/v1/namespaces/a/configmaps?dryRun=All");
    let write = RequestEnd {
        status: StatusCode::CREATED,
        request_bytes: 70_000,
        ..end(&write, &headers, resource)
    };
    metrics.ended(&write, Duration::from_secs(1), 100);
    let check = |name: &str, expect: &[&str]| assert_eq!(series(&registry, name), expect, "{name}");
    check(
        "apiserver_request_total",
        &[
            "GET,,,v1,configmaps,,resource,apiserver,200 = 1",
            "POST,All,,v1,configmaps,,resource,apiserver,201 = 1",
        ],
    );
    check(
        "apiserver_request_duration_seconds",
        &[
            "GET,,,v1,configmaps,,resource,apiserver = 1 0.5",
            "POST,All,,v1,configmaps,,resource,apiserver = 1 1",
        ],
    );
    check(
        "apiserver_request_sli_duration_seconds",
        &["GET,,v1,configmaps,,resource,apiserver = 1 0.4"],
    );
    check("apiserver_response_sizes", &["GET,,v1,configmaps,,resource,apiserver = 1 2000"]);
    check("apiserver_request_body_size_bytes", &[",configmaps,create = 1 70000"]);
    check("apiserver_request_terminations_total", &[]);
}

#[test]
fn a_watch_is_counted_while_it_runs_and_when_it_ends() {
    let registry = Arc::<Registry>::default();
    let metrics = RequestMetrics::new(&registry);
    let (catalogue, headers) = (builtin::catalogue_of(NAMING.names()), HeaderMap::new());
    let resource = catalogue.find("", "v1", "configmaps").map(|resource| &**resource);
    let watch = info("GET", "/api/v1/configmaps?watch=1");
    let under_way = metrics.answering(&end(&watch, &headers, resource));
    let open = "apiserver_longrunning_requests";
    let labels = "WATCH,,v1,configmaps,,cluster,apiserver";
    assert_eq!(series(&registry, open), [format!("{labels} = 1")]);
    assert_eq!(
        series(&registry, "apiserver_request_total"),
        ["WATCH,,,v1,configmaps,,cluster,apiserver,200 = 0"]
    );
    under_way.ended(Duration::from_secs(60), 10, 0);
    assert_eq!(series(&registry, open), [format!("{labels} = 0")]);
    assert_eq!(series(&registry, "apiserver_request_sli_duration_seconds"), [] as [&str; 0]);
    assert_eq!(
        series(&registry, "apiserver_request_total"),
        ["WATCH,,,v1,configmaps,,cluster,apiserver,200 = 1"]
    );
}

/// Whatever clients make up, there are as many series as the server has kinds of requests.
#[test]
fn hostile_requests_make_no_series() {
    let registry = Arc::<Registry>::default();
    let metrics = RequestMetrics::new(&registry);
    let catalogue = builtin::catalogue_of(NAMING.names());
    let pods = catalogue.find("", "v1", "pods").map(|resource| &**resource);
    for number in 0..2_000 {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", format!("evil/{number}").parse().unwrap());
        headers.insert("content-type", format!("application/x-{number}").parse().unwrap());
        let requests = [
            info(&format!("VERB{number}"), &format!("/apis/evil{number}.example.com/v1/things")),
            info("GET", &format!("/apis/evil{number}.example.com/v{number}/things/a{number}")),
            info("GET", &format!("/no/such/path/{number}")),
            info("GET", &format!("/openapi/v3/{number}")),
            info("PATCH", &format!("/api/v1/r{number}?dryRun={number}")),
        ];
        for request in &requests {
            metrics.ended(&end(request, &headers, None), Duration::ZERO, 0);
            metrics.aborted(request, &headers, None);
        }
        let served = [
            info(&format!("VERB{number}"), "/api/v1/pods"),
            info("GET", &format!("/api/v1/namespaces/n{number}/pods/p{number}/sub{number}")),
            info("POST", &format!("/api/v1/namespaces/n{number}/pods?dryRun=x{number}")),
        ];
        for request in &served {
            metrics.ended(&end(request, &headers, pods), Duration::ZERO, 0);
        }
    }
    assert_eq!(
        series(&registry, "apiserver_request_total"),
        [
            "GET,,,,,,,apiserver,200 = 4000",
            "GET,,,,,/openapi/v3,,apiserver,200 = 2000",
            "GET,,,v1,pods,,resource,apiserver,200 = 2000",
            "PATCH,,,,,,,apiserver,200 = 2000",
            "POST,invalid,,v1,pods,,resource,apiserver,200 = 2000",
            "other,,,,,,,apiserver,200 = 2000",
            "other,,,v1,pods,,cluster,apiserver,200 = 2000",
        ]
    );
    assert_eq!(series(&registry, "apiserver_request_aborts_total").len(), 4);
}

#[test]
fn a_kind_of_request_that_was_seen_before_allocates_nothing() {
    let registry = Arc::<Registry>::default();
    let metrics = RequestMetrics::new(&registry);
    let (catalogue, headers) = (builtin::catalogue_of(NAMING.names()), HeaderMap::new());
    let resource = catalogue.find("", "v1", "configmaps").map(|resource| &**resource);
    let read = info("GET", "/api/v1/namespaces/a/configmaps/b");
    let count = || metrics.ended(&end(&read, &headers, resource), Duration::from_millis(3), 100);
    count();
    assert_eq!(allocation_counter::measure(count).count_total, 0);
}

#[test]
fn calls_to_webhooks_are_counted() {
    use quorate_webhook::{CallEnd, CallMetrics};
    let registry = Registry::default();
    let metrics = RestClientMetrics::new(&registry);
    let call = CallEnd {
        host: "hook:443",
        status: Some(StatusCode::OK),
        sent: 100,
        received: 300,
        took: Duration::from_millis(250),
    };
    metrics.ended(&call);
    metrics.ended(&CallEnd { status: None, received: 0, ..call });
    metrics.sent_again("hook:443");
    let check = |name: &str, expect: &[&str]| {
        assert_eq!(series(&registry, &format!("rest_client_{name}")), expect, "{name}");
    };
    check("requests_total", &["200,POST,hook:443 = 1", "<error>,POST,hook:443 = 1"]);
    check("request_duration_seconds", &["POST,hook:443 = 2 0.5"]);
    check("request_size_bytes", &["POST,hook:443 = 2 200"]);
    check("response_size_bytes", &["POST,hook:443 = 2 300"]);
    check("request_retries_total", &["<error>,POST,hook:443 = 1"]);
}

#[test]
fn match_conditions_are_counted() {
    use quorate_admission::webhook::{
        ConditionsOutcome, ConditionsResult, WebhookMetrics, WebhookType,
    };
    let registry = Registry::default();
    let metrics = WebhookCalls::new(&registry);
    for outcome in [ConditionsOutcome::Hold, ConditionsOutcome::Exclude, ConditionsOutcome::Fail] {
        metrics.conditions_evaluated(&ConditionsResult {
            webhook: "w",
            webhook_type: WebhookType::Validating,
            operation: quorate_registry::AdmissionOperation::Create,
            outcome,
            took: Duration::from_millis(500),
        });
    }
    let check = |name: &str, expect: &str| {
        let name = format!("apiserver_admission_match_condition_{name}");
        assert_eq!(series(&registry, &name), [expect], "{name}");
    };
    check("evaluation_seconds", "w,webhook,validating,CREATE = 3 1.5");
    check("exclusions_total", "w,webhook,validating,CREATE = 1");
    check("evaluation_errors_total", "w,webhook,validating,CREATE = 1");
}
