//! GET of one object: its versions, its answers, and which clients may read it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use http::Method;
use quorate_access::authentication::User;
use quorate_store::{Layer, MemoryOptions, MemoryStore, Status, Store};
use serde_json::json;

use crate::harness::{Server, TestClock};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

#[tokio::test]
async fn an_object_is_spliced_from_its_stored_form() {
    let server = Server::with_namespace().await;
    let version = server.create("a", "m", &[("x", "1")]).await;
    let answer = server.get(&format!("{MAPS}/m")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("cache-control"), "no-cache, private");
    let object = answer.json();
    assert_eq!(object["kind"], "ConfigMap");
    assert_eq!(object["apiVersion"], "v1");
    assert_eq!(object["metadata"]["resourceVersion"], version.as_str());
    assert_eq!(object["metadata"]["creationTimestamp"], "2030-01-01T00:00:00Z");
    assert_eq!(object["data"]["k"], "v");
}

#[tokio::test]
async fn versions_asked_for() {
    let server = Server::with_namespace().await;
    let version = server.create("a", "m", &[]).await;
    for query in [
        "",
        "?resourceVersion=",
        "?resourceVersion=0",
        "?resourceVersion=1",
        "?labelSelector=x%3D2&limit=1",
    ] {
        assert_eq!(server.get(&format!("{MAPS}/m{query}")).await.version(), version, "{query}");
    }
    let answer = server.get(&format!("{MAPS}/m?resourceVersion=abc")).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_reached_is_a_504() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    for path in [
        format!("{MAPS}/m?"),
        format!("{MAPS}?"),
        format!("{MAPS}?limit=1&"),
        format!("{MAPS}?resourceVersionMatch=Exact&"),
    ] {
        let answer = server.get(&format!("{path}resourceVersion=9000000000000000000")).await;
        assert_eq!(answer.status, 504, "{path}");
        assert_eq!(answer.header("retry-after"), "1");
        let body = answer.json();
        assert_eq!(
            body["message"],
            "Timeout: Too large resource version: 9000000000000000000, current: 2"
        );
        assert_eq!(body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    }
}

#[tokio::test]
async fn what_is_not_there() {
    let server = Server::with_namespace().await;
    let check = async |path: &str, status: u16, message: &str| {
        let answer = server.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["message"].as_str().unwrap()),
            (status, message),
            "{path}"
        );
    };
    let unknown = "the server could not find the requested resource";
    check("/api/v1/namespaces/a/configmaps/none", 404, "configmaps \"none\" not found").await;
    check("/api/v1/namespaces/none", 404, "namespaces \"none\" not found").await;
    check("/api/v1/namespaces/a/configmaps/a%20", 404, "configmaps \"a \" not found").await;
    for path in [
        "/api/v1/things",
        "/api/v1/namespaces/a/things/b",
        "/api/v1/namespaces/a/configmaps/b/status",
        "/api/v1/namespaces/a/configmaps/a/b/c",
        "/api/v1/namespaces/a/configmaps/a%2Fb",
        "/api/v1/configmaps/a",
        "/api/v2",
        "/api/v2/namespaces",
        "/apis/no-such.example.com/v1",
        "/no/such/path",
    ] {
        check(path, 404, unknown).await;
    }
}

#[tokio::test]
async fn methods_that_are_not_served() {
    let server = Server::with_namespace().await;
    for (method, path) in [
        (Method::PUT, MAPS),
        (Method::PATCH, MAPS),
        (Method::OPTIONS, MAPS),
        (Method::HEAD, MAPS),
        (Method::POST, "/api/v1/namespaces/a/configmaps/m"),
        (Method::POST, "/api/v1/configmaps"),
        (Method::DELETE, "/api/v1/configmaps"),
        (Method::DELETE, "/api/v1/namespaces"),
        (Method::POST, "/api"),
        (Method::PUT, "/version"),
    ] {
        let answer = server.send(method.clone(), path, &[], "").await;
        assert_eq!(answer.status, 405, "{method} {path}");
    }
}

#[tokio::test]
async fn nobody_is_told_anything() {
    let server = Server::with_namespace().await.by(None);
    for path in
        [MAPS, "/api", "/version", "/livez", "/readyz", "/metrics", "/no/such/path", "/openapi/v3"]
    {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.json()["message"], "Unauthorized");
    }
}

#[tokio::test]
async fn others_may_look_at_the_server_only() {
    let server = Server::with_namespace().await;
    server.defaults().await.stop();
    let server = server.by(Some(User::new("joe", [])));
    for path in [
        "/api",
        "/apis",
        "/api/v1",
        "/version",
        "/livez",
        "/readyz",
        "/healthz",
        "/openapi/v3",
        "/openapi/v2",
    ] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    let check = async |path: &str, expect: &str| {
        let answer = server.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["message"].as_str().unwrap()),
            (403, expect)
        );
    };
    check("/metrics", "forbidden: User \"joe\" cannot get path \"/metrics\"").await;
    check("/livez/ping", "forbidden: User \"joe\" cannot get path \"/livez/ping\"").await;
    let text = "configmaps is forbidden: User \"joe\" cannot watch resource \"configmaps\" in API group \"\" in the namespace \"a\"";
    check("/api/v1/namespaces/a/configmaps?watch=1", text).await;
    let text = "things.example.com is forbidden: User \"joe\" cannot list resource \"things\" in API group \"example.com\" at the cluster scope";
    check("/apis/example.com/v1/things", text).await;
    let text = "namespaces \"b\" is forbidden: User \"joe\" cannot get resource \"namespaces\" in API group \"\" in the namespace \"b\"";
    check("/api/v1/namespaces/b", text).await;
}

