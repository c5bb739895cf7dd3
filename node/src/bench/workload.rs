//! The workloads: the requests of each measurement, and the objects that they need.
//!
//! Everything happens in two namespaces with a random name, removed and waited for at the end: one
//! holds the objects that are read, one those that are created, so that no measurement disturbs the
//! next. What the objects are is the [`ObjectTemplate`]'s matter.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_env::Env;
use quorate_meta::well_known::{MEDIA_APPLY_PATCH, MEDIA_MERGE_PATCH};
use quorate_webhook::Connection;
use tokio::time::{Instant, sleep};

use super::Options;
use super::definition;
use super::encoding::Encoding;
use super::kind::Kind;
use super::objects::ObjectTemplate;
use super::servers::Servers;
use crate::error::Error;

/// Requests at a time while objects are made.
const PREPARATION_CLIENTS: u32 = 64;
/// How long removing what was made may take.
const REMOVAL_LIMIT: Duration = Duration::from_secs(300);
/// Between two checks whether objects are served, or namespaces gone.
pub(super) const POLL_PAUSE: Duration = Duration::from_millis(100);

/// A request of a measurement.
pub(super) type MeasuredRequest = Request<Full<Bytes>>;

/// The namespace with its objects.
#[derive(Debug)]
pub(super) struct Workspace {
    namespace: String,
    /// The namespace in which the measurement of creates makes its objects.
    created: String,
    template: ObjectTemplate,
    objects: u32,
    page_size: u32,
    /// How its objects are read.
    pub(super) encoding: Encoding,
}

impl Workspace {
    /// Makes the namespace and, when a measurement needs them, the objects; shows progress on a
    /// terminal. A curve begins with none.
    pub(super) async fn prepare(
        servers: &Servers,
        options: &Options,
        (template, encoding): (ObjectTemplate, Encoding),
        env: &Env,
    ) -> Result<Self, Error> {
        let mut suffix = [0; 4];
        env.entropy.fill(&mut suffix);
        let namespace = format!("bench-{:08x}", u32::from_be_bytes(suffix));
        let mut workspace = Self {
            created: format!("{namespace}-new"),
            namespace,
            template,
            objects: 0,
            page_size: options.page_size,
            encoding,
        };
        let mut connection = servers.connect(env, 0).await?;
        definition::define(&workspace.template, servers, &mut connection).await?;
        for name in [&workspace.namespace, &workspace.created] {
            let body = format!(
                r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#
            );
            let create = request(Method::POST, servers.server(0), "/api/v1/namespaces", body);
            must_succeed(&mut connection, create).await?;
        }
        let needs_objects =
            |kind: &Kind| !matches!(kind, Kind::Create | Kind::Idle | Kind::Definitions);
        if options.workloads.contains(&Kind::Curve) {
            return Ok(workspace);
        }
        if options.workloads.iter().any(needs_objects) {
            workspace.grow(options.first_objects(), servers, env).await?;
        } else {
            workspace.objects = options.first_objects();
        }
        Ok(workspace)
    }

    /// Lets a group of users do everything in the namespace.
    pub(super) async fn let_read(
        &self,
        group: &str,
        servers: &Servers,
        env: &Env,
    ) -> Result<(), Error> {
        let path = format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
            self.namespace
        );
        let body = serde_json::json!({
            "metadata": { "generateName": "bench-" },
            "roleRef": { "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "Group", "name": group }],
        });
        let create = request(Method::POST, servers.server(0), &path, body.to_string());
        must_succeed(&mut servers.connect(env, 0).await?, create).await.map(drop)
    }

    /// Makes objects until there are so many; shows progress on a terminal.
    pub(super) async fn grow(
        &mut self,
        objects: u32,
        servers: &Servers,
        env: &Env,
    ) -> Result<(), Error> {
        let first = std::mem::replace(&mut self.objects, objects);
        let bar = ProgressBar::new(objects.saturating_sub(first).into());
        bar.set_style(
            ProgressStyle::with_template("making objects {wide_bar} {pos}/{len} {per_sec}")
                .expect("the template is well formed"),
        );
        let clients = PREPARATION_CLIENTS.min(objects);
        let all: FuturesUnordered<_> = (0..clients)
            .map(async |client| {
                let mut connection = servers.connect(env, client as usize).await?;
                let mut number = first + client;
                while number < objects {
                    let server = servers.server(client as usize);
                    let create = self.create(&self.namespace, server, number, &object_name(number));
                    must_succeed(&mut connection, create).await?;
                    bar.inc(1);
                    number += clients;
                }
                Ok::<_, Error>(())
            })
            .collect();
        let results: Vec<_> = all.collect().await;
        bar.finish_and_clear();
        results.into_iter().collect()
    }

