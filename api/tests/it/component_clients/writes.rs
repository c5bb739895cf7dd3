//! What the components write, as they send it: objects and options in protobuf, patches in JSON.

use http::Method;
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_wire::protobuf::encode;
use serde_json::{Value, json};

use super::{PROTOBUF, start, until_there};
use crate::harness::{Answer, Server};

const MEDIA: &str = "application/vnd.kubernetes.protobuf";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const SYSTEM: &str = "/api/v1/namespaces/kube-system";
const DEFAULT: &str = "/api/v1/namespaces/default";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const APPS: &str = "/apis/apps/v1/namespaces/default";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/// A client that sends what it has as protobuf.
struct Component {
    server: Server,
    graph: Graph,
}

impl Component {
    /// Sends an object of a type with a neutral name; the code has to be this one.
    async fn write(&self, method: &str, path: &str, ty: &str, object: Value, code: u16) -> Answer {
        let ty = self.graph.type_named(ty).unwrap_or_else(|| panic!("no {ty}")).id;
        let mut object = object.into();
        quorate_schema::decode(&self.graph, ty, &mut object).unwrap();
        let body = encode(&self.graph, ty, &object).unwrap();
        self.send(method, path, MEDIA, &body, code).await
    }

    /// Sends a patch.
    async fn patch(&self, path: &str, media: &str, patch: Value) {
        self.send("PATCH", path, media, patch.to_string().as_bytes(), 200).await;
    }

