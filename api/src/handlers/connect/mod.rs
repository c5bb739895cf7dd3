//! The subresources that lead through the server to a kubelet, a pod or a Service: logs, streams of
//! containers, and proxies.
//!
//! Invariants: a connection is admitted before its object is looked for, and nothing is written. The
//! object is read at the newest state, so that a container of a pod that has just been bound is
//! found.
//!
//! Not here: streams themselves. A kubelet is asked for a connection, and a server that has none
//! says why; what needs the connection of the client to change its protocol is refused.

mod container;
mod endpoint;
mod log;
mod options;
mod proxy;
mod refusal;
mod streams;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::poll_fn;
use http::Response;
use http_body::Body as _;
use hyper::body::Incoming;
use quorate_meta::{GroupResource, Reason, Status, Value};

use super::options::At;
use super::snapshot;
use crate::Api;
use crate::body::{Body, Chunks};
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use options::Form;
use quorate_registry::error::Error;
use quorate_registry::write::{GivenOptions, SubresourceRequest, Target, WriteOptions};
use quorate_registry::{AdmissionOperation, stored_codec};

const PODS: &str = "pods";
const NODES: &str = "nodes";

/// Whether a subresource of this name leads to another server.
pub(crate) fn connects(subresource: &str) -> bool {
    matches!(subresource, "attach" | "exec" | "log" | "portforward" | "proxy")
}

/// Answers a request to such a subresource.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    match request.info.subresource.as_deref() {
        Some("log") => log::handle(api, request).await,
        Some("proxy") => proxy::handle(api, request).await,
        Some(stream) => streams::handle(api, request, stream).await,
        None => Err(Error::no_such_path()),
    }
}

/// Reads the options of a connection and has them admitted.
async fn admit(
    api: &Arc<Api>,
    request: &Request<'_>,
    fields: &[(&'static str, Form)],
    path: Option<String>,
) -> Result<Value, Error> {
    let resource = request.resource()?;
    let name = request.info.subresource.as_deref().unwrap_or_default();
    let subresource = resource.subresource(name).ok_or_else(Error::no_such_path)?;
    let form = subresource.body.as_ref();
    let form = form.ok_or_else(|| Error::internal("the schema has no options of a connection"))?;
    let mut options = options::read(&request.info.query, fields)?;
    if let Some(path) = path {
        options.set_at(&["path"], path);
    }
    options.set_at(&["apiVersion"], form.api_version.as_str());
    options.set_at(&["kind"], form.kind.as_str());
    let admitted = SubresourceRequest {
        operation: AdmissionOperation::Connect,
        target: Target { resource, namespace: request.namespace(), name: request.name()? },
        subresource: name,
        options: WriteOptions { dry_run: false, manager: "", given: GivenOptions::NONE },
        graph: &form.graph(),
        ty: form.ty(),
    };
    writer_for(api, request).admit_request(admitted, &mut options).await?;
    Ok(options)
}

/// An object of the core group at the newest state.
async fn object(
    api: &Api,
    request: &Request<'_>,
    plural: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Value, Error> {
    let resource =
        request.catalogue.find_builtin("", "v1", plural).ok_or_else(Error::no_such_path)?;
    let snapshot = snapshot::snapshot(api, request, At::MostRecent).await?;
    let missing = || Status::not_found(&GroupResource::new("", plural), name);
    let entry = snapshot.get(&resource.key(namespace, name)).ok_or_else(missing)?;
    stored_codec::decode(resource, entry)
}

/// The host and the port of the kubelet of a node.
async fn kubelet(api: &Api, request: &Request<'_>, node: &str) -> Result<(String, i64), Error> {
    let node = object(api, request, NODES, None, node).await?;
    api.kubelets.locate(&node).map_err(failed)
}

/// An error that clients see as the other server's connection gave it: 500 with no reason.
fn failed(message: impl Into<String>) -> Error {
    Status::failure(Reason::Unknown, message).into()
}

/// The buffers of a body.
fn chunks(mut body: Incoming) -> Chunks {
    let frames = poll_fn(move |cx| Pin::new(&mut body).poll_frame(cx));
    Box::pin(frames.filter_map(async |frame| match frame {
        Ok(frame) => frame.into_data().ok().map(Ok::<Bytes, io::Error>),
        Err(error) => Some(Err(io::Error::other(error))),
    }))
}
