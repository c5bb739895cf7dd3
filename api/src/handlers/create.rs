//! POST on a collection.

use std::sync::Arc;

use http::{Response, StatusCode};

use super::Request;
use super::write_options::Parameters;
use super::{decode, identity, warnings, written};
use crate::Api;
use crate::body::Body;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// Creates the object in the body; 201 with what is stored.
pub(super) async fn handle(api: &Arc<Api>, request: &Request) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    written::check_form(api, request)?;
    let parameters = Parameters::parse(api.names, request, "CreateOptions")?;
    let decode::Decoded { mut object, warnings } = decode::object(api, request, resource, parameters.validation)?;
    identity::set_namespace(resource, request.namespace(), &mut object)?;
    if let Some(name) = object.str_at(&["metadata", "name"]).filter(|name| !name.is_empty()) {
        request.named.get_or_init(|| name.to_owned());
    }
    let target = Target { resource, namespace: request.namespace(), name: "" };
    let answer = api.writer_for(&request.user).create(target, object, parameters.write()).await;
    let answer = answer.and_then(|answer| written::object(api, request, StatusCode::CREATED, &answer));
    warnings::attach(request, &warnings, answer)
}
