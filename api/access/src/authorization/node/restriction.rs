//! Restrictions on what a node writes that only the object tells (the NodeRestriction admission of
//! Kubernetes), and on the tokens that it requests.
//!
//! A node creates objects for itself alone, CertificateSigningRequests among them, and only mirror
//! pods that refer to nothing and are deleted with it. It reports the status of pods, not what
//! they are or use; of persistent volume claims, their size (`claim_status`); of its own Node,
//! nothing that restricts scheduling (`own_node`). It gets tokens for service accounts of its pods,
//! so that each ends with its pod. Invariants: where the node authorizer is configured, all this
//! holds for every node, whichever authorization mode has allowed the request; members of
//! `system:masters` are not restricted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{Names, Status, Value};

use super::authorizer::{Groups, NODE_NAME, NodeAuthorizer};
use super::graph::VertexKind;
use super::{Check, claim_status, ensure, own_node, references};
use crate::authentication::User;
use crate::authentication::token::BoundObjectReference;
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_wire::pem_text::common_names;

/// Fields of a pod that relate it to others, or to claims, and are not its node's to report.
const NOT_REPORTED: [&[&str]; 3] = [
    &["metadata", "labels"],
    &["status", "resourceClaimStatuses"],
    &["status", "extendedResourceClaimStatus"],
];

/// A node, for whose writes all this holds.
#[derive(Debug)]
pub struct NodeRestriction<'a> {
    authorizer: &'a NodeAuthorizer,
    user: &'a User,
    /// The name of the node.
    node: &'a str,
}

impl<'a> NodeRestriction<'a> {
    /// `None` when the user is not a node, or not restricted.
    pub(in crate::authorization) fn of(
        authorizer: &'a NodeAuthorizer,
        user: &'a User,
    ) -> Option<Self> {
        let node = NodeAuthorizer::node_name(user).filter(|_| !user.is_in(GROUP_MASTERS))?;
        Some(Self { authorizer, user, node })
    }

    /// Lets through an object that the node may write, in the place of `old` if it was there
    /// before.
    ///
    /// # Errors
    /// 403 otherwise.
    pub fn check_object(
        &self,
        target: Target<'_>,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Error> {
        let check = match old {
            None => self.may_create(target, new),
            Some(old) => self.may_change(target, old, new),
        };
        check.map_err(|why| refused(target, &why))
    }

    /// Lets through a token of the service account `target`, with the object that it is bound to
    /// and whether the request has the uid of that object.
    ///
    /// # Errors
    /// 403 otherwise.
    pub fn check_token(
        &self,
        target: Target<'_>,
        bound: Option<&BoundObjectReference>,
        by_uid: bool,
    ) -> Result<(), Error> {
        may_get_token(self.node, bound, by_uid).map_err(|why| refused(target, &why))
    }

    fn may_create(&self, target: Target<'_>, object: &Value) -> Check {
        let Self { authorizer, user, node } = *self;
        ensure(!node.is_empty(), "could not determine node identity from user")?;
        let own_name = |what: &str| {
            let why =
                format!("node {node:?} can only create a {what} with the same name as its own");
            ensure(target.name == node, &why)
        };
        let names = authorizer.names;
        let Groups { certificates, coordination, resource, storage } = &authorizer.groups;
        match (target.resource.group.as_str(), target.resource.plural.as_str()) {
            ("", "pods") => {
                may_create_pod(names, node, target.namespace.unwrap_or_default(), object)
            }
            ("", "nodes") => {
                own_name("Node")?;
                own_node::may_create(names, object)
            }
            ("", "persistentvolumeclaims") => Err("may only update PVC status".to_owned()),
            (group, "certificatesigningrequests") if group == certificates => {
                may_request_certificate(names, &user.name, object)
            }
            (group, "csinodes") if group == storage => own_name("CSINode"),
            (group, "leases")
                if group == coordination
                    && target.namespace == Some(names.namespace_node_lease) =>
            {
                own_name("node lease")
            }
            (group, "resourceslices") if group == resource => {
                let why = format!(
                    "node {node:?} can only create resourceslices with {NODE_NAME} set to itself"
                );
                ensure(object.str_at(&["spec", "nodeName"]) == Some(node), &why)
            }
            _ => Ok(()),
        }
    }

