//! What pods get of their service accounts: tokens, pull secrets, and which secrets they may mount.

use super::*;

#[tokio::test]
async fn pods_take_what_their_account_has_for_them() {
    let server = Server::for_pods().await;
    let robot = json!({"serviceAccountName": "robot"});
    let early = post(&server, PODS, &pod("early", robot.clone())).await;
    let why = "error looking up service account a/robot: serviceaccount \"robot\" not found";
    refused(&early, "pods", "early", why);
    make(
        &server,
        ACCOUNTS,
        json!({"metadata": {"name": "robot"}, "imagePullSecrets": [{"name": "s"}]}),
    )
    .await;
    let named = async |name: &str, spec: Value| {
        let spec = make(&server, PODS, pod(name, spec)).await["spec"].clone();
        [&spec["serviceAccountName"], &spec["serviceAccount"], &spec["imagePullSecrets"]]
            .map(Value::clone)
    };
    let (name, secrets) = (json!("robot"), json!([{"name": "s"}]));
    assert_eq!(named("p", robot).await, [name.clone(), name.clone(), secrets.clone()]);
    assert_eq!(
        named("q", json!({"serviceAccount": "robot"})).await,
        [name.clone(), name.clone(), secrets]
    );
    let own = json!([{"name": "own"}]);
    let spec = json!({"serviceAccountName": "robot", "imagePullSecrets": own});
    assert_eq!(named("r", spec).await, [name.clone(), name, own]);
    let default = json!("default");
    assert_eq!(named("s", json!({})).await, [default.clone(), default, json!(null)]);
}

#[tokio::test(start_paused = true)]
async fn pods_wait_for_the_default_account_of_a_new_namespace() {
    let server = Server::with_namespace().await;
    let first = pod("p", json!({}));
    let later = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        server.default_account("a").await;
    };
    let (made, ()) = tokio::join!(post(&server, PODS, &first), later);
    assert_eq!(made.status, 201, "{}", made.text());
    server.namespace("b").await;
    let pods = "/api/v1/namespaces/b/pods";
    let why = "error looking up service account b/default: serviceaccount \"default\" not found";
    refused(&post(&server, pods, &first).await, "pods", "p", why);
    let absent = post(&server, "/api/v1/namespaces/c/pods", &first).await;
    assert_eq!(
        (absent.status.as_u16(), &absent.json()["details"]["kind"]),
        (404, &json!("namespaces"))
    );
}

#[tokio::test]
async fn pods_get_tokens_of_their_accounts() {
    let server = Server::for_pods().await;
    make(
        &server,
        ACCOUNTS,
        json!({"metadata": {"name": "quiet"}, "automountServiceAccountToken": false}),
    )
    .await;
    let made = make(
        &server,
        PODS,
        mounting("p", json!({"initContainers": [{"name": "i", "image": "i"}]})),
    )
    .await;
    let volume = &made["spec"]["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(name.len() == 21 && name.starts_with("kube-api-access-"), "{name}");
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "svc-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]);
    assert_eq!(volume["projected"], json!({"defaultMode": 420, "sources": sources}));
    let mounts = json!([{"name": name, "mountPath": "/var/run/secrets/svc.io/serviceaccount", "readOnly": true}]);
    for field in ["containers", "initContainers"] {
        assert_eq!(made["spec"][field][0]["volumeMounts"], mounts, "{field}");
    }
    let owners = made["metadata"]["managedFields"].to_string();
    assert!(!owners.contains("f:volume"), "owned by nobody: {owners}");
    let other = make(&server, PODS, mounting("q", json!({}))).await;
    assert_ne!(other["spec"]["volumes"][0]["name"], name);

    let volumes = async |name: &str, spec: Value| {
        make(&server, PODS, mounting(name, spec)).await["spec"]["volumes"].clone()
    };
    assert_eq!(volumes("r", json!({"automountServiceAccountToken": false})).await, json!(null));
    assert_eq!(volumes("s", json!({"serviceAccountName": "quiet"})).await, json!(null));
    let asks = json!({"serviceAccountName": "quiet", "automountServiceAccountToken": true});
    assert_eq!(volumes("t", asks).await.as_array().map(Vec::len), Some(1));

    let server = Server::with(Naming::Kubernetes, Retention::default());
    server.namespace("a").await;
    server.default_account("a").await;
    let made = make(&server, PODS, mounting("p", json!({}))).await;
    let mount = &made["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
}

#[tokio::test]
async fn accounts_limit_what_their_pods_mount() {
    let server = Server::for_pods().await;
    let metadata =
        json!({"name": "strict", "annotations": {"svc.io/enforce-mountable-secrets": "true"}});
    let pull = json!([{"name": "pull"}]);
    make(
        &server,
        ACCOUNTS,
        json!({"metadata": metadata, "secrets": [{"name": "own"}], "imagePullSecrets": pull}),
    )
    .await;
    let pod = |name: &str, spec: Value| {
        let mut pod = mounting(name, spec);
        pod["spec"]["serviceAccountName"] = json!("strict");
        pod
    };
    let volumes =
        |secret: &str| json!({"volumes": [{"name": "v", "secret": {"secretName": secret}}]});
    make(&server, PODS, pod("p", volumes("own"))).await;
    let tail = "is not allowed because service account strict does not reference that";
    let refuse = async |spec: Value, what: &str| {
        refused(&post(&server, PODS, &pod("r", spec)).await, "pods", "r", what);
    };
    refuse(volumes("other"), &format!("volume with secret.secretName=\"other\" {tail} secret"))
        .await;
    let from = json!([{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "other"}}]}]);
    let why = format!(
        "init container i with envFrom referencing secret.secretName=\"other\" {tail} secret"
    );
    refuse(json!({"initContainers": from}), &why).await;
    let other = json!([{"name": "other"}]);
    refuse(
        json!({"imagePullSecrets": other}),
        &format!("imagePullSecrets[0].name=\"other\" {tail} imagePullSecret"),
    )
    .await;

    let guest = async |name: &str, secret: &str| {
        let env =
            json!([{"name": "V", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}]);
        let spec = json!({"ephemeralContainers": [{"name": name, "image": "i", "env": env}]});
        let media = [("content-type", "application/strategic-merge-patch+json")];
        let path = format!("{PODS}/p/ephemeralcontainers");
        server.send(Method::PATCH, &path, &media, json!({ "spec": spec }).to_string()).await
    };
    let what = "ephemeral container e with envVar V referencing secret.secretName=\"other\"";
    refused(&guest("e", "other").await, "pods", "p", &format!("{what} {tail} secret"));
    let came = guest("e", "own").await;
    assert_eq!(came.status, 200, "{}", came.text());
    assert_eq!(
        server.send(Method::DELETE, &format!("{ACCOUNTS}/strict"), &[], "").await.status,
        200
    );
    let why = "error looking up service account a/strict: serviceaccount \"strict\" not found";
    refused(&guest("f", "own").await, "pods", "p", why);
}
