//! SubjectAccessReviews for the authorization webhook: a question as one, and a decision from one.

use bytes::Bytes;
use quorate_meta::{GroupVersion, Naming};
use serde_json::{Map, Value, json};

use crate::authentication::User;
use crate::authorization::{Action, Decision, Requirement, ResourceAction, Verdict};

/// Bytes of a reason that are kept.
const MAX_REASON: usize = 1024;

/// The review as JSON.
pub(super) fn encode(api_version: &str, user: &User, action: &Action<'_>) -> Bytes {
    let mut spec = Map::new();
    put(&mut spec, "user", &user.name);
    put(&mut spec, "uid", &user.uid);
    if !user.groups.is_empty() {
        spec.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert(
            "extra".into(),
            Value::Object(user.extra.iter().map(|(k, v)| (k.clone(), json!(v))).collect()),
        );
    }
    match action {
        Action::Resource(on) => spec.insert("resourceAttributes".into(), resource(on)),
        Action::Path { verb, path } => {
            spec.insert("nonResourceAttributes".into(), json!({"path": path, "verb": verb}))
        }
    };
    let review = json!({
        "kind": "SubjectAccessReview", "apiVersion": api_version, "metadata": {}, "spec": spec,
        "status": {"allowed": false},
    });
    review.to_string().into()
}

fn resource(on: &ResourceAction<'_>) -> Value {
    let mut attributes = Map::new();
    for (field, text) in [
        ("namespace", on.namespace),
        ("verb", on.verb),
        ("group", on.group),
        ("version", on.version),
        ("resource", on.resource),
        ("subresource", on.subresource),
        ("name", &*on.name),
    ] {
        put(&mut attributes, field, text);
    }
    // Parsed requirements only: webhooks are advised to ignore `rawSelector`.
    for (field, requirements) in [("fieldSelector", &on.fields), ("labelSelector", &on.labels)] {
        if !requirements.is_empty() {
            let requirements: Vec<Value> = requirements.iter().map(requirement).collect();
            attributes.insert(field.into(), json!({"requirements": requirements}));
        }
    }
    Value::Object(attributes)
}

fn requirement(requirement: &Requirement) -> Value {
    let Requirement { key, operator, values } = requirement;
    let mut object = Map::from_iter([
        ("key".to_owned(), json!(key)),
        ("operator".to_owned(), json!(operator.name())),
    ]);
    if !values.is_empty() {
        object.insert("values".into(), json!(values));
    }
    Value::Object(object)
}

fn put(object: &mut Map<String, Value>, field: &str, text: &str) {
    if !text.is_empty() {
        object.insert(field.to_owned(), text.into());
    }
}

/// Bytes of an action that its user chooses freely.
pub(super) fn chosen(action: &Action<'_>) -> usize {
    let texts = |requirements: &[Requirement]| -> usize {
        let length =
            |one: &Requirement| one.key.len() + one.values.iter().map(String::len).sum::<usize>();
        requirements.iter().map(length).sum()
    };
    match action {
        Action::Path { verb, path } => verb.len() + path.len(),
        Action::Resource(on) => {
            let own = [
                on.verb,
                on.group,
                on.version,
                on.resource,
                on.subresource,
                on.namespace,
                &*on.name,
            ];
            own.iter().map(|text| text.len()).sum::<usize>() + texts(&on.fields) + texts(&on.labels)
        }
    }
}

/// The decision in an answered review.
///
/// # Errors
/// Why it is not one.
pub(super) fn decode(answer: &[u8]) -> Result<Decision, String> {
    let review: Value =
        serde_json::from_slice(answer).map_err(|error| format!("not an answer: {error}"))?;
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (kind, api_version) = (text(&review, "kind"), text(&review, "apiVersion"));
    if kind != "SubjectAccessReview" || !is_version(&api_version) {
        return Err(format!(
            "the answer is a {kind:?} of {api_version:?}, not a SubjectAccessReview"
        ));
    }
    let status = &review["status"];
    let flag = |field: &str| match &status[field] {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        _ => Err(format!("status.{field} of the answer is neither true nor false")),
    };
    if !status.is_object() {
        return Err("the answer has no status".to_owned());
    }
    let mut reason = text(status, "reason");
    reason.truncate(reason.floor_char_boundary(MAX_REASON));
    Ok(match (flag("allowed")?, flag("denied")?) {
        (true, true) => {
            let error = "the authorization webhook says both allowed and denied".to_owned();
            Decision { verdict: Verdict::Deny, reason, error, ..Decision::default() }
        }
        (false, true) => Decision { verdict: Verdict::Deny, reason, ..Decision::default() },
        (true, false) => Decision::allow(reason),
        (false, false) => Decision { reason, ..Decision::default() },
    })
}

/// Whether a version is that of reviews, in the names of either profile: most servers know only
/// one.
fn is_version(api_version: &str) -> bool {
    let Some(GroupVersion { group, version }) = GroupVersion::parse(api_version) else {
        return false;
    };
    let known = |naming: Naming| naming.names().group("authorization") == group;
    version == "v1" && [Naming::Svc, Naming::Kubernetes].into_iter().any(known)
}
