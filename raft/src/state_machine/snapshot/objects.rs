//! Objects read from a snapshot stream, and the reader of a stream of objects alone, which is a
//! checkpoint.
//!
//! Invariant: the result is what the header and the trailer say, or there is none. This file does
//! no IO.

use bytes::{Buf, Bytes, BytesMut};
use quorate_store::Entry;

use super::format::{self, SnapshotHeader, SnapshotTrailer};
use super::frame::{self, StreamFrameKind};
use crate::state_machine::progress::{Position, Progress};
use crate::state_machine::record;

/// Objects in the order of their keys, and what they amount to.
#[derive(Default)]
pub(super) struct ReceivedObjects {
    pub(super) entries: Vec<(Bytes, Entry)>,
    pub(super) found: Progress,
}

impl ReceivedObjects {
    /// Takes the whole records of what has come so far; the beginning of one that is not whole
    /// stays in `pending`. The inner error is what is wrong with them.
    pub(super) fn take(
        &mut self,
        pending: &mut BytesMut,
        payload: &[u8],
    ) -> Result<(), &'static str> {
        pending.extend_from_slice(payload);
        let mut rest = &pending[..];
        while let Some((key, record)) = format::take_object(&mut rest) {
            let entry = record::decode_object(record).ok_or("an object's record")?;
            if self.entries.last().is_some_and(|(last, _)| **last >= *key) {
                return Err("the objects are not in order");
            }
            self.found.count(key, &entry);
            self.entries.push((Bytes::copy_from_slice(key), entry));
        }
        let taken = pending.len() - rest.len();
        pending.advance(taken);
        Ok(())
    }
}

/// Reads a stream of objects without history, frame by frame.
#[derive(Default)]
pub(in crate::state_machine) struct ObjectStreamReader {
    sequence: u32,
    header: Option<SnapshotHeader>,
    pending: BytesMut,
    objects: ReceivedObjects,
    is_complete: bool,
}

impl ObjectStreamReader {
    /// Takes the next frame.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::state_machine) fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let frame = frame::decode(bytes, self.sequence).map_err(|error| error.to_string())?;
        self.sequence += 1;
        match (frame.kind, &self.header) {
            (StreamFrameKind::Header, None) => self.header = Some(decode(frame.payload)?),
            (StreamFrameKind::Objects, Some(_)) => {
                self.objects.take(&mut self.pending, frame.payload)?;
            }
            (StreamFrameKind::Trailer, Some(header)) => {
                let trailer: SnapshotTrailer = decode(frame.payload)?;
                let found = &self.objects.found;
                let counted = SnapshotTrailer {
                    objects: found.objects,
                    objects_checksum: found.checksum.get(),
                    ..SnapshotTrailer::default()
                };
                if counted != trailer || !self.pending.is_empty() {
                    return Err(format!("{trailer:?} was written, {counted:?} is there"));
                }
                if let Some(difference) = header.position.progress.difference(found) {
                    return Err(difference);
                }
                self.is_complete = true;
            }
            _ => return Err("a frame does not belong there".to_owned()),
        }
        Ok(())
    }

    /// Whether all of it has come.
    pub(in crate::state_machine) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The position and the objects, once it is complete.
    pub(in crate::state_machine) fn into_parts(self) -> (Position, Vec<(Bytes, Entry)>) {
        (self.header.map(|header| header.position).unwrap_or_default(), self.objects.entries)
    }
}

fn decode<T: serde::de::DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    postcard::from_bytes(payload).map_err(|error| error.to_string())
}
