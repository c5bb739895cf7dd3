//! Updates over HTTP, and what numbers of bodies are.

use super::*;

#[tokio::test]
async fn numbers_without_a_fraction_are_integers_in_yaml() {
    let server = Server::with_namespace().await;
    let leases = "/apis/coordination.svc.io/v1/namespaces/a/leases";
    let check = async |method: Method, media: &str, number: &str, expect: Option<i64>| {
        // A Lease is replaced on the condition of its version only.
        let version = match method {
            Method::PUT => server.get(&format!("{leases}/l")).await.version(),
            _ => String::new(),
        };
        let metadata = json!({"name": "l", "resourceVersion": version});
        let body = format!(
            "{{\"apiVersion\": \"coordination.svc.io/v1\", \"kind\": \"Lease\", \"metadata\": {metadata}, \"spec\": {{\"leaseTransitions\": {number}}}}}"
        );
        let one = format!("{leases}/l?dryRun=All&fieldManager=m");
        let path = if method == Method::POST { leases } else { &one };
        let path = if path == leases { format!("{leases}?dryRun=All") } else { path.to_owned() };
        let answer = send(&server, method, &path, media, &body).await;
        let found = answer.json()["spec"]["leaseTransitions"].as_i64();
        assert_eq!(found, expect, "{media} {number}: {}", answer.text());
    };
    let (json, yaml) = ("application/json", "application/yaml");
    let apply = "application/apply-patch+yaml";
    for (number, expect) in [("3.0", 3), ("1e1", 10), ("0008", 8)] {
        check(Method::POST, yaml, number, Some(expect)).await;
        check(Method::PATCH, apply, number, Some(expect)).await;
    }
    check(Method::POST, json, "3.0", None).await;
    let made = json!({"metadata": {"name": "l"}, "spec": {}});
    assert_eq!(post(&server, leases, made).await.status, 201);
    check(Method::PUT, yaml, "3.0", Some(3)).await;
    check(Method::PATCH, "application/strategic-merge-patch+json", "3.0", Some(3)).await;
    check(Method::PATCH, "application/merge-patch+json", "3.0", None).await;
}

#[tokio::test]
async fn an_update_is_bound_to_what_it_names() {
    let server = Server::with_namespace().await;
    let first = server.create("a", "m", &[]).await;
    let object = |version: &str| json!({"metadata": {"name": "m", "resourceVersion": version}, "data": {"k": "w"}});
    let updated = put(&server, MAP, object(&first)).await;
    assert_eq!((updated.status.as_u16(), &updated.json()["data"]), (200, &json!({"k": "w"})));
    assert_eq!(
        refusal(
            &put(&server, MAP, json!({"metadata": {"name": "m", "resourceVersion": first}})).await
        ),
        "409 Conflict"
    );
    assert_eq!(
        put(&server, MAP, object("")).await.version(),
        updated.version(),
        "nothing has changed"
    );
    assert_eq!(
        refusal(&put(&server, MAP, json!({"metadata": {"name": "n"}})).await),
        "400 BadRequest"
    );
    assert_eq!(refusal(&put(&server, MAP, json!({"metadata": {}})).await), "400 BadRequest");
    let none = put(&server, &format!("{MAPS}/none"), json!({"metadata": {"name": "none"}})).await;
    assert_eq!(refusal(&none), "404 NotFound");
}
