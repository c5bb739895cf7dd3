//! An incoming snapshot: frames are checked as they come, and their history is written into a new
//! generation, beside the state that serves.
//!
//! Invariants: nothing becomes visible before [`Incoming::finish`] has found the whole to be
//! consistent and it is installed; memory stays at about a frame and the largest record beyond the
//! serving form that is being built; after an error every further frame is refused.

use std::sync::Arc;

use bytes::BytesMut;
use quorate_env::blocking;
use quorate_store::State;

use super::SnapshotError;
use super::data::{Contents, Received, Snapshot, SnapshotData, Staged};
use super::format::{self, OLDEST_STREAM_VERSION, STREAM_VERSION, SnapshotHeader, SnapshotTrailer};
use super::frame::{self, StreamFrameKind};
use super::objects::ReceivedObjects;
use crate::state_machine::checkpoint::Checkpoint;
use crate::state_machine::failure::FailureReport;
use crate::state_machine::folder::Folder;
use crate::state_machine::frame::FrameBuilder;
use crate::state_machine::options::StateIdentity;
use crate::state_machine::record;
use crate::state_machine::retention::RetentionWindow;
use crate::types::SnapshotMeta;

/// Bytes of history that make a frame of the journal.
const FRAME_BYTES: usize = 1 << 20;

/// Starts transfers into one member's folder. Cheap to clone.
#[derive(Clone)]
pub struct SnapshotReceiver {
    pub(in crate::state_machine) folder: Arc<Folder>,
    pub(in crate::state_machine) identity: Arc<StateIdentity>,
    pub(in crate::state_machine) segment_bytes: u64,
    pub(in crate::state_machine) failures: FailureReport,
}

impl SnapshotReceiver {
    /// A transfer that expects its first frame.
    #[must_use]
    pub fn begin(&self) -> Incoming {
        Incoming {
            receiver: self.clone(),
            sequence: 0,
            stage: ReceiveStage::Header,
            pending: BytesMut::new(),
        }
    }

    /// Passes the result on. After a failure of the disk no transfer could succeed, so the process
    /// must end.
    fn watch<T>(&self, result: Result<T, SnapshotError>) -> Result<T, SnapshotError> {
        result.inspect_err(|error| {
            if let SnapshotError::Io(error) = error {
                self.failures.report(error);
            }
        })
    }
}

/// One transfer.
pub struct Incoming {
    receiver: SnapshotReceiver,
    sequence: u32,
    stage: ReceiveStage,
    /// Bytes of the record that the frames so far have not completed.
    pending: BytesMut,
}

enum ReceiveStage {
    Header,
    Objects(Box<Partial>),
    History(Box<Partial>),
    Complete(Box<Partial>),
    Refused,
}

/// What has arrived.
struct Partial {
    staged: Staged,
    header: SnapshotHeader,
    objects: ReceivedObjects,
    window: RetentionWindow,
    totals: SnapshotTrailer,
    /// Records of history that are in no frame of the journal yet, and their bytes.
    records: Vec<(BytesMut, u64, u64)>,
    record_bytes: usize,
}

impl Incoming {
    /// Takes the next frame and writes what it completes.
    ///
    /// # Errors
    /// Any [`SnapshotError`]. The transfer is over then; drop it.
    pub fn push(&mut self, frame: &[u8]) -> Result<(), SnapshotError> {
        let stage = std::mem::replace(&mut self.stage, ReceiveStage::Refused);
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
        let ReceiveStage::Complete(partial) = self.stage else {
            return Err(SnapshotError::Truncated { frames: self.sequence });
        };
        let Partial { staged, header: SnapshotHeader { position, .. }, objects, window, .. } =
            *partial;
        let state = blocking(|| {
            State::restore(position.progress.revision, position.progress.time_ms, objects.entries)
        });
        let sequence = staged.journal().sequence();
        let checkpoint =
            Checkpoint { state: state.snapshot(), position: position.clone(), sequence };
        let identity = &self.receiver.identity;
        let written = blocking(|| checkpoint.write(staged.journal(), identity, || true));
        self.receiver.watch(written.map_err(SnapshotError::from))?;
        let meta = SnapshotMeta {
            last_log_id: position.progress.log_id,
            last_membership: position.membership.clone(),
        };
        let received = Box::new(Received { staged, state, window, position });
        Ok(Snapshot { meta, snapshot: SnapshotData { contents: Contents::Received(received) } })
    }

