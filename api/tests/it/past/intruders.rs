//! Attempts to read the past against today's rules.

use http::Method;
use quorate_access::authentication::User;
use serde_json::json;

use super::{MAPS, allow, forgetful, text};
use crate::harness::Server;

const SECRETS: &str = "/api/v1/namespaces/a/secrets";

/// Every way to ask for the past of a secret and of its collection.
const WAYS: [&str; 9] = [
    "/s?asOf=AT",
    "/s?history=true",
    "/s?history=true&objects=false",
    "/s?blame=true",
    "/s?blame=true&asOf=AT",
    "?asOf=AT",
    "?asOf=AT&limit=1",
    "?watch=1&asOf=AT&timeoutSeconds=1",
    "?asOf=AT&fieldSelector=metadata.name%3Ds",
];

async fn secrets() -> (Server, String) {
    let server = forgetful().await;
    for name in ["s", "t"] {
        let body = json!({"metadata": {"name": name}, "stringData": {"k": "hidden"}}).to_string();
        assert_eq!(server.send(Method::POST, SECRETS, &[], &body).await.status, 201);
    }
    let at = server.get(SECRETS).await.version();
    (server, at)
}

/// Which of the ways are open to a user.
async fn open(server: &Server, at: &str) -> Vec<&'static str> {
    let mut open = Vec::new();
    for way in WAYS {
        let path = format!("{SECRETS}{}", way.replace("AT", at));
        for accept in ["application/json", "application/json;as=Table;g=meta.svc.io;v=v1"] {
            let answer = server.get_as(&path, accept).await;
            let refused = answer.status == 401 || answer.status == 403;
            assert!(answer.status == 200 || refused, "{way} {}", answer.text());
            if answer.status == 200 && open.last() != Some(&way) {
                open.push(way);
            }
        }
    }
    open
}

#[tokio::test]
async fn only_the_rules_of_today_open_the_past() {
    let (server, at) = secrets().await;
    let rule =
        |verbs: &[&str]| json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": verbs}]);
    let user = |name: &str| server.by(Some(User::new(name, [])));
    assert!(open(&user("stranger"), &at).await.is_empty());
    assert!(open(&server.by(None), &at).await.is_empty());
    allow(&server, "lister", Some("a"), rule(&["list"])).await;
    assert_eq!(open(&user("lister"), &at).await, [WAYS[5], WAYS[6], WAYS[8]]);
    allow(&server, "watcher", Some("a"), rule(&["watch"])).await;
    assert_eq!(open(&user("watcher"), &at).await, [WAYS[7]]);
    allow(&server, "getter", Some("a"), rule(&["get"])).await;
    assert_eq!(open(&user("getter"), &at).await, WAYS[..5]);
    let named = json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"], "verbs": ["get", "list"]}]);
    allow(&server, "named", Some("a"), named).await;
    let expect = [&WAYS[..5], &WAYS[8..]].concat();
    assert_eq!(open(&user("named"), &at).await, expect);
    let narrowed = user("named").get(&format!("{SECRETS}{}", WAYS[8].replace("AT", &at))).await;
    assert_eq!(narrowed.names(), ["s"]);
    for path in [format!("{SECRETS}/t?asOf={at}"), format!("{SECRETS}/t?history=true")] {
        assert_eq!(user("named").get(&path).await.status, 403, "{path}");
    }
    let everywhere = format!("/api/v1/secrets?asOf={at}");
    assert_eq!(user("lister").get(&everywhere).await.status, 403);
}

#[tokio::test]
async fn a_right_that_was_taken_away_opens_nothing_of_then() {
    let (server, at) = secrets().await;
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}]);
    allow(&server, "joe", Some("a"), rules).await;
    let joe = server.by(Some(User::new("joe", [])));
    assert_eq!(open(&joe, &at).await, WAYS);
    let token = joe.get(&format!("{SECRETS}?asOf={at}&limit=1")).await.json();
    let token = text(&token, "/metadata/continue").to_owned();
    let binding = "/apis/rbac.authorization.svc.io/v1/namespaces/a/rolebindings/joe-a";
    assert_eq!(server.send(Method::DELETE, binding, &[], "").await.status, 200);
    assert!(open(&joe, &at).await.is_empty());
    assert_eq!(joe.get(&format!("{SECRETS}?continue={token}")).await.status, 403);
}

#[tokio::test]
async fn the_path_of_one_resource_does_not_lead_to_another() {
    let (server, at) = secrets().await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    allow(&server, "joe", Some("a"), rules).await;
    let joe = server.by(Some(User::new("joe", [])));
    let token = server.get(&format!("{SECRETS}?asOf={at}&limit=1")).await.json();
    let token = text(&token, "/metadata/continue").to_owned();
    assert_eq!(joe.get(&format!("{MAPS}?continue={token}")).await.status, 400);
    for path in [
        format!("{MAPS}/..%2Fsecrets%2Fs?asOf={at}"),
        format!("{MAPS}/s%2Ft?history=true"),
        format!("/api/v1/namespaces/a%2Fsecrets/configmaps?asOf={at}"),
    ] {
        let answer = joe.get(&path).await;
        assert!(!answer.status.is_success(), "{path} {}", answer.text());
        assert!(!answer.text().contains("aGlkZGVu"), "{path}");
    }
}
