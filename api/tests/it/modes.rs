//! Authorization modes in a row: the first that has an opinion decides.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use quorate_access::authentication::User;
use quorate_access::authorization::{ModeOptions, ReviewError, Reviewer, Verdict, WebhookOptions};
use quorate_env::SystemEnv;
use serde_json::{Value, json};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

/// Decides by the user's name.
#[derive(Debug)]
struct ByName;

#[async_trait]
impl Reviewer for ByName {
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError> {
        let mut review: Value = serde_json::from_slice(&review).unwrap();
        review["status"] = match review["spec"]["user"].as_str().unwrap() {
            "friend" => json!({"allowed": true, "reason": "a friend"}),
            "enemy" => json!({"allowed": false, "denied": true, "reason": "an enemy"}),
            "ghost" => return Err(ReviewError::Permanent("nobody knows".to_owned())),
            _ => json!({"allowed": false, "reason": "a stranger"}),
        };
        Ok(review.to_string().into())
    }
}

fn webhook(on_failure: Verdict) -> ModeOptions {
    ModeOptions::Webhook(WebhookOptions {
        reviewer: Arc::new(ByName),
        clock: SystemEnv::env().clock,
        authorized_ttl: Duration::ZERO,
        unauthorized_ttl: Duration::ZERO,
        timeout: Duration::from_secs(60),
        on_failure,
    })
}

