//! A server that the operator names in a kubeconfig, and that this node sends JSON to: audit events, access reviews.
//!
//! Invariants: TLS always, with an authority that the operator names; at most [`MAX_REQUESTS`] requests at a time, and as many
//! connections, of which [`MAX_IDLE`] stay open; a request goes out a second time only when the connection that it went out
//! on was an old one and broke. So whatever is sent may arrive twice.

#[cfg(test)]
pub(crate) mod scripted;
mod target;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use parking_lot::Mutex;
use quorate_store::env::Network;
use tokio::sync::Semaphore;

use self::target::Target;
use crate::client::Connection;
use crate::error::Error;

/// Requests that run at a time; more wait.
const MAX_REQUESTS: usize = 64;
/// Connections that stay open when nothing is sent.
const MAX_IDLE: usize = 16;
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;

/// See the module.
pub(crate) struct Webhook {
    target: Target,
    network: Arc<dyn Network>,
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Webhook {
    /// Reads the file that says where to send.
    pub(crate) fn new(file: &Path, network: Arc<dyn Network>) -> Result<Self, Error> {
        let target = Target::read(file).map_err(|error| Error::config(format_args!("{}: {error}", file.display())))?;
        Ok(Self { target, network, places: Semaphore::new(MAX_REQUESTS), idle: Mutex::default() })
    }

    /// Sends JSON; gives the answer, whatever its status, without a body that is too long.
    pub(crate) async fn post(&self, body: Bytes) -> Result<(StatusCode, Bytes), String> {
        let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
        let idle = self.idle.lock().pop();
        if let Some(connection) = idle
            && let Ok(answer) = self.send(connection, body.clone()).await
        {
            return Ok(answer);
        }
        // The others are as old.
        self.idle.lock().clear();
        let Target { address, tls, .. } = &self.target;
        let connection = Connection::open(&*self.network, address, tls.clone()).await;
        self.send(connection.map_err(|error| error.to_string())?, body).await
    }

    async fn send(&self, mut connection: Connection, body: Bytes) -> Result<(StatusCode, Bytes), String> {
        let Target { address, path, token, .. } = &self.target;
        let mut request = Request::post(path)
            .header("host", address)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
        let answer = connection.send(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = match Limited::new(answer.into_body(), MAX_ANSWER).collect().await {
            Ok(body) => body,
            // The rest is not waited for, so this connection cannot be used again.
            Err(error) if error.is::<LengthLimitError>() => return Ok((status, Bytes::new())),
            Err(error) => return Err(error.to_string()),
        };
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
        Ok((status, body.to_bytes()))
    }
}
