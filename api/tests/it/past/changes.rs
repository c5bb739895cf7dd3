//! The changes of the cluster, and refused writes.

use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};

use super::{MAPS, allow, forgetful, post, refusal, text};
use crate::harness::Server;

async fn page(server: &Server, query: &str) -> Value {
    let answer = server.get(&format!("/past/changes?{query}")).await;
    assert_eq!(answer.status, 200, "{query} {}", answer.text());
    answer.json()
}

/// All items, over as many pages as there are, as `TYPE resource name`.
async fn all(server: &Server, query: &str) -> Vec<String> {
    let (mut found, mut token) = (Vec::new(), String::new());
    loop {
        let page = page(server, &format!("{query}&continue={token}")).await;
        let brief = |item: &Value| {
            let [kind, resource, name] = ["/type", "/resource", "/name"].map(|at| text(item, at));
            format!("{kind} {resource} {name}")
        };
        found.extend(page["items"].as_array().unwrap().iter().map(brief));
        token = text(&page, "/metadata/continue").to_owned();
        if token.is_empty() {
            return found;
        }
    }
}

#[tokio::test]
async fn changes_are_told_in_both_orders_and_filtered() {
    let server = forgetful().await;
    let ann = server.by(Some(User::new("ann", ["system:masters".to_owned()])));
    server.clock.advance(1000);
    let begin = server.create("a", "m1", &[]).await;
    ann.create("a", "m2", &[]).await;
    server.clock.advance(1000);
    ann.patch("m1", json!({"data": {"k": "w"}})).await;
    server.namespace("b").await;
    server.delete("m1").await;
    let everything = [
        "DELETED configmaps m1",
        "ADDED namespaces b",
        "MODIFIED configmaps m1",
        "ADDED configmaps m2",
        "ADDED configmaps m1",
        "ADDED namespaces a",
    ];
    let reversed: Vec<_> = everything.iter().rev().copied().collect();
    for limit in [1, 2, 3, 100] {
        assert_eq!(all(&server, &format!("limit={limit}")).await, everything, "{limit}");
        assert_eq!(all(&server, &format!("limit={limit}&order=oldest")).await, reversed, "{limit}");
    }
    let check = async |query: &str, expect: &[usize]| {
        let expect: Vec<_> = expect.iter().map(|place| everything[*place]).collect();
        assert_eq!(all(&server, query).await, expect, "{query}");
    };
    check("user=ann", &[2, 3]).await;
    check("verb=patch", &[2]).await;
    check("resource=namespaces", &[1, 5]).await;
    check("resource=configmaps&group=", &[0, 2, 3, 4]).await;
    check("namespace=a&name=m1&user=admin", &[0, 4]).await;
    check("since=2030-01-01T00:00:01.5Z", &[0, 1, 2]).await;
    check("until=2030-01-01T00:00:01.5Z", &[3, 4, 5]).await;
    check(&format!("since={begin}&resource=configmaps"), &[0, 2, 3]).await;
    check(&format!("until={begin}"), &[4, 5]).await;
    check("since=2030-01-01T00:00:02Z", &[]).await;
    let changed = page(&server, "verb=patch").await;
    let item = &changed["items"][0];
    assert_eq!(item["changed"], json!([".data.k"]));
    assert_eq!(
        (text(item, "/kind"), text(item, "/version"), text(item, "/namespace")),
        ("ConfigMap", "v1", "a")
    );
    for wrong in
        ["since=x", "until=999", "order=x", "continue=x", "limit=x", "resource=a.b&group=c"]
    {
        assert_eq!(refusal(&server, &format!("/past/changes?{wrong}")).await.0, 400, "{wrong}");
    }
    let extent = server.get("/past").await.json();
    assert_eq!((text(&extent, "/kind"), text(&extent, "/oldest/revision")), ("Extent", "0"));
}

