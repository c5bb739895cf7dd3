//! The routing filter: finds the handler, or refuses the request with 404 or 405.

use super::Exchange;
use crate::handlers::{self, Route};
use quorate_registry::error::Error;

/// The route of the request.
pub(super) fn find(x: &mut Exchange<'_>) -> Result<Route, Error> {
    let route = handlers::find(x.api, &x.catalogue, x.record.info())?;
    if route.resource().is_some_and(|resource| resource.deprecation.is_some()) {
        x.record.deprecated();
    }
    Ok(route)
}
