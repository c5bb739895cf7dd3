//! Admission of pods, claims and Ingresses over HTTP: defaults and refusals from priority classes,
//! runtime classes, service accounts and default classes. The refusals are those that a
//! release-1.35 server gives.

mod default_classes;
mod service_accounts;

use http::Method;
use quorate_meta::Naming;
use quorate_store::Retention;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const PODS: &str = "/api/v1/namespaces/a/pods";
const ACCOUNTS: &str = "/api/v1/namespaces/a/serviceaccounts";
const PRIORITIES: &str = "/apis/scheduling.svc.io/v1/priorityclasses";
const RUNTIMES: &str = "/apis/node.svc.io/v1/runtimeclasses";
const CLAIMS: &str = "/api/v1/namespaces/a/persistentvolumeclaims";
const STORAGE: &str = "/apis/storage.svc.io/v1/storageclasses";
const INGRESSES: &str = "/apis/networking.svc.io/v1/namespaces/a/ingresses";
const INGRESS_CLASSES: &str = "/apis/networking.svc.io/v1/ingressclasses";
const MERGE: &str = "application/merge-patch+json";

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    server.send(Method::POST, path, &[], body.to_string()).await
}

async fn make(server: &Server, path: &str, body: Value) -> Value {
    let answer = post(server, path, &body).await;
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
    answer.json()
}

async fn merge(server: &Server, path: &str, change: Value) -> Answer {
    server.send(Method::PATCH, path, &[("content-type", MERGE)], change.to_string()).await
}

#[track_caller]
fn refused(answer: &Answer, plural: &str, name: &str, why: &str) {
    let body = answer.json();
    let message = format!("{plural} \"{name}\" is forbidden: {why}");
    assert_eq!(
        (answer.status.as_u16(), &body["reason"], &body["message"]),
        (403, &json!("Forbidden"), &json!(message))
    );
    assert_eq!(body["details"]["name"], name);
}

/// A pod that mounts no token, with this in its specification.
fn pod(name: &str, spec: Value) -> Value {
    let mut pod = mounting(name, spec);
    pod["spec"]["automountServiceAccountToken"] = json!(false);
    pod
}

