//! FlowSchemas and PriorityLevelConfigurations of API Priority and Fairness: the headers, the
//! status, and the objects that every cluster keeps.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::controllers::{send, start, until, until_body};

const FLOW: &str = "/apis/flowcontrol.apiserver.svc.io/v1";

#[tokio::test(start_paused = true)]
async fn an_answer_says_which_schema_its_request_belongs_to() {
    let (server, _controllers) = start();
    let none = server.get("/version").await;
    assert_eq!(
        [none.header("x-svc-pf-flowschema-uid"), none.header("x-svc-pf-prioritylevel-uid")],
        [""; 2]
    );
    until_body(&server, &format!("{FLOW}/flowschemas/probes"), |status, _| status == 200).await;
    let uid = async |plural: &str, name: &str| {
        let object = server.get(&format!("{FLOW}/{plural}/{name}")).await.json();
        object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
    };
    let check = async |as_whom: &[(&str, &str)], path: &str, [schema, level]: [&str; 2]| {
        let answer = server.send(Method::GET, path, as_whom, "").await;
        let told =
            [answer.header("x-svc-pf-flowschema-uid"), answer.header("x-svc-pf-prioritylevel-uid")];
        let expect =
            [uid("flowschemas", schema).await, uid("prioritylevelconfigurations", level).await];
        assert_eq!(told, expect, "{path}");
    };
    check(&[], "/version", ["exempt", "exempt"]).await;
    let ann = [("impersonate-user", "ann")];
    check(&ann, "/healthz", ["probes", "exempt"]).await;
    // Also of what is refused, and of what is not there.
    check(&ann, "/api/v1/namespaces/a/pods", ["global-default", "global-default"]).await;
    check(&ann, "/nowhere", ["global-default", "global-default"]).await;
    let rule = json!({"subjects": [{"kind": "User", "user": {"name": "ann"}}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/nowhere"]}]});
    let level = json!({"name": "workload-low"});
    let spec =
        json!({"priorityLevelConfiguration": level, "matchingPrecedence": 9000, "rules": [rule]});
    let own = json!({"metadata": {"name": "own"}, "spec": spec});
    assert_eq!(send(&server, Method::POST, &format!("{FLOW}/flowschemas"), own).await, 201);
    check(&ann, "/nowhere", ["own", "workload-low"]).await;
    check(&ann, "/version", ["global-default", "global-default"]).await;
}

#[tokio::test(start_paused = true)]
async fn flow_schemas_say_whether_their_level_is_there() {
    let (server, _controllers) = start();
    let says = |expect: Value| {
        move |_: u16, body: &Value| {
            let found = &body["status"]["conditions"][0];
            json!([found["type"], found["status"], found["reason"]]) == expect
        }
    };
    let (there, gone) =
        (json!(["Dangling", "False", "Found"]), json!(["Dangling", "True", "NotFound"]));
    until_body(&server, &format!("{FLOW}/flowschemas/exempt"), says(there.clone())).await;
    let schema =
        json!({"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "l"}}});
    assert_eq!(send(&server, Method::POST, &format!("{FLOW}/flowschemas"), schema).await, 201);
    let own = format!("{FLOW}/flowschemas/s");
    let body = until_body(&server, &own, says(gone.clone())).await;
    let message = "This FlowSchema references the PriorityLevelConfiguration object named \"l\" but there is no such object";
    assert_eq!(body["status"]["conditions"][0]["message"], message);
    let level = json!({"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}});
    assert_eq!(
        send(&server, Method::POST, &format!("{FLOW}/prioritylevelconfigurations"), level).await,
        201
    );
    until_body(&server, &own, says(there)).await;
    assert_eq!(
        send(&server, Method::DELETE, &format!("{FLOW}/prioritylevelconfigurations/l"), json!({}))
            .await,
        200
    );
    until_body(&server, &own, says(gone)).await;
}

#[tokio::test(start_paused = true)]
async fn schemas_and_levels_of_the_cluster_come_back() {
    let (server, _controllers) = start();
    for path in
        ["flowschemas/catch-all", "prioritylevelconfigurations/exempt", "flowschemas/probes"]
    {
        let path = format!("{FLOW}/{path}");
        until(&server, &path, 200).await;
        assert_eq!(send(&server, Method::DELETE, &path, json!({})).await, 200);
        assert_eq!(server.get(&path).await.status, 404);
        tokio::time::sleep(Duration::from_secs(61)).await;
        until(&server, &path, 200).await;
    }
}

#[tokio::test]
async fn the_status_of_a_schema_has_no_metadata() {
    let (server, _controllers) = start();
    let schema = json!({"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "exempt"}}});
    assert_eq!(send(&server, Method::POST, &format!("{FLOW}/flowschemas"), schema).await, 201);
    let own = format!("{FLOW}/flowschemas/s");
    let conditions = json!([{"type": "Odd", "status": "True"}]);
    let metadata =
        json!({"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["example.com/x"]});
    let body = json!({"metadata": metadata, "status": {"conditions": conditions}}).to_string();
    let headers = [("content-type", "application/merge-patch+json"), ("user-agent", "tester/1.0")];
    let answer = server.send(Method::PATCH, &format!("{own}/status"), &headers, &body).await;
    let body = answer.json();
    assert_eq!(
        (answer.status.as_u16(), &body["status"]["conditions"][0]["type"]),
        (200, &json!("Odd"))
    );
    for field in ["labels", "annotations", "finalizers"] {
        assert_eq!(body["metadata"][field], Value::Null, "{field}");
    }
    let entries = body["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["manager"] == "tester").unwrap();
    let fields: Vec<&str> =
        entry["fieldsV1"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["f:status"]);
}