    fn may_change(&self, target: Target<'_>, old: &Value, new: &Value) -> Check {
        match (target.resource.group.as_str(), target.resource.plural.as_str()) {
            ("", "pods") => may_change_pod(self.node, old, new),
            ("", "nodes") => own_node::may_change(self.authorizer.names, self.node, old, new),
            ("", "persistentvolumeclaims") => claim_status::may_change(self.node, old, new),
            _ => Ok(()),
        }
    }
}

fn refused(target: Target<'_>, why: &str) -> Error {
    Status::forbidden(&target.resource.group_resource(), target.name, why).into()
}

/// A mirror pod, which relates its node to nothing even if it came to be an ordinary pod.
fn may_create_pod(names: &Names, node: &str, namespace: &str, pod: &Value) -> Check {
    let key = names.domain_key("config.mirror");
    let why =
        format!("pod does not have {key:?} annotation, node {node:?} can only create mirror pods");
    ensure(references::is_mirror(pod), &why)?;
    let why = format!("node {node:?} can only create pods with {NODE_NAME} set to itself");
    ensure(pod.str_at(&["spec", "nodeName"]) == Some(node), &why)?;
    is_owned_by_node(node, pod)?;
    let refuse =
        |what: &str| Err(format!("node {node:?} can not create pods that reference {what}"));
    // The status of a pod may come to name what is made from a template.
    if filled(pod, &["spec", "resourceClaims"]).is_some() {
        return refuse(plural(VertexKind::ResourceClaim));
    }
    // Claims of ephemeral volumes are named after the pod; what counts is only whether there are
    // some.
    if let Some(found) = references::named(namespace, "", pod).first() {
        return refuse(plural(found.kind));
    }
    if references::has_token(pod) { refuse("service account tokens") } else { Ok(()) }
}

/// A serving or client certificate of a kubelet: only for the node itself.
fn may_request_certificate(names: &Names, user: &str, request: &Value) -> Check {
    let signer = request.str_at(&["spec", "signerName"]).unwrap_or_default();
    if ![names.signer_node_agent_serving, names.signer_client_node_agent].contains(&signer) {
        return Ok(());
    }
    let text = STANDARD
        .decode(request.str_at(&["spec", "request"]).unwrap_or_default())
        .unwrap_or_default();
    let names = common_names(&text).map_err(|why| format!("unable to parse csr: {why}"))?;
    ensure(names == [user], &format!("can only create a node CSR with CN={user}"))
}

/// Whether a pod is deleted with its Node. An owner of that name with another uid does not exist
/// any more.
fn is_owned_by_node(node: &str, pod: &Value) -> Check {
    let owners =
        pod.at(&["metadata", "ownerReferences"]).and_then(Value::as_list).unwrap_or_default();
    let [owner] = owners else {
        let how = if owners.is_empty() { "an" } else { "a single" };
        return Err(format!(
            "node {node:?} can only create pods with {how} owner reference set to itself"
        ));
    };
    let says = |field: &str, value: &str| owner.str_at(&[field]) == Some(value);
    let flag = |field: &str| owner.get(field).and_then(Value::as_bool).unwrap_or_default();
    let why = format!("node {node:?} can only create pods with an owner reference set to itself");
    ensure(says("apiVersion", "v1") && says("kind", "Node") && says("name", node), &why)?;
    let why = format!(
        "node {node:?} can only create pods with a controller owner reference set to itself"
    );
    ensure(flag("controller"), &why)?;
    let why = format!("node {node:?} must not set blockOwnerDeletion on an owner reference");
    ensure(!flag("blockOwnerDeletion"), &why)
}

fn may_get_token(node: &str, bound: Option<&BoundObjectReference>, by_uid: bool) -> Check {
    let Some(BoundObjectReference::Pod(_, at)) = bound else {
        return Err("node requested token not bound to a pod".to_owned());
    };
    ensure(by_uid, "node requested token with a pod binding without a uid")?;
    let is_own = at.as_ref().is_some_and(|at| at.name == node);
    ensure(is_own, "node requested token bound to a pod scheduled on a different node")
}

