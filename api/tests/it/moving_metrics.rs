//! Numbers that move with what is done: lists, watches, addresses, rights and controllers.

use std::time::Duration;

use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SERVICES: &str = "/api/v1/namespaces/a/services";
/// How often it is looked whether a number has moved, and the time between.
const LOOKS: usize = 500;
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// The sum of the series whose lines begin so.
async fn value(server: &Server, begin: &str) -> f64 {
    let text = server.get("/metrics").await.text();
    let lines = text.lines().filter(|line| line.starts_with(begin));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// What reads a path moves a number.
async fn get_moves(server: &Server, path: &str, series: &str) {
    let before = value(server, series).await;
    server.get(path).await;
    let after = value(server, series).await;
    assert!(after > before, "{path} has not moved {series} from {before}");
}

/// The create of an object moves a number, at once or a little later.
async fn post_moves(server: &Server, path: &str, object: Value, series: &str) {
    let before = value(server, series).await;
    server.send(Method::POST, path, &[], &object.to_string()).await;
    for _ in 0..LOOKS {
        if value(server, series).await > before {
            return;
        }
        sleep(LOOK_PERIOD).await;
    }
    panic!("{object} has not moved {series} from {before}");
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test(start_paused = true)]
async fn lists_and_watches() {
    let server = Server::with_namespace().await;
    let labels = "{group=\"\",resource=\"configmaps\"";
    server.send(Method::POST, MAPS, &[], &named("m").to_string()).await;
    let check = async |path: &str, what: &str| {
        get_moves(&server, path, &format!("apiserver_{what}{labels}")).await;
    };
    check(MAPS, "cache_list_total").await;
    check(MAPS, "cache_list_fetched_objects_total").await;
    check(MAPS, "cache_list_returned_objects_total").await;
    check(MAPS, "watch_cache_consistent_read_total").await;
    check(MAPS, "watch_cache_read_wait_seconds_count").await;
    let list = server.get(MAPS).await.json();
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    check(&exact, "storage_list_total").await;
    check(&exact, "storage_list_fetched_objects_total").await;
    check(&exact, "storage_list_evaluated_objects_total").await;
    check(&exact, "storage_list_returned_objects_total").await;
    let watch = format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1");
    check(&watch, "watch_cache_events_dispatched_total").await;
    let reached = format!("apiserver_watch_cache_resource_version{labels}");
    post_moves(&server, MAPS, named("n"), &reached).await;
}

#[tokio::test]
async fn addresses_and_ports() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let service = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    let check = async |series: &str, name: &str, spec: Value| {
        let begin = format!("kube_apiserver_{series}");
        post_moves(&server, SERVICES, service(name, spec), &begin).await;
    };
    let address = |what: &str, scope: &str| {
        format!("clusterip_allocator_{what}{{cidr=\"10.96.0.0/16\",scope=\"{scope}\"}}")
    };
    let plain = || json!({"ports": [{"port": 80}]});
    let asked = || json!({"ports": [{"port": 80}], "clusterIP": "10.96.0.77"});
    check(&address("allocation_total", "dynamic"), "a", plain()).await;
    check("clusterip_allocator_allocation_duration_seconds_count", "b", plain()).await;
    check("clusterip_allocator_allocated_ips", "c", plain()).await;
    check(&address("allocation_total", "static"), "d", asked()).await;
    check(&address("allocation_errors_total", "static"), "e", asked()).await;
    let port = |what: &str, scope: &str| format!("nodeport_allocator_{what}{{scope=\"{scope}\"}}");
    let plain = || json!({"type": "NodePort", "ports": [{"port": 80}]});
    let asked = || json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]});
    check(&port("allocation_total", "dynamic"), "f", plain()).await;
    check("nodeport_allocator_allocated_ports", "g", plain()).await;
    check(&port("allocation_total", "static"), "h", asked()).await;
    check(&port("allocation_errors_total", "static"), "i", asked()).await;
    for (all, what) in [(65_534.0, ["clusterip", "ips"]), (2_768.0, ["nodeport", "ports"])] {
        let [kind, unit] = what;
        let used = format!("kube_apiserver_{kind}_allocator_allocated_{unit}");
        let left = format!("kube_apiserver_{kind}_allocator_available_{unit}");
        assert_eq!(value(&server, &used).await + value(&server, &left).await, all, "{kind}");
    }
}

#[tokio::test]
async fn rights_and_filters() {
    let server = Server::for_pods().await;
    let _controllers = server.defaults().await;
    for filter in ["authentication", "authorization", "priorityandfairness"] {
        let name = "apiserver_request_filter_duration_seconds_count";
        get_moves(&server, MAPS, &format!("{name}{{filter=\"{filter}\"}}")).await;
    }
    let user = |name: &str, group: &str| server.by(Some(User::new(name, [group.to_owned()])));
    let rbac = "apiserver_authorization_decisions_total{type=\"RBAC\",name=\"rbac\"";
    let before = value(&server, rbac).await;
    user("ann", "system:authenticated").get("/version").await;
    assert_eq!(value(&server, rbac).await, before + 1.0);
    user("system:apiserver", "system:masters").get(MAPS).await;
    assert_eq!(value(&server, "apiserver_selfrequest_total").await, 1.0);
    let containers = json!([{"name": "c", "image": "i"}]);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": containers}});
    let evaluated = "pod_security_evaluations_total{decision=\"allow\",policy_level=\"privileged\",policy_version=\"latest\",mode=\"enforce\",request_operation=\"create\",resource=\"pod\"";
    post_moves(&server, "/api/v1/namespaces/a/pods", pod, evaluated).await;
}

#[tokio::test]
async fn controllers_and_what_they_say() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    for (name, what) in [
        ("b", "adds_total"),
        ("c", "work_duration_seconds_count"),
        ("d", "queue_duration_seconds_count"),
    ] {
        let series = format!("workqueue_{what}{{name=\"service-account-controller\"}}");
        post_moves(&server, "/api/v1/namespaces", named(name), &series).await;
    }
    let text = server.get("/metrics").await.text();
    let depth = "workqueue_depth{name=\"service-account-controller\"} 0";
    assert!(text.lines().any(|line| line == depth), "{text}");
    let service = "aggregator_unavailable_apiservice{name=\"v1.elsewhere.example.com\"}";
    let spec = json!({
        "group": "elsewhere.example.com", "version": "v1", "groupPriorityMinimum": 1,
        "versionPriority": 1, "insecureSkipTLSVerify": true,
        "service": {"namespace": "a", "name": "s"},
    });
    let object = json!({"metadata": {"name": "v1.elsewhere.example.com"}, "spec": spec});
    let path = "/apis/apiregistration.svc.io/v1/apiservices";
    post_moves(&server, path, object, service).await;
}
