//! The `scale` subresource: the number of replicas of a workload, in a form that every kind shares.
//!
//! A scale is made from the workload and nothing of it is stored. Writing one changes the
//! workload's number of replicas under the conditions that the scale brings along (its version and
//! identity), and its writer owns that field as of `scale`.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::{Response, StatusCode};
use quorate_meta::{Cause, Map, Status, Time, Value};
use quorate_schema::apply::Config;
use quorate_store::{Entry, Revision};

use super::object_messages::StoredObject;
use super::render::Renderer;
use super::{answer, apply, freshness, get, patch};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::field_errors::FieldErrors;
use crate::handlers::write::options::{FieldValidation, Parameters};
use crate::handlers::write::{decode, identity};
use crate::negotiation::Shape;
use crate::respond;
use crate::respond::warnings;
use quorate_access::request::Verb;
use quorate_registry::error::Error;
use quorate_registry::ownership::FieldManager;
use quorate_registry::scale::{ScalePlaces, replicas};
use quorate_registry::write::{Answer, Target, UpdateOptions, Writer};
use quorate_registry::{Part, Resource, stored_codec};

/// The subresource's name.
pub(super) const SCALE: &str = "scale";

/// Reads, replaces, patches or applies a scale.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let form = form_of_scales(request)?;
    match request.info.verb {
        Verb::Get => get(api, request, form).await,
        Verb::Update => update(api, request, form).await,
        _ => patch(api, request, form).await,
    }
}

/// The kind of the body as a resource of its own, so that bodies and patches are read as
/// everywhere.
fn form_of_scales<'r>(request: &'r Request<'_>) -> Result<&'r Arc<Resource>, Error> {
    let subresource = request.resource()?.subresource(SCALE).ok_or_else(Error::no_such_path)?;
    subresource.body.as_ref().ok_or_else(|| Error::internal("the schema has no form of a scale"))
}

/// Refuses a form that a scale cannot have, before anything is written.
fn check_form(api: &Api, request: &Request<'_>, form: &Arc<Resource>) -> Result<(), Error> {
    if request.format.shape != Shape::Object {
        Renderer::of_subresource(api, request, form)?;
    }
    Ok(())
}

/// A scale as the answer, in the form that was asked for. `revision` is that of its workload.
fn shown(
    api: &Api,
    request: &Request<'_>,
    form: &Arc<Resource>,
    scale: &Value,
    revision: Revision,
) -> Result<Response<Body>, Error> {
    if request.format.shape == Shape::Object {
        return respond::value(&request.format, StatusCode::OK, scale);
    }
    let renderer = Renderer::of_subresource(api, request, form)?;
    let value = stored_codec::encode(form, scale)?;
    let object = StoredObject { value: &value, version: None };
    answer::rendered(api, request, StatusCode::OK, &renderer, object, revision)
}

async fn get(
    api: &Api,
    request: &Request<'_>,
    form: &Arc<Resource>,
) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    let key = resource.key(request.namespace(), name);
    let snapshot = get::state(api, request, &key).await?;
    let entry = snapshot.get(&key);
    let missing = || Status::not_found(&resource.group_resource(), name);
    let entry = entry.ok_or_else(|| freshness::failure(api, snapshot.revision(), missing()))?;
    let object = stored_codec::decode_converted(resource, entry).await?;
    let scale = ScalePlaces::of(resource).read(&object)?;
    let mut response = shown(api, request, form, &scale, entry.modified)?;
    freshness::tell(api, snapshot.revision(), &mut response);
    Ok(response)
}

async fn update(
    api: &Arc<Api>,
    request: &Request<'_>,
    form: &Arc<Resource>,
) -> Result<Response<Body>, Error> {
    check_form(api, request, form)?;
    let parameters = Parameters::parse(api.names, request, "UpdateOptions")?;
    let decode::Decoded { object: mut scale, warnings } =
        decode::object(api, request, form, parameters.validation)?;
    identity::check_name(request.name()?, &scale)?;
    identity::set_namespace(form, request.namespace(), &mut scale)?;
    let answer = write(api, request, form, &parameters, true, |_| Ok(scale.clone())).await;
    request.warned(&warnings, answer)
}

async fn patch(
    api: &Arc<Api>,
    request: &Request<'_>,
    form: &Arc<Resource>,
) -> Result<Response<Body>, Error> {
    let media = decode::media_type(request);
    let media = media.as_ref();
    if apply::is_apply(api, media) {
        return apply(api, request, form).await;
    }
    patch::check_media(request.resource()?, media)?;
    check_form(api, request, form)?;
    let parameters = Parameters::parse(api.names, request, "PatchOptions")?;
    let (body, told) = patch::read(media, request)?;
    let mut unknown = FieldErrors::default();
    let change = |scale: &Value| {
        let (scale, findings) = patch::patched(api, request, form, &body, scale)?;
        unknown = patch::checked(findings, &told, parameters.validation)?;
        identity::check_name(request.name()?, &scale)?;
        Ok(scale)
    };
    let answer = write(api, request, form, &parameters, false, change).await;
    let warn = parameters.validation == FieldValidation::Warn;
    let told = if warn { unknown.warnings() } else { Vec::new() };
    request.warned(&told, answer)
}

