//! The reviews: virtual kinds that are questions in the form of an object, answered at once and
//! never stored.
//!
//! Invariants: such an object passes what every object passes (media type, field validation,
//! options, form of the answer); a dry run changes nothing about the answer, because nothing is
//! written anyway; `status` is the server's alone. A further virtual kind joins with a file here, a
//! line in [`answer`] and one in the registry's list.

mod attributes;
mod self_access;
mod self_rules;
mod self_subject;
mod subject_access;
mod token;
mod user_info;

use http::{Response, StatusCode};
use quorate_meta::{Cause, Map, Status, Value};

use super::snapshot;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::options::Parameters;
use crate::handlers::write::{decode, identity};
use crate::respond;
use quorate_registry::error::Error;

/// Answers the question in the body; 201.
pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let parameters = Parameters::parse(api.names, request, "CreateOptions")?;
    let decode::Decoded { mut object, warnings } =
        decode::object(api, request, resource, parameters.validation)?;
    identity::set_namespace(resource, request.namespace(), &mut object)?;
    let answer = answer(api, request, object).await.and_then(|mut object| {
        object.set_at(&["apiVersion"], request.info.api_version.as_str());
        respond::value(&request.format, StatusCode::CREATED, &object)
    });
    request.warned(&warnings, answer)
}

/// The object with its answer in it. Questions about rights are answered by the newest rules;
/// without a quorum by those that this node knows, as requests are.
async fn answer(api: &Api, request: &Request<'_>, object: Value) -> Result<Value, Error> {
    if request.info.group == api.names.group("authorization") {
        api.authorizer.refresh().await;
        snapshot::recheck(api, request).await?;
    }
    match request.resource()?.kind.as_str() {
        "LocalSubjectAccessReview" => subject_access::local_answer(api, request, object).await,
        "SubjectAccessReview" => subject_access::answer(api, request, object).await,
        "SelfSubjectRulesReview" => self_rules::answer(api, request, object).await,
        "SelfSubjectAccessReview" => self_access::answer(api, request, object).await,
        "SelfSubjectReview" => self_subject::answer(api, request, object),
        "TokenReview" => token::answer(api, object).await,
        _ => Err(Error::no_such_path()),
    }
}

/// 422 when something is wrong with the question.
fn refuse(request: &Request<'_>, causes: Vec<Cause>) -> Result<(), Error> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&request.resource()?.group_kind(), "", causes).into())
}

/// A question has no identity of its own: nothing but its namespace may be in its metadata, and
/// field managers, which every client may send.
fn check_metadata(object: &Value, causes: &mut Vec<Cause>) {
    let Some(metadata) = object.get("metadata").and_then(Value::as_map) else {
        return;
    };
    let has_namespace = metadata.contains_key("namespace");
    let is_free = |field: &str| matches!(field, "namespace" | "managedFields");
    if metadata.iter().any(|(field, value)| !is_free(field) && !value.is_empty()) {
        let why =
            if has_namespace { "must be empty except for namespace" } else { "must be empty" };
        causes.push(Cause::invalid("metadata", Value::Map(metadata.clone()), why));
    }
}

/// Replaces whatever status the question came with.
fn with_status(mut object: Value, status: Map) -> Value {
    object.set_at(&["status"], status);
    object
}
