//! Service account tokens from TokenRequest to expiry, and what TokenReviews say of them.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const ACCOUNTS: &str = "/api/v1/namespaces/a/serviceaccounts";
const REVIEWS: &str = "/apis/authentication.svc.io/v1/tokenreviews";
const SELF: &str = "/apis/authentication.svc.io/v1/selfsubjectreviews";

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    server.send(Method::POST, path, &[], body.to_string()).await
}

/// A server with the account `robot` in the namespace `a`.
async fn server() -> Server {
    let server = Server::with_namespace().await;
    server.defaults().await.stop();
    let answer = post(&server, ACCOUNTS, json!({"metadata": {"name": "robot"}})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    server
}

async fn request(server: &Server, spec: Value) -> Answer {
    post(server, &format!("{ACCOUNTS}/robot/token"), json!({"spec": spec})).await
}

async fn token(server: &Server, spec: Value) -> String {
    let answer = request(server, spec).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["status"]["token"].as_str().unwrap().to_owned()
}

/// The user name that the server gives to a client with this token.
async fn who(server: &Server, token: &str) -> String {
    let headers = [("authorization", format!("Bearer {token}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let answer = server.by(None).send(Method::POST, SELF, &headers, "{}").await;
    match answer.status.as_u16() {
        201 => answer.json()["status"]["userInfo"]["username"].as_str().unwrap().to_owned(),
        status => status.to_string(),
    }
}

async fn review(server: &Server, spec: Value) -> Value {
    let answer = post(server, REVIEWS, json!({"spec": spec})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["status"].clone()
}

#[tokio::test]
async fn a_token_is_a_credential_until_its_end_and_no_longer() {
    let server = server().await;
    let answer = request(&server, json!({"expirationSeconds": 600})).await;
    let object = answer.json();
    assert_eq!(object["status"]["expirationTimestamp"], "2030-01-01T00:10:00Z");
    assert_eq!(object["spec"]["audiences"], json!(["https://svc.default.svc"]));
    let token = object["status"]["token"].as_str().unwrap();
    assert_eq!(who(&server, token).await, "system:serviceaccount:a:robot");
    server.clock.advance(599_000);
    assert_eq!(who(&server, token).await, "system:serviceaccount:a:robot");
    server.clock.advance(1000);
    assert_eq!(who(&server, token).await, "401");
}

#[tokio::test]
async fn a_longer_life_than_the_limit_is_cut_with_a_warning() {
    let server = server().await;
    let answer = request(&server, json!({"expirationSeconds": 100_000})).await;
    assert_eq!(answer.json()["spec"]["expirationSeconds"], 86_400);
    let warning = r#"299 - "requested expiration of 100000 seconds shortened to 86400 seconds""#;
    assert_eq!(answer.header("warning"), warning);
}

#[tokio::test]
async fn a_token_ends_with_its_account_its_secret_its_pod_or_its_node() {
    let server = server().await;
    for (path, body) in [
        ("/api/v1/namespaces/a/secrets", json!({"metadata": {"name": "it"}})),
        ("/api/v1/nodes", json!({"metadata": {"name": "it"}})),
        (
            "/api/v1/namespaces/a/pods",
            json!({"metadata": {"name": "it"}, "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}}),
        ),
    ] {
        let made = post(&server, path, body.clone()).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let kind = made.json()["kind"].clone();
        let token = token(
            &server,
            json!({"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": "it"}}),
        )
        .await;
        assert_eq!(who(&server, &token).await, "system:serviceaccount:a:robot");
        let gone =
            server.send(Method::DELETE, &format!("{path}/it?gracePeriodSeconds=0"), &[], "").await;
        assert_eq!(gone.status, 200, "{}", gone.text());
        assert_eq!(who(&server, &token).await, "401");
        // Another one of the same name is another one.
        assert_eq!(post(&server, path, body).await.status, 201);
        assert_eq!(who(&server, &token).await, "401");
    }
    let token = token(&server, json!({})).await;
    assert_eq!(who(&server, &token).await, "system:serviceaccount:a:robot");
    assert_eq!(
        server.send(Method::DELETE, &format!("{ACCOUNTS}/robot"), &[], "").await.status,
        200
    );
    assert_eq!(who(&server, &token).await, "401");
    assert_eq!(post(&server, ACCOUNTS, json!({"metadata": {"name": "robot"}})).await.status, 201);
    assert_eq!(who(&server, &token).await, "401");
}

#[tokio::test]
async fn what_a_request_may_not_say() {
    let server = server().await;
    let check = async |spec: Value, status: u16, message: &str| {
        let answer = request(&server, spec).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(message), "{}", answer.text());
    };
    check(
        json!({"expirationSeconds": 599}),
        422,
        "may not specify a duration less than 10 minutes",
    )
    .await;
    check(json!({"expirationSeconds": 4_294_967_297_i64}), 422, "larger than 2^32 seconds").await;
    let long = "spec.audiences: Forbidden: the token would be longer than 16384 bytes";
    check(json!({"audiences": ["a".repeat(12_288)]}), 422, long).await;
    let of = |kind: &str, name: &str| json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}});
    check(of("ConfigMap", "x"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap")
        .await;
    check(of("Secret", "x"), 404, r#"secrets \"x\" not found"#).await;
    check(of("Node", "x"), 404, r#"nodes \"x\" not found"#).await;
    check(of("Pod", ""), 400, "Name parameter required.").await;
    let pods = "/api/v1/namespaces/a/pods";
    let other = json!({"metadata": {"name": "x"}, "spec": {"serviceAccountName": "other", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(post(&server, ACCOUNTS, json!({"metadata": {"name": "other"}})).await.status, 201);
    assert_eq!(post(&server, pods, other).await.status, 201);
    check(of("Pod", "x"), 400, "different serviceaccount name").await;
    let answer =
        post(&server, &format!("{ACCOUNTS}/robot/token"), json!({"metadata": {"uid": "another"}}))
            .await;
    assert_eq!(answer.status, 409);
    let answer = post(&server, &format!("{ACCOUNTS}/missing/token"), json!({})).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn a_pod_that_names_no_account_runs_as_the_default_one() {
    let server = Server::with_namespace().await;
    for name in ["default", "robot"] {
        assert_eq!(post(&server, ACCOUNTS, json!({"metadata": {"name": name}})).await.status, 201);
    }
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    let annotations = json!({"svc.io/config.mirror": "x"});
    for metadata in
        [json!({"name": "plain"}), json!({"name": "mirror", "annotations": annotations})]
    {
        let made =
            post(&server, "/api/v1/namespaces/a/pods", json!({"metadata": metadata, "spec": spec}))
                .await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let check = async |account: &str, pod: &str, expect: u16| {
        let bound = json!({"kind": "Pod", "apiVersion": "v1", "name": pod});
        let body = json!({"spec": {"boundObjectRef": bound}});
        let answer = post(&server, &format!("{ACCOUNTS}/{account}/token"), body).await;
        assert_eq!(answer.status, expect, "{account} {pod}: {}", answer.text());
    };
    check("default", "plain", 201).await;
    check("robot", "plain", 400).await;
    // A mirror pod, which the node runs by itself, has no account.
    check("default", "mirror", 400).await;
    check("robot", "mirror", 400).await;
}

#[tokio::test]
async fn a_dry_run_hands_out_no_token() {
    let server = server().await;
    let spec = json!({"expirationSeconds": 600});
    let path = format!("{ACCOUNTS}/robot/token?dryRun=All");
    let tried = post(&server, &path, json!({"spec": spec})).await;
    assert_eq!(tried.status, 201, "{}", tried.text());
    let (tried, made) = (tried.json(), request(&server, spec).await.json());
    assert_eq!(
        tried["status"],
        json!({"expirationTimestamp": "2030-01-01T00:10:00Z", "token": ""})
    );
    for field in ["apiVersion", "kind", "metadata", "spec"] {
        assert_eq!(tried[field], made[field], "{field}");
    }
    let refused = post(&server, &path, json!({"spec": {"expirationSeconds": 599}})).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
}

#[tokio::test]
async fn a_token_request_is_answered_whole_or_not_at_all() {
    let server = server().await;
    let path = format!("{ACCOUNTS}/robot/token");
    let check = async |accept: &str, expect: u16| {
        let answer = server.send(Method::POST, &path, &[("accept", accept)], "{}").await;
        assert_eq!(answer.status, expect, "{accept}: {}", answer.text());
        answer.json()
    };
    for form in ["Table", "PartialObjectMetadata"] {
        for group in ["meta.svc.io", "meta.k8s.io"] {
            let accept = format!("application/json;as={form};v=v1;g={group}");
            assert_eq!(check(&accept, 406).await["reason"], "NotAcceptable");
            let whole = check(&format!("{accept},application/json"), 201).await;
            assert_eq!(
                (&whole["kind"], whole["status"]["token"].is_string()),
                (&json!("TokenRequest"), true)
            );
        }
    }
}

#[tokio::test]
async fn a_client_that_hard_codes_the_other_names_gets_them_back() {
    let server = server().await;
    let path = format!("{ACCOUNTS}/robot/token");
    let answer = post(
        &server,
        &path,
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}),
    )
    .await;
    assert_eq!(answer.json()["apiVersion"], "authentication.k8s.io/v1");
    assert_eq!(request(&server, json!({})).await.json()["apiVersion"], "authentication.svc.io/v1");
}

#[tokio::test]
async fn a_review_tells_whose_a_token_is_and_for_whom() {
    let server = server().await;
    let token = token(&server, json!({"audiences": ["vault", "registry"]})).await;
    let status = review(&server, json!({"token": token, "audiences": ["other", "registry"]})).await;
    assert_eq!(status["authenticated"], true);
    assert_eq!(status["audiences"], json!(["registry"]));
    assert_eq!(status["user"]["username"], "system:serviceaccount:a:robot");
    for spec in [
        json!({"token": token}),
        json!({"token": token, "audiences": ["other"]}),
        json!({"token": "x"}),
    ] {
        let status = review(&server, spec).await;
        assert_eq!(
            (&status["authenticated"], &status["user"]["username"]),
            (&Value::Null, &Value::Null)
        );
        let error = status["error"].as_str().unwrap();
        assert!(!error.contains(&token) && !error.is_empty(), "{error}");
    }
    assert_eq!(who(&server, &token).await, "401");
    assert_eq!(post(&server, REVIEWS, json!({})).await.status, 400);
}

#[tokio::test]
async fn relying_parties_find_the_key_of_a_token() {
    use base64::Engine;
    let server = server().await;
    let token = token(&server, json!({})).await;
    let part = |at: usize| -> Value {
        let part = token.split('.').nth(at).unwrap();
        serde_json::from_slice(
            &base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap(),
        )
        .unwrap()
    };
    let configuration = server.get("/.well-known/openid-configuration").await;
    assert_eq!(configuration.json()["issuer"], part(1)["iss"]);
    assert_eq!(
        configuration.json()["id_token_signing_alg_values_supported"],
        json!([part(0)["alg"]])
    );
    let keys = server.get("/openid/v1/jwks").await;
    assert_eq!(
        (keys.header("content-type"), keys.header("cache-control")),
        ("application/jwk-set+json", "public, max-age=3600")
    );
    let keys = keys.json();
    let key = &keys["keys"][0];
    assert_eq!((&key["kid"], &key["d"]), (&part(0)["kid"], &Value::Null));
    for path in ["/.well-known/openid-configuration", "/openid/v1/jwks"] {
        assert_eq!(server.by(None).get(path).await.status, 401);
    }
}
