//! Gets and lists as of a moment.

use std::sync::Arc;

use http::Method;
use quorate_store::{Layer, MemoryOptions, MemoryStore, Past, Store};
use serde_json::json;

use super::{MAPS, forgetful, refusal};
use crate::harness::{START_MS, Server, TestClock};

/// Every form of an answer.
const FORMS: [&str; 7] = [
    "application/json",
    "application/yaml",
    "application/vnd.svc.protobuf",
    "application/json;as=Table;g=meta.svc.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.svc.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.svc.io;v=v1",
    "application/vnd.svc.protobuf;as=PartialObjectMetadataList;g=meta.svc.io;v=v1",
];

#[tokio::test]
async fn the_past_is_told_as_it_was_told_then() {
    let server = forgetful().await;
    for (name, set) in [("m1", "x"), ("m2", "y"), ("m3", "x")] {
        server.create("a", name, &[("set", set)]).await;
    }
    let paths = [
        format!("{MAPS}/m1?"),
        format!("{MAPS}?"),
        "/api/v1/configmaps?".to_owned(),
        format!("{MAPS}?labelSelector=set%3Dx&"),
        format!("{MAPS}?fieldSelector=metadata.name%3Dm2&"),
        format!("{MAPS}?labelSelector=set%3Dx&limit=5&"),
        "/api/v1/namespaces?".to_owned(),
    ];
    let mut told = Vec::new();
    for path in &paths {
        for form in FORMS {
            told.push((path, form, server.get_as(path, form).await));
        }
    }
    let at = server.get(MAPS).await.version();
    server.patch("m1", json!({"data": {"k": "w"}, "metadata": {"labels": {"set": "z"}}})).await;
    server.delete("m3").await;
    server.create("a", "m0", &[("set", "x")]).await;
    server.namespace("b").await;
    for (path, form, then) in told {
        let now = server.get_as(&format!("{path}asOf={at}"), form).await;
        assert_eq!(now.status, then.status, "{path} {form} {}", now.text());
        if then.status == 200 {
            assert_eq!(now.body, then.body, "{path} {form}");
            assert_eq!(now.header("content-type"), then.header("content-type"));
        }
    }
    assert_eq!(server.get(&format!("{MAPS}/m3?asOf={at}")).await.status, 200);
    assert_eq!(server.get(&format!("{MAPS}/m0?asOf={at}")).await.status, 404);
}

#[tokio::test]
async fn pages_show_the_revision_of_the_first_one() {
    let server = forgetful().await;
    for number in 0..7 {
        let label = [("even", if number % 2 == 0 { "yes" } else { "no" })];
        server.create("a", &format!("m{number}"), &label).await;
    }
    let at = server.get(MAPS).await.version();
    for number in [1, 4, 5] {
        server.delete(&format!("m{number}")).await;
    }
    let check = async |query: &str, expect: &[&[&str]]| {
        let mut path = format!("{MAPS}?asOf={at}&{query}");
        for (page, names) in expect.iter().enumerate() {
            let answer = server.get(&path).await;
            assert_eq!(answer.names(), *names, "{path}");
            assert_eq!(answer.version(), at);
            let metadata = answer.json()["metadata"].clone();
            assert!(metadata.get("remainingItemCount").is_none());
            let token = metadata["continue"].as_str().unwrap_or_default();
            assert_eq!(token.is_empty(), page + 1 == expect.len(), "{path}");
            let again = if page % 2 == 0 { String::new() } else { format!("asOf={at}&") };
            path = format!("{MAPS}?{again}continue={token}&{query}");
        }
    };
    check("limit=3", &[&["m0", "m1", "m2"], &["m3", "m4", "m5"], &["m6"]]).await;
    check("limit=7", &[&["m0", "m1", "m2", "m3", "m4", "m5", "m6"]]).await;
    check("limit=2&labelSelector=even%3Dyes", &[&["m0", "m2"], &["m4", "m6"]]).await;
    check("limit=2&labelSelector=even%3Dno", &[&["m1", "m3"], &["m5"]]).await;
    let token = server.get(&format!("{MAPS}?limit=1")).await.json()["metadata"]["continue"].clone();
    let token = token.as_str().unwrap();
    assert_eq!(refusal(&server, &format!("{MAPS}?asOf={at}&continue={token}")).await.0, 400);
    let token = server.get(&format!("{MAPS}?asOf={at}&limit=1")).await.json();
    let token = token["metadata"]["continue"].as_str().unwrap();
    for other in [format!("{MAPS}?labelSelector=x&"), "/api/v1/configmaps?".to_owned()] {
        assert_eq!(refusal(&server, &format!("{other}continue={token}")).await.0, 400, "{other}");
    }
}

#[tokio::test]
async fn a_list_of_any_length_is_whole() {
    let server = forgetful().await;
    let big = "x".repeat(5000);
    for number in 0..1100 {
        let name = format!("m{number:04}");
        let body = json!({"metadata": {"name": name}, "data": {"k": if number % 7 == 0 { big.as_str() } else { "" }}});
        let answer = server.send(Method::POST, MAPS, &[], body.to_string()).await;
        assert_eq!(answer.status, 201);
    }
    let then = server.get(MAPS).await;
    server.delete("m0005").await;
    let now = server.get(&format!("{MAPS}?asOf={}", then.version())).await;
    assert!(now.body == then.body, "{} and {} bytes", now.body.len(), then.body.len());
}

