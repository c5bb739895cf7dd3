//! POST on a collection.

use std::sync::Arc;

use http::{Response, StatusCode};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::options::Parameters;
use crate::handlers::write::{decode, identity, response};
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// Creates the object in the body; 201 with what is stored.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    response::check_form(api, request)?;
    let parameters = Parameters::parse(api.names, request, "CreateOptions")?;
    let decode::Decoded { mut object, warnings } =
        decode::object(api, request, resource, parameters.validation)?;
    identity::set_namespace(resource, request.namespace(), &mut object)?;
    if let Some(name) = object.str_at(&["metadata", "name"]).filter(|name| !name.is_empty()) {
        request.record.named(name);
    }
    let target = Target { resource, namespace: request.namespace(), name: "" };
    let answer = writer_for(api, request).create(target, object, parameters.write()).await;
    let answer = match answer {
        Ok(answer) => response::object(api, request, StatusCode::CREATED, &answer).await,
        Err(error) => Err(error),
    };
    request.warned(&warnings, answer)
}
