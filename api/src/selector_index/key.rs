//! What an index is made by: a label or a field of the objects of one resource.

use std::sync::Arc;

use bytes::Bytes;
use quorate_registry::{Resource, stored_codec};
use quorate_store::Term;
use quorate_wire::stored::HeaderRef;

/// A label or a field.
#[derive(Debug, Clone)]
pub(crate) enum IndexedBy {
    /// The label with this key.
    Label(String),
    /// The field with this path, and the resource where objects of an older schema may lack it in
    /// their headers.
    Field(String, Option<Arc<Resource>>),
}

/// What tells one index from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexKey {
    prefix: Bytes,
    is_label: bool,
    name: String,
    /// The address of the resource that says what the headers have. An index keeps it alive.
    custom: usize,
}

impl IndexKey {
    pub(super) fn new(resource: &Resource, by: &IndexedBy) -> Self {
        let (is_label, name, custom) = match by {
            IndexedBy::Label(name) => (true, name, None),
            IndexedBy::Field(name, custom) => (false, name, custom.as_ref()),
        };
        let custom = custom.map_or(0, |resource| Arc::as_ptr(resource).addr());
        Self { prefix: resource.prefix.clone(), is_label, name: name.clone(), custom }
    }
}

impl IndexedBy {
    /// What metrics call it, as those of the release do.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Label(name) => format!("l:{name}"),
            Self::Field(name, _) => format!("f:{name}"),
        }
    }

    /// The term of objects whose value is not known: any may match.
    pub(super) fn unknown() -> Term {
        Term::of(&["unknown", ""])
    }

    /// The term of a value.
    pub(super) fn term(value: &str) -> Term {
        Term::of(&[value])
    }

    /// The term of a stored object; `None` when it has no such label or field.
    pub(super) fn term_of(&self, value: &Bytes) -> Option<Term> {
        // Who looks at it next says what is wrong with it.
        let Ok(header) = HeaderRef::parse(value) else { return Some(Self::unknown()) };
        let found = match self {
            Self::Label(name) => {
                header.labels().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            Self::Field(_, Some(custom)) if !stored_codec::has_served_fields(custom, &header) => {
                return Some(Self::unknown());
            }
            Self::Field(name, _) => header.field(name).filter(|value| !value.is_empty()),
        };
        found.map(Self::term)
    }
}
