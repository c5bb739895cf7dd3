//! The `eviction` subresource of pods: a deletion for which the pod's disruption budget is asked
//! first.
//!
//! Invariants: a disruption is taken by a change of the budget's status, made on the condition that
//! this is still as it was read; so each eviction takes one of its own. The pod that is deleted is
//! the one that was read: its deletion is bound to its uid, and to its version where its state
//! decided. Its status says so before it is deleted. All of this the server writes itself: the
//! client needs no right to budgets, pods or their status. A dry run asks and refuses in the same
//! way and writes nothing. The controller of budgets counts the pods.

mod budget;
mod condition;
mod evict;
mod options;
mod pod;

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::Status;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::decode::BodyKind;
use crate::handlers::write::options::Parameters;
use crate::handlers::write::origin::origin_of;
use crate::handlers::write::{decode, identity};
use crate::respond;
use evict::Eviction;
use quorate_registry::AdmissionOperation;
use quorate_registry::error::Error;
use quorate_registry::write::{SubresourceRequest, Target};

/// The subresource's name.
pub(super) const EVICTION: &str = "eviction";
/// Versions of the group that drainers of old say.
const FORMER_VERSIONS: [&str; 1] = ["v1beta1"];

/// Evicts the pod of the path; 201 with a Status.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    let subresource = resource.subresource(EVICTION).ok_or_else(Error::no_such_path)?;
    let form = subresource
        .body
        .as_ref()
        .ok_or_else(|| Error::internal("the schema has no form of an eviction"))?;
    let parameters = Parameters::parse(api.names, request, "CreateOptions")?;
    let graph = form.graph();
    let wanted = BodyKind { former: &FORMER_VERSIONS, ..BodyKind::of(form, &graph) };
    let (decoded, _) = decode::of_kind(api, request, wanted, parameters.validation)?;
    let decode::Decoded { object: mut body, warnings } = decoded;
    decode::complete(api.names, form, &mut body);
    identity::set_namespace(form, request.namespace(), &mut body)?;
    if body.str_at(&["metadata", "name"]).unwrap_or_default() != name {
        return Err(Error::bad_request("name in URL does not match name in Eviction object"));
    }
    let pod = Target { resource, namespace: request.namespace(), name };
    let admitted = SubresourceRequest {
        operation: AdmissionOperation::Create,
        target: pod,
        subresource: EVICTION,
        options: parameters.write(),
        graph: &form.graph(),
        ty: form.ty(),
    };
    let told = writer_for(api, request).admit_request(admitted, &mut body).await?;
    let options = options::of(api.names, &form.group_kind(), &body, parameters.dry_run)?;
    let eviction = Eviction {
        api,
        catalogue: request.catalogue,
        writer: api.writer().from_origin(origin_of(request)),
        pod,
        options,
        manager: &parameters.manager,
    };
    let created = Status { code: StatusCode::CREATED.as_u16(), ..Status::ok() };
    let answer = eviction.run().await.map(|()| respond::status(&request.format, &created));
    request.warned(&[warnings, told].concat(), answer)
}
