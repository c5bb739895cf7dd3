//! CBOR over HTTP (KEP-4222): bodies, answers, lists short and long, watches, applies; 406 and 415
//! when it is switched off.

use http::Method;
use quorate_wire::cbor;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SECRETS: &str = "/api/v1/namespaces/a/secrets";
const CBOR: &str = "application/cbor";
const APPLY: &str = "application/apply-patch+cbor";
/// Longer than one buffer of a list.
const LONG_BYTES: usize = 1024 * 1024;

async fn server() -> Server {
    Server::with_gates("CBORServingAndStorage=true").await
}

/// A body from JSON, without a schema.
fn body(tree: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    cbor::encode(None, tree.to_string().as_bytes(), &mut out).unwrap();
    out
}

fn read(body: &[u8]) -> Value {
    let value = cbor::parse(body).unwrap_or_else(|error| panic!("{error}: {body:02x?}"));
    serde_json::from_slice(&quorate_wire::json::to_vec(&value)).unwrap()
}

async fn get(server: &Server, path: &str, accept: &str) -> Answer {
    let answer = server.get_as(path, accept).await;
    assert_eq!(answer.header("content-type"), CBOR, "{path}");
    assert_eq!(answer.body[..3], [0xd9, 0xd9, 0xf7], "{path} is self-described");
    answer
}

/// An answer in CBOR says what the one in JSON says.
async fn check(server: &Server, path: &str) {
    let (answer, json) = (get(server, path, CBOR).await, server.get(path).await);
    assert_eq!((answer.status, read(&answer.body)), (json.status, json.json()), "{path}");
}

#[tokio::test]
async fn an_answer_says_what_its_json_says() {
    let server = server().await;
    for name in ["m", "n", "o"] {
        server.create("a", name, &[("x", "1")]).await;
    }
    for path in [
        "/m",
        "",
        "?limit=3",
        "?labelSelector=x%3D2",
        "?fieldSelector=metadata.name%21%3Dn",
        "?limit=1&fieldSelector=metadata.name%21%3Dn",
        "/none",
        "?limit=x",
    ] {
        if path.starts_with("?limit=1&") {
            // Each page has a token of its own.
            let page = read(&get(&server, &format!("{MAPS}{path}"), CBOR).await.body);
            let token = page["metadata"]["continue"].as_str().unwrap();
            check(&server, &format!("{MAPS}{path}&continue={token}")).await;
        } else {
            check(&server, &format!("{MAPS}{path}")).await;
        }
    }
    for path in ["/api", "/apis", "/api/v1", "/apis/rbac.authorization.svc.io"] {
        check(&server, path).await;
    }
    let table = format!("{CBOR};as=Table;g=meta.svc.io;v=v1");
    let rows = read(&get(&server, MAPS, &table).await.body);
    assert_eq!((&rows["kind"], &rows["rows"][2]["cells"][0]), (&json!("Table"), &json!("o")));
    let metadata = format!("{CBOR};as=PartialObjectMetadataList;g=meta.svc.io;v=v1");
    let list = read(&get(&server, MAPS, &metadata).await.body);
    assert_eq!(list["items"][0]["metadata"]["labels"], json!({"x": "1"}));
}

#[tokio::test]
async fn a_long_list_arrives_whole() {
    let server = server().await;
    let count = 30;
    for number in 0..count {
        let body = json!({"metadata": {"name": format!("m{number:02}")}, "data": {"k": "x".repeat(LONG_BYTES / count)}});
        assert_eq!(server.send(Method::POST, MAPS, &[], body.to_string()).await.status, 201);
    }
    check(&server, MAPS).await;
    assert!(get(&server, MAPS, CBOR).await.body.len() > LONG_BYTES);
    check(&server, &format!("{MAPS}?fieldSelector=metadata.name%21%3Dm07")).await;
}

#[tokio::test]
async fn binary_fields_are_bytes() {
    let server = server().await;
    let tree = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AAEC/w=="}});
    let headers = [("content-type", CBOR), ("accept", CBOR)];
    let created = server.send(Method::POST, SECRETS, &headers, body(&tree)).await;
    assert_eq!(created.status, 201);
    // Tag 22, four bytes.
    let tagged = [0xd6, 0x44, 0, 1, 2, 0xff];
    let found = |body: &[u8]| body.windows(tagged.len()).any(|window| window == tagged);
    assert!(found(&created.body));
    assert!(found(&get(&server, &format!("{SECRETS}/s"), CBOR).await.body));
    let list = get(&server, SECRETS, CBOR).await;
    assert!(found(&list.body));
    assert_eq!(read(&list.body), server.get(SECRETS).await.json());
    let back =
        server.send(Method::PUT, &format!("{SECRETS}/s"), &headers, created.body.to_vec()).await;
    assert_eq!(
        (back.status.as_u16(), read(&back.body)),
        (200, read(&created.body)),
        "sent back it changes nothing"
    );
}

