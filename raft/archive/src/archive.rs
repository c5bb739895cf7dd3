//! The archive's handle: opening what there is, starting the writer, and the past to read.
//!
//! Invariants: whatever is found in the folder, a start does not fail for it: what cannot be used is
//! said and dropped. A dropped handle ends the writer, which is not waited for.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quorate_store::{Past, Serving};

use crate::contents::Contents;
use crate::engine::Engine;
use crate::era::Era;
use crate::options::{ArchiveOptions, ArchiveStatus};
use crate::past::ArchivePast;
use crate::shared::{Shared, is_damage};
use crate::slice::Slice;
use crate::writer::{self, START_BULKS, Writer};

/// A running archive.
#[derive(Debug)]
pub struct Archive {
    shared: Arc<Shared>,
    past: Arc<ArchivePast>,
    serving: Serving,
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
            contents.archived = serving.oldest();
            contents.archived_ms = first_ms(&serving);
        }
        shared.publish(contents);
        let past = Arc::new(ArchivePast { shared: Arc::clone(&shared), serving: serving.clone() });
        let disk = Arc::clone(&options.disk);
        let guard = shared.end_guard();
        let mut writer = Writer {
            options,
            serving: serving.clone(),
            shared: Arc::clone(&shared),
            is_joined: false,
            waited: None,
        };
        writer.catch_up(START_BULKS);
        let run = async move {
            writer.run().await;
            drop(guard);
        };
        disk.spawn("archive", Box::pin(run))?;
        Ok(Self { shared, past, serving })
    }

    /// What was.
    #[must_use]
    pub fn past(&self) -> Arc<dyn Past> {
        Arc::clone(&self.past) as Arc<dyn Past>
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
            bytes: writer::bytes(&contents),
            eras: contents.slices.iter().filter(|slice| slice.number == 1).count(),
            oldest,
            oldest_ms,
            archived: contents.archived,
            lag: self.serving.revision().get().saturating_sub(contents.archived.get()),
            gaps: contents.gaps(),
            written: self.shared.written.load(Ordering::Relaxed),
            failures: self.shared.failures.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

/// When the first transaction was that is kept elsewhere; zero where every one is.
fn first_ms(serving: &Serving) -> u64 {
    let oldest = serving.oldest();
    if oldest == quorate_store::Revision::ZERO {
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
