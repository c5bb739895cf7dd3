//! The webhook client: sends JSON (audit events, access reviews) to a server that the operator
//! names in a kubeconfig.
//!
//! Invariants: TLS always, with an authority that the operator names; a request is sent a second time
//! only when it was sent on an idle connection that broke, or when the server answered 401 and the
//! kubeconfig has changed since. So a request may arrive twice. A kubeconfig that has changed, or a
//! file that it names, holds for what is sent [`CHECK_INTERVAL`] later; one with a mistake changes
//! nothing. No request waits for a disk while files are checked.

mod config;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use parking_lot::Mutex;
use quorate_env::{Network, blocking};
use quorate_webhook::{AnswerRoom, Call, Client, ClientOptions};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

pub(crate) use self::config::WebhookConfig;
use crate::error::Error;
use crate::file_watch::FileStamps;
use crate::log_once::LogOnce;

/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;
/// How long a server may take for one answer, whatever shorter limits its callers have.
const MAX_WAIT: Duration = Duration::from_secs(30);
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
}

/// What holds now.
struct Current {
    client: Arc<Client>,
    files: Vec<PathBuf>,
    /// The files as they were when they were read last.
    seen: FileStamps,
}

impl Webhook {
    /// Reads the file that says where to send.
    pub(crate) fn new(file: &Path, network: Arc<dyn Network>) -> Result<Self, Error> {
        let current = Current::read(file, &network)?;
        Ok(Self {
            file: file.to_owned(),
            current: Mutex::new(Arc::new(current)),
            checked: AsyncMutex::new(Instant::now()),
            log_once: Mutex::default(),
            network,
        })
    }

    /// Sends JSON; gives the answer, whatever its status, without a body that is too long.
    ///
    /// # Errors
    /// [`Error::Config`] when another try would be in vain.
    pub(crate) async fn post(&self, body: Bytes) -> Result<(StatusCode, Bytes), Error> {
        self.check_files(CHECK_INTERVAL).await;
        let client = self.client();
        let answer = post_to(&client, body.clone()).await;
        if answer.as_ref().is_ok_and(|(status, _)| *status != StatusCode::UNAUTHORIZED) {
            return answer;
        }
        // The server may have changed its credentials or its own certificate.
        self.check_files(Duration::ZERO).await;
        let changed = self.client();
        if Arc::ptr_eq(&changed, &client) { answer } else { post_to(&changed, body).await }
    }

    /// The client of the server that the files named at the last check.
    fn client(&self) -> Arc<Client> {
        self.current.lock().client.clone()
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
        let changed = blocking(|| current.changed(&self.file, &self.network));
        // What is wrong is read again at the next check: it may be a file that only this one names.
        if let Some(error) = self.log_once.lock().new_error(&changed) {
            tracing::warn!(error, "the changed file cannot be used; what it said before holds");
        }
        if let Ok(Some(changed)) = changed {
            tracing::info!(file = %self.file.display(), "the changed file says where to send");
            *self.current.lock() = Arc::new(changed);
        }
    }
}

/// The answer of a server; of one that is too long only the status.
async fn post_to(client: &Client, body: Bytes) -> Result<(StatusCode, Bytes), Error> {
    let call = Call { body, query: None, timeout: MAX_WAIT, max_answer: MAX_ANSWER };
    match client.post(call).await {
        Ok(answer) => Ok((answer.status, answer.body)),
        Err(error) => error.status().map(|status| (status, Bytes::new())).ok_or(error.into()),
    }
}

impl Current {
    fn read(file: &Path, network: &Arc<dyn Network>) -> Result<Self, Error> {
        let read = || {
            WebhookConfig::read(file)
                .map_err(|error| Error::config(format_args!("{}: {error}", file.display())))
        };
        // Which files there are is known when they have been read; what holds is what they say
        // after the check.
        let seen = FileStamps::of(read()?.files);
        let WebhookConfig { place, authorization, tls, files } = read()?;
        let client = Client::new(ClientOptions {
            place,
            tls,
            authorization,
            network: network.clone(),
            services: None,
            room: AnswerRoom::default(),
        });
        Ok(Self { client: Arc::new(client), files, seen })
    }

    /// What holds from now on, if the files are not what they were.
    fn changed(&self, file: &Path, network: &Arc<dyn Network>) -> Result<Option<Self>, Error> {
        let seen = FileStamps::of(self.files.iter().cloned());
        if seen == self.seen { Ok(None) } else { Self::read(file, network).map(Some) }
    }
}
