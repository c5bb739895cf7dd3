//! Deletions: finalizers and preconditions.

use super::*;

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let cluster = Cluster::new().await;
    let object = |finalizers: &[&str]| json!({"metadata": {"name": "a", "finalizers": finalizers}});
    cluster.create("configmaps", object(&["example.com/a", "example.com/b"]), WRITE).await.unwrap();
    let begun = cluster.delete("configmaps", "a").await.unwrap();
    assert_eq!(begun.outcome, Outcome::Terminating);
    let stored = cluster.get("configmaps", "a");
    assert_eq!(stored["metadata"]["deletionGracePeriodSeconds"], 0);
    let again = cluster.delete("configmaps", "a").await.unwrap();
    assert_eq!((again.outcome, again.revision), (Outcome::Unchanged, begun.revision));
    let added =
        cluster.put("configmaps", "a", object(&["example.com/a", "example.com/c"]), REPLACE).await;
    assert_eq!(refused(added), refusal(422, "Invalid"));
    let one = cluster.put("configmaps", "a", object(&["example.com/b"]), REPLACE).await.unwrap();
    assert_eq!(one.outcome, Outcome::Updated);
    assert_eq!(
        cluster.get("configmaps", "a")["metadata"]["deletionTimestamp"],
        stored["metadata"]["deletionTimestamp"]
    );
    let none = cluster.put("configmaps", "a", object(&[]), REPLACE).await.unwrap();
    assert_eq!(none.outcome, Outcome::Removed);
    assert_eq!(cluster.get("configmaps", "a"), json!(null));
}

#[tokio::test]
async fn preconditions_bind_a_deletion() {
    let cluster = Cluster::new().await;
    cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await.unwrap();
    let stored = cluster.get("configmaps", "a");
    let text = |field: &str| stored["metadata"][field].as_str().unwrap().to_owned();
    let delete = |uid: Option<String>, resource_version: Option<String>| {
        let cluster = &cluster;
        async move {
            let preconditions = Preconditions { uid, resource_version };
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            cluster.writer.delete(cluster.target("configmaps", "a"), &options).await
        }
    };
    assert_eq!(refused(delete(Some("other".into()), None).await), refusal(409, "Conflict"));
    assert_eq!(
        refused(delete(Some(text("uid")), Some("1".into())).await),
        refusal(409, "Conflict")
    );
    let done = delete(Some(text("uid")), Some(text("resourceVersion"))).await.unwrap();
    assert_eq!(done.outcome, Outcome::Removed);
    assert_eq!(refused(delete(None, None).await), refusal(404, "NotFound"));
}
