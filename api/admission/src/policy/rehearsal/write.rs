//! Recorded writes: changes that the store remembers, as admission saw them when they were made.
//!
//! Invariants: the part that was written is the recorded one, and told by what has changed where none
//! was recorded; a change that no client has
//! asked for, such as the end of a deletion that finalizers held, is no write.

use std::sync::Arc;

use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::write::{GivenOptions, Target};
use quorate_registry::{
    AdmissionOperation, Attributes, Catalogue, Origin, OriginUser, Part, Resource, UserInfo,
    stored_codec,
};
use quorate_store::{Entry, Event, Revision};

/// What is known of a write besides the objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteAbout<'w> {
    pub(super) revision: Revision,
    /// When it was made, milliseconds since the Unix epoch.
    pub(super) time_ms: u64,
    /// Who made it, and how; `None` where that is not known.
    pub(super) origin: Option<&'w Origin>,
}

/// A write of an object.
pub(super) struct RecordedWrite<'w> {
    pub(super) resource: &'w Arc<Resource>,
    operation: AdmissionOperation,
    part: Part,
    old: Option<Value>,
    new: Option<Value>,
    /// Who made it, where that is known.
    origin: Option<&'w Origin>,
    /// `None` for an object that is there.
    pub(super) revision: Option<Revision>,
    /// `None` for an object that is there.
    pub(super) time_ms: Option<u64>,
}

impl<'w> RecordedWrite<'w> {
    /// The write that a change was made by; `None` for what is no object or was not written.
    ///
    /// # Errors
    /// 500 for a value that does not read back.
    pub(super) fn of_event(
        catalogue: &'w Catalogue,
        event: &Event,
        about: WriteAbout<'w>,
    ) -> Result<Option<Self>, Error> {
        let Some(resource) = catalogue.of_key(&event.key) else {
            return Ok(None);
        };
        let decode = |entry: &Option<Entry>| {
            entry.as_ref().map(|entry| stored_codec::decode(resource, entry)).transpose()
        };
        let (old, new) = (decode(&event.previous)?, decode(&event.current)?);
        let (operation, part) = match (&old, &new) {
            (None, Some(_)) => (AdmissionOperation::Create, Part::Main),
            (Some(old), Some(new)) if is_terminating(new) && !is_terminating(old) => {
                (AdmissionOperation::Delete, Part::Main)
            }
            (Some(old), Some(new)) => {
                let recorded = about.origin.filter(|origin| !origin.verb.is_empty());
                let part = recorded.and_then(|origin| {
                    Part::of(Some(origin.subresource.as_str()).filter(|name| !name.is_empty()))
                });
                (AdmissionOperation::Update, part.unwrap_or_else(|| written_part(old, new)))
            }
            (Some(old), None) if !is_terminating(old) => (AdmissionOperation::Delete, Part::Main),
            (Some(_) | None, None) => return Ok(None),
        };
        let new = new.filter(|_| operation != AdmissionOperation::Delete);
        let WriteAbout { revision, time_ms, origin } = about;
        let (revision, time_ms) = (Some(revision), Some(time_ms));
        Ok(Some(Self { resource, operation, part, old, new, origin, revision, time_ms }))
    }

    /// The creation of an object that is there.
    pub(super) fn of_object(resource: &'w Arc<Resource>, object: Value) -> Self {
        Self {
            resource,
            operation: AdmissionOperation::Create,
            part: Part::Main,
            old: None,
            new: Some(object),
            origin: None,
            revision: None,
            time_ms: None,
        }
    }

    /// The attributes of the write for admission.
    pub(super) fn attributes(&self) -> Attributes<'_> {
        Attributes {
            operation: self.operation,
            target: Target {
                resource: self.resource,
                namespace: self.namespace(),
                name: self.name(),
            },
            subresource: self.part.subresource(),
            part: Some(self.part),
            body: None,
            old: self.old.as_ref(),
            new: self.new.as_ref(),
            revision: None,
            dry_run: false,
            given: GivenOptions::NONE,
            delete_options: None,
            user: self.recorded_user(),
            author: None,
        }
    }

    /// The user, where one made the write.
    fn recorded_user(&self) -> Option<UserInfo<'_>> {
        let OriginUser { name, uid, groups, extra } =
            &self.origin.filter(|origin| !origin.user.is_absent())?.user;
        Some(UserInfo { name, uid, groups, extra })
    }

    /// The name of the user, or of the part of the server that made the write.
    pub(super) fn user(&self) -> &str {
        self.origin.map_or("", |origin| match origin.user.name.as_str() {
            "" => &origin.source,
            name => name,
        })
    }

    /// The operation, as rules name it.
    pub(super) fn operation(&self) -> &'static str {
        self.operation.name()
    }

    /// `PLURAL.GROUP`, with the subresource after a slash.
    pub(super) fn resource_name(&self) -> String {
        match self.part.subresource() {
            "" => self.resource.qualified(),
            below => format!("{}/{below}", self.resource.qualified()),
        }
    }

    /// The namespace of the object.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.metadata("namespace").filter(|_| self.resource.namespaced)
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        self.metadata("name").unwrap_or_default()
    }

    /// The manager of the newest change that the object knows of.
    pub(super) fn manager(&self) -> String {
        let entries = self.object().and_then(|object| object.at(&["metadata", "managedFields"]));
        let entries = entries.and_then(Value::as_list).unwrap_or_default();
        let newest = entries.iter().max_by_key(|entry| entry.str_at(&["time"]).unwrap_or_default());
        let manager = newest.and_then(|entry| entry.str_at(&["manager"]));
        manager.unwrap_or_default().to_owned()
    }

    fn object(&self) -> Option<&Value> {
        self.new.as_ref().or(self.old.as_ref())
    }

    fn metadata(&self, field: &str) -> Option<&str> {
        self.object()?.str_at(&["metadata", field])
    }
}

fn is_terminating(object: &Value) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// The part that was written: the status where nothing else has changed.
fn written_part(old: &Value, new: &Value) -> Part {
    let (Some(old), Some(new)) = (old.as_map(), new.as_map()) else {
        return Part::Main;
    };
    let differ = |field: &str| old.get(field) != new.get(field);
    let mut others = old.iter().chain(new.iter()).map(|(field, _)| field);
    let is_alone = others.all(|field| matches!(field, "metadata" | "status") || !differ(field));
    let same_metadata = || {
        let fields = ["labels", "annotations", "finalizers", "ownerReferences"];
        let (old, new) = (old.get("metadata"), new.get("metadata"));
        fields.iter().all(|field| {
            old.and_then(|metadata| metadata.get(field))
                == new.and_then(|metadata| metadata.get(field))
        })
    };
    if differ("status") && is_alone && same_metadata() { Part::Status } else { Part::Main }
}
