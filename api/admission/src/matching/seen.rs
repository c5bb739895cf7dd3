//! What expressions see of a write that is matched as some resource.
//!
//! Invariant: objects are in the form of the version that is matched.

use std::sync::Arc;

use quorate_cel::library::authorizer::{Answers, ResourceTarget};
use quorate_meta::Value;
use quorate_policy::Inputs;
use quorate_registry::{Attributes, Resource};

use super::match_resources::MatchedAs;
use super::request;
use super::subject::Subject;
use super::versioned::Versioned;

/// What expressions see of a write that is matched as some resource.
pub(crate) struct Seen<'s> {
    /// Old and new object, where they have to be converted.
    converted: Option<[Value; 2]>,
    old: &'s Value,
    new: &'s Value,
    request: Value,
    request_resource: ResourceTarget,
}

impl<'s> Seen<'s> {
    /// The write as the resource that it is matched as.
    pub(crate) fn of(subject: &Subject<'s>, matched: &MatchedAs) -> Self {
        const ABSENT: &Value = &Value::Null;
        let Attributes { old, new, target, .. } = *subject.attributes;
        let (old, new) = (old.unwrap_or(ABSENT), new.unwrap_or(ABSENT));
        let (converted, resource) = match matched {
            MatchedAs::Itself => (None, target.resource),
            MatchedAs::Equivalent(other) => {
                let convert = |object: &Value| convert(target.resource, other, object);
                (Some([convert(old), convert(new)]), &**other)
            }
        };
        Self {
            converted,
            old,
            new,
            request: request::request(subject, resource),
            request_resource: request::request_resource(subject),
        }
    }

    /// The write as a resource, with the objects in its form.
    pub(crate) fn with(
        subject: &Subject<'s>,
        as_resource: &Resource,
        objects: &'s Versioned,
    ) -> Self {
        Self {
            converted: None,
            old: &objects.old,
            new: &objects.new,
            request: request::request(subject, as_resource),
            request_resource: request::request_resource(subject),
        }
    }

    /// The variables of expressions, with a parameter object; null stands for none.
    pub(crate) fn inputs<'i>(
        &'i self,
        subject: &'i Subject<'_>,
        params: &'i Value,
        answers: &'i Arc<Answers>,
    ) -> Inputs<'i> {
        let (old_object, object) = match &self.converted {
            Some([old, new]) => (old, new),
            None => (self.old, self.new),
        };
        Inputs {
            object,
            old_object,
            request: &self.request,
            namespace: subject.namespace_object(),
            params,
            answers,
            request_resource: &self.request_resource,
        }
    }
}

/// An object in the form of another version of its resource.
pub(crate) fn convert(from: &Resource, to: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    if object.is_null() {
        return object;
    }
    if let Some(form) = &from.stored_form {
        form.conversion.to_stored(&mut object);
    }
    if let Some(form) = &to.stored_form {
        form.conversion.to_served(&mut object);
    }
    object.set_at(&["apiVersion"], to.api_version.as_str());
    object.set_at(&["kind"], to.kind.as_str());
    object
}
