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
