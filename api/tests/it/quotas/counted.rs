//! What ResourceQuotas count, and which pods their scopes choose.

use serde_json::{Value, json};

use super::{PODS, QUOTAS, SERVICES, container, made, patch, post, refused, used, with_quota};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/a/deployments";
const CLAIMS: &str = "/api/v1/namespaces/a/persistentvolumeclaims";

#[tokio::test]
async fn scopes_choose_pods() {
    let server = with_quota(json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})).await;
    made(&post(&server, PODS, "a", container(json!({}))).await);
    let why = "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    refused(&post(&server, PODS, "b", container(json!({}))).await, why);
    made(&post(&server, PODS, "b", container(json!({"requests": {"cpu": "1"}}))).await);
    made(
        &post(&server, QUOTAS, "late", json!({"hard": {"pods": "0"}, "scopes": ["Terminating"]}))
            .await,
    );
    let why = "pods \"b\" is forbidden: exceeded quota: late, requested: pods=1, used: pods=0, limited: pods=0";
    refused(
        &patch(&server, &format!("{PODS}/b"), json!({"spec": {"activeDeadlineSeconds": 60}})).await,
        why,
    );
    made(&patch(&server, &format!("{PODS}/b"), json!({"metadata": {"labels": {"x": "1"}}})).await);
}

#[tokio::test]
async fn a_pod_at_a_gate_does_not_come_to_reach_into_other_namespaces() {
    let server =
        with_quota(json!({"hard": {"pods": "0"}, "scopes": ["CrossNamespacePodAffinity"]})).await;
    let term = json!({"topologyKey": "k", "namespaces": ["b"]});
    let near = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    let mut spec = container(json!({}));
    spec["schedulingGates"] = json!([{"name": "example.com/g"}]);
    made(&post(&server, PODS, "p", spec.clone()).await);
    let pod = format!("{PODS}/p");
    let change = async |affinity: &Value| {
        patch(&server, &pod, json!({"spec": {"affinity": affinity}})).await
    };
    let answer = change(&near).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
    let node =
        json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]});
    made(
        &change(&json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node}}))
            .await,
    );
    spec["affinity"] = near;
    let why = "pods \"r\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0";
    refused(&post(&server, PODS, "r", spec).await, why);
}

#[tokio::test]
async fn pods_must_say_what_is_counted() {
    let server =
        with_quota(json!({"hard": {"cpu": "1", "limits.memory": "1Gi", "pods": "9"}})).await;
    let why =
        "pods \"a\" is forbidden: failed quota: q: must specify cpu for: c; limits.memory for: c";
    refused(&post(&server, PODS, "a", container(json!({}))).await, why);
    let resources = json!({"requests": {"cpu": "600m"}, "limits": {"memory": "256Mi"}});
    made(&post(&server, PODS, "a", container(resources.clone())).await);
    assert_eq!(used(&server).await, json!({"cpu": "600m", "limits.memory": "256Mi", "pods": "1"}));
    let why = "pods \"b\" is forbidden: exceeded quota: q, requested: cpu=600m, used: cpu=600m, limited: cpu=1";
    refused(&post(&server, PODS, "b", container(resources)).await, why);
}

#[tokio::test]
async fn services_claims_and_other_objects() {
    let of_gold = "gold.storageclass.storage.svc.io/requests.storage";
    let hard = json!({"services": "1", "services.nodeports": "1", "requests.storage": "5Gi", of_gold: "2Gi",
        "count/deployments.apps": "0"});
    let server = with_quota(json!({ "hard": hard })).await;
    server.range().await;
    made(
        &post(
            &server,
            SERVICES,
            "s",
            json!({"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}),
        )
        .await,
    );
    let change =
        async |spec: Value| patch(&server, &format!("{SERVICES}/s"), json!({ "spec": spec })).await;
    let why = "services \"s\" is forbidden: exceeded quota: q, \
               requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1";
    refused(&change(json!({"type": "NodePort"})).await, why);
    made(&change(json!({"type": "NodePort", "ports": [{"port": 80}]})).await);
    assert_eq!(used(&server).await["services.nodeports"], "1");
    assert_eq!(post(&server, SERVICES, "t", json!({"ports": [{"port": 80}]})).await.status, 403);

    let claim = |class: &str, size: &str| json!({"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": size}}});
    made(&post(&server, CLAIMS, "a", claim("gold", "1Gi")).await);
    let why = format!(
        "persistentvolumeclaims \"b\" is forbidden: exceeded quota: q, \
         requested: {of_gold}=2Gi, used: {of_gold}=1Gi, limited: {of_gold}=2Gi"
    );
    refused(&post(&server, CLAIMS, "b", claim("gold", "2Gi")).await, &why);
    made(&post(&server, CLAIMS, "b", claim("silver", "2Gi")).await);
    let known = used(&server).await;
    assert_eq!((&known["requests.storage"], &known[of_gold]), (&json!("3Gi"), &json!("1Gi")));

    let labels = json!({"app": "d"});
    let template = json!({"metadata": {"labels": labels}, "spec": container(json!({}))});
    let deployment = json!({"selector": {"matchLabels": labels}, "template": template});
    let why = "deployments.apps \"d\" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, \
               used: count/deployments.apps=0, limited: count/deployments.apps=0";
    refused(&post(&server, DEPLOYMENTS, "d", deployment).await, why);
}
