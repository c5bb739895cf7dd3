//! GET of one object: at the newest version, at any, at one that is not older than asked, or as of a
//! moment of the past.

use bytes::Bytes;
use http::Response;
use quorate_meta::{GroupResource, Status};
use quorate_store::{Revision, Snapshot};

use super::options::{At, parse_version};
use super::{answer, freshness, past};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::component_status;
use quorate_registry::Resource;
use quorate_registry::error::Error;

pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    let key = resource.key(request.namespace(), name);
    let snapshot = state(api, request, &key).await?;
    let entry = snapshot.get(&key).ok_or_else(|| {
        freshness::failure(api, snapshot.revision(), Status::not_found(&named(resource), name))
    })?;
    let mut response = answer::stored(api, request, &key, entry).await?;
    freshness::tell(api, snapshot.revision(), &mut response);
    Ok(response)
}

/// The state in which a get of the object with this key finds it.
pub(super) async fn state(
    api: &Api,
    request: &Request<'_>,
    key: &Bytes,
) -> Result<Snapshot, Error> {
    if let Some(moment) = past::asked(request)? {
        return past::object_state(api, request, moment, key.clone()).await;
    }
    let at = match parse_version(request.info.query.text("resourceVersion"))? {
        None => At::MostRecent,
        Some(Revision::ZERO) => At::Any,
        Some(revision) => At::NotOlderThan(revision),
    };
    component_status::state(api, request, at).await
}

/// What messages call the resource; of what is made up they say what one of it is.
fn named(resource: &Resource) -> GroupResource {
    let name =
        if component_status::is_observed(resource) { &resource.singular } else { &resource.plural };
    GroupResource::new(resource.group.clone(), name.clone())
}
