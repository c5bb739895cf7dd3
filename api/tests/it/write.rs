//! Create, update, patch and delete over HTTP: codes, bodies, warnings.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const MAP: &str = "/api/v1/namespaces/a/configmaps/m";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

async fn send(server: &Server, method: Method, path: &str, media: &str, body: &str) -> Answer {
    server.send(method, path, &[("content-type", media), ("user-agent", "tester/1.0")], body).await
}

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    send(server, Method::POST, path, "application/json", &body.to_string()).await
}

async fn put(server: &Server, path: &str, body: Value) -> Answer {
    send(server, Method::PUT, path, "application/json", &body.to_string()).await
}

async fn patch(server: &Server, media: &str, body: Value) -> Answer {
    send(server, Method::PATCH, MAP, media, &body.to_string()).await
}

/// Code, reason and the reason and field of each cause.
fn refusal(answer: &Answer) -> String {
    let body = answer.json();
    let causes = body["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes: Vec<_> =
        causes.iter().map(|c| format!(" {} {}", text(&c["reason"]), text(&c["field"]))).collect();
    format!("{} {}{}", answer.status.as_u16(), text(&body["reason"]), causes.concat())
}

fn warnings(answer: &Answer) -> Vec<String> {
    answer
        .headers
        .get_all("warning")
        .iter()
        .map(|value| value.to_str().unwrap().to_owned())
        .collect()
}

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
    let stored = server.get(&format!("{MAPS}/warn")).await.json();
    assert_eq!((&stored["data"]["k"], &stored["zeta"]), (&json!("2"), &Value::Null));
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

#[tokio::test]
async fn the_three_patches() {
    let server = Server::with_namespace().await;
    let body = json!({"metadata": {"name": "m", "finalizers": ["example.com/a"]}, "data": {"k": "1", "l": "2"}});
    post(&server, MAPS, body).await;
    let merged = patch(&server, MERGE, json!({"data": {"k": null, "m": "3"}})).await;
    assert_eq!(
        (merged.status.as_u16(), &merged.json()["data"]),
        (200, &json!({"l": "2", "m": "3"}))
    );
    let operations = json!([{"op": "test", "path": "/data/l", "value": "2"}, {"op": "move", "from": "/data/l", "path": "/data/k"}]);
    let patched = patch(&server, JSON_PATCH, operations).await;
    assert_eq!(patched.json()["data"], json!({"k": "2", "m": "3"}));
    let strategic =
        patch(&server, STRATEGIC, json!({"metadata": {"finalizers": ["example.com/b"]}})).await;
    assert_eq!(
        strategic.json()["metadata"]["finalizers"],
        json!(["example.com/b", "example.com/a"])
    );
    let told = patch(&server, MERGE, json!({"odd": 1})).await;
    assert_eq!(warnings(&told), [r#"299 - "unknown field \"odd\"""#]);
    assert_eq!(told.version(), strategic.version(), "nothing has changed");
}

#[tokio::test]
async fn patches_that_are_refused() {
    let server = Server::with_namespace().await;
    let version = server.create("a", "m", &[]).await;
    server.patch("m", json!({"data": {"k": "w"}})).await;
    let check = async |media: &str, body: Value, expect: &str| {
        assert_eq!(refusal(&patch(&server, media, body.clone()).await), expect, "{body}");
    };
    check("application/json", json!({}), "415 UnsupportedMediaType").await;
    check("application/apply-patch+cbor", json!({}), "415 UnsupportedMediaType").await;
    check(MERGE, json!([]), "400 BadRequest").await;
    check(JSON_PATCH, json!({}), "400 BadRequest").await;
    check(JSON_PATCH, json!([{"op": "remove", "path": "/data/none"}]), "422 Invalid").await;
    check(MERGE, json!({"kind": "Secret"}), "422 Invalid FieldValueInvalid patch").await;
    check(MERGE, json!({"data": "text"}), "422 Invalid FieldValueInvalid patch").await;
    check(MERGE, json!({"metadata": {"name": "other"}}), "400 BadRequest").await;
    check(
        MERGE,
        json!({"metadata": {"uid": "other"}}),
        "422 Invalid FieldValueInvalid metadata.uid",
    )
    .await;
    check(
        MERGE,
        json!({"metadata": {"resourceVersion": version}, "data": {"k": "x"}}),
        "409 Conflict",
    )
    .await;
    let path = format!("{MAP}?force=true");
    let forced = send(&server, Method::PATCH, &path, MERGE, "{}").await;
    assert_eq!(refusal(&forced), "422 Invalid FieldValueForbidden force");
}

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
async fn the_refusal_of_a_patch_repeats_its_beginning_only() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let long = "é".repeat(100_000);
    let refused =
        patch(&server, STRATEGIC, json!({"data": {"k": long}, "metadata": {"labels": 5}})).await;
    assert_eq!(refusal(&refused), "422 Invalid FieldValueInvalid patch");
    assert!(refused.text().len() < 4000, "{} bytes", refused.text().len());
}

#[tokio::test]
async fn a_dry_run_of_more_than_a_transaction_holds_is_refused_in_the_same_words() {
    const TEMPLATES: &str = "/api/v1/namespaces/a/podtemplates";
    let server = Server::with_namespace().await;
    // Each name stands in the object, and in the entry of who owns it.
    let template = |name: &str, variables: usize| {
        let env: Vec<Value> =
            (0..variables).map(|at| json!({"name": format!("v{at:0>300}")})).collect();
        let spec = json!({"containers": [{"name": "c", "image": "i", "env": env}]});
        json!({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": {"spec": spec}})
    };
    assert_eq!(post(&server, TEMPLATES, template("small", 1)).await.status, 201);
    let apply = "application/apply-patch+yaml";
    let writes = [
        (Method::POST, TEMPLATES.to_owned(), "application/json", "new"),
        (Method::PUT, format!("{TEMPLATES}/small"), "application/json", "small"),
        (Method::PATCH, format!("{TEMPLATES}/small"), MERGE, "small"),
        (Method::PATCH, format!("{TEMPLATES}/small"), apply, "small"),
        (Method::PATCH, format!("{TEMPLATES}/new"), apply, "new"),
    ];
    for (method, path, media, name) in writes {
        for (variables, too_large) in [(7_000, true), (2, false)] {
            let body = template(name, variables).to_string();
            let answer = async |dry: &str| {
                let path = format!("{path}?fieldManager=m{dry}");
                send(&server, method.clone(), &path, media, &body).await
            };
            let (dry, real) = (answer("&dryRun=All").await, answer("").await);
            assert_eq!(dry.status, real.status, "{method} {path} {media}: {} bytes", body.len());
            assert_eq!(real.status == 413, too_large, "{method} {path} {media}: {}", real.status);
            assert_eq!(
                real.status.is_success(),
                !too_large,
                "{method} {path} {media}: {}",
                real.text()
            );
            if too_large {
                assert!(real.text().contains("the limit is 4194304 bytes"), "{}", real.text());
                assert_eq!(dry.text(), real.text(), "{method} {path} {media}");
            }
        }
        if name == "new" {
            server.send(Method::DELETE, &format!("{TEMPLATES}/new"), &[], "").await;
        }
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
