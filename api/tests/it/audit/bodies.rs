//! Response bodies in audit events: which are whole, and which are said to be left out.

use http::Method;
use serde_json::{Value, json};

use super::{MAPS, Trail};

const RULES: &str = "omitStages: [RequestReceived, ResponseStarted]\nrules: [{level: None, verbs: [create]}, {level: RequestResponse}]";
const LEFT_OUT: &str = "audit.svc.io/body-left-out";
const GZIP: (&str, &str) = ("accept-encoding", "gzip");
const PROTOBUF: (&str, &str) = ("accept", "application/vnd.svc.protobuf");
/// One object is worth compressing, and all of them are longer than what is sent whole.
const OBJECT_BYTES: usize = 150_000;
const OBJECTS: usize = 8;

/// What comes after the path of the collection, headers, and the kind of what is told of the
/// answer.
type Asked = (&'static str, &'static [(&'static str, &'static str)], Option<&'static str>);

#[tokio::test]
async fn an_answer_is_told_or_said_to_be_left_out() {
    let trail = Trail::start(RULES).await;
    for at in 0..OBJECTS {
        let body = json!({"metadata": {"name": format!("m{at}")}, "data": {"k": "v".repeat(OBJECT_BYTES)}});
        assert_eq!(trail.server.send(Method::POST, MAPS, &[], body.to_string()).await.status, 201);
    }
    let asked: [Asked; 8] = [
        ("/m0", &[], Some("ConfigMap")),
        ("/m0", &[GZIP], Some("ConfigMap")),
        ("/m0", &[PROTOBUF, GZIP], Some("ConfigMap")),
        ("?limit=1", &[PROTOBUF], Some("ConfigMapList")),
        ("/none", &[PROTOBUF], Some("Status")),
        ("", &[], None),
        ("", &[GZIP], None),
        ("", &[PROTOBUF], None),
    ];
    for (path, headers, _) in asked {
        trail.server.send(Method::GET, &format!("{MAPS}{path}"), headers, "").await;
    }
    drop(trail.server.watch(&format!("{MAPS}?watch=1&resourceVersion=1")).await);
    let mut events = trail.events(MAPS).await;
    let watch = events.pop().unwrap();
    assert_eq!((&watch["verb"], watch["annotations"].get(LEFT_OUT)), (&json!("watch"), None));
    assert_eq!(events.len(), asked.len());
    for (event, (path, headers, expect)) in events.iter().zip(asked) {
        assert_eq!(event["responseObject"]["kind"].as_str(), expect, "{path} {headers:?}");
        assert_eq!(
            event["annotations"].get(LEFT_OUT).is_some(),
            expect.is_none(),
            "{path} {headers:?}"
        );
        let object = &event["responseObject"];
        let map = object.pointer("/items/0").unwrap_or(object);
        let value = map.pointer("/data/k").and_then(Value::as_str);
        assert_eq!(
            value.map_or(0, str::len) == OBJECT_BYTES,
            map.get("data").is_some(),
            "{path} {headers:?}"
        );
    }
}
