//! The graph against a model that looks through all objects: random pods and volumes are created,
//! changed and deleted, and then every question must have the same answer from both.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quorate_meta::{Naming, Value};
use serde_json::{Value as Json, json};

use super::graph::{Graph, VertexKind};
use quorate_registry::derived::{Derived, ObjectChange};

const NAMESPACES: [&str; 2] = ["a", "b"];
const NAMES: [&str; 3] = ["x", "y", "x-y"];
const NODES: [&str; 3] = ["", "n1", "n2"];
/// Plural names of what is stored.
const SOURCES: [&str; 4] = ["pods", "persistentvolumes", "volumeattachments", "resourceslices"];
const KINDS: [VertexKind; 9] = [
    VertexKind::Account,
    VertexKind::Attachment,
    VertexKind::Claim,
    VertexKind::ConfigMap,
    VertexKind::Pod,
    VertexKind::ResourceClaim,
    VertexKind::Secret,
    VertexKind::Slice,
    VertexKind::Volume,
];

/// The forms in which a pod refers to an object, and the kind of that object.
const FORMS: [VertexKind; 16] = [
    VertexKind::Secret,
    VertexKind::Secret,
    VertexKind::Secret,
    VertexKind::Secret,
    VertexKind::Secret,
    VertexKind::Secret,
    VertexKind::Secret,
    VertexKind::ConfigMap,
    VertexKind::ConfigMap,
    VertexKind::ConfigMap,
    VertexKind::ConfigMap,
    VertexKind::Claim,
    VertexKind::Claim,
    VertexKind::Account,
    VertexKind::ResourceClaim,
    VertexKind::ResourceClaim,
];

