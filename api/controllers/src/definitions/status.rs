//! The status of a definition, written together with the marker that lets its resource take
//! objects.
//!
//! Invariant: a write is bound to the revision of the definition that it was made from.

use quorate_extensions::crd::definition::{Definition, without_spec};
use quorate_meta::{Reason, Status, Time, Value};
use quorate_registry::error::Error;
use quorate_registry::write::{Beside, Target, UpdateOptions};
use quorate_registry::{Part, Resource, stored_codec};
use quorate_store::{Revision, Snapshot};

use crate::conditions::{self, Condition};
use crate::context::{Context, is_conflict};

/// A definition as it was read.
#[derive(Debug)]
pub(super) struct Seen {
    /// Its metadata and status.
    pub(super) object: Value,
    pub(super) definition: Definition,
    pub(super) revision: Revision,
}

impl Seen {
    /// The definition of this name; `None` when there is none.
    pub(super) fn read(
        resource: &Resource,
        snapshot: &Snapshot,
        name: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(entry) = snapshot.get(&resource.key(None, name)) else {
            return Ok(None);
        };
        let json = stored_codec::header(resource, &entry.value)?.json();
        let definition = Definition::read(&json).map_err(Error::internal)?;
        let object = without_spec(&json).map_err(Error::internal)?;
        Ok(Some(Self { object, definition, revision: entry.modified }))
    }

    /// The conditions with these in them.
    pub(super) fn conditions(&self, context: &Context, add: &[Condition]) -> Vec<Value> {
        let list = self.object.at(&["status", "conditions"]).and_then(Value::as_list);
        let now = Time::from_ms(context.env.clock.now_ms()).seconds();
        conditions::merged(list.unwrap_or_default().to_vec(), add, &now)
    }

    /// Whether the status has these fields already.
    pub(super) fn has(&self, fields: &[(&'static str, Value)]) -> bool {
        fields.iter().all(|(field, value)| {
            let own = self.object.at(&["status", field]);
            own.map_or_else(|| value.is_empty(), |own| own == value)
        })
    }
}

/// Writes fields of the status, and other keys with them. Gives the revision of the definition then;
/// `None` when it, or what the other keys must be, has changed since it was read.
pub(super) async fn write(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    fields: Vec<(&'static str, Value)>,
    beside: &Beside,
) -> Result<Option<Revision>, Error> {
    let change = |object: &mut Value| {
        for (field, value) in &fields {
            object.set_at(&["status", field], value.clone());
        }
    };
    update(context, target, seen, Part::Status, beside, change).await
}

/// Changes a definition that is still what was read; see [`write`].
pub(super) async fn update(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    part: Part,
    beside: &Beside,
    change: impl Fn(&mut Value) + Send + Sync,
) -> Result<Option<Revision>, Error> {
    let revision = seen.revision.to_string();
    let options = UpdateOptions { if_match: Some(&revision), ..context.update_options(part) };
    let mut is_first = true;
    let once = |current: Option<&Value>| {
        let resource = target.resource.group_resource();
        if !std::mem::replace(&mut is_first, false) {
            return Err(Status::stale(&resource, target.name).into());
        }
        let mut object =
            current.cloned().ok_or_else(|| Status::not_found(&resource, target.name))?;
        change(&mut object);
        Ok(object)
    };
    match context.writer.update_beside(target, options, beside, once).await {
        Err(error) if is_conflict(&error) || is_gone(&error) => Ok(None),
        updated => updated.map(|answer| Some(answer.revision)),
    }
}

fn is_gone(error: &Error) -> bool {
    error.reason() == Some(&Reason::NotFound)
}
