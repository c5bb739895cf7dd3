//! Connections of one client that stay open between calls.
//!
//! Invariants: an HTTP/1.1 connection is here only while nothing is sent on it; of HTTP/2 there is
//! one, which calls share. What has closed or was unused for [`MAX_IDLE_TIME`] is not given out.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Connection;

/// HTTP/1.1 connections that stay open when nothing is sent.
const MAX_IDLE: usize = 16;
/// How long one of them stays open.
const MAX_IDLE_TIME: Duration = Duration::from_secs(90);

/// The open connections.
#[derive(Debug, Default)]
pub(super) struct Pool {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// The one that was used last stands last.
    idle: Vec<(Connection, Instant)>,
    shared: Option<Connection>,
}

impl Pool {
    /// A connection that was used before.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut open = self.open.lock();
        open.shared.take_if(|shared| shared.is_closed());
        if let Some(shared) = &open.shared {
            return shared.share();
        }
        open.idle.retain(|(connection, since)| {
            !connection.is_closed() && since.elapsed() < MAX_IDLE_TIME
        });
        open.idle.pop().map(|(connection, _)| connection)
    }

    /// Keeps a connection that an answer was read from to its end.
    pub(super) fn keep(&self, connection: Connection) {
        let mut open = self.open.lock();
        if let Connection::Http2(_) = connection {
            open.shared.get_or_insert(connection);
        } else if open.idle.len() < MAX_IDLE && !connection.is_closed() {
            open.idle.push((connection, Instant::now()));
        }
    }

    /// Forgets all of them: one has failed, and the others are as old. Calls that are under way go
    /// on.
    pub(super) fn clear(&self) {
        *self.open.lock() = Open::default();
    }
}
