//! The state of a running cluster, asked of a node as its users ask.
//!
//! Invariant: an answer that stops for [`PATIENCE`] is an error; a stream that ends early is one of its
//! reader's.

use std::fmt::Display;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use http::StatusCode;
use http_body_util::{BodyExt, BodyStream, Limited};
use hyper::body::Incoming;
use quorate_backup::{Credentials, Frame, Frames, Identity, Source, SourceError, decode_frames};
use quorate_env::Env;
use quorate_store::Revision;
use serde_json::Value;
use tokio::time::timeout;

use crate::cli::ClusterFlags;
use crate::cluster_client::ClusterClient;
use crate::error::Error;

/// How long a node may take for the next part of an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// A cluster that is backed up.
pub(in crate::command) struct ClusterSource(ClusterClient);

impl ClusterSource {
    /// The cluster that the options name.
    pub(in crate::command) async fn open(flags: &ClusterFlags, env: &Env) -> Result<Self, Error> {
        Ok(Self(ClusterClient::new(flags, env).await?))
    }

    async fn get(&self, path: &str) -> Result<Incoming, SourceError> {
        match timeout(PATIENCE, self.ask(path)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.failed(&"no answer")),
        }
    }

    fn failed(&self, error: &dyn Display) -> SourceError {
        SourceError::Unavailable(format!("{}: {error}", self.0.address()))
    }

    async fn ask(&self, path: &str) -> Result<Incoming, SourceError> {
        let answer = self.0.stream(path).await.map_err(|error| self.failed(&error))?;
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

fn unexpected() -> SourceError {
    SourceError::Unavailable("the server does not answer as a node does".to_owned())
}

#[async_trait]
impl Source for ClusterSource {
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
