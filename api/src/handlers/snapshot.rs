//! The snapshot that answers a request, by the resourceVersion that it asks for.
//!
//! Invariant: nothing here waits longer than [`VERSION_WAIT`] for this node to catch up, nor until
//! the client's own time is over: it is told what it waits for.

use std::time::Duration;

use quorate_meta::Status;
use quorate_store::{HistoryError, Purges, Revision, Snapshot};
use tokio::time::{Instant, timeout};

use super::freshness;
use super::options::At;
use crate::Api;
use crate::handlers::Request;
use quorate_access::authorization::{Action, impersonate};
use quorate_registry::error::Error;

/// How long a request waits for a version that this node has not applied yet.
const VERSION_WAIT: Duration = Duration::from_secs(3);

/// A snapshot that shows what was asked for. A user who asks for the newest state must be allowed
/// to by the newest rules.
pub(crate) async fn snapshot(api: &Api, request: &Request<'_>, at: At) -> Result<Snapshot, Error> {
    match at {
        At::MostRecent => {
            let begin = Instant::now();
            let newest = api.store.read_index().await;
            if let Ok(resource) = request.resource() {
                api.metrics.reads.waited(resource, begin.elapsed(), newest.is_ok());
            }
            newest?;
            recheck(api, request).await?;
            Ok(api.store.snapshot())
        }
        At::Any => Ok(api.store.snapshot()),
        At::NotOlderThan(revision) => {
            wait_for(api, request, revision).await?;
            Ok(api.store.snapshot())
        }
        At::Exact(revision) => {
            let state = exactly(api, request, revision).await?;
            state.ok_or_else(|| failure(api, Status::list_expired()))
        }
    }
}

/// The state at a revision; `None` when it is forgotten. So counts a collection of which anything was
/// purged since.
pub(super) async fn exactly(
    api: &Api,
    request: &Request<'_>,
    revision: Revision,
) -> Result<Option<Snapshot>, Error> {
    wait_for(api, request, revision).await?;
    if let Ok(resource) = request.resource() {
        let prefix = resource.prefix(request.namespace());
        if Purges::since(&api.store.snapshot(), &prefix, revision).is_some() {
            return Ok(None);
        }
    }
    match api.store.snapshot_at(revision) {
        Ok(state) => Ok(Some(state)),
        Err(HistoryError::Compacted { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Authorizes the request again by everything that this node has applied meanwhile: the
/// impersonation, and what the user may do.
pub(super) async fn recheck(api: &Api, request: &Request<'_>) -> Result<(), Error> {
    let action = Action::of(request.info);
    if let Some(original_user) = request.original_user
        && api.authorizer.has_changed(request.epoch).await?
    {
        impersonate(&api.authorizer, original_user, request.headers, &action).await?;
    }
    if let Some(decision) = api.authorizer.recheck(request.epoch, request.user, &action).await? {
        let refused = if decision.is_allowed() {
            Ok(())
        } else {
            decision.clone().enforce(request.user, &action)
        };
        request.record.decided_again(decision);
        refused?;
    }
    Ok(())
}

/// Waits a little until this node has applied the revision; 504 when it does not.
pub(crate) async fn wait_for(
    api: &Api,
    request: &Request<'_>,
    revision: Revision,
) -> Result<(), Error> {
    let patience =
        request.info.time_asked().map_or(VERSION_WAIT, |asked| VERSION_WAIT.min(asked / 2));
    if api.store.status().applied >= revision
        || timeout(patience, api.store.applied(revision)).await.is_ok()
    {
        return Ok(());
    }
    let applied = api.store.status().applied;
    Err(failure(api, Status::too_large_resource_version(revision.get(), applied.get())))
}

/// Why there is no snapshot, in the newest state that there is.
pub(super) fn failure(api: &Api, status: Status) -> Error {
    freshness::failure(api, api.store.status().applied, status)
}
