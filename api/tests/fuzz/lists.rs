//! Concurrent lists: their memory grows with their number and not with what they list.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use quorate_api::body::Body;
use quorate_api::filters;
use tokio::runtime::Builder;

use crate::harness::Server;

/// Lists under way at a time.
const LISTS: usize = 10;
/// Bytes of memory for one of them while its client holds a buffer and has not asked for the next:
/// a buffer that was written and what is kept to go on.
const PER_LIST: u64 = 384 * 1024;

/// Lists `objects` of `bytes` each, all lists step by step together.
fn check(objects: usize, bytes: usize, accept: &str) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let server = runtime.block_on(async {
        let server = Server::with_gates("CBORServingAndStorage=true").await;
        let payload = "x".repeat(bytes);
        for number in 0..objects {
            let object =
                format!(r#"{{"metadata":{{"name":"o-{number}"}},"data":{{"k":"{payload}"}}}}"#);
            let made =
                server.send(Method::POST, "/api/v1/namespaces/a/configmaps", &[], &object).await;
            assert_eq!(made.status, 201, "{}", made.text());
        }
        server
    });
    // What is made once for all lists, such as the messages that are kept, is not theirs.
    runtime.block_on(list_together(&server, accept));
    let mut listed = 0;
    let used =
        allocation_counter::measure(|| listed = runtime.block_on(list_together(&server, accept)));
    let collection = (objects * bytes) as u64;
    assert!(listed >= LISTS as u64 * collection, "{accept}: {listed} bytes cannot be all of it");
    let most = PER_LIST * LISTS as u64;
    assert!(most < LISTS as u64 * collection / 4, "the collection is too small to show anything");
    assert!(
        used.bytes_max <= most,
        "{accept}, {objects} objects of {bytes}: {} bytes, more than {most}",
        used.bytes_max
    );
}

/// Opens the lists and reads a buffer of each in turn, holding the newest. Gives the bytes that
/// came.
async fn list_together(server: &Server, accept: &str) -> u64 {
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        lists.push((open(server, accept).await, Bytes::new()));
    }
    let mut listed = 0;
    while !lists.is_empty() {
        let mut going = Vec::with_capacity(lists.len());
        for (mut body, _) in lists {
            if let Some(frame) = body.frame().await {
                let buffer = frame.unwrap().into_data().unwrap_or_default();
                listed += buffer.len() as u64;
                going.push((body, buffer));
            }
        }
        lists = going;
    }
    listed
}

async fn open(server: &Server, accept: &str) -> Body {
    let request = Request::builder()
        .uri("/api/v1/namespaces/a/configmaps?includeObject=Object")
        .header("accept", accept);
    let answer = filters::handle(
        &server.api,
        &server.identity,
        request.body(Full::<Bytes>::default()).unwrap(),
    )
    .await;
    assert_eq!(answer.status(), 200);
    answer.into_body()
}

#[test]
fn lists_take_memory_by_their_number() {
    for accept in [
        "application/json",
        "application/json;as=Table;g=meta.svc.io;v=v1",
        "application/yaml",
        "application/vnd.svc.protobuf",
        "application/cbor",
    ] {
        check(512, 4 * 1024, accept);
        check(16, 128 * 1024, accept);
    }
}
