//! Memory: many whole lists at a time (kubernetes#96082), and what an object costs besides its bytes
//! (kubernetes#142062: 5.2 times the bytes of custom resources with many small fields).

use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::load::make_namespace;
use crate::support::{Client, Cluster, eventually};

/// Custom resources of several KB each, as scanners make them.
const OBJECTS: usize = 3000;
const COMPONENTS: usize = 60;
/// Clients that make them at the same time.
const WRITERS: usize = 8;
/// Clients that list all of them at the same time, without pages.
const READERS: usize = 50;
const REPORTS: &str = "/apis/example.com/v1/namespaces/load/reports";

fn definition() -> Value {
    let component = json!({ "type": "object", "properties": {
        "name": { "type": "string" }, "version": { "type": "string" },
        "license": { "type": "string" }, "depth": { "type": "integer" },
    } });
    let components = json!({ "type": "array", "items": component });
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "components": components } }
    } });
    json!({
        "metadata": { "name": "reports.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "reports", "singular": "report", "kind": "Report", "listKind": "ReportList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

fn report(number: usize) -> Value {
    let component = |at: usize| {
        let name = format!("component-{number}-{at}");
        json!({ "name": name, "version": "1.2.3", "license": "Apache-2.0", "depth": at })
    };
    let components: Vec<Value> = (0..COMPONENTS).map(component).collect();
    json!({
        "apiVersion": "example.com/v1", "kind": "Report",
        "metadata": { "name": format!("r{number}") }, "spec": { "components": components },
    })
}

async fn define(client: &mut Client) {
    let definitions = "/apis/apiextensions.svc.io/v1/customresourcedefinitions";
    client.post(definitions, &definition()).await.expect(201);
    eventually("reports are served", async || {
        (client.get(REPORTS).await.status == 200).then_some(())
    })
    .await;
}

async fn make_reports(cluster: &Cluster) {
    let write = |writer: usize| {
        let mut client = cluster.client(1);
        async move {
            for number in (writer..OBJECTS).step_by(WRITERS) {
                client.post(REPORTS, &report(number)).await.expect(201);
            }
        }
    };
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(writer))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

/// A list whose client has read its beginning and no more yet.
struct Unread {
    body: Incoming,
    bytes: Vec<u8>,
    _client: Client,
}

async fn begin_list(mut client: Client, number: usize) -> Unread {
    let path = format!("{REPORTS}{}", ["", "?resourceVersion=0"][number % 2]);
    let answer = client.start(Method::GET, &path, None).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    Unread { body, bytes: first.to_vec(), _client: client }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_and_whole_lists_cost_little_more_than_their_bytes() {
    let cluster = Cluster::start(1, &[]);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "load").await;
    define(&mut client).await;
    let bytes = async || cluster.metric(1, "quorate_store_bytes").await.unwrap() as u64;
    let (empty, before) = (bytes().await, cluster.resident(1));
    make_reports(&cluster).await;
    let (state, resident) = (bytes().await - empty, cluster.resident(1) - before);
    println!("{state} bytes of state, {resident} bytes of memory");
    assert!(state > 10 << 20, "{state} bytes are not much");
    assert!(resident < state * 3, "{state} bytes take {resident} bytes of memory");

    cluster.forget_peak(1);
    let before = cluster.resident(1);
    let lists = (0..READERS).map(|number| tokio::spawn(begin_list(cluster.client(1), number)));
    let mut open = Vec::new();
    for list in lists.collect::<Vec<_>>() {
        open.push(list.await.unwrap());
    }
    let grown = cluster.peak_resident(1).saturating_sub(before);
    println!("{READERS} lists at a time: {grown} bytes more");
    assert!(grown < state * 2, "{READERS} lists of {state} bytes take {grown} bytes");
    // Others are served meanwhile, and who reads on gets everything.
    client.post(REPORTS, &report(OBJECTS)).await.expect(201);
    for list in open.into_iter().take(2) {
        let mut text = list.bytes;
        text.extend_from_slice(&list.body.collect().await.unwrap().to_bytes());
        let listed = text.windows(7).filter(|part| part == b"\"uid\":\"").count();
        assert_eq!(listed, OBJECTS);
    }
    let grown = cluster.peak_resident(1).saturating_sub(before);
    assert!(grown < state * 2, "{READERS} lists of {state} bytes take {grown} bytes");
}
