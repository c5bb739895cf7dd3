//! Checkpoints: all objects as they were after one frame of the journal, in a file. A start reads
//! the newest one, and of the journal what comes after it.
//!
//! The file is what a snapshot sends without its history: frames of `snapshot/frame.rs`, each
//! behind its length (u32 LE). Invariant: a file has its name only when it is whole and durable,
//! and everything of the journal up to there is as well.

use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};

use bytes::{Bytes, BytesMut};
use quorate_env::disk::{Blocks, Disk, File, SystemDisk};
use quorate_store::{Entry, Snapshot};

use super::error::{invalid, storage};
use super::folder::{FileKind, Folder, GenerationFile, UNFINISHED};
use super::journal::Journal;
use super::options::{Saving, StateIdentity};
use super::progress::Position;
use super::snapshot::{ObjectStreamReader, Outgoing};

/// Bytes that are written at once.
const WRITE_BYTES: usize = 512 << 10;
/// Bytes between two syncs: small, so that the log's do not queue behind a large one.
const SYNC_BYTES: u64 = 4 << 20;
/// Frames that are read before they are asked for.
const READ_AHEAD: usize = 4;
/// Bytes before each frame.
const LENGTH_BYTES: usize = 4;

/// What a checkpoint is to hold.
pub(super) struct Checkpoint {
    pub(super) state: Snapshot,
    pub(super) position: Position,
    /// The frame of the journal that leads to it.
    pub(super) sequence: u64,
}

impl Checkpoint {
    /// Writes it, and removes what it makes needless. Asks before each megabyte whether to go on;
    /// if not, nothing is left of it.
    pub(super) fn write(
        self,
        journal: &Journal,
        identity: &StateIdentity,
        go_on: impl Fn() -> bool,
    ) -> io::Result<()> {
        let folder = journal.folder();
        let name = GenerationFile {
            kind: FileKind::Checkpoint,
            generation: journal.generation(),
            sequence: self.sequence,
        };
        let path = folder.path_of(name);
        let unfinished = folder.path().join(format!("{name}{UNFINISHED}"));
        let length = match self.write_to(folder, &unfinished, identity, go_on) {
            Ok(Some(length)) => length,
            Ok(None) => return folder.disk.remove(&unfinished),
            Err(error) => return Err(storage(error)),
        };
        journal.persist()?;
        folder
            .disk
            .rename(&unfinished, &path)
            .and_then(|()| folder.sync_names())
            .map_err(storage)?;
        folder.count(length);
        journal.note_checkpoint(name.sequence);
        remove_older(folder, name).map_err(storage)
    }

    /// Bytes of the file; `None` if it is not to go on.
    fn write_to(
        self,
        folder: &Folder,
        path: &Path,
        identity: &StateIdentity,
        go_on: impl Fn() -> bool,
    ) -> io::Result<Option<u64>> {
        let mut writer = CheckpointWriter {
            file: folder.disk.create(path)?,
            blocks: Blocks::default(),
            at: 0,
            synced: 0,
        };
        for frame in Outgoing::new(self.state, Vec::new(), identity, self.position).frames() {
            if !go_on() {
                return Ok(None);
            }
            writer.put(&frame?)?;
        }
        writer.finish().map(Some)
    }
}

/// Removes the checkpoints of this generation that are older than this one.
fn remove_older(folder: &Folder, newest: GenerationFile) -> io::Result<()> {
    let older = |name: &GenerationFile| {
        name.kind == FileKind::Checkpoint && name.sequence < newest.sequence
    };
    folder
        .files(newest.generation)?
        .into_iter()
        .filter(older)
        .try_for_each(|name| folder.remove(&folder.path_of(name)))
}

