//! The `token` subresource of service accounts: a POST of a TokenRequest issues a token.
//!
//! Invariants: nothing is stored, so nothing but the account and what the token is bound to ends
//! it; both are read from a state that is current, and the token names them by uid. The token is in
//! the answer and nowhere else; so the answer is the whole TokenRequest or nothing. A TokenRequest
//! has no table (a release-1.35 server refuses to make one) and no metadata of its own: a client
//! that accepts only these forms gets a 406 as for reviews, before a token is made
//! (`Route::offer`).

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::{
    Cause, GroupKind, GroupResource, GroupVersion, GroupVersionKind, Status, Time, Value,
};
use quorate_schema::{KindDef, apply_defaults};
use quorate_store::Snapshot;

use super::token_audience;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::options::Parameters;
use crate::handlers::write::{decode, identity};
use crate::respond;
use quorate_access::authentication::token::{BoundObjectReference, Issue, ObjectIdentity, Refusal};
use quorate_access::authorization::service_account_of;
use quorate_registry::error::Error;
use quorate_registry::write::{SubresourceRequest, Target};
use quorate_registry::{AdmissionOperation, Catalogue, stored_codec};

/// The subresource's name.
pub(super) const TOKEN: &str = "token";
const KIND: &str = "TokenRequest";
/// Seconds that a token lives at least, as far as requests go.
const MIN_EXPIRATION: i64 = 10 * 60;
/// Seconds that may be asked for.
const MAX_EXPIRATION: i64 = 1 << 32;
/// Seconds that a token lives when nothing is said.
const DEFAULT_EXPIRATION: i64 = 60 * 60;

/// Issues the token that the body asks for; 201 with the body and the token in it. A dry run goes
/// all the way, but its answer says no token: such a one would work.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let parameters = Parameters::parse(api.names, request, "CreateOptions")?;
    let kind = kind(request)?;
    let api_version = kind.api_version();
    let wanted = decode::BodyKind {
        group: &kind.group,
        version: &kind.version,
        former: &[],
        kind: KIND,
        api_version: &api_version,
        graph: request.catalogue.graph(),
        ty: kind.ty,
        says_kind: false,
    };
    let (decoded, asked) = decode::of_kind(api, request, wanted, parameters.validation)?;
    let decode::Decoded { mut object, warnings } = decoded;
    let mut told = Vec::new();
    apply_defaults(request.catalogue.graph(), kind.ty, &mut object);
    identity::set_namespace(request.resource()?, request.namespace(), &mut object)?;
    let admitted = SubresourceRequest {
        operation: AdmissionOperation::Create,
        target: Target {
            resource: request.resource()?,
            namespace: request.namespace(),
            name: request.name()?,
        },
        subresource: TOKEN,
        options: parameters.write(),
        graph: request.catalogue.graph(),
        ty: kind.ty,
    };
    told.extend(writer_for(api, request).admit_request(admitted, &mut object).await?);
    let answer = answer(api, request, &mut object, &mut told).await.and_then(|id| {
        if parameters.dry_run {
            object.set_at(&["status", "token"], "");
        } else {
            request.record.issued(format!("JTI={id}"));
        }
        if let Some(asked) = asked {
            object.set_at(&["apiVersion"], asked);
        }
        respond::value(&request.format, StatusCode::CREATED, &object)
    });
    request.warned(&[warnings, told].concat(), answer)
}

fn kind<'r>(request: &Request<'r>) -> Result<&'r KindDef, Error> {
    let kind = request.catalogue.graph().kind(&GroupVersionKind::new(
        request.catalogue.graph().names().group("authentication"),
        "v1",
        KIND,
    ));
    kind.ok_or_else(|| Error::internal("the schema has no TokenRequest"))
}