/// What a pod refers to, as refusals name it.
fn plural(kind: VertexKind) -> &'static str {
    match kind {
        VertexKind::Account => "a service account",
        VertexKind::Claim => "persistentvolumeclaims",
        VertexKind::ConfigMap => "configmaps",
        VertexKind::ResourceClaim => "resourceclaims",
        VertexKind::Secret => "secrets",
        VertexKind::Attachment | VertexKind::Pod | VertexKind::Slice | VertexKind::Volume => {
            "other objects"
        }
    }
}

fn may_change_pod(node: &str, old: &Value, new: &Value) -> Check {
    for path in NOT_REPORTED {
        let why = format!("node {node:?} cannot change {} of pods", path.join("."));
        ensure(filled(old, path) == filled(new, path), &why)?;
    }
    // A mirror pod that became an ordinary one would run as the default service account.
    let why = format!("node {node:?} cannot turn mirror pods into others");
    ensure(references::is_mirror(old) == references::is_mirror(new), &why)
}

/// The value of a field that is not empty.
fn filled<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    object.at(path).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::token::ObjectIdentity;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    /// A pod that the node `n1` may create, but for one thing.
    fn pod_but(pointer: &str, value: Json) -> Value {
        let volume = json!({"name": "h", "hostPath": {"path": "/"}});
        let mut pod = json!({
            "metadata": {
                "annotations": {"kubernetes.io/config.mirror": "x"}, "labels": {"a": "b"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": true}],
            },
            "spec": {"nodeName": "n1", "serviceAccountName": "", "containers": [{"name": "c", "env": []}],
                     "imagePullSecrets": [], "resourceClaims": [], "volumes": [volume]},
            "status": {"phase": "Pending", "resourceClaimStatuses": []}
        });
        *pod.pointer_mut(pointer).expect(pointer) = value;
        pod.into()
    }

    /// A node creates that pod, and is refused for what is expected, or for nothing.
    fn check_pod(pointer: &str, value: Json, expect: &str) {
        let pod = pod_but(pointer, value.clone());
        let names = Naming::Kubernetes.names();
        let why = may_create_pod(names, "n1", "a", &pod).err().unwrap_or_default();
        assert!(
            why.contains(expect) && why.is_empty() == expect.is_empty(),
            "{pointer} {value}: {why}"
        );
    }

    #[test]
    fn a_node_creates_only_mirror_pods() {
        check_pod("/metadata/labels", json!({}), "");
        let not_mirror = r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods"#;
        check_pod("/metadata/annotations", json!({"other": "x"}), not_mirror);
    }

    #[test]
    fn a_node_creates_only_pods_of_its_own() {
        let of_itself = json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": true});
        let with = |field: &str, value: Json| {
            let mut owner = of_itself.clone();
            owner[field] = value;
            json!([owner])
        };
        let (owner, itself) = ("/metadata/ownerReferences", "an owner reference set to itself");
        check_pod(owner, json!([]), itself);
        let twice = json!([of_itself, of_itself]);
        check_pod(owner, twice, "a single owner reference set to itself");
        check_pod(owner, with("name", json!("n2")), itself);
        check_pod(owner, with("kind", json!("Pod")), itself);
        check_pod(owner, with("apiVersion", json!("v2")), itself);
        check_pod(owner, with("controller", json!(false)), "a controller owner reference");
        let blocks = with("blockOwnerDeletion", json!(true));
        check_pod(owner, blocks, "must not set blockOwnerDeletion");
        check_pod("/spec/nodeName", json!("n2"), "spec.nodeName set to itself");
        check_pod("/spec/nodeName", json!(""), "spec.nodeName set to itself");
    }

    #[test]
    fn a_node_creates_only_pods_that_refer_to_nothing() {
        let env = |source: Json| json!([{"name": "E", "valueFrom": source}]);
        let secret = env(json!({"secretKeyRef": {"name": "s", "key": "k"}}));
        let map = env(json!({"configMapKeyRef": {"name": "c", "key": "k"}}));
        let claims = json!([{"name": "c", "resourceClaimTemplateName": "t"}]);
        check_pod("/spec/serviceAccountName", json!("robot"), "a service account");
        check_pod("/spec/imagePullSecrets", json!([{"name": "s"}]), "secrets");
        check_pod("/spec/resourceClaims", claims, "resourceclaims");
        check_pod("/spec/containers/0/env", secret, "secrets");
        check_pod("/spec/containers/0/env", map, "configmaps");
    }

    #[test]
    fn a_node_creates_only_pods_whose_volumes_refer_to_nothing() {
        let check = |source: Json, expect: &str| {
            let mut volume = json!({"name": "v"});
            volume.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
            check_pod("/spec/volumes", json!([volume]), expect);
        };
        let projected = |source: Json| json!({"projected": {"sources": [source]}});
        let (token, claims) = ("service account tokens", "persistentvolumeclaims");
        check(json!({"secret": {"secretName": "s"}}), "secrets");
        check(json!({"configMap": {"name": "c"}}), "configmaps");
        check(json!({"persistentVolumeClaim": {"claimName": "c"}}), claims);
        check(json!({"ephemeral": {"volumeClaimTemplate": {}}}), claims);
        check(projected(json!({"secret": {"name": "s"}})), "secrets");
        check(projected(json!({"serviceAccountToken": {"path": "t"}})), token);
        check(projected(json!({"downwardAPI": {"items": []}})), "");
    }

    #[test]
    fn a_node_requests_its_own_certificates() {
        let names = Naming::Kubernetes.names();
        let check = |signer: &str, common_names: &[&str], expect: bool| {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            for name in common_names {
                params.distinguished_name.push(rcgen::DnType::CommonName, *name);
            }
            let key = rcgen::KeyPair::generate().unwrap();
            let text = STANDARD.encode(params.serialize_request(&key).unwrap().pem().unwrap());
            let request = json!({"spec": {"signerName": signer, "request": text}}).into();
            let verdict = may_request_certificate(names, "system:node:n1", &request);
            assert_eq!(verdict.is_ok(), expect, "{signer} {common_names:?}: {verdict:?}");
        };
        for signer in
            ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"]
        {
            check(signer, &["system:node:n1"], true);
            check(signer, &["system:node:n2"], false);
            check(signer, &[], false);
        }
        check("example.com/signer", &["system:node:n2"], true);
        let spec = json!({"signerName": names.signer_node_agent_serving, "request": "AAEC"});
        let refused =
            may_request_certificate(names, "system:node:n1", &json!({"spec": spec}).into())
                .unwrap_err();
        assert!(refused.starts_with("unable to parse csr: "), "{refused}");
    }

    #[test]
    fn a_node_gets_tokens_for_its_pods() {
        let named = |name: &str| ObjectIdentity { name: name.to_owned(), uid: "u".to_owned() };
        let check = |bound: Option<BoundObjectReference>, expect: bool| {
            let verdict = may_get_token("n1", bound.as_ref(), true);
            assert_eq!(verdict.is_ok(), expect, "{bound:?}: {verdict:?}");
            may_get_token("n1", bound.as_ref(), false).unwrap_err();
        };
        check(Some(BoundObjectReference::Pod(named("p"), Some(named("n1")))), true);
        check(Some(BoundObjectReference::Pod(named("p"), Some(named("n2")))), false);
        check(Some(BoundObjectReference::Pod(named("n1"), None)), false);
        check(Some(BoundObjectReference::Secret(named("n1"))), false);
        check(Some(BoundObjectReference::Node(named("n1"))), false);
        check(None, false);
    }

    #[test]
    fn a_node_reports_the_status_of_a_pod_only() {
        let old = pod_but("/status/phase", json!("Pending"));
        let check = |pointer: &str, value: Json, expect: bool| {
            let verdict = may_change_pod("n1", &old, &pod_but(pointer, value));
            assert_eq!(verdict.is_ok(), expect, "{pointer}: {verdict:?}");
        };
        check("/status/phase", json!("Running"), true);
        check("/status/resourceClaimStatuses", json!(null), true);
        check(
            "/status/resourceClaimStatuses",
            json!([{"name": "c", "resourceClaimName": "r"}]),
            false,
        );
        check("/metadata/labels", json!({"a": "c"}), false);
        check("/status", json!({"extendedResourceClaimStatus": {"resourceClaimName": "r"}}), false);
        check(
            "/metadata/annotations",
            json!({"kubernetes.io/config.mirror": "y", "other": "x"}),
            true,
        );
        check("/metadata/annotations", json!({"other": "x"}), false);
        check("/metadata/annotations", json!(null), false);
    }
}
