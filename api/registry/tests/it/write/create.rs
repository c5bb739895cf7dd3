//! Creations: identity, names, and one of two.

use super::*;

#[tokio::test]
async fn a_created_object_is_stored_with_its_identity_and_owners() {
    let cluster = Cluster::new().await;
    let answer = cluster
        .create("configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "v"}}), WRITE)
        .await
        .unwrap();
    assert_eq!(answer.outcome, Outcome::Created);
    let stored = cluster.get("configmaps", "a");
    assert_eq!(stored["metadata"]["resourceVersion"], json!(answer.revision.to_string()));
    assert_eq!(stored["metadata"]["namespace"], "n");
    assert_eq!(stored["metadata"]["uid"].as_str().map(str::len), Some(36));
    let owner = &stored["metadata"]["managedFields"][0];
    assert_eq!((&owner["manager"], &owner["operation"]), (&json!("test"), &json!("Update")));
    assert_eq!(owner["fieldsV1"], json!({"f:data": {".": {}, "f:k": {}}}));
    let again = cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await;
    assert_eq!(refused(again), refusal(409, "AlreadyExists"));
}

#[tokio::test]
async fn names_are_generated_and_checked() {
    let cluster = Cluster::new().await;
    for _ in 0..3 {
        cluster
            .create("configmaps", json!({"metadata": {"generateName": "g-"}}), WRITE)
            .await
            .unwrap();
    }
    let resource = cluster.target("configmaps", "").resource;
    assert_eq!(cluster.store.snapshot().count(&resource.prefix(Some("n")), None), 3);
    let bad = cluster.create("configmaps", json!({"metadata": {"name": "Bad_Name"}}), WRITE).await;
    assert_eq!(refused(bad), refusal(422, "Invalid"));
    let versioned = cluster
        .create("configmaps", json!({"metadata": {"name": "a", "resourceVersion": "7"}}), WRITE)
        .await;
    assert_eq!(refused(versioned), refusal(500, ""));
}

#[tokio::test]
async fn nothing_is_refused_because_this_node_is_behind() {
    let cluster = Cluster::awkward().await;
    let first =
        cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await.unwrap();
    let object = json!({"metadata": {"name": "a", "resourceVersion": first.revision.to_string()}, "data": {"k": "1"}});
    assert_eq!(cluster.get("configmaps", "a"), json!(null), "the node has not seen it");
    let second = cluster.put("configmaps", "a", object.clone(), REPLACE).await.unwrap();
    assert_eq!(second.outcome, Outcome::Updated);
    assert_eq!(
        refused(cluster.put("configmaps", "a", object, REPLACE).await),
        refusal(409, "Conflict")
    );
    // A change that equals the old state of this node is a change all the same.
    let back = json!({"metadata": {"name": "a"}});
    assert_eq!(
        cluster.put("configmaps", "a", back, REPLACE).await.unwrap().outcome,
        Outcome::Updated
    );
    assert_eq!(cluster.delete("configmaps", "a").await.unwrap().outcome, Outcome::Removed);
    cluster.create("configmaps", json!({"metadata": {"name": "b"}}), WRITE).await.unwrap();
    assert_eq!(cluster.delete("configmaps", "b").await.unwrap().outcome, Outcome::Removed);
}

#[tokio::test]
async fn of_two_creations_one_wins() {
    let cluster = Cluster::awkward().await;
    let create = || cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE);
    let (one, two) = tokio::join!(create(), create());
    assert_eq!([&one, &two].iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(cluster.delete("namespaces", "n").await.unwrap().outcome, Outcome::Terminating);
    assert!(cluster.is_live("n"), "the node has not seen it");
    let late = cluster.create("configmaps", json!({"metadata": {"name": "b"}}), WRITE).await;
    assert_eq!(refused(late), refusal(403, "Forbidden"));
}
