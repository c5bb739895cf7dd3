//! The node authorizer: a node reads what pods bound to it refer to, looks after its own Node, its
//! pods and their status, its lease and its CSINode, and gets tokens for the service accounts of
//! its pods.
//!
//! Invariants: it never denies a request, so other modes may allow more; an object that exists is
//! known by its name, or by the pods of the node. An object that is to be created has no name yet:
//! that is let through here and checked by the `NodeRestriction` when it is written.

use std::sync::Arc;

use quorate_meta::Names;
use quorate_meta::well_known::{GROUP_NODES, USER_NODE_PREFIX};
use quorate_store::Store;

use super::graph::{Graph, VertexKind};
use super::{Check, ensure};
use crate::authentication::User;
use crate::authorization::rbac::{Rule, default_objects};
use crate::authorization::{Action, Decision, Operator, ResourceAction};
use quorate_registry::Catalogue;
use quorate_registry::derived::{DerivedState, DerivedStateOptions};

/// The field that names the node of an object.
pub(super) const NODE_NAME: &str = "spec.nodeName";

/// API groups with resources of which a node sees a part.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) certificates: String,
    pub(super) coordination: String,
    pub(super) resource: String,
    pub(super) storage: String,
}

/// Decides what nodes may do.
#[derive(Debug)]
pub(in crate::authorization) struct NodeAuthorizer {
    pub(in crate::authorization) graph: Arc<DerivedState<Graph>>,
    /// The rules of the role `system:node`.
    rules: Vec<Rule>,
    pub(super) groups: Groups,
    pub(super) names: &'static Names,
}

impl NodeAuthorizer {
    /// `None` when the catalogue does not have what pods refer to.
    pub(in crate::authorization) fn new(
        names: &'static Names,
        catalogue: &Catalogue,
        store: Arc<dyn Store>,
    ) -> Option<Self> {
        let [certificates, coordination, resource, storage] =
            ["certificates", "coordination", "resource", "storage"]
                .map(|neutral| names.group(neutral));
        let find = |group: &str, plural: &str| catalogue.find_builtin(group, "v1", plural).cloned();
        let resources = vec![
            find("", "pods")?,
            find("", "persistentvolumes")?,
            find(&storage, "volumeattachments")?,
            find(&resource, "resourceslices")?,
        ];
        let prefixes = resources.iter().map(|resource| resource.prefix(None)).collect();
        let what = "pods, volumes and what belongs to nodes";
        let role = default_objects(names, |_| true)
            .into_iter()
            .find(|role| role.name == "system:node" && !role.is_binding)?;
        Some(Self {
            graph: Arc::new(DerivedState::new(DerivedStateOptions {
                store,
                resources,
                prefixes,
                what,
            })),
            rules: Rule::of_role(&role.object),
            groups: Groups { certificates, coordination, resource, storage },
            names,
        })
    }

    /// The name of the node that a user is; `None` for every other user.
    pub(in crate::authorization) fn node_name(user: &User) -> Option<&str> {
        user.name.strip_prefix(USER_NODE_PREFIX).filter(|_| user.is_in(GROUP_NODES))
    }

    /// Allows what a node may; has no opinion otherwise.
    pub(in crate::authorization) async fn decide(
        &self,
        user: &User,
        action: &Action<'_>,
    ) -> Decision {
        let Some(node) = Self::node_name(user) else {
            return Decision::default();
        };
        if node.is_empty() {
            let reason = format!("unknown node for user {:?}", user.name);
            return Decision { reason, ..Decision::default() };
        }
        let graph = match self.graph.current().await {
            Ok(graph) => graph,
            Err(error) => {
                return Decision { error: error.into_status().message, ..Decision::default() };
            }
        };
        match self.may(&graph, node, action) {
            Ok(()) => Decision::allow(""),
            Err(reason) => Decision { reason, ..Decision::default() },
        }
    }

    fn may(&self, graph: &Graph, node: &str, action: &Action<'_>) -> Check {
        let on = match action {
            Action::Resource(on) => on,
            Action::Path { verb, path } => {
                return ensure(self.rules.iter().any(|rule| rule.allows_path(verb, path)), "");
            }
        };
        let request = NodeRequest { graph, node, on };
        let Groups { coordination, resource, storage, .. } = &self.groups;
        match (on.group, on.resource) {
            ("", "secrets") => request.read(VertexKind::Secret),
            ("", "configmaps") => request.read(VertexKind::ConfigMap),
            ("", "persistentvolumeclaims") if on.subresource == "status" => request.report_claim(),
            ("", "persistentvolumeclaims") => request.get(VertexKind::Claim),
            ("", "persistentvolumes") => request.get(VertexKind::Volume),
            ("", "serviceaccounts") => request.use_service_account(),
            ("", "nodes") => request.access_node(),
            ("", "pods") => request.access_pods(),
            (group, "resourceclaims") if group == resource => {
                request.get(VertexKind::ResourceClaim)
            }
            (group, "resourceslices") if group == resource => request.access_slices(),
            (group, "volumeattachments") if group == storage => request.get(VertexKind::Attachment),
            (group, "csinodes") if group == storage => {
                ensure(on.subresource.is_empty(), "cannot authorize CSINode subresources")?;
                request.access_own("CSINode")
            }
            (group, "leases") if group == coordination => {
                let why = format!(
                    "can only access leases in the {:?} system namespace",
                    self.names.namespace_node_lease
                );
                ensure(on.namespace == self.names.namespace_node_lease, &why)?;
                request.access_own("node lease")
            }
            _ => ensure(self.rules.iter().any(|rule| rule.allows_resource(on)), ""),
        }
    }
}

