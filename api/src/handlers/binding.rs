//! The `binding` subresource of pods: the scheduler names the node on which a pod runs. A POST of a
//! Binding, from before there were subresources, still works.
//!
//! Invariants: a pod is bound once. Everything that a binding brings (the node, annotations,
//! labels) is written in one transaction, under the conditions that it names itself (identity and
//! version).

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::{Cause, GroupResource, Map, Status, Time, Value};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::options::Parameters;
use crate::handlers::write::{decode, identity};
use crate::respond;
use quorate_registry::error::Error;
use quorate_registry::write::{SubresourceRequest, Target, UpdateOptions};
use quorate_registry::{AdmissionOperation, Part, Resource};

/// The subresource's name.
pub(super) const BINDING: &str = "binding";
/// The resource of bindings that are created by themselves.
pub(super) const BINDINGS: &str = "bindings";
/// What is bound.
const PODS: &str = "pods";
/// The one kind that pods are bound to.
const NODE: &str = "Node";

/// Binds the pod of the path; 201 with a Status.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let subresource = resource.subresource(BINDING).ok_or_else(Error::no_such_path)?;
    let form = subresource
        .body
        .as_ref()
        .ok_or_else(|| Error::internal("the schema has no form of a binding"))?;
    bind(api, request, resource, form, Some(request.name()?)).await
}

/// Binds the pod that the body names; 201 with a Status.
pub(super) async fn create(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let pods = request.catalogue.find_builtin("", "v1", PODS).ok_or_else(Error::no_such_path)?;
    bind(api, request, pods, request.resource()?, None).await
}

async fn bind(
    api: &Arc<Api>,
    request: &Request<'_>,
    resource: &Resource,
    form: &Resource,
    path_name: Option<&str>,
) -> Result<Response<Body>, Error> {
    let parameters = Parameters::parse(api.names, request, "CreateOptions")?;
    let decode::Decoded { object: mut binding, warnings } =
        decode::object(api, request, form, parameters.validation)?;
    identity::set_namespace(form, request.namespace(), &mut binding)?;
    let own_name = binding.str_at(&["metadata", "name"]).unwrap_or_default().to_owned();
    let name = path_name.unwrap_or(&own_name);
    let target = Target { resource, namespace: request.namespace(), name };
    let admitted = SubresourceRequest {
        operation: AdmissionOperation::Create,
        target,
        subresource: BINDING,
        options: parameters.write(),
        graph: &form.graph(),
        ty: form.ty(),
    };
    let writer = writer_for(api, request);
    // The labels of the node come from admission.
    let told = writer.admit_request(admitted, &mut binding).await?;
    identity::check_name(name, &binding)?;
    let causes = problems(&binding);
    if !causes.is_empty() {
        return Err(Status::invalid(&form.group_kind(), name, causes).into());
    }
    let (write, now) = (parameters.write(), Time::from_ms(api.env.clock.now_ms()));
    let options =
        UpdateOptions { write, part: Part::Binding, if_match: None, replaces: true, named: None };
    let change = |current: Option<&Value>| {
        let pod = current.ok_or_else(|| Status::not_found(&resource.group_resource(), name))?;
        let own =
            GroupResource::new(resource.group.as_str(), format!("{}/{BINDING}", resource.plural));
        Ok(bound(pod, &binding, now).map_err(|why| Status::conflict(&own, name, &why))?)
    };
    let answer = writer.update(target, options, change).await;
    let created = Status { code: StatusCode::CREATED.as_u16(), ..Status::ok() };
    let answer = answer.map(|_| respond::status(&request.format, &created));
    request.warned(&[warnings, told].concat(), answer)
}

/// What is wrong with a binding.
fn problems(binding: &Value) -> Vec<Cause> {
    let text = |field: &str| binding.str_at(&["target", field]).unwrap_or_default();
    let mut causes = Vec::new();
    if !matches!(text("kind"), "" | NODE) {
        causes.push(Cause::not_supported("target.kind", text("kind"), &[NODE, "<empty>"]));
    }
    if text("name").is_empty() {
        causes.push(Cause::required("target.name", ""));
    }
    causes
}