    fn advance(
        &mut self,
        stage: ReceiveStage,
        frame: &[u8],
    ) -> Result<ReceiveStage, SnapshotError> {
        if matches!(stage, ReceiveStage::Refused) {
            return Err(SnapshotError::Refused);
        }
        let frame = frame::decode(frame, self.sequence)?;
        match (stage, frame.kind) {
            (ReceiveStage::Header, StreamFrameKind::Header) => {
                Ok(ReceiveStage::Objects(self.open(frame.payload)?))
            }
            (ReceiveStage::Objects(mut partial), StreamFrameKind::Objects) => {
                partial.take_objects(&mut self.pending, frame.payload)?;
                Ok(ReceiveStage::Objects(partial))
            }
            (
                ReceiveStage::Objects(mut partial) | ReceiveStage::History(mut partial),
                StreamFrameKind::History,
            ) => {
                self.pending.extend_from_slice(frame.payload);
                partial.take_history(&mut self.pending)?;
                Ok(ReceiveStage::History(partial))
            }
            (
                ReceiveStage::Objects(mut partial) | ReceiveStage::History(mut partial),
                StreamFrameKind::Trailer,
            ) => {
                partial.check(&self.decode(frame.payload)?, &self.pending)?;
                partial.write_history()?;
                Ok(ReceiveStage::Complete(partial))
            }
            _ => Err(self.damaged("it does not belong here")),
        }
    }

    fn open(&self, payload: &[u8]) -> Result<Box<Partial>, SnapshotError> {
        let found = payload.first().copied().map(u32::from).unwrap_or_default();
        if !(OLDEST_STREAM_VERSION..=STREAM_VERSION).contains(&found) {
            return Err(SnapshotError::Version { found, expected: STREAM_VERSION });
        }
        let header: SnapshotHeader = self.decode(payload)?;
        let identity = &self.receiver.identity;
        if header.cluster != identity.cluster {
            return Err(SnapshotError::Cluster {
                found: header.cluster,
                expected: identity.cluster,
            });
        }
        if header.naming != identity.naming {
            return Err(SnapshotError::Naming {
                found: header.naming,
                expected: identity.naming.clone(),
            });
        }
        let window = RetentionWindow::starting_after(header.position.progress.oldest);
        let staged = Staged::create(&self.receiver.folder, self.receiver.segment_bytes);
        let (objects, totals, records) =
            (ReceivedObjects::default(), SnapshotTrailer::default(), Vec::new());
        Ok(Box::new(Partial { staged, header, objects, window, totals, records, record_bytes: 0 }))
    }

    fn decode<T: serde::de::DeserializeOwned>(&self, payload: &[u8]) -> Result<T, SnapshotError> {
        postcard::from_bytes(payload).map_err(|_| self.damaged("its payload cannot be decoded"))
    }

    fn damaged(&self, what: &'static str) -> SnapshotError {
        SnapshotError::Damaged { frame: self.sequence, what }
    }
}

impl Partial {
    fn take_objects(
        &mut self,
        pending: &mut BytesMut,
        payload: &[u8],
    ) -> Result<(), SnapshotError> {
        self.objects.take(pending, payload).map_err(|what| self.inconsistent(what))
    }

    fn take_history(&mut self, pending: &mut BytesMut) -> Result<(), SnapshotError> {
        while let Some((revision, record)) = format::take_batch(pending) {
            if revision != self.window.newest().next() {
                return Err(self.inconsistent("the history has a gap"));
            }
            let (time_ms, footprint) = record::history_header(&record)
                .ok_or_else(|| self.inconsistent("a history record"))?;
            self.totals.count_batch(&record);
            self.window.push(time_ms, footprint);
            self.record_bytes += record.len();
            self.records.push((record, time_ms, footprint));
            if self.record_bytes >= FRAME_BYTES {
                self.write_history()?;
            }
        }
        Ok(())
    }

    /// Writes the records that wait as a frame, which leads to the newest of them.
    fn write_history(&mut self) -> Result<(), SnapshotError> {
        let mut position = self.header.position.clone();
        position.progress.revision = self.window.newest();
        let records = std::mem::take(&mut self.records);
        self.record_bytes = 0;
        let fill = |builder: &mut FrameBuilder| {
            records.iter().for_each(|(record, time_ms, footprint)| {
                builder.push_record(record, *time_ms, *footprint)
            });
        };
        Ok(blocking(|| self.staged.journal().write(&position, fill))?)
    }

    fn check(&self, trailer: &SnapshotTrailer, pending: &[u8]) -> Result<(), SnapshotError> {
        let progress = &self.header.position.progress;
        let found = &self.objects.found;
        let found = SnapshotTrailer {
            objects: found.objects,
            objects_checksum: found.checksum.get(),
            ..self.totals
        };
        if !pending.is_empty() {
            return Err(self.inconsistent("its last record is incomplete"));
        }
        if found != *trailer {
            return Err(self.inconsistent(&format!("{trailer:?} was sent, {found:?} came")));
        }
        if let Some(difference) = progress.difference(&self.objects.found) {
            return Err(self.inconsistent(&difference));
        }
        if self.window.newest() != progress.revision {
            return Err(self
                .inconsistent(&format!("the history ends at revision {}", self.window.newest())));
        }
        Ok(())
    }

    fn inconsistent(&self, what: &str) -> SnapshotError {
        SnapshotError::Inconsistent {
            revision: self.header.position.progress.revision,
            what: what.to_owned(),
        }
    }
}
