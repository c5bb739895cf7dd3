//! Custom resources whose versions a webhook converts: a TLS server on loopback that does with each
//! object what its name says.

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use quorate_controllers::ControllersHandle;
use quorate_env::{Network, SystemEnv};
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::controllers::until_body;
use crate::harness::{Answer, Server};

const DEFINITIONS: &str = "/apis/apiextensions.svc.io/v1/customresourcedefinitions";
const DEFINITION: &str =
    "/apis/apiextensions.svc.io/v1/customresourcedefinitions/widgets.x.example";
const MERGE: [(&str, &str); 1] = [("content-type", "application/merge-patch+json")];
const FAILED: &str = "conversion webhook for x.example/v1, Kind=Widget failed: cannot do that";

/// The webhook; it stops when this is dropped.
struct Webhook {
    config: Value,
    reviews: Arc<Mutex<Vec<Value>>>,
    accepting: JoinHandle<()>,
}

impl Webhook {
    async fn start() -> Self {
        // Its own authority, as the certificates of many webhooks are.
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = SystemEnv.listen("127.0.0.1:0").await.unwrap();
        let bundle = STANDARD.encode(certificate.pem());
        let config =
            json!({"url": format!("https://{}/convert", listener.address()), "caBundle": bundle});
        let reviews = Arc::<Mutex<Vec<Value>>>::default();
        let seen = reviews.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen) = (acceptor.clone(), seen.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| answer(seen.clone(), request));
                    drop(
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await,
                    );
                });
            }
        });
        Self { config, reviews, accepting }
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn answer(
    seen: Arc<Mutex<Vec<Value>>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let asked = &review["request"];
    let objects = asked["objects"].as_array().unwrap();
    let fails = objects.iter().any(|object| object["metadata"]["name"] == "failure");
    let result = if fails {
        json!({"status": "Failure", "message": "cannot do that"})
    } else {
        json!({"status": "Success"})
    };
    let converted: Vec<Value> =
        objects.iter().map(|object| converted(object, &asked["desiredAPIVersion"])).collect();
    let response = json!({"uid": asked["uid"], "result": result, "convertedObjects": converted});
    let text =
        json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    seen.lock().push(review);
    Ok(Response::new(Full::new(text.to_string().into())))
}

/// Between v1 with `host` and `port`, and v2 with `address`.
fn converted(object: &Value, desired: &Value) -> Value {
    let mut object = object.clone();
    let text = |field: &str| object["spec"][field].as_str().unwrap_or_default().to_owned();
    object["spec"] = if desired == "x.example/v2" {
        json!({"address": format!("{}:{}", text("host"), text("port")), "unknown": 1})
    } else {
        let address = text("address");
        let (host, port) = address.split_once(':').unwrap_or_default();
        json!({"host": host, "port": port, "unknown": 1})
    };
    object["apiVersion"] = desired.clone();
    if object["metadata"]["name"] == "labels" {
        object["metadata"]["labels"] = json!({"new": "label"});
        object["metadata"]["finalizers"] = json!(["x.example/f"]);
    }
    object
}

fn version(name: &str, storage: bool, fields: &[&str]) -> Value {
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let spec = json!({"type": "object", "properties": fields});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

/// A server with the definition.
async fn serve(webhook: &Webhook) -> (Server, ControllersHandle) {
    let server = Server::with_namespace().await;
    let controllers = server.defaults().await;
    let conversion = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": webhook.config}});
    let definition = json!({
        "apiVersion": "apiextensions.svc.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.example"},
        "spec": {
            "group": "x.example", "scope": "Namespaced", "conversion": conversion,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version("v1", true, &["host", "port"]), version("v2", false, &["address"])]
        }
    });
    let answer = server.send(Method::POST, DEFINITIONS, &[], definition.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    until_body(&server, DEFINITION, |_, object| {
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
    })
    .await;
    (server, controllers)
}

fn path(version: &str, name: &str) -> String {
    let collection = format!("/apis/x.example/{version}/namespaces/a/widgets");
    if name.is_empty() { collection } else { format!("{collection}/{name}") }
}

