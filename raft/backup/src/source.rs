//! Where a state comes from: a store, or a node that sends what its store holds as a stream of frames.
//!
//! Invariants: a state is one snapshot, taken after a linearizable read, so that it has every write
//! that was acknowledged before; changes come in their order without a gap, up to such a read; a stream
//! ends with the digest of what the server has, or with an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::StreamExt;
use quorate_env::{Clock, blocking};
use quorate_store::{Entry, HistoryError, Past, PastError, Revision, Snapshot, Store, Watch};

use crate::error::SourceError;
use crate::frame::{Frame, Frames, StateStart};
use crate::record::{Credentials, StoredBatch};
use crate::repository::Identity;

/// Bytes of entries or transactions in one frame, about.
const FRAME_BYTES: usize = 256 << 10;
/// How often changes end with a digest, which costs a walk through the whole state.
const DIGEST_INTERVAL_MS: u64 = 60_000;

/// What gives a state and what came after.
#[async_trait]
pub trait Source: Send + Sync {
    /// Whose state it is.
    async fn identity(&self) -> Result<Identity, SourceError>;

    /// The state now; or the one at a revision, its keys after this one.
    async fn state(&self, resume: Option<(Revision, Bytes)>) -> Result<Frames, SourceError>;

    /// The transactions after a revision.
    async fn changes(&self, after: Revision) -> Result<Frames, SourceError>;

    /// The secret of the cluster, where it may be told.
    async fn credentials(&self) -> Result<Credentials, SourceError>;
}

/// A store of this process.
#[derive(Clone)]
pub struct StoreSource {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock of states.
    pub clock: Arc<dyn Clock>,
    /// Whose it is.
    pub identity: Identity,
    /// See [`Source::credentials`].
    pub credentials: Option<Credentials>,
    /// When changes last ended with a digest, milliseconds since the Unix epoch.
    pub digested_ms: Arc<AtomicU64>,
}

#[async_trait]
impl Source for StoreSource {
    async fn identity(&self) -> Result<Identity, SourceError> {
        Ok(self.identity.clone())
    }

    async fn state(&self, resume: Option<(Revision, Bytes)>) -> Result<Frames, SourceError> {
        self.current().await?;
        let time_ms = self.clock.now_ms();
        let (snapshot, after) = match resume {
            None => (self.store.snapshot(), None),
            Some((at, after)) => {
                let snapshot = blocking(|| self.store.snapshot_at(at)).map_err(unavailable)?;
                (snapshot, Some(after))
            }
        };
        let start = StateStart {
            revision: snapshot.revision(),
            time_ms,
            objects: snapshot.len() as u64,
            bytes: snapshot.size(),
        };
        let first = futures::stream::once(async move { Ok(Frame::State(start)) });
        Ok(first.chain(entries(snapshot, after)).boxed())
    }

    async fn changes(&self, after: Revision) -> Result<Frames, SourceError> {
        self.current().await?;
        let snapshot = self.store.snapshot();
        let (store, upto) = (self.store.clone(), snapshot.revision());
        if after > upto {
            let told = format!("revision {after} is in the future: {upto} is applied");
            return Err(SourceError::Unavailable(told));
        }
        // The archive reaches further back than a watch does.
        let archived = store.past().filter(|past| {
            let extent = past.extent();
            extent.oldest <= after && extent.gaps.is_empty()
        });
        let batches = match archived {
            Some(past) => from_archive(past, after, upto),
            None => from_watch(&*store, after, upto)?,
        };
        let wants_digest = after < upto && self.is_time_for_digest();
        let end = futures::stream::once(async move {
            let digest = wants_digest.then(|| blocking(|| snapshot.digest()));
            Ok(Frame::ChangesEnd { last: upto, digest })
        });
        Ok(until_error(batches.chain(end).boxed()))
    }

    async fn credentials(&self) -> Result<Credentials, SourceError> {
        let missing =
            || SourceError::Unavailable("the cluster's secret is not given out".to_owned());
        self.credentials.clone().ok_or_else(missing)
    }
}

