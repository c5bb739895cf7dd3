//! Parameters that several pages of the past have: limits and continue tokens.

use quorate_registry::error::Error;
use quorate_store::Revision;

use crate::Api;
use crate::continue_token::Position;
use crate::handlers::Request;

/// Items of a page whose request names no limit.
const DEFAULT_LIMIT: usize = 100;

/// Items on a page at most.
///
/// # Errors
/// 400 for what is no number.
pub(super) fn limit(request: &Request<'_>, most: usize) -> Result<usize, Error> {
    let asked = request.info.query.int("limit")?.filter(|limit| *limit > 0);
    let limit = asked.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(most));
    Ok(limit.min(most))
}

/// Where the page before ended; `None` on the first page.
///
/// # Errors
/// 400 for a token of another request.
pub(super) fn position(
    api: &Api,
    request: &Request<'_>,
    scope: &str,
) -> Result<Option<Position>, Error> {
    let token = request.info.query.text("continue");
    if token.is_empty() {
        return Ok(None);
    }
    let position = api.tokens.open(scope, token).ok_or_else(|| {
        Error::bad_request(
            "continue key is not valid: it was not made by this cluster for this request",
        )
    })?;
    Ok(Some(position))
}

/// The token of the next page: it begins at a revision, and the first page was read at another.
pub(super) fn token(api: &Api, scope: &str, next: Revision, first_read: Revision) -> String {
    let position = Position { revision: next, last: Vec::new(), remaining: first_read.get() };
    api.tokens.seal(scope, &position)
}
