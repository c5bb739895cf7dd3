//! The page of metrics: what is on it, in which form, and who may read it.

use std::path::Path;
use std::process::{Command, Stdio};

use http::Method;
use quorate_access::authentication::User;
use serde_json::json;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const PROMTOOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/promtool");

/// A server that has done something of each kind.
async fn busy() -> Server {
    let server = Server::with_namespace().await;
    let map = json!({"metadata": {"name": "m"}}).to_string();
    for path in [MAPS, "/api/v1/namespaces/a/configmaps?dryRun=All"] {
        server.send(Method::POST, path, &[], map.clone()).await;
    }
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    server.send(Method::POST, "/api/v1/namespaces/a/pods", &[], pod.to_string()).await;
    for path in [MAPS, "/livez", "/no/such/path", "/apis/evil.example.com/v1/things"] {
        server.get(path).await;
    }
    for path in ["/api/v1/endpoints", "/api/v1/componentstatuses"] {
        server.get(path).await;
    }
    let watch = format!(
        "{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    server.get(&watch).await;
    server
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_told() {
    let server = busy().await;
    let answer = server.get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text();
    for line in [
        "# TYPE apiserver_request_total counter",
        "apiserver_request_total{verb=\"POST\",dry_run=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",subresource=\"\",scope=\"resource\",component=\"apiserver\",code=\"201\"} 1",
        "apiserver_request_total{verb=\"GET\",dry_run=\"\",group=\"\",version=\"\",resource=\"\",subresource=\"/livez\",scope=\"\",component=\"apiserver\",code=\"200\"} 1",
        "apiserver_requested_deprecated_apis{group=\"\",version=\"v1\",resource=\"endpoints\",subresource=\"\",removed_release=\"\"} 1",
        "apiserver_longrunning_requests{verb=\"WATCH\",group=\"\",version=\"v1\",resource=\"configmaps\",subresource=\"\",scope=\"namespace\",component=\"apiserver\"} 0",
        "apiserver_watch_list_duration_seconds_count{group=\"\",version=\"v1\",resource=\"configmaps\",scope=\"namespace\"} 1",
        "apiserver_init_events_total{group=\"\",resource=\"configmaps\"} 1",
        "apiserver_storage_objects{resource=\"configmaps\"} 1",
        "apiserver_validation_declarative_validation_mismatch_total 0",
        "declarative_validation_mismatch_total 0",
        "etcd_requests_total{operation=\"create\",group=\"\",resource=\"configmaps\"} 1",
        "kubernetes_feature_enabled{name=\"ServiceAccountTokenJTI\",stage=\"\"} 1",
        "authentication_attempts{result=\"success\"} 11",
        "authorization_attempts_total{result=\"allowed\"} 11",
    ] {
        assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("evil.example.com"), "a client has made up a label");
    assert!(!text.contains("kubernetes_healthcheck"), "that is on a page of its own");
    assert!(text.contains("_count{name=\"ServiceAccount\",type=\"admit\",operation=\"CREATE\""));
    let indicators = server.get("/metrics/slis").await.text();
    assert!(
        indicators.contains(
            "kubernetes_healthchecks_total{name=\"ping\",type=\"livez\",status=\"success\"} 1"
        ),
        "{indicators}"
    );
    assert!(!indicators.contains("apiserver_request_total"));
}

#[tokio::test]
async fn forms_and_methods() {
    let server = busy().await;
    let open = server.get_as("/metrics", "application/openmetrics-text; version=1.0.0").await;
    let expect = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), expect);
    assert!(open.text().ends_with("# EOF\n"));
    let reset = server.send(Method::DELETE, "/metrics", &[], "").await;
    assert_eq!((reset.status.as_u16(), reset.text().as_str()), (200, "metrics reset\n"));
    let text = server.get("/metrics").await.text();
    assert!(
        !text.contains("resource=\"configmaps\",subresource=\"\",scope=\"resource\""),
        "{text}"
    );
    for (method, path) in [(Method::POST, "/metrics"), (Method::DELETE, "/metrics/slis")] {
        assert_eq!(server.send(method, path, &[], "").await.status, 405, "{path}");
    }
    let paths = server.get("/").await.json();
    assert!(paths["paths"].as_array().unwrap().contains(&json!("/metrics")));
}

