//! PUT on an object or one of its subresources. Where the kind lets an update create the object,
//! its creator needs the permission to create as well.

use std::sync::Arc;

use http::{Response, StatusCode};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::options::Parameters;
use crate::handlers::write::{decode, identity, permit, response};
use quorate_registry::Part;
use quorate_registry::error::Error;
use quorate_registry::write::{Outcome, Target, UpdateOptions};

/// Replaces the object with the one in the body; 200, or 201 where the kind is created by an
/// update.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    response::check_form(api, request)?;
    let parameters = Parameters::parse(api.names, request, "UpdateOptions")?;
    let read = || {
        let mut decoded = decode::object(api, request, resource, parameters.validation)?;
        identity::check_name(name, &decoded.object)?;
        identity::set_namespace(resource, request.namespace(), &mut decoded.object)?;
        Ok::<_, Error>(decoded)
    };
    let decode::Decoded { object, warnings } = read()?;
    let target = Target { resource, namespace: request.namespace(), name };
    let part = Part::of(request.info.subresource.as_deref()).ok_or_else(Error::no_such_path)?;
    let if_match = request.if_match();
    let options = UpdateOptions {
        write: parameters.write(),
        part,
        if_match: if_match.as_deref(),
        replaces: true,
        named: None,
    };
    // Only an update that has to be made again reads the body again.
    let mut object = Some(object);
    let again =
        move |_: Option<&_>| object.take().map_or_else(|| read().map(|decoded| decoded.object), Ok);
    let permit = || permit::creation(api, request);
    let answer = writer_for(api, request).put(target, options, &permit, again).await;
    let answer = match answer {
        Ok(answer) if answer.outcome == Outcome::Created => {
            response::object(api, request, StatusCode::CREATED, &answer).await
        }
        Ok(answer) => response::object(api, request, StatusCode::OK, &answer).await,
        Err(error) => Err(error),
    };
    request.warned(&warnings, answer)
}