    async fn send(&self, method: &str, path: &str, media: &str, body: &[u8], code: u16) -> Answer {
        let method: Method = method.parse().unwrap();
        let headers = [("accept", PROTOBUF), ("content-type", media)];
        let answer = self.server.send(method.clone(), path, &headers, body).await;
        assert_eq!(answer.status, code, "{method} {path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), MEDIA, "{method} {path}");
        answer
    }

    /// What is stored, in JSON, for a write that is made from it.
    async fn stored(&self, path: &str) -> Value {
        let answer = self.server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        answer.json()
    }
}

async fn component() -> (Component, quorate_controllers::ControllersHandle) {
    let (server, controllers) = start().await;
    until_there(&server, &format!("{DEFAULT}/serviceaccounts/default")).await;
    let graph = Graph::builtin(Naming::Kubernetes.names());
    (Component { server, graph }, controllers)
}

fn pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

#[tokio::test(start_paused = true)]
async fn what_every_component_writes() {
    let (client, _controllers) = component().await;
    // Leader election.
    let time = "2026-01-01T00:00:00.000000Z";
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
        "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 15, "acquireTime": time,
            "renewTime": time, "leaseTransitions": 0},
    });
    client.write("POST", LEASES, "coordination/v1.Lease", lease.clone(), 201).await;
    let path = format!("{LEASES}/kube-scheduler");
    lease["metadata"] = client.stored(&path).await["metadata"].clone();
    lease["spec"]["renewTime"] = json!("2026-01-01T00:00:02.000000Z");
    client.write("PUT", &path, "coordination/v1.Lease", lease.clone(), 200).await;
    client.write("PUT", &path, "coordination/v1.Lease", lease, 409).await;
    // Events, of both groups.
    let involved = json!({"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"});
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "p.1", "namespace": "default"}, "eventTime": time,
        "reportingController": "default-scheduler", "reportingInstance": "default-scheduler-host",
        "action": "Binding", "reason": "Scheduled", "regarding": involved, "note": "n", "type": "Normal",
    });
    client.write("POST", EVENTS, "events/v1.Event", event, 201).await;
    let series = json!({"series": {"count": 2, "lastObservedTime": time}});
    client.patch(&format!("{EVENTS}/p.1"), STRATEGIC, series).await;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "p.2", "namespace": "default"},
        "involvedObject": involved, "reason": "Killing", "message": "m", "type": "Normal", "count": 1,
        "source": {"component": "controllermanager"},
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    client.write("POST", &format!("{DEFAULT}/events"), "core/v1.Event", event, 201).await;
    let again = json!({"count": 2, "lastTimestamp": "2026-01-01T00:01:00Z"});
    client.patch(&format!("{DEFAULT}/events/p.2"), STRATEGIC, again).await;
    // The account of each controller, and its token.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "job-controller"}});
    let accounts = format!("{SYSTEM}/serviceaccounts");
    client.write("POST", &accounts, "core/v1.ServiceAccount", account, 201).await;
    let path = format!("{accounts}/job-controller/token");
    let request = json!({"spec": {"audiences": [], "expirationSeconds": 3600}});
    client.write("POST", &path, "authentication/v1.TokenRequest", request, 201).await;
    // Who asks the component itself, and what they may do.
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = json!({"spec": {"token": "nobody's"}});
    client.write("POST", path, "authentication/v1.TokenReview", review, 201).await;
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let asked = json!({"path": "/metrics", "verb": "get"});
    let review = json!({"spec": {"user": "a", "nonResourceAttributes": asked}});
    client.write("POST", path, "authorization/v1.SubjectAccessReview", review, 201).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_scheduler_writes() {
    let (client, _controllers) = component().await;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    client.write("POST", "/api/v1/nodes", "core/v1.Node", node, 201).await;
    let pods = format!("{DEFAULT}/pods");
    client.write("POST", &pods, "core/v1.Pod", pod("p", &json!({})), 201).await;
    let path = format!("{pods}/p");
    let unschedulable = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": null});
    let status = json!({"status": {"conditions": [unschedulable], "nominatedNodeName": "n",
        "$setElementOrder/conditions": [{"type": "PodScheduled"}]}});
    client.patch(&format!("{path}/status"), STRATEGIC, status).await;
    let uid = client.stored(&path).await["metadata"]["uid"].clone();
    let binding = json!({"apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": "p", "namespace": "default", "uid": uid}, "target": {"kind": "Node", "name": "n"}});
    client.write("POST", &format!("{path}/binding"), "core/v1.Binding", binding.clone(), 201).await;
    client.write("POST", &format!("{path}/binding"), "core/v1.Binding", binding, 409).await;
    assert_eq!(client.stored(&path).await["spec"]["nodeName"], "n");
    // Preemption.
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": null});
    client
        .patch(&format!("{path}/status"), STRATEGIC, json!({"status": {"conditions": [condition]}}))
        .await;
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
    client.write("DELETE", &path, "meta/v1.DeleteOptions", options, 200).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_controllers_of_workloads_write() {
    let (client, _controllers) = component().await;
    let labels = json!({"app": "a"});
    let template = json!({"metadata": {"labels": labels}, "spec": pod("", &labels)["spec"]});
    let workload = |kind: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w", "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        })
    };
    for (kind, plural) in
        [("Deployment", "deployments"), ("ReplicaSet", "replicasets"), ("DaemonSet", "daemonsets")]
    {
        let ty = format!("apps/v1.{kind}");
        let base = format!("{APPS}/{plural}");
        client.write("POST", &base, &ty, workload(kind), 201).await;
        let mut stored = client.stored(&format!("{base}/w")).await;
        stored["status"]["observedGeneration"] = json!(1);
        client.write("PUT", &format!("{base}/w/status"), &ty, stored, 200).await;
        let mut stored = client.stored(&format!("{base}/w")).await;
        stored["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
        client.write("PUT", &format!("{base}/w"), &ty, stored, 200).await;
    }
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {"name": "w-1"}, "data": {"spec": {"template": template}}, "revision": 1});
    client
        .write(
            "POST",
            &format!("{APPS}/controllerrevisions"),
            "apps/v1.ControllerRevision",
            revision,
            201,
        )
        .await;
    let path = format!("{APPS}/deployments/w/scale");
    let mut scale = client.stored(&path).await;
    scale["spec"]["replicas"] = json!(2);
    client.write("PUT", &path, "autoscaling/v1.Scale", scale, 200).await;
    // Pods of a controller, adopted and released by a patch of their owners.
    let pods = format!("{DEFAULT}/pods");
    let mut generated = pod("", &labels);
    generated["metadata"] = json!({"generateName": "w-", "labels": labels});
    client.write("POST", &pods, "core/v1.Pod", generated, 201).await;
    client.write("POST", &pods, "core/v1.Pod", pod("p", &labels), 201).await;
    let owner = client.stored(&format!("{APPS}/replicasets/w")).await["metadata"]["uid"].clone();
    let uid = client.stored(&format!("{pods}/p")).await["metadata"]["uid"].clone();
    let reference = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": owner,
        "controller": true, "blockOwnerDeletion": true});
    let adopt = json!({"metadata": {"uid": uid, "ownerReferences": [reference]}});
    client.patch(&format!("{pods}/p"), STRATEGIC, adopt).await;
    let release =
        json!({"metadata": {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner}]}});
    client.patch(&format!("{pods}/p"), STRATEGIC, release).await;
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    client.write("POST", jobs, "batch/v1.Job", job, 201).await;
    let mut stored = client.stored(&format!("{jobs}/j")).await;
    stored["status"] = json!({"active": 1, "startTime": "2026-01-01T00:00:00Z"});
    client.write("PUT", &format!("{jobs}/j/status"), "batch/v1.Job", stored, 200).await;
    // Evictions and deletions.
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "default"}});
    client.write("POST", &format!("{pods}/p/eviction"), "policy/v1.Eviction", eviction, 201).await;
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    client.write("DELETE", &pods, "meta/v1.DeleteOptions", options, 200).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_controllers_of_the_cluster_write() {
    let (client, _controllers) = component().await;
    // Nodes: taints, and what the kubelet no longer says.
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    client.write("POST", "/api/v1/nodes", "core/v1.Node", node, 201).await;
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    client.patch("/api/v1/nodes/n", STRATEGIC, json!({"spec": {"taints": [taint], "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}})).await;
    let mut stored = client.stored("/api/v1/nodes/n").await;
    stored["status"]["conditions"] =
        json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]);
    client.write("PUT", "/api/v1/nodes/n/status", "core/v1.Node", stored, 200).await;
    // Endpoints and slices.
    let subset =
        json!({"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "http", "port": 80}]});
    let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "s"}, "subsets": [subset]});
    client
        .write("POST", &format!("{DEFAULT}/endpoints"), "core/v1.Endpoints", endpoints, 201)
        .await;
    let mut stored = client.stored(&format!("{DEFAULT}/endpoints/s")).await;
    stored["subsets"] = json!([]);
    client.write("PUT", &format!("{DEFAULT}/endpoints/s"), "core/v1.Endpoints", stored, 200).await;
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"generateName": "s-", "labels": {"kubernetes.io/service-name": "s"}},
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": true, "serving": true, "terminating": false}}],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]});
    client.write("POST", SLICES, "discovery/v1.EndpointSlice", slice, 201).await;
    client
        .send(
            "DELETE",
            &format!("{SLICES}?labelSelector=kubernetes.io%2Fservice-name%3Ds"),
            MEDIA,
            b"",
            200,
        )
        .await;
    // Volumes.
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}});
    client
        .write("POST", "/api/v1/persistentvolumes", "core/v1.PersistentVolume", volume, 201)
        .await;
    let mut stored = client.stored("/api/v1/persistentvolumes/v").await;
    stored["status"]["phase"] = json!("Available");
    client
        .write("PUT", "/api/v1/persistentvolumes/v/status", "core/v1.PersistentVolume", stored, 200)
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_controllers_of_rights_and_namespaces_write() {
    let (client, _controllers) = component().await;
    // Quotas, roles, and the end of a namespace.
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}});
    let quotas = format!("{DEFAULT}/resourcequotas");
    client.write("POST", &quotas, "core/v1.ResourceQuota", quota, 201).await;
    let mut stored = client.stored(&format!("{quotas}/q")).await;
    stored["status"] = json!({"hard": {"pods": "1"}, "used": {"pods": "0"}});
    client.write("PUT", &format!("{quotas}/q/status"), "core/v1.ResourceQuota", stored, 200).await;
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit?force=true&fieldManager=clusterrole-aggregation-controller";
    let rules = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "edit"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    until_there(&client.server, "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit").await;
    client.patch(role, APPLY, rules).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "finalizers": ["example.com/f"]}});
    client.write("POST", "/api/v1/namespaces", "core/v1.Namespace", namespace, 201).await;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    client.write("DELETE", "/api/v1/namespaces/b", "meta/v1.DeleteOptions", options, 200).await;
    let mut stored = client.stored("/api/v1/namespaces/b").await;
    stored["spec"]["finalizers"] = json!([]);
    client.write("PUT", "/api/v1/namespaces/b/finalize", "core/v1.Namespace", stored, 200).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "type": "LoadBalancer"}});
    until_there(&client.server, &format!("{DEFAULT}/services/kubernetes")).await;
    client.write("POST", &format!("{DEFAULT}/services"), "core/v1.Service", service, 201).await;
    let status =
        json!({"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}});
    client.patch(&format!("{DEFAULT}/services/s"), MERGE, status).await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    client.patch(&format!("{DEFAULT}/services/s/status"), STRATEGIC, status).await;
}
