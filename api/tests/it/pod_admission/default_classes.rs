//! The default classes of claims and Ingresses.

use super::*;

fn marked(domain: &str, name: &str, fields: Value) -> Value {
    let (mut class, mark) = (class(name, fields), format!("{domain}.svc.io/is-default-class"));
    class["metadata"]["annotations"] = json!({mark: "true"});
    class
}

#[tokio::test]
async fn claims_get_the_newest_default_class() {
    let server = Server::with_namespace().await;
    let claim = |name: &str, class: Value| {
        let resources = json!({"requests": {"storage": "1Gi"}});
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": resources});
        spec.as_object_mut().unwrap().extend(class.as_object().unwrap().clone());
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let chosen = async |name: &str, class: Value| {
        make(&server, CLAIMS, claim(name, class)).await["spec"]["storageClassName"].clone()
    };
    assert_eq!(chosen("a", json!({})).await, json!(null));
    let fields = || json!({"provisioner": "p.example", "allowVolumeExpansion": true});
    make(&server, STORAGE, marked("storageclass", "old", fields())).await;
    server.clock.advance(1000);
    make(&server, STORAGE, marked("storageclass.beta", "new", fields())).await;
    make(&server, STORAGE, marked("storageclass", "newer-by-name", fields())).await;
    make(&server, STORAGE, class("fixed", json!({"provisioner": "p.example"}))).await;
    assert_eq!(chosen("b", json!({})).await, "new");
    assert_eq!(chosen("c", json!({"storageClassName": ""})).await, "");
    assert_eq!(chosen("d", json!({"storageClassName": "fixed"})).await, "fixed");

    let grow = async |name: &str, size: &str| {
        let path = format!("{CLAIMS}/{name}");
        let bound =
            merge(&server, &format!("{path}/status"), json!({"status": {"phase": "Bound"}})).await;
        assert_eq!(bound.status, 200, "{}", bound.text());
        merge(&server, &path, json!({"spec": {"resources": {"requests": {"storage": size}}}})).await
    };
    assert_eq!(grow("b", "2Gi").await.status, 200);
    assert_eq!(grow("d", "1024Mi").await.status, 200, "no more than it was");
    let why = "only dynamically provisioned pvc can be resized and \
               the storageclass that provisions the pvc must support resize";
    for name in ["a", "c", "d"] {
        refused(&grow(name, "2Gi").await, "persistentvolumeclaims", name, why);
    }
}

#[tokio::test]
async fn ingresses_get_the_newest_default_class() {
    let server = Server::with_namespace().await;
    let chosen = async |name: &str, annotations: Value, class: Value| {
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        let mut spec = json!({"defaultBackend": backend});
        spec.as_object_mut().unwrap().extend(class.as_object().unwrap().clone());
        let body = json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec});
        make(&server, INGRESSES, body).await["spec"]["ingressClassName"].clone()
    };
    assert_eq!(chosen("a", json!({}), json!({})).await, json!(null));
    let fields = || json!({"spec": {"controller": "example.com/c"}});
    make(&server, INGRESS_CLASSES, marked("ingressclass", "a-old", fields())).await;
    server.clock.advance(1000);
    make(&server, INGRESS_CLASSES, marked("ingressclass", "new", fields())).await;
    make(&server, INGRESS_CLASSES, class("none", fields())).await;
    assert_eq!(chosen("b", json!({}), json!({})).await, "new");
    assert_eq!(chosen("c", json!({}), json!({"ingressClassName": "none"})).await, "none");
    assert_eq!(chosen("d", json!({"svc.io/ingress.class": "x"}), json!({})).await, json!(null));
}