#[tokio::test]
async fn the_group_for_monitoring_reads_it() {
    let server = Server::new();
    let _controllers = server.defaults().await;
    let check = async |group: &str, method: Method, expect: u16| {
        let by = server.by(Some(User::new("u", [group.to_owned()])));
        let status = by.send(method.clone(), "/metrics", &[], "").await.status;
        assert_eq!(status, expect, "{method} by {group}");
    };
    check("system:monitoring", Method::GET, 200).await;
    check("system:monitoring", Method::DELETE, 403).await;
    check("system:authenticated", Method::GET, 403).await;
    check("system:masters", Method::DELETE, 200).await;
    assert_eq!(server.by(None).get("/metrics").await.status, 401);
}

/// The value of a series; `None` when it is not told.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.strip_suffix(' ').unwrap_or(line).starts_with(series));
    line?.rsplit_once(' ')?.1.parse().ok()
}

/// What a request adds to a series.
async fn moves(server: &Server, series: &str, method: Method, path: &str, body: serde_json::Value) {
    let before = value(&server.get("/metrics").await.text(), series).unwrap_or_default();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.send(method, path, &[], body).await;
    let text = server.get("/metrics").await.text();
    let after = value(&text, series).unwrap_or_default();
    assert!(after > before, "{path} has not moved {series}: {before} and {after} in\n{text}");
}