/// Applies a scale: what it wants is wanted of the workload, by an owner as of `scale`.
async fn apply(
    api: &Arc<Api>,
    request: &Request<'_>,
    form: &Arc<Resource>,
) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    check_form(api, request, form)?;
    let parameters = Parameters::parse_apply(api.names, request)?;
    let body = apply::read(api, request, form);
    let wanted = body.as_ref().map_err(Clone::clone);
    let writer = writer_for(api, request);
    let wanted = wanted.and_then(|body| self::wanted(&writer, resource, form, body.config.value()));
    let target = Target { resource, namespace: request.namespace(), name };
    let (write, part, if_match) = (parameters.write(), Part::Scale, request.if_match());
    let options =
        UpdateOptions { write, part, if_match: if_match.as_deref(), replaces: false, named: None };
    let change = |live: Option<&Value>| {
        let body = body.as_ref().map_err(Clone::clone)?;
        let wanted = wanted.as_ref().map_err(Clone::clone)?;
        let now = Time::from_ms(api.env.clock.now_ms());
        let manager = FieldManager { resource, part, manager: &parameters.manager, now };
        let mut object = manager.apply(live, wanted, parameters.force).map_err(apply::refusal)?;
        body.check(parameters.validation)?;
        ScalePlaces::of(resource).check_applied(&object)?;
        identity::set_namespace(resource, request.namespace(), &mut object)?;
        identity::check_name(name, &object)?;
        decode::complete(api.names, resource, &mut object);
        Ok(object)
    };
    // A scale creates nothing, so the authorizer is not asked.
    let permit = || -> BoxFuture<'_, Result<(), Error>> { Box::pin(async { Ok(()) }) };
    let answer = writer.apply(target, options, &permit, change).await;
    let answer = match answer {
        Ok(answer) => scaled(api, request, form, &answer).await,
        Err(error) => Err(error),
    };
    match body {
        Ok(body) if answer.is_ok() => request.warned(&body.warnings(parameters.validation), answer),
        _ => answer,
    }
}

/// What an applied scale wants, as a part of the workload.
fn wanted(
    writer: &Writer,
    resource: &Resource,
    form: &Resource,
    scale: &Value,
) -> Result<Config, Error> {
    let mut wanted = Value::Map(Map::from([
        ("apiVersion", Value::from(resource.api_version.as_str())),
        ("kind", Value::from(resource.kind.as_str())),
    ]));
    // Labels and the like are the scale's own, and a scale keeps none.
    for field in ["name", "namespace", "uid", "resourceVersion"] {
        if let Some(value) = scale.at(&["metadata", field]) {
            wanted.set_at(&["metadata", field], value.clone());
        }
    }
    let places = ScalePlaces::of(resource);
    if !places.are_custom() {
        check(writer, form, scale.str_at(&["metadata", "name"]).unwrap_or_default(), None, scale)?;
    }
    places.want(scale, &mut wanted);
    apply::fit(resource, wanted)
}

/// Gives the workload the replicas of the scale that `change` makes of the current one.
async fn write<F>(
    api: &Arc<Api>,
    request: &Request<'_>,
    form: &Arc<Resource>,
    parameters: &Parameters,
    replaces: bool,
    mut change: F,
) -> Result<Response<Body>, Error>
where
    F: FnMut(&Value) -> Result<Value, Error> + Send,
{
    let (resource, name) = (request.resource()?, request.name()?);
    let places = ScalePlaces::of(resource);
    let target = Target { resource, namespace: request.namespace(), name };
    let (write, part, if_match) = (parameters.write(), Part::Scale, request.if_match());
    let options =
        UpdateOptions { write, part, if_match: if_match.as_deref(), replaces, named: None };
    let writer = writer_for(api, request);
    let change = |current: Option<&Value>| {
        let current = current.ok_or_else(|| Status::not_found(&resource.group_resource(), name))?;
        let begun = places.begin(current)?;
        let scale = change(&begun)?;
        if !places.are_custom() {
            check(&writer, form, name, Some(&begun), &scale)?;
        }
        let mut object = current.clone();
        for field in ["resourceVersion", "uid"] {
            let asked = scale.str_at(&["metadata", field]).unwrap_or_default();
            // A custom object cannot be written without its version, its scale can.
            if !(asked.is_empty() && places.are_custom()) {
                object.set_at(&["metadata", field], asked);
            }
        }
        places.write(&scale, &mut object)?;
        Ok(object)
    };
    let answer = writer.update(target, options, change).await?;
    scaled(api, request, form, &answer).await
}

/// The scale of the workload as it is now, with what its writer should know.
async fn scaled(
    api: &Api,
    request: &Request<'_>,
    form: &Arc<Resource>,
    answer: &Answer,
) -> Result<Response<Body>, Error> {
    let entry =
        Entry { value: answer.value.clone(), created: answer.revision, modified: answer.revision };
    let resource = request.resource()?;
    let object = stored_codec::decode_converted(resource, &entry).await?;
    let scale = ScalePlaces::of(resource).read(&object)?;
    let mut response = shown(api, request, form, &scale, answer.revision)?;
    warnings::add(&mut response, &answer.warnings);
    Ok(response)
}

fn check(
    writer: &Writer,
    form: &Resource,
    name: &str,
    old: Option<&Value>,
    scale: &Value,
) -> Result<(), Error> {
    let replicas = replicas(scale);
    let negative =
        || Cause::invalid("spec.replicas", replicas, "must be greater than or equal to 0");
    let found = (replicas < 0).then(negative).into_iter().collect();
    writer.check_body(form, name, old, scale, found)
}
