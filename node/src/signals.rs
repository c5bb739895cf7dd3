//! The signals that stop a process. Files are read again at another one ([`crate::file_watch`]).
//!
//! Invariant: listening starts before anything that takes time, so that a signal during start-up is
//! not lost.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

/// SIGTERM and SIGINT.
#[derive(Debug)]
pub(crate) struct Termination {
    terminate: Signal,
    interrupt: Signal,
}

impl Termination {
    /// From now on the signals no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(Error::failed);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Returns when one of them arrives.
    pub(crate) async fn requested(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