async fn create(server: &Server, version: &str, name: &str, spec: Value) -> Answer {
    let body = json!({"apiVersion": format!("x.example/{version}"), "kind": "Widget",
        "metadata": {"name": name}, "spec": spec});
    server.send(Method::POST, &path(version, ""), &[], body.to_string()).await
}

#[tokio::test]
async fn every_version_reads_and_writes_the_same_objects() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    let (v1, v2) = (json!({"host": "h", "port": "1"}), json!({"address": "h:1"}));
    let created = create(&server, "v1", "a", v1.clone()).await;
    assert_eq!((created.status.as_u16(), &created.json()["spec"]), (201, &v1));
    assert!(webhook.reviews.lock().is_empty(), "the storage version is converted by nobody");
    let read = server.get(&path("v2", "a")).await.json();
    assert_eq!((&read["apiVersion"], &read["spec"]), (&json!("x.example/v2"), &v2));
    let review = webhook.reviews.lock().pop().expect("it was asked");
    assert_eq!(review["apiVersion"], "apiextensions.svc.io/v1");
    assert_eq!(review["request"]["desiredAPIVersion"], "x.example/v2");
    let sent = &review["request"]["objects"][0];
    assert_eq!((&sent["apiVersion"], &sent["spec"]), (&json!("x.example/v1"), &v1));
    server.get(&path("v2", "a")).await;
    assert!(webhook.reviews.lock().is_empty(), "what was converted is remembered");

    let created = create(&server, "v2", "b", json!({"address": "x:2"})).await;
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!(created.json()["spec"], json!({"address": "x:2"}));
    let read = server.get(&path("v1", "b")).await.json();
    assert_eq!(read["spec"], json!({"host": "x", "port": "2"}));
    let patch = json!({"spec": {"address": "y:3"}}).to_string();
    let patched = server.send(Method::PATCH, &path("v2", "b"), &MERGE, patch).await.json();
    assert_eq!(
        (&patched["spec"], &patched["metadata"]["generation"]),
        (&json!({"address": "y:3"}), &json!(2))
    );
    let specs = async |version: &str| -> Vec<Value> {
        let list = server.get(&path(version, "")).await.json();
        list["items"].as_array().unwrap().iter().map(|item| item["spec"].clone()).collect()
    };
    assert_eq!(specs("v1").await, [v1, json!({"host": "y", "port": "3"})]);
    assert_eq!(specs("v2").await, [v2, json!({"address": "y:3"})]);
}

#[tokio::test]
async fn objects_of_the_former_storage_version_are_converted() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    create(&server, "v1", "a", json!({"host": "h", "port": "1"})).await;
    let versions = [version("v1", false, &["host", "port"]), version("v2", true, &["address"])];
    let patch = json!({"spec": {"versions": versions}}).to_string();
    let patched = server.send(Method::PATCH, DEFINITION, &MERGE, patch).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    let asked = || std::mem::take(&mut *webhook.reviews.lock()).len();
    let spec = async |version: &str| server.get(&path(version, "a")).await.json()["spec"].clone();
    assert_eq!(spec("v1").await, json!({"host": "h", "port": "1"}));
    assert_eq!(asked(), 0, "it is stored as v1");
    assert_eq!(spec("v2").await, json!({"address": "h:1"}));
    assert_eq!(asked(), 1);
    let patch = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let patched = server.send(Method::PATCH, &path("v2", "a"), &MERGE, patch).await;
    assert_eq!(patched.json()["spec"], json!({"address": "h:1"}), "{}", patched.text());
    asked();
    assert_eq!(spec("v2").await, json!({"address": "h:1"}));
    assert_eq!(asked(), 0, "it is stored as v2 now");
    assert_eq!(spec("v1").await, json!({"host": "h", "port": "1"}));
    assert_eq!(asked(), 1);
}

