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
    let ready = json!({"status": {"ready": true}});
    let at = version(&patch(&mut client, &format!("{WIDGETS}/a/status"), ready).await);
    delete(&mut client, &format!("{DEFINITIONS}/widgets.example.com")).await;

    // What is gone is found by its full name.
    let names = past.run(&format!("get widgets.example.com -n shop --as-of {at} -o name"));
    assert_eq!(names, "widget.example.com/a\nwidget.example.com/b\n");
    let history = past.records("history widgets.example.com a -n shop -o json");
    assert_eq!(history[0]["type"], "DELETED");
    let changes = past.records("changes --type widgets.example.com -o json");
    assert_eq!(
        (&changes[0]["type"], &changes[0]["resource"]),
        (&json!("DELETED"), &json!("widgets"))
    );
    let blame = past.run(&format!("blame widgets.example.com/a -n shop --as-of {at}"));
    assert!(blame.contains("│   ready: true"), "{blame}");
    assert!(past.fail("get widgets --as-of 1h").contains("doesn't have a resource type"));

    let plan = past.run("undelete crd widgets.example.com --dry-run");
    assert!(plan.contains("widgets.example.com undeleted (dry run)"), "{plan}");
    assert!(plan.ends_with("\n3 would be brought back, 0 left alone, 0 failed\n"), "{plan}");
    let done = past.run("undelete crd widgets.example.com --with-status");
    assert!(done.ends_with("\n3 brought back, 0 left alone, 0 failed\n"), "{done}");
    let widget = client.get(&format!("{WIDGETS}/a")).await.expect(200).body;
    assert_eq!(
        (&widget["spec"], &widget["status"]),
        (&json!({"size": "a"}), &json!({"ready": true}))
    );
    client.get(&format!("{WIDGETS}/b")).await.expect(200);
}

/// A schema whose `spec` has these texts.
fn schema(fields: &[&str]) -> Value {
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let spec = json!({"type": "object", "properties": fields});
    json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_come_back_with_what_only_their_storage_version_has() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": true, "storage": false, "schema": schema(&["size"])},
            {"name": "v1beta1", "served": true, "storage": true, "schema": schema(&["size", "old"])},
        ],
    }});
    create(&mut client, DEFINITIONS, definition).await;
    let stored = "/apis/example.com/v1beta1/namespaces/shop/widgets";
    let spec = json!({"size": "1", "old": "kept"});
    let widget = json!({"apiVersion": "example.com/v1beta1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    eventually("widgets are served", async || {
        (client.post(stored, &widget).await.status == 201).then_some(())
    })
    .await;
    let spec_of = async |client: &mut Client| {
        client.get(&format!("{stored}/a")).await.expect(200).body["spec"].clone()
    };

    delete(&mut client, &format!("{stored}/a")).await;
    past.run("undelete widgets a -n shop");
    assert_eq!(spec_of(&mut client).await, spec);

    delete(&mut client, &format!("{DEFINITIONS}/widgets.example.com")).await;
    past.run("undelete crd widgets.example.com");
    assert_eq!(spec_of(&mut client).await, spec);

    delete(&mut client, "/api/v1/namespaces/shop").await;
    past.run("undelete ns shop");
    assert_eq!(spec_of(&mut client).await, spec);

    let place = back_up(&cluster, &past);
    delete(&mut client, &format!("{stored}/a")).await;
    let done = past.run(&format!("restore --namespace shop {place} --yes"));
    assert!(done.contains("  create  widgets/a\n"), "{done}");
    assert_eq!(spec_of(&mut client).await, spec);
}
