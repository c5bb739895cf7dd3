//! A replay of what the components of a cluster of release 1.35 ask for, kube-controller-manager and
//! kube-scheduler: every resource of discovery as an informer in protobuf, and their writes
//! (`writes`).

mod writes;

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use quorate_api::body::Body;
use quorate_controllers::{Controllers, ControllersHandle, ControllersOptions};
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_store::Retention;
use quorate_wire::protobuf::{Envelope, decode_message};
use serde_json::{Value, json};

use crate::harness::Server;

/// What typed clients accept.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";
/// What clients accept that need no more than the metadata.
const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
/// How reflectors begin with everything that there is.
const WATCH_LIST: &str = "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=300&watch=true";
/// The certificate of the cluster's authority; nothing reads it here.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/// A server whose names unmodified components know, with what its controllers make.
async fn start() -> (Server, ControllersHandle) {
    let server = Server::with(Naming::Kubernetes, Retention::default());
    let options = ControllersOptions {
        cluster: server.api.cluster(),
        root_ca: AUTHORITY.to_owned(),
        event_lifetime: Duration::from_secs(3600),
        signing: None,
        api_port: 6443,
        api_servers: Arc::new(Vec::new()),
    };
    let (controllers, handle) = Controllers::new(options);
    tokio::spawn(controllers.run());
    (server, handle)
}

/// Waits until a path answers 200.
async fn until_there(server: &Server, path: &str) -> Value {
    for _ in 0..2000 {
        let answer = server.get(path).await;
        if answer.status == 200 {
            return answer.json();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} does not come")
}

/// A resource that informers watch.
struct Watched {
    /// Across all namespaces.
    path: String,
    kind: String,
}

/// Every resource that can be listed and watched, from the aggregated documents.
async fn watched(server: &Server) -> Vec<Watched> {
    let mut all = Vec::new();
    for root in ["/api", "/apis"] {
        let document = server.get_as(root, DISCOVERY).await.json();
        for group in document["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().map(|name| format!("/{name}"));
            for version in group["versions"].as_array().unwrap() {
                let base = format!(
                    "{root}{}/{}",
                    name.as_deref().unwrap_or_default(),
                    version["version"].as_str().unwrap()
                );
                for resource in version["resources"].as_array().unwrap() {
                    let verbs = resource["verbs"].as_array().unwrap();
                    if verbs.contains(&"list".into()) && verbs.contains(&"watch".into()) {
                        let plural = resource["resource"].as_str().unwrap();
                        let kind = resource["responseKind"]["kind"].as_str().unwrap().to_owned();
                        all.push(Watched { path: format!("{base}/{plural}"), kind });
                    }
                }
            }
        }
    }
    all
}

/// The frames of a watch in protobuf.
struct Frames {
    body: Body,
    rest: Vec<u8>,
}

/// One event: its type, and the envelope of its object.
struct Frame(Vec<u8>);

impl Frames {
    async fn next(&mut self) -> Frame {
        loop {
            if let Some((length, rest)) = self.rest.split_first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if rest.len() >= length {
                    let frame = rest[..length].to_vec();
                    self.rest.drain(..4 + length);
                    return Frame(frame);
                }
            }
            let data = self.body.frame().await.expect("a further event").unwrap();
            self.rest.extend_from_slice(&data.into_data().unwrap());
        }
    }
}

impl Frame {
    fn ty(&self) -> &str {
        let length = usize::from(self.0[1]);
        std::str::from_utf8(&self.0[2..2 + length]).unwrap()
    }

    fn envelope(&self) -> Envelope<'_> {
        let start = self.0.windows(4).position(|bytes| bytes == b"k8s\0").expect("an envelope");
        Envelope::read(&self.0[start..]).unwrap()
    }

    /// The object's metadata, which comes first in every message.
    fn metadata(&self, graph: &Graph) -> Value {
        let ty = graph.type_named("meta/v1.PartialObjectMetadata").unwrap().id;
        let value = decode_message(graph, ty, self.envelope().raw).unwrap();
        let mut out = Vec::new();
        quorate_wire::json::write(&value, &mut out);
        serde_json::from_slice::<Value>(&out).unwrap()["metadata"].clone()
    }
}

/// Watches as reflectors do: everything that there is, then a bookmark with its version, from which
/// a second watch goes on. Gives how many objects came.
async fn inform(
    server: &Server,
    graph: &Graph,
    watched: &Watched,
    accept: &str,
    kind: &str,
) -> usize {
    let open = async |query: &str| {
        let path = format!("{}?{query}", watched.path);
        let (status, headers, body) =
            server.open(Method::GET, &path, &[("accept", accept)], "").await;
        assert_eq!(status, 200, "{path} as {accept}");
        let media = headers["content-type"].to_str().unwrap();
        assert_eq!(media, "application/vnd.kubernetes.protobuf;stream=watch", "{path}");
        Frames { body, rest: Vec::new() }
    };
    let (mut frames, mut count) = (open(WATCH_LIST).await, 0);
    let bookmark = loop {
        let frame = frames.next().await;
        assert_eq!(frame.envelope().kind, kind, "{}", watched.path);
        if frame.ty() == "BOOKMARK" {
            break frame;
        }
        assert_eq!(frame.ty(), "ADDED", "{}", watched.path);
        count += 1;
    };
    let metadata = bookmark.metadata(graph);
    assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true", "{}", watched.path);
    let version = metadata["resourceVersion"].as_str().unwrap();
    drop(frames);
    drop(
        open(&format!(
            "allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=300&watch=true"
        ))
        .await,
    );
    count
}

