//! Files that an operator may replace while the node runs.
//!
//! Invariant: a change is noticed within [`INTERVAL`], or at once with SIGHUP. Files are compared
//! by size and time, so that a mounted folder whose links are switched is noticed too.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often files are checked.
const INTERVAL: Duration = Duration::from_secs(5);

/// When each of some files was last changed, and how long it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileStamps(BTreeMap<PathBuf, (SystemTime, u64)>);

impl FileStamps {
    /// The stamps of files now; those that do not exist are left out.
    pub(crate) fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let look = |file: PathBuf| {
            let metadata = std::fs::metadata(&file).ok()?;
            Some((file, (metadata.modified().ok()?, metadata.len())))
        };
        Self(files.into_iter().filter_map(look).collect())
    }
}

/// The files of a folder.
pub(crate) fn files_of(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect()
}

/// Ticks when files are due to be checked.
pub(crate) struct CheckTimer(Signal);

impl CheckTimer {
    /// Listens for SIGHUP from here on.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::hangup())?))
    }

    /// Waits for the next check.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_seen() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("a");
        let look = || FileStamps::of([file.clone()]);
        let missing = look();
        std::fs::write(&file, "one").unwrap();
        let one = look();
        std::fs::write(&file, "three").unwrap();
        let three = look();
        assert!(
            missing == FileStamps::default() && one != missing && three != one && three == look()
        );
        assert_eq!(files_of(folder.path()), [file]);
    }
}