/// The pod on its node; `Err` is why it cannot get there.
fn bound(pod: &Value, binding: &Value, now: Time) -> Result<Value, String> {
    let name = pod.str_at(&["metadata", "name"]).unwrap_or_default();
    if pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_empty()) {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    if pod.at(&["spec", "schedulingGates"]).is_some_and(|gates| !gates.is_empty()) {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let mut pod = pod.clone();
    for condition in ["resourceVersion", "uid"] {
        let asked = binding.str_at(&["metadata", condition]).unwrap_or_default();
        pod.set_at(&["metadata", condition], asked);
    }
    pod.set_at(&["spec", "nodeName"], binding.str_at(&["target", "name"]).unwrap_or_default());
    for field in ["annotations", "labels"] {
        add(&mut pod, binding, field);
    }
    // The nominated node is of no more interest.
    pod.remove_at(&["status", "nominatedNodeName"]);
    set_scheduled(&mut pod, now);
    Ok(pod)
}

/// Adds a map of the binding's metadata to the pod's.
fn add(pod: &mut Value, binding: &Value, field: &str) {
    let brought = binding
        .at(&["metadata", field])
        .and_then(Value::as_map)
        .filter(|brought| !brought.is_empty());
    let own =
        pod.as_map_mut().and_then(|pod| pod.map_mut("metadata")).filter(|_| brought.is_some());
    if let (Some(brought), Some(own)) = (brought, own.and_then(|metadata| metadata.map_mut(field)))
    {
        own.merge(brought.clone());
    }
}

/// Says in the pod's conditions that it is scheduled.
fn set_scheduled(pod: &mut Value, now: Time) {
    const KIND: &str = "PodScheduled";
    const CONDITIONS: [&str; 2] = ["status", "conditions"];
    let mut conditions = pod.at(&CONDITIONS).and_then(Value::as_list).unwrap_or_default().to_vec();
    let condition = Value::Map(Map::from([
        ("type", Value::from(KIND)),
        ("status", "True".into()),
        ("lastProbeTime", Value::Null),
        ("lastTransitionTime", now.seconds().into()),
    ]));
    match conditions.iter_mut().find(|known| known.str_at(&["type"]) == Some(KIND)) {
        Some(known) if known.str_at(&["status"]) == Some("True") => return,
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    pod.set_at(&CONDITIONS, conditions);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn binding() -> Value {
        json!({"metadata": {"name": "p", "annotations": {"a": "2"}, "labels": {"l": "2", "m": "2"}},
            "target": {"kind": "Node", "name": "n"}})
        .into()
    }

    #[test]
    fn what_a_binding_brings() {
        let pod = json!({"metadata": {"name": "p", "uid": "u", "annotations": {"a": "1"}, "labels": {"l": "1"}},
            "spec": {}, "status": {"nominatedNodeName": "m", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}});
        let bound = bound(&pod.into(), &binding(), Time::from_ms(0)).unwrap();
        let expect = json!({
            "metadata": {"name": "p", "uid": "", "resourceVersion": "", "annotations": {"a": "2"}, "labels": {"l": "2", "m": "2"}},
            "spec": {"nodeName": "n"},
            "status": {"conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": "1970-01-01T00:00:00Z"}]},
        });
        assert_eq!(bound, expect.into());
    }

    #[test]
    fn pods_that_cannot_be_bound() {
        let check = |pod: Json, expect: &str| {
            let why = bound(&pod.into(), &binding(), Time::from_ms(0)).unwrap_err();
            assert!(why.contains(expect), "{why}");
        };
        check(json!({"metadata": {"name": "p", "deletionTimestamp": "t"}}), "is being deleted");
        check(
            json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n"}}),
            "is already assigned to node \"n\"",
        );
        check(
            json!({"metadata": {"name": "p"}, "spec": {"schedulingGates": [{"name": "g"}]}}),
            ".spec.schedulingGates",
        );
    }

    #[test]
    fn bindings_that_lead_nowhere() {
        let check = |target: Json, expect: &[&str]| {
            let causes = problems(&json!({ "target": target }).into());
            assert_eq!(causes.iter().map(|cause| cause.field.as_str()).collect::<Vec<_>>(), expect);
        };
        check(json!({"name": "n"}), &[]);
        check(json!({"kind": "Pod", "name": "n"}), &["target.kind"]);
        check(json!({"kind": "Node"}), &["target.name"]);
    }
}
