//! Namespaces: what they take and when they go.

use super::*;

#[tokio::test]
async fn a_namespace_takes_objects_only_while_it_is_live() {
    let cluster = Cluster::new().await;
    let maps = cluster.target("configmaps", "").resource;
    let elsewhere = Target { resource: maps, namespace: Some("nowhere"), name: "" };
    for name in ["a", "Bad_Name"] {
        let object = cluster.decoded("configmaps", json!({"metadata": {"name": name}}));
        assert_eq!(
            refused(cluster.writer.create(elsewhere, object.clone(), WRITE).await),
            refusal(404, "NotFound")
        );
        assert_eq!(
            refused(cluster.writer.create(elsewhere, object, DRY).await),
            refusal(404, "NotFound")
        );
    }
    assert!(cluster.is_live("n"));
    assert_eq!(cluster.delete("namespaces", "n").await.unwrap().outcome, Outcome::Terminating);
    assert!(!cluster.is_live("n"));
    assert_eq!(cluster.get("namespaces", "n")["status"]["phase"], "Terminating");
    let late = cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await;
    assert_eq!(refused(late), refusal(403, "Forbidden"));
    let again = cluster.create("namespaces", json!({"metadata": {"name": "n"}}), WRITE).await;
    assert_eq!(refused(again), refusal(409, "AlreadyExists"));
}

#[tokio::test]
async fn a_namespace_goes_when_it_is_finalized() {
    let cluster = Cluster::new().await;
    cluster.delete("namespaces", "n").await.unwrap();
    let plain = cluster
        .put("namespaces", "n", json!({"metadata": {"name": "n"}, "spec": {}}), REPLACE)
        .await
        .unwrap();
    assert_ne!(plain.outcome, Outcome::Removed, "only the subresource finalizes");
    let finalize = UpdateOptions { part: Part::Finalize, ..REPLACE };
    let done = cluster
        .put("namespaces", "n", json!({"metadata": {"name": "n"}, "spec": {}}), finalize)
        .await
        .unwrap();
    assert_eq!(done.outcome, Outcome::Removed);
    assert_eq!(cluster.get("namespaces", "n"), json!(null));
    cluster.create("namespaces", json!({"metadata": {"name": "n"}}), WRITE).await.unwrap();
    assert!(cluster.is_live("n"));
}

#[tokio::test]
async fn some_namespaces_are_never_deleted() {
    let cluster = Cluster::new().await;
    cluster.create("namespaces", json!({"metadata": {"name": "svc-system"}}), WRITE).await.unwrap();
    assert_eq!(
        refused(cluster.delete("namespaces", "svc-system").await),
        refusal(403, "Forbidden")
    );
}

#[tokio::test]
async fn a_namespace_belongs_to_its_writers_only_in_part() {
    let cluster = Cluster::new().await;
    let fields = cluster.get("namespaces", "n")["metadata"]["managedFields"][0]["fieldsV1"].clone();
    assert_eq!(
        fields,
        json!({"f:metadata": {"f:labels": {".": {}, "f:svc.io/metadata.name": {}}}})
    );
}
