//! Subresources of pods over HTTP: binding to nodes, ephemeral containers, resizing, status; and
//! what becomes of AppArmor annotations.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const PODS: &str = "/api/v1/namespaces/a/pods";

async fn server() -> Server {
    let server = Server::for_pods().await;
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let made = server.send(Method::POST, PODS, &[], pod.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    server
}

async fn bind(server: &Server, pod: &str, query: &str, change: impl Fn(&mut Value)) -> Answer {
    let mut binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"kind": "Node", "name": "n"}});
    change(&mut binding);
    server
        .send(
            Method::POST,
            &format!("{PODS}/{pod}/binding{query}"),
            &[("user-agent", "scheduler/1")],
            binding.to_string(),
        )
        .await
}

async fn node(server: &Server) -> Value {
    server.get(&format!("{PODS}/p")).await.json()["spec"]["nodeName"].clone()
}

#[tokio::test]
async fn a_pod_is_bound_once() {
    let server = server().await;
    let dry = bind(&server, "p", "?dryRun=All", |_| ()).await;
    assert_eq!((dry.status.as_u16(), node(&server).await), (201, Value::Null));
    let bound =
        bind(&server, "p", "", |binding| binding["metadata"]["annotations"] = json!({"a": "b"}))
            .await;
    let expect = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success", "code": 201});
    assert_eq!((bound.status.as_u16(), bound.json()), (201, expect));
    let pod = server.get(&format!("{PODS}/p")).await.json();
    assert_eq!(
        (&pod["spec"]["nodeName"], &pod["metadata"]["annotations"]),
        (&json!("n"), &json!({"a": "b"}))
    );
    let condition = &pod["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"]),
        (&json!("PodScheduled"), &json!("True"))
    );
    let owners = pod["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        owners.iter().any(|o| o["manager"] == "scheduler" && o["subresource"] == "binding"),
        "{owners:?}"
    );
    assert_eq!(pod["metadata"]["generation"], 1, "the same is wanted of the pod");
    let again = bind(&server, "p", "", |_| ()).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()["details"]["kind"]),
        (409, &json!("pods/binding"))
    );
}

