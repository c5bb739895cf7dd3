//! References of a pod to objects that its node needs, and of a volume to its claim and secrets.

use quorate_meta::Value;

use super::graph::{Vertex, VertexKind};

/// The end of the annotation of a mirror pod, in either naming profile. Nodes create mirror pods,
/// so these must not relate their node to anything.
const MIRROR: &str = "/config.mirror";

/// The service account of pods that name none.
const DEFAULT_ACCOUNT: &str = "default";

/// Sources of volumes that may have a `secretRef`.
const WITH_SECRET_REF: [&str; 7] =
    ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];

/// The service account that a pod runs as; `None` for a mirror pod that names none.
pub fn service_account(pod: &Value) -> Option<&str> {
    let named = pod.str_at(&["spec", "serviceAccountName"]).filter(|name| !name.is_empty());
    named.or_else(|| (!is_mirror(pod)).then_some(DEFAULT_ACCOUNT))
}

/// Everything that the node of a pod needs for it.
pub(super) fn of_pod(namespace: &str, name: &str, pod: &Value) -> Vec<Vertex> {
    if is_mirror(pod) {
        return Vec::new();
    }
    let mut found = named(namespace, name, pod);
    if !found.iter().any(|vertex| vertex.kind == VertexKind::Account) {
        found.extend(
            service_account(pod)
                .map(|account| Vertex::new(VertexKind::Account, namespace, account)),
        );
    }
    found
}

/// Whether a pod is the mirror of one that a node runs by itself (a static pod).
pub(super) fn is_mirror(pod: &Value) -> bool {
    let annotations = pod.at(&["metadata", "annotations"]).and_then(Value::as_map);
    annotations.is_some_and(|annotations| annotations.keys().any(|key| key.ends_with(MIRROR)))
}

/// Whether a volume of a pod projects a token of its service account, which the pod need not name.
pub(super) fn has_token(pod: &Value) -> bool {
    let token =
        |source: &Value| source.at(&["serviceAccountToken"]).is_some_and(|token| !token.is_null());
    list(pod, &["spec", "volumes"])
        .iter()
        .any(|volume| list(volume, &["projected", "sources"]).iter().any(token))
}

/// Everything that a pod names, also a mirror pod.
pub(super) fn named(namespace: &str, name: &str, pod: &Value) -> Vec<Vertex> {
    let mut found = References { namespace, all: Vec::new() };
    found.add(VertexKind::Account, pod.str_at(&["spec", "serviceAccountName"]));
    for reference in list(pod, &["spec", "imagePullSecrets"]) {
        found.add(VertexKind::Secret, reference.str_at(&["name"]));
    }
    for containers in ["initContainers", "containers", "ephemeralContainers"] {
        list(pod, &["spec", containers]).iter().for_each(|container| found.container(container));
    }
    list(pod, &["spec", "volumes"]).iter().for_each(|volume| found.volume(name, volume));
    for claim in list(pod, &["spec", "resourceClaims"]) {
        found.add(VertexKind::ResourceClaim, resource_claim(pod, claim));
    }
    let extended = pod.str_at(&["status", "extendedResourceClaimStatus", "resourceClaimName"]);
    found.add(VertexKind::ResourceClaim, extended);
    found.all
}

struct References<'a> {
    namespace: &'a str,
    all: Vec<Vertex>,
}

impl References<'_> {
    fn add(&mut self, kind: VertexKind, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.all.push(Vertex::new(kind, self.namespace, name));
        }
    }

    fn container(&mut self, container: &Value) {
        for source in list(container, &["envFrom"]) {
            self.add(VertexKind::Secret, source.str_at(&["secretRef", "name"]));
            self.add(VertexKind::ConfigMap, source.str_at(&["configMapRef", "name"]));
        }
        for variable in list(container, &["env"]) {
            self.add(VertexKind::Secret, variable.str_at(&["valueFrom", "secretKeyRef", "name"]));
            self.add(
                VertexKind::ConfigMap,
                variable.str_at(&["valueFrom", "configMapKeyRef", "name"]),
            );
        }
    }

    fn volume(&mut self, pod: &str, volume: &Value) {
        self.add(VertexKind::Secret, volume.str_at(&["secret", "secretName"]));
        self.add(VertexKind::Secret, volume.str_at(&["azureFile", "secretName"]));
        self.add(VertexKind::Secret, volume.str_at(&["csi", "nodePublishSecretRef", "name"]));
        for source in WITH_SECRET_REF {
            self.add(VertexKind::Secret, volume.str_at(&[source, "secretRef", "name"]));
        }
        self.add(VertexKind::ConfigMap, volume.str_at(&["configMap", "name"]));
        for source in list(volume, &["projected", "sources"]) {
            self.add(VertexKind::Secret, source.str_at(&["secret", "name"]));
            self.add(VertexKind::ConfigMap, source.str_at(&["configMap", "name"]));
        }
        self.add(VertexKind::Claim, volume.str_at(&["persistentVolumeClaim", "claimName"]));
        if volume.at(&["ephemeral"]).is_some_and(|ephemeral| !ephemeral.is_null()) {
            let own = volume.str_at(&["name"]).unwrap_or_default();
            self.add(VertexKind::Claim, Some(&format!("{pod}-{own}")));
        }
    }
}

/// The name of the claim that an entry of a pod means; one made from a template is told in the
/// status.
fn resource_claim<'p>(pod: &'p Value, claim: &'p Value) -> Option<&'p str> {
    if let Some(name) = claim.str_at(&["resourceClaimName"]) {
        return Some(name);
    }
    let statuses = list(pod, &["status", "resourceClaimStatuses"]);
    let own = statuses.iter().find(|status| status.str_at(&["name"]) == claim.str_at(&["name"]));
    own?.str_at(&["resourceClaimName"])
}

/// The claim of a bound volume, and the secrets that its node needs.
pub(super) fn of_volume(volume: &Value) -> Option<(Vertex, Vec<Vertex>)> {
    let claim = volume.at(&["spec", "claimRef"]).filter(|claim| !claim.is_null())?;
    let of_claim = |field: &str| claim.str_at(&[field]).unwrap_or_default();
    let namespace = of_claim("namespace");
    let mut secrets = Vec::new();
    let mut add = |own_namespace: Option<&str>, name: Option<&str>| {
        let namespace = own_namespace.filter(|own| !own.is_empty()).unwrap_or(namespace);
        secrets.extend(
            name.filter(|name| !name.is_empty())
                .map(|name| Vertex::new(VertexKind::Secret, namespace, name)),
        );
    };
    let text = |path: &[&str]| volume.str_at(&[&["spec"][..], path].concat());
    add(text(&["azureFile", "secretNamespace"]), text(&["azureFile", "secretName"]));
    for source in WITH_SECRET_REF {
        add(text(&[source, "secretRef", "namespace"]), text(&[source, "secretRef", "name"]));
    }
    // Those that only controllers use stay hidden.
    for reference in ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"] {
        add(text(&["csi", reference, "namespace"]), text(&["csi", reference, "name"]));
    }
    Some((Vertex::new(VertexKind::Claim, namespace, of_claim("name")), secrets))
}

fn list<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    value.at(path).and_then(Value::as_list).unwrap_or_default()
}
