//! The receiving side: frames are checked and written into a new generation as they come, beside the state that serves.
//!
//! Invariants: nothing becomes visible before [`Incoming::finish`] has found the whole to be consistent and it is installed; memory
//! stays at about a frame and the largest record beyond the serving form that is being built; after an error every
//! further frame is refused.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quorate_store::env::blocking;
use quorate_store::{Entry, Revision, State};

use super::SnapshotError;
use super::data::{Contents, Received, Snapshot, SnapshotData, Staged};
use super::format::{self, Header, STREAM_VERSION, Trailer};
use super::frame::{self, Kind};
use crate::state_machine::database::Database;
use crate::state_machine::error::storage;
use crate::state_machine::keyspace::{INDEXED_BATCHES, history_key};
use crate::state_machine::machine::Alarm;
use crate::state_machine::options::Identity;
use crate::state_machine::progress::Progress;
use crate::state_machine::record;
use crate::state_machine::window::Window;
use crate::types::SnapshotMeta;

/// Starts transfers into one member's database. Cheap to clone.
#[derive(Clone)]
pub struct SnapshotReceiver {
    pub(in crate::state_machine) database: Arc<Database>,
    pub(in crate::state_machine) identity: Arc<Identity>,
    pub(in crate::state_machine) alarm: Alarm,
}

impl SnapshotReceiver {
    /// A transfer that expects its first frame.
    #[must_use]
    pub fn begin(&self) -> Incoming {
        Incoming { receiver: self.clone(), sequence: 0, stage: Stage::Header, pending: BytesMut::new() }
    }

    /// Passes the result on. After a failure of the database no transfer could succeed, so the process must end.
    fn watch<T>(&self, result: Result<T, SnapshotError>) -> Result<T, SnapshotError> {
        result.inspect_err(|error| {
            if let SnapshotError::Io(error) = error {
                self.alarm.raise(error);
            }
        })
    }
}

/// One transfer.
pub struct Incoming {
    receiver: SnapshotReceiver,
    sequence: u32,
    stage: Stage,
    /// Bytes of the record that the frames so far have not completed.
    pending: BytesMut,
}

enum Stage {
    Header,
    Objects(Box<Partial>),
    History(Box<Partial>),
    Complete(Box<Partial>),
    Refused,
}

/// What has arrived.
struct Partial {
    staged: Staged,
    header: Header,
    objects: Vec<(Bytes, Entry)>,
    found: Progress,
    window: Window,
    totals: Trailer,
}

impl Incoming {
    /// Takes the next frame and writes what it completes.
    ///
    /// # Errors
    /// Any [`SnapshotError`]. The transfer is over then; drop it.
    pub fn push(&mut self, frame: &[u8]) -> Result<(), SnapshotError> {
        let stage = std::mem::replace(&mut self.stage, Stage::Refused);
        let advanced = self.advance(stage, frame);
        self.stage = self.receiver.watch(advanced)?;
        self.sequence += 1;
        Ok(())
    }

    /// After the last frame: the snapshot to be installed, complete, checked and durable.
    ///
    /// # Errors
    /// [`SnapshotError::Truncated`] when frames are missing; [`SnapshotError::Io`].
    pub fn finish(self) -> Result<Snapshot, SnapshotError> {
        let Stage::Complete(partial) = self.stage else {
            return Err(SnapshotError::Truncated { frames: self.sequence });
        };
        let persisted = blocking(|| self.receiver.database.persist());
        self.receiver.watch(persisted.map_err(SnapshotError::from))?;
        let Partial { staged, header: Header { position, .. }, objects, window, .. } = *partial;
        let state = blocking(|| State::restore(position.progress.revision, position.progress.time_ms, objects));
        let meta = SnapshotMeta { last_log_id: position.progress.log_id, last_membership: position.membership.clone() };
        let received = Box::new(Received { staged, state, window, position });
        Ok(Snapshot { meta, snapshot: SnapshotData { contents: Contents::Received(received) } })
    }

    fn advance(&mut self, stage: Stage, frame: &[u8]) -> Result<Stage, SnapshotError> {
        if matches!(stage, Stage::Refused) {
            return Err(SnapshotError::Refused);
        }
        let frame = frame::decode(frame, self.sequence)?;
        match (stage, frame.kind) {
            (Stage::Header, Kind::Header) => Ok(Stage::Objects(self.open(frame.payload)?)),
            (Stage::Objects(mut partial), Kind::Objects) => {
                self.pending.extend_from_slice(frame.payload);
                partial.take_objects(&self.receiver.database, &mut self.pending)?;
                Ok(Stage::Objects(partial))
            }
            (Stage::Objects(mut partial) | Stage::History(mut partial), Kind::History) => {
                self.pending.extend_from_slice(frame.payload);
                partial.take_history(&self.receiver.database, &mut self.pending)?;
                Ok(Stage::History(partial))
            }
            (Stage::Objects(partial) | Stage::History(partial), Kind::Trailer) => {
                partial.check(&self.decode(frame.payload)?, &self.pending)?;
                Ok(Stage::Complete(partial))
            }
            _ => Err(self.damaged("it does not belong here")),
        }
    }

