//! SubjectAccessReview and LocalSubjectAccessReview: whether another user may take an action.

use quorate_meta::{Cause, Map, Value};

use super::{attributes, check_metadata, refuse, with_status};
use crate::Api;
use crate::handlers::Request;
use quorate_access::authentication::User;
use quorate_registry::error::Error;

/// The review of any action with the answer.
pub(super) async fn answer(
    api: &Api,
    request: &Request<'_>,
    object: Value,
) -> Result<Value, Error> {
    let mut causes = problems(&object);
    check_metadata(&object, &mut causes);
    refuse(request, causes)?;
    Ok(decided(api, object).await)
}

/// The review of an action in the namespace of the request with the answer. The attributes say that
/// namespace or none, which means the same.
pub(super) async fn local_answer(
    api: &Api,
    request: &Request<'_>,
    mut object: Value,
) -> Result<Value, Error> {
    let namespace = request.namespace().unwrap_or_default();
    let mut causes = problems(&object);
    check_metadata(&object, &mut causes);
    let path = "spec.resourceAttributes.namespace";
    match object.str_at(&["spec", "resourceAttributes", "namespace"]).unwrap_or_default() {
        "" if object
            .at(&["spec", "resourceAttributes"])
            .is_some_and(|on| on.as_map().is_some()) =>
        {
            object.set_at(&["spec", "resourceAttributes", "namespace"], namespace);
        }
        "" => {}
        own if own == namespace => {}
        other => causes.push(Cause::invalid(path, other, "must match metadata.namespace")),
    }
    if let Some(other) =
        object.at(&["spec", "nonResourceAttributes"]).filter(|other| !other.is_null())
    {
        let why = "disallowed on this kind of request";
        causes.push(Cause::invalid("spec.nonResourceAttributes", other.clone(), why));
    }
    refuse(request, causes)?;
    Ok(decided(api, object).await)
}

fn problems(object: &Value) -> Vec<Cause> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let groups = spec.get("groups").and_then(Value::as_list).unwrap_or_default();
    let is_of_nobody = spec.str_at(&["user"]).unwrap_or_default().is_empty() && groups.is_empty();
    let why = "at least one of user or group must be specified";
    attributes::problems(spec, is_of_nobody.then(|| Cause::invalid("spec.user", "", why)))
}

async fn decided(api: &Api, object: Value) -> Value {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let status = attributes::decide(api, &subject(spec), spec).await;
    with_status(object, status)
}

/// The user that a valid review is about: in the groups that it names and in no other.
fn subject(spec: &Value) -> User {
    let text = |field: &str| spec.str_at(&[field]).unwrap_or_default().to_owned();
    let texts = |list: Option<&Value>| -> Vec<String> {
        let list = list.and_then(Value::as_list).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = spec.get("extra").and_then(Value::as_map).into_iter().flat_map(Map::iter);
    // Keys of extra fields are in lower case wherever they come from.
    let extra = extra.map(|(key, values)| (key.to_lowercase(), texts(Some(values)))).collect();
    User { name: text("user"), uid: text("uid"), groups: texts(spec.get("groups")), extra }
}
