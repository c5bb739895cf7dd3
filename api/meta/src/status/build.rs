//! Builders of Status, one per kind of failure, with the messages of Kubernetes 1.35.
//!
//! Whether `details` is absent, empty or filled also follows Kubernetes. Which error becomes which
//! Status is decided by the callers.

use std::collections::HashSet;

use super::quote::excerpt;
use super::{Cause, CauseReason, Details, Reason, Status};
use crate::{GroupKind, GroupResource, GroupVersionKind};

/// Causes of a Status, at most; further ones are counted.
pub(super) const MAX_CAUSES: usize = 1000;

impl Status {
    /// A failure of `reason` with its usual code and no details.
    pub fn failure(reason: Reason, message: impl Into<String>) -> Self {
        Self { code: reason.code(), reason, message: message.into(), ..Self::default() }
    }

    /// The answer to a successful delete of one object.
    pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Self {
        let details = Details { uid: uid.to_owned(), ..about(resource, name) };
        Self { success: true, details: Some(details), ..Self::default() }
    }

    /// A success without an object: the answer to deletecollection, with its code.
    pub fn ok() -> Self {
        Self { success: true, code: 200, ..Self::default() }
    }

    /// 404 for an object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::of(Reason::NotFound, resource, name, format!("{resource} \"{name}\" not found"))
    }

    /// 404 for a path that is not served.
    pub fn path_not_found() -> Self {
        Self::bare(Reason::NotFound, "the server could not find the requested resource")
    }

    /// 409 for a name that is in use.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::of(
            Reason::AlreadyExists,
            resource,
            name,
            format!("{resource} \"{name}\" already exists"),
        )
    }

    /// 409 for generated names that were all in use.
    pub fn generated_name_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!(
            "{resource} \"{name}\" already exists, the server was not able to generate a unique name for the object"
        );
        Self::of(Reason::AlreadyExists, resource, name, message).with_retry_after(1)
    }

    /// 409 with a reason of its own.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::of(Reason::Conflict, resource, name, message)
    }

    /// 409 for a write based on an old revision.
    pub fn stale(resource: &GroupResource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 409 for a delete whose `preconditions.uid` names another object; details have the kind here,
    /// as in Kubernetes.
    pub fn uid_precondition_failed(
        kind: &GroupKind,
        name: &str,
        asked: &str,
        current: &str,
    ) -> Self {
        let why = format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({current}). \
             The object might have been deleted and then recreated"
        );
        Self::conflict(&as_resource(kind), name, &why)
    }

    /// 409 for a delete whose `preconditions.resourceVersion` is not the object's.
    pub fn version_precondition_failed(
        kind: &GroupKind,
        name: &str,
        asked: &str,
        current: u64,
    ) -> Self {
        let why = format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({current}). \
             The object might have been modified"
        );
        Self::conflict(&as_resource(kind), name, &why)
    }

    /// 409 of server-side apply: `causes` are the fields with their managers.
    pub fn apply_conflict(message: impl Into<String>, mut causes: Vec<Cause>) -> Self {
        causes.truncate(MAX_CAUSES);
        let details = Details { causes, ..Details::default() };
        Self { details: Some(details), ..Self::failure(Reason::Conflict, message) }
    }

    /// 422 with one or more causes; a message that several causes share is shown once, and only the
    /// first of very many causes.
    pub fn invalid(kind: &GroupKind, name: &str, mut causes: Vec<Cause>) -> Self {
        let more = causes.len().saturating_sub(MAX_CAUSES);
        causes.truncate(MAX_CAUSES);
        let mut seen = HashSet::with_capacity(causes.len());
        let mut texts: Vec<String> =
            causes.iter().map(Cause::text).filter(|text| seen.insert(text.clone())).collect();
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        let message = match texts.as_slice() {
            [] => format!("{kind} \"{name}\" is invalid"),
            [one] => format!("{kind} \"{name}\" is invalid: {one}"),
            many => format!("{kind} \"{name}\" is invalid: [{}]", many.join(", ")),
        };
        let details = Details {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..Details::default()
        };
        Self { details: Some(details), ..Self::failure(Reason::Invalid, message) }
    }

    /// 500 for a new object with a resourceVersion, without a reason, as in Kubernetes.
    pub fn revision_on_create() -> Self {
        Self::failure(Reason::Unknown, "resourceVersion should not be set on objects to be created")
    }

    /// 422 for a patch that cannot be applied.
    pub fn unprocessable() -> Self {
        Self::bare(
            Reason::Invalid,
            "the server rejected our request due to an error in our request",
        )
    }

    /// 400 for a body that is no object of any kind; `error` is that of the parser.
    pub fn unrecognized_body(kind: &str, error: &str, body: &[u8]) -> Self {
        let excerpt = excerpt(body);
        Self::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {error} ({excerpt})"
        ))
    }

    /// 400 for a body of the right kind that does not fit its type, or has fields that a strict
    /// request refuses.
    pub fn unusable_body(kind: &GroupVersionKind, why: &str) -> Self {
        let GroupVersionKind { version, kind, .. } = kind;
        Self::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    }

    /// 400 with a message and nothing else.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(Reason::BadRequest, message)
    }

    /// 401 without credentials or with invalid ones.
    pub fn unauthorized() -> Self {
        Self::failure(Reason::Unauthorized, "Unauthorized")
    }

    /// 403 on a resource: `why` follows `is forbidden: `; the name may be empty.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        Self::of(Reason::Forbidden, resource, name, message)
    }

    /// 403 on a path that is no resource: `why` follows `forbidden: `.
    pub fn path_forbidden(why: &str) -> Self {
        Self::bare(Reason::Forbidden, format!("forbidden: {why}"))
    }

    /// 403 for a create in a namespace that is being deleted.
    pub fn namespace_terminating(resource: &GroupResource, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = Cause {
            reason: CauseReason::NamespaceTerminating,
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        let mut status = Self::forbidden(resource, name, &why);
        status.details.get_or_insert_default().causes.push(cause);
        status
    }

    /// 405 for a method that a served path does not take.
    pub fn method_not_allowed() -> Self {
        Self::bare(
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
    }

    /// 405 for a verb that a resource does not have, where its path takes the method.
    pub fn verb_not_supported(resource: &GroupResource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::of(Reason::MethodNotAllowed, resource, "", message)
    }

    /// 406 in routing, with the media types that can be produced.
    pub fn not_acceptable(available: &[&str]) -> Self {
        let message =
            format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", "));
        Self::bare(Reason::NotAcceptable, message)
    }

    /// 406 in transformation (`as=Table` of an unknown version, ...).
    pub fn only_acceptable(available: &[&str]) -> Self {
        let message =
            format!("only the following media types are accepted: {}", available.join(", "));
        Self::failure(Reason::NotAcceptable, message)
    }

    /// 415 for a body whose media type is not accepted anywhere.
    pub fn unsupported_media_type() -> Self {
        Self::bare(Reason::UnsupportedMediaType, "415: Unsupported Media Type")
    }

    /// 415 with the media types that are accepted here.
    pub fn unsupported_body(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::failure(Reason::UnsupportedMediaType, message)
    }

    /// 410 for a revision or token that is too old; the message names it.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(Reason::Expired, message)
    }

    /// 410 for a token of a compacted revision, with one that continues in the newest state.
    pub fn continuation_expired(continuation: String) -> Self {
        let why = "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                   without the continue parameter, or use the continue token in this response to retrieve the remainder of \
                   the results. Continuing with the provided token results in an inconsistent list: objects that were \
                   created, modified or deleted between the first page and now may show up or be missing.";
        Self { continuation, ..Self::expired(why) }
    }

    /// 410 for an exact list at a compacted revision.
    pub fn list_expired() -> Self {
        Self::expired("The resourceVersion for the provided list is too old.")
    }

    /// 410 for a watch from a compacted revision.
    pub fn watch_expired(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// 504 with `Timeout: ` before the message.
    pub fn timeout(message: &str, retry_after_seconds: u32) -> Self {
        let details = Details { retry_after_seconds, ..Details::default() };
        Self {
            details: Some(details),
            ..Self::failure(Reason::Timeout, format!("Timeout: {message}"))
        }
    }

    /// 504 for a revision that is not reached within the wait.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let mut status =
            Self::timeout(&format!("Too large resource version: {asked}, current: {current}"), 1);
        status.details.get_or_insert_default().causes.push(Cause {
            reason: CauseReason::ResourceVersionTooLarge,
            message: "Too large resource version".to_owned(),
            field: String::new(),
        });
        status
    }

    /// 429 with the seconds after which the client may retry.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::failure(Reason::TooManyRequests, message).with_retry_after(retry_after_seconds)
    }

    /// 413 with `Request entity too large: ` before the message.
    pub fn request_entity_too_large(why: &str) -> Self {
        Self::failure(Reason::RequestEntityTooLarge, format!("Request entity too large: {why}"))
    }

    /// 413 for a body above `max_bytes`.
    pub fn body_too_large(max_bytes: usize) -> Self {
        Self::request_entity_too_large(&format!("limit is {max_bytes}"))
    }

    /// 500 for an internal error.
    pub fn internal(why: impl Into<String>) -> Self {
        let why = why.into();
        let message = format!("Internal error occurred: {why}");
        let cause = Cause { message: why, ..Cause::default() };
        let details = Details { causes: vec![cause], ..Details::default() };
        Self { details: Some(details), ..Self::failure(Reason::InternalError, message) }
    }

    /// 503: cannot be served now.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::failure(Reason::ServiceUnavailable, message)
    }

    /// 500 `ServerTimeout`: a write whose outcome is not known in time; the client may check and
    /// retry.
    pub fn server_timeout(resource: &GroupResource, verb: &str, retry_after_seconds: u32) -> Self {
        let message = format!(
            "The {verb} operation against {resource} could not be completed at this time, please try again."
        );
        Self::of(Reason::ServerTimeout, resource, verb, message)
            .with_retry_after(retry_after_seconds)
    }

    /// 507: the database has reached its size limit.
    pub fn storage_full(message: impl Into<String>) -> Self {
        Self::failure(Reason::StorageFull, message)
    }

    fn of(reason: Reason, resource: &GroupResource, name: &str, message: String) -> Self {
        Self { details: Some(about(resource, name)), ..Self::failure(reason, message) }
    }

    fn bare(reason: Reason, message: impl Into<String>) -> Self {
        Self { details: Some(Details::default()), ..Self::failure(reason, message) }
    }
}

fn as_resource(kind: &GroupKind) -> GroupResource {
    GroupResource::new(kind.group.as_str(), kind.kind.as_str())
}

fn about(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    }
}
