//! The objects of an answer in protobuf, where it is in that.

use bytes::Bytes;
use quorate_store::Revision;
use quorate_wire::stored::CorruptValue;

use super::Renderer;
use crate::encoding::ObjectVersion;
use crate::handlers::list::rope::Rope;
use crate::handlers::object_messages::StoredObject;

impl Renderer {
    /// The message of an object; `None` where the answer has none.
    pub(in crate::handlers) fn message(
        &self,
        object: StoredObject<'_>,
        revision: Revision,
    ) -> Option<Result<Bytes, CorruptValue>> {
        let json = |out: &mut Vec<u8>| self.item(object.value, revision, out);
        Some(self.messages.as_ref()?.message(&self.resource, object, json))
    }

    /// The size of that message.
    pub(in crate::handlers) fn message_size(
        &self,
        object: StoredObject<'_>,
        revision: Revision,
    ) -> Option<Result<usize, CorruptValue>> {
        let json = |out: &mut Vec<u8>| self.item(object.value, revision, out);
        Some(self.messages.as_ref()?.size(&self.resource, object, json))
    }

    /// Appends that message as an item of a list.
    pub(in crate::handlers) fn message_item(
        &self,
        object: StoredObject<'_>,
        revision: Revision,
        out: &mut Rope,
    ) -> Option<Result<(), CorruptValue>> {
        let json = |out: &mut Vec<u8>| self.item(object.value, revision, out);
        Some(self.messages.as_ref()?.item(&self.resource, object, json, out))
    }

    /// Has the memory of the messages of some objects, or of their sizes, fetched side by side;
    /// `false` where the answer has none.
    pub(in crate::handlers) fn fetch_messages<'o>(
        &self,
        versions: impl Iterator<Item = ObjectVersion<'o>>,
        sizes: bool,
    ) -> bool {
        let Some(messages) = &self.messages else { return false };
        messages.fetch(versions, sizes);
        true
    }
}
