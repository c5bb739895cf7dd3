//! Where a list takes its objects from: a snapshot, or the archive at one revision.
//!
//! Invariant: of the archive there is one chunk in memory at a time.

use std::sync::Arc;

use bytes::Bytes;
use quorate_registry::Resource;
use quorate_store::Snapshot;
use quorate_wire::stored::CorruptValue;

use crate::handlers::past::{CHUNK_OBJECTS, PastChunk, PastState};

/// The objects of one list.
#[derive(Clone)]
pub(super) enum Source {
    Snapshot(Snapshot),
    Past(PastSource),
}

/// A part of the objects.
pub(super) struct SourcePart {
    /// Has the next objects.
    pub(super) snapshot: Snapshot,
    /// The key after which there may be more; `None` where the snapshot has all of them.
    pub(super) more: Option<Bytes>,
}

/// The archive at one revision.
#[derive(Clone)]
pub(super) struct PastSource {
    state: PastState,
    resource: Arc<Resource>,
    /// What has been read, and where the next chunk begins.
    chunk: Option<(Snapshot, Option<Bytes>)>,
}

impl PastSource {
    pub(super) fn new(state: PastState, resource: Arc<Resource>) -> Self {
        Self { state, resource, chunk: None }
    }
}

impl Source {
    /// The part with the objects after a key.
    ///
    /// # Errors
    /// A part of the archive that cannot be read: the log says why.
    pub(super) fn part(
        &mut self,
        prefix: &[u8],
        after: Option<&[u8]>,
    ) -> Result<SourcePart, CorruptValue> {
        let past = match self {
            Self::Snapshot(snapshot) => {
                return Ok(SourcePart { snapshot: snapshot.clone(), more: None });
            }
            Self::Past(past) => past,
        };
        let kept = past.chunk.take().filter(|(_, next)| next.is_none() || next.as_deref() != after);
        let (snapshot, more) = match kept {
            Some(kept) => kept,
            None => {
                let chunk = past.state.chunk(&past.resource, prefix, after, CHUNK_OBJECTS);
                let PastChunk { found, more } = chunk.map_err(|error| {
                    tracing::error!(%error, "a list of the past ends early");
                    CorruptValue::Header("the archive cannot be read to its end")
                })?;
                (Snapshot::of(past.state.at, found), more)
            }
        };
        past.chunk = Some((snapshot.clone(), more.clone()));
        Ok(SourcePart { snapshot, more })
    }
}
