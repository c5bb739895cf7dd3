//! The listening server: accepts connections up to a limit, and drains in order when told to stop.
//!
//! Stopping: readiness turns false at once; after the delay (in which load balancers notice) the
//! port closes, idle connections get a GOAWAY, watches end, and running requests finish within the
//! grace period; what still runs then is cut.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quorate_env::{Io, Listener};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{Shared, serve};
use super::{Limits, ServerTls};
use crate::Api;

/// How long accepting rests after an error such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where and how to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// `host:port`; port 0 takes a free one.
    pub address: String,
    /// Certificates, shared with the task that reloads them.
    pub tls: Arc<ServerTls>,
    /// Limits of the connection layer.
    pub limits: Limits,
    /// How long the server still accepts requests after it has said that it is not ready.
    pub shutdown_delay: Duration,
    /// How long running requests may take to finish after that.
    pub shutdown_grace: Duration,
}

/// A bound server.
pub struct ApiServer {
    listener: Box<dyn Listener>,
    shared: Arc<Shared>,
    stop: CancellationToken,
    options: Options,
}

/// Tells a running server to stop. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    stop: CancellationToken,
    address: String,
}

impl Handle {
    /// The address that was bound, with the real port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Begins to stop; [`ApiServer::run`] returns when it is done.
    pub fn shutdown(&self) {
        self.stop.cancel();
    }
}

impl ApiServer {
    /// Binds the address. Connections wait until [`ApiServer::run`].
    pub async fn bind(api: Arc<Api>, options: Options) -> io::Result<(Self, Handle)> {
        let listener = api.env.network.listen(&options.address).await?;
        let stop = CancellationToken::new();
        let handle = Handle { stop: stop.clone(), address: listener.address() };
        let shared = Shared {
            api,
            tls: options.tls.clone(),
            limits: options.limits,
            drain: CancellationToken::new(),
        };
        Ok((Self { listener, shared: Arc::new(shared), stop, options }, handle))
    }

    /// Serves until the handle says stop, then drains.
    pub async fn run(self) {
        let api = self.shared.api.clone();
        tokio::select! {
            () = self.serve() => {}
            () = api.selector_indexes.prune() => {}
        }
    }

    async fn serve(self) {
        let connections = TaskTracker::new();
        let places = Arc::new(Semaphore::new(self.options.limits.connections));
        let mut closing = Box::pin(self.not_ready_then_delay());
        loop {
            let place = tokio::select! {
                () = &mut closing => break,
                place = places.clone().acquire_owned() => place.expect("the semaphore is never closed"),
            };
            let (io, peer) = tokio::select! {
                () = &mut closing => break,
                accepted = self.accept() => accepted,
            };
            let shared = self.shared.clone();
            connections.spawn(async move {
                serve(shared, io, peer).await;
                drop(place);
            });
        }
        drop(closing);
        self.drain(connections).await;
    }

    async fn not_ready_then_delay(&self) {
        self.stop.cancelled().await;
        self.shared.api.lifecycle.stop_being_ready();
        sleep(self.options.shutdown_delay).await;
    }

    async fn accept(&self) -> (Box<dyn Io>, String) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn drain(self, connections: TaskTracker) {
        drop(self.listener);
        self.shared.api.lifecycle.end_watches();
        self.shared.drain.cancel();
        connections.close();
        if timeout(self.options.shutdown_grace, connections.wait()).await.is_err() {
            tracing::warn!(
                connections = connections.len(),
                "cutting connections that did not finish in time"
            );
        }
    }
}
