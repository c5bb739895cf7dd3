//! A start: the current generation read back into memory, and checked.
//!
//! Invariant: what is loaded agrees with the progress that was stored with it (revision, count, size and checksum of the
//! objects; an unbroken index from `oldest` to the newest revision, and history at both ends), or the start fails and says what disagrees.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Revision, State};

use super::database::{Database, Generation};
use super::error::OpenError;
use super::group::Live;
use super::keyspace::{history_key, history_revision};
use super::progress::Progress;
use super::record;
use super::window::Window;

/// Everything in memory again, and the newest batches for the serving form, oldest first.
pub(super) struct Loaded {
    pub(super) live: Live,
    pub(super) recent: Vec<Arc<Batch>>,
}

/// Loads a generation. `warm_bytes` bounds the footprints of the recent batches.
pub(super) fn load(database: &Database, generation: &Generation, warm_bytes: usize) -> Result<Loaded, OpenError> {
    let position = database.position()?;
    let source = Source { database, generation, progress: &position.progress };
    let state = source.state()?;
    let window = source.window()?;
    let recent = source.recent(warm_bytes)?;
    Ok(Loaded { live: Live { state, position, window }, recent })
}

struct Source<'a> {
    database: &'a Database,
    generation: &'a Generation,
    progress: &'a Progress,
}

impl Source<'_> {
    fn state(&self) -> Result<State, OpenError> {
        let mut found = Progress::default();
        let mut failure = None;
        let objects = self.generation.objects.iter().map_while(|item| {
            let object = item.into_inner().map_err(|error| self.failed(error)).and_then(|(key, record)| {
                let entry = record::decode_object(&record).ok_or_else(|| self.damaged_object(&key))?;
                found.count(&key, &entry);
                Ok((Bytes::copy_from_slice(&key), entry))
            });
            object.map_err(|error| failure = Some(error)).ok()
        });
        let objects: Vec<(Bytes, Entry)> = objects.collect();
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(difference) = self.progress.difference(&found) {
            return Err(self.corrupt(format!("objects at revision {}: {difference}", self.progress.revision)));
        }
        Ok(State::restore(self.progress.revision, self.progress.time_ms, objects))
    }

    /// From the index alone, which is a hundredth of the history.
    fn window(&self) -> Result<Window, OpenError> {
        let Progress { oldest, revision, .. } = *self.progress;
        let mut window = Window::starting_after(oldest);
        let start = match self.generation.index.range(..=history_key(oldest.next())).next_back() {
            Some(item) => item.key().map_err(|error| self.failed(error))?.to_vec(),
            None => history_key(oldest.next()).to_vec(),
        };
        for item in self.generation.index.range(start..) {
            let (key, record) = item.into_inner().map_err(|error| self.failed(error))?;
            let first = history_revision(&key).filter(|first| *first <= window.newest().next());
            let first = first.ok_or_else(|| self.missing(window.newest().next()))?;
            let batches = record::decode_index(&record).ok_or_else(|| self.damaged_batch(first))?;
            let known = window.newest().get() + 1 - first.get();
            batches.skip(usize::try_from(known).unwrap_or(usize::MAX)).for_each(|(time, size)| window.push(time, size));
        }
        if window.newest() != revision {
            let newest = window.newest();
            return Err(self.corrupt(format!("history: ends at revision {newest}, objects are at {revision}")));
        }
        Ok(window)
    }

    /// The newest batches, and with them the proof that the history is really there: at both ends and as far as is read.
    fn recent(&self, warm_bytes: usize) -> Result<Vec<Arc<Batch>>, OpenError> {
        let Progress { oldest, revision, .. } = *self.progress;
        let mut recent = VecDeque::new();
        if oldest == revision {
            return Ok(Vec::new());
        }
        let history = &self.generation.history;
        if !history.contains_key(history_key(oldest.next())).map_err(|error| self.failed(error))? {
            return Err(self.missing(oldest.next()));
        }
        let mut bytes = 0;
        let mut expected = revision;
        for item in history.range(history_key(oldest.next())..).rev() {
            let (key, record) = item.into_inner().map_err(|error| self.failed(error))?;
            if history_revision(&key) != Some(expected) {
                return Err(self.missing(expected));
            }
            let batch = record::decode_history(expected, &record).ok_or_else(|| self.damaged_batch(expected))?;
            bytes += batch.footprint();
            if bytes > warm_bytes {
                break;
            }
            expected = Revision::new(expected.get() - 1);
            recent.push_front(Arc::new(batch));
        }
        Ok(recent.into())
    }

    fn missing(&self, revision: Revision) -> OpenError {
        self.corrupt(format!("history: revision {revision} is missing"))
    }

    fn failed(&self, error: fjall::Error) -> OpenError {
        OpenError::from_database(self.database.directory().to_owned(), error)
    }

    fn damaged_object(&self, key: &[u8]) -> OpenError {
        self.corrupt(format!("the record of object {:?}", String::from_utf8_lossy(key)))
    }

    fn damaged_batch(&self, revision: Revision) -> OpenError {
        self.corrupt(format!("history: the record of revision {revision}"))
    }

    fn corrupt(&self, what: String) -> OpenError {
        OpenError::Corrupt { directory: self.database.directory().to_owned(), what }
    }
}
