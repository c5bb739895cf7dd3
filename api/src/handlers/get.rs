//! GET of one object: at the newest version, at any, or at one that is not older than asked.

use http::{Response, StatusCode};
use quorate_meta::{GroupResource, Status};
use quorate_store::Revision;

use super::options::{At, parse_version};
use super::{answer, freshness};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::component_status;
use quorate_registry::Resource;
use quorate_registry::error::Error;

pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let at = match parse_version(request.info.query.text("resourceVersion"))? {
        None => At::MostRecent,
        Some(Revision::ZERO) => At::Any,
        Some(revision) => At::NotOlderThan(revision),
    };
    let snapshot = component_status::state(api, request, at).await?;
    let name = request.name()?;
    let entry = snapshot.get(&resource.key(request.namespace(), name)).ok_or_else(|| {
        freshness::failure(api, snapshot.revision(), Status::not_found(&named(resource), name))
    })?;
    let shown = answer::object(api, request, StatusCode::OK, &entry.value, entry.modified);
    let mut response = shown.await?;
    freshness::tell(api, snapshot.revision(), &mut response);
    Ok(response)
}

/// What messages call the resource; of what is made up they say what one of it is.
fn named(resource: &Resource) -> GroupResource {
    let name =
        if component_status::is_observed(resource) { &resource.singular } else { &resource.plural };
    GroupResource::new(resource.group.clone(), name.clone())
}
