//! Deletions over HTTP, of one object and of collections.

use super::*;

#[tokio::test]
async fn a_deletion_answers_with_a_status_or_the_object() {
    let server = Server::with_namespace().await;
    let uid = |answer: &Answer, field: &str| answer.json()[field]["uid"].clone();
    let created = post(&server, MAPS, json!({"metadata": {"name": "m"}})).await;
    let dry = server.send(Method::DELETE, &format!("{MAP}?dryRun=All"), &[], "").await;
    let deleted = server.send(Method::DELETE, MAP, &[], "").await;
    for answer in [&dry, &deleted] {
        assert_eq!(
            (&answer.json()["kind"], uid(answer, "details")),
            (&json!("Status"), uid(&created, "metadata"))
        );
    }
    assert_eq!(server.send(Method::DELETE, MAP, &[], "").await.status, 404);
    let accounts = "/api/v1/namespaces/a/serviceaccounts";
    post(&server, accounts, json!({"metadata": {"name": "s"}})).await;
    let deleted = server.send(Method::DELETE, &format!("{accounts}/s"), &[], "").await;
    assert_eq!((deleted.status.as_u16(), &deleted.json()["kind"]), (200, &json!("ServiceAccount")));
}

#[tokio::test]
async fn options_of_a_deletion() {
    let server = Server::with_namespace().await;
    let held = json!({"metadata": {"name": "m", "finalizers": ["example.com/f"]}});
    post(&server, MAPS, held).await;
    let delete = async |body: Value| {
        send(&server, Method::DELETE, MAP, "application/json", &body.to_string()).await
    };
    let policy = "422 Invalid FieldValueNotSupported propagationPolicy";
    assert_eq!(refusal(&delete(json!({"propagationPolicy": "Sideways"})).await), policy);
    assert_eq!(
        refusal(&delete(json!({"kind": "ConfigMap", "apiVersion": "v1"})).await),
        "400 BadRequest"
    );
    assert_eq!(refusal(&delete(json!({"gracePeriodSeconds": "soon"})).await), "400 BadRequest");
    assert_eq!(refusal(&delete(json!({"preconditions": {"uid": "other"}})).await), "409 Conflict");
    let begun = delete(json!({"orphanDependents": false})).await;
    assert_eq!(
        (begun.status.as_u16(), &begun.json()["metadata"]["deletionGracePeriodSeconds"]),
        (202, &json!(0))
    );
    let done = server.patch("m", json!({"metadata": {"finalizers": null}})).await;
    assert!(!done.is_empty());
    assert_eq!(server.get(MAP).await.status, 404);
}

#[tokio::test]
async fn a_dry_run_of_a_deletion_is_one_wherever_it_is_asked_for() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let check = async |path: &str, query: &str, body: Value, code: u16| {
        let path = format!("{path}?{query}");
        let answer =
            send(&server, Method::DELETE, &path, "application/json", &body.to_string()).await;
        assert_eq!(answer.status, code, "{path} {body}: {}", answer.text());
        assert_eq!(server.get(MAPS).await.names().len(), 1, "{path} {body}");
    };
    for path in [MAP, MAPS] {
        check(path, "dryRun=All", json!({"propagationPolicy": "Background"}), 200).await;
        check(path, "dryRun=All", json!({"dryRun": []}), 200).await;
        check(path, "dryRun=", json!({"dryRun": ["All"]}), 200).await;
        check(path, "dryRun=All", json!({"dryRun": ["All"]}), 200).await;
        check(path, "dryRun=Some", json!({}), 422).await;
        check(path, "dryRun=All", json!({"dryRun": ["Some"]}), 422).await;
    }
    let hidden = format!("{MAP}?dryRun=&propagationPolicy=Sideways");
    assert_eq!(send(&server, Method::DELETE, &hidden, "application/json", "{}").await.status, 200);
}

#[tokio::test]
async fn who_deletes_a_job_and_leaves_its_pods_is_told() {
    const JOBS: &str = "/apis/batch/v1/namespaces/a/jobs";
    let server = Server::with_namespace().await;
    let template =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    for (path, body, told) in [
        ("/j", json!({"dryRun": ["All"]}), 1),
        ("/j", json!({"propagationPolicy": "Orphan"}), 0),
        ("/j", json!({"orphanDependents": false}), 0),
        ("", json!({}), 1),
        ("", json!({"propagationPolicy": "Background"}), 0),
    ] {
        let job = json!({"metadata": {"name": "j"}, "spec": {"template": template}});
        post(&server, JOBS, job).await;
        let answer = send(
            &server,
            Method::DELETE,
            &format!("{JOBS}{path}"),
            "application/json",
            &body.to_string(),
        )
        .await;
        assert_eq!(
            (answer.status.as_u16(), warnings(&answer).len()),
            (200, told),
            "{path} {body}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn a_collection_is_deleted_as_selected() {
    let server = Server::with_namespace().await;
    for (name, label) in [("m", "1"), ("n", "1"), ("o", "2")] {
        server.create("a", name, &[("x", label)]).await;
    }
    let dry = server
        .send(Method::DELETE, &format!("{MAPS}?labelSelector=x%3D1&dryRun=All"), &[], "")
        .await;
    assert_eq!((dry.status.as_u16(), server.get(MAPS).await.names().len()), (200, 3));
    let deleted =
        server.send(Method::DELETE, &format!("{MAPS}?labelSelector=x%3D1"), &[], "").await;
    assert_eq!((deleted.status.as_u16(), &deleted.json()["status"]), (200, &json!("Success")));
    assert_eq!(server.get(MAPS).await.names(), ["o"]);
    let by_name = server
        .send(Method::DELETE, &format!("{MAPS}?fieldSelector=metadata.name%3Do"), &[], "")
        .await;
    assert_eq!((by_name.status.as_u16(), server.get(MAPS).await.names().len()), (200, 0));
    assert_eq!(
        refusal(
            &server
                .send(Method::DELETE, &format!("{MAPS}?fieldSelector=data.x%3D1"), &[], "")
                .await
        ),
        "400 BadRequest"
    );
}
