//! The webhook client: sends JSON (audit events, access reviews) to a server that the operator
//! names in a kubeconfig.
//!
//! Invariants: TLS always, with an authority that the operator names; at most [`MAX_REQUESTS`]
//! requests at a time, and as many connections, of which [`MAX_IDLE`] stay open; a request is sent
//! a second time only when it was sent on an idle connection that broke, or when the server
//! answered 401 and the kubeconfig has changed since. So a request may arrive twice. A kubeconfig
//! that has changed, or a file that it names, holds for what is sent [`CHECK_INTERVAL`] later; one
//! with a mistake changes nothing. No request waits for a disk while files are checked.

mod config;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use parking_lot::Mutex;
use quorate_env::{Network, blocking};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::Instant;

use self::config::WebhookConfig;
use crate::client::Connection;
use crate::error::Error;
use crate::file_watch::FileStamps;
use crate::log_once::LogOnce;

/// Requests that run at a time; more wait.
const MAX_REQUESTS: usize = 64;
/// Connections that stay open when nothing is sent.
const MAX_IDLE: usize = 16;
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;
/// How often the files are checked while something is sent.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A client of one server, whose kubeconfig may change.
pub(crate) struct Webhook {
    file: PathBuf,
    current: Mutex<Arc<Current>>,
    /// When the files were last checked; held during a check.
    checked: AsyncMutex<Instant>,
    /// Why they could not be used at the last check, so that it is logged once.
    log_once: Mutex<LogOnce>,
    network: Arc<dyn Network>,
    places: Semaphore,
    idle: Mutex<Vec<Open>>,
}

/// What holds now.
struct Current {
    config: Arc<WebhookConfig>,
    /// The files as they were when they were read last.
    seen: FileStamps,
}

/// An open connection, and what it was opened by.
struct Open {
    connection: Connection,
    config: Arc<WebhookConfig>,
}

impl Webhook {
    /// Reads the file that says where to send.
    pub(crate) fn new(file: &Path, network: Arc<dyn Network>) -> Result<Self, Error> {
        let current = Current::read(file)?;
        Ok(Self {
            file: file.to_owned(),
            current: Mutex::new(Arc::new(current)),
            checked: AsyncMutex::new(Instant::now()),
            log_once: Mutex::default(),
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
        self.check_files(CHECK_INTERVAL).await;
        let config = self.config();
        let answer = self.post_to(&config, body.clone()).await;
        if answer.as_ref().is_ok_and(|(status, _)| *status != StatusCode::UNAUTHORIZED) {
            return answer;
        }
        // The server may have changed its credentials or its own certificate.
        self.check_files(Duration::ZERO).await;
        let changed = self.config();
        if Arc::ptr_eq(&changed, &config) { answer } else { self.post_to(&changed, body).await }
    }

    /// Where to send, as the files said at the last check.
    fn config(&self) -> Arc<WebhookConfig> {
        self.current.lock().config.clone()
    }

    /// Reads the files again if they have changed, when the last check is at least `after` ago.
    /// Requests do not wait for a check that is under way, unless `after` is zero.
    async fn check_files(&self, after: Duration) {
        let mut checked = match self.checked.try_lock() {
            Ok(checked) => checked,
            Err(_) if after.is_zero() => self.checked.lock().await,
            Err(_) => return,
        };
        if checked.elapsed() < after {
            return;
        }
        *checked = Instant::now();
        let current = self.current.lock().clone();
        let changed = blocking(|| current.changed(&self.file));
        // What is wrong is read again at the next check: it may be a file that only this one names.
        if let Some(error) = self.log_once.lock().new_error(&changed) {
            tracing::warn!(error, "the changed file cannot be used; what it said before holds");
        }
        if let Ok(Some(changed)) = changed {
            tracing::info!(file = %self.file.display(), "the changed file says where to send");
            *self.current.lock() = Arc::new(changed);
        }
    }

    async fn post_to(
        &self,
        config: &Arc<WebhookConfig>,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Error> {
        let idle = {
            let mut idle = self.idle.lock();
            idle.retain(|open| Arc::ptr_eq(&open.config, config));
            idle.pop()
        };
        if let Some(open) = idle
            && let Ok(answer) = self.send(open, body.clone()).await
        {
            return Ok(answer);
        }
        // The others are as old.
        self.idle.lock().clear();
        let connection =
            Connection::open(&*self.network, &config.address, config.tls.clone()).await?;
        self.send(Open { connection, config: config.clone() }, body).await
    }

    async fn send(&self, mut open: Open, body: Bytes) -> Result<(StatusCode, Bytes), Error> {
        let WebhookConfig { address, path, token, .. } = &*open.config;
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
        let read = || {
            WebhookConfig::read(file)
                .map_err(|error| Error::config(format_args!("{}: {error}", file.display())))
        };
        // Which files there are is known when they have been read; what holds is what they say
        // after the check.
        let seen = FileStamps::of(read()?.files);
        Ok(Self { config: Arc::new(read()?), seen })
    }

    /// What holds from now on, if the files are not what they were.
    fn changed(&self, file: &Path) -> Result<Option<Self>, Error> {
        let seen = FileStamps::of(self.config.files.iter().cloned());
        if seen == self.seen { Ok(None) } else { Self::read(file).map(Some) }
    }
}
