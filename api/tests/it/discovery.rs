//! Discovery: groups, versions, resources, schemas.

use http::Method;
use serde_json::{Value, json};

use crate::harness::Server;

const ALL: &str = "application/json;as=APIGroupDiscoveryList;g=apidiscovery.svc.io;v=v2";

#[tokio::test]
async fn the_plain_lists() {
    let server = Server::new();
    for path in ["/api", "/api/"] {
        let body = server.get(path).await.json();
        assert_eq!((&body["kind"], &body["versions"]), (&json!("APIVersions"), &json!(["v1"])));
        let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]);
        assert_eq!(body["serverAddressByClientCIDRs"], addresses);
    }
    let groups = server.get("/apis").await.json();
    assert_eq!((&groups["kind"], &groups["apiVersion"]), (&json!("APIGroupList"), &json!("v1")));
    let preferred = json!({"groupVersion": "apps/v1", "version": "v1"});
    assert!(groups["groups"].as_array().unwrap().contains(
        &json!({"name": "apps", "versions": [&preferred], "preferredVersion": &preferred})
    ));
    for path in [
        "/api/v2",
        "/apis/v1",
        "/apis/events.svc.io/v9",
        "/apis/extensions",
        // The core group has no name and no place below `/apis`.
        "/apis//v1",
        "/apis//v1/",
        "/apis//v1/configmaps",
        "/apis//",
        "/api//",
    ] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
    assert_eq!(
        server.get_as("/api/v1", "application/yaml").await.header("content-type"),
        "application/yaml"
    );
}

#[tokio::test]
async fn the_resources_of_a_version() {
    let body = Server::new().get("/api/v1").await.json();
    assert_eq!(body["groupVersion"], "v1");
    let entries = body["resources"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let place = |name: &str| {
        names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("no {name}"))
    };
    for name in [
        "configmaps",
        "events",
        "namespaces/finalize",
        "namespaces/status",
        "secrets",
        "serviceaccounts",
    ] {
        place(name);
    }
    let mut namespaces = entries[place("namespaces")].clone();
    assert!(namespaces.as_object_mut().unwrap().remove("storageVersionHash").is_some());
    let verbs = json!(["create", "delete", "get", "list", "patch", "update", "watch"]);
    let expect = json!({"name": "namespaces", "singularName": "namespace", "namespaced": false, "kind": "Namespace", "verbs": verbs, "shortNames": ["ns"]});
    assert_eq!(namespaces, expect);
}

#[tokio::test]
async fn everything_at_once() {
    let server = Server::new();
    let answer = server.get_as("/apis", &format!("{ALL},application/json")).await;
    assert_eq!(
        answer.header("content-type"),
        "application/json;g=apidiscovery.svc.io;v=v2;as=APIGroupDiscoveryList"
    );
    assert_eq!((answer.header("vary"), answer.header("cache-control")), ("Accept", "public"));
    let body = answer.json();
    assert_eq!(
        (&body["kind"], &body["apiVersion"]),
        (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.svc.io/v2"))
    );
    let core = server.get_as("/api", ALL).await.json();
    let resources = core["items"][0]["versions"][0]["resources"].as_array().unwrap();
    let maps = resources.iter().find(|resource| resource["resource"] == "configmaps").unwrap();
    assert_eq!(maps["scope"], "Namespaced");
    assert_eq!(maps["responseKind"], json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
    let alias = server.get_as("/api", &ALL.replace("svc.io", "k8s.io")).await;
    assert_eq!(alias.json()["apiVersion"], "apidiscovery.k8s.io/v2");
    for version in ["v2beta1", "v3"] {
        let asked = ALL.replace("v2", version);
        assert_eq!(server.get_as("/apis", &asked).await.status, 406, "{version}");
        let plain = server.get_as("/apis", &format!("{asked},application/json")).await;
        assert_eq!(plain.json()["kind"], "APIGroupList", "{version}");
    }
    assert_eq!(server.get_as("/api/v1", ALL).await.status, 406);
    for media in ["application/yaml", "application/vnd.svc.protobuf"] {
        let answer = server.get_as("/apis", &ALL.replace("application/json", media)).await;
        let expect = format!("{media};g=apidiscovery.svc.io;v=v2;as=APIGroupDiscoveryList");
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, expect.as_str()));
        assert!(
            String::from_utf8_lossy(&answer.body).contains("certificatesigningrequests"),
            "{media}"
        );
    }
    let tag = answer.header("etag");
    let again =
        server.send(Method::GET, "/apis", &[("accept", ALL), ("if-none-match", tag)], "").await;
    assert_eq!((again.status.as_u16(), again.body.len(), again.header("etag")), (304, 0, tag));
    assert_eq!(again.header("cache-control"), "public");
}

