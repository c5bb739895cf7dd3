//! Logs of pods, streams of containers, and proxies, with a kubelet that a test plays and without.

use http::Method;
use quorate_webhook::testing::{Does, Server as Kubelet};
use serde_json::{Value, json};

use crate::harness::{Answer, Server};
use crate::nodes::make;

const PODS: &str = "/api/v1/namespaces/a/pods";
const UPGRADE: [(&str, &str); 2] = [("connection", "Upgrade"), ("upgrade", "websocket")];

/// Pods: one without a node, one of two containers, one at a node of this address, and one at a
/// node that is not there.
async fn setting(address: &str) -> Server {
    let server = Server::for_pods().await;
    let (host, port) = address.rsplit_once(':').unwrap();
    let port: u16 = port.parse().unwrap();
    make(&server, "/api/v1/nodes", json!({"metadata": {"name": "n"}})).await;
    make(&server, "/api/v1/nodes", json!({"metadata": {"name": "bare"}})).await;
    let status = json!({"status": {
        "addresses": [{"type": "InternalIP", "address": host}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}
    }});
    let merge = [("content-type", "application/merge-patch+json")];
    let path = "/api/v1/nodes/n/status";
    let patched = server.send(Method::PATCH, path, &merge, status.to_string()).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    let container = |name: &str| json!({"name": name, "image": "i"});
    for (name, node, containers) in [
        ("loose", Value::Null, json!([container("c")])),
        ("two", json!("n"), json!([container("c"), container("d")])),
        ("bound", json!("n"), json!([container("c")])),
        ("lost", json!("nowhere"), json!([container("c")])),
        ("nameless", json!("bare"), json!([container("c")])),
    ] {
        let spec = json!({"nodeName": node, "containers": containers});
        make(&server, PODS, json!({"metadata": {"name": name}, "spec": spec})).await;
    }
    server
}

#[track_caller]
fn check_error(answer: &Answer, code: u16, message: &str) {
    assert_eq!((answer.status.as_u16(), &answer.json()["message"]), (code, &json!(message)));
}

#[tokio::test]
async fn a_log_is_what_the_kubelet_has() {
    let kubelet = Kubelet::start_with(&[b"http/1.1"]).await;
    let server = setting(&kubelet.address).await;
    kubelet.then(&[Does::Answers(200, "one\ntwo\n"), Does::Answers(200, "")]);
    let log = server.get(&format!("{PODS}/bound/log?tailLines=2&follow=true")).await;
    assert_eq!((log.status.as_u16(), &*log.text()), (200, "one\ntwo\n"));
    assert_eq!(log.headers["content-type"], "text/plain");
    let log = server.get(&format!("{PODS}/two/log?container=d&previous=1")).await;
    assert_eq!((log.status.as_u16(), &*log.text()), (200, ""));
    let asked: Vec<String> = kubelet.asked().into_iter().map(|asked| asked.uri).collect();
    assert_eq!(
        asked,
        [
            "/containerLogs/a/bound/c?follow=true&tailLines=2",
            "/containerLogs/a/two/d?previous=true"
        ]
    );
}

#[tokio::test]
async fn a_kubelet_may_refuse() {
    let kubelet = Kubelet::start_with(&[b"http/1.1"]).await;
    let server = setting(&kubelet.address).await;
    kubelet.then(&[
        Does::Answers(400, "not started"),
        Does::Answers(404, "x"),
        Does::Answers(502, "y"),
    ]);
    let log = async || server.get(&format!("{PODS}/bound/log")).await;
    check_error(&log().await, 400, "not started");
    check_error(
        &log().await,
        404,
        "the server could not find the requested resource ( pods/log bound)",
    );
    let why = "an error on the server (\"y\") has prevented the request from succeeding ( pods/log bound)";
    check_error(&log().await, 502, why);
}

