//! Pod Security levels over HTTP: pods that break the level of their namespace, and the warnings
//! that clients get.

use http::Method;
use quorate_meta::Naming;
use quorate_store::Retention;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// The message about what a plain pod lacks for the restricted level.
const LACKS: &str = concat!(
    r#"would violate PodSecurity "restricted:latest": "#,
    r#"allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), "#,
    r#"unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), "#,
    r#"runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), "#,
    r#"seccompProfile (pod or container "c" must set securityContext.seccompProfile.type "#,
    r#"to "RuntimeDefault" or "Localhost")"#,
);

/// The labels for these modes.
fn labels(modes: &[(&str, &str)]) -> Value {
    modes
        .iter()
        .map(|(mode, value)| (format!("pod-security.svc.io/{mode}"), json!(value)))
        .collect()
}

/// Makes a namespace with a service account for its pods.
async fn namespace(server: &Server, name: &str, labels: &Value) -> Answer {
    let body = json!({"metadata": {"name": name, "labels": labels}});
    let made = server.send(Method::POST, "/api/v1/namespaces", &[], body.to_string()).await;
    let account = json!({"metadata": {"name": "default"}});
    let path = format!("/api/v1/namespaces/{name}/serviceaccounts");
    server.send(Method::POST, &path, &[], account.to_string()).await;
    made
}

