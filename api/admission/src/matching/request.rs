//! The `request` of expressions: what an AdmissionReview tells of a write but the objects.
//!
//! Invariant: empty fields are left out, as on the wire.

use quorate_cel::library::authorizer::ResourceTarget;
use quorate_meta::{Map, Value};
use quorate_registry::{AdmissionOperation, Attributes, Resource, UserInfo};

use super::subject::Subject;

/// The user of the server's own writes.
const OWN_USER: &str = "system:apiserver";
/// Their group.
const OWN_GROUP: &str = "system:masters";

/// The fields of the request of a write that is matched as a resource.
pub(crate) fn request(subject: &Subject<'_>, matched: &Resource) -> Value {
    let attributes = subject.attributes;
    let written = attributes.target.resource;
    let subresource = attributes.subresource;
    let mut fields = Map::new();
    fields.insert("kind", kind(matched, subresource));
    fields.insert("resource", resource(matched));
    fields.insert("requestKind", kind(written, subresource));
    fields.insert("requestResource", resource(written));
    for (field, text) in [
        ("subResource", subresource),
        ("requestSubResource", subresource),
        ("name", subject.name()),
        ("namespace", subject.namespace()),
    ] {
        if !text.is_empty() {
            fields.insert(field, text);
        }
    }
    fields.insert("operation", subject.operation());
    fields.insert("userInfo", Value::Map(user(attributes)));
    fields.insert("dryRun", attributes.dry_run);
    if let Some(options) = options(subject) {
        fields.insert("options", options);
    }
    Value::Map(fields)
}

/// What `authorizer.requestResource` asks about.
pub(crate) fn request_resource(subject: &Subject<'_>) -> ResourceTarget {
    let target = subject.attributes.target;
    ResourceTarget {
        group: target.resource.group.clone(),
        resource: target.resource.plural.clone(),
        subresource: subject.attributes.subresource.to_owned(),
        namespace: subject.namespace().to_owned(),
        name: subject.name().to_owned(),
        ..ResourceTarget::default()
    }
}

fn user(attributes: &Attributes<'_>) -> Map {
    let groups = [OWN_GROUP.to_owned()];
    let own = UserInfo { name: OWN_USER, uid: "", groups: &groups, extra: &[] };
    attributes.user.unwrap_or(own).to_fields()
}

fn kind(resource: &Resource, subresource: &str) -> Value {
    let of_body = resource
        .subresource(subresource)
        .map(|subresource| (&subresource.group, &subresource.version, &subresource.kind));
    let (group, version, kind) =
        of_body.unwrap_or((&resource.group, &resource.version, &resource.kind));
    let fields = [("group", group), ("version", version), ("kind", kind)];
    Value::Map(
        fields.into_iter().map(|(field, text)| (field, Value::from(text.as_str()))).collect(),
    )
}

fn resource(resource: &Resource) -> Value {
    let fields = [
        ("group", &resource.group),
        ("version", &resource.version),
        ("resource", &resource.plural),
    ];
    Value::Map(
        fields.into_iter().map(|(field, text)| (field, Value::from(text.as_str()))).collect(),
    )
}

/// The options of the write, as their kind has them; a connection has none.
fn options(subject: &Subject<'_>) -> Option<Value> {
    let attributes = subject.attributes;
    let kind = match attributes.operation {
        AdmissionOperation::Create => "CreateOptions",
        AdmissionOperation::Update => "UpdateOptions",
        AdmissionOperation::Delete => "DeleteOptions",
        AdmissionOperation::Connect => return None,
    };
    let mut options = Map::new();
    options.insert("apiVersion", format!("{}/v1", subject.names().group_meta));
    options.insert("kind", kind);
    if attributes.dry_run {
        options.insert("dryRun", Value::List(vec![Value::from("All")]));
    }
    let given = attributes.given;
    for (field, text) in
        [("fieldManager", given.field_manager), ("fieldValidation", given.field_validation)]
    {
        if !text.is_empty() {
            options.insert(field, text);
        }
    }
    if let Some(deletion) = attributes.delete_options {
        if let Some(seconds) = deletion.grace_seconds {
            options.insert("gracePeriodSeconds", seconds);
        }
        let mut preconditions = Map::new();
        let given = &deletion.preconditions;
        let uid = given.uid.as_ref().filter(|_| !deletion.of_collection);
        for (field, value) in [("uid", uid), ("resourceVersion", given.resource_version.as_ref())] {
            if let Some(value) = value {
                preconditions.insert(field, value.as_str());
            }
        }
        if !preconditions.is_empty() {
            options.insert("preconditions", Value::Map(preconditions));
        }
        if let Some(propagation) = deletion.propagation {
            options.insert("propagationPolicy", propagation.name());
        }
    }
    Some(Value::Map(options))
}
