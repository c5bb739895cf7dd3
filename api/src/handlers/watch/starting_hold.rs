//! What a watch holds while it tells the state first: its seats, and its share in what other watches
//! make of that state.
//!
//! Invariant: a client that does not take the state in time keeps neither. Its watch goes on without.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_access::flow_control::ExecutingRequest;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::fanout::{InitialChunk, InitialReader};

/// How long a watch holds them at most.
const LIMIT: Duration = Duration::from_secs(60);

/// The seats of a watch that begins and its share; dropping it gives them back.
pub(super) struct StartingHold {
    held: Arc<Mutex<Held>>,
    /// Ends the wait for the limit.
    _timer: AbortOnDropHandle<()>,
}

#[derive(Debug, Default)]
struct Held {
    #[expect(dead_code, reason = "kept for its end")]
    executing: Option<ExecutingRequest>,
    reader: Option<InitialReader>,
}

impl StartingHold {
    /// Holds the seats of a request that has some, and the share in a state that may be shared.
    pub(super) fn new(executing: Option<ExecutingRequest>, reader: Option<InitialReader>) -> Self {
        let held = Arc::new(Mutex::new(Held { executing, reader }));
        let late = Arc::clone(&held);
        let timer = tokio::spawn(async move {
            sleep(LIMIT).await;
            let given_back = std::mem::take(&mut *late.lock());
            drop(given_back);
        });
        Self { held, _timer: AbortOnDropHandle::new(timer) }
    }

    /// The chunk after this object, if another watch has made it.
    pub(super) fn chunk(&self, after: Option<&Bytes>) -> Option<InitialChunk> {
        self.held.lock().reader.as_ref()?.chunk(after)
    }

    /// Keeps the chunk after this object for other watches.
    pub(super) fn keep(&self, after: Option<&Bytes>, chunk: &InitialChunk) {
        if let Some(reader) = &self.held.lock().reader {
            reader.keep(after, chunk);
        }
    }
}

impl Drop for StartingHold {
    fn drop(&mut self) {
        let given_back = std::mem::take(&mut *self.held.lock());
        drop(given_back);
    }
}

impl fmt::Debug for StartingHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartingHold").field("held", &self.held).finish_non_exhaustive()
    }
}
