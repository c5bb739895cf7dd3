//! `If-Match` on every write: a version that is not the current one is a 409 and changes nothing,
//! the current one goes through.

use http::Method;
use serde_json::{Value, json};

use crate::harness::Server;

const MAP: &str = "/api/v1/namespaces/a/configmaps/m";
const WEB: &str = "/apis/apps/v1/namespaces/a/deployments/web";
const LEASE: &str = "/apis/coordination.svc.io/v1/namespaces/a/leases/l";
const PUT: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Writes to a part of the object at `path`, bound to versions that it has not, then to the one
/// that it has. The body changes the object.
async fn check(server: &Server, path: &str, part: &str, media: &str, body: Value) {
    let method = if media == PUT { Method::PUT } else { Method::PATCH };
    let force = if media == APPLY { "&force=true" } else { "" };
    let target = format!("{path}{part}?fieldManager=f{force}");
    let write = async |tag: &str| {
        let headers = [("content-type", media), ("if-match", tag)];
        server.send(method.clone(), &target, &headers, body.to_string()).await
    };
    let before = server.get(path).await;
    for tag in ["\"1\"", "1", "\"none\"", "\"1\", \"none\"", &format!("W/\"{}\"", before.version())]
    {
        let refused = write(tag).await;
        let told = refused.json();
        assert_eq!(
            (refused.status.as_u16(), &told["reason"]),
            (409, &json!("Conflict")),
            "{target} {media} {tag}: {told}"
        );
        assert_eq!(
            server.get(path).await.json(),
            before.json(),
            "{target} {media} {tag}: nothing is written"
        );
    }
    for form in ["\"VERSION\"", "VERSION", "\"1\", \"VERSION\"", "*"] {
        let tag = form.replace("VERSION", &server.get(path).await.version());
        let done = write(&tag).await;
        assert_eq!(done.status, 200, "{target} {media} {tag}: {}", done.text());
    }
    assert_ne!(
        server.get(path).await.version(),
        before.version(),
        "{target} {media}: it is written"
    );
}

#[tokio::test]
async fn a_write_is_bound_to_the_version_that_it_names() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    check(&server, MAP, "", PUT, json!({"metadata": {"name": "m"}, "data": {"k": "put"}})).await;
    let operations = json!([{"op": "replace", "path": "/data/k", "value": "operations"}]);
    check(&server, MAP, "", JSON_PATCH, operations).await;
    check(&server, MAP, "", MERGE, json!({"data": {"k": "merge"}})).await;
    check(&server, MAP, "", STRATEGIC, json!({"data": {"k": "strategic"}})).await;
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "apply"}});
    check(&server, MAP, "", APPLY, applied).await;
    assert_eq!(server.get(MAP).await.json()["data"], json!({"k": "apply"}));
}

#[tokio::test]
async fn a_write_of_a_part_is_bound_to_the_version_of_its_object() {
    let server = Server::with_namespace().await;
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template});
    let body = json!({"metadata": {"name": "web"}, "spec": spec});
    let collection = "/apis/apps/v1/namespaces/a/deployments";
    let made = server.send(Method::POST, collection, &[], body.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let scale = |replicas: u8| {
        json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "web"},
            "spec": {"replicas": replicas},
        })
    };
    check(&server, WEB, "/scale", PUT, scale(3)).await;
    let operations = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    check(&server, WEB, "/scale", JSON_PATCH, operations).await;
    check(&server, WEB, "/scale", MERGE, json!({"spec": {"replicas": 5}})).await;
    check(&server, WEB, "/scale", STRATEGIC, json!({"spec": {"replicas": 6}})).await;
    check(&server, WEB, "/scale", APPLY, scale(7)).await;
    check(&server, WEB, "/status", MERGE, json!({"status": {"observedGeneration": 1}})).await;
    let web = server.get(WEB).await.json();
    assert_eq!(
        (&web["spec"]["replicas"], &web["status"]["observedGeneration"]),
        (&json!(7), &json!(1))
    );
}

#[tokio::test]
async fn several_lines_are_one_list_and_odd_tags_match_nothing() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let check = async |lines: &[&str], expect: u16| {
        let version = server.get(MAP).await.version();
        let lines: Vec<String> =
            lines.iter().map(|line| line.replace("VERSION", &version)).collect();
        let mut headers = vec![("content-type", MERGE)];
        headers.extend(lines.iter().map(|line| ("if-match", line.as_str())));
        // Every body is another one, so it would change the object.
        let body = json!({"data": {"k": format!("{version} {lines:?}")}}).to_string();
        let answer = server.send(Method::PATCH, MAP, &headers, body).await;
        assert_eq!(answer.status, expect, "{lines:?}: {}", answer.text());
        assert_eq!(server.get(MAP).await.version() == version, expect == 409, "{lines:?}");
    };
    check(&["\"1\"", "\"VERSION\""], 200).await;
    check(&["\"VERSION\"", "\"1\""], 200).await;
    check(&["\"1\", \"none\"", "", "VERSION"], 200).await;
    check(&["\"é\"", "\"VERSION\""], 200).await;
    check(&["\"1\"", "\"none\""], 409).await;
    for odd in ["\"é\"", "é", "VERSIONé", "\u{a0}VERSION", "", "\"1,VERSION\""] {
        check(&[odd], 409).await;
    }
}

#[tokio::test]
async fn what_is_not_there_matches_nothing() {
    let server = Server::with_namespace().await;
    let body = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "h"}}).to_string();
    for tag in ["\"1\"", "*"] {
        let refused = server.send(Method::PUT, LEASE, &[("if-match", tag)], &body).await;
        assert_eq!(refused.status, 409, "{tag}: {}", refused.text());
        assert_eq!(server.get(LEASE).await.status, 404, "{tag}: nothing is written");
    }
    assert_eq!(
        server.send(Method::PUT, LEASE, &[], &body).await.status,
        201,
        "an update creates a lease"
    );
}
