//! The protobuf messages of the objects of one answer.
//!
//! Invariant: a message is kept for others only where it depends on nothing but the stored version
//! and the type that it is served as.

use bytes::Bytes;
use quorate_meta::Status;
use quorate_registry::{Resource, stored_codec};
use quorate_schema::TypeId;
use quorate_wire::protobuf::write_item_head;
use quorate_wire::stored::CorruptValue;
use smallvec::SmallVec;

use super::component_status;
use crate::encoding::{JsonMessage, MessageForm, MessagePlace, Messages, ObjectVersion, Protobuf};
use crate::handlers::list::rope::Rope;
use crate::negotiation::Media;

/// Bytes that are written in front of a stored object's JSON and into it, about.
const VERSION_BYTES: usize = 128;

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

    /// The message of an object, whose JSON `json` appends.
    ///
    /// # Errors
    /// An object that does not fit its type, and those of `json`.
    pub(super) fn message(
        &self,
        resource: &Resource,
        object: StoredObject<'_>,
        json: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
    ) -> Result<Bytes, CorruptValue> {
        let place = self.place(resource, object);
        let cache = self.messages().cache();
        if let Some(kept) = place.and_then(|place| cache.read(place, Bytes::clone)) {
            return Ok(kept);
        }
        self.made(object, json, |message| {
            let kept = place.and_then(|place| self.keep(place, message));
            kept.unwrap_or_else(|| message.to_bytes())
        })
    }

    /// The size of that message.
    ///
    /// # Errors
    /// As [`ObjectMessages::message`].
    pub(super) fn size(
        &self,
        resource: &Resource,
        object: StoredObject<'_>,
        json: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
    ) -> Result<usize, CorruptValue> {
        let place = self.place(resource, object);
        if let Some(size) = place.and_then(|place| self.messages().cache().size(place)) {
            return Ok(size);
        }
        self.made(object, json, |message| {
            if let Some(place) = place {
                self.messages().cache().note_size(place, message.size());
                self.keep(place, message);
            }
            message.size()
        })
    }

    /// Appends the message as an item of a list.
    ///
    /// # Errors
    /// As [`ObjectMessages::message`].
    pub(super) fn item(
        &self,
        resource: &Resource,
        object: StoredObject<'_>,
        json: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
        out: &mut Rope,
    ) -> Result<(), CorruptValue> {
        let place = self.place(resource, object);
        // A short message is copied while others wait for it.
        let take = |message: &Bytes| append_short(message, out);
        if let Some(large) = place.and_then(|place| self.messages().cache().read(place, take)) {
            large.into_iter().for_each(|message| out.share(message));
            return Ok(());
        }
        self.made(object, json, |message| {
            let kept = place.and_then(|place| self.keep(place, message));
            if kept.is_none() && !Rope::is_large(message.size()) {
                write_item_head(message.size(), out.text());
                return message.write(out.text());
            }
            let message = kept.unwrap_or_else(|| message.to_bytes());
            append_short(&message, out).into_iter().for_each(|message| out.share(message));
        })
    }

    /// Has the memory of what is kept of some objects fetched side by side; with `sizes`, that of
    /// the sizes of their messages.
    pub(super) fn fetch<'o>(&self, versions: impl Iterator<Item = ObjectVersion<'o>>, sizes: bool) {
        if !self.are_stored {
            return;
        }
        let places: SmallVec<[MessagePlace; 16]> =
            versions.map(|version| self.messages().place(version, self.form)).collect();
        let cache = self.messages().cache();
        if sizes { cache.fetch_sizes(&places) } else { cache.fetch(&places) }
    }

    /// What `take` makes of a message that is made now.
    fn made<T>(
        &self,
        object: StoredObject<'_>,
        json: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
        take: impl FnOnce(&JsonMessage<'_>) -> T,
    ) -> Result<T, CorruptValue> {
        let mut text = Vec::with_capacity(object.value.len() + VERSION_BYTES);
        json(&mut text)?;
        self.messages()
            .of_json(self.form.message, &text)
            .map(|message| take(&message))
            .map_err(unfit)
    }

    /// Keeps a message for others, if there is room for it.
    fn keep(&self, place: MessagePlace, message: &JsonMessage<'_>) -> Option<Bytes> {
        self.messages().cache().keep(place, message.size(), || message.to_bytes())
    }

    /// Where the message of an object is kept; `None` where it is not for others.
    fn place(&self, resource: &Resource, object: StoredObject<'_>) -> Option<MessagePlace> {
        let version = object.version.filter(|_| self.is_kept(resource, object.value))?;
        Some(self.messages().place(version, self.form))
    }

    fn messages(&self) -> &Messages {
        self.protobuf.messages()
    }

    fn is_kept(&self, resource: &Resource, value: &Bytes) -> bool {
        self.are_stored && stored_codec::is_stored_as_now(resource, value)
    }
}

/// Appends an item with its message, but for a large message, which is given back to be shared.
fn append_short(message: &Bytes, out: &mut Rope) -> Option<Bytes> {
    write_item_head(message.len(), out.text());
    if Rope::is_large(message.len()) {
        return Some(message.clone());
    }
    out.text().extend_from_slice(message);
    None
}

/// A stored object that does not fit its own schema.
pub(super) fn unfit(error: Box<Status>) -> CorruptValue {
    tracing::error!(%error, "a stored object cannot be written in the wanted syntax");
    CorruptValue::Header("it does not fit the schema of its kind")
}
