//! One client of the measurement: a connection to every server, and the requests that it sends.
//!
//! Invariant: what a client waits for it asks for again and again, for at most [`LIMIT`].

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use memchr::memmem;
use quorate_env::Env;
use quorate_meta::well_known::MEDIA_APPLY_PATCH;
use quorate_webhook::Connection;
use tokio::time::{Instant, sleep};

use super::variants::ServedVersion;
use crate::bench::servers::Servers;
use crate::bench::workload::request;
use crate::error::Error;

/// How long a client waits for what it expects.
const LIMIT: Duration = Duration::from_secs(300);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// A client.
#[derive(Debug)]
pub(super) struct DefinitionsClient<'s> {
    servers: &'s Servers,
    env: &'s Env,
    connections: Vec<Connection>,
    /// The server that it writes to.
    own: usize,
}

/// An answer, read to its end.
struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl<'s> DefinitionsClient<'s> {
    /// The client with this number.
    pub(super) async fn connect(
        servers: &'s Servers,
        number: usize,
        env: &'s Env,
    ) -> Result<Self, Error> {
        let mut connections = Vec::new();
        for server in 0..servers.count() {
            connections.push(servers.connect(env, server).await?);
        }
        Ok(Self { servers, env, connections, own: number % servers.count() })
    }

    /// Applies a definition on the server side; with `dry_run` nothing is stored. Gives why the
    /// server refuses it, if so.
    pub(super) async fn apply(
        &mut self,
        path: &str,
        (name, json): (&str, &str),
        dry_run: bool,
    ) -> Result<Option<String>, Error> {
        let dry_run = if dry_run { "&dryRun=All" } else { "" };
        let path = format!("{path}/{name}?fieldManager=bench&force=true{dry_run}");
        let server = self.servers.server(self.own);
        let mut apply = request(Method::PATCH, server, &path, json.to_owned());
        apply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_APPLY_PATCH));
        let answer = self.send(self.own, apply).await?;
        let is_refused = answer.status.is_client_error();
        if is_refused {
            return Ok(Some(String::from_utf8_lossy(&answer.body).into_owned()));
        }
        answer.success(&path).map(|_| None)
    }

    /// Waits until discovery has a resource at a server.
    pub(super) async fn until_discovered(
        &mut self,
        server: usize,
        version: &ServedVersion,
    ) -> Result<(), Error> {
        let path = format!("/apis/{}", version.api_version);
        let plural = format!(r#""name":"{}""#, version.plural);
        self.until(server, &path, &plural).await
    }

    /// Waits until the document of a group version in OpenAPI v3 has a text at a server: a kind, or
    /// what was changed.
    pub(super) async fn until_described(
        &mut self,
        server: usize,
        version: &ServedVersion,
        text: &str,
    ) -> Result<(), Error> {
        let path = format!("/openapi/v3/apis/{}", version.api_version);
        self.until(server, &path, &format!(r#""{text}""#)).await
    }

    /// The group versions in the index of OpenAPI v3 at a server.
    pub(super) async fn index(&mut self, server: usize) -> Result<Vec<String>, Error> {
        let answer = self.get(server, "/openapi/v3").await?.success("/openapi/v3")?;
        let index: serde_json::Value = serde_json::from_slice(&answer).map_err(Error::failed)?;
        let paths = index["paths"].as_object().into_iter().flat_map(|paths| paths.keys());
        Ok(paths.filter_map(|path| path.strip_prefix("apis/")).map(str::to_owned).collect())
    }

    /// How many definitions that a label selects are established, page by page.
    pub(super) async fn established(&mut self, path: &str, label: &str) -> Result<usize, Error> {
        let (mut count, mut token) = (0, String::new());
        loop {
            let page = format!("{path}?labelSelector={label}&limit=100&continue={token}");
            let answer = self.get(self.own, &page).await?.success(path)?;
            let page: serde_json::Value = serde_json::from_slice(&answer).map_err(Error::failed)?;
            let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            count += items.iter().filter(|item| is_established(item)).count();
            page["metadata"]["continue"].as_str().unwrap_or_default().clone_into(&mut token);
            if token.is_empty() {
                return Ok(count);
            }
        }
    }

    /// Deletes the definitions that a label selects, and waits until they are gone.
    pub(super) async fn remove(&mut self, path: &str, label: &str) -> Result<(), Error> {
        let path = format!("{path}?labelSelector={label}");
        let server = self.servers.server(self.own);
        let delete = request(Method::DELETE, server, &path, String::new());
        self.send(self.own, delete).await?.success(&path)?;
        self.until(self.own, &format!("{path}&limit=1"), r#""items":[]"#).await
    }

    async fn until(&mut self, server: usize, path: &str, text: &str) -> Result<(), Error> {
        let (finder, deadline) = (memmem::Finder::new(text), Instant::now() + LIMIT);
        loop {
            let answer = self.get(server, path).await?;
            if answer.status.is_success() && finder.find(&answer.body).is_some() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let why = format_args!("{path} lacks {text} after {LIMIT:?}: {}", answer.status);
                return Err(Error::failed(why));
            }
            sleep(PAUSE).await;
        }
    }

    async fn get(&mut self, server: usize, path: &str) -> Result<Answer, Error> {
        let get = request(Method::GET, self.servers.server(server), path, String::new());
        self.send(server, get).await
    }

    async fn send(
        &mut self,
        server: usize,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, Error> {
        let what = format!("{} {}", request.method(), request.uri().path());
        let wrong = |error: &dyn fmt::Display| Error::failed(format_args!("{what}: {error}"));
        if self.connections[server].is_closed() {
            // A server that has more to do than it can closes connections that do not answer it.
            self.connections[server] = self.servers.connect(self.env, server).await?;
        }
        let answer = self.connections[server].send(request).await;
        let answer = answer.map_err(|error| wrong(&error))?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| wrong(&error))?.to_bytes();
        Ok(Answer { status, body })
    }
}

impl Answer {
    fn success(self, what: &str) -> Result<Bytes, Error> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let body = String::from_utf8_lossy(&self.body);
        Err(Error::failed(format_args!("{what}: {} {body}", self.status)))
    }
}

fn is_established(definition: &serde_json::Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
}
