//! Creations over HTTP.

use super::*;

#[tokio::test]
async fn a_creation_answers_with_what_is_stored() {
    let server = Server::with_namespace().await;
    let created = post(&server, MAPS, json!({"metadata": {"name": "m"}, "data": {"k": "v"}})).await;
    assert_eq!(created.status, 201);
    assert_eq!(created.json(), server.get(MAP).await.json());
    assert_eq!(created.json()["metadata"]["managedFields"][0]["manager"], "tester");
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yam\ndata:\n  k: \"1\"\n";
    let created = send(&server, Method::POST, MAPS, "application/yaml", yaml).await;
    assert_eq!((created.status.as_u16(), &created.json()["data"]), (201, &json!({"k": "1"})));
    let dry =
        post(&server, &format!("{MAPS}?dryRun=All"), json!({"metadata": {"name": "d"}})).await;
    assert_eq!(
        (dry.status.as_u16(), &dry.json()["metadata"]["resourceVersion"]),
        (201, &Value::Null)
    );
    assert_eq!(server.get(&format!("{MAPS}/d")).await.status, 404);
}

#[tokio::test]
async fn creations_that_are_refused() {
    let server = Server::with_namespace().await;
    post(&server, MAPS, json!({"metadata": {"name": "m"}})).await;
    let check = async |path: &str, body: Value, expect: &str| {
        assert_eq!(refusal(&post(&server, path, body.clone()).await), expect, "{path} {body}");
    };
    check(MAPS, json!({"metadata": {"name": "m"}}), "409 AlreadyExists").await;
    check(MAPS, json!({}), "422 Invalid FieldValueRequired metadata.name").await;
    check(MAPS, json!({"metadata": {"name": "A"}}), "422 Invalid FieldValueInvalid metadata.name")
        .await;
    check(MAPS, json!({"metadata": {"name": "x", "namespace": "b"}}), "400 BadRequest").await;
    check(MAPS, json!({"kind": "Secret", "metadata": {"name": "x"}}), "400 BadRequest").await;
    check(MAPS, json!({"apiVersion": "v2", "metadata": {"name": "x"}}), "400 BadRequest").await;
    check(MAPS, json!({"metadata": {"name": "x"}, "data": {"k": 1}}), "400 BadRequest").await;
    check(MAPS, json!([]), "400 BadRequest").await;
    check("/api/v1/namespaces/none/configmaps", json!({"metadata": {"name": "x"}}), "404 NotFound")
        .await;
    let options = "422 Invalid FieldValueNotSupported";
    check(
        &format!("{MAPS}?dryRun=all"),
        json!({"metadata": {"name": "x"}}),
        &format!("{options} dryRun"),
    )
    .await;
    let level = format!("{MAPS}?fieldValidation=strict");
    check(&level, json!({"metadata": {"name": "x"}}), &format!("{options} fieldValidation")).await;
    let numbered = |version: &str| json!({"metadata": {"name": "x", "resourceVersion": version}});
    let answer = post(&server, MAPS, numbered("7")).await.json();
    let why = "resourceVersion should not be set on objects to be created";
    let expect = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": 500, "message": why});
    assert_eq!(answer, expect);
    assert_eq!(post(&server, &format!("{MAPS}?dryRun=All"), numbered("0")).await.status, 201);
    let media = send(&server, Method::POST, MAPS, "text/plain", "{}").await;
    assert_eq!(refusal(&media), "415 UnsupportedMediaType");
}