    /// The request of a client: `turn` counts its requests, `token` continues a paged list.
    pub(super) fn request(
        &self,
        kind: Kind,
        server: &str,
        (client, clients): (u32, u32),
        turn: u32,
        token: &str,
    ) -> Request<Full<Bytes>> {
        let number = client.wrapping_add(turn.wrapping_mul(clients)) % self.objects;
        let name = object_name(number);
        let collection = self.collection();
        let get = |path: String| self.read(server, &path, false);
        let list = |path: String| self.read(server, &path, true);
        match kind {
            Kind::Create => {
                self.create(&self.created, server, number, &format!("new-{client}-{turn}"))
            }
            Kind::Update => request(
                Method::PUT,
                server,
                &format!("{collection}/{name}"),
                self.template.object(number, turn, &name),
            ),
            Kind::Apply => {
                let path = format!("{collection}/{name}?fieldManager=bench&force=true");
                patch(server, &path, MEDIA_APPLY_PATCH, self.template.object(number, turn, &name))
            }
            Kind::Watch | Kind::Fanout => {
                let path = format!("{collection}/{name}");
                patch(server, &path, MEDIA_MERGE_PATCH, ObjectTemplate::stamp(turn))
            }
            Kind::Get | Kind::Overload => get(format!("{collection}/{name}")),
            Kind::GetAny => get(format!("{collection}/{name}?resourceVersion=0")),
            Kind::List | Kind::Idle | Kind::Definitions | Kind::Curve => list(collection),
            Kind::Herd | Kind::WatchList => self.initial_events(server),
            Kind::Select => list(format!("{collection}?labelSelector=shard%3D0")),
            Kind::SelectPart if self.template.parts() == 1 => list(collection),
            Kind::SelectPart => {
                let part = self.template.part(number);
                list(format!("{collection}?labelSelector=part%3D{part}"))
            }
            Kind::SelectField => {
                let selector = self.template.field_selector(number, &name);
                list(format!("{collection}?fieldSelector={selector}"))
            }
            Kind::Page if token.is_empty() => {
                list(format!("{collection}?limit={}", self.page_size))
            }
            Kind::Page => list(format!("{collection}?limit={}&continue={token}", self.page_size)),
        }
    }

    /// A read in the form that is measured.
    fn read(&self, server: &str, path: &str, is_list: bool) -> Request<Full<Bytes>> {
        let mut read = request(Method::GET, server, path, String::new());
        let accept = HeaderValue::from_static(self.encoding.accept(is_list));
        read.headers_mut().insert(ACCEPT, accept);
        read
    }

    /// The request that opens a watch of all objects.
    pub(super) fn watch(&self, server: &str, after: &str) -> Request<Full<Bytes>> {
        let path =
            format!("{}?watch=1&resourceVersion={after}&timeoutSeconds=3600", self.collection());
        self.read(server, &path, false)
    }

    /// The request that opens a watch of the objects of one part.
    pub(super) fn watch_part(&self, server: &str, after: &str, part: u32) -> MeasuredRequest {
        if self.template.parts() == 1 {
            return self.watch(server, after);
        }
        let path = format!(
            "{}?watch=1&resourceVersion={after}&timeoutSeconds=3600&labelSelector=part%3D{part}",
            self.collection()
        );
        self.read(server, &path, false)
    }

    /// The request that opens a watch which tells all objects first, as informers do.
    fn initial_events(&self, server: &str) -> MeasuredRequest {
        let path = format!(
            "{}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
             &allowWatchBookmarks=true&timeoutSeconds=3600",
            self.collection()
        );
        self.read(server, &path, false)
    }

    /// How many objects there are.
    pub(super) fn objects(&self) -> u32 {
        self.objects
    }

    /// What the objects are made of.
    pub(super) fn template(&self) -> &ObjectTemplate {
        &self.template
    }

    /// Deletes what the measurement of creates has made.
    pub(super) async fn delete_created(&self, servers: &Servers, env: &Env) -> Result<(), Error> {
        let collection = self.template.collection(&self.created);
        let delete = request(Method::DELETE, servers.server(0), &collection, String::new());
        must_succeed(&mut servers.connect(env, 0).await?, delete).await.map(drop)
    }

