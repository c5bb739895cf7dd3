//! Allocations of one request of each kind: memory is cold where it comes from, so this is a good
//! part of a request's time.

use http::{Method, Request};
use http_body_util::Full;
use quorate_api::filters;
use tokio::runtime::Builder;

use crate::harness::Server;

const OBJECTS: &str = "/api/v1/namespaces/a/configmaps";

/// Sends a request to one object of a few hundred bytes; it may take so many blocks and bytes.
fn check(method: &Method, media: &str, query: &str, body: &str, blocks: u64, bytes: u64) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let value = "x".repeat(256);
    let object = |name: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"a"}},"data":{{"k":"{value}"}}}}"#
        )
    };
    let server = runtime.block_on(async {
        let server = Server::new();
        server.namespace("a").await;
        for name in ["one", "two"] {
            assert_eq!(server.send(Method::POST, OBJECTS, &[], &object(name)).await.status, 201);
        }
        server
    });
    let send = |name: &str| {
        let path =
            if *method == Method::POST { OBJECTS.to_owned() } else { format!("{OBJECTS}/{name}") };
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}{query}"))
            .header("content-type", media);
        let body =
            if body.is_empty() { String::new() } else { object(name).replace("\"k\":", body) };
        let request = request.body(Full::from(body)).unwrap();
        let answer = runtime.block_on(filters::handle(&server.api, &server.identity, request));
        assert!(answer.status().is_success(), "{method}: {}", answer.status());
    };
    let (first, second) = if *method == Method::POST { ("three", "four") } else { ("one", "two") };
    // What is made once for all requests is not counted.
    send(first);
    let used = allocation_counter::measure(|| send(second));
    assert!(
        used.count_total <= blocks,
        "{method}: {} blocks, more than {blocks}",
        used.count_total
    );
    assert!(used.bytes_total <= bytes, "{method}: {} bytes, more than {bytes}", used.bytes_total);
}

/// A few more than they take today. Of a write's, some nine are the origin that is kept with it and the
/// past that the memory store keeps.
#[test]
fn requests_take_few_blocks_of_memory() {
    let (json, apply) = ("application/json", "application/apply-patch+yaml");
    check(&Method::GET, json, "", "", 24, 9_500);
    check(&Method::POST, json, "", "\"k\":", 109, 23_200);
    check(&Method::PUT, json, "", "\"l\":", 146, 28_500);
    check(&Method::PATCH, apply, "?fieldManager=m&force=true", "\"l\":", 189, 34_000);
}
