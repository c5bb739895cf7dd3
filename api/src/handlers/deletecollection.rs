//! DELETE on a collection.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Response;
use quorate_meta::{Details, Reason, Status};

use super::options::{self, Selection};
use super::{delete_options, warnings};
use crate::Api;
use crate::body::Body;
use crate::error::Error;
use crate::registry::write::{DeleteOptions, Preconditions, Target, Writer};
use crate::registry::{Resource, form};
use crate::request::Request;
use crate::respond;

/// Deletions of one request that are under way at a time.
const CONCURRENT_DELETIONS: usize = 64;

/// Namespace, name and uid of an object.
type Chosen = (Option<String>, String, String);

/// Deletes every selected object; one transaction each, so that each has a revision of its own. A Status without details
/// of single objects (document 001, "Status").
pub(super) async fn handle(api: &Api, request: &Request) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let query = &request.info.query;
    let selection = options::parse_selection(resource, query.text("labelSelector"), query.text("fieldSelector"))?;
    let delete = delete_options::parse(api, request)?.options;
    let told = delete_options::warnings(resource, &delete);
    let details = Details { group: resource.group.clone(), kind: resource.plural.clone(), ..Details::default() };
    let status = Status { details: Some(details), ..Status::ok() };
    let done = delete_selected(api, request, &selection, &delete).await;
    warnings::attach(request, &told, done.map(|()| respond::status(&request.format, &status)))
}

async fn delete_selected(
    api: &Api,
    request: &Request,
    selection: &Selection,
    delete: &DeleteOptions,
) -> Result<(), Error> {
    let resource = request.resource()?;
    api.store.read_index().await?;
    let snapshot = api.store.snapshot();
    let mut chosen = Vec::new();
    for (key, entry) in snapshot.range(&resource.prefix(request.namespace()), None) {
        let Some((namespace, name)) = resource.parse_key(key) else { continue };
        let stored = form::header(resource, &entry.value)?;
        if form::matches(&stored, &selection.labels, &selection.fields) {
            chosen.push((namespace.map(str::to_owned), name.to_owned(), stored.uid().to_owned()));
        }
    }
    drop(snapshot);
    let writer = api.writer();
    let mut chosen = chosen.into_iter();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < CONCURRENT_DELETIONS
            && let Some(object) = chosen.next()
        {
            running.push(delete_one(&writer, resource, object, delete));
        }
        match running.next().await {
            Some(done) => done?,
            None => break,
        }
    }
    Ok(())
}

/// Deletes one of the chosen objects, unless it is gone or another one by now.
async fn delete_one(
    writer: &Writer,
    resource: &Resource,
    (namespace, name, uid): Chosen,
    delete: &DeleteOptions,
) -> Result<(), Error> {
    let target = Target { resource, namespace: namespace.as_deref(), name: &name };
    let resource_version = delete.preconditions.resource_version.clone();
    let uid = delete.preconditions.uid.clone().unwrap_or(uid);
    let options = DeleteOptions { preconditions: Preconditions { uid: Some(uid), resource_version }, ..delete.clone() };
    match writer.delete(target, &options).await {
        Err(Error::Status(status)) if is_gone(&status, delete) => Ok(()),
        answer => answer.map(drop),
    }
}

fn is_gone(status: &Status, asked: &DeleteOptions) -> bool {
    status.reason == Reason::NotFound
        || (status.reason == Reason::Conflict && asked.preconditions == Preconditions::default())
}