    /// The bytes of one object in JSON.
    pub(super) async fn answered_bytes(
        &self,
        servers: &Servers,
        env: &Env,
    ) -> Result<usize, Error> {
        let path = format!("{}/{}", self.collection(), object_name(0));
        let get = request(Method::GET, servers.server(0), &path, String::new());
        Ok(must_succeed(&mut servers.connect(env, 0).await?, get).await?.len())
    }

    /// The request for the collection's resource version alone.
    pub(super) fn head_of_list(&self, server: &str) -> Request<Full<Bytes>> {
        request(Method::GET, server, &format!("{}?limit=1", self.collection()), String::new())
    }

    /// Removes the namespaces with what they hold, which would disturb the next measurement. Takes
    /// seconds where much was created, and goes on at the next server when one is lost.
    pub(super) async fn clean_up(&self, servers: &Servers, env: &Env) -> Result<(), Error> {
        let paths =
            [&self.namespace, &self.created].map(|name| format!("/api/v1/namespaces/{name}"));
        let bar = ProgressBar::new_spinner().with_message("removing objects");
        let deadline = Instant::now() + REMOVAL_LIMIT;
        let (mut server, mut connection) = (0, None);
        for (method, path) in [Method::DELETE, Method::GET]
            .iter()
            .flat_map(|method| paths.iter().map(move |path| (method, path)))
        {
            loop {
                let ask = request(method.clone(), servers.server(server), path, String::new());
                let asked = ask_again(&mut connection, (servers, server), env, ask).await;
                match &asked {
                    Ok(StatusCode::NOT_FOUND) => break,
                    Ok(status) if status.is_success() && method == Method::DELETE => break,
                    Ok(StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS) => {}
                    Ok(status) if status.is_client_error() => {
                        return Err(Error::failed(format_args!("{method} {path}: {status}")));
                    }
                    Ok(_) => {}
                    Err(_) => server += 1,
                }
                if Instant::now() >= deadline {
                    return Err(Error::failed(format_args!(
                        "{path} is still there after {REMOVAL_LIMIT:?}: {asked:?}"
                    )));
                }
                bar.tick();
                sleep(POLL_PAUSE).await;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn collection(&self) -> String {
        self.template.collection(&self.namespace)
    }

    fn create(
        &self,
        namespace: &str,
        server: &str,
        number: u32,
        name: &str,
    ) -> Request<Full<Bytes>> {
        let collection = self.template.collection(namespace);
        request(Method::POST, server, &collection, self.template.object(number, 0, name))
    }
}

fn object_name(number: u32) -> String {
    format!("object-{number:08}")
}

/// A request with a body in JSON, which may be empty.
pub(super) fn request(
    method: Method,
    server: &str,
    path: &str,
    body: String,
) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("https://{server}{path}"))
        .header("host", server)
        .header("accept", "application/json")
        .header("content-type", "application/json")
        .header("user-agent", concat!("quorate-bench/", env!("CARGO_PKG_VERSION")))
        .body(Full::from(body))
        .expect("the parts of the request are well formed")
}

fn patch(server: &str, path: &str, media: &'static str, body: String) -> Request<Full<Bytes>> {
    let mut patch = request(Method::PATCH, server, path, body);
    patch.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    patch
}

/// How a request is answered.
pub(super) async fn status(
    connection: &mut Connection,
    request: Request<Full<Bytes>>,
) -> Result<StatusCode, Error> {
    let (head, body) = connection.send(request).await.map_err(Error::failed)?.into_parts();
    body.collect().await.map_err(Error::failed)?;
    Ok(head.status)
}

/// How a request is answered, on the connection that is there or on a new one.
async fn ask_again(
    connection: &mut Option<Connection>,
    (servers, server): (&Servers, usize),
    env: &Env,
    request: Request<Full<Bytes>>,
) -> Result<StatusCode, Error> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => servers.connect(env, server).await?,
    };
    let answered = status(&mut open, request).await?;
    *connection = Some(open);
    Ok(answered)
}

/// The body of the answer to a request that is not refused.
pub(super) async fn must_succeed(
    connection: &mut Connection,
    request: Request<Full<Bytes>>,
) -> Result<Bytes, Error> {
    let what = format!("{} {}", request.method(), request.uri().path());
    let wrong = |error: &dyn fmt::Display| Error::failed(format_args!("{what}: {error}"));
    let answer = connection.send(request).await.map_err(|error| wrong(&error))?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| wrong(&error))?.to_bytes();
    if status.is_success() {
        Ok(body)
    } else {
        Err(wrong(&format_args!("{status} {}", String::from_utf8_lossy(&body))))
    }
}
