//! Changes of an object by a mutating policy: in the version that the policy matches, and in form
//! again afterwards.
//!
//! Invariant: an object is changed as a whole or not at all.

use std::borrow::Cow;

use quorate_meta::{Map, Value};
use quorate_policy::mutation::{Change, PatchOperation, apply_configuration, undeclared_fields};
use quorate_registry::error::Error;
use quorate_registry::patch::JsonPatch;
use quorate_registry::{BodyType, Resource};

use crate::matching::match_resources::MatchedAs;
use crate::matching::seen::convert;
use crate::matching::subject::Subject;

/// Changes objects of one write for one policy.
pub(super) struct Changer<'c> {
    pub(super) subject: &'c Subject<'c>,
    pub(super) matched_as: &'c MatchedAs,
    /// The name of the policy.
    pub(super) policy: &'c str,
}

/// Why an object is not changed.
pub(super) enum Unchanged {
    /// The text is for the failure policy.
    Text(String),
    /// The write fails, whatever the failure policy.
    Failed(Error),
}

impl Changer<'_> {
    /// The resource that the write is matched as.
    fn resource(&self) -> &Resource {
        match self.matched_as {
            MatchedAs::Itself => self.subject.attributes.target.resource,
            MatchedAs::Equivalent(other) => other,
        }
    }

    /// An object in the form that is matched.
    pub(super) fn matched_form<'o>(&self, object: &'o Value) -> Cow<'o, Value> {
        match self.matched_as {
            MatchedAs::Itself => Cow::Borrowed(object),
            MatchedAs::Equivalent(other) => {
                Cow::Owned(convert(self.subject.attributes.target.resource, other, object))
            }
        }
    }

    /// The object after a change of its `form`, pruned and with its defaults; `None` when it stays.
    pub(super) fn changed(
        &self,
        object: &Value,
        form: &Value,
        change: Change,
    ) -> Result<Option<Value>, Unchanged> {
        let attributes = self.subject.attributes;
        let resource = self.resource();
        let held = resource.graph();
        let own = BodyType { graph: &held, ty: resource.ty() };
        let BodyType { graph, ty } = attributes.body.unwrap_or(own);
        let changed = match change {
            Change::Apply(fields) => {
                Some(apply_configuration(graph, ty, form, fields).map_err(Unchanged::Text)?)
            }
            Change::Patch(operations) => {
                let patched = patched(operations, form).map_err(Unchanged::Text)?;
                if let Some(patched) = &patched
                    && !resource.is_custom()
                {
                    check_fields(&undeclared_fields(graph, ty, patched))?;
                }
                patched
            }
        };
        let Some(mut changed) = changed else {
            return Ok(None);
        };
        if let MatchedAs::Equivalent(other) = self.matched_as {
            changed = convert(other, attributes.target.resource, &changed);
        }
        let by = format!("MutatingAdmissionPolicy '{}'", self.policy);
        let names = self.subject.names();
        attributes.settle(names, &by, object, &mut changed).map_err(Unchanged::Failed)?;
        Ok(Some(changed))
    }
}

/// Refuses fields that a built-in kind does not have.
fn check_fields(undeclared: &[String]) -> Result<(), Unchanged> {
    if undeclared.is_empty() {
        return Ok(());
    }
    let fields: Vec<String> =
        undeclared.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    let why = format!("strict decoding error: {}", fields.join(", "));
    Err(Unchanged::Failed(Error::internal(why)))
}

/// An object after the operations of a patch; `None` when one of its tests fails.
fn patched(operations: Vec<PatchOperation>, object: &Value) -> Result<Option<Value>, String> {
    let document = operations.iter().map(document).collect();
    let patch = JsonPatch::parse(Value::List(document)).map_err(|error| error.to_string())?;
    let mut patched = object.clone();
    match patch.apply(&mut patched) {
        Ok(()) => Ok(Some(patched)),
        Err(rejected) => match operations.get(rejected.index) {
            Some(operation) if operation.op != "test" => {
                Err(format!("JSON Patch: {}", patch.explain(rejected)))
            }
            _ => Ok(None),
        },
    }
}

/// An operation as RFC 6902 has it.
fn document(operation: &PatchOperation) -> Value {
    let PatchOperation { op, path, from, value } = operation;
    let mut members =
        Map::from([("op", Value::from(op.as_str())), ("path", Value::from(path.as_str()))]);
    if !from.is_empty() {
        members.insert("from", from.as_str());
    }
    if let Some(value) = value {
        members.insert("value", value.clone());
    }
    Value::Map(members)
}