#[tokio::test]
async fn times_mean_the_newest_revision_up_to_them() {
    let server = forgetful().await;
    server.clock.advance(1000);
    server.create("a", "m", &[]).await;
    server.clock.advance(1000);
    server.patch("m", json!({"data": {"k": "w"}})).await;
    server.clock.advance(1000);
    let check = async |moment: &str, status: u16, value: &str| {
        let answer = server.get(&format!("{MAPS}/m?asOf={moment}")).await;
        assert_eq!(answer.status, status, "{moment} {}", answer.text());
        assert_eq!(answer.json()["data"]["k"].as_str().unwrap_or_default(), value, "{moment}");
    };
    check("2030-01-01T00:00:00.999Z", 404, "").await;
    check("2030-01-01T00:00:01Z", 200, "v").await;
    check("2030-01-01T01:00:01%2B01:00", 200, "v").await;
    check("2030-01-01T00:00:01.9999Z", 200, "v").await;
    check("2030-01-01T00:00:02Z", 200, "w").await;
    check("2030-01-01T00:00:03Z", 200, "w").await;
    check("1999-01-01T00:00:00Z", 404, "").await;
    check("2030-01-01T00:00:03.001Z", 400, "").await;
    assert_eq!(START_MS, 1_893_456_000_000, "the clock of the test");
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let server = forgetful().await;
    let version = server.create("a", "m", &[]).await;
    let check = async |path: &str, part: &str| {
        let (status, message) = refusal(&server, path).await;
        assert_eq!(status, 400, "{path} {message}");
        assert!(message.contains(part), "{path} {message}");
    };
    for collection in [MAPS.to_owned(), format!("{MAPS}/m")] {
        let read = |query: &str| format!("{collection}?asOf={query}");
        check(&read(""), "neither an RFC 3339 time nor a decimal").await;
        check(&read("yesterday"), "neither an RFC 3339 time").await;
        check(&read("2030-01-01"), "neither an RFC 3339 time").await;
        check(&read("999"), "in the future: it is revision").await;
        check(&read("2031-01-01T00:00:00Z"), "in the future: it is 2030-01-01T00:00:00.000Z").await;
        check(&read("1&resourceVersion=1"), "not allowed beside resourceVersion").await;
    }
    check(&format!("{MAPS}?asOf=1&resourceVersionMatch=Exact"), "beside resourceVersionMatch")
        .await;
    check(&format!("{MAPS}?watch=1&asOf=1&sendInitialEvents=true"), "beside sendInit").await;
    check(&format!("{MAPS}?watch=1&asOf=999"), "in the future").await;
    check("/api/v1/componentstatuses?asOf=1", "are not stored").await;
    check("/api/v1/componentstatuses/store?asOf=1", "are not stored").await;
    for (method, path) in [
        (Method::DELETE, MAPS.to_owned()),
        (Method::DELETE, format!("{MAPS}/m")),
        (Method::PUT, format!("{MAPS}/m")),
        (Method::POST, MAPS.to_owned()),
        (Method::PATCH, format!("{MAPS}/m")),
    ] {
        let path = format!("{path}?asOf={version}");
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = server.send(method.clone(), &path, &headers, "{}").await;
        assert_eq!(answer.status, 400, "{method}");
        assert!(answer.text().contains("the past cannot be changed"), "{}", answer.text());
    }
    assert_eq!(server.get(&format!("{MAPS}/m")).await.version(), version);
}

#[tokio::test]
async fn a_scale_is_read_as_of_a_moment() {
    let server = forgetful().await;
    let path = "/apis/apps/v1/namespaces/a/deployments";
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec =
        json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let body = json!({"metadata": {"name": "d"}, "spec": spec}).to_string();
    let created = server.send(Method::POST, path, &[], &body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let headers = [("content-type", "application/merge-patch+json")];
    let scale = format!("{path}/d/scale");
    let answer = server.send(Method::PATCH, &scale, &headers, r#"{"spec":{"replicas":5}}"#).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let then = server.get(&format!("{scale}?asOf={}", created.version())).await.json();
    assert_eq!((&then["kind"], &then["spec"]["replicas"]), (&json!("Scale"), &json!(2)));
    assert_eq!(server.get(&scale).await.json()["spec"]["replicas"], 5);
}

/// A store without an archive.
struct WithoutArchive(MemoryStore);

impl Layer for WithoutArchive {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        None
    }
}

#[tokio::test]
async fn without_an_archive_nothing_is_known_of_the_past() {
    let clock = Arc::<TestClock>::default();
    let store = WithoutArchive(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let server = Server::over(Arc::new(store), clock);
    server.namespace("a").await;
    server.create("a", "m", &[]).await;
    for path in [
        format!("{MAPS}?asOf=1"),
        format!("{MAPS}/m?asOf=1"),
        format!("{MAPS}?watch=1&asOf=1"),
        format!("{MAPS}/m?history=true"),
        format!("{MAPS}/m?blame=true"),
        "/past".to_owned(),
        "/past/changes".to_owned(),
    ] {
        let expect = (400, "this server keeps no archive of the past".to_owned());
        assert_eq!(refusal(&server, &path).await, expect, "{path}");
    }
    let refused = server.get("/past/changes?refused=true").await;
    assert_eq!(refused.status, 200, "{}", refused.text());
}
