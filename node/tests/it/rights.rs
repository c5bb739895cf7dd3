//! Rights across nodes, and on a node that asks others who may do what.

use std::process::Stdio;

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Cluster, eventually, quorate};

const RBAC: &str = "/apis/rbac.authorization.svc.io/v1/namespaces/default";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The status of an answer that says yes or no. A node may be without a leader for a while on a
/// busy machine.
async fn settled(client: &mut Client, method: Method, path: &str, body: Option<&Value>) -> u16 {
    eventually("an answer", async || {
        let answer = client.send(method.clone(), path, body).await.ok()?;
        (answer.status < 500 && answer.status != 429).then_some(answer.status)
    })
    .await
}

/// Waits until the node is ready: it decides by the rules of roles, and the default ones exist.
async fn ready(cluster: &Cluster, node: u64) {
    let checks = eventually(&format!("node {node} is ready"), async || {
        let answer = cluster.client(node).send(Method::GET, "/readyz?verbose", None).await.ok()?;
        (answer.status == 200).then_some(answer.body)
    })
    .await;
    let checks = checks.as_str().unwrap_or_default();
    for hook in ["rbac/bootstrap-roles", "scheduling/bootstrap-system-priority-classes"] {
        assert!(checks.contains(&format!("[+]poststarthook/{hook} ok\n")), "{checks}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_acknowledges_holds_at_every_node_at_once() {
    let folder = TempDir::new().unwrap();
    let tokens = folder.path().join("tokens.csv");
    std::fs::write(&tokens, "joes-token,joe,joe-1\n").unwrap();
    let cluster = Cluster::start(3, &[&format!("--token-auth-file={}", tokens.display())]);
    for node in 1..=3 {
        ready(&cluster, node).await;
    }
    let mut admins: Vec<Client> = (1..=3).map(|node| cluster.client(node)).collect();
    let pki = cluster.root().join("pki");
    let joe = |node| Client::bearer(&cluster.address(node), &pki, "joes-token");
    let mut joes: Vec<Client> = (1..=3).map(joe).collect();
    let role = json!({
        "metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    });
    assert_eq!(
        settled(&mut admins[0], Method::POST, &format!("{RBAC}/roles"), Some(&role)).await,
        201
    );
    let reference =
        json!({"apiGroup": "rbac.authorization.svc.io", "kind": "Role", "name": "reader"});
    let binding = json!({
        "metadata": {"name": "joe"}, "roleRef": reference, "subjects": [{"kind": "User", "name": "joe"}]
    });
    let review = json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "default"}}});
    let reviews = "/apis/authorization.svc.io/v1/selfsubjectaccessreviews";
    for turn in 0..15 {
        let (giver, taker) = (turn % 3, (turn + 1) % 3);
        // An attempt whose outcome is unknown may have succeeded.
        let made = settled(
            &mut admins[giver],
            Method::POST,
            &format!("{RBAC}/rolebindings"),
            Some(&binding),
        )
        .await;
        assert!([201, 409].contains(&made), "{made}");
        for (node, joe) in joes.iter_mut().enumerate() {
            assert_eq!(
                settled(joe, Method::GET, MAPS, None).await,
                200,
                "turn {turn}: node {} refuses",
                node + 1
            );
        }
        let gone =
            settled(&mut admins[taker], Method::DELETE, &format!("{RBAC}/rolebindings/joe"), None)
                .await;
        assert!([200, 404].contains(&gone), "{gone}");
        for (node, joe) in joes.iter_mut().enumerate() {
            assert_eq!(
                settled(joe, Method::GET, MAPS, None).await,
                403,
                "turn {turn}: node {} allows",
                node + 1
            );
        }
        for joe in &mut joes {
            let answer = eventually("an answer", async || {
                let answer = joe.send(Method::POST, reviews, Some(&review)).await.ok()?;
                (answer.status == 201).then_some(answer)
            });
            assert_eq!(answer.await.body["status"]["allowed"], false, "turn {turn}");
        }
    }
}

#[test]
fn options_that_contradict_each_other_stop_the_node_with_one_line() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let made =
        quorate(&["init", "--bind", "127.0.0.1:1", "--peer-bind", "127.0.0.1:2", "--data-dir"])
            .arg(&data)
            .output();
    assert!(made.unwrap().status.success());
    let check = |options: &[&str], expect: &str| {
        let command = [&["serve"], options, &["--data-dir"]].concat();
        let output = quorate(&command).arg(&data).stdout(Stdio::null()).output().unwrap();
        assert!(!output.status.success(), "{options:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.lines().last().unwrap_or_default().contains(expect), "{options:?}: {said}");
    };
    check(&["--authorization-mode=RBAC,RBAC"], "--authorization-mode names RBAC twice");
    check(&["--authorization-mode=Webhook"], "needs --authorization-webhook-config-file");
    check(&["--authorization-webhook-config-file=f"], "needs Webhook in --authorization-mode");
}
