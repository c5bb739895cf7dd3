//! The routing filter: finds the handler, or refuses the request with 404 or 405.
//!
//! Invariants: a client finds the custom resource that it was told of, by this node or another one,
//! in the form that it was told; what is known and did not change costs two loads of a number.

use super::Exchange;
use crate::handlers::{self, Route};
use quorate_extensions::crd::publisher::Publisher;
use quorate_meta::Reason;
use quorate_registry::error::Error;

/// The route of the request.
pub(super) async fn find(x: &mut Exchange<'_>) -> Result<Route, Error> {
    let custom_resources = x.api.custom_resources.as_deref();
    if let Some(publisher) = custom_resources.filter(|publisher| publisher.is_behind()) {
        publisher.catch_up().await?;
        x.catalogue = x.api.catalogue.load();
    }
    let mut found = handlers::find(x.api, &x.catalogue, x.record.info());
    if let (Err(error), Some(publisher)) = (&found, custom_resources)
        && may_be_new(x, error)
    {
        found = find_again(x, publisher).await?.unwrap_or(found);
        if found.is_err()
            && let Some(gone) = handlers::gone_catalogue(x.api, &x.catalogue, x.record.info())?
        {
            found = handlers::find(x.api, &gone, x.record.info());
        }
    }
    let route = found?;
    if let Some(deprecation) = route.resource().and_then(|one| one.deprecation.as_ref()) {
        x.record.deprecated(deprecation.removed_release);
    }
    Ok(route)
}

/// Whether a resource that was not found may be a custom one that this node does not know yet.
fn may_be_new(x: &Exchange<'_>, error: &Error) -> bool {
    let is_missing = error.reason() == Some(&Reason::NotFound);
    is_missing && x.record.info().path.starts_with("/apis/")
}

/// The same in the newest catalogue; `None` where that is the one that was looked in.
async fn find_again(
    x: &mut Exchange<'_>,
    publisher: &Publisher,
) -> Result<Option<Result<Route, Error>>, Error> {
    publisher.catch_up_with_cluster().await?;
    let newest = x.api.catalogue.load();
    if newest.epoch() == x.catalogue.epoch() {
        return Ok(None);
    }
    x.catalogue = newest;
    Ok(Some(handlers::find(x.api, &x.catalogue, x.record.info())))
}
