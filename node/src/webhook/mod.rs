//! A server that the operator names in a kubeconfig, and that this node sends JSON to: audit events, access reviews.
//!
//! Invariants: TLS always, with an authority that the operator names; at most [`MAX_REQUESTS`] requests at a time, and as many
//! connections, of which [`MAX_IDLE`] stay open; a request goes out a second time only when the connection that it went out
//! on was an old one and broke, or when the server did not let this node in and the kubeconfig says something else by now. So
//! whatever is sent may arrive twice. A kubeconfig that has changed, or a file that it names, holds for what is sent
//! [`LOOK_INTERVAL`] later; one with a mistake changes nothing. No request waits for a disk while files are looked at.

#[cfg(test)]
pub(crate) mod scripted;
mod target;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use parking_lot::Mutex;
use quorate_env::{Network, blocking};
use tokio::sync::{Mutex as Turn, Semaphore};
use tokio::time::Instant;

use self::target::Target;
use crate::client::Connection;
use crate::complaint::Complaint;
use crate::error::Error;
use crate::watched::Seen;

/// Requests that run at a time; more wait.
const MAX_REQUESTS: usize = 64;
/// Connections that stay open when nothing is sent.
const MAX_IDLE: usize = 16;
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;
/// How often the files are looked at while something is sent.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct Webhook {
    file: PathBuf,
    current: Mutex<Arc<Current>>,
    /// When the files were looked at last; held while somebody looks.
    looked: Turn<Instant>,
    /// Why they could not be used when they were looked at last, so that it is logged once.
    complaint: Mutex<Complaint>,
    network: Arc<dyn Network>,
    places: Semaphore,
    idle: Mutex<Vec<Open>>,
}

/// What holds now.
struct Current {
    target: Arc<Target>,
    /// The files as they were when they were read last.
    seen: Seen,
}

/// An open connection, and what it was opened by.
struct Open {
    connection: Connection,
    target: Arc<Target>,
}

impl Webhook {
    /// Reads the file that says where to send.
    pub(crate) fn new(file: &Path, network: Arc<dyn Network>) -> Result<Self, Error> {
        let current = Current::read(file)?;
        Ok(Self {
            file: file.to_owned(),
            current: Mutex::new(Arc::new(current)),
            looked: Turn::new(Instant::now()),
            complaint: Mutex::default(),
            network,
            places: Semaphore::new(MAX_REQUESTS),
            idle: Mutex::default(),
        })
    }

    /// Sends JSON; gives the answer, whatever its status, without a body that is too long.
    ///
    /// # Errors
    /// [`Error::Config`] when another try would be in vain.
    pub(crate) async fn post(&self, body: Bytes) -> Result<(StatusCode, Bytes), Error> {
        let _place = self.places.acquire().await.map_err(Error::failed)?;
        self.look(LOOK_INTERVAL).await;
        let target = self.target();
        let answer = self.post_to(&target, body.clone()).await;
        if answer.as_ref().is_ok_and(|(status, _)| *status != StatusCode::UNAUTHORIZED) {
            return answer;
        }
        // Perhaps the server has changed whom it lets in, or its own certificate.
        self.look(Duration::ZERO).await;
        let changed = self.target();
        if Arc::ptr_eq(&changed, &target) { answer } else { self.post_to(&changed, body).await }
    }

    /// Where to send, as the files said when they were looked at last.
    fn target(&self) -> Arc<Target> {
        self.current.lock().target.clone()
    }

    /// Reads the files again if they are not what they were, when the last look is so long ago. While somebody looks because it
    /// is time, nobody else waits for it.
    async fn look(&self, after: Duration) {
        let mut looked = match self.looked.try_lock() {
            Ok(looked) => looked,
            Err(_) if after.is_zero() => self.looked.lock().await,
            Err(_) => return,
        };
        if looked.elapsed() < after {
            return;
        }
        *looked = Instant::now();
        let current = self.current.lock().clone();
        let changed = blocking(|| current.changed(&self.file));
        // What is wrong is read again at the next look: it may be a file that only this one names.
        if let Some(error) = self.complaint.lock().news(&changed) {
            tracing::warn!(error, "the changed file cannot be used; what it said before holds");
        }
        if let Ok(Some(changed)) = changed {
            tracing::info!(file = %self.file.display(), "the changed file says where to send");
            *self.current.lock() = Arc::new(changed);
        }
    }

    async fn post_to(&self, target: &Arc<Target>, body: Bytes) -> Result<(StatusCode, Bytes), Error> {
        let idle = {
            let mut idle = self.idle.lock();
            idle.retain(|open| Arc::ptr_eq(&open.target, target));
            idle.pop()
        };
        if let Some(open) = idle
            && let Ok(answer) = self.send(open, body.clone()).await
        {
            return Ok(answer);
        }
        // The others are as old.
        self.idle.lock().clear();
        let connection = Connection::open(&*self.network, &target.address, target.tls.clone()).await?;
        self.send(Open { connection, target: target.clone() }, body).await
    }

    async fn send(&self, mut open: Open, body: Bytes) -> Result<(StatusCode, Bytes), Error> {
        let Target { address, path, token, .. } = &*open.target;
        let mut request = Request::post(path)
            .header("host", address)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).map_err(Error::failed)?;
        let answer = open.connection.send(request).await.map_err(Error::failed)?;
        let status = answer.status();
        let body = match Limited::new(answer.into_body(), MAX_ANSWER).collect().await {
            Ok(body) => body,
            // The rest is not waited for, so this connection cannot be used again.
            Err(error) if error.is::<LengthLimitError>() => return Ok((status, Bytes::new())),
            Err(error) => return Err(Error::failed(error)),
        };
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE {
            idle.push(open);
        }
        Ok((status, body.to_bytes()))
    }
}

impl Current {
    fn read(file: &Path) -> Result<Self, Error> {
        let read = || Target::read(file).map_err(|error| Error::config(format_args!("{}: {error}", file.display())));
        // Which files there are is known when they have been read; what holds is what they say after the look.
        let seen = Seen::of(read()?.files);
        Ok(Self { target: Arc::new(read()?), seen })
    }

    /// What holds from now on, if the files are not what they were.
    fn changed(&self, file: &Path) -> Result<Option<Self>, Error> {
        let seen = Seen::of(self.target.files.iter().cloned());
        if seen == self.seen { Ok(None) } else { Self::read(file).map(Some) }
    }
}