/// A server with the namespace `a`, in which roles let every user list ConfigMaps.
async fn setting(modes: Vec<ModeOptions>) -> Server {
    let server = Server::with_modes(modes);
    server.namespace("a").await;
    let rbac = "/apis/rbac.authorization.svc.io/v1/namespaces/a";
    let role = json!({
        "metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    });
    let binding = json!({
        "metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "Group", "name": "system:authenticated"}]
    });
    for (plural, body) in [("roles", role), ("rolebindings", binding)] {
        let made =
            server.send(Method::POST, &format!("{rbac}/{plural}"), &[], body.to_string()).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    server
}

/// The status and message of what a user gets who lists configuration, and who lists secrets.
async fn check(server: &Server, user: &str, maps: (u16, &str), secrets: (u16, &str)) {
    let by = server.by(Some(User::new(user, [])));
    for (path, (status, message)) in [(MAPS, maps), ("/api/v1/namespaces/a/secrets", secrets)] {
        let answer = by.get(path).await;
        assert_eq!(answer.status, status, "{user} {path}: {}", answer.text());
        assert!(answer.text().contains(message), "{user} {path}: {}", answer.text());
    }
}

#[tokio::test]
async fn the_first_opinion_decides() {
    let server = setting(vec![webhook(Verdict::NoOpinion), ModeOptions::Rules]).await;
    check(&server, "friend", (200, ""), (200, "")).await;
    check(&server, "enemy", (403, ": an enemy"), (403, ": an enemy")).await;
    check(&server, "stranger", (200, ""), (403, ": a stranger")).await;
    // Roles still decide where they allow a request; otherwise no mode can decide it.
    check(&server, "ghost", (200, ""), (503, "nobody knows")).await;
    let server = setting(vec![webhook(Verdict::Deny), ModeOptions::Rules]).await;
    check(&server, "ghost", (403, "nobody knows"), (403, "nobody knows")).await;
    let server = setting(vec![ModeOptions::Rules, webhook(Verdict::Deny)]).await;
    check(&server, "enemy", (200, ""), (403, ": an enemy")).await;
    check(&server, "ghost", (200, ""), (403, "nobody knows")).await;
}

#[tokio::test]
async fn the_other_modes_take_their_turn() {
    let server = setting(vec![ModeOptions::AlwaysDeny, ModeOptions::Rules]).await;
    check(&server, "joe", (200, ""), (403, "Everything is forbidden.")).await;
    let server = setting(vec![ModeOptions::Rules, ModeOptions::AlwaysAllow]).await;
    check(&server, "joe", (200, ""), (200, "")).await;
    let server = setting(vec![ModeOptions::AlwaysAllow]).await;
    check(&server, "joe", (200, ""), (200, "")).await;
}

#[tokio::test]
async fn everybody_who_is_known_may_ask_about_themselves_whatever_is_configured() {
    // No role is bound to a user here.
    let cases = [
        (
            ModeOptions::AlwaysDeny,
            "joe",
            json!({"allowed": false, "reason": "Everything is forbidden."}),
        ),
        (ModeOptions::Rules, "joe", json!({"allowed": false})),
        (
            webhook(Verdict::NoOpinion),
            "enemy",
            json!({"allowed": false, "denied": true, "reason": "an enemy"}),
        ),
    ];
    for (mode, user, expect) in cases {
        let shown = format!("{mode:?}");
        let server = Server::with_modes(vec![mode]);
        let by = server.by(Some(User::new(user, [])));
        let ask = async |by: &Server, review: &str, spec: Value| {
            let path = format!("/apis/{review}");
            by.send(Method::POST, &path, &[], json!({"spec": spec}).to_string()).await
        };
        let about = |resource: &str| {
            let on =
                json!({"verb": "create", "group": "authorization.svc.io", "resource": resource});
            json!({"resourceAttributes": on})
        };
        let access = "authorization.svc.io/v1/selfsubjectaccessreviews";
        let (other, own) = (about("subjectaccessreviews"), about("selfsubjectaccessreviews"));
        let rules = "authorization.svc.io/v1/selfsubjectrulesreviews";
        let who = "authentication.svc.io/v1/selfsubjectreviews";
        let answer = ask(&by, access, other.clone()).await;
        assert_eq!(
            answer.json()["status"],
            expect,
            "{shown}: others are not opened: {}",
            answer.text()
        );
        assert_eq!(ask(&by, access, own).await.json()["status"]["allowed"], true, "{shown}");
        assert_eq!(ask(&by, rules, json!({"namespace": "a"})).await.status, 201, "{shown}");
        let answer = by.send(Method::POST, &format!("/apis/{who}"), &[], "{}").await;
        assert_eq!(answer.json()["status"]["userInfo"]["username"], user, "{shown}");
        let of_others =
            ask(&by, "authorization.svc.io/v1/subjectaccessreviews", other.clone()).await;
        assert_eq!(of_others.status, 403, "{shown}: {}", of_others.text());
        for review in [access, rules, who] {
            let nobody = server.by(Some(User::anonymous()));
            assert_eq!(ask(&nobody, review, other.clone()).await.status, 403, "{shown} {review}");
        }
    }
}

#[tokio::test]
async fn reviews_ask_the_same_modes() {
    let server = setting(vec![webhook(Verdict::NoOpinion), ModeOptions::Rules]).await;
    let check = async |user: &str, expect: Value| {
        let on = json!({"verb": "list", "resource": "secrets", "namespace": "a"});
        let body = json!({"spec": {"user": user, "resourceAttributes": on}}).to_string();
        let path = "/apis/authorization.svc.io/v1/subjectaccessreviews";
        let answer = server.send(Method::POST, path, &[], body).await;
        assert_eq!(answer.json()["status"], expect, "{user}");
    };
    check("friend", json!({"allowed": true, "reason": "a friend"})).await;
    check("enemy", json!({"allowed": false, "denied": true, "reason": "an enemy"})).await;
    check("stranger", json!({"allowed": false, "reason": "a stranger"})).await;
    let error = "the authorization webhook does not answer: nobody knows";
    check("ghost", json!({"allowed": false, "evaluationError": error})).await;
    let friend = server.by(Some(User::new("friend", [])));
    let body = json!({"spec": {"namespace": "a"}}).to_string();
    let path = "/apis/authorization.svc.io/v1/selfsubjectrulesreviews";
    let status = friend.send(Method::POST, path, &[], body).await.json()["status"].clone();
    assert_eq!(
        (&status["incomplete"], status["resourceRules"].as_array().unwrap().len()),
        (&true.into(), 1)
    );
    assert_eq!(
        status["evaluationError"],
        "webhook authorizer does not support user rule resolution"
    );
}
