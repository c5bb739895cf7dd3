//! Controllers of the leader: initial objects, the API's own service, namespaces, events, token
//! secrets.

mod token_secrets;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use quorate_access::authentication::token::{
    Issue, KeyMaterial, KeySet, ObjectIdentity, ServiceAccountTokens, TokenOptions,
};
use quorate_controllers::{Controllers, ControllersHandle, ControllersOptions};
use quorate_meta::Naming;
use quorate_store::{Operation, Txn};
use serde_json::{Value, json};

use crate::harness::{ISSUER, START_MS, Server};

const LIFETIME: Duration = Duration::from_secs(6);
/// Steps of 20 ms (of paused time, in some tests) that a controller may take.
const PATIENCE_STEPS: usize = 2000;

/// A server whose controllers run until the handle is dropped or stopped.
pub(crate) fn start() -> (Server, ControllersHandle) {
    let server = Server::new();
    let controllers = run(&server);
    (server, controllers)
}

/// Runs the controllers of a server.
pub(crate) fn run(server: &Server) -> ControllersHandle {
    let options = ControllersOptions {
        cluster: server.api.cluster(),
        root_ca: "PEM".into(),
        event_lifetime: LIFETIME,
        signing: None,
        api_port: 6443,
        api_servers: Arc::new(vec![
            SocketAddr::from(([10, 0, 0, 7], 6443)),
            SocketAddr::from(([127, 0, 0, 1], 6443)),
        ]),
    };
    let (controllers, handle) = Controllers::new(options);
    tokio::spawn(controllers.run());
    handle
}

/// Waits until a GET answers with this code; gives its body.
pub(crate) async fn until(server: &Server, path: &str, status: u16) -> Value {
    until_body(server, path, |code, _| code == status).await
}

