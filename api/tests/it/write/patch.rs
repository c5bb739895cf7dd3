//! Patches over HTTP.

use super::*;

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
async fn a_strict_patch_is_refused_for_all_that_is_odd() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let check = async |media: &str, body: &str, expect: &[&str]| {
        let code = if expect.is_empty() { 200 } else { 400 };
        let path = |level: &str| format!("{MAP}?dryRun=All&fieldValidation={level}");
        let strict = send(&server, Method::PATCH, &path("Strict"), media, body).await;
        assert_eq!(strict.status, code, "{media} {body}: {}", strict.text());
        if !expect.is_empty() {
            let message = format!("strict decoding error: {}", expect.join(", "));
            assert_eq!(strict.json()["message"], message.as_str(), "{media} {body}");
            assert_eq!(strict.json()["reason"], "BadRequest", "{media} {body}");
        }
        let warned = send(&server, Method::PATCH, &path("Warn"), media, body).await;
        let expect: Vec<String> = expect.iter().map(|text| format!("299 - {:?}", text)).collect();
        assert_eq!((warned.status.as_u16(), warnings(&warned)), (200, expect), "{media} {body}");
        let ignored = send(&server, Method::PATCH, &path("Ignore"), media, body).await;
        assert_eq!((ignored.status.as_u16(), warnings(&ignored).len()), (200, 0), "{media} {body}");
    };
    for media in [MERGE, STRATEGIC] {
        check(media, r#"{"data":{"k":"w"}}"#, &[]).await;
        let body = r#"{"data":{"l":"1","l":"2"},"odd":1,"metadata":{"nmae":"x"}}"#;
        let expect = [
            r#"unknown field "metadata.nmae""#,
            r#"unknown field "odd""#,
            r#"duplicate field "data.l""#,
        ];
        check(media, body, &expect).await;
    }
    let body = r#"[{"op":"add","path":"/odd","value":1},{"op":"add","path":"/data","path":"/data","value":{},"because":"x"}]"#;
    let expect = [
        r#"unknown field "odd""#,
        r#"json patch unknown field "[1].because""#,
        r#"json patch duplicate field "[1].path""#,
    ];
    check(JSON_PATCH, body, &expect).await;
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
