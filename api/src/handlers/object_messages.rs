//! The protobuf messages of the objects of one answer.
//!
//! Invariant: a message is kept for others only where it depends on nothing but the stored version
//! and the type that it is served as.

use bytes::Bytes;
use quorate_meta::Status;
use quorate_registry::{Resource, stored_codec};
use quorate_schema::TypeId;
use quorate_wire::stored::CorruptValue;

use super::component_status;
use crate::encoding::{MessageForm, Messages, ObjectVersion, Protobuf};
use crate::negotiation::Media;

/// Makes and finds messages.
#[derive(Debug)]
pub(super) struct ObjectMessages {
    protobuf: Protobuf,
    form: MessageForm,
    /// Whether the versions of objects are what is in the store.
    are_stored: bool,
}

/// A stored object to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredObject<'o> {
    pub(super) value: &'o Bytes,
    /// The version that it is; `None` where it is told with another revision than its own, or is
    /// not stored.
    pub(super) version: Option<ObjectVersion<'o>>,
}

impl ObjectMessages {
    /// The messages of a resource's objects. What is written has these names, and the type, where
    /// that is known. `None` for other syntaxes, and for what has no protobuf form.
    pub(super) fn find(
        media: &Media,
        resource: &Resource,
        (api_version, kind): (&str, &str),
        ty: Option<TypeId>,
    ) -> Option<Self> {
        let Media::Protobuf(protobuf) = media else { return None };
        let message = ty.or_else(|| protobuf.type_of(api_version, kind).ok())?;
        // Of a custom object only the metadata is written, which every version has as it is stored.
        let object = if resource.is_custom() { message } else { resource.ty() };
        Some(Self {
            protobuf: protobuf.clone(),
            form: MessageForm { message, object },
            are_stored: resource.remote.is_none() && !component_status::is_observed(resource),
        })
    }

    /// What `take` makes of the message of an object, whose JSON `json` appends. `take` may copy
    /// what is short, and no more.
    ///
    /// # Errors
    /// An object that does not fit its type, and those of `json`.
    pub(super) fn with<T>(
        &self,
        resource: &Resource,
        object: StoredObject<'_>,
        json: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
        mut take: impl FnMut(&Bytes) -> T,
    ) -> Result<T, CorruptValue> {
        let make = || {
            let mut text = Vec::with_capacity(object.value.len());
            json(&mut text)?;
            let message = self.messages().of_json(self.form.message, &text);
            message.map(Bytes::from).map_err(unfit)
        };
        match object.version.filter(|_| self.is_kept(resource, object.value)) {
            Some(version) => self.messages().of_version(version, self.form, make, take),
            None => Ok(take(&make()?)),
        }
    }

    fn messages(&self) -> &Messages {
        self.protobuf.messages()
    }

    fn is_kept(&self, resource: &Resource, value: &Bytes) -> bool {
        self.are_stored && stored_codec::is_stored_as_now(resource, value)
    }
}

/// A stored object that does not fit its own schema.
pub(super) fn unfit(error: Box<Status>) -> CorruptValue {
    tracing::error!(%error, "a stored object cannot be written in the wanted syntax");
    CorruptValue::Header("it does not fit the schema of its kind")
}
