//! A namespace that comes back with what was in it.

use serde_json::json;

use super::*;
use crate::load::make_namespace;

const APPS: &str = "/apis/apps/v1/namespaces/shop";

/// Fills a namespace; gives the uid of its Deployment.
async fn fill(client: &mut Client) -> String {
    make_namespace(client, "shop").await;
    make_map(client, "shop", "gone-before", "x").await;
    delete(client, &map("shop", "gone-before")).await;
    make_map(client, "shop", "settings", "v").await;
    let core = "/api/v1/namespaces/shop";
    let account = json!({"metadata": {"name": "robot"}});
    create(client, &format!("{core}/serviceaccounts"), account).await;
    let secret = json!({"metadata": {"name": "key"}, "data": {"k": "dg=="}});
    create(client, &format!("{core}/secrets"), secret).await;
    let quota = json!({"metadata": {"name": "few"}, "spec": {"hard": {"count/configmaps": "3"}}});
    create(client, &format!("{core}/resourcequotas"), quota).await;
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    create(client, &format!("{core}/services"), service).await;
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec =
        json!({"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    let deployment = create(
        client,
        &format!("{APPS}/deployments"),
        json!({"metadata": {"name": "web"}, "spec": spec}),
    )
    .await;
    let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid(&deployment), "controller": true});
    let replicas = json!({"metadata": {"name": "web-1", "ownerReferences": [owner]}, "spec": spec});
    let replicas = create(client, &format!("{APPS}/replicasets"), replicas).await;
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": uid(&replicas), "controller": true});
    let pod = json!({
        "metadata": {"name": "web-1-a", "labels": {"app": "web"}, "ownerReferences": [owner]},
        "spec": {"nodeName": "lost", "containers": [{"name": "c", "image": "i"}]},
    });
    eventually("a pod", async || {
        let answer = client.post(&format!("{core}/pods"), &pod).await;
        (answer.status == 201).then_some(())
    })
    .await;
    uid(&deployment).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_comes_back_with_all_in_it() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    let old = fill(&mut client).await;
    let pod = "/api/v1/namespaces/shop/pods/web-1-a";
    client.send(Method::DELETE, "/api/v1/namespaces/shop", None).await.unwrap().expect(200);
    // No kubelet ends the pod.
    eventually("the namespace is gone", async || {
        let end = json!({"gracePeriodSeconds": 0});
        client.send(Method::DELETE, pod, Some(&end)).await.ok()?;
        (client.get("/api/v1/namespaces/shop").await.status == 404).then_some(())
    })
    .await;

    let plan = past.run("undelete ns shop --dry-run");
    for line in
        ["namespace/shop undeleted (dry run)", "deployment.apps/web in shop undeleted (dry run)"]
    {
        assert!(plan.contains(line), "{plan}");
    }
    assert_eq!(client.get("/api/v1/namespaces/shop").await.status, 404);

    let done = past.run("undelete ns shop");
    assert!(
        done.contains("pod/web-1-a in shop undeleted; its node lost is gone and was dropped"),
        "{done}"
    );
    assert!(done.contains("serviceaccount/default in shop skipped: "), "{done}");
    assert!(!done.contains("gone-before"), "{done}");
    assert!(done.ends_with(" left alone, 0 failed\n"), "{done}");
    let names = past.run("get serviceaccounts,secrets,resourcequotas,services,deployments,replicasets,pods -n shop -o name");
    for name in ["robot", "key", "few", "web", "web-1", "web-1-a"] {
        assert!(names.lines().any(|line| line.ends_with(&format!("/{name}"))), "{name}: {names}");
    }
    let now = client.get(&format!("{APPS}/deployments/web")).await.expect(200).body;
    assert_ne!(uid(&now), old);
    let replicas = client.get(&format!("{APPS}/replicasets/web-1")).await.expect(200).body;
    assert_eq!(replicas["metadata"]["ownerReferences"][0]["uid"], uid(&now));
    let owned = client.get(pod).await.expect(200).body;
    assert_eq!(owned["metadata"]["ownerReferences"][0]["uid"], uid(&replicas));
    assert_eq!(owned["spec"].get("nodeName"), None);

    let again = past.run("undelete ns shop");
    assert!(again.contains("namespace/shop is there already"), "{again}");
    assert!(again.contains("\n0 brought back, "), "{again}");
}
