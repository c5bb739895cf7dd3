//! PATCH on an object or one of its subresources: JSON patch, merge patch, strategic merge patch.
//!
//! A patch without a resourceVersion is applied to whatever the object has become; so nothing is
//! lost. When the object changes each time before the patch is written, that is given up after 32
//! attempts: the answer is 409, and nothing is written. Server-side apply is told by its media type
//! and has a file of its own.

use std::borrow::Cow;
use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::{Cause, GroupKind, Status, Value, well_known};
use quorate_schema::PatchError;

use super::apply;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::field_errors::{FieldErrors, duplicate_fields, unknown_fields};
use crate::handlers::write::options::{FieldValidation, Parameters};
use crate::handlers::write::{body_size_limit, decode, identity, response};
use quorate_registry::error::Error;
use quorate_registry::patch::{JsonPatch, Malformed, merge};
use quorate_registry::write::{Target, UpdateOptions};
use quorate_registry::{Part, Resource};

/// Media types of patches of custom objects.
const CUSTOM_PATCHES: [&str; 3] =
    [well_known::MEDIA_JSON_PATCH, well_known::MEDIA_MERGE_PATCH, well_known::MEDIA_APPLY_PATCH];
/// Characters of a refused patch that its refusal repeats.
const SHOWN_PATCH_CHARS: usize = 500;

/// A patch that has been read.
pub(super) enum Patch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
}

impl Patch {
    /// The fields that it names, as parts of an object.
    fn named(&self) -> Cow<'_, Value> {
        match self {
            Self::Json(patch) => Cow::Owned(patch.named()),
            Self::Merge(patch) | Self::Strategic(patch) => Cow::Borrowed(patch),
        }
    }
}

/// Applies the patch in the body; 200 with the new state.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    let media = decode::media_type(request);
    let media = media.as_ref();
    if apply::is_apply(api, media) {
        return apply::handle(api, request).await;
    }
    check_media(resource, media)?;
    response::check_form(api, request)?;
    let parameters = Parameters::parse(api.names, request, "PatchOptions")?;
    let (patch, told) = read(media, request)?;
    let part = Part::of(request.info.subresource.as_deref()).ok_or_else(Error::no_such_path)?;
    let (write, if_match, named) = (parameters.write(), request.if_match(), patch.named());
    let options = UpdateOptions {
        write,
        part,
        if_match: if_match.as_deref(),
        replaces: false,
        named: Some(&named),
    };
    let target = Target { resource, namespace: request.namespace(), name };
    let mut unknown = FieldErrors::default();
    let change = |current: Option<&Value>| {
        let current = current.ok_or_else(|| Status::not_found(&resource.group_resource(), name))?;
        let (object, findings) = patched(api, request, resource, &patch, current)?;
        unknown = checked(findings, &told, parameters.validation)?;
        identity::check_name(name, &object)?;
        Ok(object)
    };
    let answer = writer_for(api, request).update(target, options, change).await;
    let answer = match answer {
        Ok(answer) => response::object(api, request, StatusCode::OK, &answer).await,
        Err(error) => Err(error),
    };
    let warn = parameters.validation == FieldValidation::Warn;
    let told = if warn { unknown.warnings() } else { Vec::new() };
    request.warned(&told, answer)
}

/// What is odd about a patched object and about the text of its patch; 400 with all of it when the
/// client is strict.
pub(super) fn checked(
    findings: FieldErrors,
    told: &[String],
    validation: FieldValidation,
) -> Result<FieldErrors, Error> {
    let all = findings.and(told);
    if validation == FieldValidation::Strict && !all.is_empty() {
        return Err(Error::bad_request(all.refusal()));
    }
    Ok(all)
}

/// Refuses a body that is no patch of the resource's objects: strategies of merging are known of
/// built-in kinds only.
pub(super) fn check_media(resource: &Resource, media: &str) -> Result<(), Error> {
    match media {
        well_known::MEDIA_JSON_PATCH | well_known::MEDIA_MERGE_PATCH => Ok(()),
        _ if resource.is_custom() => Err(Status::unsupported_body(&CUSTOM_PATCHES).into()),
        well_known::MEDIA_STRATEGIC_PATCH => Ok(()),
        _ => Err(Status::unsupported_media_type().into()),
    }
}