#[tokio::test]
async fn a_watch_tells_its_own_version() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    create(&server, "v1", "a", json!({"host": "h", "port": "1"})).await;
    let mut watch = server.watch(&format!("{}?watch=1", path("v2", ""))).await;
    let told = watch.next().await.expect("an event");
    assert_eq!(
        (&told["type"], &told["object"]["spec"]),
        (&json!("ADDED"), &json!({"address": "h:1"}))
    );
    create(&server, "v1", "b", json!({"host": "i", "port": "2"})).await;
    let told = watch.next().await.expect("an event");
    assert_eq!(told["object"]["spec"], json!({"address": "i:2"}));
    server.send(Method::DELETE, &path("v1", "b"), &[], "").await;
    let told = watch.next().await.expect("an event");
    assert_eq!(
        (&told["type"], &told["object"]["spec"]),
        (&json!("DELETED"), &json!({"address": "i:2"}))
    );
    create(&server, "v1", "failure", json!({})).await;
    let told = watch.next().await.expect("the end");
    assert_eq!((&told["type"], &told["object"]["message"]), (&json!("ERROR"), &json!(FAILED)));
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn what_cannot_be_converted_is_a_500() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    for name in ["failure", "labels"] {
        let created = create(&server, "v1", name, json!({"host": "h", "port": "1"})).await;
        assert_eq!(created.status, 201, "{}", created.text());
    }
    let labels = server.get(&path("v2", "labels")).await.json();
    assert_eq!(labels["metadata"]["labels"], json!({"new": "label"}));
    assert_eq!(labels["metadata"]["finalizers"], Value::Null);
    let expect = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": FAILED, "code": 500});
    for path in [path("v2", "failure"), path("v2", "")] {
        let answer = server.get(&path).await;
        assert_eq!((answer.status.as_u16(), answer.json()), (500, expect.clone()), "{path}");
    }
    let created = create(&server, "v2", "failure", json!({})).await;
    let told = created.json()["message"].as_str().unwrap().replace("/v2", "/v1");
    assert_eq!((created.status.as_u16(), told.as_str()), (500, FAILED));
    let deleted = server.send(Method::DELETE, &path("v1", "failure"), &[], "").await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert_eq!(server.get(&path("v2", "")).await.status, 200);
}

#[tokio::test]
async fn a_webhook_that_is_gone_leaves_the_storage_version() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    create(&server, "v1", "a", json!({"host": "h", "port": "1"})).await;
    let config = webhook.config.clone();
    drop(webhook);
    let answer = server.get(&path("v2", "a")).await;
    assert_eq!(answer.status, 500);
    let told = answer.json()["message"].as_str().unwrap().to_owned();
    let url = config["url"].as_str().unwrap();
    let expect = format!(
        "conversion webhook for x.example/v1, Kind=Widget failed: Post \"{url}?timeout=30s\": "
    );
    assert!(told.starts_with(&expect), "{told}");
    assert_eq!(server.get(&path("v1", "a")).await.status, 200);
}

#[tokio::test]
async fn what_is_selected_is_what_the_webhook_makes_of_it() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    for name in ["a", "labels", "z"] {
        create(&server, "v1", name, json!({"host": "h", "port": "1"})).await;
    }
    let names =
        async |query: &str| server.get(&format!("{}?{query}", path("v2", ""))).await.names();
    assert_eq!(names("labelSelector=new=label").await, ["labels"]);
    assert_eq!(names("labelSelector=new=label&limit=1").await, ["labels"]);
    assert_eq!(names("labelSelector=!new&limit=2").await, ["a", "z"]);
    let list = server.get(&format!("{}?labelSelector=!new&limit=1", path("v2", ""))).await.json();
    assert!(list["metadata"]["continue"].is_string(), "z comes after it: {list}");
    let query = |version: &str| format!("{}?labelSelector=new=label", path(version, ""));
    for (version, left) in [("v1", 3), ("v2", 2)] {
        let deleted = server.send(Method::DELETE, &query(version), &[], "").await;
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        assert_eq!(server.get(&path("v1", "")).await.names().len(), left, "{version}");
    }
}

