//! Secrets with tokens of service accounts: filled, filled again, and removed with their account.

use super::*;

const SECRET: &str = "/api/v1/namespaces/a/secrets/tok";

fn token_secret(account: &str) -> Value {
    let annotations = json!({"svc.io/service-account.name": account});
    json!({"metadata": {"name": "tok", "annotations": annotations}, "type": "svc.io/service-account-token"})
}

/// Whether the token in the Secret lets its bearer in, whatever it may do then.
async fn lets_in(server: &Server, secret: &Value) -> bool {
    use base64::Engine;
    let token = secret["data"]["token"].as_str().unwrap();
    let token = base64::engine::general_purpose::STANDARD.decode(token).unwrap();
    let bearer = format!("Bearer {}", String::from_utf8(token).unwrap());
    let answer =
        server.by(None).send(Method::GET, "/api", &[("authorization", bearer.as_str())], "").await;
    answer.status != 401
}

#[tokio::test(start_paused = true)]
async fn a_token_secret_is_filled_and_goes_with_its_account() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let accounts = "/api/v1/namespaces/a/serviceaccounts";
    let secrets = "/api/v1/namespaces/a/secrets";
    assert_eq!(
        send(&server, Method::POST, accounts, json!({"metadata": {"name": "robot"}})).await,
        201
    );
    let uid = server.get(&format!("{accounts}/robot")).await.json()["metadata"]["uid"].clone();
    assert_eq!(send(&server, Method::POST, secrets, token_secret("robot")).await, 201);
    let filled = until_body(&server, SECRET, |_, body| body["data"]["token"].is_string()).await;
    assert_eq!(filled["metadata"]["annotations"]["svc.io/service-account.uid"], uid);
    assert_eq!(
        (&filled["data"]["namespace"], &filled["data"]["ca.crt"]),
        (&json!("YQ=="), &json!("UEVN"))
    );
    assert!(lets_in(&server, &filled).await);
    // Taken out, another one comes, and the first is good for nothing.
    let headers = [("content-type", "application/merge-patch+json")];
    let patch = json!({"data": {"token": null, "ca.crt": "AAAA"}}).to_string();
    assert_eq!(server.send(Method::PATCH, SECRET, &headers, &patch).await.status, 200);
    let again = until_body(&server, SECRET, |_, body| body["data"]["token"].is_string()).await;
    assert_eq!(again["data"]["ca.crt"], "UEVN");
    assert_ne!(again["data"]["token"], filled["data"]["token"]);
    assert!(!lets_in(&server, &filled).await && lets_in(&server, &again).await);
    assert_eq!(send(&server, Method::DELETE, &format!("{accounts}/robot"), json!({})).await, 200);
    assert!(!lets_in(&server, &again).await);
    until(&server, SECRET, 404).await;
}

/// The Secret `tok` of the account `robot`, once it has a token other than `before`.
async fn refilled(server: &Server, before: &Value) -> Value {
    until_body(server, SECRET, |_, body| {
        let token = &body["data"]["token"];
        token.is_string() && *token != before["data"]["token"]
    })
    .await
}

/// A token of the server's own key by this issuer for this audience, as a Secret holds it.
fn strange(server: &Server, issuer: &str, audience: &str) -> String {
    use base64::Engine;
    let options = TokenOptions { issuers: vec![issuer.to_owned()], ..TokenOptions::default() };
    let tokens = ServiceAccountTokens::new(Naming::Svc.names(), options);
    tokens.set_keys(KeySet::new(std::slice::from_ref(&server.key)).unwrap());
    let issue = Issue {
        namespace: "a".into(),
        account: ObjectIdentity { name: "robot".into(), uid: "u".into() },
        audiences: vec![audience.to_owned()],
        lifetime: Some(3600),
        bound: None,
        id: "strange".into(),
    };
    base64::engine::general_purpose::STANDARD.encode(tokens.issue(issue, START_MS).unwrap().token)
}

#[tokio::test(start_paused = true)]
async fn a_token_secret_is_filled_again_when_its_token_is_good_for_nothing() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let accounts = "/api/v1/namespaces/a/serviceaccounts";
    assert_eq!(
        send(&server, Method::POST, accounts, json!({"metadata": {"name": "robot"}})).await,
        201
    );
    assert_eq!(
        send(&server, Method::POST, "/api/v1/namespaces/a/secrets", token_secret("robot")).await,
        201
    );
    let mut held = refilled(&server, &Value::Null).await;
    for (issuer, audience) in [("https://former", ISSUER), (ISSUER, "https://former")] {
        let token = strange(&server, issuer, audience);
        let headers = [("content-type", "application/merge-patch+json")];
        let patch = json!({"data": {"token": token}});
        let patched = server.send(Method::PATCH, SECRET, &headers, &patch.to_string()).await;
        assert_eq!(patched.status, 200, "{}", patched.text());
        let is_own = |_: u16, body: &Value| body["data"]["token"] != patch["data"]["token"];
        held = until_body(&server, SECRET, is_own).await;
        assert!(lets_in(&server, &held).await, "{issuer} {audience}");
    }
    let other = KeyMaterial::generate(START_MS).unwrap();
    server.api.authentication.service_accounts.set_keys(KeySet::new(&[other]).unwrap());
    assert!(!lets_in(&server, &held).await);
    let again = refilled(&server, &held).await;
    assert!(lets_in(&server, &again).await);
}

#[tokio::test(start_paused = true)]
async fn a_token_secret_of_nobody_or_of_another_account_goes() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let secrets = "/api/v1/namespaces/a/secrets";
    assert_eq!(send(&server, Method::POST, secrets, token_secret("nobody")).await, 201);
    until(&server, SECRET, 404).await;
    let mut foreign = token_secret("default");
    foreign["metadata"]["annotations"]["svc.io/service-account.uid"] = "another".into();
    until(&server, "/api/v1/namespaces/a/serviceaccounts/default", 200).await;
    assert_eq!(send(&server, Method::POST, secrets, foreign).await, 201);
    until(&server, SECRET, 404).await;
}