pub(crate) async fn until_body(
    server: &Server,
    path: &str,
    accept: impl Fn(u16, &Value) -> bool,
) -> Value {
    let mut answer = server.get(path).await;
    for _ in 0..PATIENCE_STEPS {
        if accept(answer.status.as_u16(), &answer.json()) {
            return answer.json();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        answer = server.get(path).await;
    }
    panic!("{path} stays {}", answer.text());
}

pub(crate) async fn send(server: &Server, method: Method, path: &str, body: Value) -> u16 {
    server.send(method, path, &[], &body.to_string()).await.status.as_u16()
}

#[tokio::test]
async fn every_cluster_has_its_namespaces_and_every_namespace_its_account() {
    let (server, _controllers) = start();
    for name in ["default", "svc-system", "svc-public", "svc-node-lease"] {
        until(&server, &format!("/api/v1/namespaces/{name}"), 200).await;
        until(&server, &format!("/api/v1/namespaces/{name}/serviceaccounts/default"), 200).await;
    }
    server.namespace("a").await;
    let account = "/api/v1/namespaces/a/serviceaccounts/default";
    let first = until(&server, account, 200).await["metadata"]["uid"].clone();
    assert_eq!(send(&server, Method::DELETE, account, json!({})).await, 200);
    until_body(&server, account, |code, body| code == 200 && body["metadata"]["uid"] != first)
        .await;
    let map = "/api/v1/namespaces/a/configmaps/svc-root-ca.crt";
    assert_eq!(until(&server, map, 200).await["data"], json!({"ca.crt": "PEM"}));
    let changed = json!({"metadata": {"name": "svc-root-ca.crt", "labels": {"mine": ""}}, "data": {"ca.crt": "other"}});
    assert_eq!(send(&server, Method::PUT, map, changed).await, 200);
    let restored = until_body(&server, map, |_, body| body["data"]["ca.crt"] == "PEM").await;
    assert_eq!(
        restored["metadata"]["labels"],
        json!({"mine": ""}),
        "what is not the controller's stays"
    );
}

#[tokio::test]
async fn every_cluster_has_its_own_objects() {
    let (server, _controllers) = start();
    let service = until(&server, "/api/v1/namespaces/default/services/svc", 200).await;
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.1");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 6443);
    let address = until(&server, "/apis/networking.svc.io/v1/ipaddresses/10.96.0.1", 200).await;
    assert_eq!(
        address["spec"]["parentRef"],
        json!({"resource": "services", "namespace": "default", "name": "svc"})
    );
    let flow = "/apis/flowcontrol.apiserver.svc.io/v1";
    let paths = [
        "/apis/scheduling.svc.io/v1/priorityclasses/system-node-critical".to_owned(),
        "/apis/networking.svc.io/v1/servicecidrs/svc".to_owned(),
        "/apis/apiregistration.svc.io/v1/apiservices/v1.".to_owned(),
        "/apis/apiregistration.svc.io/v1/apiservices/v1.storage.svc.io".to_owned(),
        format!("{flow}/prioritylevelconfigurations/exempt"),
        format!("{flow}/flowschemas/svc-system-service-accounts"),
    ];
    for path in &paths {
        until(&server, path, 200).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_came_before_the_range_is_made_after_it_beside_the_apis_own() {
    let server = Server::with_namespace().await;
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    assert_eq!(
        send(&server, Method::POST, "/api/v1/namespaces/a/services", service.clone()).await,
        500
    );
    let _controllers = server.defaults().await;
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces/a/services", service).await, 201);
    let own = until(&server, "/api/v1/namespaces/default/services/svc", 200).await;
    assert_eq!(own["spec"]["clusterIP"], "10.96.0.1");
}

#[tokio::test(start_paused = true)]
async fn the_service_of_the_api_leads_to_every_member_that_others_reach() {
    let (server, _controllers) = start();
    let endpoints = until(&server, "/api/v1/namespaces/default/endpoints/svc", 200).await;
    let expect = json!([{"addresses": [{"ip": "10.0.0.7"}], "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}]);
    assert_eq!(endpoints["subsets"], expect);
    assert_eq!(
        endpoints["metadata"]["labels"],
        json!({"endpointslice.svc.io/skip-mirror": "true"})
    );
    let path = "/apis/discovery.svc.io/v1/namespaces/default/endpointslices/svc";
    let slice = until(&server, path, 200).await;
    assert_eq!(slice["metadata"]["labels"], json!({"svc.io/service-name": "svc"}));
    assert_eq!(
        slice["endpoints"],
        json!([{"addresses": ["10.0.0.7"], "conditions": {"ready": true}}])
    );
    assert_eq!(send(&server, Method::DELETE, path, json!({})).await, 200);
    let again = until(&server, path, 200).await;
    assert_ne!(again["metadata"]["uid"], slice["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn a_slice_of_another_sort_of_addresses_is_made_anew() {
    let server = Server::new();
    server.namespace("default").await;
    let path = "/apis/discovery.svc.io/v1/namespaces/default/endpointslices";
    let other =
        json!({"metadata": {"name": "svc"}, "addressType": "FQDN", "endpoints": [], "ports": []});
    assert_eq!(send(&server, Method::POST, path, other).await, 201);
    let _controllers = run(&server);
    let slice =
        until_body(&server, &format!("{path}/svc"), |_, body| body["addressType"] == "IPv4").await;
    assert_eq!(
        slice["endpoints"],
        json!([{"addresses": ["10.0.0.7"], "conditions": {"ready": true}}])
    );
}

#[tokio::test(start_paused = true)]
async fn a_range_of_addresses_stays_while_a_service_needs_it() {
    const RANGES: &str = "/apis/networking.svc.io/v1/servicecidrs";
    let (server, _controllers) = start();
    server.namespace("a").await;
    let ready = |status: &'static str| {
        move |_: u16, body: &Value| body["status"]["conditions"][0]["status"] == status
    };
    let own = until_body(&server, &format!("{RANGES}/svc"), ready("True")).await;
    assert_eq!(own["status"]["conditions"][0]["message"], "Kubernetes Service CIDR is ready");
    let more = json!({"metadata": {"name": "more"}, "spec": {"cidrs": ["10.97.0.0/24"]}});
    assert_eq!(send(&server, Method::POST, RANGES, more).await, 201);
    let more = format!("{RANGES}/more");
    let made = until_body(&server, &more, ready("True")).await;
    assert_eq!(made["metadata"]["finalizers"], json!(["networking.svc.io/service-cidr-finalizer"]));
    let service = json!({"metadata": {"name": "s"}, "spec": {"clusterIP": "10.97.0.9", "ports": [{"port": 80}]}});
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces/a/services", service).await, 201);
    assert_eq!(send(&server, Method::DELETE, &more, json!({})).await, 200);
    let held = until_body(&server, &more, ready("False")).await;
    assert_eq!(held["status"]["conditions"][0]["reason"], "Terminating");
    server.clock.advance(60_000);
    assert_eq!(
        send(&server, Method::DELETE, "/api/v1/namespaces/a/services/s", json!({})).await,
        200
    );
    until(&server, &more, 404).await;
}

#[tokio::test(start_paused = true)]
async fn rules_of_aggregated_roles_are_applied() {
    const ROLES: &str = "/apis/rbac.authorization.svc.io/v1/clusterroles";
    let (server, _controllers) = start();
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let part = json!({"metadata": {"name": "part", "labels": {"x": "y"}}, "rules": rules});
    let selectors = json!([{"matchLabels": {"x": "y"}}]);
    let all = json!({"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": selectors}});
    for role in [part, all] {
        assert_eq!(send(&server, Method::POST, ROLES, role).await, 201);
    }
    let own = format!("{ROLES}/all");
    let role = until_body(&server, &own, |_, role| role["rules"] == rules).await;
    let entries = role["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry["manager"] == "clusterrole-aggregation-controller")
        .unwrap_or_else(|| panic!("{entries:?}"));
    assert_eq!(
        (&entry["operation"], &entry["fieldsV1"]),
        (&json!("Apply"), &json!({"f:rules": {}}))
    );
}

#[tokio::test(start_paused = true)]
async fn versions_that_are_left_to_others_are_not_available() {
    const SERVICES: &str = "/apis/apiregistration.svc.io/v1/apiservices";
    let (server, _controllers) = start();
    server.namespace("a").await;
    let reason = |reason: &'static str| {
        move |_: u16, body: &Value| body["status"]["conditions"][0]["reason"] == reason
    };
    let spec = json!({"group": "x.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "insecureSkipTLSVerify": true, "service": {"namespace": "a", "name": "s"}});
    assert_eq!(server.get("/apis/x.example.com/v1/things").await.status, 404);
    let object = json!({"metadata": {"name": "v1.x.example.com"}, "spec": spec});
    assert_eq!(send(&server, Method::POST, SERVICES, object).await, 201);
    let own = format!("{SERVICES}/v1.x.example.com");
    until_body(&server, &own, reason("ServiceNotFound")).await;
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 443}]}});
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces/a/services", service).await, 201);
    until_body(&server, &own, reason("FailedDiscoveryCheck")).await;
    for path in ["/apis/x.example.com/v1", "/apis/x.example.com/v1/namespaces/a/things/t"] {
        assert_eq!(server.get(path).await.status, 503, "{path}");
    }
    assert_eq!(server.get("/apis/x.example.com/v2/things").await.status, 404);
    assert_eq!(server.get("/apis/apps/v1/things").await.status, 404, "this server's own");
    assert_eq!(send(&server, Method::DELETE, &own, json!({})).await, 200);
    assert_eq!(server.get("/apis/x.example.com/v1/things").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_is_emptied_and_goes() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    for name in ["m", "n"] {
        server.create("a", name, &[]).await;
    }
    server.patch("n", json!({"metadata": {"finalizers": ["example.com/f"]}})).await;
    assert_eq!(send(&server, Method::DELETE, "/api/v1/namespaces/a", json!({})).await, 200);
    until(&server, "/api/v1/namespaces/a/configmaps/m", 404).await;
    let held = until_body(&server, "/api/v1/namespaces/a", |_, body| {
        body["status"]["conditions"].is_array()
    })
    .await;
    assert_eq!(held["status"]["phase"], "Terminating");
    let conditions = held["status"]["conditions"].as_array().unwrap();
    let shown: Vec<_> = conditions
        .iter()
        .map(|c| format!("{}={}", c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
        .collect();
    assert!(shown.contains(&"NamespaceFinalizersRemaining=True".to_owned()), "{shown:?}");
    let late = json!({"metadata": {"name": "late"}});
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces/a/configmaps", late).await, 403);
    server.patch("n", json!({"metadata": {"finalizers": null}})).await;
    until(&server, "/api/v1/namespaces/a", 404).await;
    assert_eq!(server.get("/api/v1/namespaces/a/configmaps").await.names().len(), 0);
    server.namespace("a").await;
}

/// Stores something that cannot be read.
async fn damage(server: &Server, key: &'static str) {
    let value = Bytes::from_static(b"\xffnothing that was ever written");
    let operations = vec![Operation::Put { key: Bytes::from_static(key.as_bytes()), value }];
    server
        .api
        .store
        .txn(Txn { conditions: Vec::new(), operations, ..Txn::default() })
        .await
        .unwrap();
}

/// The namespace `a` once its condition about failures has this status and reason; gives its
/// message and the version.
async fn told(server: &Server, status: &str, reason: &str) -> (String, Value) {
    let failure = |body: &Value| {
        let conditions = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions
            .into_iter()
            .find(|c| c["type"] == "NamespaceDeletionContentFailure")
            .unwrap_or_default()
    };
    let is_told = |_: u16, body: &Value| {
        failure(body)["status"] == status && failure(body)["reason"] == reason
    };
    let body = until_body(server, "/api/v1/namespaces/a", is_told).await;
    (
        failure(&body)["message"].as_str().unwrap().to_owned(),
        body["metadata"]["resourceVersion"].clone(),
    )
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_holds_only_itself_in_a_deleted_namespace() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    server.create("a", "good", &[]).await;
    server.create("a", "held", &[]).await;
    server.patch("held", json!({"metadata": {"finalizers": ["example.com/f"]}})).await;
    let (maps, secrets) = ("/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/a/secrets");
    assert_eq!(
        send(&server, Method::POST, secrets, json!({"metadata": {"name": "later"}})).await,
        201
    );
    damage(&server, "o/core/configmaps/a/bad").await;
    damage(&server, "o/core/namespaces/bad").await;
    assert_eq!(send(&server, Method::DELETE, "/api/v1/namespaces/a", json!({})).await, 200);
    until(&server, &format!("{maps}/good"), 404).await;
    until(&server, &format!("{secrets}/later"), 404).await;
    let (message, _) = told(&server, "True", "ContentDeletionFailed").await;
    let begin = "Failed to delete all resource types, 1 remaining: configmaps bad: ";
    assert!(message.starts_with(begin) && message.contains("cannot be read"), "{message}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (_, settled) = told(&server, "True", "ContentDeletionFailed").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let still = told(&server, "True", "ContentDeletionFailed").await;
    assert_eq!(still, (message, settled), "written while nothing changed");
    let forced = json!({"ignoreStoreReadErrorWithClusterBreakingPotential": true});
    assert_eq!(send(&server, Method::DELETE, &format!("{maps}/bad"), forced).await, 200);
    told(&server, "False", "ContentDeleted").await;
    server.patch("held", json!({"metadata": {"finalizers": null}})).await;
    until(&server, "/api/v1/namespaces/a", 404).await;
}

#[tokio::test(start_paused = true)]
async fn events_expire_and_what_is_written_again_lives_on() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let events = "/api/v1/namespaces/a/events";
    for name in ["old", "kept"] {
        let event = json!({"metadata": {"name": name}, "involvedObject": {"namespace": "a"}});
        assert_eq!(send(&server, Method::POST, events, event).await, 201);
    }
    tokio::time::sleep(LIFETIME / 2).await;
    let again =
        json!({"metadata": {"name": "kept"}, "involvedObject": {"namespace": "a"}, "count": 2});
    assert_eq!(send(&server, Method::PUT, &format!("{events}/kept"), again).await, 200);
    until(&server, &format!("{events}/old"), 404).await;
    assert_eq!(server.get(events).await.names(), ["kept"]);
    until(&server, &format!("{events}/kept"), 404).await;
}

#[tokio::test(start_paused = true)]
async fn stopped_controllers_do_nothing() {
    let (server, controllers) = start();
    until(&server, "/api/v1/namespaces/default/serviceaccounts/default", 200).await;
    controllers.stop();
    server.namespace("a").await;
    tokio::time::sleep(10 * LIFETIME).await;
    assert_eq!(server.get("/api/v1/namespaces/a/serviceaccounts/default").await.status, 404);
}