/// A request of a node for one resource.
struct NodeRequest<'a> {
    graph: &'a Graph,
    node: &'a str,
    on: &'a ResourceAction<'a>,
}

impl NodeRequest<'_> {
    /// Reads one object that is related to the node, or watches it.
    fn read(&self, kind: VertexKind) -> Check {
        self.verb(&["get", "list", "watch"], "can only read resources of this type")?;
        ensure(self.on.subresource.is_empty(), "cannot read subresource")?;
        ensure(!self.on.namespace.is_empty(), "can only read namespaced object of this type")?;
        self.is_related(kind)
    }

    fn get(&self, kind: VertexKind) -> Check {
        self.verb(&["get"], "can only get individual resources of this type")?;
        ensure(self.on.subresource.is_empty(), "cannot get subresource")?;
        self.is_related(kind)
    }

    /// Reports how far a claim of its pods has grown.
    fn report_claim(&self) -> Check {
        self.verb(&["update", "patch"], "can only update or patch the status of this type")?;
        self.is_related(VertexKind::Claim)
    }

    fn use_service_account(&self) -> Check {
        match (self.on.verb, self.on.subresource) {
            ("get", "") => self.read(VertexKind::Account),
            ("create", "token") => self.is_related(VertexKind::Account),
            _ => {
                Err("can only get service accounts of its pods and create tokens for them"
                    .to_owned())
            }
        }
    }

    /// An object of the node's own name. A creation goes through: its name is looked at with the
    /// object.
    fn access_own(&self, what: &str) -> Check {
        let why = format!("can only get, create, update, patch, or delete a {what}");
        self.verb(&["get", "create", "update", "patch", "delete"], &why)?;
        let why = format!("can only access {what} with the same name as the requesting node");
        ensure(self.on.verb == "create" || self.on.name == self.node, &why)
    }

    /// All but creation goes by the name, so that a node can look for its Node before that exists.
    fn access_node(&self) -> Check {
        let node = self.node;
        match (self.on.subresource, self.on.verb) {
            ("", "create") => Ok(()),
            ("" | "status", "update" | "patch") => {
                let why = format!(
                    "node '{node}' cannot change '{}', only its own Node object",
                    self.on.name
                );
                ensure(self.on.name == node, &why)
            }
            ("", "get" | "list" | "watch") => match &*self.on.name {
                own if own == node => Ok(()),
                "" => Err(format!("node '{node}' cannot read all nodes, only its own Node object")),
                other => {
                    Err(format!("node '{node}' cannot read '{other}', only its own Node object"))
                }
            },
            _ => Err(String::new()),
        }
    }

    fn access_pods(&self) -> Check {
        match (self.on.subresource, self.on.verb) {
            ("", "get" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                self.is_related(VertexKind::Pod)
            }
            ("", "list" | "watch") if self.selects(NODE_NAME) => Ok(()),
            ("", "list" | "watch") if !self.on.name.is_empty() => self.is_related(VertexKind::Pod),
            ("", "list" | "watch") => {
                Err("can only list/watch pods with spec.nodeName field selector".to_owned())
            }
            ("", "create") => Ok(()),
            _ => Err(String::new()),
        }
    }

    fn access_slices(&self) -> Check {
        ensure(self.on.subresource.is_empty(), "cannot authorize ResourceSlice subresources")?;
        match self.on.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.is_related(VertexKind::Slice),
            "list" | "watch" | "deletecollection" => ensure(
                self.selects(NODE_NAME),
                "can only list/watch/deletecollection resourceslices with spec.nodeName field selector",
            ),
            _ => Err("no other verbs are allowed for a ResourceSlice".to_owned()),
        }
    }

    fn verb(&self, verbs: &[&str], why: &str) -> Check {
        ensure(verbs.contains(&self.on.verb), why)
    }

    /// Whether a field selector leaves only objects of this node.
    fn selects(&self, field: &str) -> bool {
        self.on.fields.iter().any(|requirement| {
            requirement.key == field
                && requirement.operator == Operator::In
                && requirement.values == [self.node]
        })
    }

    fn is_related(&self, kind: VertexKind) -> Check {
        ensure(!self.on.name.is_empty(), "No Object name found")?;
        let why = format!("no relationship found between node '{}' and this object", self.node);
        ensure(self.graph.relates(self.node, kind, self.on.namespace, &self.on.name), &why)
    }
}