/// Reads the patch and what is odd about its text.
pub(super) fn read(media: &str, request: &Request<'_>) -> Result<(Patch, Vec<String>), Error> {
    let undecodable = |why: String| Error::bad_request(format!("error decoding patch: {why}"));
    let (mut document, duplicates) =
        quorate_wire::json::parse(&request.body).map_err(|error| undecodable(error.to_string()))?;
    body_size_limit::check_body(&document)?;
    if media == well_known::MEDIA_JSON_PATCH {
        let patch = JsonPatch::parse(document).map_err(|error| match error {
            Malformed::TooMany(_) => Status::request_entity_too_large(&error.to_string()).into(),
            Malformed::Shape { .. } => undecodable(error.to_string()),
        })?;
        let told = unknown_fields(patch.unknown_members()).chain(duplicate_fields(&duplicates));
        let told = told.map(|text| format!("json patch {text}")).collect();
        return Ok((Patch::Json(patch), told));
    }
    if document.as_map().is_none() {
        return Err(undecodable(format!("cannot read a JSON {} as a patch", document.type_name())));
    }
    let told = duplicate_fields(&duplicates).collect();
    let strategic = media == well_known::MEDIA_STRATEGIC_PATCH;
    if !strategic {
        return Ok((Patch::Merge(document), told));
    }
    // The merged tree is converted to the type, which takes 3.0 for an integer.
    quorate_wire::yaml::whole_numbers(&mut document);
    Ok((Patch::Strategic(document), told))
}

/// The patched object in canonical form with its defaults, and the unknown fields that were
/// dropped.
pub(super) fn patched(
    api: &Api,
    request: &Request<'_>,
    resource: &Resource,
    patch: &Patch,
    current: &Value,
) -> Result<(Value, FieldErrors), Error> {
    let mut object = current.clone();
    match patch {
        Patch::Json(patch) => patch.apply(&mut object).map_err(|_| Status::unprocessable())?,
        Patch::Merge(patch) => merge(&mut object, patch.clone()),
        Patch::Strategic(patch) => {
            quorate_schema::strategic(&resource.graph(), resource.ty(), &mut object, patch)
                .map_err(|error| unusable(request, &error))?
        }
    }
    body_size_limit::check_patched(current, &object)?;
    let says = |field: &str| object.str_at(&[field]).unwrap_or_default();
    if says("apiVersion").is_empty() && says("kind").is_empty() {
        return Err(bad_patch(request, "the patch leaves nothing that says what it is"));
    }
    if says("apiVersion") != resource.api_version || says("kind") != resource.kind {
        let why = format!("the patch makes it a {} of {}", says("kind"), says("apiVersion"));
        return Err(bad_patch(request, &why));
    }
    let unknown = quorate_schema::decode(&resource.graph(), resource.ty(), &mut object)
        .map_err(|error| bad_patch(request, &error.to_string()))?;
    identity::set_namespace(resource, request.namespace(), &mut object)?;
    decode::complete(api.names, resource, &mut object);
    Ok((object, FieldErrors::of_unknown(&unknown)))
}

/// 400 for a directive that is malformed, and 422 for a patch that does not fit.
fn unusable(request: &Request<'_>, error: &PatchError) -> Error {
    match error {
        PatchError::Malformed(_) => Error::bad_request(error.to_string()),
        PatchError::Unfit(why) => bad_patch(request, why),
    }
}

/// 422 for a patch that leads to nothing sensible.
pub(super) fn bad_patch(request: &Request<'_>, why: &str) -> Error {
    let text = String::from_utf8_lossy(&request.body);
    let shown = match text.char_indices().nth(SHOWN_PATCH_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    };
    Status::invalid(&GroupKind::default(), "", vec![Cause::invalid("patch", shown, why)]).into()
}