#[tokio::test]
async fn readers_of_the_same_object_share_a_review() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    create(&server, "v1", "a", json!({"host": "h", "port": "1"})).await;
    let path = path("v2", "a");
    let answers = futures::future::join_all((0..8).map(|_| server.get(&path))).await;
    for answer in answers {
        assert_eq!(answer.json()["spec"], json!({"address": "h:1"}));
    }
    assert_eq!(webhook.reviews.lock().len(), 1);
}

#[tokio::test]
async fn a_migration_has_the_webhook_convert_what_is_stored() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    for number in 0..20 {
        create(&server, "v1", &format!("w{number:02}"), json!({"host": "h", "port": "1"})).await;
    }
    let versions = [version("v1", false, &["host", "port"]), version("v2", true, &["address"])];
    let patch = json!({
        "spec": {"versions": versions},
        "metadata": {"annotations": {"svc.io/storage-migration": "asked"}},
    });
    let patched = server.send(Method::PATCH, DEFINITION, &MERGE, patch.to_string()).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    let done = until_body(&server, DEFINITION, |_, object| {
        let progress = &object["metadata"]["annotations"]["svc.io/storage-migration"];
        progress.as_str().is_some_and(|progress| progress.starts_with("done"))
    })
    .await;
    assert_eq!(done["status"]["storedVersions"], json!(["v2"]));
    let asked = webhook.reviews.lock().len();
    assert_eq!(asked, 1, "one page is one review");
    let list = server.get(&path("v2", "")).await.json();
    let specs = list["items"].as_array().unwrap().iter().map(|item| &item["spec"]);
    assert!(
        specs.clone().count() == 20 && specs.clone().all(|spec| *spec == json!({"address": "h:1"}))
    );
    assert_eq!(webhook.reviews.lock().len(), asked, "all are stored as v2");
}

#[tokio::test]
async fn the_past_is_told_without_what_is_not_converted() {
    let webhook = Webhook::start().await;
    let (server, _controllers) = serve(&webhook).await;
    let at = create(&server, "v1", "a", json!({"host": "h", "port": "1"})).await.version();
    create(&server, "v1", "failure", json!({"host": "h", "port": "1"})).await;
    for name in ["a", "failure"] {
        let patch = json!({"spec": {"host": "i"}}).to_string();
        assert_eq!(server.send(Method::PATCH, &path("v1", name), &MERGE, patch).await.status, 200);
    }
    let told = async |name: &str| {
        let answer = server.get(&format!("{}?history=true", path("v2", name))).await.json();
        answer["items"].as_array().unwrap().clone()
    };
    let items = told("a").await;
    let changed = items[0]["changed"].as_array().unwrap();
    assert!(changed.contains(&json!(".spec.address")), "{changed:?}");
    assert_eq!(items[1]["object"]["spec"], json!({"address": "h:1"}));
    let items = told("failure").await;
    for (item, kind) in items.iter().zip(["MODIFIED", "ADDED"]) {
        assert_eq!((&item["type"], &item["unreadable"]), (&json!(kind), &json!(FAILED)));
        assert!(item.get("object").is_none() && item.get("changed").is_none(), "{item}");
        assert_eq!(item["user"]["username"], "admin");
    }
    assert_eq!(items.len(), 2);
    let blame = server.get(&format!("{}?blame=true", path("v2", "failure"))).await;
    assert_eq!((blame.status.as_u16(), blame.json()["message"].as_str()), (500, Some(FAILED)));
    let changes = server.get("/past/changes?resource=widgets.x.example&name=failure").await.json();
    assert_eq!(changes["items"].as_array().unwrap().len(), 2, "{changes}");
    // The definition is gone: its webhook still converts what was.
    let answer = server.send(Method::DELETE, DEFINITION, &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    crate::controllers::until(&server, DEFINITION, 404).await;
    let read = server.get(&format!("{}?asOf={at}", path("v2", "a"))).await.json();
    assert_eq!(read["spec"], json!({"address": "h:1"}));
}