/// A server with the namespace `t`, which asks this of its pods.
async fn server(modes: &[(&str, &str)]) -> Server {
    let server = Server::new();
    let made = namespace(&server, "t", &labels(modes)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    server
}

async fn patch(server: &Server, path: &str, media: &str, body: Value) -> Answer {
    server.send(Method::PATCH, path, &[("content-type", media)], body.to_string()).await
}

/// Changes the labels of the namespace `t`.
async fn label(server: &Server, modes: &[(&str, &str)]) -> Answer {
    patch(server, "/api/v1/namespaces/t", MERGE, json!({"metadata": {"labels": labels(modes)}}))
        .await
}

/// The specification of a pod with one container, which has this context, and more fields.
fn spec(context: Value, more: Value) -> Value {
    let mut spec = more;
    spec["containers"] = json!([{"name": "c", "image": "i", "securityContext": context}]);
    spec["automountServiceAccountToken"] = json!(false);
    spec
}

fn plain() -> Value {
    spec(json!(null), json!({}))
}

fn privileged() -> Value {
    spec(json!({"privileged": true}), json!({}))
}

async fn create(server: &Server, name: &str, spec: &Value) -> Answer {
    let pod = json!({"metadata": {"name": name}, "spec": spec});
    server.send(Method::POST, "/api/v1/namespaces/t/pods", &[], pod.to_string()).await
}

/// The warnings of an answer.
fn warnings(answer: &Answer) -> Vec<String> {
    let text = |header: &str| {
        serde_json::from_str::<String>(header.strip_prefix("299 - ").unwrap()).unwrap()
    };
    answer.headers.get_all("warning").iter().map(|header| text(header.to_str().unwrap())).collect()
}

#[track_caller]
fn refused(answer: &Answer, name: &str, why: &str) {
    let status = answer.json();
    assert_eq!((answer.status.as_u16(), &status["reason"]), (403, &json!("Forbidden")), "{status}");
    assert_eq!(
        status["message"],
        format!("pods \"{name}\" is forbidden: violates PodSecurity {why}")
    );
    assert_eq!(status["details"], json!({"kind": "pods", "name": name}));
    assert_eq!(warnings(answer), [""; 0]);
}

#[tokio::test]
async fn a_pod_that_breaks_the_level_is_refused() {
    let server = server(&[("enforce", "baseline"), ("warn", "restricted")]).await;
    let why = r#""baseline:latest": privileged (container "c" must not set securityContext.privileged=true)"#;
    refused(&create(&server, "c", &privileged()).await, "c", why);
    let host = spec(json!(null), json!({"hostNetwork": true, "hostPID": true}));
    let why = r#""baseline:latest": host namespaces (hostNetwork=true, hostPID=true)"#;
    refused(&create(&server, "c", &host).await, "c", why);
    let dry = json!({"metadata": {"name": "c"}, "spec": host}).to_string();
    refused(
        &server.send(Method::POST, "/api/v1/namespaces/t/pods?dryRun=All", &[], dry).await,
        "c",
        why,
    );
    assert_eq!(server.get("/api/v1/namespaces/t/pods").await.names(), [""; 0]);
    let unnamed = json!({"metadata": {"generateName": "c-"}, "spec": host}).to_string();
    let answer = server.send(Method::POST, "/api/v1/namespaces/t/pods", &[], unnamed).await;
    refused(&answer, answer.json()["details"]["name"].as_str().unwrap(), why);
    assert!(
        answer.json()["details"]["name"].as_str().unwrap().starts_with("c-"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn writers_of_pods_are_told() {
    let server = server(&[("enforce", "baseline"), ("warn", "restricted")]).await;
    let made = create(&server, "a", &plain()).await;
    assert_eq!((made.status.as_u16(), warnings(&made)), (201, vec![LACKS.to_owned()]));
    let good = json!({"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}});
    let made = create(&server, "b", &spec(good, json!({}))).await;
    assert_eq!((made.status.as_u16(), warnings(&made)), (201, vec![]));
    label(&server, &[("warn", "baseline")]).await;
    let made = create(&server, "c", &plain()).await;
    assert_eq!((made.status.as_u16(), warnings(&made)), (201, vec![]));
}

#[tokio::test]
async fn without_labels_nothing_is_said() {
    let server =
        server(&[("audit", "restricted"), ("enforce", "privileged"), ("enforce-version", "v1.20")])
            .await;
    let made =
        create(&server, "a", &spec(json!({"privileged": true}), json!({"hostPID": true}))).await;
    assert_eq!((made.status.as_u16(), warnings(&made)), (201, vec![]), "{}", made.text());
    let none = json!({"metadata": {"name": "a"}, "spec": privileged()}).to_string();
    let answer = server.send(Method::POST, "/api/v1/namespaces/none/pods", &[], none).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["details"]["kind"]),
        (404, &json!("namespaces"))
    );
}

#[tokio::test]
async fn writers_of_workloads_are_told() {
    let server = server(&[("enforce", "baseline")]).await;
    let template = |restart: &str| {
        let spec = spec(json!({"privileged": true}), json!({"restartPolicy": restart}));
        json!({"metadata": {"labels": {"a": "b"}}, "spec": spec})
    };
    let selected =
        || json!({"selector": {"matchLabels": {"a": "b"}}, "template": template("Always")});
    let mut set = selected();
    set["serviceName"] = json!("s");
    let job = json!({"template": template("Never")});
    for (path, mut body) in [
        ("/apis/apps/v1/namespaces/t/deployments", json!({"spec": selected()})),
        ("/apis/apps/v1/namespaces/t/replicasets", json!({"spec": selected()})),
        ("/apis/apps/v1/namespaces/t/daemonsets", json!({"spec": selected()})),
        ("/apis/apps/v1/namespaces/t/statefulsets", json!({"spec": set})),
        ("/apis/batch/v1/namespaces/t/jobs", json!({"spec": job})),
        (
            "/apis/batch/v1/namespaces/t/cronjobs",
            json!({"spec": {"schedule": "@daily", "jobTemplate": {"spec": job}}}),
        ),
        (
            "/api/v1/namespaces/t/replicationcontrollers",
            json!({"spec": {"selector": {"a": "b"}, "template": template("Always")}}),
        ),
        ("/api/v1/namespaces/t/podtemplates", json!({"template": template("Always")})),
    ] {
        body["metadata"] = json!({"name": "w"});
        let why = "privileged (container \"c\" must not set securityContext.privileged=true)";
        let expect = vec![format!("would violate PodSecurity \"baseline:latest\": {why}")];
        let made = server.send(Method::POST, path, &[], body.to_string()).await;
        assert_eq!(
            (made.status.as_u16(), warnings(&made)),
            (201, expect.clone()),
            "{path} {}",
            made.text()
        );
        let labelled = json!({"metadata": {"labels": {"c": "d"}}});
        let changed = patch(&server, &format!("{path}/w"), MERGE, labelled).await;
        assert_eq!(
            (changed.status.as_u16(), warnings(&changed)),
            (200, expect),
            "{path} {}",
            changed.text()
        );
    }
    let path = "/apis/apps/v1/namespaces/t/deployments/w/scale";
    let scaled = patch(&server, path, MERGE, json!({"spec": {"replicas": 2}})).await;
    assert_eq!((scaled.status.as_u16(), warnings(&scaled)), (200, vec![]), "{}", scaled.text());
}

#[tokio::test]
async fn labels_must_be_readable() {
    let server = server(&[]).await;
    let check = |answer: &Answer, name: &str, labels: &[(&str, &str, &str)]| {
        let status = answer.json();
        let field = |mode: &str| format!("metadata.labels[pod-security.svc.io/{mode}]");
        let causes: Vec<Value> = labels
            .iter()
            .map(|(mode, value, why)| {
                let message = format!("Invalid value: \"{value}\": {why}");
                json!({"reason": "FieldValueInvalid", "message": message, "field": field(mode)})
            })
            .collect();
        let details = json!({"kind": "Namespace", "name": name, "causes": causes});
        assert_eq!((answer.status.as_u16(), &status["details"]), (422, &details), "{status}");
    };
    let (level, version) =
        ("must be one of privileged, baseline, restricted", "must be \"latest\" or \"v1.x\"");
    let answer = label(&server, &[("enforce", "odd")]).await;
    check(&answer, "t", &[("enforce", "odd", level)]);
    let why =
        format!("metadata.labels[pod-security.svc.io/enforce]: Invalid value: \"odd\": {level}");
    assert_eq!(answer.json()["message"], format!("Namespace \"t\" is invalid: {why}"));
    let answer =
        label(&server, &[("warn-version", "1.35"), ("audit", ""), ("enforce", "baseline")]).await;
    check(&answer, "t", &[("audit", "", level), ("warn-version", "1.35", version)]);
    let answer = namespace(&server, "u", &labels(&[("enforce-version", "v2.0")])).await;
    check(&answer, "u", &[("enforce-version", "v2.0", version)]);
    assert_eq!(server.get("/api/v1/namespaces/u").await.status, 404);
    let mut whole = server.get("/api/v1/namespaces/t").await.json();
    whole["metadata"]["labels"] = labels(&[("warn", "Baseline")]);
    let answer = server.send(Method::PUT, "/api/v1/namespaces/t", &[], whole.to_string()).await;
    check(&answer, "t", &[("warn", "Baseline", level)]);
}

#[tokio::test]
async fn a_level_that_rises_tells_of_the_pods_that_are_there() {
    let server = server(&[]).await;
    let host = spec(json!(null), json!({"hostNetwork": true}));
    for (name, spec) in [("a", plain()), ("c", privileged()), ("b", privileged()), ("d", host)] {
        let made = create(&server, name, &spec).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    // A standard that is empty stands for silence.
    let check = async |modes: &[(&str, &str)], standard: &str, pods: &[&str]| {
        let rises = "existing pods in namespace \"t\" violate the new PodSecurity enforce level";
        let first = (!standard.is_empty()).then(|| format!("{rises} \"{standard}\""));
        let expect: Vec<String> =
            first.into_iter().chain(pods.iter().map(|text| (*text).to_owned())).collect();
        let answer = label(&server, modes).await;
        assert_eq!((answer.status.as_u16(), warnings(&answer)), (200, expect), "{modes:?}");
    };
    let pods = ["b (and 1 other pod): privileged", "d: host namespaces"];
    check(&[("warn", "restricted")], "", &[]).await;
    check(&[("enforce", "baseline")], "baseline:latest", &pods).await;
    check(&[("enforce", "baseline"), ("warn", "baseline")], "", &[]).await;
    check(&[("enforce-version", "v1.30")], "baseline:v1.30", &pods).await;
    check(&[("enforce", "privileged")], "", &[]).await;
    let pods = [
        "a: runAsNonRoot != true",
        "b (and 1 other pod): privileged, runAsNonRoot != true",
        "d: host namespaces, runAsNonRoot != true",
    ];
    check(&[("enforce", "restricted"), ("enforce-version", "v1.7")], "restricted:v1.7", &pods)
        .await;
    check(&[("enforce", "baseline")], "", &[]).await;
}

#[tokio::test]
async fn changes_that_matter_are_looked_at() {
    let server = server(&[]).await;
    assert_eq!(create(&server, "p", &privileged()).await.status, 201);
    label(&server, &[("enforce", "baseline")]).await;
    let (pod, guests) =
        ("/api/v1/namespaces/t/pods/p", "/api/v1/namespaces/t/pods/p/ephemeralcontainers");
    let why = r#""baseline:latest": privileged (container "c" must not set securityContext.privileged=true)"#;
    let allowed = async |path: &str, body: Value| {
        let answer = patch(&server, path, STRATEGIC, body).await;
        assert_eq!((answer.status.as_u16(), warnings(&answer)), (200, vec![]), "{}", answer.text());
    };
    allowed(pod, json!({"metadata": {"labels": {"a": "b"}}})).await;
    allowed(&format!("{pod}/status"), json!({"status": {"phase": "Running"}})).await;
    let image = json!({"spec": {"containers": [{"name": "c", "image": "j"}]}});
    refused(&patch(&server, pod, STRATEGIC, image.clone()).await, "p", why);
    let guest = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}});
    refused(&patch(&server, guests, STRATEGIC, guest.clone()).await, "p", why);
    let node = json!({"kind": "Node", "name": "n"});
    let binding =
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": node})
            .to_string();
    assert_eq!(
        server.send(Method::POST, &format!("{pod}/binding"), &[], binding).await.status,
        201
    );
    label(&server, &[("enforce", "privileged"), ("warn", "baseline")]).await;
    for (path, body) in [(pod, image), (guests, guest)] {
        let answer = patch(&server, path, STRATEGIC, body).await;
        assert_eq!(
            warnings(&answer),
            [format!("would violate PodSecurity {why}")],
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn versions_of_levels() {
    let server = server(&[("enforce", "baseline"), ("enforce-version", "v1.33")]).await;
    let mut spec = plain();
    spec["containers"][0]["livenessProbe"] = json!({"httpGet": {"host": "192.0.2.1", "port": 80}});
    assert_eq!(create(&server, "a", &spec).await.status, 201);
    let why = r#"probe or lifecycle host (container "c" uses probe or lifecycle host "192.0.2.1")"#;
    for version in ["v1.34", "latest", "v1.99"] {
        label(&server, &[("enforce-version", version)]).await;
        refused(&create(&server, "b", &spec).await, "b", &format!("\"baseline:{version}\": {why}"));
    }
}

#[tokio::test]
async fn names_of_the_other_profile() {
    let server = Server::with(Naming::Kubernetes, Retention::default());
    let labels = json!({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.svc.io/enforce": "odd"});
    assert_eq!(namespace(&server, "t", &labels).await.status, 201);
    let why = r#""baseline:latest": privileged (container "c" must not set securityContext.privileged=true)"#;
    refused(&create(&server, "a", &privileged()).await, "a", why);
    assert_eq!(create(&server, "a", &plain()).await.status, 201);
}
