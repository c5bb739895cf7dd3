//! Secrets and tokens in the audit trail: none gets there, plain or encoded, whatever the policy
//! says.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::Method;
use quorate_access::authentication::{AuthenticationOptions, StaticTokens};
use serde_json::json;

use super::Trail;
use crate::harness::Server;

const STATIC: &str = "static-token-4711";
/// `hunter2` in base64.
const HIDDEN: &str = "aHVudGVyMg==";

/// A server that knows a token of an operator.
pub(super) fn server() -> Server {
    Server::with_authentication(AuthenticationOptions {
        static_tokens: StaticTokens::parse(&format!("{STATIC},ann,1,dev")).unwrap(),
        ..AuthenticationOptions::default()
    })
}

/// A text as it is, and as it stands in a longer one that is encoded, at whatever place: the
/// characters that do not depend on what is around.
fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    for (before, from) in [(0, 0), (1, 2), (2, 3)] {
        let bytes = [vec![0; before].as_slice(), text.as_bytes()].concat();
        let to = bytes.len() * 8 / 6;
        forms.extend(
            [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD]
                .map(|engine| engine.encode(&bytes)[from..to].to_owned()),
        );
    }
    forms
}

#[test]
fn a_text_is_found_in_what_is_encoded() {
    for around in ["", "a", "ab", "abc"] {
        let encoded = STANDARD.encode(format!("{around}hunter2{around}"));
        assert!(forms("hunter2").iter().any(|form| encoded.contains(form)), "{encoded}");
    }
}

/// Does everything that has a secret in it; gives what must not be told, in every form.
pub(super) async fn whisper(server: &Server) -> Vec<String> {
    let secrets = "/api/v1/namespaces/a/secrets";
    let secret = |name: &str| {
        json!({"metadata": {"name": name}, "stringData": {"password": "hunter2"}}).to_string()
    };
    let accounts = "/api/v1/namespaces/a/serviceaccounts";
    let account = json!({"metadata": {"name": "robot"}}).to_string();
    assert_eq!(server.send(Method::POST, accounts, &[], account).await.status, 201);
    assert_eq!(server.send(Method::POST, secrets, &[], secret("s")).await.status, 201);
    assert_eq!(
        server.send(Method::PUT, &format!("{secrets}/s"), &[], secret("s")).await.status,
        200
    );
    let apply = [("content-type", "application/apply-patch+yaml")];
    let applied =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: {password: hunter2}\n";
    let path = format!("{secrets}/t?fieldManager=m");
    assert_eq!(server.send(Method::PATCH, &path, &apply, applied).await.status, 201);
    change(server, &format!("{secrets}/s")).await;
    server.get(secrets).await;
    // A refusal may quote what it refuses.
    let wrong = "apiVersion: v1\nkind: Secret\nmetadata: {name: u}\nstringData: hunter2\n";
    let path = format!("{secrets}/u?fieldManager=m");
    assert_eq!(server.send(Method::PATCH, &path, &apply, wrong).await.status, 500);
    let bad =
        json!({"metadata": {"name": "u"}, "data": {"password": "hunter2"}, "type": 7}).to_string();
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
        nobody
            .send(Method::GET, &format!("{accounts}/robot"), &[("authorization", &bearer)], "")
            .await;
        let reviewed =
            json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.svc.io/v1"})
                .to_string();
        let path = "/apis/authentication.svc.io/v1/selfsubjectreviews";
        nobody.send(Method::POST, path, &[("authorization", &bearer)], reviewed).await;
    }
    let signature = token.rsplit('.').next().unwrap().to_owned();
    let known = [token.as_str(), signature.as_str(), STATIC, "wrong-token-777", "hunter2", HIDDEN];
    known.into_iter().flat_map(forms).collect()
}

/// Changes a Secret by patches of each sort, one of which does not fit.
async fn change(server: &Server, secret: &str) {
    let text = json!({"stringData": {"password": "hunter2", "other": "hunter2"}});
    let replace = json!([{"op": "replace", "path": "/data/other", "value": HIDDEN}]);
    let test = json!([{"op": "test", "path": "/data/other", "value": "hunter2"}]);
    for (kind, patch, expect) in [
        ("merge-patch", &text, 200),
        ("strategic-merge-patch", &text, 200),
        ("json-patch", &replace, 200),
        ("json-patch", &test, 422),
    ] {
        let media = format!("application/{kind}+json");
        let patched = server
            .send(Method::PATCH, secret, &[("content-type", &media)], patch.to_string())
            .await;
        assert_eq!(patched.status, expect, "{kind}: {}", patched.text());
    }
}

#[tokio::test]
async fn no_secret_and_no_token_is_told_at_any_level() {
    for level in ["Metadata", "Request", "RequestResponse"] {
        let trail = Trail::start_at(server(), &format!("rules: [{{level: {level}}}]")).await;
        let private = whisper(&trail.server).await;
        let events = trail.events("/").await;
        assert!(events.len() > 30, "{}", events.len());
        let users: Vec<_> =
            events.iter().filter_map(|event| event["user"]["username"].as_str()).collect();
        assert!(
            users.contains(&"ann") && users.contains(&"system:serviceaccount:a:robot"),
            "{users:?}"
        );
        for event in events {
            let text = event.to_string();
            for secret in &private {
                assert!(!text.contains(secret), "{level}: {secret} in {text}");
            }
        }
    }
}
