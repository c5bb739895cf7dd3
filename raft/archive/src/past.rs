//! The past as the API reads it: slices, and what is newer than they are.
//!
//! Invariants: the newest state is taken before the contents are, so that a change is in one of them
//! at least; what a gap may have changed is never guessed over it. What cannot be read is said in
//! the log, and the writer drops the era ([`crate::writer`]).

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{
    Batch, Entry, Extent, Past, PastError, Purge, PurgeCount, Purges, Revision, Serving, Version,
};

use crate::contents::Contents;
use crate::listing::{Held, Merge, SliceState, Source};
use crate::purges;
use crate::recent::{Recent, event_of};
use crate::shared::Shared;
use crate::slice::Slice;

/// Reads the archive and what is newer.
pub(crate) struct ArchivePast {
    pub(crate) shared: Arc<Shared>,
    pub(crate) serving: Serving,
}

impl fmt::Debug for ArchivePast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchivePast").field("archived", &self.shared.contents().archived).finish()
    }
}

/// Both at one moment, and what was purged of them.
pub(crate) struct View<'a> {
    shared: &'a Shared,
    pub(crate) recent: Recent,
    pub(crate) contents: Arc<Contents>,
    pub(crate) purges: Arc<Purges>,
}

impl ArchivePast {
    fn view(&self) -> View<'_> {
        let recent = Recent::now(&self.serving);
        let contents = self.shared.contents();
        // Read last, so that what the contents have lost already is known to be purged.
        let purges = self.shared.purges(&self.serving);
        View { shared: &self.shared, recent, contents, purges }
    }

    /// The same for what was at this revision, if that can be told.
    fn view_of(&self, at: Revision) -> Result<View<'_>, PastError> {
        let view = self.view();
        let applied = view.recent.revision();
        if at > applied {
            return Err(PastError::Future { at, applied });
        }
        let (oldest, oldest_ms) = view.contents.oldest();
        if at < oldest {
            return Err(PastError::Expired { oldest, oldest_ms });
        }
        match view.contents.gap_at(at) {
            Some(gap) => Err(PastError::Missing { gap }),
            None => Ok(view),
        }
    }
}

