//! The state of a running cluster, asked of a node by a kubeconfig.
//!
//! Invariant: an answer that stops for [`PATIENCE`] is an error; a stream that ends early is one of its
//! reader's.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, BodyStream, Full, Limited};
use hyper::body::Incoming;
use quorate_backup::{Credentials, Frame, Frames, Identity, Source, SourceError, decode_frames};
use quorate_env::{Env, Network};
use quorate_store::Revision;
use quorate_webhook::{Connection, Place};
use serde_json::Value;
use tokio::time::timeout;

use crate::error::Error;
use crate::webhook::WebhookConfig;

/// How long a node may take for the next part of an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
/// Bytes of an answer in JSON at most.
const MAX_JSON_BYTES: usize = 256 << 20;

/// A server, and who asks it.
pub(in crate::command) struct HttpSource {
    network: Arc<dyn Network>,
    address: String,
    prefix: String,
    config: WebhookConfig,
}

impl HttpSource {
    /// The server of a kubeconfig: the one that is named, that of `KUBECONFIG`, or `~/.kube/config`.
    pub(in crate::command) fn open(kubeconfig: Option<&Path>, env: &Env) -> Result<Self, Error> {
        let file = match kubeconfig {
            Some(file) => file.to_owned(),
            None => default_file()?,
        };
        let config = WebhookConfig::read(&file)
            .map_err(|error| Error::config(format_args!("{}: {error}", file.display())))?;
        let Place::Url { address, path } = config.place.clone() else {
            return Err(Error::config("the kubeconfig names no server"));
        };
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(Self { network: env.network.clone(), address, prefix, config })
    }

    /// The status of a page, if there is an answer.
    pub(in crate::command) async fn status_of(&self, path: &str) -> Option<StatusCode> {
        let answer = timeout(PATIENCE, self.send(Method::GET, path, Bytes::new())).await.ok()?;
        answer.ok().map(|answer| answer.status())
    }

    /// Sends JSON, or nothing; the status and the JSON of the answer.
    pub(in crate::command) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), SourceError> {
        let asked = async {
            let body = body.map(Value::to_string).unwrap_or_default();
            let answer = self.send(method, path, body.into()).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_JSON_BYTES).collect().await;
            let body = body.map_err(|error| self.failed(&error))?.to_bytes();
            let value = serde_json::from_slice(&body).map_err(|error| self.failed(&error))?;
            Ok((status, value))
        };
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(self.failed(&"no answer")))
    }

    async fn get(&self, path: &str) -> Result<Incoming, SourceError> {
        match timeout(PATIENCE, self.ask(path)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.failed(&"no answer")),
        }
    }

    fn failed(&self, error: &dyn Display) -> SourceError {
        SourceError::Unavailable(format!("{}: {error}", self.address))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, SourceError> {
        let tls = self.config.tls.clone();
        let connection = Connection::open(&*self.network, &self.address, tls).await;
        let mut connection = connection.map_err(|error| self.failed(&error))?;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(HOST, &self.address)
            .header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.config.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(body));
        let request = request.map_err(|error| self.failed(&error))?;
        connection.send(request).await.map_err(|error| self.failed(&error))
    }

    async fn ask(&self, path: &str) -> Result<Incoming, SourceError> {
        let answer = self.send(Method::GET, path, Bytes::new()).await?;
        let status = answer.status();
        if status == StatusCode::OK {
            return Ok(answer.into_body());
        }
        let body = Limited::new(answer.into_body(), MAX_REFUSAL_BYTES).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let message = serde_json::from_slice::<Value>(&body).ok();
        let message = message.as_ref().and_then(|status| status["message"].as_str());
        match status {
            StatusCode::GONE => Err(SourceError::Gone),
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                let why = format!("{path}: {status}: {}", message.unwrap_or_default());
                Err(SourceError::Refused(why))
            }
            _ => Err(self.failed(&format!("{status}: {}", message.unwrap_or_default()))),
        }
    }

    async fn frames(&self, path: &str) -> Result<Frames, SourceError> {
        let body = BodyStream::new(self.get(path).await?);
        let next = |body: Option<BodyStream<Incoming>>| async move {
            let mut body = body?;
            let bytes = match timeout(PATIENCE, body.next()).await {
                Ok(None) => return None,
                Ok(Some(Ok(frame))) => Ok(frame.into_data().unwrap_or_default()),
                Ok(Some(Err(error))) => Err(error.to_string()),
                Err(_) => Err("the answer has stopped".to_owned()),
            };
            let rest = bytes.is_ok().then_some(body);
            Some((bytes, rest))
        };
        Ok(decode_frames(futures::stream::unfold(Some(body), next)))
    }

    async fn one(&self, path: &str) -> Result<Frame, SourceError> {
        let frame = self.frames(path).await?.next().await;
        frame.unwrap_or_else(|| Err(SourceError::Unavailable("the answer is empty".to_owned())))
    }
}

/// Where kubectl looks too.
fn default_file() -> Result<PathBuf, Error> {
    let named = std::env::var_os("KUBECONFIG").filter(|name| !name.is_empty());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
    let file = named.map(PathBuf::from).or_else(home);
    file.ok_or_else(|| Error::config("which cluster? Name a file with --kubeconfig or KUBECONFIG"))
}

fn unexpected() -> SourceError {
    SourceError::Unavailable("the server does not answer as a node does".to_owned())
}

#[async_trait]
impl Source for HttpSource {
    async fn identity(&self) -> Result<Identity, SourceError> {
        match self.one("/backup/identity").await? {
            Frame::Identity(identity) => Ok(identity),
            _ => Err(unexpected()),
        }
    }

    async fn state(&self, resume: Option<(Revision, Bytes)>) -> Result<Frames, SourceError> {
        let Some((at, after)) = resume else { return self.frames("/backup/state").await };
        let after: String = after.iter().map(|byte| format!("{byte:02x}")).collect();
        self.frames(&format!("/backup/state?revision={at}&after={after}")).await
    }

    async fn changes(&self, after: Revision) -> Result<Frames, SourceError> {
        self.frames(&format!("/backup/changes?after={after}")).await
    }

    async fn credentials(&self) -> Result<Credentials, SourceError> {
        match self.one("/backup/credentials").await? {
            Frame::Credentials(credentials) => Ok(credentials),
            _ => Err(unexpected()),
        }
    }
}