#[tokio::test]
async fn numbers_move_with_what_is_done() {
    let server = Server::for_pods().await;
    let _controllers = server.defaults().await;
    let get = async |series: &str, path: &str| {
        moves(&server, series, Method::GET, path, json!(null)).await;
    };
    let post = async |series: &str, path: &str, body: serde_json::Value| {
        moves(&server, series, Method::POST, path, body).await;
    };
    let labels = "{group=\"\",resource=\"configmaps\"";
    server.send(Method::POST, MAPS, &[], json!({"metadata": {"name": "m"}}).to_string()).await;
    get(&format!("apiserver_cache_list_total{labels}"), MAPS).await;
    get(&format!("apiserver_cache_list_fetched_objects_total{labels}"), MAPS).await;
    get(&format!("apiserver_cache_list_returned_objects_total{labels}"), MAPS).await;
    get(&format!("apiserver_watch_cache_consistent_read_total{labels},success=\"true\""), MAPS)
        .await;
    get(&format!("apiserver_watch_cache_read_wait_seconds_count{labels}"), MAPS).await;
    let version = server.get(MAPS).await.json()["metadata"]["resourceVersion"].clone();
    let exact =
        format!("{MAPS}?resourceVersion={}&resourceVersionMatch=Exact", version.as_str().unwrap());
    for of in [
        "list_total",
        "list_fetched_objects_total",
        "list_evaluated_objects_total",
        "list_returned_objects_total",
    ] {
        get(&format!("apiserver_storage_{of}{labels}"), &exact).await;
    }
    let watch = format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1");
    get(&format!("apiserver_watch_cache_events_dispatched_total{labels}"), &watch).await;
    post(
        &format!("apiserver_watch_cache_resource_version{labels}"),
        MAPS,
        json!({"metadata": {"name": "n"}}),
    )
    .await;
    for filter in ["authentication", "authorization", "priorityandfairness"] {
        let series =
            format!("apiserver_request_filter_duration_seconds_count{{filter=\"{filter}\"}}");
        get(&series, MAPS).await;
    }
    let service =
        |name: &str, spec: serde_json::Value| json!({"metadata": {"name": name}, "spec": spec});
    let port = json!([{"port": 80, "nodePort": 30080}]);
    let services = "/api/v1/namespaces/a/services";
    let address = "kube_apiserver_clusterip_allocator_";
    let ports = "kube_apiserver_nodeport_allocator_";
    let plain = |name: &str| service(name, json!({"ports": [{"port": 80}]}));
    post(
        &format!("{address}allocation_total{{cidr=\"10.96.0.0/16\",scope=\"dynamic\"}}"),
        services,
        plain("a"),
    )
    .await;
    post(&format!("{address}allocation_duration_seconds_count"), services, plain("b")).await;
    post(&format!("{address}allocated_ips"), services, plain("c")).await;
    let named = service("d", json!({"ports": [{"port": 80}], "clusterIP": "10.96.0.77"}));
    post(
        &format!("{address}allocation_total{{cidr=\"10.96.0.0/16\",scope=\"static\"}}"),
        services,
        named.clone(),
    )
    .await;
    let taken = service("e", named["spec"].clone());
    post(
        &format!("{address}allocation_errors_total{{cidr=\"10.96.0.0/16\",scope=\"static\"}}"),
        services,
        taken,
    )
    .await;
    let of_nodes = |name: &str, ports: &serde_json::Value| {
        service(name, json!({"type": "NodePort", "ports": ports}))
    };
    post(&format!("{ports}allocation_total{{scope=\"static\"}}"), services, of_nodes("f", &port))
        .await;
    post(
        &format!("{ports}allocation_errors_total{{scope=\"static\"}}"),
        services,
        of_nodes("g", &port),
    )
    .await;
    post(
        &format!("{ports}allocation_total{{scope=\"dynamic\"}}"),
        services,
        of_nodes("h", &json!([{"port": 80}])),
    )
    .await;
    post(&format!("{ports}allocated_ports"), services, of_nodes("i", &json!([{"port": 80}]))).await;
    let text = server.get("/metrics").await.text();
    let left = |series: &str, all: f64, used: &str| {
        let (left, used) = (value(&text, series).unwrap(), value(&text, used).unwrap());
        assert_eq!(left + used, all, "{series}");
    };
    left(&format!("{ports}available_ports"), 2_768.0, &format!("{ports}allocated_ports"));
    left(&format!("{address}available_ips"), 65_534.0, &format!("{address}allocated_ips"));
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    post("pod_security_evaluations_total{decision=\"allow\",policy_level=\"privileged\",policy_version=\"latest\",mode=\"enforce\",request_operation=\"create\",resource=\"pod\",subresource=\"\"}", "/api/v1/namespaces/a/pods", pod).await;
    let namespace = "/api/v1/namespaces";
    for what in ["adds_total", "work_duration_seconds_count", "queue_duration_seconds_count"] {
        let name = what.replace('_', "-");
        let series = format!("workqueue_{what}{{name=\"service-account-controller\"}}");
        server
            .send(Method::POST, namespace, &[], json!({"metadata": {"name": name}}).to_string())
            .await;
        eventually(&server, &series).await;
    }
    let apiserver = server.by(Some(User::new("system:apiserver", ["system:masters".to_owned()])));
    apiserver.get(MAPS).await;
    let text = server.get("/metrics").await.text();
    let own = "apiserver_selfrequest_total{verb=\"LIST\",group=\"\",resource=\"configmaps\",subresource=\"\"}";
    assert_eq!(value(&text, own), Some(1.0), "{text}");
    let anyone = server.by(Some(User::new("ann", ["system:authenticated".to_owned()])));
    anyone.get("/version").await;
    let text = server.get("/metrics").await.text();
    let allowed =
        "apiserver_authorization_decisions_total{type=\"RBAC\",name=\"rbac\",decision=\"allowed\"}";
    assert!(value(&text, allowed).is_some_and(|count| count >= 1.0), "{text}");
    assert_eq!(
        value(&text, "aggregator_unavailable_apiservice{name=\"v1.apps\"}"),
        Some(0.0),
        "{text}"
    );
}

/// Until a series is told that is more than zero.
async fn eventually(server: &Server, series: &str) {
    for _ in 0..200 {
        let text = server.get("/metrics").await.text();
        if value(&text, series).is_some_and(|value| value > 0.0) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{series} does not move");
}

/// `promtool` of Prometheus knows what scrapers accept.
#[tokio::test(start_paused = true)]
async fn promtool_accepts_it() {
    if !Path::new(PROMTOOL).exists() {
        eprintln!("skipped: .ci/tools puts promtool there");
        return;
    }
    let text = busy().await.get("/metrics").await.text();
    let mut check = Command::new(PROMTOOL);
    check.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut check = check.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut check.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    // Advice about names, which are those of the field, is no refusal (3).
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    assert!(!told.contains("error while linting"), "{told}");
}