#[tokio::test]
async fn a_log_that_cannot_be_had() {
    let server = setting("127.0.0.1:1").await;
    let log = async |path: &str| server.get(&format!("{PODS}/{path}")).await;
    let nothing = log("loose/log").await;
    assert_eq!((nothing.status.as_u16(), &*nothing.text()), (204, ""));
    for (path, code, message) in [
        ("none/log", 404, "pods \"none\" not found"),
        ("two/log", 400, "a container name must be specified for pod two, choose one of: [c d]"),
        ("loose/log?container=x", 400, "container x is not valid for pod loose"),
        ("bound/log?asOf=1", 400, "asOf: log is not stored"),
        ("loose/log?tailLines=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"),
        (
            "loose/log?sinceTime=x",
            400,
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
        (
            "loose/log?limitBytes=0",
            422,
            "PodLogOptions \"loose\" is invalid: limitBytes: Invalid value: 0: must be greater than 0",
        ),
        ("lost/log", 404, "nodes \"nowhere\" not found"),
        ("nameless/log", 500, "no preferred addresses found; known addresses: []"),
        (
            "bound/log?tailLines=1",
            500,
            "Get \"https://127.0.0.1:1/containerLogs/a/bound/c?tailLines=1\": dial tcp 127.0.0.1:1: connect: connection refused",
        ),
    ] {
        check_error(&log(path).await, code, message);
    }
    let posted = server.send(Method::POST, &format!("{PODS}/loose/log"), &[], "").await;
    assert_eq!(posted.status, 405);
}

#[tokio::test]
async fn streams_say_why_there_is_none() {
    let server = setting("127.0.0.1:1").await;
    for stream in ["exec", "attach", "portforward"] {
        for method in [Method::GET, Method::POST] {
            let ask = async |pod: &str, headers: &[(&str, &str)]| {
                let path = format!("{PODS}/{pod}/{stream}?command=ls");
                server.send(method.clone(), &path, headers, "").await
            };
            check_error(&ask("none", &UPGRADE).await, 404, "pods \"none\" not found");
            check_error(
                &ask("loose", &UPGRADE).await,
                400,
                "pod loose does not have a host assigned",
            );
            check_error(&ask("bound", &[]).await, 400, "Upgrade request required");
            check_error(
                &ask("bound", &UPGRADE).await,
                500,
                "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused",
            );
            if stream != "portforward" {
                let why = "a container name must be specified for pod two, choose one of: [c d]";
                check_error(&ask("two", &UPGRADE).await, 400, why);
            }
        }
    }
}

#[tokio::test]
async fn a_proxied_request_reaches_the_server_of_a_node() {
    let kubelet = Kubelet::start_with(&[b"http/1.1"]).await;
    let server = setting(&kubelet.address).await;
    kubelet.then(&[Does::Answers(200, "ok"), Does::Answers(418, "tea")]);
    let answer = server.get("/api/v1/nodes/n/proxy/stats//summary?x=%2Fy").await;
    assert_eq!((answer.status.as_u16(), &*answer.text()), (200, "ok"));
    let answer = server.send(Method::POST, "/api/v1/nodes/n/proxy/run", &[], "body").await;
    assert_eq!((answer.status.as_u16(), &*answer.text()), (418, "tea"));
    let asked: Vec<(String, Vec<u8>)> =
        kubelet.asked().into_iter().map(|asked| (asked.uri, asked.body.to_vec())).collect();
    let expect = [("/stats//summary?x=%2Fy", &b""[..]), ("/run", b"body")];
    assert_eq!(asked, expect.map(|(uri, body)| (uri.to_owned(), body.to_vec())));
    let moved = server.get("/api/v1/nodes/n/proxy?a=b").await;
    assert_eq!(
        (moved.status.as_u16(), moved.headers["location"].to_str().unwrap()),
        (301, "/api/v1/nodes/n/proxy/?a=b")
    );
}

#[tokio::test]
async fn a_proxied_request_is_a_part_of_the_trace_of_its_client() {
    let kubelet = Kubelet::start_with(&[b"http/1.1"]).await;
    let server = setting(&kubelet.address).await;
    kubelet.then(&[Does::Answers(200, "ok")]);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let path = "/api/v1/nodes/n/proxy/reset/of-a-secret";
    let state = [("tracestate", "rojo=1, congo=2"), ("tracestate", "last=3")];
    let headers = [("traceparent", &*parent), state[0], state[1], ("baggage", "user=a;p, b = 2")];
    server.send(Method::GET, path, &headers, "").await;
    let asked = kubelet.asked().remove(0);
    assert_eq!((&*asked.tracestate, &*asked.baggage), ("rojo=1,congo=2,last=3", "user=a;p, b = 2"));
    let asked = asked.traceparent;
    let traces = server.traces.take();
    let handler = traces[0].spans.iter().find(|span| span.name == "handler").expect("sampled");
    assert_eq!(asked, format!("00-{trace}-{}-01", handler.span));
    assert!(!format!("{traces:?}").contains("of-a-secret"));

    // What is malformed goes no further; nor does what has no valid parent, and the baggage does.
    for (parent, state) in [(&*parent, "rojo"), ("00-wrong", "rojo=1"), ("", "rojo=1")] {
        kubelet.then(&[Does::Answers(200, "ok")]);
        let headers = [("traceparent", parent), ("tracestate", state), ("baggage", "user=a")];
        server.send(Method::GET, path, &headers, "").await;
        let asked = kubelet.asked().remove(0);
        assert_eq!((&*asked.tracestate, &*asked.baggage), ("", "user=a"), "{parent} {state}");
        assert_ne!(asked.traceparent, parent);
    }
}

#[tokio::test]
async fn a_proxy_says_why_it_reaches_nothing() {
    let server = setting("127.0.0.1:1").await;
    let services = "/api/v1/namespaces/a/services";
    let service = json!({"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 80, "name": "web"}]}});
    make(&server, services, service).await;
    let endpoints = json!({"metadata": {"name": "s"}, "subsets": [
        {"addresses": [{"ip": "10.0.0.9"}], "ports": [{"port": 80, "name": "web"}]}
    ]});
    let none = format!("{services}/s/proxy/");
    check_error(&server.get(&none).await, 404, "endpoints \"s\" not found");
    make(&server, "/api/v1/namespaces/a/endpoints", endpoints).await;
    for (path, code, message) in [
        (format!("{PODS}/bound/proxy/"), 400, "address not allowed"),
        (format!("{PODS}/ftp:bound:21/proxy/"), 400, "invalid pod request \"ftp:bound:21\""),
        (format!("{PODS}/none/proxy/"), 404, "pods \"none\" not found"),
        (
            "/api/v1/nodes/n/proxy/x".to_owned(),
            503,
            "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        ("/api/v1/nodes/nowhere/proxy/x".to_owned(), 404, "nodes \"nowhere\" not found"),
        (format!("{services}/s:81/proxy/"), 503, "no service port 81 found for service \"s\""),
        // No pod has the address, so it is not believed.
        (
            format!("{services}/http:s:web/proxy/"),
            503,
            "no endpoints available for service \"http:s:web\"",
        ),
    ] {
        check_error(&server.get(&path).await, code, message);
    }
}