    fn open(&self, payload: &[u8]) -> Result<Box<Partial>, SnapshotError> {
        let found = payload.first().copied().map(u32::from).unwrap_or_default();
        if found != STREAM_VERSION {
            return Err(SnapshotError::Version { found, expected: STREAM_VERSION });
        }
        let header: Header = self.decode(payload)?;
        let identity = &self.receiver.identity;
        if header.cluster != identity.cluster {
            return Err(SnapshotError::Cluster { found: header.cluster, expected: identity.cluster });
        }
        if header.naming != identity.naming {
            return Err(SnapshotError::Naming { found: header.naming, expected: identity.naming.clone() });
        }
        let window = Window::starting_after(header.position.progress.oldest);
        let staged = Staged::create(&self.receiver.database)?;
        let (objects, found, totals) = (Vec::new(), Progress::default(), Trailer::default());
        Ok(Box::new(Partial { staged, header, objects, found, window, totals }))
    }

    fn decode<T: serde::de::DeserializeOwned>(&self, payload: &[u8]) -> Result<T, SnapshotError> {
        postcard::from_bytes(payload).map_err(|_| self.damaged("its payload cannot be decoded"))
    }

    fn damaged(&self, what: &'static str) -> SnapshotError {
        SnapshotError::Damaged { frame: self.sequence, what }
    }
}

impl Partial {
    fn take_objects(&mut self, database: &Database, pending: &mut BytesMut) -> Result<(), SnapshotError> {
        let mut write = database.batch();
        while let Some((key, record)) = format::take_object(pending) {
            let entry = record::decode_object(&record).ok_or_else(|| self.inconsistent("an object's record"))?;
            if self.objects.last().is_some_and(|(last, _)| **last >= *key) {
                return Err(self.inconsistent("the objects are not in order"));
            }
            write.insert(&self.staged.generation().objects, &*key, &*record);
            self.found.count(&key, &entry);
            self.objects.push((Bytes::copy_from_slice(&key), entry));
        }
        Ok(write.commit().map_err(storage)?)
    }

    fn take_history(&mut self, database: &Database, pending: &mut BytesMut) -> Result<(), SnapshotError> {
        let mut write = database.batch();
        let mut indexed = Vec::new();
        while let Some((revision, record)) = format::take_batch(pending) {
            if revision != self.window.newest().next() {
                return Err(self.inconsistent("the history has a gap"));
            }
            let (time_ms, footprint) =
                record::history_header(&record).ok_or_else(|| self.inconsistent("a history record"))?;
            write.insert(&self.staged.generation().history, history_key(revision), &*record);
            self.totals.count_batch(&record);
            self.window.push(time_ms, footprint);
            indexed.push((time_ms, footprint));
        }
        let mut buffer = Vec::new();
        let mut first = self.window.newest().get() - indexed.len() as u64 + 1;
        for batches in indexed.chunks(INDEXED_BATCHES) {
            record::encode_index(batches.iter().copied(), &mut buffer);
            write.insert(&self.staged.generation().index, history_key(Revision::new(first)), &*buffer);
            first += batches.len() as u64;
        }
        Ok(write.commit().map_err(storage)?)
    }

    fn check(&self, trailer: &Trailer, pending: &[u8]) -> Result<(), SnapshotError> {
        let progress = &self.header.position.progress;
        let found = Trailer { objects: self.found.objects, objects_checksum: self.found.checksum.get(), ..self.totals };
        if !pending.is_empty() {
            return Err(self.inconsistent("its last record is incomplete"));
        }
        if found != *trailer {
            return Err(self.inconsistent(&format!("{trailer:?} was sent, {found:?} came")));
        }
        if let Some(difference) = progress.difference(&self.found) {
            return Err(self.inconsistent(&difference));
        }
        if self.window.newest() != progress.revision {
            return Err(self.inconsistent(&format!("the history ends at revision {}", self.window.newest())));
        }
        Ok(())
    }

    fn inconsistent(&self, what: &str) -> SnapshotError {
        SnapshotError::Inconsistent { revision: self.header.position.progress.revision, what: what.to_owned() }
    }
}
