//! The protobuf messages of JSON and of stored objects, with what all requests share: the plans of
//! the types, and the messages that are kept.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::Status;
use quorate_schema::{Graph, TypeId};
use quorate_store::Revision;
use quorate_wire::protobuf::Transcoder;
use quorate_wire::{json, protobuf};

use super::message_cache::{MessageCache, MessageCacheCounts, MessageForm};

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
    /// Messages of the types of a graph; nothing is kept yet.
    pub(crate) fn new(graph: Arc<Graph>) -> Self {
        Self { transcoder: Transcoder::new(graph), cache: MessageCache::default() }
    }

    /// The schema.
    pub(crate) fn graph(&self) -> &Graph {
        self.transcoder.graph()
    }

    /// The type's message from JSON, without an envelope.
    ///
    /// # Errors
    /// 500 for JSON that does not fit the type.
    pub(crate) fn of_json(&self, ty: TypeId, text: &[u8]) -> Result<Vec<u8>, Box<Status>> {
        if let Some(message) = self.transcoder.message(ty, text) {
            return Ok(message);
        }
        let (value, _) = json::parse(text).map_err(unwritable)?;
        protobuf::encode_message(self.graph(), ty, &value).map_err(unwritable)
    }

    /// What `take` makes of the message of a version of an object, which `make` makes where it is
    /// not kept. `take` may copy what is short, and no more.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn of_version<T, E>(
        &self,
        version: ObjectVersion<'_>,
        form: MessageForm,
        make: impl FnOnce() -> Result<Bytes, E>,
        mut take: impl FnMut(&Bytes) -> T,
    ) -> Result<T, E> {
        let place = self.cache.place(version.key, form, version.revision);
        if let Some(taken) = self.cache.read(place, &mut take) {
            return Ok(taken);
        }
        let message = make()?;
        self.cache.keep(place, &message);
        Ok(take(&message))
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

/// The Status of an object that has no message.
pub(super) fn unwritable(error: impl fmt::Display) -> Box<Status> {
    Box::new(Status::internal(format!("an object cannot be written as protobuf: {error}")))
}
