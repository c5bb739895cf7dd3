//! The archive's handle: opening what there is, starting the writer, and the past to read.
//!
//! Invariants: whatever is found in the folder, a start does not fail for it: what cannot be used is
//! said and dropped. A dropped handle ends the writer, which is not waited for.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quorate_store::{Past, Revision, Serving};
use tokio::sync::mpsc;

use crate::backfill::Backfill;
use crate::contents::Contents;
use crate::engine::Engine;
use crate::era::Era;
use crate::fill::{Fill, MAX_FILLS};
use crate::options::{ArchiveOptions, ArchiveStatus, BackfillOptions};
use crate::part;
use crate::past::ArchivePast;
use crate::rewrite::Rewriter;
use crate::shared::{Shared, is_damage};
use crate::slice::Slice;
use crate::source::{Inventory, PastSource};
use crate::writer::{START_BULKS, Writer};

/// A running archive.
#[derive(Debug)]
pub struct Archive {
    shared: Arc<Shared>,
    past: Arc<ArchivePast>,
    serving: Serving,
    options: ArchiveOptions,
    fills: mpsc::Sender<Fill>,
}

impl Archive {
    /// Opens what there is and begins to follow what is served. To be called before the store goes on.
    /// Blocks for as long as a bulk takes.
    ///
    /// # Errors
    /// What the disk says when it cannot be asked at all, or no thread can be started.
    pub fn start(options: ArchiveOptions, serving: Serving) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut contents = open(&*options.engine, &options.owner, &shared)?;
        if contents.slices.is_empty() {
            contents.archived = serving.kept();
            contents.archived_ms = first_ms(&serving);
        }
        serving.hold(contents.archived);
        shared.publish(contents);
        let past = Arc::new(ArchivePast { shared: Arc::clone(&shared), serving: serving.clone() });
        let disk = Arc::clone(&options.disk);
        let guard = shared.end_guard();
        let (fills, waiting) = mpsc::channel(MAX_FILLS);
        let mut writer = Writer {
            options: options.clone(),
            serving: serving.clone(),
            shared: Arc::clone(&shared),
            is_joined: false,
            rewriter: Rewriter::default(),
            waited: None,
            full_era: None,
            fills: waiting,
        };
        writer.catch_up(START_BULKS);
        let run = async move {
            writer.run().await;
            drop(guard);
        };
        disk.spawn("archive", Box::pin(run))?;
        Ok(Self { shared, past, serving, options, fills })
    }

    /// What was.
    #[must_use]
    pub fn past(&self) -> Arc<dyn Past> {
        Arc::clone(&self.past) as Arc<dyn Past>
    }

    /// What fills it from the archives of other members, once it is run.
    #[must_use]
    pub fn backfill(&self, source: Arc<dyn PastSource>, options: BackfillOptions) -> Backfill {
        Backfill {
            options,
            archive: self.options.clone(),
            shared: Arc::clone(&self.shared),
            past: Arc::clone(&self.past),
            source,
            fills: self.fills.clone(),
            told: BTreeSet::new(),
        }
    }

    /// What it has that is not older than a time, milliseconds since the Unix epoch, as other members
    /// are told. May read the disk.
    #[must_use]
    pub fn inventory(&self, since_ms: u64) -> Inventory {
        let mut parts = part::parts(&self.shared.contents(), &self.serving);
        parts.retain(|part| part.last_ms >= since_ms);
        if let Some(first) = parts.first_mut().filter(|first| first.first_ms < since_ms)
            && let Ok(after) = self.past.revision_at(since_ms)
            && let Ok(after_ms) = self.past.time_of(after)
            && let Ok(first_ms) = self.past.time_of(after.next())
        {
            (first.after, first.after_ms, first.first_ms) = (after, after_ms, first_ms);
        }
        parts.retain(|part| part.first_ms >= since_ms && part.after < part.last);
        Inventory { owner: self.options.owner.clone(), parts }
    }

    /// Ends the writer, and returns when it has archived what waits. What is archived stays readable.
    pub async fn close(&self) {
        self.shared.close().await;
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> ArchiveStatus {
        let contents = self.shared.contents();
        let (oldest, oldest_ms) = contents.oldest();
        ArchiveStatus {
            bytes: contents.bytes(),
            eras: contents.slices.iter().filter(|slice| slice.number == 1).count(),
            oldest,
            oldest_ms,
            archived: contents.archived,
            lag: self.serving.revision().get().saturating_sub(contents.archived.get()),
            gaps: contents.gaps(),
            written: self.shared.written.load(Ordering::Relaxed),
            failures: self.shared.failures.load(Ordering::Relaxed),
            filled: self.shared.filled.bytes.load(Ordering::Relaxed),
            filled_transactions: self.shared.filled.transactions.load(Ordering::Relaxed),
            fill_failures: self.shared.filled.failures.load(Ordering::Relaxed),
            rewritten: self.shared.rewritten.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.shared.closing.cancel();
        self.serving.hold(Revision::MAX);
    }
}

/// When the first transaction was that is kept elsewhere; zero where every one is.
fn first_ms(serving: &Serving) -> u64 {
    let oldest = serving.kept();
    if oldest == Revision::ZERO {
        return 0;
    }
    let first = serving.changes(oldest, 1).ok();
    first.and_then(|batches| Some(batches.first()?.time_ms)).unwrap_or_default()
}

/// The eras that can be used.
fn open(engine: &dyn Engine, owner: &str, shared: &Shared) -> io::Result<Contents> {
    let mut slices: Vec<Slice> = Vec::new();
    for name in engine.names()? {
        let last = slices.last().map(|slice| slice.info.last).unwrap_or_default();
        let opened = match Era::open(engine, &name, owner) {
            Ok(opened) if opened.is_empty() => Err("it is empty".to_owned()),
            Ok(opened) if opened[0].info.after < last => {
                Err("it is older than the one before it".to_owned())
            }
            Err(error) if !is_damage(&error) => {
                tracing::error!(era = %name, %error, "a part of the archive cannot be opened");
                shared.count_failure();
                continue;
            }
            other => other.map_err(|error| error.to_string()),
        };
        match opened {
            Ok(opened) => slices.extend(opened),
            Err(reason) => {
                tracing::warn!(era = %name, %reason, "a part of the archive is dropped");
                shared.count_failure();
                if let Err(error) = engine.remove(&name) {
                    tracing::warn!(era = %name, %error, "it cannot be removed");
                }
            }
        }
    }
    let archived = slices.last().map(|slice| slice.info.last).unwrap_or_default();
    Ok(Contents { slices, archived, archived_ms: 0 })
}
