//! The default roles and bindings: brought up to date once for each leader, in one transaction.
//!
//! Invariants: what is missing is added, labels, annotations, rules and subjects alike; what a
//! client added stays. A binding that binds another role is replaced, because a binding's role
//! never changes. An object whose annotation `autoupdate` is `false` is left alone.

use quorate_meta::{Names, Value};
use quorate_store::{Entry, Snapshot};

use crate::context::Context;
use quorate_access::authorization::rbac::{self, DefaultObject};
use quorate_registry::error::Error;
use quorate_registry::write::{Put, Target};
use quorate_registry::{Catalogue, Resource, stored_codec};

/// Attempts of the transaction, count: another writer may change one of the objects meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// Adds what is missing.
pub(crate) async fn run(context: &Context) -> Result<(), Error> {
    let catalogue = context.catalogue.load();
    let is_served = |kind: &str| catalogue.iter().any(|resource| resource.kind == kind);
    let defaults = rbac::default_objects(context.names, is_served);
    for _ in 0..MAX_ATTEMPTS {
        let snapshot = context.current().await?;
        let mut puts = Vec::new();
        for default in &defaults {
            puts.extend(put(context, &catalogue, &snapshot, default)?);
        }
        if puts.is_empty() || context.writer.put_all(puts, context.options()).await?.is_some() {
            return Ok(());
        }
    }
    Err(Error::internal("the default roles change faster than they can be brought up to date"))
}

fn put<'a>(
    context: &Context,
    catalogue: &'a Catalogue,
    snapshot: &Snapshot,
    default: &'a DefaultObject,
) -> Result<Option<Put<'a>>, Error> {
    let group = context.names.group(rbac::GROUP);
    let resource = catalogue.find_builtin(&group, "v1", default.plural);
    let resource = resource.ok_or_else(|| Error::internal("roles are not served"))?;
    let target = Target { resource, namespace: default.namespace.as_deref(), name: &default.name };
    let Some(entry) = snapshot.get(&target.key()) else {
        let object = completed(context, resource, default.object.clone())?;
        return Ok(Some(Put { target, replaces: None, object }));
    };
    let found = stored_codec::decode(resource, entry)?;
    let Some(wanted) = merged(context.names, default, &found) else {
        return Ok(None);
    };
    let replaces: Option<Entry> = Some(entry.clone());
    Ok(Some(Put { target, replaces, object: completed(context, resource, wanted)? }))
}

fn completed(context: &Context, resource: &Resource, mut object: Value) -> Result<Value, Error> {
    context.complete(resource, &mut object)?;
    Ok(object)
}

/// The object with what it lacks; `None` when it lacks nothing or is to be left alone.
fn merged(names: &Names, default: &DefaultObject, found: &Value) -> Option<Value> {
    if found.str_at(&["metadata", "annotations", names.annotation_rbac_autoupdate]) == Some("false")
    {
        return None;
    }
    let mut wanted = found.clone();
    for field in ["labels", "annotations"] {
        let ours = default.object.at(&["metadata", field]).and_then(Value::as_map);
        for (key, value) in ours.into_iter().flat_map(|map| map.iter()) {
            if found.at(&["metadata", field, key]).is_none() {
                wanted.set_at(&["metadata", field, key], value.clone());
            }
        }
    }
    if default.is_binding {
        if found.get("roleRef") != default.object.get("roleRef") {
            wanted.set_at(&["roleRef"], default.object.get("roleRef").cloned().unwrap_or_default());
        }
        add_missing(&mut wanted, &default.object, &["subjects"]);
    } else if default.object.get("aggregationRule").is_some() {
        add_missing(&mut wanted, &default.object, &["aggregationRule", "clusterRoleSelectors"]);
    } else {
        let missing = rbac::missing_rules(found, &default.object);
        if !missing.is_empty() {
            append(&mut wanted, &["rules"], missing);
        }
    }
    (wanted != *found).then_some(wanted)
}

fn add_missing(object: &mut Value, ours: &Value, path: &[&str]) {
    let list = |value: &Value| value.at(path).and_then(Value::as_list).unwrap_or_default().to_vec();
    let own = list(object);
    let missing: Vec<Value> = list(ours).into_iter().filter(|item| !own.contains(item)).collect();
    if !missing.is_empty() {
        append(object, path, missing);
    }
}

fn append(object: &mut Value, path: &[&str], items: Vec<Value>) {
    let mut list = object.at(path).and_then(Value::as_list).unwrap_or_default().to_vec();
    list.extend(items);
    object.set_at(path, Value::List(list));
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[track_caller]
    fn check(
        plural: &str,
        name: &str,
        change: impl FnOnce(&mut serde_json::Value),
        expect: Option<&[&str]>,
    ) {
        let names = Naming::Svc.names();
        let all = rbac::default_objects(names, |_| true);
        let default = all.iter().find(|one| one.plural == plural && one.name == name).unwrap();
        let mut found = serde_json::to_value(&default.object).unwrap();
        change(&mut found);
        let merged = merged(names, default, &found.into());
        let merged = merged.map(|object| serde_json::to_value(object).unwrap().to_string());
        assert_eq!(merged.is_some(), expect.is_some(), "{merged:?}");
        for text in expect.into_iter().flatten() {
            assert!(merged.as_ref().unwrap().contains(text), "{text} in {merged:?}");
        }
    }

    #[test]
    fn what_is_missing_is_added_and_what_was_added_stays() {
        let role = "system:basic-user";
        check("clusterroles", role, |_| {}, None);
        let extra = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["extra"]});
        check(
            "clusterroles",
            role,
            |found| found["rules"].as_array_mut().unwrap().push(extra.clone()),
            None,
        );
        let own = ["selfsubjectreviews", "extra", "\"mine\":\"kept\"", "rbac-defaults"];
        let change = |found: &mut serde_json::Value| {
            found["rules"] = json!([extra]);
            found["metadata"]["labels"] = json!({"mine": "kept"});
        };
        check("clusterroles", role, change, Some(&own));
        let binding = "system:basic-user";
        check(
            "clusterrolebindings",
            binding,
            |found| found["subjects"] = json!(null),
            Some(&["system:authenticated"]),
        );
        let other = json!({"kind": "User", "name": "joe", "apiGroup": "rbac.authorization.svc.io"});
        let both = ["joe", "system:authenticated"];
        check(
            "clusterrolebindings",
            binding,
            |found| found["subjects"] = json!([other]),
            Some(&both),
        );
    }

    #[test]
    fn what_is_protected_is_left_alone() {
        let change = |found: &mut serde_json::Value| {
            found["rules"] = json!(null);
            found["metadata"]["annotations"]["rbac.authorization.svc.io/autoupdate"] =
                "false".into();
        };
        check("clusterroles", "system:basic-user", change, None);
    }

    #[test]
    fn gathered_rules_are_not_touched() {
        check("clusterroles", "view", |found| found["rules"] = json!([{"verbs": ["get"]}]), None);
        let change = |found: &mut serde_json::Value| found["aggregationRule"] = json!(null);
        check("clusterroles", "view", change, Some(&["aggregate-to-view"]));
    }
}
