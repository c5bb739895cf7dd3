//! Intruders' tokens: forged, of other users, expired or not valid yet, of deleted accounts.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Method;
use quorate_access::authentication::token::{
    Issue, KeySet, ObjectIdentity, ServiceAccountTokens, TokenOptions,
};
use quorate_meta::Naming;
use ring::hmac;
use serde_json::Value;

use super::{Castle, SECRET};
use crate::harness::{ISSUER, START_MS};

/// What stands before the point in a public key of P-256 (RFC 5480, section 2; DER).
const KEY_HEAD: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\0";

impl Castle {
    /// A token of the cluster's own keys that says something else.
    fn forge(&self, options: TokenOptions, issue: Issue, now_ms: u64) -> String {
        let tokens = ServiceAccountTokens::new(Naming::Svc.names(), options);
        tokens.set_keys(KeySet::new(std::slice::from_ref(&self.server.key)).unwrap());
        tokens.issue(issue, now_ms).unwrap().token
    }

    async fn account_uid(&self) -> String {
        let account = self.server.get("/api/v1/namespaces/a/serviceaccounts/robot").await.json();
        account["metadata"]["uid"].as_str().unwrap().to_owned()
    }
}

fn options() -> TokenOptions {
    let issuers = vec![ISSUER.to_owned()];
    TokenOptions { audiences: issuers.clone(), issuers, ..TokenOptions::default() }
}

fn issue(uid: &str) -> Issue {
    Issue {
        namespace: "a".into(),
        account: ObjectIdentity { name: "robot".into(), uid: uid.into() },
        audiences: vec![ISSUER.to_owned()],
        lifetime: Some(600),
        bound: None,
        id: "forged".into(),
    }
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Tokens that look like a good one and are none.
fn variants(castle: &Castle, good: &str) -> Vec<(&'static str, String)> {
    let [header, claims, signature]: [&str; 3] =
        good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let decoded = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let with = |of: &str, field: &str, value: Value| {
        let mut changed = decoded(of);
        changed[field] = value;
        part(&changed)
    };
    let keys = castle.server.api.authentication.service_accounts.keys().unwrap().published();
    let key = serde_json::to_value(quorate_json(&keys)).unwrap();
    let bytes =
        |field: &str| URL_SAFE_NO_PAD.decode(key["keys"][0][field].as_str().unwrap()).unwrap();
    let point = [vec![4], bytes("x"), bytes("y")].concat();
    let der = [KEY_HEAD, &point].concat();
    let hmac_header = with(header, "alg", "HS256".into());
    let confused = |secret: &[u8]| {
        let message = format!("{hmac_header}.{claims}");
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    vec![
        ("no signature", format!("{header}.{claims}.")),
        ("two parts", format!("{header}.{claims}")),
        ("four parts", format!("{good}.AA")),
        ("alg none", format!("{}.{claims}.", with(header, "alg", "none".into()))),
        ("alg None", format!("{}.{claims}.{signature}", with(header, "alg", "None".into()))),
        ("alg ES384", format!("{}.{claims}.{signature}", with(header, "alg", "ES384".into()))),
        ("alg RS256", format!("{}.{claims}.{signature}", with(header, "alg", "RS256".into()))),
        ("the public point as a shared secret", confused(&point)),
        ("the public key in DER as a shared secret", confused(&der)),
        ("the public key in PEM as a shared secret", confused(pem(&der).as_bytes())),
        ("the published key as a shared secret", confused(key.to_string().as_bytes())),
        ("an empty shared secret", confused(b"")),
        ("another key id", format!("{}.{claims}.{signature}", with(header, "kid", "other".into()))),
        (
            "a key of its own",
            format!("{}.{claims}.{signature}", with(header, "jwk", key["keys"][0].clone())),
        ),
        (
            "another subject",
            format!("{header}.{}.{signature}", with(claims, "sub", "system:admin".into())),
        ),
        (
            "another end",
            format!("{header}.{}.{signature}", with(claims, "exp", 9_999_999_999_u64.into())),
        ),
        ("padding", format!("{header}.{claims}.{signature}==")),
        ("a zero signature", format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode([0; 64]))),
        ("a long one", format!("{good}{}", "A".repeat(20_000))),
        ("garbage", "not-a-token".to_owned()),
        ("the beginning of a static token", "static-secre".to_owned()),
        ("the user of a static token", "ann".to_owned()),
    ]
}

/// A public key as files have it (RFC 7468).
fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let (first, second) = text.split_at(64);
    format!("-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----\n")
}

/// The tree as the library of the tests knows it.
fn quorate_json(value: &quorate_meta::Value) -> Value {
    let mut out = Vec::new();
    quorate_wire::json::write(value, &mut out);
    serde_json::from_slice(&out).unwrap()
}

#[tokio::test]
async fn tokens_that_are_none() {
    let castle = Castle::new().await;
    let uid = castle.account_uid().await;
    let good = castle.forge(options(), issue(&uid), START_MS);
    let bearer = |token: &str| format!("Bearer {token}");
    assert_eq!(
        castle.get(None, "/api", &[("authorization", &bearer(&good))]).await,
        200,
        "the good one lets in"
    );
    let mut attempts = variants(&castle, &good);
    let other = |change: fn(&mut Issue)| {
        let mut issue = issue(&uid);
        change(&mut issue);
        castle.forge(options(), issue, START_MS)
    };
    let stranger = TokenOptions { issuers: vec!["https://elsewhere.example".into()], ..options() };
    attempts.extend([
        ("expired", castle.forge(options(), issue(&uid), START_MS - 601_000)),
        ("not valid yet", castle.forge(options(), issue(&uid), START_MS + 60_000)),
        ("another issuer", castle.forge(stranger, issue(&uid), START_MS)),
        ("another audience", other(|issue| issue.audiences = vec!["vault".into()])),
        ("no audience", other(|issue| issue.audiences.clear())),
        ("no end", other(|issue| issue.lifetime = None)),
        ("another account", other(|issue| issue.account.name = "nobody".into())),
        ("an earlier account of the name", other(|issue| issue.account.uid = "earlier".into())),
        ("another namespace", other(|issue| issue.namespace = "b".into())),
        ("a name that leaves its segment", other(|issue| issue.account.name = "../a/robot".into())),
    ]);
    let admin = || Some(castle.authority.issue("admin", Some("system:masters")));
    let mut count = 0;
    for (what, token) in &attempts {
        // Beside a right certificate a wrong token is refused as well.
        for subject in [None, admin()] {
            let code = castle.get(subject, SECRET, &[("authorization", &bearer(token))]).await;
            count += Castle::refused_with(what, code, 401);
        }
    }
    println!("{count} attempts with tokens, none got in");
    assert_eq!(count, 64);
}

#[tokio::test]
async fn a_token_of_a_deleted_account_and_of_one_that_came_again() {
    let castle = Castle::new().await;
    let path = "/api/v1/namespaces/a/serviceaccounts";
    let made =
        castle.server.send(Method::POST, &format!("{path}/robot/token"), &[], "{}").await.json();
    let bearer = format!("Bearer {}", made["status"]["token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str())];
    assert_eq!(castle.get(None, "/api", &headers).await, 200);
    let deleted = castle.server.send(Method::DELETE, &format!("{path}/robot"), &[], "").await;
    assert_eq!(deleted.status, 200);
    assert_eq!(castle.get(None, "/api", &headers).await, 401);
    let again =
        castle.server.send(Method::POST, path, &[], r#"{"metadata": {"name": "robot"}}"#).await;
    assert_eq!(again.status, 201);
    assert_eq!(castle.get(None, "/api", &headers).await, 401);
}
