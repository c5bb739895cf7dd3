//! A full store (etcd#9222, etcd#9992): etcd refuses every put then, renewals of leases among them,
//! until an operator has compacted, defragmented (which stops it) and disarmed an alarm. Here what does
//! not add to the store passes, so does everything that makes room, and space comes back by itself.

use http::Method;
use serde_json::{Value, json};

use crate::load::{collection, make_namespace};
use crate::support::{Client, Cluster, Watcher, eventually};

const LIMIT: &str = "--store-size-limit=4MiB";
/// Bytes of an object's filling.
const FILLING: usize = 100_000;
/// Objects that surely do not fit.
const TOO_MANY: usize = 60;
const LEASES: &str = "/apis/coordination.svc.io/v1/namespaces/load/leases";

fn object(name: &str, filling: usize) -> Value {
    json!({ "metadata": { "name": name }, "data": { "fill": "x".repeat(filling) } })
}

fn lease(second: u32) -> Value {
    json!({ "metadata": { "name": "leader" }, "spec": {
        "holderIdentity": "one", "leaseDurationSeconds": 15,
        "renewTime": format!("2026-01-01T00:00:{second:02}.000000Z"),
    } })
}

async fn patch(client: &mut Client, path: &str, body: Value) -> u16 {
    client.send(Method::PATCH, path, Some(&body)).await.unwrap().status
}

async fn delete(client: &mut Client, path: &str) -> u16 {
    client.send(Method::DELETE, path, None).await.unwrap().status
}

/// Fills the store with objects of these names; gives the number of objects.
async fn fill(client: &mut Client, prefix: &str) -> usize {
    for number in 0..TOO_MANY {
        let made =
            client.post(&collection("load"), &object(&format!("{prefix}{number}"), FILLING)).await;
        if made.status == 507 {
            return number;
        }
        assert_eq!(made.status, 201, "{}", made.body);
    }
    panic!("the store is never full");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_store_lives_on_and_lets_go() {
    let cluster = Cluster::start(1, &[LIMIT]);
    let mut client = cluster.client(1);
    let begin = make_namespace(&mut client, "load").await;
    make_namespace(&mut client, "tenant").await;
    client.post(LEASES, &lease(0)).await.expect(201);
    for name in ["a", "b"] {
        client.post(&collection("tenant"), &object(name, FILLING)).await.expect(201);
    }
    let mut held = object("held", 10);
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    client.post(&collection("load"), &held).await.expect(201);
    let filled = fill(&mut client, "m").await;
    let full = cluster.metric(1, "quorate_store_bytes").await.unwrap();
    assert!(full >= 4.0 * 1024.0 * 1024.0, "{filled} objects, {full} bytes");

    // It lives on: probes, reads, watches, renewals.
    for path in ["/livez", "/readyz", "/api/v1/namespaces/load/configmaps/m0"] {
        client.get(path).await.expect(200);
    }
    let mut watcher = Watcher::start(vec![cluster.client(1)], LEASES, begin);
    for second in 1..20 {
        let path = format!("{LEASES}/leader");
        assert_eq!(patch(&mut client, &path, json!({ "spec": lease(second)["spec"] })).await, 200);
    }
    let renewed = client.get(&format!("{LEASES}/leader")).await.revision();
    assert_eq!(watcher.until(renewed).await.len(), 20);
    let m0 = format!("{}/m0", collection("load"));
    assert_eq!(
        patch(&mut client, &m0, json!({ "data": { "more": "y".repeat(FILLING) } })).await,
        507
    );
    assert_eq!(patch(&mut client, &m0, json!({ "data": { "fill": "less" } })).await, 200);
    fill(&mut client, "n").await;

    // Everything that makes room passes, what finalizers hold and whole namespaces too.
    let held = format!("{}/held", collection("load"));
    assert_eq!(delete(&mut client, &held).await, 200);
    assert!(client.get(&held).await.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(patch(&mut client, &held, json!({ "metadata": { "finalizers": null } })).await, 200);
    client.get(&held).await.expect(404);
    assert_eq!(delete(&mut client, "/api/v1/namespaces/tenant").await, 200);
    eventually("the namespace has ended", async || {
        (client.get("/api/v1/namespaces/tenant").await.status == 404).then_some(())
    })
    .await;
    client.post(&collection("load"), &object("after", FILLING)).await.expect(201);
}