#[derive(Debug, Clone)]
enum StoredObject {
    Pod {
        node: &'static str,
        mirror: bool,
        references: Vec<(usize, &'static str)>,
    },
    Volume {
        claim: Option<(&'static str, &'static str)>,
        secret: (&'static str, &'static str),
        visible: bool,
    },
    Other {
        node: &'static str,
    },
}

fn pick(texts: &[&'static str], byte: u8) -> &'static str {
    texts[usize::from(byte) % texts.len()]
}

/// Source, namespace and name of what is put, and the object; `None` takes it away.
type GraphStep = ((usize, &'static str, &'static str), Option<StoredObject>);

fn step(bytes: [u8; 10]) -> GraphStep {
    let [gone, source, namespace, name, a, b, c, d, e, f] = bytes;
    let source = usize::from(source) % 6;
    // Pods are what most is about.
    let source = source.saturating_sub(2);
    let namespace = if source == 0 { pick(&NAMESPACES, namespace) } else { "" };
    let key = (source, namespace, pick(&NAMES, name));
    if gone % 4 == 0 {
        return (key, None);
    }
    let form = |byte: u8| usize::from(byte) % FORMS.len();
    let object = match source {
        0 => StoredObject::Pod {
            node: pick(&NODES, a),
            mirror: b % 8 == 0,
            references: vec![(form(c), pick(&NAMES, d)), (form(e), pick(&NAMES, f))],
        },
        1 => StoredObject::Volume {
            claim: (a % 4 > 0).then(|| (pick(&NAMESPACES, b), pick(&NAMES, c))),
            secret: (pick(&["a", "b", ""], d), pick(&NAMES, e)),
            visible: f % 3 > 0,
        },
        _ => StoredObject::Other { node: pick(&NODES, a) },
    };
    (key, Some(object))
}

/// The object as it is stored.
fn stored(object: &StoredObject) -> Value {
    match object {
        StoredObject::Other { node } => json!({"spec": {"nodeName": node}}).into(),
        StoredObject::Volume { claim, secret: (namespace, name), visible } => {
            let field = if *visible { "nodeStageSecretRef" } else { "controllerPublishSecretRef" };
            let mut spec = json!({"csi": {field: {"namespace": namespace, "name": name}}});
            if let Some((namespace, name)) = claim {
                spec["claimRef"] = json!({"namespace": namespace, "name": name});
            }
            json!({"spec": spec}).into()
        }
        StoredObject::Pod { node, mirror, references } => {
            let mut pod = json!({"metadata": {}, "spec": {"nodeName": node}, "status": {}});
            if *mirror {
                pod["metadata"]["annotations"] = json!({"svc.io/config.mirror": ""});
            }
            for (turn, (form, name)) in references.iter().enumerate() {
                refer(&mut pod, turn, *form, name);
            }
            pod.into()
        }
    }
}

fn refer(pod: &mut Json, turn: usize, form: usize, name: &str) {
    let (list, item) = match form {
        0 => ("volumes", json!({"name": "v", "secret": {"secretName": name}})),
        1 => ("volumes", json!({"name": "v", "csi": {"nodePublishSecretRef": {"name": name}}})),
        2 => ("volumes", json!({"name": "v", "flexVolume": {"secretRef": {"name": name}}})),
        3 => (
            "volumes",
            json!({"name": "v", "projected": {"sources": [{"secret": {"name": name}}]}}),
        ),
        4 => ("imagePullSecrets", json!({"name": name})),
        5 => ("containers", json!({"env": [{"valueFrom": {"secretKeyRef": {"name": name}}}]})),
        6 => ("initContainers", json!({"envFrom": [{"secretRef": {"name": name}}]})),
        7 => ("volumes", json!({"name": "v", "configMap": {"name": name}})),
        8 => (
            "volumes",
            json!({"name": "v", "projected": {"sources": [{"configMap": {"name": name}}]}}),
        ),
        9 => ("containers", json!({"envFrom": [{"configMapRef": {"name": name}}]})),
        10 => (
            "ephemeralContainers",
            json!({"env": [{"valueFrom": {"configMapKeyRef": {"name": name}}}]}),
        ),
        11 => ("volumes", json!({"name": "v", "persistentVolumeClaim": {"claimName": name}})),
        12 => ("volumes", json!({"name": name, "ephemeral": {"volumeClaimTemplate": {}}})),
        13 => return pod["spec"]["serviceAccountName"] = json!(name),
        14 => ("resourceClaims", json!({"name": "c", "resourceClaimName": name})),
        _ => {
            let own = format!("c{turn}");
            push(
                &mut pod["status"],
                "resourceClaimStatuses",
                json!({"name": own, "resourceClaimName": name}),
            );
            ("resourceClaims", json!({"name": own, "resourceClaimTemplateName": "t"}))
        }
    };
    push(&mut pod["spec"], list, item);
}

fn push(object: &mut Json, list: &str, item: Json) {
    match object[list].as_array_mut() {
        Some(items) => items.push(item),
        None => object[list] = json!([item]),
    }
}

type StoredObjects = BTreeMap<(usize, &'static str, &'static str), StoredObject>;

/// The answer of the model.
fn expected(
    objects: &StoredObjects,
    node: &str,
    kind: VertexKind,
    namespace: &str,
    name: &str,
) -> bool {
    objects.iter().any(|((source, own_namespace, own_name), object)| match object {
        StoredObject::Other { node: at } => {
            let own = if *source == 2 { VertexKind::Attachment } else { VertexKind::Slice };
            own == kind && *at == node && *own_name == name && namespace.is_empty()
        }
        StoredObject::Pod { node: at, .. } if *at != node || *own_namespace != namespace => false,
        StoredObject::Pod { mirror, references, .. } => {
            let own = kind == VertexKind::Pod && *own_name == name;
            // Of several accounts the last one is the pod's.
            let account =
                references.iter().rposition(|(form, _)| FORMS[*form] == VertexKind::Account);
            let refers = references.iter().enumerate().any(|(at, (form, referred))| {
                let named = if *form == 12 {
                    format!("{own_name}-{referred}")
                } else {
                    (*referred).to_owned()
                };
                FORMS[*form] == kind
                    && named == name
                    && (kind != VertexKind::Account || account == Some(at))
            });
            let is_default = kind == VertexKind::Account && account.is_none() && name == "default";
            own || ((refers || is_default) && !mirror)
        }
        StoredObject::Volume { claim: None, .. } => false,
        StoredObject::Volume { claim: Some((of, claim)), secret, visible } => {
            let secret_namespace = if secret.0.is_empty() { *of } else { secret.0 };
            let own = match kind {
                VertexKind::Volume => *own_name == name,
                VertexKind::Secret => *visible && (secret_namespace, secret.1) == (namespace, name),
                _ => false,
            };
            own && expected(objects, node, VertexKind::Claim, of, claim)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_graph_answers_as_the_objects_say(steps in prop::collection::vec(any::<[u8; 10]>(), 1..60)) {
        let mut graph = Graph::default();
        let mut objects = StoredObjects::new();
        let take = |graph: &mut Graph, key: (usize, &str, &str), before: Option<&StoredObject>, now: Option<&StoredObject>| {
            let (before, now) = (before.map(stored), now.map(stored));
            let (source, namespace, name) = key;
            let plural = SOURCES[source];
            graph.update(ObjectChange { plural, names: Naming::Svc.names(), namespace, name, old: before.as_ref(), new: now.as_ref(), at: quorate_store::Revision::ZERO });
        };
        for bytes in steps {
            let (key, now) = step(bytes);
            let before = match &now {
                Some(object) => objects.insert(key, object.clone()),
                None => objects.remove(&key),
            };
            take(&mut graph, key, before.as_ref(), now.as_ref());
        }
        for node in NODES {
            for kind in KINDS {
                for namespace in ["", "a", "b"] {
                    for name in ["x", "y", "x-y", "y-x", "x-x", "x-y-x", "default"] {
                        let (got, expect) = (
                            graph.relates(node, kind, namespace, name),
                            !node.is_empty() && expected(&objects, node, kind, namespace, name),
                        );
                        // The namespace of a volume does not count.
                        let expect = if kind == VertexKind::Volume {
                            !node.is_empty() && expected(&objects, node, kind, "", name)
                        } else {
                            expect
                        };
                        prop_assert_eq!(got, expect, "{} {:?} {}/{} {:?}", node, kind, namespace, name, objects);
                    }
                }
            }
        }
        for (key, object) in &objects {
            take(&mut graph, *key, Some(object), None);
        }
        prop_assert!(graph.is_empty(), "what has gone leaves nothing behind");
    }
}