#[tokio::test]
async fn fields_that_are_unknown_or_given_twice() {
    let server = Server::with_namespace().await;
    let body = r#"{"metadata":{"name":"NAME"},"zeta":1,"alpha":2,"data":{"k":"1","k":"2"}}"#;
    let check = async |name: &str, level: &str, status: u16, expect: &[&str]| {
        let path = format!("{MAPS}?fieldValidation={level}");
        let answer =
            send(&server, Method::POST, &path, "application/json", &body.replace("NAME", name))
                .await;
        assert_eq!(
            (answer.status.as_u16(), warnings(&answer)),
            (status, expect.iter().map(|w| (*w).into()).collect())
        );
    };
    let told = [
        r#"299 - "unknown field \"zeta\"""#,
        r#"299 - "unknown field \"alpha\"""#,
        r#"299 - "duplicate field \"data.k\"""#,
    ];
    check("ignore", "Ignore", 201, &[]).await;
    check("warn", "Warn", 201, &told).await;
    check("default", "", 201, &told).await;
    check("strict", "Strict", 400, &[]).await;
    check("Bad", "Warn", 422, &told).await;
    let lease = json!({"metadata": {"name": "l"}, "spec": {"odd": 1}});
    let refused = post(
        &server,
        "/apis/coordination.svc.io/v1/namespaces/a/leases?fieldValidation=Strict",
        lease,
    )
    .await;
    let why = r#"Lease in version "v1" cannot be handled as a Lease: strict decoding error: unknown field "spec.odd""#;
    assert_eq!(refused.json()["message"], why);
    let yaml = "metadata: {name: yaml}\nzeta: 1\ndata:\n  k: '1'\n  k: '2'\n";
    let path = format!("{MAPS}?dryRun=All&fieldValidation");
    let key = r#"line 5: key "k" already set in map"#;
    let answer =
        send(&server, Method::POST, &format!("{path}=Warn"), "application/yaml", yaml).await;
    let told = [&format!("299 - {}", quorate_meta::quoted(key)), told[0]];
    assert_eq!(
        (answer.status.as_u16(), warnings(&answer)),
        (201, told.map(str::to_owned).to_vec())
    );
    let answer =
        send(&server, Method::POST, &format!("{path}=Strict"), "application/yaml", yaml).await;
    let why = format!(
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  {key}, unknown field \"zeta\""
    );
    assert_eq!((answer.status.as_u16(), &answer.json()["message"]), (400, &json!(why)));
    let stored = server.get(&format!("{MAPS}/warn")).await.json();
    assert_eq!((&stored["data"]["k"], &stored["zeta"]), (&json!("2"), &Value::Null));
}

#[tokio::test]
async fn the_name_of_what_is_being_deleted_is_taken() {
    let server = Server::with_namespace().await;
    let body = json!({"metadata": {"name": "m", "finalizers": ["x.example/f"]}});
    assert_eq!(post(&server, MAPS, body.clone()).await.status, 201);
    let message = async || {
        let answer = post(&server, MAPS, body.clone()).await.json();
        assert_eq!((&answer["code"], &answer["reason"]), (&json!(409), &json!("AlreadyExists")));
        answer["message"].as_str().unwrap().to_owned()
    };
    let exists = "configmaps \"m\" already exists";
    assert_eq!(message().await, exists);
    server.send(Method::DELETE, MAP, &[], "").await;
    assert_eq!(message().await, format!("object is being deleted: {exists}"));
}

#[tokio::test]
async fn who_names_an_owner_twice_is_told() {
    let server = Server::with_namespace().await;
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "a", "uid": "u"});
    let twice = json!({"metadata": {"name": "m", "ownerReferences": [owner, owner]}});
    let once = json!({"metadata": {"name": "m", "ownerReferences": [owner]}});
    let expect = "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, \
                  and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u\"";
    let check = |answer: &Answer, status: u16| {
        assert_eq!((answer.status.as_u16(), warnings(answer)), (status, vec![expect.to_owned()]));
        assert_eq!(
            answer.json()["metadata"]["ownerReferences"],
            once["metadata"]["ownerReferences"]
        );
    };
    check(&post(&server, MAPS, twice.clone()).await, 201);
    check(&put(&server, MAP, twice.clone()).await, 200);
    check(&patch(&server, MERGE, twice).await, 200);
    assert_eq!(warnings(&put(&server, MAP, once.clone()).await), Vec::<String>::new());
}
