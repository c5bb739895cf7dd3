//! The streams of containers: `exec`, `attach` and `portforward`.
//!
//! What is asked for is checked, and the kubelet is connected to, so that a client learns what is
//! wrong with its pod or with the way to the node. A client's connection is not handed over to the
//! kubelet: what would be one is refused.

use std::sync::Arc;

use http::Response;
use http::header::{CONNECTION, UPGRADE};
use quorate_meta::Status;

use super::options::Form;
use super::{PODS, admit, container, failed, kubelet, object};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::kubelet::joined;
use quorate_access::request::Verb;
use quorate_registry::error::Error;

const ATTACH: [(&str, Form); 5] = [
    ("stdin", Form::Flag),
    ("stdout", Form::Flag),
    ("stderr", Form::Flag),
    ("tty", Form::Flag),
    ("container", Form::Text),
];
const EXEC: [(&str, Form); 6] = [
    ("stdin", Form::Flag),
    ("stdout", Form::Flag),
    ("stderr", Form::Flag),
    ("tty", Form::Flag),
    ("container", Form::Text),
    ("command", Form::Texts),
];
const PORT_FORWARD: [(&str, Form); 1] = [("ports", Form::Numbers)];

/// Answers a request for a stream.
pub(super) async fn handle(
    api: &Arc<Api>,
    request: &Request<'_>,
    stream: &str,
) -> Result<Response<Body>, Error> {
    debug_assert!(matches!(request.info.verb, Verb::Get | Verb::Create), "as discovery says");
    let fields = match stream {
        "attach" => &ATTACH[..],
        "exec" => &EXEC[..],
        _ => &PORT_FORWARD[..],
    };
    let options = admit(api, request, fields, None).await?;
    let name = request.name()?;
    let pod = object(api, request, PODS, request.namespace(), name).await?;
    if stream != "portforward" {
        container::choose(&pod, options.str_at(&["container"]).unwrap_or_default())?;
    }
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    if node.is_empty() {
        return Err(Error::bad_request(format!("pod {name} does not have a host assigned")));
    }
    let (host, port) = kubelet(api, request, node).await?;
    if !wants_upgrade(request) {
        return Err(Error::bad_request("Upgrade request required"));
    }
    let address = joined(&host, port);
    let connected = api.kubelets.connect(&*api.env.network, &address, true).await;
    connected.map_err(|why| failed(format!("error dialing backend: {why}")))?;
    Err(Status::service_unavailable("this server hands no connection over to a kubelet").into())
}

/// Whether the client wants its connection to change its protocol.
fn wants_upgrade(request: &Request<'_>) -> bool {
    let upgrades = request.headers.get_all(CONNECTION).iter();
    let mut upgrades = upgrades.filter_map(|value| value.to_str().ok());
    request.headers.contains_key(UPGRADE)
        && upgrades.any(|value| value.to_ascii_lowercase().contains("upgrade"))
}