/// Completes the request with its answer. Gives the token's id.
async fn answer(
    api: &Api,
    request: &Request<'_>,
    object: &mut Value,
    told: &mut Vec<String>,
) -> Result<String, Error> {
    let (name, namespace) = (request.name()?, request.namespace().unwrap_or_default());
    let own = GroupKind::new(api.names.group("authentication"), KIND);
    let text = |object: &Value, field: &str| {
        object.str_at(&["metadata", field]).unwrap_or_default().to_owned()
    };
    let given = text(object, "name");
    if !given.is_empty() && given != name {
        let cause = Cause::invalid(
            "metadata.name",
            given,
            "must match the service account name if specified",
        );
        return Err(Status::invalid(&own, name, vec![cause]).into());
    }
    api.store.read_index().await?;
    let snapshot = api.store.snapshot();
    let account = find(request.catalogue, &snapshot, "serviceaccounts", Some(namespace), name)?;
    let uid = text(&account, "uid");
    let asked = text(object, "uid");
    if !asked.is_empty() && asked != uid {
        let why = format!(
            "the UID in the token request ({asked}) does not match the UID of the service account ({uid})"
        );
        let resource = GroupResource::new(own.group.as_str(), KIND);
        return Err(Status::conflict(&resource, name, &why).into());
    }
    let now_ms = api.env.clock.now_ms();
    object.set_at(&["metadata", "name"], name);
    object.set_at(&["metadata", "uid"], uid.as_str());
    object.set_at(&["metadata", "creationTimestamp"], Time::from_ms(now_ms).seconds());
    let lifetime = expiration(api, &own, object, told)?;
    let bound = bound(request.catalogue, &snapshot, namespace, name, object)?;
    let target = Target { resource: request.resource()?, namespace: Some(namespace), name };
    let by_uid =
        object.str_at(&["spec", "boundObjectRef", "uid"]).is_some_and(|uid| !uid.is_empty());
    if let Some(restriction) = api.authorizer.node_restriction(request.user) {
        restriction.check_token(target, bound.as_ref(), by_uid)?;
        // A restricted node gets tokens that are bound to a pod, and no others.
        if let Some(BoundObjectReference::Pod(pod, _)) = &bound {
            let pod = find(request.catalogue, &snapshot, "pods", Some(namespace), &pod.name)?;
            token_audience::check(
                api,
                request,
                &snapshot,
                target,
                (&pod, &asked_audiences(object)),
            )
            .await?;
        }
    }
    let id = id(api);
    let issue = Issue {
        namespace: namespace.to_owned(),
        account: ObjectIdentity { name: name.to_owned(), uid },
        audiences: audiences(api, object),
        lifetime: Some(lifetime),
        bound,
        id: id.clone(),
    };
    let issued = api.authentication.service_accounts.issue(issue, now_ms);
    let issued = issued.map_err(|refusal| not_issued(&own, &refusal))?;
    let end = Time::from_ms(issued.expires_ms.unwrap_or_default()).seconds();
    object.set_at(&["status"], [("expirationTimestamp", end), ("token", issued.token)]);
    Ok(id)
}

/// Nothing but the audiences can make a token too long; whatever else is wrong may pass.
fn not_issued(own: &GroupKind, refusal: &Refusal) -> Error {
    let why = refusal.to_string();
    if *refusal == Refusal::TooLong {
        return Status::invalid(own, "", vec![Cause::forbidden("spec.audiences", &why)]).into();
    }
    Status::service_unavailable(why).into()
}

/// The audiences of the token: this server, when the request names none.
fn audiences(api: &Api, object: &mut Value) -> Vec<String> {
    let asked = asked_audiences(object);
    if !asked.is_empty() {
        return asked;
    }
    let own = api.authentication.service_accounts.options().audiences.clone();
    object.set_at(&["spec", "audiences"], own.clone());
    own
}

