//! Server-side apply: PATCH with an apply body (KEP-555).
//!
//! The body is read once and applied to whatever the object is; when it changed meanwhile it is
//! applied again. An absent object is created, for which its creator needs the permission to create
//! as well.

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::{Cause, CauseReason, GroupVersion, Status, Time, Value, well_known};
use quorate_schema::apply::{ApplyError, Config, Conflict};
use quorate_schema::unknown_fields;
use quorate_wire::{cbor, yaml};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::field_errors::{FieldErrors, Repeated};
use crate::handlers::write::options::{FieldValidation, Parameters};
use crate::handlers::write::{body_size_limit, decode, identity, permit, response};
use quorate_registry::error::Error;
use quorate_registry::ownership::FieldManager;
use quorate_registry::write::{Outcome, Target, UpdateOptions};
use quorate_registry::{Part, Resource};

/// Whether a patch of this media type is an apply.
pub(super) fn is_apply(api: &Api, media: &str) -> bool {
    media == well_known::MEDIA_APPLY_PATCH
        || (media == well_known::MEDIA_APPLY_PATCH_CBOR && api.formats.has_cbor())
}

/// Applies the body; 200 with the new state, 201 when the object is new.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    response::check_form(api, request)?;
    let parameters = Parameters::parse_apply(api.names, request)?;
    let part = Part::of(request.info.subresource.as_deref()).ok_or_else(Error::no_such_path)?;
    let if_match = request.if_match();
    let options = UpdateOptions {
        write: parameters.write(),
        part,
        if_match: if_match.as_deref(),
        replaces: false,
        named: None,
    };
    let target = Target { resource, namespace: request.namespace(), name };
    let body = read(api, request, resource);
    let change = |live: Option<&Value>| {
        let body = body.as_ref().map_err(Clone::clone)?;
        let now = Time::from_ms(api.env.clock.now_ms());
        let manager = FieldManager { resource, part, manager: &parameters.manager, now };
        let mut object = manager.apply(live, &body.config, parameters.force).map_err(refusal)?;
        body_size_limit::check_applied(live, &object)?;
        body.check(parameters.validation)?;
        identity::set_namespace(resource, request.namespace(), &mut object)?;
        identity::check_name(name, &object)?;
        decode::complete(api.names, resource, &mut object);
        Ok(object)
    };
    let permit = || permit::creation(api, request);
    let answer = writer_for(api, request).apply(target, options, &permit, change).await;
    let answer = match answer {
        Ok(answer) if answer.outcome == Outcome::Created => {
            response::object(api, request, StatusCode::CREATED, &answer).await
        }
        Ok(answer) => response::object(api, request, StatusCode::OK, &answer).await,
        Err(error) => Err(error),
    };
    match body {
        Ok(body) if answer.is_ok() => request.warned(&body.warnings(parameters.validation), answer),
        _ => answer,
    }
}

/// A body that has been read.
pub(super) struct Applied {
    /// What it has of fields that there are.
    pub(super) config: Config,
    /// Keys that it has twice, and fields that there are not.
    errors: FieldErrors,
}

impl Applied {
    /// 400 for keys that it has twice and for fields that there are not, when the client is strict.
    pub(super) fn check(&self, validation: FieldValidation) -> Result<(), Error> {
        if validation != FieldValidation::Strict || self.errors.is_empty() {
            return Ok(());
        }
        Err(Error::bad_request(self.errors.refusal()))
    }

    /// What the client is warned of.
    pub(super) fn warnings(&self, validation: FieldValidation) -> Vec<String> {
        if validation == FieldValidation::Warn { self.errors.warnings() } else { Vec::new() }
    }
}

/// Reads the body as a part of an object of a resource.
pub(super) fn read(
    api: &Api,
    request: &Request<'_>,
    resource: &Resource,
) -> Result<Applied, Error> {
    let is_cbor = decode::media_type(request) == well_known::MEDIA_APPLY_PATCH_CBOR;
    let undecodable = |why: String| {
        Error::bad_request(format!(
            "error decoding {}: {why}",
            if is_cbor { "CBOR" } else { "YAML" }
        ))
    };
    let (mut body, duplicates) = if is_cbor {
        (cbor::parse(&request.body).map_err(|error| undecodable(error.to_string()))?, Vec::new())
    } else {
        yaml::parse(&request.body).map_err(|error| {
            decode::Unread::from(error)
                .or(|why| undecodable(format!("error converting YAML to JSON: {why}")))
        })?
    };
    body_size_limit::check_body(&body)?;
    if body.is_null() {
        body = Value::Map(quorate_meta::Map::new());
    }
    if body.as_map().is_none() {
        let found = body.type_name();
        return Err(undecodable(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    check_kind(api, resource, &mut body)?;
    if body.at(&["metadata", "managedFields"]).is_some_and(|entries| !entries.is_null()) {
        return Err(Error::bad_request("metadata.managedFields must be nil"));
    }
    let unknown = unknown_fields(&resource.graph(), resource.ty(), &mut body, true);
    let config = fit(resource, body)?;
    let errors = FieldErrors::of_body(unknown, Repeated::Keys(duplicates), &request.body);
    Ok(Applied { config, errors })
}

/// Checks what is wanted of an object against its type.
pub(super) fn fit(resource: &Resource, body: Value) -> Result<Config, Error> {
    let what = described(resource, &body);
    let config = Config::new(&resource.graph(), resource.ty(), body).map_err(|unfit| Status {
        code: 500,
        message: format!("failed to create typed patch object ({what}): {unfit}"),
        ..Status::default()
    })?;
    Ok(config)
}

/// Refuses a body that does not say what the path says.
fn check_kind(api: &Api, resource: &Resource, body: &mut Value) -> Result<(), Error> {
    let says = |field: &str| body.str_at(&[field]).unwrap_or_default();
    let (api_version, kind) = (says("apiVersion"), says("kind"));
    if kind != resource.kind
        || !decode::means(api.names, api_version, decode::BodyKind::of(resource, &resource.graph()))
    {
        return Err(Error::bad_request(format!(
            "invalid object type: {}",
            type_text(api_version, kind)
        )));
    }
    // The one name of the group version that entries and objects have.
    body.set_at(&["apiVersion"], resource.api_version.as_str());
    Ok(())
}

/// Group, version and kind as messages have them: `apps/v1, Kind=Deployment`, `/v1,
/// Kind=ConfigMap`.
fn type_text(api_version: &str, kind: &str) -> String {
    let GroupVersion { group, version } = GroupVersion::parse(api_version).unwrap_or_default();
    format!("{group}/{version}, Kind={kind}")
}

/// Which object a message is about.
fn described(resource: &Resource, body: &Value) -> String {
    let text = |field| body.str_at(&["metadata", field]).unwrap_or_default();
    format!(
        "{}/{}; {}",
        text("namespace"),
        text("name"),
        type_text(&resource.api_version, &resource.kind)
    )
}

/// The answer to an apply that does not happen.
pub(super) fn refusal(error: ApplyError) -> Error {
    let message = error.to_string();
    match error {
        ApplyError::Conflicts(conflicts) => {
            let causes = conflicts.iter().take(Conflict::MAX_LISTED).map(|conflict| Cause {
                reason: CauseReason::FieldManagerConflict,
                field: conflict.field(),
                message: format!("conflict with {}", conflict.owner),
            });
            Status::apply_conflict(message, causes.collect()).into()
        }
        ApplyError::Entries(_) => Error::internal(message),
    }
}
