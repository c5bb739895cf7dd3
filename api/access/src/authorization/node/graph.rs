//! The graph of the node authorizer: the nodes that an object is related to, by pods bound to them,
//! by claims of those pods, by volumes of those claims.
//!
//! Invariants: immutable once shared, and a changed copy shares what has not changed. The edges of
//! a pod or volume depend on that object alone, so the object before a change says which edges to
//! remove; none stays behind.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use quorate_meta::Value;

use super::references;
use quorate_registry::derived::{Derived, ObjectChange};

/// The kind of an object that may be related to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VertexKind {
    Account,
    Attachment,
    Claim,
    ConfigMap,
    Pod,
    ResourceClaim,
    Secret,
    Slice,
    Volume,
}

/// An object; the namespace is empty for the cluster's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vertex {
    pub(super) kind: VertexKind,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
}

impl Vertex {
    pub(super) fn new(kind: VertexKind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }
}

/// All relations at one revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    /// How many edges relate an object to a node: its own, or those of pods.
    nodes: OrdMap<(Vertex, Arc<str>), u32>,
    /// The claim of each bound volume.
    claims: OrdMap<Arc<str>, Vertex>,
    /// The volumes that a secret is for.
    volumes: OrdMap<Vertex, OrdSet<Arc<str>>>,
}

impl Derived for Graph {
    fn update(&mut self, change: ObjectChange<'_>) {
        let ObjectChange { plural, namespace, name, old, new, .. } = change;
        if let Some(old) = old {
            self.add(plural, namespace, name, old, false);
        }
        if let Some(new) = new {
            self.add(plural, namespace, name, new, true);
        }
    }
}

impl Graph {
    /// Whether an object is related to a node.
    pub(super) fn relates(
        &self,
        node: &str,
        kind: VertexKind,
        namespace: &str,
        name: &str,
    ) -> bool {
        let of_volume = |volume: &Arc<str>| {
            self.claims.get(volume).is_some_and(|claim| self.is_at(claim, node))
        };
        if kind == VertexKind::Volume {
            return of_volume(&name.into());
        }
        let vertex = Vertex::new(kind, namespace, name);
        self.is_at(&vertex, node)
            || self.volumes.get(&vertex).is_some_and(|volumes| volumes.iter().any(of_volume))
    }

    fn is_at(&self, vertex: &Vertex, node: &str) -> bool {
        self.nodes.contains_key(&(vertex.clone(), node.into()))
    }

    /// Adds the edges of an object, or removes them.
    fn add(&mut self, plural: &str, namespace: &str, name: &str, object: &Value, adds: bool) {
        let own = match plural {
            "persistentvolumes" => return self.add_volume(name, object, adds),
            "pods" => VertexKind::Pod,
            "volumeattachments" => VertexKind::Attachment,
            "resourceslices" => VertexKind::Slice,
            _ => return,
        };
        let node = object.str_at(&["spec", "nodeName"]).unwrap_or_default();
        if node.is_empty() {
            return;
        }
        self.relate(Vertex::new(own, namespace, name), node, adds);
        if own == VertexKind::Pod {
            for vertex in references::of_pod(namespace, name, object) {
                self.relate(vertex, node, adds);
            }
        }
    }

    fn relate(&mut self, vertex: Vertex, node: &str, adds: bool) {
        let key = (vertex, Arc::from(node));
        let count = self.nodes.get(&key).copied().unwrap_or_default();
        match if adds { count + 1 } else { count.saturating_sub(1) } {
            0 => self.nodes.remove(&key),
            count => self.nodes.insert(key, count),
        };
    }

    fn add_volume(&mut self, name: &str, object: &Value, adds: bool) {
        let Some((claim, secrets)) = references::of_volume(object) else {
            return;
        };
        let name: Arc<str> = name.into();
        if adds {
            self.claims.insert(name.clone(), claim);
        } else {
            self.claims.remove(&name);
        }
        for secret in secrets {
            let mut volumes = self.volumes.get(&secret).cloned().unwrap_or_default();
            if adds {
                volumes.insert(name.clone());
            } else {
                volumes.remove(&name);
            }
            if volumes.is_empty() {
                self.volumes.remove(&secret);
            } else {
                self.volumes.insert(secret, volumes);
            }
        }
    }

    /// Whether nothing is left.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.claims.is_empty() && self.volumes.is_empty()
    }
}
