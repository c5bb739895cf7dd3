//! A client of a cluster's API, by kubeconfig, for commands of its users.
//!
//! Invariants: what the server refuses keeps the server's words; a request that the server has no room for is sent again
//! after the time that it asks for, a few times; a write whose answer is lost is never sent again.
//!
//! Not here: what a command asks.

mod definition;
mod past;
mod paths;
mod reply;
mod resources;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use quorate_env::{Env, Network};
use quorate_meta::Value;
use quorate_webhook::Connection;
use tokio::time::timeout;

use crate::cli::ClusterFlags;
use crate::error::Error;
use crate::kubeconfig::ClusterAccess;
pub(crate) use definition::{DEFINITION_KIND, as_stored, described, of_gone_definition};
pub(crate) use past::{Change, check_past};
pub(crate) use paths::QueryParameters;
pub(crate) use reply::Reply;
pub(crate) use resources::{ApiResource, Resources, qualified};

/// Bytes of an answer at most: a page of 500 objects of the largest size is less.
const MAX_ANSWER_BYTES: usize = 1 << 30;
/// How often a request is sent that the server has no room for.
const TRIES: u32 = 5;
/// How long the client waits before the next try where the server does not say.
const PAUSE: Duration = Duration::from_secs(1);
/// How long it waits at most.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// How long a server may take to say that it is ready.
const READY_PATIENCE: Duration = Duration::from_secs(10);
/// Objects of a page.
pub(crate) const PAGE_OBJECTS: u32 = 500;
/// What clients ask for that want objects.
pub(crate) const JSON: &str = "application/json";
/// The manager that writes of these commands are by.
const FIELD_MANAGER: &str = "quorate";

/// The client.
pub(crate) struct ClusterClient {
    access: ClusterAccess,
    network: Arc<dyn Network>,
    connection: Option<Connection>,
}

impl ClusterClient {
    /// A client of the cluster that the options name. It connects with the first request.
    pub(crate) async fn new(flags: &ClusterFlags, env: &Env) -> Result<Self, Error> {
        let access = ClusterAccess::read(flags).await?;
        Ok(Self { access, network: env.network.clone(), connection: None })
    }

    /// The namespace of the context.
    pub(crate) fn default_namespace(&self) -> &str {
        &self.access.namespace
    }

