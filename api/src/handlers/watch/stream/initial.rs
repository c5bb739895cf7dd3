//! The state that a watch tells first: its objects as additions, chunk by chunk, and the bookmark at
//! their end.
//!
//! Invariants: watches that begin with the same state in the same form send the same chunks, which
//! one of them has made; a chunk is made only when the connection asks for one. What does not fit an
//! object ends the stream after the objects before it.

use bytes::Bytes;
use quorate_wire::stored::CorruptValue;
use tokio::time::Instant;

use super::{SCAN_OBJECTS, WatchStream};
use crate::fanout::InitialChunk;
use crate::handlers::watch::event::{self, ADDED, Seen};
use crate::handlers::watch::parts::Initial;
use crate::lifecycle::Phase;

/// Bytes after which a chunk is handed on; the last event may exceed it.
const CHUNK_BYTES: usize = 128 * 1024;
/// Bytes for the first objects, of which there may be few.
const FIRST_CAPACITY: usize = 4096;
/// Up to so many bytes the bookmark goes into the buffer of the last objects: copying more of them
/// costs more than another buffer.
const COPIED_BYTES: usize = 16 * 1024;

impl WatchStream {
    /// The next buffer of the state; empty when there is nothing to say yet.
    pub(super) async fn tell_initial(&mut self, mut initial: Initial) -> Bytes {
        // The changes wait for all of this; here it is enough to look before each buffer.
        let is_late =
            Instant::now() >= self.deadline || self.api.lifecycle.phase() == Phase::Ending;
        if is_late || self.parts.end.is_before(initial.snapshot.revision()).await {
            self.ended = true;
            return Bytes::new();
        }
        if initial.is_told {
            return self.initial_end(&initial, Vec::new());
        }
        let shared = initial.hold.chunk(initial.cursor.as_ref());
        let is_shared = shared.is_some();
        let (chunk, made) = match shared {
            Some(chunk) => (chunk, Ok(())),
            None => self.make_chunk(&initial),
        };
        self.first &= chunk.sizes.is_empty();
        self.parts.meter.initial(&chunk.sizes, is_shared);
        if let Err(error) = made {
            return [&chunk.lines[..], &self.broken(&error)].concat().into();
        }
        if !is_shared {
            initial.hold.keep(initial.cursor.as_ref(), &chunk);
        }
        if !chunk.is_last {
            initial.cursor = chunk.cursor;
            self.parts.initial = Some(initial);
            tokio::task::yield_now().await;
            return chunk.lines;
        }
        if chunk.lines.len() <= COPIED_BYTES {
            return self.initial_end(&initial, chunk.lines.into());
        }
        initial.is_told = true;
        self.parts.initial = Some(initial);
        chunk.lines
    }

    /// As many of the objects as a chunk takes; those before an object that cannot be written, with
    /// the reason.
    fn make_chunk(&mut self, initial: &Initial) -> (InitialChunk, Result<(), CorruptValue>) {
        let is_first = initial.cursor.is_none();
        let mut lines =
            Vec::with_capacity(if is_first { FIRST_CAPACITY } else { CHUNK_BYTES / 4 * 5 });
        let (mut cursor, mut sizes, mut is_last, mut first) = (None, Vec::new(), true, self.first);
        let mut made = Ok(());
        for (seen, (key, entry)) in
            initial.snapshot.range(&initial.prefix, initial.cursor.as_deref()).enumerate()
        {
            if lines.len() >= CHUNK_BYTES || seen == SCAN_OBJECTS {
                is_last = false;
                break;
            }
            cursor = Some(key);
            let selected = match &self.parts.selection {
                Some(selection) => selection.matches(&entry.value),
                None => Ok(true),
            };
            let before = lines.len();
            let line = selected.and_then(|selected| {
                let seen = Seen { kind: ADDED, value: &entry.value };
                let renderer = &self.parts.renderer;
                if selected {
                    event::line(renderer, key, &seen, entry.modified, first, &mut lines)?;
                }
                Ok(())
            });
            if let Err(error) = line {
                made = Err(error);
                break;
            }
            if lines.len() > before {
                first = false;
                sizes.push(u32::try_from(lines.len() - before).unwrap_or(u32::MAX));
            }
        }
        let (lines, sizes) = (lines.into(), sizes.into());
        (InitialChunk { lines, sizes, cursor: cursor.cloned(), is_last }, made)
    }

    /// What stands at the end of the state, after the last objects: a bookmark where the client asked
    /// for it.
    fn initial_end(&mut self, initial: &Initial, mut objects: Vec<u8>) -> Bytes {
        if !initial.end.is_empty() {
            let revision = initial.snapshot.revision();
            let renderer = &self.parts.renderer;
            if let Err(error) = event::bookmark(renderer, revision, initial.end, &mut objects) {
                objects.extend_from_slice(&self.broken(&error));
                return objects.into();
            }
            self.bookmarked = revision;
            self.parts.meter.list_ended();
        }
        objects.into()
    }
}
