//! The protobuf messages of JSON and of stored objects, with what all requests share: the plans of
//! the types, and the messages that are kept.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::Status;
use quorate_schema::{Graph, TypeId};
use quorate_store::Revision;
use quorate_wire::protobuf::{ReadMessage, Transcoder};
use quorate_wire::{json, protobuf};

use super::message_cache::{MessageCache, MessageCacheCounts, MessageForm, MessagePlace};

/// What makes and keeps messages.
pub(crate) struct Messages {
    transcoder: Transcoder,
    cache: MessageCache,
}

/// A version of a stored object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectVersion<'o> {
    /// The object's key.
    pub(crate) key: &'o [u8],
    /// The revision that made what is read.
    pub(crate) revision: Revision,
}

impl Messages {
    /// Messages of the types of a graph, of which so many bytes are kept; there are none yet.
    pub(crate) fn new(graph: Arc<Graph>, kept_bytes: usize) -> Self {
        let cache = MessageCache::with_bytes(kept_bytes);
        Self { transcoder: Transcoder::new(graph), cache }
    }

    /// The schema.
    pub(crate) fn graph(&self) -> &Graph {
        self.transcoder.graph()
    }

    /// The type's message from JSON, without an envelope.
    ///
    /// # Errors
    /// 500 for JSON that does not fit the type.
    pub(crate) fn of_json<'t>(
        &'t self,
        ty: TypeId,
        text: &'t [u8],
    ) -> Result<JsonMessage<'t>, Box<Status>> {
        if let Some(message) = self.transcoder.read(ty, text) {
            return Ok(JsonMessage::Read(message));
        }
        let (value, _) = json::parse(text).map_err(unwritable)?;
        let message = protobuf::encode_message(self.graph(), ty, &value).map_err(unwritable)?;
        Ok(JsonMessage::Written(message))
    }

    /// Where the message of a version of an object would be.
    pub(crate) fn place(&self, version: ObjectVersion<'_>, form: MessageForm) -> MessagePlace {
        self.cache.place(version.key, form, version.revision)
    }

    /// The messages that are kept.
    pub(crate) fn cache(&self) -> &MessageCache {
        &self.cache
    }

    /// What has been counted of the messages that are kept.
    pub(crate) fn counts(&self) -> MessageCacheCounts {
        self.cache.counts()
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// A message that is made of JSON.
pub(crate) enum JsonMessage<'t> {
    /// Still to be written.
    Read(ReadMessage<'t>),
    /// As the encoder of trees has written it.
    Written(Vec<u8>),
}

impl JsonMessage<'_> {
    /// Bytes of the message.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Read(message) => message.size(),
            Self::Written(message) => message.len(),
        }
    }

    /// Appends the message.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Read(message) => message.write(out),
            Self::Written(message) => out.extend_from_slice(message),
        }
    }

    /// The message alone.
    pub(crate) fn to_bytes(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.size());
        self.write(&mut out);
        out.into()
    }
}

/// The Status of an object that has no message.
pub(super) fn unwritable(error: impl fmt::Display) -> Box<Status> {
    Box::new(Status::internal(format!("an object cannot be written as protobuf: {error}")))
}