/// The resources of a list that are in categories, each with these.
fn categories(resources: &Value, name: &str) -> Vec<String> {
    let resources =
        resources.as_array().unwrap().iter().filter(|resource| !resource["categories"].is_null());
    resources
        .map(|resource| format!("{} {}", resource[name].as_str().unwrap(), resource["categories"]))
        .collect()
}

#[tokio::test]
async fn resources_say_their_categories() {
    let server = Server::new();
    let (core, groups) =
        (server.get_as("/api", ALL).await.json(), server.get_as("/apis", ALL).await.json());
    let check = async |path: &str, category: &str, expect: &[&str]| {
        let expect: Vec<String> =
            expect.iter().map(|name| format!("{name} [\"{category}\"]")).collect();
        assert_eq!(
            categories(&server.get(path).await.json()["resources"], "name"),
            expect,
            "{path}"
        );
        let (group, version) = path.rsplit_once('/').unwrap();
        let (items, group) = match group.strip_prefix("/apis/") {
            Some(group) => (&groups["items"], Some(group)),
            None => (&core["items"], None),
        };
        let items = items.as_array().unwrap();
        let item = items
            .iter()
            .find(|item| item["metadata"]["name"].as_str() == group)
            .expect("the group");
        let versions = item["versions"].as_array().unwrap();
        let entry = versions.iter().find(|entry| entry["version"] == version).expect("the version");
        assert_eq!(categories(&entry["resources"], "resource"), expect, "{path}, aggregated");
    };
    check("/api/v1", "all", &["pods", "replicationcontrollers", "services"]).await;
    check("/apis/apps/v1", "all", &["daemonsets", "deployments", "replicasets", "statefulsets"])
        .await;
    check("/apis/autoscaling/v1", "all", &["horizontalpodautoscalers"]).await;
    check("/apis/autoscaling/v2", "all", &["horizontalpodautoscalers"]).await;
    check("/apis/batch/v1", "all", &["cronjobs", "jobs"]).await;
    check("/apis/rbac.authorization.svc.io/v1", "all", &[]).await;
    let admission = [
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ];
    check("/apis/admissionregistration.svc.io/v1", "api-extensions", &admission).await;
}

#[tokio::test]
async fn plain_lists_have_no_etag() {
    let server = Server::new();
    let check = async |path: &str, kind: &str| {
        let answer = server.send(Method::GET, path, &[("if-none-match", "*")], "").await;
        assert_eq!((answer.status.as_u16(), answer.header("etag")), (200, ""), "{path}");
        assert_eq!(answer.header("cache-control"), "no-cache, private", "{path}");
        assert_eq!(answer.json()["kind"], kind, "{path}");
    };
    check("/api", "APIVersions").await;
    check("/apis", "APIGroupList").await;
    check("/apis/apps", "APIGroup").await;
    check("/api/v1", "APIResourceList").await;
}

