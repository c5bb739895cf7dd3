//! The Lease that a server's process renews, and the end of one that is not renewed.

use std::time::Duration;

use http::Method;
use quorate_api::identity_lease::{self, IdentityLeaseOptions};
use quorate_meta::Naming;
use quorate_store::Retention;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::Server;

const LIMIT: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(5);

/// Waits until the Leases of the system namespace are as wanted.
async fn until(server: &Server, leases: &str, is_wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let found = async {
        loop {
            let list = server.get(leases).await.json();
            if let Some(items) = list["items"].as_array().filter(|items| is_wanted(items)) {
                return items.clone();
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, found).await.expect("the leases come to be as wanted")
}

#[tokio::test]
async fn a_server_renews_its_lease() {
    for (naming, group, namespace, domain) in [
        (Naming::Svc, "coordination.svc.io", "svc-system", "svc.io"),
        (Naming::Kubernetes, "coordination.k8s.io", "kube-system", "kubernetes.io"),
    ] {
        let server = Server::with(naming, Retention::default());
        let leases = format!("/apis/{group}/v1/namespaces/{namespace}/leases");
        let options = || IdentityLeaseOptions { host: "h".to_owned(), interval: INTERVAL };
        let first = tokio::spawn(identity_lease::run(server.api.clone(), options()));
        // It waits for its namespace.
        server.namespace(namespace).await;
        let found = until(&server, &leases, |items| items.len() == 1).await;
        let (metadata, spec) = (&found[0]["metadata"], &found[0]["spec"]);
        let name = metadata["name"].as_str().unwrap();
        assert_eq!(name, "apiserver-c3y6ysdpi25vjvktqjedqgvh7i");
        let labels = json!({format!("apiserver.{domain}/identity"): "kube-apiserver", format!("{domain}/hostname"): "h"});
        assert_eq!(metadata["labels"], labels);
        assert!(
            spec["holderIdentity"].as_str().unwrap().starts_with(&format!("{name}_")),
            "{spec}"
        );
        assert_eq!(
            (&spec["leaseDurationSeconds"], &spec["renewTime"]),
            (&json!(3600), &json!("2030-01-01T00:00:00.000000Z"))
        );
        server.clock.advance(10_000);
        let renewed = json!("2030-01-01T00:00:10.000000Z");
        until(&server, &leases, |items| items[0]["spec"]["renewTime"] == renewed).await;
        first.abort();
    }
}

#[tokio::test]
async fn a_lease_that_has_expired_goes() {
    let server = Server::new();
    server.namespace("svc-system").await;
    let leases = "/apis/coordination.svc.io/v1/namespaces/svc-system/leases";
    for (name, identity, renewed) in [
        ("apiserver-old", "kube-apiserver", "2029-12-31T22:59:59.000000Z"),
        ("apiserver-new", "kube-apiserver", "2029-12-31T23:30:00.000000Z"),
        ("another", "other", "2029-12-31T22:59:59.000000Z"),
    ] {
        let lease = json!({
            "metadata": {"name": name, "labels": {"apiserver.svc.io/identity": identity}},
            "spec": {"holderIdentity": "h", "leaseDurationSeconds": 3600, "renewTime": renewed}
        });
        let made = server.send(Method::POST, leases, &[], lease.to_string()).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let _controllers = server.defaults().await;
    let left = until(&server, leases, |items| items.len() == 2).await;
    let names: Vec<&Value> = left.iter().map(|lease| &lease["metadata"]["name"]).collect();
    assert_eq!(names, ["another", "apiserver-new"]);
}
