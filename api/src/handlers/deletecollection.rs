//! DELETE on a collection: what a list with the same parameters gives is deleted.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Response;
use quorate_meta::{Cause, Details, Reason, Status};

use super::converted::Part;
use super::options::ListOptions;
use super::{delete_options, list, selected};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::options;
use crate::respond;
use quorate_registry::error::Error;
use quorate_registry::write::{DeleteOptions, Preconditions, Target, Writer};
use quorate_registry::{Resource, stored_codec};

/// Deletions of one request that are under way at a time.
const CONCURRENT_DELETIONS: usize = 64;
/// Objects looked at in one go before other requests get a turn.
const SCAN_OBJECTS: usize = 4096;
/// Why nothing is deleted by force here.
const ONE_BY_ONE: &str =
    "is not allowed with DELETECOLLECTION, try again after removing the option";

/// Namespace, name and uid of an object.
type Chosen = (Option<String>, String, String);

/// Deletes every selected object; one transaction each, so that each has a revision of its own. A
/// Status without details of single objects.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let listed = ListOptions::parse(api.names, request, resource)?;
    let asked = delete_options::parse(api, request)?;
    if asked.ignores_read_errors {
        let cause = Cause::invalid(delete_options::IGNORE_READ_ERRORS, true, ONE_BY_ONE);
        options::refuse(api.names, delete_options::KIND, vec![cause])?;
    }
    let delete = asked.options;
    let mut told = delete_options::warnings(resource, &delete);
    let details = Details {
        group: resource.group.clone(),
        kind: resource.plural.clone(),
        ..Details::default()
    };
    let status = Status { details: Some(details), ..Status::ok() };
    let done = delete_listed(api, request, &listed, &delete, &mut told).await;
    request.warned(&told, done.map(|()| respond::status(&request.format, &status)))
}

/// Deletes what is listed. After a failure no further deletion begins, but those that have begun
/// come to their end. Adds the warnings of admission, each once.
async fn delete_listed(
    api: &Arc<Api>,
    request: &Request<'_>,
    listed: &ListOptions,
    delete: &DeleteOptions,
    told: &mut Vec<String>,
) -> Result<(), Error> {
    let resource = request.resource()?;
    let mut chosen = choose(api, request, listed).await?.into_iter();
    let writer = writer_for(api, request);
    let mut running = FuturesUnordered::new();
    let mut failed: Option<Error> = None;
    loop {
        while failed.is_none()
            && running.len() < CONCURRENT_DELETIONS
            && let Some(object) = chosen.next()
        {
            running.push(delete_one(api, &writer, resource, object, delete));
        }
        match running.next().await {
            Some(Ok(warnings)) => {
                let new = warnings
                    .into_iter()
                    .filter(|warning| !told.contains(warning))
                    .collect::<Vec<_>>();
                told.extend(new);
            }
            Some(Err(error)) => failed = failed.or(Some(error)),
            None => break,
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The objects on the page that a list with these options gives.
async fn choose(
    api: &Api,
    request: &Request<'_>,
    listed: &ListOptions,
) -> Result<Vec<Chosen>, Error> {
    let resource = request.resource()?;
    let prefix = resource.prefix(request.namespace());
    let scope = list::scope_of(&prefix, listed);
    let (snapshot, position) = list::starting_point(api, request, listed, &scope).await?;
    let after = position.as_ref().map(|position| position.last.as_slice());
    let snapshot = if listed.selection.is_everything() {
        snapshot
    } else {
        let part = Part { prefix: &prefix, after, stop: None };
        let wanted = (&listed.selection, listed.limit);
        selected::part(api, resource, snapshot, part, wanted).await?.snapshot
    };
    let mut chosen = Vec::new();
    for (seen, (key, entry)) in snapshot.range(&prefix, after).enumerate() {
        if seen % SCAN_OBJECTS == SCAN_OBJECTS - 1 {
            tokio::task::yield_now().await;
        }
        let Some((namespace, name)) = resource.parse_key(key) else {
            continue;
        };
        let stored = stored_codec::header(resource, &entry.value)?;
        let selected = listed.selection.matches(&entry.value);
        if !selected.map_err(|error| Error::internal(error.to_string()))? {
            continue;
        }
        chosen.push((namespace.map(str::to_owned), name.to_owned(), stored.uid().to_owned()));
        // A limit of 0 is none.
        if chosen.len() == listed.limit {
            break;
        }
    }
    Ok(chosen)
}

/// Deletes one of the chosen objects, unless it is gone or another one by now; gives the warnings
/// of its admission.
async fn delete_one(
    api: &Api,
    writer: &Writer,
    resource: &Resource,
    (namespace, name, own): Chosen,
    delete: &DeleteOptions,
) -> Result<Vec<String>, Error> {
    let target = Target { resource, namespace: namespace.as_deref(), name: &name };
    let resource_version = delete.preconditions.resource_version.clone();
    let uid = delete.preconditions.uid.clone().unwrap_or_else(|| own.clone());
    let options = DeleteOptions {
        preconditions: Preconditions { uid: Some(uid), resource_version },
        of_collection: true,
        ..delete.clone()
    };
    let error = match writer.delete(target, &options).await {
        Ok(answer) => return Ok(answer.warnings),
        Err(error) => error,
    };
    let gone = match error.reason().unwrap_or(&Reason::Unknown) {
        Reason::NotFound => true,
        // Another object has the name, which was not selected; or this one was changed again and
        // again.
        Reason::Conflict if delete.preconditions == Preconditions::default() => {
            is_gone(api, target, &own).await?
        }
        _ => false,
    };
    if gone { Ok(Vec::new()) } else { Err(error) }
}

/// Whether the object of this uid is no more.
async fn is_gone(api: &Api, target: Target<'_>, uid: &str) -> Result<bool, Error> {
    api.store.read_index().await?;
    let snapshot = api.store.snapshot();
    let Some(entry) = snapshot.get(&target.key()) else {
        return Ok(true);
    };
    Ok(stored_codec::header(target.resource, &entry.value)?.uid() != uid)
}
