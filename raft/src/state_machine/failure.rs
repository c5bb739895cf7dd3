//! The report that the state cannot go on, in one line for the operator.
//!
//! Invariant: a failed write or sync is reported before Raft fails, for Raft's own words say only
//! that something closed. Nothing is retried here.

use std::io;
use std::path::PathBuf;

use quorate_env::Fatal;

/// Reports failures of the state's disk. Clones share one signal.
#[derive(Clone)]
pub(super) struct FailureReport {
    fatal: Fatal,
    directory: PathBuf,
}

impl FailureReport {
    /// For the state in this folder.
    pub(super) fn new(fatal: Fatal, directory: PathBuf) -> Self {
        Self { fatal, directory }
    }

    /// Reports a failure, and passes the result on.
    pub(super) fn watch<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| self.report(error))
    }

    /// The state has failed: its disk takes nothing any more.
    pub(super) fn report(&self, error: &io::Error) {
        self.fatal.report(format!(
            "cannot go on with the state in {}: {error}",
            self.directory.display()
        ));
    }
}
