//! The declared types of `request` and `namespaceObject`.
//!
//! Invariant: a field that an expression names and that is not declared here does not compile.

use std::sync::Arc;

use quorate_cel::value::{Field, ListSemantics, ListShape, ObjectShape, Shape};
use quorate_meta::Names;

/// Declares object types under the prefix of a naming profile.
pub(crate) struct Declarations {
    prefix: &'static str,
    declared: Vec<Arc<ObjectShape>>,
}

impl Declarations {
    pub(crate) fn new(names: &Names) -> Self {
        Self { prefix: names.cel_prefix, declared: Vec::new() }
    }

    /// All types declared so far.
    pub(crate) fn into_types(self) -> Vec<Arc<ObjectShape>> {
        self.declared
    }

    fn object(&mut self, name: &str, fields: &[(&str, Shape)]) -> Shape {
        let shape = object_type(self.prefix, name, fields);
        self.declared.push(shape.clone());
        Shape::Object(shape)
    }

    /// The type of `request`: what an AdmissionReview tells of a request but the objects.
    pub(crate) fn request(&mut self) -> Shape {
        let text = || Shape::String;
        let kind = self.object(
            "GroupVersionKind",
            &[("group", text()), ("version", text()), ("kind", text())],
        );
        let resource = self.object(
            "GroupVersionResource",
            &[("group", text()), ("version", text()), ("resource", text())],
        );
        let user = self.object(
            "UserInfo",
            &[
                ("username", text()),
                ("uid", text()),
                ("groups", list(text())),
                ("extra", map(list(text()))),
            ],
        );
        self.object(
            "AdmissionRequest",
            &[
                ("kind", kind.clone()),
                ("resource", resource.clone()),
                ("subResource", text()),
                ("requestKind", kind),
                ("requestResource", resource),
                ("requestSubResource", text()),
                ("name", text()),
                ("namespace", text()),
                ("operation", text()),
                ("userInfo", user),
                ("dryRun", Shape::Bool),
                ("options", Shape::Dyn),
            ],
        )
    }

    /// The type of `namespaceObject`: a Namespace without what no policy should depend on.
    pub(crate) fn namespace(&mut self) -> Shape {
        let text = || Shape::String;
        let metadata = self.object(
            "NamespaceMetadata",
            &[
                ("name", text()),
                ("generateName", text()),
                ("namespace", text()),
                ("labels", map(text())),
                ("annotations", map(text())),
                ("uid", text()),
                ("creationTimestamp", Shape::Timestamp),
                ("deletionGracePeriodSeconds", Shape::Int),
                ("deletionTimestamp", Shape::Timestamp),
                ("generation", Shape::Int),
                ("resourceVersion", text()),
                ("finalizers", list(text())),
            ],
        );
        let spec = self.object("NamespaceSpec", &[("finalizers", list(text()))]);
        let condition = self.object(
            "NamespaceCondition",
            &[
                ("status", text()),
                ("type", text()),
                ("lastTransitionTime", Shape::Timestamp),
                ("message", text()),
                ("reason", text()),
            ],
        );
        let status =
            self.object("NamespaceStatus", &[("conditions", list(condition)), ("phase", text())]);
        self.object("Namespace", &[("metadata", metadata), ("spec", spec), ("status", status)])
    }
}

/// An object type with these fields, which are named as in JSON; a word of the language is escaped
/// in expressions, as in other schemas.
pub(crate) fn object_type(prefix: &str, name: &str, fields: &[(&str, Shape)]) -> Arc<ObjectShape> {
    let field = |(name, shape): &(&str, Shape)| Field {
        name: if *name == "namespace" { "__namespace__".into() } else { (*name).into() },
        key: (*name).into(),
        shape: shape.clone(),
    };
    Arc::new(ObjectShape::new(format!("{prefix}{name}"), fields.iter().map(field).collect()))
}

fn list(element: Shape) -> Shape {
    Shape::List(Arc::new(ListShape { element, semantics: ListSemantics::Atomic }))
}

fn map(value: Shape) -> Shape {
    Shape::Map(Arc::new(value))
}