fn asked_audiences(object: &Value) -> Vec<String> {
    let asked = object.at(&["spec", "audiences"]).and_then(Value::as_list).unwrap_or_default();
    asked.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// How long the token lives, in seconds.
fn expiration(
    api: &Api,
    own: &GroupKind,
    object: &mut Value,
    told: &mut Vec<String>,
) -> Result<u64, Error> {
    let path = ["spec", "expirationSeconds"];
    let asked = object.at(&path).and_then(Value::as_i64).unwrap_or(DEFAULT_EXPIRATION);
    let why = match asked {
        ..MIN_EXPIRATION => "may not specify a duration less than 10 minutes",
        MIN_EXPIRATION..=MAX_EXPIRATION => "",
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    if !why.is_empty() {
        return Err(Status::invalid(
            own,
            "",
            vec![Cause::invalid("spec.expirationSeconds", asked, why)],
        )
        .into());
    }
    let asked = asked.unsigned_abs();
    let given = api
        .authentication
        .service_accounts
        .options()
        .max_expiration
        .map_or(asked, |most| most.min(asked));
    if given < asked {
        told.push(format!("requested expiration of {asked} seconds shortened to {given} seconds"));
    }
    object.set_at(&path, given);
    Ok(given)
}

/// What the token is to be bound to, if anything.
fn bound(
    catalogue: &Catalogue,
    snapshot: &Snapshot,
    namespace: &str,
    account: &str,
    object: &Value,
) -> Result<Option<BoundObjectReference>, Error> {
    let Some(wanted) = object.at(&["spec", "boundObjectRef"]).filter(|wanted| !wanted.is_null())
    else {
        return Ok(None);
    };
    let text = |field: &str| wanted.str_at(&[field]).unwrap_or_default();
    let (api_version, kind, name, uid) =
        (text("apiVersion"), text("kind"), text("name"), text("uid"));
    let version = GroupVersion::parse(api_version).unwrap_or_else(|| GroupVersion::new("", ""));
    let (resource, scope) = match (version.group.as_str(), kind) {
        ("", "Pod") => ("pods", Some(namespace)),
        ("", "Secret") => ("secrets", Some(namespace)),
        ("", "Node") => ("nodes", None),
        (group, _) => {
            let what = format!(
                "cannot bind token to object of type {group}/{}, Kind={kind}",
                version.version
            );
            return Err(Error::bad_request(what));
        }
    };
    if name.is_empty() {
        return Err(Error::bad_request("Name parameter required."));
    }
    let found = find(catalogue, snapshot, resource, scope, name)?;
    if kind == "Pod" && service_account_of(&found) != Some(account) {
        return Err(Error::bad_request(format!(
            "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
        )));
    }
    let identified = identified(&found);
    if !uid.is_empty() && uid != identified.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(
            &GroupResource::new(version.group.as_str(), kind),
            name,
            &why,
        )
        .into());
    }
    Ok(Some(match kind {
        "Pod" => BoundObjectReference::Pod(identified, node_of(catalogue, snapshot, &found)),
        "Secret" => BoundObjectReference::Secret(identified),
        _ => BoundObjectReference::Node(identified),
    }))
}

/// The node that a pod runs on; by its name only when there is no such node.
fn node_of(catalogue: &Catalogue, snapshot: &Snapshot, pod: &Value) -> Option<ObjectIdentity> {
    let name = pod.str_at(&["spec", "nodeName"]).filter(|name| !name.is_empty())?;
    let found = find(catalogue, snapshot, "nodes", None, name);
    Some(found.map_or_else(
        |_| ObjectIdentity { name: name.to_owned(), uid: String::new() },
        |node| identified(&node),
    ))
}

fn identified(object: &Value) -> ObjectIdentity {
    let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default().to_owned();
    ObjectIdentity { name: text("name"), uid: text("uid") }
}

/// An object of the core group, or 404.
fn find(
    catalogue: &Catalogue,
    snapshot: &Snapshot,
    plural: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Value, Error> {
    let resource = catalogue.find_builtin("", "v1", plural).ok_or_else(Error::no_such_path)?;
    match snapshot.get(&resource.key(namespace, name)) {
        Some(entry) => stored_codec::decode(resource, entry),
        None => Err(Status::not_found(&resource.group_resource(), name).into()),
    }
}

/// A random id (version 4, RFC 9562).
fn id(api: &Api) -> String {
    let mut bytes = [0; 16];
    api.env.entropy.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
