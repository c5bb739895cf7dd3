//! Secrecy of tokens, keys and Secrets in a running node: none is in its log or in its audit log at
//! the level `Metadata`, neither as it is nor encoded.

use std::fs::read_to_string;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Cluster, eventually};

const POLICY: &str = "apiVersion: audit.svc.io/v1\nkind: Policy\nrules:\n- level: Metadata\n";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const REVIEWS: &str = "/apis/authentication.svc.io/v1/tokenreviews";
const STATIC: &str = "static-5f4e3d2c1b0a";
const WRONG: &str = "wrong-token-888-999";
/// What Secrets hold, one after the other.
const HELD: [&str; 4] =
    ["created-hush-hush", "updated-hush-hush", "patched-hush-hush", "refused-hush-hush"];

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
        let encoded = STANDARD.encode(format!("{around}hush-hush{around}"));
        assert!(forms("hush-hush").iter().any(|form| encoded.contains(form)), "{encoded}");
    }
}

/// Writes Secrets.
async fn keep(admin: &mut Client) {
    let secret = |held: &str| json!({"metadata": {"name": "s"}, "stringData": {"k": held}});
    let path = format!("{SECRETS}/s");
    admin.post(SECRETS, &secret(HELD[0])).await.expect(201);
    admin.send(Method::PUT, &path, Some(&secret(HELD[1]))).await.unwrap().expect(200);
    let patch = json!({"data": {"k": STANDARD.encode(HELD[2])}});
    let patched = admin.send(Method::PATCH, &path, Some(&patch)).await.unwrap().expect(200);
    assert_eq!(patched.body["data"], patch["data"]);
    // A refusal may quote what it refuses.
    let mut refused = secret(HELD[3]);
    refused["type"] = json!(HELD[3]);
    admin.send(Method::PUT, &path, Some(&refused)).await.unwrap().expect(422);
    admin
        .post(SECRETS, &json!({"metadata": {"name": "t"}, "data": {"k": HELD[3]}}))
        .await
        .expect(400);
    admin.get(SECRETS).await.expect(200);
    admin.send(Method::DELETE, &path, None).await.unwrap().expect(200);
}

/// A requested token, and one that a Secret got.
async fn tokens(admin: &mut Client) -> [String; 2] {
    admin.post(ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await.expect(201);
    let requested =
        admin.post(&format!("{ACCOUNTS}/robot/token"), &json!({})).await.expect(201).body;
    let annotations = json!({"svc.io/service-account.name": "robot"});
    let metadata = json!({"name": "filled", "annotations": annotations});
    admin
        .post(SECRETS, &json!({"metadata": metadata, "type": "svc.io/service-account-token"}))
        .await
        .expect(201);
    let kept = eventually("the Secret has a token", async || {
        let secret = admin.get(&format!("{SECRETS}/filled")).await.body;
        secret["data"]["token"].as_str().map(|token| STANDARD.decode(token).unwrap())
    })
    .await;
    [requested["status"]["token"].as_str().unwrap().to_owned(), String::from_utf8(kept).unwrap()]
}

/// Uses tokens as credentials, and asks whose they are.
async fn show(cluster: &Cluster, admin: &mut Client, tokens: &[(&str, u16)]) {
    let pki = cluster.root().join("pki");
    for (token, expect) in tokens {
        let mut bearer = Client::bearer(&cluster.address(1), &pki, token);
        bearer.get("/api").await.expect(*expect);
        let review =
            json!({"spec": {"token": token, "audiences": ["https://svc.default.svc", "another"]}});
        let status = admin.post(REVIEWS, &review).await.expect(201).body["status"].clone();
        assert_eq!(status["authenticated"] == true, *expect == 200, "{status}");
        let review = json!({"spec": {"token": token, "audiences": ["another"]}});
        let status = admin.post(REVIEWS, &review).await.expect(201).body["status"].clone();
        assert_eq!(status["authenticated"], Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_the_log_nor_the_trail_tells_of_secrets_and_tokens() {
    let folder = TempDir::new().unwrap();
    let [users, policy, trail] =
        ["tokens.csv", "policy.yaml", "audit.log"].map(|name| folder.path().join(name));
    std::fs::write(&users, format!("{STATIC},ann,1,dev\n")).unwrap();
    std::fs::write(&policy, POLICY).unwrap();
    let options =
        [("token-auth-file", &users), ("audit-policy-file", &policy), ("audit-log-path", &trail)];
    let options = options.map(|(name, file)| format!("--{name}={}", file.display()));
    let mut cluster =
        Cluster::start_with(1, &options.each_ref().map(String::as_str), folder, "debug");
    let mut admin = cluster.client(1);
    keep(&mut admin).await;
    let [requested, kept] = tokens(&mut admin).await;
    let shown = [(requested.as_str(), 200), (kept.as_str(), 200), (STATIC, 200), (WRONG, 401)];
    show(&cluster, &mut admin, &shown).await;
    // What is told last is told when the node ends.
    cluster.stop(1);

    let log = read_to_string(cluster.node(1).join("node.log")).unwrap();
    assert!(log.contains("DEBUG") && log.contains("a bearer token was refused"), "{log}");
    let trail = read_to_string(trail).unwrap();
    let events: Vec<Value> =
        trail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_told = |field: &str, text: &str| {
        events.iter().any(|event| event.pointer(field) == Some(&json!(text)))
    };
    for path in [SECRETS, REVIEWS, "/api/v1/namespaces/default/serviceaccounts/robot/token"] {
        assert!(is_told("/requestURI", path), "{path}");
    }
    for user in ["ann", "system:serviceaccount:default:robot"] {
        assert!(is_told("/user/username", user), "{user}");
    }
    let signatures = [&requested, &kept].map(|token| token.rsplit('.').next().unwrap());
    let private =
        [requested.as_str(), &kept, STATIC, WRONG].into_iter().chain(signatures).chain(HELD);
    for form in private.flat_map(forms) {
        assert!(!log.contains(&form), "the log holds {form}");
        assert!(!trail.contains(&form), "the trail holds {form}");
    }
}