#[tokio::test]
async fn a_caller_sees_what_it_may_list_or_get() {
    let server = forgetful().await;
    let joe = server.by(Some(User::new("joe", [])));
    assert_eq!(refusal(&joe, "/past/changes").await.0, 403);
    let path = json!({"nonResourceURLs": ["/past/changes"], "verbs": ["get"]});
    allow(&server, "joe", None, json!([path])).await;
    server.namespace("b").await;
    for (namespace, name) in [("a", "m1"), ("a", "m2"), ("b", "m1")] {
        server.create(namespace, name, &[]).await;
    }
    assert_eq!(all(&joe, "").await, Vec::<String>::new());
    let named = json!({"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["m2"], "verbs": ["get"]});
    allow(&server, "joe", Some("a"), json!([named])).await;
    assert_eq!(all(&joe, "").await, ["ADDED configmaps m2"]);
    let list = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]});
    allow(&server, "joe", Some("b"), json!([list])).await;
    assert_eq!(all(&joe, "limit=1").await, ["ADDED configmaps m1", "ADDED configmaps m2"]);
    assert_eq!(refusal(&joe, "/past/changes?refused=true").await.0, 403);
    assert_eq!(refusal(&joe, "/past").await.0, 403);
}

#[tokio::test]
async fn refused_writes_are_counted_and_sampled() {
    let server = forgetful().await;
    let joe = server.by(Some(User::new("joe", [])));
    let headers = [("user-agent", "test/1"), ("audit-id", "mine")];
    for _ in 0..20 {
        assert_eq!(joe.send(Method::DELETE, &format!("{MAPS}/m"), &headers, "").await.status, 403);
    }
    let body = json!({"metadata": {"name": "Bad_"}}).to_string();
    assert_eq!(server.send(Method::POST, MAPS, &[], &body).await.status, 422);
    let dry = format!("{MAPS}?dryRun=All");
    assert_eq!(server.send(Method::POST, &dry, &[], &body).await.status, 422);
    assert_eq!(joe.get(MAPS).await.status, 403);
    let told = page(&server, "refused=true").await;
    let counts: Vec<_> = told["counts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                text(c, "/user"),
                text(c, "/verb"),
                c["code"].as_u64().unwrap(),
                c["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(counts, [("joe", "delete", 403, 20), ("admin", "create", 422, 1)]);
    let items = told["items"].as_array().unwrap();
    assert_eq!((items.len(), &told["dropped"]), (17, &json!(4)));
    let last = &items[1];
    assert_eq!((text(last, "/user/username"), text(last, "/name")), ("joe", "m"));
    assert_eq!((text(last, "/auditID"), text(last, "/userAgent")), ("mine", "test/1"));
    assert!(text(last, "/message").contains("forbidden"), "{last}");
    assert_eq!(text(&items[0], "/reason"), "Invalid");
    let narrowed = page(&server, "refused=true&user=joe&limit=3").await;
    assert_eq!(narrowed["items"].as_array().unwrap().len(), 3);
    assert_eq!(narrowed["counts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn renewals_of_leases_are_left_out_and_counted_where_that_is_asked_for() {
    const LEASES: &str = "/apis/coordination.svc.io/v1/namespaces/a/leases";
    let server = forgetful().await;
    let spec = |holder: &str, second: u32| json!({"spec": {"holderIdentity": holder, "renewTime": format!("2030-01-01T00:00:{second:02}.000000Z")}});
    let mut lease = spec("one", 0);
    lease["metadata"] = json!({"name": "leader"});
    post(&server, LEASES, lease).await;
    let merge = [("content-type", "application/merge-patch+json")];
    for (holder, second) in [("one", 1), ("one", 2), ("two", 3)] {
        let body = spec(holder, second).to_string();
        let path = format!("{LEASES}/leader");
        assert_eq!(server.send(Method::PATCH, &path, &merge, body).await.status, 200);
    }
    let check = async |query: &str, expect: &[&str], hidden: Option<i64>| {
        let path = format!("/past/changes?resource=leases&order=oldest{query}");
        let answer = server.get(&path).await.json();
        let items = answer["items"].as_array().unwrap();
        let told: Vec<String> = items
            .iter()
            .map(|item| match item["changed"].as_array() {
                Some(paths) => paths.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
                None => text(item, "/type").to_owned(),
            })
            .collect();
        assert_eq!(told, expect, "{query}");
        assert_eq!(answer.get("hidden").and_then(Value::as_i64), hidden, "{query}");
    };
    let taken = ".spec.holderIdentity .spec.renewTime";
    let renewed = ".spec.renewTime";
    check("", &["ADDED", renewed, renewed, taken], None).await;
    check("&heartbeats=true", &["ADDED", renewed, renewed, taken], None).await;
    check("&heartbeats=false", &["ADDED", taken], Some(2)).await;
    check("&heartbeats=false&limit=1", &["ADDED"], Some(0)).await;
}
