//! Rights right after a restart (kubernetes#121635): with many role bindings kube-apiserver answers
//! 403 for minutes, because it is ready before its authorizer has heard of all of them.

use std::time::Instant;

use http::Method;
use serde_json::json;

use crate::load::{collection, make_namespace};
use crate::overload::token;
use crate::support::{Client, Cluster, PATIENCE};

const BINDINGS: usize = 400;
/// Subjects of each.
const SUBJECTS: usize = 100;
const RBAC: &str = "/apis/rbac.authorization.svc.io/v1/namespaces/load";

async fn bind_many(client: &mut Client) {
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] });
    let role = json!({ "metadata": { "name": "reader" }, "rules": [rule] });
    client.post(&format!("{RBAC}/roles"), &role).await.expect(201);
    for number in 0..BINDINGS {
        let mut subjects: Vec<_> = (0..SUBJECTS)
            .map(|subject| json!({ "kind": "User", "name": format!("user-{number}-{subject}") }))
            .collect();
        if number == BINDINGS - 1 {
            subjects
                .push(json!({ "kind": "ServiceAccount", "name": "robot", "namespace": "load" }));
        }
        let body = json!({
            "metadata": { "name": format!("reads-{number:04}") },
            "roleRef": { "apiGroup": "rbac.authorization.svc.io", "kind": "Role", "name": "reader" },
            "subjects": subjects,
        });
        client.post(&format!("{RBAC}/rolebindings"), &body).await.expect(201);
    }
}

/// A token of an account that may only read what the role says.
async fn robot(admin: &mut Client) -> String {
    let accounts = "/api/v1/namespaces/load/serviceaccounts";
    admin.post(accounts, &json!({ "metadata": { "name": "robot" } })).await.expect(201);
    let answer = admin.post(&format!("{accounts}/robot/token"), &json!({})).await.expect(201);
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_loses_rights_by_a_restart() {
    let mut cluster = Cluster::start(1, &[]);
    let mut admin = cluster.client(1);
    make_namespace(&mut admin, "load").await;
    let (robot, stranger) =
        (robot(&mut admin).await, token(&mut admin, "default", "stranger").await);
    bind_many(&mut admin).await;
    // The stranger's binding goes: what was revoked before a restart is no right after it either.
    let binding = "/apis/rbac.authorization.svc.io/v1/clusterrolebindings/stranger";
    admin.send(Method::DELETE, binding, None).await.unwrap().expect(200);
    let bearer =
        |token: &str| Client::bearer(&cluster.address(1), &cluster.root().join("pki"), token);
    let (mut robot, mut stranger) = (bearer(&robot), bearer(&stranger));
    robot.get(&collection("load")).await.expect(200);
    let folder = cluster.node(1);
    for _ in 0..2 {
        cluster.kill(1);
        cluster.serve(&folder);
        let (mut refused, mut allowed, begin) = (0, 0, Instant::now());
        // As in the report: a watch, a list, an object, from the first accepted connection on.
        let paths =
            ["?watch=1&timeoutSeconds=1&resourceVersion=0", "?resourceVersion=0", "", "/none"];
        while allowed < 40 {
            assert!(begin.elapsed() < PATIENCE, "it never serves");
            let path = format!("{}{}", collection("load"), paths[allowed % paths.len()]);
            let Ok(answer) = robot.send(Method::GET, &path, None).await else { continue };
            match answer.status {
                200 | 404 => allowed += 1,
                // Not ready yet is no verdict.
                429 | 503 | 504 => refused += 1,
                other => panic!("{other} after {:?}: {}", begin.elapsed(), answer.body),
            }
            let told = stranger.send(Method::GET, &path, None).await;
            let status = told.map_or(503, |answer| answer.status);
            assert!(matches!(status, 403 | 429 | 503 | 504), "the stranger got {status}");
        }
        println!("{refused} requests came before the node served, {:?}", begin.elapsed());
    }
}
