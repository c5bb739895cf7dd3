//! Writing a base: the state in parts, then its manifest.
//!
//! Invariants: parts are written [`CONCURRENT_WRITES`] at a time, so memory is bounded; the manifest
//! comes when all of them are there and the state is what the server says; a base that was interrupted
//! goes on where it was, as long as the server still has that revision.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use futures::{FutureExt, StreamExt};
use quorate_store::{Digest, Entry, Revision};

use crate::create::{Progress, Report};
use crate::error::{BackupError, SourceError};
use crate::frame::{Frame, Frames, StateStart};
use crate::index;
use crate::layout::{BaseId, PartId, random};
use crate::record::{Credentials, Manifest, Part, PartInfo};
use crate::repository::{ListedBase, Repository};
use crate::sealed::Kind;
use crate::source::Source;

/// Bytes of a part before compression, about.
pub(crate) const PART_BYTES: usize = 4 << 20;
/// Parts that are written at one time.
const CONCURRENT_WRITES: usize = 4;

/// What was written of a base.
struct BaseWriter<'a> {
    repository: &'a Repository,
    report: Report<'a>,
    id: BaseId,
    run: u32,
    start: StateStart,
    digest: Digest,
    progress: Progress,
    parts: Vec<PartInfo>,
    next: u32,
    pending: Part,
    pending_bytes: usize,
    writes: FuturesOrdered<BoxFuture<'a, Result<PartInfo, BackupError>>>,
}

/// The sound parts of an interrupted base.
struct Resumed {
    id: BaseId,
    parts: Vec<PartInfo>,
    digest: Digest,
    objects: u64,
    bytes: u64,
    after: Bytes,
}

/// Writes a base of the source's state. Gives its name, its manifest, and how many of its parts were
/// there already.
pub(crate) async fn write_base(
    repository: &Repository,
    source: &dyn Source,
    credentials: Option<Credentials>,
    report: Report<'_>,
) -> Result<(BaseId, Manifest, usize), BackupError> {
    let listed = repository.list().await?;
    let mut interrupted = listed.bases.into_iter().rev().filter(|base| !base.complete);
    if let Some(base) = interrupted.next()
        && let Some(resumed) = resumed(repository, &base).await?
    {
        let reused = resumed.parts.len();
        match source.state(Some((resumed.id.revision, resumed.after.clone()))).await {
            Ok(frames) => {
                let (id, manifest) =
                    write(repository, frames, Some(resumed), credentials, report).await?;
                return Ok((id, manifest, reused));
            }
            Err(SourceError::Gone) => {
                tracing::info!(base = %base.id, "an interrupted base cannot go on: it is removed");
                let names = base.parts.iter().map(|part| base.id.part(*part)).collect();
                repository.remote.remove(names).await?;
            }
            Err(other) => return Err(other.into()),
        }
    }
    let frames = source.state(None).await?;
    let (id, manifest) = write(repository, frames, None, credentials, report).await?;
    Ok((id, manifest, 0))
}