#[tokio::test]
async fn bodies() {
    let server = server().await;
    let post = async |bytes: Vec<u8>| {
        let headers = [("content-type", CBOR)];
        let answer = server
            .send(Method::POST, &format!("{MAPS}?fieldValidation=Strict"), &headers, bytes)
            .await;
        (answer.status.as_u16(), answer.json()["message"].as_str().unwrap_or_default().to_owned())
    };
    let tree = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}});
    assert_eq!(post(body(&tree)).await, (201, String::new()));
    // Text strings, indefinite lengths, no tag in front: {"metadata": {"name": "n"}} as other
    // encoders write it.
    let foreign = b"\xbf\x68metadata\xbf\x64name\x7f\x61n\xff\xff\xff".to_vec();
    assert_eq!(post(foreign).await, (201, String::new()));
    let twice = b"\xa2\x44data\xa0\x64data\xa0".to_vec();
    let (status, why) = post(twice).await;
    assert!(status == 400 && why.contains("duplicate key \"data\""), "{why}");
    let (status, why) = post(body(&json!({"metadata": {"name": "o"}, "date": 1}))).await;
    assert!(status == 400 && why.contains("unknown field \"date\""), "{why}");
    let (status, why) = post(body(&tree)[..20].to_vec()).await;
    assert!(status == 400 && why.contains("unexpected end of data"), "{why}");
    let options = body(
        &json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}),
    );
    let refused =
        server.send(Method::DELETE, &format!("{MAPS}/m"), &[("content-type", CBOR)], options).await;
    assert_eq!(refused.status, 409);
}

#[tokio::test]
async fn applies() {
    let server = server().await;
    let path = format!("{MAPS}/m?fieldManager=f");
    let apply = async |tree: Value| {
        let headers = [("content-type", APPLY), ("accept", CBOR)];
        server.send(Method::PATCH, &path, &headers, body(&tree)).await
    };
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v", "l": "w"}});
    assert_eq!(apply(made).await.status, 201);
    let less = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}});
    let answer = apply(less).await;
    let object = read(&answer.body);
    assert_eq!((answer.status.as_u16(), &object["data"]), (200, &json!({"k": "v"})));
    assert_eq!(object["metadata"]["managedFields"][0]["operation"], "Apply");
    let broken = server.send(Method::PATCH, &path, &[("content-type", APPLY)], vec![0xa1]).await;
    assert_eq!(broken.status, 400);
    assert!(
        broken.json()["message"].as_str().unwrap().starts_with("error decoding CBOR"),
        "{}",
        broken.text()
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_a_sequence() {
    let server = server().await;
    let first = server.create("a", "m", &[]).await;
    server.create("a", "n", &[("x", "1")]).await;
    for accept in [CBOR, "application/cbor-seq"] {
        let path = format!("{MAPS}?watch=1&resourceVersion={first}&timeoutSeconds=1");
        let answer = server.get_as(&path, accept).await;
        assert_eq!(answer.header("content-type"), "application/cbor-seq");
        let event = read(&answer.body);
        assert_eq!(
            (&event["type"], &event["object"]),
            (&json!("ADDED"), &server.get(&format!("{MAPS}/n")).await.json())
        );
        let bookmark = server
            .get_as(
                &format!(
                    "{MAPS}?watch=1&resourceVersion={first}&timeoutSeconds=1&allowWatchBookmarks=1&labelSelector=none"
                ),
                accept,
            )
            .await;
        let bookmark = read(&bookmark.body);
        assert_eq!(
            (&bookmark["type"], &bookmark["object"]["kind"]),
            (&json!("BOOKMARK"), &json!("ConfigMap"))
        );
    }
}

#[tokio::test]
async fn switched_off_it_is_not_there() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let post = |media: &'static str, method, path: String| {
        let server = &server;
        async move {
            server
                .send(method, &path, &[("content-type", media)], body(&json!({})))
                .await
                .status
                .as_u16()
        }
    };
    assert_eq!(post(CBOR, Method::POST, MAPS.into()).await, 415);
    assert_eq!(post(APPLY, Method::PATCH, format!("{MAPS}/m?fieldManager=f")).await, 415);
    for accept in [CBOR, "application/cbor-seq"] {
        assert_eq!(server.get_as(MAPS, accept).await.status, 406);
        assert_eq!(
            server.get_as(&format!("{MAPS}?watch=1&timeoutSeconds=1"), accept).await.status,
            406
        );
    }
    let answer = server.get_as(MAPS, CBOR).await;
    assert!(!answer.text().contains("cbor"), "{}", answer.text());
    assert!(!server.get("/openapi/v3/api/v1").await.text().contains("cbor"));
}

#[tokio::test]
async fn switched_on_it_is_named() {
    let server = server().await;
    let answer = server.get_as(MAPS, "application/xml").await;
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .ends_with("application/vnd.svc.protobuf, application/cbor")
    );
    let refused = server.send(Method::POST, MAPS, &[("content-type", "text/plain")], "x").await;
    assert!(
        refused.json()["message"].as_str().unwrap().ends_with("application/cbor"),
        "{}",
        refused.text()
    );
    assert!(server.get("/openapi/v3/api/v1").await.text().contains("application/apply-patch+cbor"));
}
