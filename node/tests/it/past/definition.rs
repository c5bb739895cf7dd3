//! A definition of custom resources that comes back with its objects.

use serde_json::json;

use super::*;
use crate::load::make_namespace;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/shop/widgets";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_comes_back_with_its_objects() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}}],
    }});
    create(&mut client, DEFINITIONS, definition).await;
    for name in ["a", "b"] {
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": name}});
        eventually("widgets are served", async || {
            (client.post(WIDGETS, &widget).await.status == 201).then_some(())
        })
        .await;
    }
    patch(&mut client, &format!("{WIDGETS}/a/status"), json!({"status": {"ready": true}})).await;
    delete(&mut client, &format!("{DEFINITIONS}/widgets.example.com")).await;

    let plan = past.run("undelete crd widgets.example.com --dry-run");
    assert!(plan.contains("widgets.example.com undeleted (dry run)"), "{plan}");
    let done = past.run("undelete crd widgets.example.com --with-status");
    assert!(done.ends_with("\n3 brought back, 0 left alone, 0 failed\n"), "{done}");
    let widget = client.get(&format!("{WIDGETS}/a")).await.expect(200).body;
    assert_eq!(
        (&widget["spec"], &widget["status"]),
        (&json!({"size": "a"}), &json!({"ready": true}))
    );
    client.get(&format!("{WIDGETS}/b")).await.expect(200);
}
