//! The audit log file, rotated when it grows too long.
//!
//! Invariants: a file is appended to, never overwritten; a rotated file has its name with the time
//! in it (`audit-2030-01-01T00-00-00.000.log`), and only such files are ever removed; a new file
//! can be read by its owner only.

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use quorate_api::audit::{Lines, Sink};
use quorate_env::{Clock, blocking};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

use super::appender::Appender;
use crate::error::{Error, at};

/// The time in the name of a rotated file.
const TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]-[minute]-[second].[subsecond digits:3]");

/// Limits of the file and of the rotated files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of the file; 0 is any number.
    pub(super) bytes: u64,
    /// How long rotated files stay; zero is for ever.
    pub(super) age: Duration,
    /// Rotated files; 0 is any number.
    pub(super) files: usize,
}

/// The path that stands for standard output.
pub(super) const STANDARD_OUTPUT: &str = "-";
/// How often rotated files are checked, even when no file is rotated.
const PRUNE_INTERVAL_MS: u64 = 3600 * 1000;

/// The sink for a path.
pub(super) fn open(
    path: &str,
    limits: Limits,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn Sink>, Error> {
    if path == STANDARD_OUTPUT {
        return Ok(Box::new(StandardOutput));
    }
    let path = PathBuf::from(path);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let file = Appender::open(&path).map_err(at(&path))?;
    Ok(Box::new(FileSink { path, limits, clock, file, pruned_ms: None }))
}

struct StandardOutput;

#[async_trait]
impl Sink for StandardOutput {
    fn name(&self) -> &'static str {
        "standard output"
    }

    async fn write(&mut self, events: &Lines) -> Result<(), String> {
        blocking(|| io::stdout().lock().write_all(events.text())).map_err(|error| error.to_string())
    }
}

struct FileSink {
    path: PathBuf,
    limits: Limits,
    clock: Arc<dyn Clock>,
    file: Appender,
    /// When rotated files were last checked.
    pruned_ms: Option<u64>,
}

#[async_trait]
impl Sink for FileSink {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn write(&mut self, events: &Lines) -> Result<(), String> {
        blocking(|| self.append(events))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

impl FileSink {
    /// Writes events, whole ones only into each file.
    fn append(&mut self, events: &Lines) -> io::Result<()> {
        let text = events.text();
        let mut written = 0;
        if self.limits.bytes > 0 && self.file.size_with(text.len()) > self.limits.bytes {
            let mut end = 0;
            for event in events.iter() {
                let bytes = end - written;
                let is_empty = self.file.size() == 0 && bytes == 0;
                if !is_empty && self.file.size_with(bytes + event.len()) > self.limits.bytes {
                    self.file.append(&text[written..end])?;
                    written = end;
                    self.rotate()?;
                }
                end += event.len();
            }
        }
        self.file.append(&text[written..])?;
        self.prune_when_due();
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        match std::fs::rename(&self.path, self.free_name()) {
            // It was rotated before, and a new one could not be opened.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
        self.file = Appender::open(&self.path)?;
        self.pruned_ms = None;
        Ok(())
    }

    /// The name of a file that is rotated now: with the first millisecond from now on that no
    /// rotated file has.
    fn free_name(&self) -> PathBuf {
        let mut names =
            (self.clock.now_ms()..).map(|ms| self.path.with_file_name(self.name_at(ms)));
        names.find(|name| !name.exists()).expect("there are more moments than files")
    }

    fn prune_when_due(&mut self) {
        let now = self.clock.now_ms();
        if self.pruned_ms.is_some_and(|pruned| now < pruned.saturating_add(PRUNE_INTERVAL_MS)) {
            return;
        }
        self.pruned_ms = Some(now);
        if let Err(error) = self.prune() {
            tracing::warn!(%error, path = %self.path.display(), "rotated audit files could not be removed");
        }
    }

    /// What the names of rotated files begin and end with.
    fn affixes(&self) -> (String, String) {
        let part =
            |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let extension = part(self.path.extension()).map(|extension| format!(".{extension}"));
        (
            format!("{}-", part(self.path.file_stem()).unwrap_or_default()),
            extension.unwrap_or_default(),
        )
    }

    fn name_at(&self, ms: u64) -> String {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok();
        let time = time.and_then(|time| time.format(TIME).ok()).unwrap_or_else(|| ms.to_string());
        let (prefix, suffix) = self.affixes();
        format!("{prefix}{time}{suffix}")
    }

    /// Removes rotated files that are too many or too old.
    fn prune(&self) -> io::Result<()> {
        let (prefix, suffix) = self.affixes();
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let time = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&suffix));
            if time.is_some_and(|time| PrimitiveDateTime::parse(time, TIME).is_ok()) {
                names.push(name);
            }
        }
        // The times in the names sort like what they say.
        names.sort_unstable();
        let surplus =
            if self.limits.files == 0 { 0 } else { names.len().saturating_sub(self.limits.files) };
        let age_ms = u64::try_from(self.limits.age.as_millis()).unwrap_or(u64::MAX);
        let oldest = self.name_at(self.clock.now_ms().saturating_sub(age_ms));
        for (index, name) in names.iter().enumerate() {
            if index < surplus || (age_ms > 0 && *name < oldest) {
                std::fs::remove_file(folder.join(name))?;
            }
        }
        Ok(())
    }
}