#[tokio::test]
async fn a_pod_that_goes_at_once_is_marked_before() {
    let server = server().await;
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    let bound = json!({"metadata": {"name": "bound"}, "spec": spec});
    assert_eq!(server.send(Method::POST, PODS, &[], bound.to_string()).await.status, 201);
    let version = server.get(PODS).await.json()["metadata"]["resourceVersion"].clone();
    let delete = async |pod: &str, options: Value| {
        let path = format!("{PODS}/{pod}");
        let answer = server.send(Method::DELETE, &path, &[], options.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    };
    // The condition is about the pod as the client has read it, not as the deletion has marked it.
    let own = server.get(&format!("{PODS}/p")).await.json()["metadata"]["resourceVersion"].clone();
    let last = delete("p", json!({"preconditions": {"resourceVersion": own}})).await;
    delete("bound", json!({"gracePeriodSeconds": 5})).await;
    // The kubelet ends what has begun.
    delete("bound", json!({"gracePeriodSeconds": 0})).await;
    let watch =
        format!("{PODS}?watch=1&resourceVersion={}&timeoutSeconds=1", version.as_str().unwrap());
    let watched = server.get(&watch).await;
    let events: Vec<Value> =
        watched.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<(&str, &str, bool, &Value)> = events
        .iter()
        .map(|event| {
            let metadata = &event["object"]["metadata"];
            let (ty, name) = (event["type"].as_str().unwrap(), metadata["name"].as_str().unwrap());
            let is_marked = metadata["deletionTimestamp"].is_string();
            (ty, name, is_marked, &metadata["deletionGracePeriodSeconds"])
        })
        .collect();
    let expect = [
        ("MODIFIED", "p", true, &json!(0)),
        ("DELETED", "p", true, &json!(0)),
        ("MODIFIED", "bound", true, &json!(5)),
        ("MODIFIED", "bound", true, &json!(0)),
        ("DELETED", "bound", true, &json!(0)),
    ];
    assert_eq!(seen, expect);
    assert_eq!(events[1]["object"]["metadata"]["resourceVersion"], last.as_str());
}

#[tokio::test]
async fn a_pod_that_goes_at_once_shows_no_grace() {
    let server = server().await;
    let path = format!("{PODS}/p");
    let deleted = async |query: &str| {
        let answer = server.send(Method::DELETE, &format!("{path}?{query}"), &[], "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let metadata = answer.json()["metadata"].clone();
        (metadata["deletionTimestamp"].is_string(), metadata["deletionGracePeriodSeconds"].clone())
    };
    // Without a node there is no kubelet to wait for.
    assert_eq!(deleted("dryRun=All").await, (true, json!(0)));
    assert_eq!(deleted("gracePeriodSeconds=60").await, (true, json!(0)));
    assert_eq!(server.get(&path).await.status, 404);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(server.send(Method::POST, PODS, &[], pod.to_string()).await.status, 201);
    assert_eq!(deleted("").await, (true, json!(30)));
    assert_eq!(deleted("gracePeriodSeconds=0").await, (true, json!(0)));
    assert_eq!(server.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_binding_may_be_created_by_itself() {
    let server = server().await;
    let create = async |query: &str, name: &str| {
        let binding = json!({"metadata": {"name": name, "labels": {"zone": "z"}}, "target": {"kind": "Node", "name": "n"}});
        let path = format!("/api/v1/namespaces/a/bindings{query}");
        server.send(Method::POST, &path, &[], binding.to_string()).await
    };
    assert_eq!(create("", "none").await.status, 404);
    assert_eq!(create("", "").await.status, 400);
    assert_eq!(
        (create("?dryRun=All", "p").await.status.as_u16(), node(&server).await),
        (201, Value::Null)
    );
    let bound = create("", "p").await;
    assert_eq!((bound.status.as_u16(), &bound.json()["kind"]), (201, &json!("Status")));
    let pod = server.get(&format!("{PODS}/p")).await.json();
    assert_eq!(
        (&pod["spec"]["nodeName"], &pod["metadata"]["labels"]),
        (&json!("n"), &json!({"zone": "z"}))
    );
    assert_eq!(create("", "p").await.status, 409);
    for (path, status) in [("bindings", 405), ("bindings/p", 404)] {
        assert_eq!(
            server.get(&format!("/api/v1/namespaces/a/{path}")).await.status,
            status,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_pod_has_the_topology_of_its_node() {
    let server = server().await;
    let labels = json!({"topology.svc.io/zone": "z", "topology.svc.io/region": "r", "other": "o"});
    let node = json!({"metadata": {"name": "n", "labels": labels}});
    assert_eq!(server.send(Method::POST, "/api/v1/nodes", &[], node.to_string()).await.status, 201);
    let labels = async |name: &str| {
        server.get(&format!("{PODS}/{name}")).await.json()["metadata"]["labels"].clone()
    };
    let given = json!({"topology.svc.io/zone": "mine"});
    assert_eq!(
        bind(&server, "p", "", |binding| binding["metadata"]["labels"] = given.clone())
            .await
            .status,
        201
    );
    let expect = json!({"topology.svc.io/zone": "mine", "topology.svc.io/region": "r"});
    assert_eq!(labels("p").await, expect);
    let make = async |name: &str, node: &str| {
        let spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "i"}]});
        let pod = json!({"metadata": {"name": name, "labels": given}, "spec": spec});
        assert_eq!(server.send(Method::POST, PODS, &[], pod.to_string()).await.status, 201);
        labels(name).await
    };
    assert_eq!(make("q", "n").await, expect);
    assert_eq!(make("r", "absent").await, given);
}

#[tokio::test]
async fn bindings_that_are_refused() {
    let server = server().await;
    let check = async |pod: &str, change: &dyn Fn(&mut Value), code: u16| {
        let answer = bind(&server, pod, "", change).await;
        assert_eq!(answer.status, code, "{}", answer.text());
        assert_eq!(node(&server).await, Value::Null);
    };
    check("none", &|_| (), 404).await;
    check("p", &|binding| binding["metadata"]["name"] = json!("other"), 400).await;
    check("p", &|binding| binding["kind"] = json!("Pod"), 400).await;
    check("p", &|binding| binding["target"]["name"] = json!(""), 422).await;
    check("p", &|binding| binding["target"]["kind"] = json!("Pod"), 422).await;
    check("p", &|binding| binding["metadata"]["uid"] = json!("other"), 409).await;
    check("p", &|binding| binding["metadata"]["resourceVersion"] = json!("1"), 409).await;
    assert_eq!(server.get(&format!("{PODS}/p/binding")).await.status, 405);
}

#[tokio::test]
async fn guests_come_to_a_pod_and_stay() {
    let server = server().await;
    let path = format!("{PODS}/p/ephemeralcontainers");
    let patch = async |media: &str, spec: Value| {
        let headers = [("content-type", media)];
        server.send(Method::PATCH, &path, &headers, json!({ "spec": spec }).to_string()).await
    };
    let (merge, strategic) =
        ("application/merge-patch+json", "application/strategic-merge-patch+json");
    let guest = json!([{"name": "e", "image": "debug:1"}]);
    let came = patch(strategic, json!({"ephemeralContainers": guest, "nodeName": "n"})).await;
    let pod = came.json();
    assert_eq!(
        (came.status.as_u16(), &pod["spec"]["nodeName"], &pod["metadata"]["generation"]),
        (200, &Value::Null, &json!(2))
    );
    assert_eq!(pod["spec"]["ephemeralContainers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(server.get(&path).await.json()["kind"], "Pod");
    for spec in [
        json!({"ephemeralContainers": null}),
        json!({"ephemeralContainers": [{"name": "e", "image": "y"}]}),
    ] {
        assert_eq!(patch(merge, spec).await.status, 422);
    }
    let headers = [("content-type", merge)];
    let body = json!({"spec": {"ephemeralContainers": null}}).to_string();
    assert_eq!(
        server.send(Method::PATCH, &format!("{PODS}/p"), &headers, body).await.status,
        422,
        "not through the pod itself"
    );
}

/// Whose fields each entry says, as `manager subresource`.
fn owners(pod: &Value) -> Vec<(String, String)> {
    let entries = pod["metadata"]["managedFields"].as_array().unwrap();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let owner =
        |entry: &Value| format!("{} {}", text(entry, "manager"), text(entry, "subresource"));
    entries.iter().map(|entry| (owner(entry), entry["fieldsV1"].to_string())).collect()
}

#[tokio::test]
async fn who_brings_a_guest_owns_nothing_else() {
    let server = server().await;
    let send = async |media: &str, query: &str, pod: Value| {
        let path = format!("{PODS}/p{query}");
        let answer =
            server.send(Method::PATCH, &path, &[("content-type", media)], pod.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let (merge, apply) = ("application/merge-patch+json", "application/apply-patch+yaml");
    send(merge, "?fieldManager=labeller", json!({"metadata": {"labels": {"l": "1"}}})).await;
    let pod = |guest: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"l": "2", "m": "2"}},
            "spec": {"nodeName": "n", "ephemeralContainers": [{"name": guest, "image": "i"}]}})
    };
    send(merge, "/ephemeralcontainers?fieldManager=host", pod("e")).await;
    let both = send(apply, "/ephemeralcontainers?fieldManager=applier", pod("f")).await;
    assert_eq!(both["metadata"]["labels"], json!({"l": "1"}));
    let names = both["spec"]["ephemeralContainers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|guest| guest["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["e", "f"]);
    let owners = owners(&both);
    let fields = |owner: &str| {
        owners.iter().find(|(name, _)| name == owner).map(|(_, fields)| fields.as_str())
    };
    assert_eq!(fields("labeller "), Some(r#"{"f:metadata":{"f:labels":{".":{},"f:l":{}}}}"#));
    for owner in ["host ephemeralcontainers", "applier ephemeralcontainers"] {
        let fields = fields(owner).unwrap();
        assert!(fields.starts_with(r#"{"f:spec":{"f:ephemeralContainers":{"#), "{owner} {fields}");
        assert!(!fields.contains("f:labels") && !fields.contains("f:nodeName"), "{owner} {fields}");
    }
}

#[tokio::test]
async fn a_status_does_not_say_whose_the_pod_is() {
    let server = server().await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let body = json!({"metadata": {"ownerReferences": [owner]}, "status": {"reason": "Because"}});
    let headers = [("content-type", "application/merge-patch+json")];
    let path = format!("{PODS}/p/status");
    let pod = server.send(Method::PATCH, &path, &headers, body.to_string()).await.json();
    assert_eq!(
        (&pod["status"]["reason"], &pod["metadata"]["ownerReferences"]),
        (&json!("Because"), &Value::Null)
    );
    assert!(!pod["metadata"]["managedFields"].to_string().contains("f:ownerReferences"));
}

#[tokio::test]
async fn a_pod_is_resized_within_limits_and_quotas() {
    let server = server().await;
    let container =
        |cpu: &str| json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}});
    let pod = json!({"metadata": {"name": "r"}, "spec": {"containers": [container("100m")]}});
    assert_eq!(server.send(Method::POST, PODS, &[], pod.to_string()).await.status, 201);
    let resize = async |cpu: Value| {
        let path = format!("{PODS}/r/resize?fieldManager=scaler");
        let headers = [("content-type", "application/strategic-merge-patch+json")];
        let containers =
            json!([{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]);
        let body = json!({"spec": {"containers": containers, "nodeName": "n"}}).to_string();
        server.send(Method::PATCH, &path, &headers, body).await
    };
    let pod = resize(json!("200m")).await.json();
    let changed = &pod["spec"]["containers"][0];
    assert_eq!(
        (&changed["image"], &changed["resources"]["requests"]["cpu"]),
        (&json!("i"), &json!("200m"))
    );
    assert_eq!(
        (&pod["spec"]["nodeName"], &pod["metadata"]["generation"]),
        (&Value::Null, &json!(2))
    );
    let owned = owners(&pod);
    let (_, fields) = owned.iter().find(|(owner, _)| owner == "scaler resize").unwrap();
    let one = json!({"f:requests": {"f:cpu": {}}});
    let below = json!({"f:containers": {"k:{\"name\":\"c\"}": {"f:resources": one}}});
    assert_eq!(*fields, json!({ "f:spec": below }).to_string());
    let gone = resize(Value::Null).await;
    assert_eq!(gone.status, 422, "{}", gone.text());
    for (plural, spec, why) in [
        ("resourcequotas", json!({"hard": {"requests.cpu": "300m"}}), "exceeded quota"),
        (
            "limitranges",
            json!({"limits": [{"type": "Container", "max": {"cpu": "250m"}}]}),
            "maximum cpu",
        ),
    ] {
        let path = format!("/api/v1/namespaces/a/{plural}");
        let body = json!({"metadata": {"name": "l"}, "spec": spec}).to_string();
        assert_eq!(server.send(Method::POST, &path, &[], body).await.status, 201);
        let refused = resize(json!("400m")).await;
        assert_eq!(refused.status, 403, "{plural}: {}", refused.text());
        assert!(refused.text().contains(why), "{}", refused.text());
        assert_eq!(server.send(Method::DELETE, &format!("{path}/l"), &[], "").await.status, 200);
    }
}

#[tokio::test]
async fn an_annotation_of_apparmor_becomes_a_field_with_a_warning() {
    let server = Server::for_pods().await;
    let key = "container.apparmor.security.beta.svc.io/c";
    let pod = |text: &str| {
        let metadata = json!({"name": "p", "annotations": {key: text}});
        json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    };
    let made = server.send(Method::POST, PODS, &[], pod("runtime/default").to_string()).await;
    let why = r#"use the \"appArmorProfile\" field instead"#;
    assert!(made.header("warning").contains(why), "{}", made.header("warning"));
    let profile = &made.json()["spec"]["containers"][0]["securityContext"]["appArmorProfile"];
    assert_eq!(*profile, json!({"type": "RuntimeDefault"}));
    assert_eq!(server.send(Method::POST, PODS, &[], pod("odd").to_string()).await.status, 422);
}