/// A pod that says nothing of tokens.
fn mounting(name: &str, spec: Value) -> Value {
    let mut whole = json!({"containers": [{"name": "c", "image": "i"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({"metadata": {"name": name}, "spec": whole})
}

fn class(name: &str, fields: Value) -> Value {
    let mut class = json!({"metadata": {"name": name}});
    class.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    class
}

#[tokio::test]
async fn pods_have_the_priority_of_their_class() {
    let server = Server::for_pods().await;
    make(&server, PRIORITIES, class("calm", json!({"value": 4000, "preemptionPolicy": "Never"})))
        .await;
    let ranked = async |name: &str, spec: Value| {
        let spec = make(&server, PODS, pod(name, spec)).await["spec"].clone();
        [&spec["priorityClassName"], &spec["priority"], &spec["preemptionPolicy"]].map(Value::clone)
    };
    let calm = [json!("calm"), json!(4000), json!("Never")];
    let plain = [json!(null), json!(0), json!("PreemptLowerPriority")];
    assert_eq!(ranked("a", json!({"priorityClassName": "calm"})).await, calm);
    assert_eq!(ranked("b", json!({})).await, plain);
    assert_eq!(ranked("c", json!({"priority": 0})).await, plain);
    let refuse = async |spec: Value, why: &str| {
        refused(&post(&server, PODS, &pod("r", spec)).await, "pods", "r", why)
    };
    refuse(
        json!({"priorityClassName": "there-is-none"}),
        "no PriorityClass with name there-is-none was found",
    )
    .await;
    let why = "the integer value of priority (7) must not be provided in pod spec; \
               priority admission controller computed 0 from the given PriorityClass name";
    refuse(json!({"priority": 7}), why).await;
    let why = "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; \
               priority admission controller computed Never from the given PriorityClass name";
    refuse(json!({"priorityClassName": "calm", "preemptionPolicy": "PreemptLowerPriority"}), why)
        .await;

    make(&server, PRIORITIES, class("usual", json!({"value": 10, "globalDefault": true}))).await;
    let usual = [json!("usual"), json!(10), json!("PreemptLowerPriority")];
    assert_eq!(ranked("d", json!({})).await, usual);
    assert_eq!(ranked("e", json!({"priorityClassName": "calm"})).await, calm);
    let owners =
        make(&server, PODS, pod("f", json!({}))).await["metadata"]["managedFields"].to_string();
    assert!(
        !owners.contains("f:priority") && !owners.contains("f:serviceAccount"),
        "owned by nobody: {owners}"
    );
}

#[tokio::test]
async fn one_priority_class_is_the_default() {
    let server = Server::for_pods().await;
    let plural = "priorityclasses.scheduling.svc.io";
    let why = "PriorityClass first is already marked as default. Only one default can exist";
    make(&server, PRIORITIES, class("first", json!({"value": 1, "globalDefault": true}))).await;
    let second = class("second", json!({"value": 2, "globalDefault": true}));
    refused(&post(&server, PRIORITIES, &second).await, plural, "second", why);
    make(&server, PRIORITIES, class("second", json!({"value": 2}))).await;
    let path = |name: &str| format!("{PRIORITIES}/{name}");
    refused(
        &merge(&server, &path("second"), json!({"globalDefault": true})).await,
        plural,
        "second",
        why,
    );
    assert_eq!(merge(&server, &path("first"), json!({"description": "words"})).await.status, 200);
    assert_eq!(merge(&server, &path("first"), json!({"globalDefault": false})).await.status, 200);
    assert_eq!(merge(&server, &path("second"), json!({"globalDefault": true})).await.status, 200);
}

#[tokio::test]
async fn pods_take_from_their_runtime_class() {
    let server = Server::for_pods().await;
    let scheduling =
        json!({"nodeSelector": {"kind": "x"}, "tolerations": [{"key": "k", "operator": "Exists"}]});
    let fields = json!({"handler": "runc", "overhead": {"podFixed": {"cpu": "250m"}}, "scheduling": scheduling});
    make(&server, RUNTIMES, class("boxed", fields)).await;
    make(&server, RUNTIMES, class("plain", json!({"handler": "runc"}))).await;
    let spec = json!({"runtimeClassName": "boxed", "nodeSelector": {"disk": "ssd"}});
    let spec = make(&server, PODS, pod("p", spec)).await["spec"].clone();
    assert_eq!(spec["overhead"], json!({"cpu": "250m"}));
    assert_eq!(spec["nodeSelector"], json!({"disk": "ssd", "kind": "x"}));
    let keys = |spec: &Value| -> Vec<Value> {
        spec["tolerations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|toleration| toleration["key"].clone())
            .collect()
    };
    assert_eq!(keys(&spec), ["node.svc.io/not-ready", "node.svc.io/unreachable", "k"]);
    let spec =
        make(&server, PODS, pod("q", json!({"runtimeClassName": "plain"}))).await["spec"].clone();
    assert_eq!((&spec["overhead"], keys(&spec).len()), (&json!(null), 2));

    let refuse = async |spec: Value, why: &str| {
        refused(&post(&server, PODS, &pod("r", spec)).await, "pods", "r", why)
    };
    let none = json!({"runtimeClassName": "there-is-none"});
    refuse(none, "pod rejected: RuntimeClass \"there-is-none\" not found").await;
    let other = json!({"runtimeClassName": "boxed", "overhead": {"cpu": "1"}});
    refuse(other, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        .await;
    let elsewhere = json!({"runtimeClassName": "boxed", "nodeSelector": {"kind": "y"}});
    let why =
        "conflict: runtimeClass.scheduling.nodeSelector[kind] = x; pod.spec.nodeSelector[kind] = y";
    refuse(elsewhere, why).await;
    for mut spec in [json!({}), json!({"runtimeClassName": "plain"})] {
        spec["overhead"] = json!({"cpu": "1"});
        refuse(
            spec,
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        )
        .await;
    }
}

#[tokio::test]
async fn pods_of_nodes_are_left_alone() {
    let server = Server::for_pods().await;
    let mirror = |spec: Value| {
        let mut pod = mounting("m", spec);
        pod["spec"]["nodeName"] = json!("n");
        pod["metadata"]["annotations"] = json!({"svc.io/config.mirror": "x"});
        pod
    };
    for (spec, why) in [
        (
            json!({"serviceAccountName": "default"}),
            "a mirror pod may not reference service accounts",
        ),
        (json!({"imagePullSecrets": [{"name": "s"}]}), "a mirror pod may not reference secrets"),
        (
            json!({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ] {
        refused(&post(&server, PODS, &mirror(spec)).await, "pods", "m", why);
    }
    let spec = make(&server, PODS, mirror(json!({}))).await["spec"].clone();
    assert_eq!((&spec["serviceAccountName"], &spec["volumes"]), (&json!(null), &json!(null)));
    let mut other = mounting("o", json!({}));
    other["metadata"]["annotations"] = json!({"example.com/config.mirror": "x"});
    assert_eq!(make(&server, PODS, other).await["spec"]["serviceAccountName"], "default");
}

#[tokio::test]
async fn who_says_nothing_of_a_pods_priority_leaves_it() {
    let server = Server::for_pods().await;
    make(&server, PRIORITIES, class("high", json!({"value": 7, "preemptionPolicy": "Never"})))
        .await;
    let made = make(&server, PODS, pod("p", json!({"priorityClassName": "high"}))).await;
    let mut changed = made.clone();
    changed["metadata"]["labels"] = json!({"a": "b"});
    for field in ["priority", "preemptionPolicy"] {
        changed["spec"].as_object_mut().unwrap().remove(field);
    }
    let put = server.send(Method::PUT, &format!("{PODS}/p"), &[], changed.to_string()).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let body = put.json();
    assert_eq!((&body["spec"], &body["metadata"]["labels"]["a"]), (&made["spec"], &json!("b")));
}

#[tokio::test]
async fn devices_are_for_administrators_where_the_namespace_says_so() {
    let server = Server::for_pods().await;
    let request = json!({"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": true}});
    let spec = json!({"devices": {"requests": [request]}});
    let claim = |name: &str| json!({"metadata": {"name": name}, "spec": spec});
    let template = |name: &str| json!({"metadata": {"name": name}, "spec": {"spec": spec}});
    let group = "/apis/resource.svc.io/v1/namespaces/a";
    let answers = async |name: &str| {
        let claim = post(&server, &format!("{group}/resourceclaims"), &claim(name)).await;
        let template =
            post(&server, &format!("{group}/resourceclaimtemplates"), &template(name)).await;
        [claim, template]
    };
    let why = "admin access to devices requires the `resource.svc.io/admin-access: true` label on the containing namespace";
    for answer in answers("x").await {
        let cause = json!([{"reason": "FieldValueForbidden", "message": format!("Forbidden: {why}"),
            "field": "spec.devices.requests[0].adminAccess"}]);
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["details"]["causes"]),
            (422, &cause),
            "{}",
            answer.text()
        );
    }
    let label = json!({"metadata": {"labels": {"resource.svc.io/admin-access": "true"}}});
    assert_eq!(merge(&server, "/api/v1/namespaces/a", label).await.status, 200);
    for answer in answers("x").await {
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}