impl View<'_> {
    pub(crate) fn sound<T>(&self, slice: &Slice, read: io::Result<T>) -> Result<T, PastError> {
        read.map_err(|error| {
            self.shared.report(slice, &error);
            PastError::Unreadable
        })
    }

    fn get(&self, key: &[u8], at: Revision) -> Result<Option<Entry>, PastError> {
        let mut crossed = None;
        let proven = |entry: Option<Entry>, crossed: Option<quorate_store::Gap>| match crossed {
            Some(gap) if entry.as_ref().is_none_or(|entry| entry.modified > at) => {
                Err(PastError::Missing { gap })
            }
            _ => Ok(entry),
        };
        let first = self.contents.place_of(at);
        for (place, slice) in self.contents.slices.iter().enumerate().skip(first) {
            if place > first {
                crossed = crossed.or(self.contents.gap_before(place));
            }
            let known = if place == first { slice.at(key, at) } else { slice.base(key) };
            if let Some(entry) = self.sound(slice, known)? {
                return proven(entry, crossed);
            }
        }
        let last = self.contents.slices.len();
        if first < last {
            crossed = crossed.or(self.contents.gap_before(last));
        }
        proven(self.recent.get(key, at.max(self.contents.archived))?, crossed)
    }

    fn range(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        at: Revision,
        limit: usize,
    ) -> Result<Vec<(Bytes, Entry)>, PastError> {
        let first = self.contents.place_of(at);
        let later = first + 1..=self.contents.slices.len();
        if let Some(gap) = later.clone().find_map(|place| self.contents.gap_before(place)) {
            return Err(PastError::Missing { gap });
        }
        let after = after.filter(|after| *after >= prefix);
        let from = after.unwrap_or(prefix);
        let mut sources: Vec<Source<'_>> = Vec::new();
        for (place, slice) in self.contents.slices.iter().enumerate().skip(first) {
            match place == first {
                true => sources.push(self.watched(slice, SliceState::new(slice, from, at))),
                false => sources.push(self.watched(slice, slice.bases(from))),
            }
        }
        let changed = self.recent.changed(prefix, at.max(self.contents.archived))?;
        sources
            .push(Box::new(changed.into_iter().skip_while(|(key, _)| key.as_ref() < from).map(Ok)));
        let now = self.recent.newest.range(prefix, after);
        sources.push(Box::new(now.map(|(key, entry)| Ok((key.clone(), Some(entry.clone()))))));
        let mut found = Vec::new();
        for held in Merge::new(sources) {
            let (key, entry) = held.map_err(|_| PastError::Unreadable)?;
            if !key.starts_with(prefix) || found.len() == limit {
                break;
            }
            let is_told = |entry: &Entry| {
                after.is_none_or(|after| key.as_ref() > after)
                    && self.purges.taking(&key, entry.modified).is_none()
            };
            if let Some(entry) = entry.filter(is_told) {
                found.push((key, entry));
            }
        }
        Ok(found)
    }

    /// What comes from a slice, with errors said as they come.
    fn watched<'a>(
        &'a self,
        slice: &'a Slice,
        source: impl Iterator<Item = Held> + Send + 'a,
    ) -> Source<'a> {
        Box::new(source.inspect(|held| {
            if let Err(error) = held {
                self.shared.report(slice, error);
            }
        }))
    }

    fn versions(
        &self,
        key: &[u8],
        before: Revision,
        limit: usize,
    ) -> Result<Vec<Version>, PastError> {
        let version = |batch: Arc<Batch>| Version {
            revision: batch.revision,
            time_ms: Some(batch.time_ms),
            origin: batch.origin.clone(),
            entry: event_of(&batch, key).and_then(|event| event.current.clone()),
        };
        let newer = self.recent.changes_of(key, self.contents.archived)?.into_iter();
        let older = newer.filter(|batch| batch.revision < before);
        let mut found: Vec<Version> = older.take(limit).map(version).collect();
        for (place, slice) in self.contents.slices.iter().enumerate().rev() {
            if found.len() >= limit {
                return Ok(found);
            }
            if let Some(gap) =
                self.contents.gap_before(place + 1).filter(|gap| gap.after.next() < before)
            {
                self.check_unchanged(key, gap)?;
            }
            if slice.info.after.next() < before && self.sound(slice, slice.base(key))?.is_some() {
                self.versions_in(slice, key, before, limit, &mut found)?;
            }
        }
        let (oldest, _) = self.contents.oldest();
        if found.len() < limit
            && let Some(entry) = self.get(key, oldest)?.filter(|entry| entry.modified < before)
        {
            let (revision, entry) = (entry.modified, Some(entry));
            found.push(Version { revision, time_ms: None, origin: Bytes::new(), entry });
        }
        Ok(found)
    }

    /// What happened in a gap is only known when nothing did.
    fn check_unchanged(&self, key: &[u8], gap: quorate_store::Gap) -> Result<(), PastError> {
        match self.get(key, gap.last)? {
            Some(entry) if entry.modified <= gap.after => Ok(()),
            _ => Err(PastError::Missing { gap }),
        }
    }

    fn versions_in(
        &self,
        slice: &Slice,
        key: &[u8],
        before: Revision,
        limit: usize,
        found: &mut Vec<Version>,
    ) -> Result<(), PastError> {
        // The table may have more by now than these contents say.
        let before = before.min(slice.info.last.next());
        for version in slice.versions(key, before).take(limit - found.len()) {
            let (revision, entry) = self.sound(slice, version)?;
            let transaction = self.sound(slice, slice.transaction(revision))?;
            let (time_ms, origin) = (Some(transaction.time_ms), transaction.origin);
            found.push(Version { revision, time_ms, origin, entry });
        }
        Ok(())
    }

    fn changes(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, PastError> {
        let (mut found, mut bytes, mut reached) = (Vec::new(), 0, after);
        for (place, slice) in self.contents.slices.iter().enumerate() {
            if slice.info.last <= reached {
                continue;
            }
            if let Some(gap) = self.contents.gap_before(place).filter(|gap| gap.last > reached) {
                return if found.is_empty() { Err(PastError::Missing { gap }) } else { Ok(found) };
            }
            for batch in slice.batches(reached) {
                let batch = self.sound(slice, batch)?;
                let is_enough = bytes >= max_bytes && !found.is_empty();
                if is_enough || batch.revision > self.recent.revision() {
                    return Ok(found);
                }
                (bytes, reached) = (bytes + batch.footprint(), batch.revision);
                found.push(Arc::new(batch));
            }
        }
        if let Some(gap) = self.contents.gap_before(self.contents.slices.len())
            && gap.last > reached
        {
            return if found.is_empty() { Err(PastError::Missing { gap }) } else { Ok(found) };
        }
        match self.recent.changes(reached, max_bytes.saturating_sub(bytes)) {
            Ok(_) if bytes >= max_bytes && !found.is_empty() => {}
            Ok(newer) => found.extend(newer),
            Err(error) if found.is_empty() => return Err(error),
            Err(_) => {}
        }
        Ok(found)
    }

    fn revision_at(&self, time_ms: u64) -> Result<Revision, PastError> {
        let (oldest, oldest_ms) = self.contents.oldest();
        if time_ms < oldest_ms {
            return Err(PastError::Expired { oldest, oldest_ms });
        }
        let mut newest = None;
        if time_ms >= self.contents.archived_ms() {
            self.recent.walk(self.contents.archived, |batch| {
                let is_before = batch.time_ms <= time_ms;
                newest = if is_before { Some(batch.revision) } else { newest };
                is_before
            })?;
            return Ok(newest.unwrap_or(self.contents.archived).min(self.recent.revision()));
        }
        let place = self.contents.slices.partition_point(|slice| slice.info.after_ms <= time_ms);
        let Some(slice) = place.checked_sub(1).map(|place| &self.contents.slices[place]) else {
            return Ok(oldest);
        };
        let found = self.sound(slice, slice.revision_at(time_ms))?;
        match self.contents.gap_before(place).filter(|gap| gap.after == found) {
            Some(gap) => Err(PastError::Missing { gap }),
            None => Ok(found.min(self.recent.revision())),
        }
    }

    fn time_of(&self, at: Revision) -> Result<u64, PastError> {
        if at == self.contents.archived {
            return Ok(self.contents.archived_ms());
        }
        match self.contents.slices.get(self.contents.place_of(at)) {
            Some(slice) => self.sound(slice, slice.time_of(at)),
            None => {
                let batches = self.recent.changes(Revision::new(at.get() - 1), 1)?;
                Ok(batches.first().ok_or(PastError::Unreadable)?.time_ms)
            }
        }
    }
}

