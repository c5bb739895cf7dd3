//! The traces of a server, kept for its test.

use parking_lot::Mutex;
use quorate_trace::{FinishedTrace, TraceSink};

/// What has been told so far.
#[derive(Debug, Default)]
pub(crate) struct KeptTraces(Mutex<Vec<FinishedTrace>>);

impl KeptTraces {
    /// Takes what has been told.
    pub(crate) fn take(&self) -> Vec<FinishedTrace> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl TraceSink for KeptTraces {
    fn export(&self, trace: FinishedTrace) {
        self.0.lock().push(trace);
    }
}
