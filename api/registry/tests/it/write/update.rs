//! Updates: what they are bound to and what they change.

use super::*;

#[tokio::test]
async fn an_update_replaces_what_it_has_seen() {
    let cluster = Cluster::new().await;
    let first = cluster
        .create("configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "1"}}), WRITE)
        .await
        .unwrap();
    let object = |data: &str, version: String| json!({"metadata": {"name": "a", "resourceVersion": version}, "data": {"k": data}});
    let second = cluster
        .put("configmaps", "a", object("2", first.revision.to_string()), REPLACE)
        .await
        .unwrap();
    assert_eq!(second.outcome, Outcome::Updated);
    let stale =
        cluster.put("configmaps", "a", object("3", first.revision.to_string()), REPLACE).await;
    assert_eq!(refused(stale), refusal(409, "Conflict"));
    for anything in ["", "0"] {
        cluster.put("configmaps", "a", object(anything, anything.into()), REPLACE).await.unwrap();
    }
    let other = json!({"metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}});
    assert_eq!(
        refused(cluster.put("configmaps", "a", other, REPLACE).await),
        refusal(409, "Conflict")
    );
    assert_eq!(
        refused(cluster.put("configmaps", "b", object("1", String::new()), REPLACE).await),
        refusal(404, "NotFound")
    );
}

#[tokio::test]
async fn if_match_binds_an_update() {
    let cluster = Cluster::new().await;
    let first =
        cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await.unwrap();
    let version = first.revision.to_string();
    let put = |data: &'static str, tag: String| {
        let cluster = &cluster;
        async move {
            let options = UpdateOptions { if_match: Some(&tag), ..REPLACE };
            cluster
                .put(
                    "configmaps",
                    "a",
                    json!({"metadata": {"name": "a"}, "data": {"k": data}}),
                    options,
                )
                .await
        }
    };
    assert_eq!(put("1", format!("\"{version}\"")).await.unwrap().outcome, Outcome::Updated);
    assert_eq!(refused(put("2", version).await), refusal(409, "Conflict"));
    assert_eq!(put("3", "*".into()).await.unwrap().outcome, Outcome::Updated);
}

#[tokio::test]
async fn an_update_without_a_change_writes_nothing() {
    let cluster = Cluster::new().await;
    let object = || json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "1"}});
    let created = cluster.create("configmaps", object(), WRITE).await.unwrap();
    let same = cluster.put("configmaps", "a", object(), REPLACE).await.unwrap();
    assert_eq!((same.outcome, same.revision), (Outcome::Unchanged, created.revision));
    assert_eq!(cluster.store.snapshot().revision(), created.revision);
}

#[tokio::test]
async fn a_change_is_made_again_when_it_is_overtaken() {
    let cluster = Cluster::awkward().await;
    cluster
        .create("configmaps", json!({"metadata": {"name": "a"}, "data": {}}), WRITE)
        .await
        .unwrap();
    let add = |key: &'static str| {
        let cluster = &cluster;
        async move {
            let change = |current: Option<&Value>| {
                let mut object = current.cloned().expect("the object exists");
                object.set_at(&["data", key], "x");
                Ok(object)
            };
            let options = UpdateOptions { replaces: false, ..REPLACE };
            // The change has the version that it was made from, like a patch that does not touch
            // it.
            cluster.writer.update(cluster.target("configmaps", "a"), options, change).await
        }
    };
    let (a, b, c) = tokio::join!(add("a"), add("b"), add("c"));
    assert!([a, b, c].iter().all(Result::is_ok));
    cluster.store.read_index().await.unwrap();
    assert_eq!(cluster.get("configmaps", "a")["data"], json!({"a": "x", "b": "x", "c": "x"}));
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_writes_nothing() {
    let cluster = Cluster::new().await;
    let object = |data: &str| json!({"metadata": {"name": "a", "finalizers": ["example.com/a"]}, "data": {"k": data}});
    let dry = cluster.create("configmaps", object("1"), DRY).await.unwrap();
    assert_eq!((dry.outcome, dry.revision), (Outcome::Created, Revision::ZERO));
    assert_eq!(cluster.get("configmaps", "a"), json!(null));
    let real = cluster.create("configmaps", object("1"), WRITE).await.unwrap();
    assert_eq!(
        refused(cluster.create("configmaps", object("1"), DRY).await),
        refusal(409, "AlreadyExists")
    );
    let put = UpdateOptions { write: DRY, ..REPLACE };
    assert_eq!(
        cluster.put("configmaps", "a", object("2"), put).await.unwrap().revision,
        real.revision
    );
    let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
    let dry = cluster.writer.delete(cluster.target("configmaps", "a"), &options).await.unwrap();
    assert_eq!(dry.outcome, Outcome::Terminating);
    assert_eq!(cluster.store.snapshot().revision(), real.revision);
}
