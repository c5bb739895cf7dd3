//! Parameters: the objects that a binding gives to its policy.
//!
//! Invariants: each object is evaluated on its own; a policy without a kind of parameters, or a
//! binding without a reference, is evaluated once, with null; an object is read in the version that
//! the policy names.

use quorate_meta::{LabelSelector, Value};
use quorate_registry::{Resource, stored_codec};

use crate::matching::subject::{Subject, has_labels};

/// The `paramKind` of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParamKind {
    group: String,
    version: String,
    kind: String,
}

/// The `paramRef` of a binding.
#[derive(Debug, Clone)]
pub(super) struct ParamRef {
    /// Empty for objects that are found by their labels.
    name: String,
    /// Empty for the namespace of the write.
    namespace: String,
    /// `None` without one, or when it cannot be read.
    selector: Option<LabelSelector>,
    /// Whether a write is admitted when there are no such objects.
    allows_none: bool,
}

impl ParamKind {
    /// Reads the field of a `spec`.
    pub(super) fn read(spec: &Value) -> Option<Self> {
        let fields = spec.get("paramKind").filter(|fields| !fields.is_null())?;
        let text = |field: &str| fields.str_at(&[field]).unwrap_or_default();
        let version = text("apiVersion");
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let (group, version, kind) =
            (group.to_owned(), version.to_owned(), text("kind").to_owned());
        Some(Self { group, version, kind })
    }

    /// The resource of the objects.
    ///
    /// # Errors
    /// A text when it is not served.
    pub(super) fn resource<'s>(&self, subject: &'s Subject<'_>) -> Result<&'s Resource, String> {
        let Self { group, version, kind } = self;
        let found = subject.view.resource_of_kind(group, version, kind);
        found.filter(|resource| resource.stored).ok_or_else(|| {
            format!(
                "failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
            )
        })
    }
}

impl ParamRef {
    pub(super) fn read(fields: &Value) -> Self {
        let text = |field: &str| fields.str_at(&[field]).unwrap_or_default();
        let selector = fields.get("selector").filter(|selector| !selector.is_null());
        Self {
            name: text("name").to_owned(),
            namespace: text("namespace").to_owned(),
            selector: selector.and_then(LabelSelector::from_object),
            allows_none: text("parameterNotFoundAction") != "Deny",
        }
    }

    /// The objects of a resource for a write, in order of their names.
    ///
    /// # Errors
    /// A text when they cannot be found, or there is none and there must be one.
    pub(super) fn objects(
        &self,
        resource: &Resource,
        subject: &Subject<'_>,
    ) -> Result<Vec<Value>, String> {
        let namespace = self.namespace(resource, subject)?;
        let unreadable = |error: quorate_registry::error::Error| error.to_string();
        let view = subject.view;
        let found = if self.name.is_empty() {
            let Some(selector) = &self.selector else {
                return Err("one of name or selector must be provided".to_owned());
            };
            let objects = view.list(resource, namespace);
            let objects = objects.map(|(_, entry)| stored_codec::decode(resource, entry));
            let objects = objects.filter(|object| {
                object.as_ref().map_or(true, |object| has_labels(object, selector))
            });
            objects.collect::<Result<_, _>>().map_err(unreadable)?
        } else {
            view.get(resource, namespace, &self.name).map_err(unreadable)?.into_iter().collect()
        };
        let found: Vec<Value> = found;
        if found.is_empty() && !self.allows_none {
            return Err(
                "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned()
            );
        }
        Ok(found)
    }

    fn namespace<'s>(
        &'s self,
        resource: &Resource,
        subject: &Subject<'s>,
    ) -> Result<Option<&'s str>, String> {
        if !resource.namespaced {
            return if self.namespace.is_empty() {
                Ok(None)
            } else {
                Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                    .to_owned())
            };
        }
        match (self.namespace.as_str(), subject.namespace()) {
            ("", "") => Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources".to_owned()),
            ("", namespace) | (namespace, _) => Ok(Some(namespace)),
        }
    }
}
