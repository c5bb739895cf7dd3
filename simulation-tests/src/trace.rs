//! The trace of a run: a hash over every byte that crossed the simulated network, when, and on
//! which connection, and over whatever else the run notes.
//!
//! Invariant: two runs with the same hash did the same at the same simulated times. Optionally
//! every item is also written to a file, so that the first difference of two runs can be found.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use quorate_store::Digest;

use crate::determinism;

/// Shared by everything that notes something.
#[derive(Clone, Default)]
pub(crate) struct Trace {
    inner: Arc<Mutex<TraceState>>,
}

#[derive(Default)]
struct TraceState {
    digest: Digest,
    streams: u64,
    bytes: u64,
    file: Option<BufWriter<File>>,
}

impl Trace {
    /// Writes every item to this file as well, one line each.
    pub(crate) fn write_to(&self, file: File) {
        self.inner.lock().file = Some(BufWriter::new(file));
    }

    /// The number of a new connection's end.
    pub(crate) fn stream(&self, description: &str) -> u64 {
        let number = {
            let mut inner = self.inner.lock();
            inner.streams += 1;
            inner.streams
        };
        self.item(number, description, description.as_bytes());
        number
    }

    /// Notes bytes of a connection, or anything else about something with a number.
    pub(crate) fn item(&self, number: u64, what: &str, bytes: &[u8]) {
        let mut inner = self.inner.lock();
        inner.digest.word(determinism::now());
        inner.digest.word(number);
        inner.digest.bytes(what.as_bytes());
        inner.digest.bytes(bytes);
        inner.bytes += bytes.len() as u64;
        let digest = inner.digest.finish();
        if let Some(file) = &mut inner.file {
            let time = determinism::now();
            let line = writeln!(file, "{time} {number} {what} {} {digest:016x}", bytes.len());
            line.expect("the file that the user asked for can be written");
        }
    }

    /// The hash of everything so far, and how many bytes went into it.
    pub(crate) fn finish(&self) -> (u64, u64) {
        let mut inner = self.inner.lock();
        if let Some(file) = &mut inner.file {
            file.flush().expect("the file that the user asked for can be written");
        }
        (inner.digest.finish(), inner.bytes)
    }
}
