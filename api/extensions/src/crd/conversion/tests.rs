//! Conversions by webhooks that are kind, wrong, and hostile.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_meta::{Naming, Value};
use serde_json::{Value as Json, json};

use super::*;

/// A webhook that turns `spec.host` and `spec.port` of v1 into `spec.address` of v2, then does what
/// its function does to the whole answer.
struct Webhook {
    change: fn(&mut Json),
    asked: Mutex<Vec<Json>>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook")
    }
}

#[async_trait]
impl ReviewSender for Webhook {
    async fn send(&self, review: Bytes) -> Result<Bytes, String> {
        let review: Json = serde_json::from_slice(&review).expect("it is JSON");
        let request = &review["request"];
        let converted: Vec<Json> = request["objects"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|object| {
                let mut object = object.clone();
                let spec = &object["spec"];
                let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
                object["spec"] = json!({"address": format!("{}:{}", text("host"), text("port"))});
                object["apiVersion"] = request["desiredAPIVersion"].clone();
                object
            })
            .collect();
        let mut answer = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": {
            "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}});
        (self.change)(&mut answer);
        self.asked.lock().push(review);
        match answer.as_str() {
            Some("fails") => Err("Post \"https://a/\": context deadline exceeded".to_owned()),
            Some(text) => Ok(text.to_owned().into()),
            None => Ok(answer.to_string().into()),
        }
    }
}

fn widget(name: &str, version: &str) -> Json {
    json!({"apiVersion": format!("x.example/{version}"), "kind": "Widget", "metadata": {"name": name, "uid": name},
        "spec": {"host": name, "port": "1"}})
}

/// What becomes of objects, and the names that each review asked for.
async fn convert(
    change: fn(&mut Json),
    objects: Vec<Json>,
) -> (Result<Vec<Json>, String>, Vec<Vec<String>>) {
    let webhook = Arc::new(Webhook { change, asked: Mutex::default() });
    let versions = ["v9".to_owned(), "v1".to_owned()];
    let converter =
        Converter::new(Naming::Svc.names(), Arc::new(SystemEnv), &versions, webhook.clone());
    let mut objects: Vec<Value> = objects.into_iter().map(Value::from).collect();
    let done = converter.convert("x.example/v2", &mut objects).await;
    let names = |review: &Json| {
        let objects = review["request"]["objects"].as_array().expect("a list").iter();
        objects
            .map(|object| object["metadata"]["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let asked = webhook.asked.lock().iter().map(names).collect();
    let shown = |object: &Value| serde_json::to_value(object).expect("it is JSON");
    let done =
        done.map(|()| objects.iter().map(shown).collect()).map_err(|error| error.to_string());
    (done, asked)
}

#[tokio::test]
async fn only_what_has_another_version_is_sent() {
    let objects = vec![widget("a", "v1"), widget("b", "v2"), widget("c", "v1")];
    let (done, asked) = convert(|_| {}, objects).await;
    let done = done.expect("they are converted");
    let specs: Vec<&Json> = done.iter().map(|object| &object["spec"]).collect();
    assert_eq!(
        specs,
        [
            &json!({"address": "a:1"}),
            &json!({"host": "b", "port": "1"}),
            &json!({"address": "c:1"})
        ]
    );
    assert!(done.iter().all(|object| object["apiVersion"] == "x.example/v2"));
    assert_eq!(asked, [["a", "c"]]);
    let (done, asked) = convert(|_| {}, vec![widget("b", "v2")]).await;
    assert!(done.is_ok() && asked.is_empty());
}

#[tokio::test]
async fn long_lists_are_sent_in_parts() {
    let objects = (0..1200).map(|at| widget(&format!("w{at}"), "v1")).collect();
    let (done, asked) = convert(|_| {}, objects).await;
    let done = done.expect("they are converted");
    assert_eq!(done[1199]["spec"], json!({"address": "w1199:1"}));
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 200]);
}

#[tokio::test]
async fn errors_name_the_version_and_the_kind() {
    async fn check(count: usize, change: fn(&mut Json), expect: &str) {
        let objects = (0..count).map(|at| widget(&format!("w{at}"), "v1")).collect();
        let (done, _) = convert(change, objects).await;
        let expect = format!("conversion webhook for x.example/v1, Kind=Widget {expect}");
        assert_eq!(done.expect_err(&expect), expect);
    }
    let failure: fn(&mut Json) = |answer| {
        answer["response"]["result"] = json!({"status": "Failure", "message": "cannot do that"});
    };
    check(1, failure, "failed: cannot do that").await;
    check(2, failure, "failed: cannot do that").await;
    let hang: fn(&mut Json) = |answer| *answer = json!("fails");
    check(1, hang, "failed: Post \"https://a/\": context deadline exceeded").await;
    let few: fn(&mut Json) = |answer| answer["response"]["convertedObjects"] = json!([]);
    check(2, few, "returned 0 objects, expected 2").await;
    let many: fn(&mut Json) = |answer| {
        let objects = answer["response"]["convertedObjects"].as_array_mut().expect("a list");
        objects.push(objects[0].clone());
    };
    check(1, many, "returned 2 objects, expected 1").await;
    let rename: fn(&mut Json) =
        |answer| answer["response"]["convertedObjects"][0]["metadata"]["name"] = json!("z");
    check(1, rename, "returned invalid object at index 0: must have the same name: w0 != z").await;
    let swap: fn(&mut Json) = |answer| {
        answer["response"]["convertedObjects"].as_array_mut().expect("a list").swap(1, 2);
    };
    check(
        3,
        swap,
        "returned invalid converted object at index 1: must have the same name: w1 != w2",
    )
    .await;
    let label: fn(&mut Json) = |answer| {
        answer["response"]["convertedObjects"][0]["metadata"]["labels"] = json!(1);
    };
    let expect =
        "returned invalid metadata: invalid metadata.labels of type int64 in converted object";
    check(1, label, expect).await;
    let expect = "returned invalid metadata in object at index 0: invalid metadata.labels of type int64 in converted object";
    check(2, label, expect).await;
    let uid: fn(&mut Json) = |answer| answer["response"]["uid"] = json!("x");
    let objects = vec![widget("a", "v1")];
    let (done, _) = convert(uid, objects).await;
    let told = done.expect_err("the uid is wrong");
    assert!(
        told.starts_with(
            "conversion webhook for x.example/v1, Kind=Widget failed: expected response.uid="
        ),
        "{told}"
    );
    assert!(told.ends_with(r#", got "x""#), "{told}");
}

#[tokio::test]
async fn a_webhook_that_knows_no_review_is_not_asked() {
    let webhook = Arc::new(Webhook { change: |_| {}, asked: Mutex::default() });
    let converter = Converter::new(
        Naming::Svc.names(),
        Arc::new(SystemEnv),
        &["v9".to_owned()],
        webhook.clone(),
    );
    let mut objects = [Value::from(widget("a", "v1"))];
    let error = converter.convert("x.example/v2", &mut objects).await.expect_err("none is known");
    assert_eq!(error.to_string(), "no supported conversion review versions");
    assert!(webhook.asked.lock().is_empty());
}