impl StoreSource {
    fn is_time_for_digest(&self) -> bool {
        let (now, last) = (self.clock.now_ms(), self.digested_ms.load(Ordering::Relaxed));
        let is_time = now.saturating_sub(last) >= DIGEST_INTERVAL_MS;
        if is_time {
            self.digested_ms.store(now, Ordering::Relaxed);
        }
        is_time
    }

    /// Waits until this node has every write that was acknowledged before.
    async fn current(&self) -> Result<(), SourceError> {
        let read = self.store.read_index().await;
        read.map(drop).map_err(|error| SourceError::Unavailable(error.to_string()))
    }
}

/// The entries of a snapshot, a frame when it is asked for, then the digest.
fn entries(snapshot: Snapshot, after: Option<Bytes>) -> Frames {
    let next = |state: Option<(Snapshot, Option<Bytes>)>| async move {
        let (snapshot, after) = state?;
        let mut bytes = 0;
        let fits = |(key, entry): &(&Bytes, &Entry)| {
            let begins = bytes < FRAME_BYTES;
            bytes += key.len() + entry.value.len();
            begins
        };
        let entries: Vec<(Bytes, Entry)> = snapshot
            .range(b"", after.as_deref())
            .take_while(fits)
            .map(|(key, entry)| (key.clone(), entry.clone()))
            .collect();
        match entries.last() {
            Some((last, _)) => {
                let after = Some(last.clone());
                Some((Ok(Frame::Entries(entries)), Some((snapshot, after))))
            }
            None => Some((Ok(Frame::StateEnd { digest: blocking(|| snapshot.digest()) }), None)),
        }
    };
    futures::stream::unfold(Some((snapshot, after)), next).boxed()
}

fn from_archive(past: Arc<dyn Past>, after: Revision, upto: Revision) -> Frames {
    let next = move |(past, after): (Arc<dyn Past>, Revision)| async move {
        if after >= upto {
            return None;
        }
        let read = blocking(|| past.changes(after, FRAME_BYTES));
        let batches = match read {
            Ok(batches) => batches,
            Err(error) => return Some((Err(missing(error)), (past, upto))),
        };
        let batches: Vec<_> = batches.iter().take_while(|batch| batch.revision <= upto).collect();
        let last = batches.last()?.revision;
        let frame = Frame::Batches(batches.into_iter().map(|batch| (&**batch).into()).collect());
        Some((Ok(frame), (past, last)))
    };
    futures::stream::unfold((past, after), next).boxed()
}

fn from_watch(store: &dyn Store, after: Revision, upto: Revision) -> Result<Frames, SourceError> {
    let watch = store.watch(Bytes::new(), after).map_err(unavailable)?;
    let next = move |watch: Option<Watch>| async move {
        let mut watch = watch?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while bytes < FRAME_BYTES {
            // Everything up to there is applied, so it is there without waiting.
            match blocking(|| watch.try_next()) {
                Ok(Some(found)) if found.revision() <= upto => {
                    let batch = StoredBatch::from(&**found.batch());
                    bytes += batch.bytes();
                    batches.push(batch);
                }
                Ok(_) => {
                    return (!batches.is_empty()).then(|| (Ok(Frame::Batches(batches)), None));
                }
                Err(error) => return Some((Err(unavailable(error)), None)),
            }
        }
        Some((Ok(Frame::Batches(batches)), Some(watch)))
    };
    Ok(futures::stream::unfold(Some(watch), next).boxed())
}

/// A stream that ends with its first error.
fn until_error(frames: Frames) -> Frames {
    let next = |frames: Option<Frames>| async move {
        let mut frames = frames?;
        let frame = frames.next().await?;
        let rest = frame.is_ok().then_some(frames);
        Some((frame, rest))
    };
    futures::stream::unfold(Some(frames), next).boxed()
}

fn unavailable(error: HistoryError) -> SourceError {
    match error {
        HistoryError::Compacted { .. } => SourceError::Gone,
        other => SourceError::Unavailable(other.to_string()),
    }
}

fn missing(error: PastError) -> SourceError {
    match error {
        PastError::Expired { .. } => SourceError::Gone,
        other => SourceError::Unavailable(other.to_string()),
    }
}
