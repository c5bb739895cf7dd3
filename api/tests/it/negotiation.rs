//! Content negotiation of answers: JSON, YAML, tables, metadata only; errors in the requested form;
//! 406.

use http::Method;
use serde_json::json;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const TABLE: &str = "application/json;as=Table;g=meta.svc.io;v=v1";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.svc.io;v=v1";
const PARTIALS: &str = "application/json;as=PartialObjectMetadataList;g=meta.svc.io;v=v1";

async fn server() -> Server {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[("x", "1")]).await;
    server
}

#[tokio::test]
async fn yaml_and_indentation() {
    let server = server().await;
    let yaml = server.get_as(&format!("{MAPS}/m"), "application/yaml").await;
    assert_eq!(yaml.header("content-type"), "application/yaml");
    assert!(yaml.text().lines().any(|line| line == "kind: ConfigMap"), "{}", yaml.text());
    let list = server.get_as(MAPS, "application/yaml").await;
    assert!(list.text().lines().any(|line| line == "kind: ConfigMapList"));
    let missing = server.get_as(&format!("{MAPS}/none"), "application/yaml").await;
    assert_eq!(
        (missing.status.as_u16(), missing.header("content-type")),
        (404, "application/yaml")
    );
    for (query, indented) in [
        ("", false),
        ("?pretty=true", true),
        ("?pretty=1", true),
        ("?pretty=false", false),
        ("?pretty=maybe", false),
    ] {
        let answer = server.get(&format!("{MAPS}/m{query}")).await;
        assert_eq!(answer.text().starts_with("{\n  \""), indented, "{query}");
        assert_eq!(answer.json(), server.get(&format!("{MAPS}/m")).await.json());
    }
    for path in
        ["/version", "/api", "/apis", "/apis/apps", "/api/v1", &format!("{MAPS}/none"), "/none"]
    {
        let indented = server.get(&format!("{path}?pretty=1")).await;
        assert!(indented.text().starts_with("{\n  \""), "{path}: {}", indented.text());
        assert_eq!(indented.json(), server.get(path).await.json(), "{path}");
    }
}

#[tokio::test]
async fn not_acceptable() {
    let server = server().await;
    let check = async |path: &str, accept: &str, status: u16| {
        let answer = server.get_as(path, accept).await;
        assert_eq!(answer.status, status, "{path} as {accept}: {}", answer.text());
        answer
    };
    let answer = check(MAPS, "application/xml", 406).await;
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .starts_with("406: Not Acceptable\n\nAvailable representations: application/json")
    );
    check(&format!("{MAPS}/none"), "application/xml", 406).await;
    check("/api/v1/things", "application/xml", 404).await;
    check(&format!("{MAPS}/m"), "application/vnd.kubernetes.protobuf", 200).await;
    check(&format!("{MAPS}/m"), "application/vnd.kubernetes.protobuf,application/json", 200).await;
    check(&format!("{MAPS}?watch=1&timeoutSeconds=1"), "application/yaml", 406).await;
    check(&format!("{MAPS}?watch=1&timeoutSeconds=1"), "application/json;stream=watch", 200).await;
    let refused =
        "application/json;q=0, application/yaml;q=0, application/vnd.svc.protobuf;q=0, */*";
    check(MAPS, refused, 406).await;
    let other = check(MAPS, "application/json;q=0, */*", 200).await;
    assert_eq!(other.header("content-type"), "application/yaml");
    check("/apis", TABLE, 406).await;
    check(&format!("{MAPS}/m"), PARTIALS, 406).await;
    check(MAPS, PARTIAL, 406).await;
    let put = server.send(Method::PUT, MAPS, &[("accept", "application/xml")], "").await;
    assert_eq!(put.status, 405);
}

#[tokio::test]
async fn tables() {
    let server = server().await;
    server.create("a", "n", &[]).await;
    server.clock.advance(125_000);
    let answer = server.get_as(MAPS, TABLE).await;
    let table = answer.json();
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.svc.io/v1")));
    let columns: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (&c["name"], &c["type"], &c["format"]))
        .collect();
    let (string, none) = (json!("string"), json!(""));
    assert_eq!(
        columns,
        [
            (&json!("Name"), &string, &json!("name")),
            (&json!("Data"), &string, &none),
            (&json!("Age"), &string, &none)
        ]
    );
    let cells: Vec<_> =
        table["rows"].as_array().unwrap().iter().map(|row| row["cells"].clone()).collect();
    assert_eq!(cells, [json!(["m", 1, "2m5s"]), json!(["n", 1, "2m5s"])]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(table["rows"][0]["object"]["metadata"]["labels"], json!({"x": "1"}));
    let one = server
        .get_as(
            &format!("{MAPS}/m?includeObject=Object"),
            "application/json;as=Table;g=meta.k8s.io;v=v1",
        )
        .await
        .json();
    assert_eq!(
        (&one["apiVersion"], &one["rows"][0]["object"]["data"]["k"]),
        (&json!("meta.k8s.io/v1"), &json!("v"))
    );
    let bare = server.get_as(&format!("{MAPS}?includeObject=None&limit=1"), TABLE).await.json();
    assert_eq!(
        (&bare["rows"][0]["object"], &bare["metadata"]["remainingItemCount"]),
        (&json!(null), &json!(1))
    );
    let bad = server.get_as(&format!("{MAPS}?includeObject=Everything"), TABLE).await;
    let text = "Unable to convert to Table as requested: includeObject: Invalid value: \"Everything\": must be 'Metadata', 'Object', 'None', or empty";
    assert_eq!((bad.status.as_u16(), bad.json()["message"].as_str().unwrap()), (400, text));
    let namespaces = server.get_as("/api/v1/namespaces/a", TABLE).await.json();
    assert_eq!(namespaces["rows"][0]["cells"], json!(["a", "Active", "2m5s"]));
}