#[tokio::test]
async fn the_index_names_paths_that_are_served() {
    let server = Server::new();
    let index = server.get("/").await.json();
    let paths: Vec<&str> =
        index["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    for path in [
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/livez/ping",
        "/readyz/shutdown",
        "/healthz",
        "/version",
    ] {
        assert!(paths.contains(&path), "{path}");
    }
    for path in paths {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    assert_eq!(server.send(Method::POST, "/", &[], "{}").await.status, 405);
}

#[tokio::test]
async fn version() {
    let body = Server::new().get("/version").await.json();
    assert_eq!(
        (&body["major"], &body["minor"], &body["gitVersion"]),
        (&json!("1"), &json!("35"), &json!("v1.35.0+test"))
    );
}

#[tokio::test]
async fn schemas_have_urls_that_never_change() {
    let server = Server::new();
    let index = server.get("/openapi/v3").await.json();
    for path in ["api", "api/v1", "apis", "version"] {
        assert!(index["paths"][path].is_object(), "{path}");
    }
    let url = index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap();
    let (path, hash) = url.split_once("?hash=").unwrap();
    let answer = server.get(url).await;
    assert_eq!(answer.header("etag"), format!("\"{hash}\""));
    assert!(answer.header("cache-control").contains("immutable"));
    assert!(answer.json()["openapi"].as_str().unwrap().starts_with("3."));
    assert!(!server.get(path).await.header("cache-control").contains("immutable"));
    let moved = server.get(&format!("{path}?hash=ABC")).await;
    assert_eq!((moved.status.as_u16(), moved.header("location")), (301, url));
    let tag = answer.header("etag");
    let same = server.send(Method::GET, url, &[("if-none-match", tag)], "").await;
    assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
    assert_eq!(server.get("/openapi/v3/apis/no-such.example.com/v1").await.status, 404);
    assert_eq!(server.get_as(url, "application/xml").await.status, 406);
    assert_eq!(server.get("/openapi/v2").await.json()["swagger"], "2.0");
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let whole = server.get_as("/openapi/v2", protobuf).await;
    let media = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_eq!((whole.status.as_u16(), whole.header("content-type")), (200, media));
    assert!(whole.body.starts_with(b"\x0a\x032.0"), "the version comes first");
    assert_eq!(server.get_as(url, protobuf).await.status, 406);
    for (owner, asked) in
        [("github", "v3@v1.0"), ("github", "v3.v1.0"), ("svc", "v3@v1.0"), ("svc", "v3.v1.0")]
    {
        let asked = format!("application/com.{owner}.proto-openapi.spec.{asked}+protobuf");
        let part = server.get_as(url, &asked).await;
        let media = format!("application/com.{owner}.proto-openapi.spec.v3.v1.0+protobuf");
        let media = media.as_str();
        assert_eq!((part.status.as_u16(), part.header("content-type")), (200, media));
        assert!(part.header("cache-control").contains("immutable"));
        assert_ne!(part.header("etag"), tag, "another form has other bytes");
        assert_eq!(server.get_as("/openapi/v2", &asked).await.status, 406);
    }
    for asked in
        [protobuf, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", "application/xml"]
    {
        let answer = server.get_as("/openapi/v3", asked).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (200, "application/json"),
            "{asked}"
        );
        assert_eq!(answer.json(), index);
    }
}

#[tokio::test]
async fn schemas_come_in_no_form_that_is_refused() {
    let server = Server::new();
    let check = async |path: &str, accept: &str, expect: &str| {
        let answer = server.get_as(path, accept).await;
        let got = if answer.status == 200 {
            answer.header("content-type")
        } else {
            answer.status.as_str()
        };
        assert_eq!(got, expect, "{path} as {accept}");
    };
    for (path, version) in [("/openapi/v2", "v2"), ("/openapi/v3/version", "v3")] {
        let first = format!("application/com.github.proto-openapi.spec.{version}@v1.0+protobuf");
        let usual = format!("application/com.github.proto-openapi.spec.{version}.v1.0+protobuf");
        check(path, &format!("{first};q=0"), "406").await;
        check(path, &format!("{first};q=0, application/json;q=0.1"), "application/json").await;
        check(path, &format!("{first};q=0.1, application/json"), "application/json").await;
        check(path, &format!("{first}, application/json;q=0.9"), &usual).await;
        check(path, "application/json;q=0, */*", &usual).await;
    }
}
