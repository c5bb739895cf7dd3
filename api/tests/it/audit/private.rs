//! Whatever the policy says, no secret and no token gets into the trail.

use http::Method;
use quorate_api::authentication::{AuthenticationOptions, StaticTokens};
use serde_json::json;

use super::Trail;
use crate::harness::Server;

const STATIC: &str = "static-token-4711";
/// `hunter2` in base64.
const HIDDEN: &str = "aHVudGVyMg==";

/// Does everything that has a secret in it; gives what must not be told.
async fn whisper(server: &Server) -> Vec<String> {
    let secrets = "/api/v1/namespaces/a/secrets";
    let secret = |name: &str| json!({"metadata": {"name": name}, "stringData": {"password": "hunter2"}}).to_string();
    let accounts = "/api/v1/namespaces/a/serviceaccounts";
    let account = json!({"metadata": {"name": "robot"}}).to_string();
    assert_eq!(server.send(Method::POST, accounts, &[], account).await.status, 201);
    assert_eq!(server.send(Method::POST, secrets, &[], secret("s")).await.status, 201);
    assert_eq!(server.send(Method::PUT, &format!("{secrets}/s"), &[], secret("s")).await.status, 200);
    let apply = [("content-type", "application/apply-patch+yaml")];
    let applied = "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: {password: hunter2}\n";
    let path = format!("{secrets}/t?fieldManager=m");
    assert_eq!(server.send(Method::PATCH, &path, &apply, applied).await.status, 201);
    server.get(secrets).await;
    // A refusal may quote what it refuses.
    let bad = json!({"metadata": {"name": "u"}, "data": {"password": "hunter2"}, "type": 7}).to_string();
    assert_eq!(server.send(Method::POST, secrets, &[], bad).await.status, 400);
    let bad = json!({"metadata": {"name": "u"}, "data": {"hunter2/": HIDDEN}}).to_string();
    assert_eq!(server.send(Method::POST, secrets, &[], bad).await.status, 422);
    server.send(Method::DELETE, &format!("{secrets}/s"), &[], "").await;
    server.send(Method::DELETE, secrets, &[], "").await;
    let made = server.send(Method::POST, &format!("{accounts}/robot/token"), &[], "{}").await;
    assert_eq!(made.status, 201, "{}", made.text());
    let token = made.json()["status"]["token"].as_str().unwrap().to_owned();
    for token in [token.as_str(), STATIC, "wrong-token-777"] {
        let review = json!({"spec": {"token": token}}).to_string();
        let reviews = "/apis/authentication.svc.io/v1/tokenreviews";
        assert_eq!(server.send(Method::POST, reviews, &[], review).await.status, 201);
        let bearer = format!("Bearer {token}");
        let nobody = server.by(None);
        nobody.send(Method::GET, &format!("{accounts}/robot"), &[("authorization", &bearer)], "").await;
        let reviewed = json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.svc.io/v1"}).to_string();
        let path = "/apis/authentication.svc.io/v1/selfsubjectreviews";
        nobody.send(Method::POST, path, &[("authorization", &bearer)], reviewed).await;
    }
    let signature = token.rsplit('.').next().unwrap().to_owned();
    let known = [token, signature].into_iter();
    known.chain([STATIC, "wrong-token-777", "hunter2", HIDDEN].map(str::to_owned)).collect()
}

#[tokio::test]
async fn no_secret_and_no_token_is_told_at_any_level() {
    for level in ["Metadata", "Request", "RequestResponse"] {
        let server = Server::with_authentication(AuthenticationOptions {
            static_tokens: StaticTokens::parse(&format!("{STATIC},ann,1,dev")).unwrap(),
            ..AuthenticationOptions::default()
        });
        let trail = Trail::start_at(server, &format!("rules: [{{level: {level}}}]")).await;
        let private = whisper(&trail.server).await;
        let events = trail.events("/").await;
        assert!(events.len() > 30, "{}", events.len());
        let users: Vec<_> = events.iter().filter_map(|event| event["user"]["username"].as_str()).collect();
        assert!(users.contains(&"ann") && users.contains(&"system:serviceaccount:a:robot"), "{users:?}");
        for event in events {
            let text = event.to_string();
            for secret in &private {
                assert!(!text.contains(secret), "{level}: {secret} in {text}");
            }
        }
    }
}