#[tokio::test]
async fn tables_of_a_watch_bring_columns_once() {
    let server = server().await;
    let mut watch = server.watch_as(&format!("{MAPS}?watch=1"), TABLE).await;
    let first = watch.next().await.unwrap();
    server.create("a", "n", &[]).await;
    let second = watch.next().await.unwrap();
    assert_eq!(first["object"]["columnDefinitions"][0]["name"], "Name");
    assert_eq!(
        (&second["type"], &second["object"]["columnDefinitions"]),
        (&json!("ADDED"), &json!(null))
    );
    assert_eq!(second["object"]["rows"][0]["cells"][0], "n");
}

#[tokio::test]
async fn metadata_only() {
    let server = server().await;
    let whole = server.get(&format!("{MAPS}/m")).await.json();
    let part = server.get_as(&format!("{MAPS}/m"), PARTIAL).await.json();
    let expect = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.svc.io/v1", "metadata": whole["metadata"]});
    assert_eq!(part, expect);
    let list = server.get_as(MAPS, PARTIALS).await.json();
    assert_eq!((&list["kind"], &list["items"][0]), (&json!("PartialObjectMetadataList"), &expect));
    let mut watch = server.watch_as(&format!("{MAPS}?watch=1"), PARTIAL).await;
    assert_eq!(watch.next().await.unwrap()["object"], expect);
    let text = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)";
    assert_eq!(server.get_as(MAPS, PARTIAL).await.json()["message"], text);
}

#[tokio::test]
async fn several_accept_headers_are_one() {
    let server = server().await;
    let headers = [("accept", "application/xml"), ("accept", "application/yaml")];
    let answer = server.send(Method::GET, MAPS, &headers, "").await;
    assert_eq!(answer.header("content-type"), "application/yaml");
}

#[tokio::test]
async fn long_lists_in_forms_for_people() {
    let server = Server::with_namespace().await;
    let check = async |path: &str| {
        let plain = server.get(path).await;
        let yaml = server.get_as(path, "application/yaml").await;
        assert_eq!(yaml.header("content-type"), "application/yaml");
        let (value, _) =
            quorate_wire::yaml::parse(&yaml.body).unwrap_or_else(|error| panic!("{error}"));
        let read: serde_json::Value =
            serde_json::from_slice(&quorate_wire::json::to_vec(&value)).unwrap();
        assert_eq!(read, plain.json(), "{path}");
        let pretty = server
            .get(&format!("{path}{}pretty=1", if path.contains('?') { "&" } else { "?" }))
            .await;
        assert!(
            pretty.text().starts_with("{\n  \"kind\": \"ConfigMapList\",\n")
                && pretty.text().ends_with("\n}\n")
        );
        assert_eq!(pretty.json(), plain.json(), "{path}");
        plain.body.len()
    };
    check(MAPS).await;
    let lines = "line: [one]\n\n  - two \\ \"three\"\n".repeat(400);
    for number in 0..40 {
        let body = json!({"metadata": {"name": format!("m{number:02}")}, "data": {"k": lines, "l": "{,}"}});
        assert_eq!(server.send(Method::POST, MAPS, &[], body.to_string()).await.status, 201);
    }
    // Several buffers.
    assert!(check(MAPS).await > 400_000);
    check(&format!("{MAPS}?limit=1")).await;
    check(&format!("{MAPS}?labelSelector=none")).await;
    let accept = "application/yaml;as=Table;g=meta.svc.io;v=v1";
    let table = server.get_as(MAPS, accept).await;
    let (table, _) = quorate_wire::yaml::parse(&table.body).unwrap();
    assert_eq!(table.get("rows").and_then(|rows| rows.as_list()).unwrap().len(), 40);
    let gzip = server
        .send(Method::GET, MAPS, &[("accept", "application/yaml"), ("accept-encoding", "gzip")], "")
        .await;
    assert_eq!(gzip.header("content-encoding"), "gzip");
}

#[tokio::test]
async fn media_types_have_no_case() {
    let server = server().await;
    let yaml = server.get_as(&format!("{MAPS}/m"), "Application/YAML").await;
    assert_eq!(yaml.header("content-type"), "application/yaml");
    let body = "metadata: {name: other}\n";
    let headers = [("content-type", "Application/Yaml; charset=utf-8")];
    assert_eq!(server.send(Method::POST, MAPS, &headers, body).await.status, 201);
    let pretty = server.get_as(&format!("{MAPS}/m"), "application/json;pretty=1").await;
    assert!(pretty.text().starts_with("{\n  \""));
}