/// Reads a checkpoint back. `InvalidData` when it is not what was written. Where it may have a
/// thread of its own, the file is read while what has come is looked through.
pub(super) fn read(
    folder: &Folder,
    name: GenerationFile,
    saving: Saving,
) -> io::Result<(Position, Vec<(Bytes, Entry)>)> {
    let frames = CheckpointFrames::open(folder, name)?;
    let frames: Box<dyn Iterator<Item = io::Result<Vec<u8>>>> = match saving {
        Saving::Every(_) => Box::new(frames),
        Saving::Behind => Box::new(frames.ahead()?),
    };
    let mut objects = ObjectStreamReader::default();
    for frame in frames {
        objects.push(&frame?).map_err(|error| invalid(format_args!("{name}: {error}")))?;
        if objects.is_complete() {
            return Ok(objects.into_parts());
        }
    }
    Err(invalid(format_args!("{name}: it ends early")))
}

/// The frames of a file, in order. Behind the last one come zeros, or nothing.
struct CheckpointFrames {
    file: Arc<dyn File>,
    name: GenerationFile,
    at: u64,
    length: u64,
}

impl CheckpointFrames {
    fn open(folder: &Folder, name: GenerationFile) -> io::Result<Self> {
        let file = folder.disk.open(&folder.path_of(name))?;
        let length = file.length()?;
        Ok(Self { file, name, at: 0, length })
    }

    /// The same frames, some of them read before they are asked for. The thread that reads ends
    /// when they are dropped.
    fn ahead(self) -> io::Result<impl Iterator<Item = io::Result<Vec<u8>>>> {
        let (sender, receiver) = mpsc::sync_channel(READ_AHEAD);
        let read = async move {
            for frame in self {
                let is_last = frame.is_err();
                if sender.send(frame).is_err() || is_last {
                    return;
                }
            }
        };
        SystemDisk.spawn("checkpoint-reader", Box::pin(read))?;
        Ok(receiver.into_iter())
    }

    fn read_next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let rest = self.length - self.at;
        if rest < LENGTH_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; LENGTH_BYTES];
        self.file.read_at(self.at, &mut bytes)?;
        let bytes = u32::from_le_bytes(bytes);
        self.at += LENGTH_BYTES as u64;
        match bytes {
            0 => return Ok(None),
            bytes if u64::from(bytes) > self.length - self.at => {
                return Err(invalid(format_args!("{}: it ends early", self.name)));
            }
            _ => {}
        }
        let mut frame = vec![0; bytes as usize];
        self.file.read_at(self.at, &mut frame)?;
        self.at += u64::from(bytes);
        Ok(Some(frame))
    }
}

impl Iterator for CheckpointFrames {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}

/// Writes a file from its beginning, whole blocks at a time.
struct CheckpointWriter {
    file: Arc<dyn File>,
    blocks: Blocks,
    at: u64,
    synced: u64,
}

impl CheckpointWriter {
    fn put(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).expect("frames are about a megabyte");
        self.blocks.extend(&length.to_le_bytes());
        self.blocks.extend(frame);
        if self.blocks.bytes().len() < 2 * WRITE_BYTES {
            return Ok(());
        }
        let whole = self.blocks.bytes().len() / WRITE_BYTES * WRITE_BYTES;
        let rest = BytesMut::from(&self.blocks.bytes()[whole..]);
        self.write(whole)?;
        self.blocks.clear(4 * WRITE_BYTES);
        self.blocks.extend(&rest);
        Ok(())
    }

    /// Writes so many bytes from the front.
    fn write(&mut self, bytes: usize) -> io::Result<()> {
        for part in self.blocks.bytes()[..bytes].chunks(WRITE_BYTES) {
            self.file.write_at(self.at, part)?;
            self.at += part.len() as u64;
        }
        if self.at - self.synced >= SYNC_BYTES {
            self.file.sync()?;
            self.synced = self.at;
        }
        Ok(())
    }

    /// Bytes of the file.
    fn finish(mut self) -> io::Result<u64> {
        self.blocks.fill_up();
        self.write(self.blocks.bytes().len())?;
        self.file.sync()?;
        Ok(self.at)
    }
}