#[tokio::test]
async fn acting_as_somebody_else_and_wrong_tokens() {
    let server = Server::with_namespace().await;
    let check = async |headers: &[(&str, &str)], status: u16| {
        assert_eq!(server.send(Method::GET, MAPS, headers, "").await.status, status, "{headers:?}");
    };
    check(&[("impersonate-user", "joe")], 403).await;
    check(&[("impersonate-user", "joe"), ("impersonate-group", "system:masters")], 200).await;
    check(&[("impersonate-group", "dev")], 400).await;
    check(&[("authorization", "bearer not-a-token")], 401).await;
    check(&[("authorization", "Basic abc")], 200).await;
}

#[tokio::test(start_paused = true)]
async fn a_read_says_how_fresh_it_is() {
    let server = Server::with_namespace().await;
    let labels = json!({"app": "w"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
    let deployments = "/apis/apps/v1/namespaces/a/deployments";
    let version = server.send(Method::POST, deployments, &[], web.to_string()).await.version();
    let later = server.create("a", "n", &[]).await;
    let check = async |path: &str, expect: &str| {
        let (_, headers, _) = server.open(Method::GET, path, &[], "").await;
        let told = ["quorate-revision", "quorate-lag"].map(|name| headers[name].to_str().unwrap());
        assert_eq!(told, [expect, "0"], "{path}");
    };
    for path in
        ["configmaps/n", "configmaps/n?resourceVersion=0", "configmaps", "configmaps?limit=1"]
    {
        check(&format!("/api/v1/namespaces/a/{path}"), &later).await;
    }
    check(&format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact"), &version).await;
    check(&format!("{deployments}/web/scale"), &later).await;
    check(&format!("{MAPS}?watch=1"), &later).await;
    check(&format!("{MAPS}?watch=1&resourceVersion={version}"), &version).await;
    check(&format!("{MAPS}?watch=1&resourceVersion=9000000000000000000"), &later).await;
    // So does one that finds nothing, or not what it was asked for.
    for path in ["configmaps/none", "configmaps/none?resourceVersion=0", "endpoints/none"] {
        check(&format!("/api/v1/namespaces/a/{path}"), &later).await;
    }
    check(&format!("{deployments}/none/scale"), &later).await;
    check(&format!("{MAPS}?resourceVersion=9000000000000000000"), &later).await;
    let (_, headers, _) = server.open(Method::GET, &format!("{MAPS}?limit=x"), &[], "").await;
    assert!(!headers.contains_key("quorate-revision"), "nothing was read");
}

/// A store of which this node has not applied everything yet.
struct Lagging {
    inner: MemoryStore,
    lag: AtomicU64,
}

#[async_trait]
impl Layer for Lagging {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    fn status(&self) -> Status {
        Status { lag: self.lag.load(Ordering::Relaxed), ..self.inner.status() }
    }
}

#[tokio::test]
async fn a_node_that_is_behind_says_by_how_much() {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Lagging { inner, lag: AtomicU64::new(0) });
    let server = Server::over(store.clone(), clock);
    server.namespace("a").await;
    let version = server.create("a", "m", &[]).await;
    for lag in [7, 12_345, 0] {
        store.lag.store(lag, Ordering::Relaxed);
        for path in [
            "/m",
            "/none",
            "/m?resourceVersion=0",
            "",
            "?limit=1",
            "?resourceVersion=0",
            "?watch=1",
        ] {
            let (_, headers, _) = server.open(Method::GET, &format!("{MAPS}{path}"), &[], "").await;
            let told = ["quorate-revision", "quorate-lag"]
                .map(|name| headers[name].to_str().unwrap().to_owned());
            assert_eq!(told, [version.clone(), lag.to_string()], "{path}");
        }
    }
}

#[tokio::test]
async fn components_are_made_up_when_somebody_looks() {
    let server = Server::new();
    let all = server.get("/api/v1/componentstatuses").await;
    assert_eq!(all.names(), ["store"]);
    assert_eq!(
        all.json()["items"][0]["conditions"],
        json!([{"message": "ok", "status": "True", "type": "Healthy"}])
    );
    assert!(all.header("warning").contains("v1 ComponentStatus is deprecated in v1.19+"));
    let table = "application/json;as=Table;g=meta.svc.io;v=v1";
    let one = server.get_as("/api/v1/componentstatuses/store", table).await.json();
    assert_eq!(one["rows"][0]["cells"], json!(["store", "Healthy", "ok", ""]));
    let none =
        server.get("/api/v1/componentstatuses?fieldSelector=metadata.name%3Dother&limit=1").await;
    assert_eq!(none.names(), [""; 0]);
    let answer = server.get("/api/v1/componentstatuses/other").await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["details"]["kind"].clone()),
        (404, json!("componentstatus"))
    );
    let watch = server.get("/api/v1/componentstatuses?watch=1").await;
    let (status, body) = (watch.status.as_u16(), watch.json());
    assert_eq!((status, &body["details"]["kind"]), (405, &json!("componentstatuses")));
    assert_eq!(
        body["message"],
        "watch is not supported on resources of kind \"componentstatuses\""
    );
}
