//! A small S3 server: one bucket in memory, by path-style requests, without authentication; it can
//! refuse and break off now and then.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_env::{Network, SystemEnv};
use tokio::task::JoinHandle;

/// The bucket's name.
pub(crate) const BUCKET: &str = "backups";
/// Keys that a page of a list has: few, so that there are several.
const PAGE_KEYS: usize = 7;

/// A running server.
pub(crate) struct S3Server {
    pub(crate) address: String,
    pub(crate) state: Arc<S3State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
pub(crate) struct S3State {
    pub(crate) objects: std::sync::Mutex<BTreeMap<String, Bytes>>,
    requests: AtomicUsize,
    /// Each how-manieth request fails; 0 for none.
    pub(crate) failing: AtomicUsize,
}

impl S3Server {
    pub(crate) async fn start() -> Self {
        let listener = SystemEnv.listen("127.0.0.1:0").await.unwrap();
        let (address, state) = (listener.address(), Arc::<S3State>::default());
        let shared = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = shared.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(shared.clone(), request));
                    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, state, task }
    }

    /// How the client reaches it.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        [
            ("aws_endpoint", endpoint.as_str()),
            ("aws_access_key_id", "id"),
            ("aws_secret_access_key", "secret"),
            ("aws_region", "here"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    state: Arc<S3State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let number = state.requests.fetch_add(1, Ordering::Relaxed);
    let failing = state.failing.load(Ordering::Relaxed);
    if failing > 0 && number.is_multiple_of(failing) {
        return Ok(status(StatusCode::SERVICE_UNAVAILABLE));
    }
    let path = head.uri.path().trim_start_matches('/');
    let key = path.strip_prefix(BUCKET).map(|key| key.trim_start_matches('/'));
    let Some(key) = key else { return Ok(status(StatusCode::NOT_FOUND)) };
    let mut objects = state.objects.lock().unwrap();
    Ok(match head.method {
        Method::GET if key.is_empty() => list(&objects, head.uri.query().unwrap_or_default()),
        Method::GET | Method::HEAD => match objects.get(key) {
            Some(object) => object_response(object.clone()),
            None => status(StatusCode::NOT_FOUND),
        },
        Method::PUT => {
            objects.insert(key.to_owned(), body);
            let mut response = status(StatusCode::OK);
            response.headers_mut().insert("etag", "\"1\"".parse().unwrap());
            response
        }
        Method::DELETE => {
            objects.remove(key);
            status(StatusCode::NO_CONTENT)
        }
        Method::POST => {
            // DeleteObjects.
            let text = String::from_utf8_lossy(&body).into_owned();
            let mut deleted = String::new();
            for part in text.split("<Key>").skip(1) {
                let key = part.split("</Key>").next().unwrap_or_default();
                objects.remove(key);
                deleted.push_str(&format!("<Deleted><Key>{key}</Key></Deleted>"));
            }
            xml(format!("<DeleteResult>{deleted}</DeleteResult>"))
        }
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    })
}

fn status(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}

fn xml(text: String) -> Response<Full<Bytes>> {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{text}");
    let mut response = Response::new(Full::new(text.into()));
    response.headers_mut().insert("content-type", "application/xml".parse().unwrap());
    response
}

fn object_response(object: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(object));
    let headers = response.headers_mut();
    headers.insert("etag", "\"1\"".parse().unwrap());
    headers.insert("last-modified", "Sat, 28 Nov 2026 11:00:00 GMT".parse().unwrap());
    response
}

/// ListObjectsV2, a page.
fn list(objects: &BTreeMap<String, Bytes>, query: &str) -> Response<Full<Bytes>> {
    let value = |name: &str| {
        let found =
            query.split('&').filter_map(|pair| pair.split_once('=')).find(|(k, _)| *k == name);
        found.map(|(_, value)| value.replace("%2F", "/")).unwrap_or_default()
    };
    let (prefix, after) = (value("prefix"), value("continuation-token"));
    let mut found = objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix) && (after.is_empty() || **key > after));
    let page: Vec<_> = found.by_ref().take(PAGE_KEYS).collect();
    let more = found.next().is_some();
    let contents: String = page
        .iter()
        .map(|(key, object)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2026-11-28T11:00:00.000Z</LastModified><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                object.len()
            )
        })
        .collect();
    let token = page.last().filter(|_| more).map_or_else(String::new, |(key, _)| {
        format!("<NextContinuationToken>{key}</NextContinuationToken>")
    });
    xml(format!(
        "<ListBucketResult><IsTruncated>{more}</IsTruncated>{token}{contents}</ListBucketResult>"
    ))
}