/// Reads the parts of an interrupted base, from the first on, as long as they are sound.
async fn resumed(
    repository: &Repository,
    base: &ListedBase,
) -> Result<Option<Resumed>, BackupError> {
    let mut digest = Digest::new();
    digest.word(base.id.revision.get());
    let (mut parts, mut objects, mut bytes, mut after) = (Vec::new(), 0, 0, Bytes::new());
    for position in 0.. {
        let candidates = base.parts.iter().filter(|part| part.position == position);
        let mut found = None;
        for id in candidates {
            match repository.part(base.id, *id).await {
                Ok((part, hash, bytes)) => {
                    found = Some((part, PartInfo { id: *id, hash, bytes }));
                    break;
                }
                Err(BackupError::Damaged { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let Some((part, info)) = found else { break };
        for (key, entry) in &part.entries {
            digest.entry(key, entry);
            objects += 1;
            bytes += (key.len() + entry.value.len()) as u64;
        }
        let Some((last, _)) = part.entries.last() else { break };
        after = last.clone();
        parts.push(info);
    }
    let some = !parts.is_empty();
    Ok(some.then_some(Resumed { id: base.id, parts, digest, objects, bytes, after }))
}

async fn write(
    repository: &Repository,
    mut frames: Frames,
    resumed: Option<Resumed>,
    credentials: Option<Credentials>,
    report: Report<'_>,
) -> Result<(BaseId, Manifest), BackupError> {
    let start = match frames.next().await {
        Some(Ok(Frame::State(start))) => start,
        Some(Err(error)) => return Err(error.into()),
        _ => return Err(unexpected()),
    };
    if resumed.as_ref().is_some_and(|resumed| resumed.id.revision != start.revision) {
        return Err(unexpected());
    }
    let mut writer = BaseWriter::new(repository, report, start, resumed);
    let received = receive(&mut writer, frames).await;
    // What is under way counts for the next run, whatever has happened here.
    let written = writer.all_written().await;
    let digest = received?;
    written?;
    writer.finish(digest, credentials).await
}

/// Takes the state in while parts of it are written. Gives the digest at its end.
async fn receive(writer: &mut BaseWriter<'_>, mut frames: Frames) -> Result<u64, BackupError> {
    loop {
        let frame = tokio::select! {
            frame = frames.next() => frame,
            written = writer.one_written(), if !writer.writes.is_empty() => {
                written?;
                continue;
            }
        };
        match frame {
            Some(Ok(Frame::Entries(entries))) => {
                for (key, entry) in entries {
                    writer.push(key, entry).await?;
                }
            }
            Some(Ok(Frame::StateEnd { digest })) => {
                writer.cut().await?;
                return Ok(digest);
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(_)) => return Err(unexpected()),
            None => {
                let ends = "the answer ends before the state does".to_owned();
                return Err(SourceError::Unavailable(ends).into());
            }
        }
    }
}

fn unexpected() -> BackupError {
    SourceError::Unavailable("the server does not answer as a node does".to_owned()).into()
}

impl<'a> BaseWriter<'a> {
    fn new(
        repository: &'a Repository,
        report: Report<'a>,
        start: StateStart,
        resumed: Option<Resumed>,
    ) -> Self {
        let mut digest = Digest::new();
        digest.word(start.revision.get());
        let entropy = &*repository.entropy;
        let fresh = BaseId::new(start.revision, entropy);
        let mut progress = Progress {
            objects: 0,
            total_objects: start.objects,
            bytes: 0,
            total_bytes: start.bytes,
            stored_bytes: 0,
        };
        let (mut id, mut parts) = (fresh, Vec::new());
        if let Some(resumed) = resumed {
            (id, parts, digest) = (resumed.id, resumed.parts, resumed.digest);
            (progress.objects, progress.bytes) = (resumed.objects, resumed.bytes);
            progress.stored_bytes = parts.iter().map(|part| part.bytes).sum();
        }
        let next = u32::try_from(parts.len()).expect("a base has far fewer parts");
        Self {
            repository,
            report,
            id,
            run: random(entropy),
            start,
            digest,
            progress,
            parts,
            next,
            pending: Part::default(),
            pending_bytes: 0,
            writes: FuturesOrdered::new(),
        }
    }

    async fn push(&mut self, key: Bytes, entry: Entry) -> Result<(), BackupError> {
        self.digest.entry(&key, &entry);
        let bytes = key.len() + entry.value.len();
        self.progress.objects += 1;
        self.progress.bytes += bytes as u64;
        self.pending_bytes += bytes;
        self.pending.entries.push((key, entry));
        if self.pending_bytes >= PART_BYTES { self.cut().await } else { Ok(()) }
    }

    /// Begins to write what was pushed; waits when too many parts are under way.
    async fn cut(&mut self) -> Result<(), BackupError> {
        if self.pending.entries.is_empty() {
            return Ok(());
        }
        if self.writes.len() >= CONCURRENT_WRITES {
            self.one_written().await?;
        }
        let part = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let id = PartId { position: self.next, run: self.run };
        self.next += 1;
        let (repository, name) = (self.repository, self.id.part(id));
        let write = async move {
            let (hash, bytes) = repository.save(Kind::Part, &name, &part).await?;
            Ok(PartInfo { id, hash, bytes })
        };
        self.writes.push_back(write.boxed());
        Ok(())
    }

    /// Waits for the oldest part that is under way. May be given up at any moment.
    async fn one_written(&mut self) -> Result<(), BackupError> {
        if let Some(part) = self.writes.next().await {
            let part = part?;
            self.progress.stored_bytes += part.bytes;
            self.parts.push(part);
            (self.report)(&self.progress);
        }
        Ok(())
    }

    async fn all_written(&mut self) -> Result<(), BackupError> {
        while !self.writes.is_empty() {
            self.one_written().await?;
        }
        Ok(())
    }

    async fn finish(
        self,
        expected: u64,
        credentials: Option<Credentials>,
    ) -> Result<(BaseId, Manifest), BackupError> {
        let digest = self.digest.finish();
        if digest != expected {
            return Err(BackupError::Digest { found: digest, expected });
        }
        let manifest = Manifest {
            revision: self.start.revision,
            time_ms: self.start.time_ms,
            digest,
            objects: self.progress.objects,
            bytes: self.progress.bytes,
            credentials,
            parts: self.parts,
        };
        self.repository.save(Kind::Manifest, &self.id.manifest(), &manifest).await?;
        index::add_base(self.repository, self.id).await?;
        (self.report)(&self.progress);
        Ok((self.id, manifest))
    }
}

/// The newest complete base.
pub(crate) async fn newest_base(repository: &Repository) -> Result<Option<Revision>, BackupError> {
    let listed = repository.list().await?;
    Ok(listed.bases.iter().rfind(|base| base.complete).map(|base| base.id.revision))
}
