//! The write that policies are asked about: what rules, selectors and expressions look at.
//!
//! Invariant: what is read for it, such as its namespace, is read once, and only when something
//! asks for it.

use std::cell::OnceCell;
use std::sync::Arc;

use quorate_meta::{LabelSelector, Names, Value};
use quorate_registry::{Attributes, Resource};

use crate::snapshot_view::{SnapshotView, is_of};

/// One write in one state.
pub(crate) struct Subject<'a> {
    pub(crate) attributes: &'a Attributes<'a>,
    pub(crate) view: &'a SnapshotView<'a>,
    namespace: OnceCell<Value>,
    equivalents: OnceCell<Vec<Arc<Resource>>>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(attributes: &'a Attributes<'a>, view: &'a SnapshotView<'a>) -> Self {
        let (namespace, equivalents) = (OnceCell::new(), OnceCell::new());
        Self { attributes, view, namespace, equivalents }
    }

    /// The operation, as rules name it.
    pub(crate) fn operation(&self) -> &'static str {
        self.attributes.operation.name()
    }

    /// The name of the object.
    pub(crate) fn name(&self) -> &'a str {
        name_of(self.attributes)
    }

    /// Whether the write is about a Namespace.
    fn is_namespace(&self) -> bool {
        is_of(self.attributes, self.view.names, "", "namespaces")
    }

    /// The namespace of the write: that of the object, for a Namespace its own name, and empty for
    /// what has none.
    pub(crate) fn namespace(&self) -> &'a str {
        if self.is_namespace() {
            return self.name();
        }
        self.attributes.target.namespace.unwrap_or_default()
    }

    /// The Namespace that the object is in; null for what is in none.
    pub(crate) fn namespace_object(&self) -> &Value {
        self.namespace.get_or_init(|| {
            let name = self.attributes.target.namespace.filter(|_| !self.is_namespace());
            let found = name.and_then(|name| {
                let resource = self.view.resource("", "v1", "namespaces")?;
                self.view.get(resource, None, name).ok().flatten()
            });
            found.unwrap_or_default()
        })
    }

    /// Other versions of the resource that is written.
    pub(crate) fn equivalents(&self) -> &[Arc<Resource>] {
        let written = self.attributes.target.resource;
        self.equivalents.get_or_init(|| {
            let others = self.view.resources().filter(|other| {
                other.prefix == written.prefix
                    && (&other.group, &other.version) != (&written.group, &written.version)
            });
            others.cloned().collect()
        })
    }

    /// Whether the labels of the namespace match: of a Namespace that is written, those that it
    /// gets. What is in no namespace matches always.
    pub(crate) fn is_in_namespace_of(&self, selector: &LabelSelector) -> bool {
        if self.is_namespace() {
            let Attributes { old, new, .. } = self.attributes;
            return new.or(*old).is_some_and(|object| has_labels(object, selector));
        }
        self.attributes.target.namespace.is_none() || has_labels(self.namespace_object(), selector)
    }

    /// Whether the labels of the object match, before or after the write.
    pub(crate) fn has_object_of(&self, selector: &LabelSelector) -> bool {
        let Attributes { old, new, .. } = self.attributes;
        [new, old].into_iter().flatten().any(|object| has_labels(object, selector))
    }

    /// The names of the cluster's profile.
    pub(crate) fn names(&self) -> &'static Names {
        self.view.names
    }
}

/// The name of the object of a write; empty for one of a collection that is deleted.
pub(crate) fn name_of<'a>(attributes: &Attributes<'a>) -> &'a str {
    if attributes.delete_options.is_some_and(|options| options.of_collection) {
        return "";
    }
    match attributes.target.name {
        "" => attributes.new.and_then(|new| new.str_at(&["metadata", "name"])).unwrap_or_default(),
        name => name,
    }
}

/// Whether the labels of an object match.
pub(crate) fn has_labels(object: &Value, selector: &LabelSelector) -> bool {
    let labels = object.at(&["metadata", "labels"]).and_then(Value::as_map);
    let entries = labels.into_iter().flat_map(|labels| labels.iter());
    selector.matches(entries.map(|(key, value)| (key, value.as_str().unwrap_or_default())))
}
