//! The history of one object, and blame.

use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};

use super::{MAPS, forgetful, refusal, text};
use crate::harness::{Answer, Server};

const KUBECTL: &str = "kubectl/v1.35.0 (linux/amd64) kubernetes/abc";

async fn patch(server: &Server, query: &str, media: &str, body: Value) -> Answer {
    let path = format!("{MAPS}/m{query}");
    let headers = [("content-type", media), ("user-agent", KUBECTL), ("audit-id", "mine")];
    let answer = server.send(Method::PATCH, &path, &headers, body.to_string()).await;
    assert!(answer.status.is_success(), "{}", answer.text());
    answer
}

/// An object that several users have changed, was deleted, and is there again.
async fn eventful() -> Server {
    let server = forgetful().await;
    let ann = server.by(Some(User::new("ann", ["system:masters".to_owned()])));
    server.create("a", "m", &[("l", "1")]).await;
    server.clock.advance(1500);
    let merge = "application/merge-patch+json";
    patch(&ann, "", merge, json!({"data": {"k": "w", "n": "1"}})).await;
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "x"}});
    let apply = "application/apply-patch+yaml";
    patch(&ann, "?fieldManager=mine&force=true", apply, applied).await;
    let path = format!("{MAPS}/m?propagationPolicy=Foreground&gracePeriodSeconds=0");
    let answer = server.send(Method::DELETE, &path, &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    if server.get(&format!("{MAPS}/m")).await.status == 200 {
        patch(&server, "", merge, json!({"metadata": {"finalizers": null}})).await;
    }
    server.create("a", "m", &[]).await;
    server
}

#[tokio::test]
async fn every_version_says_who_made_it_and_what_it_changed() {
    let server = eventful().await;
    let answer = server.get(&format!("{MAPS}/m?history=true")).await.json();
    assert_eq!(
        (text(&answer, "/kind"), text(&answer, "/apiVersion")),
        ("ObjectHistory", "past.svc.io/v1")
    );
    let items = answer["items"].as_array().unwrap();
    let types: Vec<_> = items.iter().map(|item| text(item, "/type")).collect();
    assert_eq!(types[0], "ADDED");
    assert!(types.contains(&"DELETED"));
    let oldest = &items[items.len() - 3..];
    let types: Vec<_> = oldest.iter().map(|item| text(item, "/type")).collect();
    assert_eq!(types, ["MODIFIED", "MODIFIED", "ADDED"]);
    let [applied, merged, created] = oldest else { panic!("three items") };
    assert_eq!(created["user"]["username"], "admin");
    assert_eq!(created["verb"], "create");
    assert_eq!(created["time"], "2030-01-01T00:00:00.000Z");
    assert_eq!(created["object"]["data"], json!({"k": "v"}));
    assert!(created.get("changed").is_none());
    assert_eq!(merged["user"]["username"], "ann");
    let groups = json!(["system:masters", "system:authenticated"]);
    assert_eq!(merged["user"]["groups"], groups);
    assert_eq!((text(merged, "/verb"), text(merged, "/manager")), ("patch", "kubectl"));
    assert_eq!((text(merged, "/userAgent"), text(merged, "/auditID")), (KUBECTL, "mine"));
    assert_eq!(merged["time"], "2030-01-01T00:00:01.500Z");
    assert_eq!(merged["changed"], json!([".data.k", ".data.n"]));
    assert_eq!((text(applied, "/verb"), text(applied, "/manager")), ("apply", "mine"));
    assert_eq!(applied["options"], json!({"force": true}));
    assert_eq!(applied["changed"], json!([".data.k"]));
    let begun = items.iter().find(|item| text(item, "/verb") == "delete").unwrap();
    let options = json!({"propagationPolicy": "Foreground", "gracePeriodSeconds": 0});
    assert_eq!(begun["options"], options);
    let bare = server.get(&format!("{MAPS}/m?history=true&objects=false")).await.json();
    assert!(bare["items"].as_array().unwrap().iter().all(|item| item.get("object").is_none()));
}

#[tokio::test]
async fn a_history_has_pages_and_outlives_its_object() {
    let server = forgetful().await;
    let mut versions = vec![server.create("a", "m", &[]).await];
    for number in 0..9 {
        versions.push(server.patch("m", json!({"data": {"k": number.to_string()}})).await);
    }
    server.delete("m").await;
    versions.reverse();
    for limit in [1, 2, 3, 5, 10, 11, 20] {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let path = format!("{MAPS}/m?history=1&limit={limit}&continue={token}");
            let page = server.get(&path).await.json();
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= limit, "{limit}");
            found.extend(items.iter().map(|item| text(item, "/revision").to_owned()));
            token = text(&page, "/metadata/continue").to_owned();
            if token.is_empty() {
                break;
            }
            assert_eq!(items.len(), limit);
        }
        assert_eq!(found[1..], versions, "{limit}");
    }
    assert_eq!(refusal(&server, &format!("{MAPS}/none?history=1")).await.0, 404);
    assert_eq!(refusal(&server, &format!("{MAPS}/m?history=1&asOf=1")).await.0, 400);
    assert_eq!(refusal(&server, &format!("{MAPS}/m?history=1&continue=x")).await.0, 400);
    assert_eq!(refusal(&server, &format!("{MAPS}/m/status?history=1")).await.0, 404);
    assert_eq!(server.get(&format!("{MAPS}/m?history=false")).await.status, 404);
}

#[tokio::test]
async fn blame_names_the_change_of_each_field() {
    let server = forgetful().await;
    let ann = server.by(Some(User::new("ann", ["system:masters".to_owned()])));
    let created = server.create("a", "m", &[("l", "1")]).await;
    let merged = ann.patch("m", json!({"data": {"k": "w", "n": "1"}})).await;
    let back = server.patch("m", json!({"data": {"k": "v"}})).await;
    let again = ann.patch("m", json!({"data": {"k": "w"}})).await;
    let blamed = async |query: &str| {
        let answer = server.get(&format!("{MAPS}/m?blame=true{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let by = |answer: &Value, path: &str| {
        let fields = answer["fields"].as_array().unwrap();
        let field = fields
            .iter()
            .find(|field| text(field, "/path") == path)
            .unwrap_or_else(|| panic!("{answer}"));
        let revision = text(field, "/revision").to_owned();
        let changes = answer["changes"].as_array().unwrap();
        let change = changes.iter().find(|change| text(change, "/revision") == revision).unwrap();
        (revision, text(change, "/user/username").to_owned(), field["value"].clone())
    };
    let now = blamed("").await;
    assert_eq!((text(&now, "/kind"), &now["complete"]), ("ObjectBlame", &json!(true)));
    assert_eq!(by(&now, ".data.k"), (again.clone(), "ann".to_owned(), json!("w")));
    assert_eq!(by(&now, ".data.n"), (merged, "ann".to_owned(), json!("1")));
    assert_eq!(by(&now, ".metadata.labels.l"), (created, "admin".to_owned(), json!("1")));
    assert_eq!(now["changes"].as_array().unwrap().len(), 3);
    assert_eq!(text(&now, "/metadata/resourceVersion"), again);
    let then = blamed(&format!("&asOf={back}")).await;
    assert_eq!(by(&then, ".data.k"), (back, "admin".to_owned(), json!("v")));
    server.delete("m").await;
    assert_eq!(refusal(&server, &format!("{MAPS}/m?blame=true")).await.0, 404);
    let again = blamed(&format!("&asOf={again}")).await;
    assert_eq!(again["fields"], now["fields"]);
}