impl Past for ArchivePast {
    fn extent(&self) -> Extent {
        let view = self.view();
        let newest_ms = self.serving.newest_ms().unwrap_or_default();
        let newest_ms = newest_ms.max(view.contents.archived_ms());
        view.contents.extent(view.recent.revision(), newest_ms)
    }

    fn revision_at(&self, time_ms: u64) -> Result<Revision, PastError> {
        self.view().revision_at(time_ms)
    }

    fn time_of(&self, at: Revision) -> Result<u64, PastError> {
        self.view_of(at)?.time_of(at)
    }

    fn get(&self, key: &[u8], at: Revision) -> Result<Option<Entry>, PastError> {
        let view = self.view_of(at)?;
        view.purges.readable(key, view.get(key, at)?)
    }

    fn range(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        at: Revision,
        limit: usize,
    ) -> Result<Vec<(Bytes, Entry)>, PastError> {
        self.view_of(at)?.range(prefix, after, at, limit)
    }

    fn versions(
        &self,
        key: &[u8],
        before: Revision,
        limit: usize,
    ) -> Result<Vec<Version>, PastError> {
        let view = self.view();
        let (oldest, oldest_ms) = view.contents.oldest();
        if oldest > view.recent.revision() {
            // After a crash the log has yet to supply what the archive has.
            return Err(PastError::Expired { oldest, oldest_ms });
        }
        let before = before.min(view.recent.revision().next());
        let mut found = view.versions(key, before, limit)?;
        for version in &mut found {
            version.entry = view.purges.without_purged(key, version.entry.take());
        }
        Ok(found)
    }

    fn changes(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, PastError> {
        let view = self.view_of(after)?;
        let found = view.changes(after, max_bytes)?;
        Ok(found.iter().map(|batch| view.purges.purge_batch(batch)).collect())
    }

    fn count_purged(&self, purge: &Purge) -> Result<PurgeCount, PastError> {
        purges::count(&self.view(), purge)
    }
}
