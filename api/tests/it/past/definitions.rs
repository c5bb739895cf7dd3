//! Custom resources of the past, whose definition has changed since, is another one, or is gone.

use http::Method;
use quorate_access::authentication::User;
use quorate_controllers::ControllersHandle;
use serde_json::{Value, json};

use super::{allow, forgetful, text};
use crate::controllers::until;
use crate::custom_resources::{DEFINITION, MERGE, WIDGETS, define, version, widget};
use crate::harness::Server;

const WIDGETS_V2: &str = "/apis/x.example/v2/namespaces/a/widgets";

async fn served(versions: &[Value]) -> (Server, ControllersHandle) {
    let server = forgetful().await;
    let controllers = server.defaults().await;
    define(&server, versions).await;
    (server, controllers)
}

/// A version with these fields, which are texts.
fn fields(name: &str, storage: bool, fields: &[&str]) -> Value {
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    version(name, storage, fields.into())
}

/// Creates a widget; gives the revision.
async fn create(server: &Server, path: &str, body: &str) -> String {
    let answer = server.send(Method::POST, path, &[], body.to_owned()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.version()
}

async fn patch(server: &Server, path: &str, patch: Value) -> String {
    let answer = server.send(Method::PATCH, path, &MERGE, patch.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.version()
}

/// Deletes the definition and waits until it is gone.
async fn delete_definition(server: &Server) {
    let answer = server.send(Method::DELETE, DEFINITION, &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    until(server, DEFINITION, 404).await;
}

#[tokio::test]
async fn objects_are_shown_by_the_definition_of_today() {
    let (server, _controllers) = served(&[fields("v1", true, &["a", "both"])]).await;
    let x = format!("{WIDGETS}/x");
    let at1 = create(&server, WIDGETS, &widget("x", json!({"a": "1", "both": "2"}))).await;
    let v1 = fields("v1", false, &["a", "both"]);
    let v2 = fields("v2", true, &["b", "both"]);
    patch(&server, DEFINITION, json!({"spec": {"versions": [v1, v2]}})).await;
    let at2 = patch(&server, &format!("{WIDGETS_V2}/x"), json!({"spec": {"b": "3"}})).await;
    let at3 = create(
        &server,
        WIDGETS_V2,
        &widget("y", json!({"b": "4"})).replace("x.example/v1", "x.example/v2"),
    )
    .await;
    assert_eq!(server.get(&format!("{x}?asOf={at1}")).await.json()["spec"]["a"], "1");
    // Objects that were stored as v1 are settled by the schema that v1 has now.
    let mut v1 = fields("v1", false, &["both"]);
    v1["served"] = json!(false);
    let mut v2 = fields("v2", true, &["b", "both", "new"]);
    v2["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["new"]["default"] =
        json!("d");
    patch(&server, DEFINITION, json!({"spec": {"versions": [v1, v2]}})).await;

    let check = async |name: &str, at: &str, expect: Value| {
        let read = server.get(&format!("{WIDGETS_V2}/{name}?asOf={at}")).await;
        assert_eq!(read.json()["spec"], expect, "{name} at {at}: {}", read.text());
        let list = server.get(&format!("{WIDGETS_V2}?asOf={at}")).await.json();
        let items = list["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["metadata"]["name"] == name).unwrap();
        assert_eq!((&item["spec"], text(item, "/apiVersion")), (&expect, "x.example/v2"));
    };
    check("x", &at1, json!({"both": "2"})).await;
    check("x", &at2, json!({"b": "3", "both": "2", "new": "d"})).await;
    check("y", &at3, json!({"b": "4", "new": "d"})).await;
    assert_eq!(server.get(&format!("{x}?asOf={at1}")).await.status, 404, "v1 is not served");

    let history = server.get(&format!("{WIDGETS_V2}/x?history=true")).await.json();
    let items = history["items"].as_array().unwrap();
    let told: Vec<_> = items.iter().map(|item| (text(item, "/type"), &item["changed"])).collect();
    assert_eq!(
        told,
        [
            ("MODIFIED", &json!([".metadata.generation", ".spec.b", ".spec.new"])),
            ("ADDED", &json!(null))
        ]
    );
    assert_eq!(items[1]["object"]["spec"], json!({"both": "2"}));
    let blame = server.get(&format!("{WIDGETS_V2}/x?blame=true")).await.json();
    let of = |path: &str| {
        let fields = blame["fields"].as_array().unwrap();
        let field = fields.iter().find(|field| field["path"] == path).unwrap();
        text(field, "/revision").to_owned()
    };
    assert_eq!((of(".spec.b"), of(".spec.both")), (at2.clone(), at1.clone()));
    let mut watch = server.watch(&format!("{WIDGETS_V2}?watch=1&asOf={at1}")).await;
    assert_eq!(watch.brief(2).await, ["MODIFIED x", "ADDED y"]);
}

#[tokio::test]
async fn objects_of_a_definition_that_is_gone_are_read_by_it() {
    let (server, _controllers) = served(&[fields("v1", true, &["a"])]).await;
    let before = server.get("/api/v1/namespaces/a").await.version();
    create(&server, WIDGETS, &widget("x", json!({"a": "1"}))).await;
    let at = create(&server, WIDGETS, &widget("y", json!({"a": "2"}))).await;
    let forms = ["application/json", "application/json;as=Table;g=meta.svc.io;v=v1"];
    let mut then = Vec::new();
    for form in forms {
        then.push(server.get_as(WIDGETS, form).await);
    }
    delete_definition(&server).await;
    let gone = server.get("/api/v1/namespaces?limit=1").await.version();

    let x = format!("{WIDGETS}/x");
    for (form, then) in forms.into_iter().zip(then) {
        let now = server.get_as(&format!("{WIDGETS}?asOf={}", then.version()), form).await;
        assert_eq!((now.status, now.text()), (then.status, then.text()));
    }
    let read = server.get(&format!("{x}?asOf={at}")).await;
    assert_eq!((read.status.as_u16(), &read.json()["spec"]), (200, &json!({"a": "1"})));
    let page = server.get(&format!("{WIDGETS}?asOf={at}&limit=1")).await;
    assert_eq!(page.names(), ["x"]);
    let token = text(&page.json(), "/metadata/continue").to_owned();
    assert_eq!(server.get(&format!("{WIDGETS}?continue={token}")).await.names(), ["y"]);
    let history = server.get(&format!("{x}?history=true")).await.json();
    let types: Vec<_> =
        history["items"].as_array().unwrap().iter().map(|item| text(item, "/type")).collect();
    assert_eq!((types.first(), types.last()), (Some(&"DELETED"), Some(&"ADDED")));
    assert_eq!(server.get(&format!("{x}?blame=true&asOf={at}")).await.status, 200);

    let told = async |server: &Server| -> Vec<String> {
        let path = "/past/changes?resource=widgets.x.example&order=oldest";
        let answer = server.get(path).await.json();
        let items = answer["items"].as_array().unwrap().iter();
        items.map(|item| format!("{} {}", text(item, "/type"), text(item, "/name"))).collect()
    };
    let changes = told(&server).await;
    assert_eq!(changes[..2], ["ADDED x", "ADDED y"], "{changes:?}");
    assert_eq!(changes[changes.len() - 2..], ["DELETED x", "DELETED y"], "{changes:?}");

    let stranger = server.by(Some(User::new("joe", [])));
    assert_eq!(stranger.get(&format!("{x}?asOf={at}")).await.status, 403);
    let rules = json!([{"apiGroups": ["x.example"], "resources": ["widgets"], "verbs": ["get"]}]);
    allow(&server, "joe", Some("a"), rules).await;
    assert_eq!(stranger.get(&format!("{x}?asOf={at}")).await.status, 200);
    let page = json!([{"nonResourceURLs": ["/past/changes"], "verbs": ["get"]}]);
    for (user, expect) in [("joe", changes.len()), ("eve", 0)] {
        allow(&server, user, None, page.clone()).await;
        assert_eq!(told(&server.by(Some(User::new(user, [])))).await.len(), expect, "{user}");
    }
    for nothing in [
        x.clone(),
        format!("{x}?asOf={before}"),
        format!("{x}?asOf={gone}"),
        format!("{x}?asOf=never"),
        format!("{WIDGETS}?watch=1&asOf={at}"),
        format!("{WIDGETS_V2}/x?asOf={at}"),
        format!("/apis/x.example/v1/widgets/x?asOf={at}"),
        format!("/apis/x.example/v1/namespaces/a/gadgets/x?asOf={at}"),
    ] {
        assert_eq!(server.get(&nothing).await.status, 404, "{nothing}");
    }
    let write = server.send(Method::DELETE, &format!("{x}?asOf={at}"), &[], "").await;
    assert_eq!(write.status, 404);
}

#[tokio::test]
async fn another_definition_of_the_name_counts_alone() {
    let (server, _controllers) = served(&[fields("v1", true, &["a", "both"])]).await;
    let at = create(&server, WIDGETS, &widget("x", json!({"a": "1", "both": "2"}))).await;
    delete_definition(&server).await;
    define(&server, &[fields("v1", true, &["both", "z"])]).await;
    create(&server, WIDGETS, &widget("x", json!({"z": "3", "both": "2"}))).await;
    let x = format!("{WIDGETS}/x");
    let read = server.get(&format!("{x}?asOf={at}")).await.json();
    assert_eq!(read["spec"], json!({"both": "2"}), "what the schema of today does not have");
    assert_eq!(server.get(&format!("{WIDGETS}?asOf={at}")).await.json()["items"][0], read);
    let history = server.get(&format!("{x}?history=true")).await.json();
    let items = history["items"].as_array().unwrap();
    let types: Vec<_> = items.iter().map(|item| text(item, "/type")).collect();
    assert_eq!(types.iter().filter(|kind| **kind == "ADDED").count(), 2, "{types:?}");
    let blame = server.get(&format!("{x}?blame=true")).await.json();
    assert_eq!(blame["complete"], true);
    let revisions: Vec<_> =
        blame["fields"].as_array().unwrap().iter().map(|field| text(field, "/revision")).collect();
    let newest = text(&items[0], "/revision");
    assert!(revisions.iter().all(|revision| *revision == newest), "{blame}");
}
