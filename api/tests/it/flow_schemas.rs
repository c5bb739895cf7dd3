//! What the cluster says of flow schemas.

use http::Method;
use serde_json::{Value, json};

use crate::controllers::{send, start, until_body};

const FLOW: &str = "/apis/flowcontrol.apiserver.svc.io/v1";

#[tokio::test(start_paused = true)]
async fn flow_schemas_say_whether_their_level_is_there() {
    let (server, _controllers) = start();
    let says = |expect: Value| {
        move |_: u16, body: &Value| {
            let found = &body["status"]["conditions"][0];
            json!([found["type"], found["status"], found["reason"]]) == expect
        }
    };
    let (there, gone) = (json!(["Dangling", "False", "Found"]), json!(["Dangling", "True", "NotFound"]));
    until_body(&server, &format!("{FLOW}/flowschemas/exempt"), says(there.clone())).await;
    let schema = json!({"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "l"}}});
    assert_eq!(send(&server, Method::POST, &format!("{FLOW}/flowschemas"), schema).await, 201);
    let own = format!("{FLOW}/flowschemas/s");
    let body = until_body(&server, &own, says(gone.clone())).await;
    let message =
        "This FlowSchema references the PriorityLevelConfiguration object named \"l\" but there is no such object";
    assert_eq!(body["status"]["conditions"][0]["message"], message);
    let level = json!({"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}});
    assert_eq!(send(&server, Method::POST, &format!("{FLOW}/prioritylevelconfigurations"), level).await, 201);
    until_body(&server, &own, says(there)).await;
    assert_eq!(send(&server, Method::DELETE, &format!("{FLOW}/prioritylevelconfigurations/l"), json!({})).await, 200);
    until_body(&server, &own, says(gone)).await;
}