    /// What is at a path; an error says why it is not given.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Value, Error> {
        self.get_as(path, JSON).await
    }

    /// The same in a form.
    pub(crate) async fn get_as(&mut self, path: &str, accept: &str) -> Result<Value, Error> {
        self.send(Method::GET, path, accept, None).await?.into_body()
    }

    /// What is at a path; `None` when it is not there.
    pub(crate) async fn find(&mut self, path: &str) -> Result<Option<Value>, Error> {
        let reply = self.send(Method::GET, path, JSON, None).await?;
        if reply.status == StatusCode::NOT_FOUND { Ok(None) } else { reply.into_body().map(Some) }
    }

    /// The objects of a list, all pages.
    pub(crate) async fn list(
        &mut self,
        path: &str,
        query: &QueryParameters,
    ) -> Result<Vec<Value>, Error> {
        let mut all = Vec::new();
        let mut query = query.clone().with("limit", PAGE_OBJECTS.to_string());
        loop {
            let mut page = self.get(&query.path(path)).await?;
            let next = page.str_at(&["metadata", "continue"]).unwrap_or_default().to_owned();
            let about = |field: &str| page.str_at(&[field]).unwrap_or_default().to_owned();
            let (version, kind) = (about("apiVersion"), about("kind"));
            let kind = kind.strip_suffix("List").unwrap_or(&kind).to_owned();
            if let Some(items) = page.get_mut("items").and_then(Value::as_list_mut) {
                // Items of built-in kinds do not say what they are.
                for item in items.iter_mut().filter(|item| item.get("kind").is_none()) {
                    item.set_at(&["apiVersion"], version.clone());
                    item.set_at(&["kind"], kind.clone());
                }
                all.append(items);
            }
            if next.is_empty() {
                return Ok(all);
            }
            query = query.with("continue", next);
        }
    }

    /// Writes an object: POST or PUT.
    pub(crate) async fn write(
        &mut self,
        method: Method,
        path: &str,
        object: &Value,
        dry_run: bool,
    ) -> Result<Reply, Error> {
        let query = QueryParameters::default().with("fieldManager", FIELD_MANAGER);
        let query = if dry_run { query.with("dryRun", "All") } else { query };
        let body = serde_json::to_vec(object).map_err(Error::failed)?;
        self.send(method, &query.path(path), JSON, Some(body.into())).await
    }

    /// Whether the server is there and can carry out a consistent read.
    pub(crate) async fn is_ready(&self) -> bool {
        let asked = timeout(READY_PATIENCE, self.stream("/readyz")).await;
        asked.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status() == StatusCode::OK))
    }

    /// Sends a request; the answer may be a refusal.
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<Bytes>,
    ) -> Result<Reply, Error> {
        for left in (0..TRIES).rev() {
            let reply = self.send_once(&method, path, accept, body.clone()).await?;
            match reply.retry_after {
                Some(pause) if left > 0 && reply.status == StatusCode::TOO_MANY_REQUESTS => {
                    tokio::time::sleep(pause.min(MAX_PAUSE)).await;
                }
                _ => return Ok(reply),
            }
        }
        unreachable!("the last try returns")
    }

    async fn send_once(
        &mut self,
        method: &Method,
        path: &str,
        accept: &str,
        body: Option<Bytes>,
    ) -> Result<Reply, Error> {
        let is_http1 = matches!(self.connection().await?, Connection::Http1(_));
        let request = self.request(method, path, accept, body, is_http1)?;
        let connection = self.connection.as_mut().expect("it was opened just now");
        let answer = connection.send(request).await.map_err(|error| self.lost(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(Error::failed)?.to_bytes();
        Reply::new(head.status, retry_after(&head), &body)
    }

    /// The answer to a get whose body is read while it comes, on a connection of its own.
    pub(crate) async fn stream(&self, path: &str) -> Result<Response<Incoming>, Error> {
        let mut connection = self.open().await?;
        let is_http1 = matches!(connection, Connection::Http1(_));
        let request = self.request(&Method::GET, path, JSON, None, is_http1)?;
        connection.send(request).await.map_err(|error| self.lost(&error))
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        accept: &str,
        body: Option<Bytes>,
        is_http1: bool,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let ClusterAccess { address, prefix, headers, .. } = &self.access;
        // HTTP/2 has the server's name in the URI, HTTP/1.1 in a header.
        let origin = if is_http1 { String::new() } else { format!("https://{address}") };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{origin}{prefix}{path}"))
            .header("accept", accept)
            .header("user-agent", concat!("quorate/", env!("CARGO_PKG_VERSION")));
        if is_http1 {
            request = request.header("host", address.as_str());
        }
        if body.is_some() {
            request = request.header("content-type", JSON);
        }
        for (name, value) in headers {
            request = request.header::<&HeaderName, &HeaderValue>(name, value);
        }
        request.body(Full::new(body.unwrap_or_default())).map_err(Error::config)
    }

    fn lost(&self, error: &hyper::Error) -> Error {
        Error::failed(format_args!("{}: {error}", self.access.address))
    }

    async fn connection(&mut self) -> Result<&Connection, Error> {
        if self.connection.as_ref().is_none_or(Connection::is_closed) {
            self.connection = Some(self.open().await?);
        }
        Ok(self.connection.as_ref().expect("it was opened just now"))
    }

    async fn open(&self) -> Result<Connection, Error> {
        let ClusterAccess { address, server_name, tls, .. } = &self.access;
        Ok(Connection::open_as(&*self.network, address, server_name, tls.clone()).await?)
    }

    /// `host:port` of the server.
    pub(crate) fn address(&self) -> &str {
        &self.access.address
    }
}

/// When the server wants to be asked again.
fn retry_after(head: &Parts) -> Option<Duration> {
    let told = head.headers.get("retry-after").and_then(|value| value.to_str().ok());
    let told = told.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    told.or((head.status == StatusCode::TOO_MANY_REQUESTS).then_some(PAUSE))
}