/// Lists as reflectors do where they do not begin with a watch.
async fn list(server: &Server, watched: &Watched, accept: &str, kind: &str) {
    for query in ["limit=500&resourceVersion=0", "limit=500"] {
        let path = format!("{}?{query}", watched.path);
        let answer = server.get_as(&path, accept).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/vnd.kubernetes.protobuf", "{path}");
        assert_eq!(Envelope::read(&answer.body).unwrap().kind, kind, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_resource_is_an_informer() {
    let (server, _controllers) = start().await;
    until_there(&server, "/api/v1/namespaces/default/services/kubernetes").await;
    let graph = Graph::builtin(Naming::Kubernetes.names());
    let all = watched(&server).await;
    assert!(all.len() >= 59, "{}", all.len());
    let mut found = 0;
    for watched in &all {
        found += inform(&server, &graph, watched, PROTOBUF, &watched.kind).await;
        list(&server, watched, PROTOBUF, &format!("{}List", watched.kind)).await;
        let partial = "PartialObjectMetadata";
        inform(&server, &graph, watched, METADATA, partial).await;
        list(&server, watched, METADATA_LIST, &format!("{partial}List")).await;
    }
    assert!(found > 100, "roles, bindings, priority levels and more are there: {found}");
    // Of custom resources garbage collection and quotas need the metadata.
    let custom = Watched { path: define(&server).await, kind: "Thing".to_owned() };
    inform(&server, &graph, &custom, METADATA, "PartialObjectMetadata").await;
    list(&server, &custom, METADATA_LIST, "PartialObjectMetadataList").await;
}

/// Defines a custom resource; gives its path once it is served.
async fn define(server: &Server) -> String {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "things", "kind": "Thing"}},
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let answer = server.send(Method::POST, path, &[], definition.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let path = "/apis/example.com/v1/things";
    until_there(server, path).await;
    path.to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_components_read_at_their_start_is_there() {
    let (server, _controllers) = start().await;
    let system = "/api/v1/namespaces/kube-system/configmaps";
    let tracking = "kube-apiserver-legacy-service-account-token-tracking";
    let since =
        until_there(&server, &format!("{system}/{tracking}")).await["data"]["since"].clone();
    let since = since.as_str().unwrap().to_owned();
    assert!(since.len() == 10 && since.starts_with("20"), "{since}");
    let path = format!("{system}/extension-apiserver-authentication");
    assert_eq!(until_there(&server, &path).await["data"]["client-ca-file"], AUTHORITY);
    // What a client has put beside them stays; what it has spoilt is put right.
    let headers = [("content-type", "application/merge-patch+json")];
    let patch = r#"{"data":{"client-ca-file":"odd","requestheader-allowed-names":"[]"}}"#;
    assert_eq!(server.send(Method::PATCH, &path, &headers, patch).await.status, 200);
    let put_right = async || {
        for _ in 0..100 {
            let data = server.get(&path).await.json()["data"].clone();
            if data["client-ca-file"] == AUTHORITY {
                return data;
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        panic!("it stays as it is");
    };
    assert_eq!(put_right().await["requestheader-allowed-names"], "[]");
    // Parts of collections that informers and reflectors ask for.
    let pods = "/api/v1/pods?limit=500&resourceVersion=0&fieldSelector";
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector";
    for (path, expect) in [
        (format!("{pods}=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"), 200),
        (format!("{pods}=spec.nodeName%3Dn"), 200),
        (format!("{system}?fieldSelector=metadata.name%3D{tracking}"), 200),
        ("/api/v1/namespaces/kube-system/secrets?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken".into(), 200),
        (format!("{requests}=spec.signerName%3Dkubernetes.io%2Fkubelet-serving"), 200),
        ("/api/v1/events?fieldSelector=involvedObject.kind%3DPod".into(), 200),
        ("/api/v1/nodes?labelSelector=%21node.kubernetes.io%2Fexclude-from-external-load-balancers".into(), 200),
    ] {
        assert_eq!(server.get_as(&path, PROTOBUF).await.status, expect, "{path}");
    }
    for (path, expect) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/version", 200),
        ("/openapi/v2", 200),
        ("/api/v1/namespaces/kube-system/serviceaccounts/default", 200),
        ("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler", 404),
    ] {
        assert_eq!(server.get(path).await.status, expect, "{path}");
    }
}
