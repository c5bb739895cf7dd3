//! The type checking of admission policies: `status.typeChecking` and `status.observedGeneration`
//! of each.
//!
//! Invariants: a generation of a policy is checked once; a policy about any resource of a group is
//! checked for none of it. Not here: what is wrong with an expression (`quorate-policy`).

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use quorate_meta::{GroupVersionKind, Map, Value};
use quorate_policy::{CheckedKind, Environments, type_check};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Catalogue, Part, Resource, stored_codec};
use quorate_wire::json;
use tokio::time::sleep;

use super::context::{Context, is_conflict, is_settled};
use crate::conditions::unchanged;
use crate::retry_queue::RetryQueue;

/// How long changes are batched before they are reconciled.
const BATCH_WINDOW: Duration = Duration::from_millis(50);
/// So many kinds are checked for one rule.
const MAX_KINDS: usize = 10;

/// Keeps the status of policies; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let group = context.names.group("admissionregistration");
    let Some(policies) = &context.find(&group, "v1", "validatingadmissionpolicies") else {
        return pending().await;
    };
    let environments = Environments::new(context.names);
    let mut retries = RetryQueue::default();
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.store.watch(policies.prefix(None), snapshot.revision())?;
        let mut names = BTreeSet::new();
        for (_, entry) in snapshot.range(&policies.prefix(None), None) {
            // A policy that cannot be read has no status.
            let Ok(policy) = stored_codec::decode(policies, entry) else {
                continue;
            };
            let name = policy.str_at(&["metadata", "name"]).unwrap_or_default();
            let done = context.work.item(check(context, &environments, policies, &policy)).await;
            retries.record(name.to_owned(), done)?;
            names.insert(name.to_owned());
        }
        drop(snapshot);
        tokio::select! {
            batch = changes.next() => drop(batch?),
            // All are reconciled anyway; those that are gone are forgotten.
            due = retries.due() => due.iter().filter(|name| !names.contains(*name)).for_each(|name| retries.forget(name)),
        }
        sleep(BATCH_WINDOW).await;
    }
}

/// Writes the findings about a policy, unless those about its generation are there.
async fn check(
    context: &Context,
    environments: &Environments,
    policies: &Resource,
    policy: &Value,
) -> Result<(), Error> {
    let generation = policy.at(&["metadata", "generation"]).and_then(Value::as_i64);
    let observed = policy.at(&["status", "observedGeneration"]).and_then(Value::as_i64);
    let Some(generation) = generation.filter(|generation| observed != Some(*generation)) else {
        return Ok(());
    };
    let checking = findings(environments, &context.catalogue.load(), policy);
    let name = policy.str_at(&["metadata", "name"]).unwrap_or_default();
    let target = Target { resource: policies, namespace: None, name };
    let change = |current: Option<&Value>| {
        let mut object = unchanged(target, policy, current)?;
        object.set_at(&["status", "observedGeneration"], generation);
        object.set_at(&["status", "typeChecking"], checking.clone());
        Ok(object)
    };
    let options = context.update_options(Part::Status);
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
        updated => updated.map(drop),
    }
}

/// The `status.typeChecking` of a policy.
fn findings(environments: &Environments, catalogue: &Catalogue, policy: &Value) -> Value {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let checked = |resource| checked(catalogue, resource);
    let kinds: Vec<CheckedKind> = kinds(catalogue, spec).into_iter().filter_map(checked).collect();
    let params = param_resource(catalogue, spec).and_then(checked);
    let warnings = if kinds.is_empty() {
        Vec::new()
    } else {
        type_check(environments, spec, &kinds, params.as_ref())
    };
    let mut checking = Map::new();
    if !warnings.is_empty() {
        let warning = |warning: quorate_policy::ExpressionWarning| {
            Value::Map(Map::from([
                ("fieldRef", Value::from(warning.field)),
                ("warning", Value::from(warning.warning)),
            ]))
        };
        let list = warnings.into_iter().map(warning).collect();
        checking.insert("expressionWarnings", Value::List(list));
    }
    Value::Map(checking)
}

/// A kind with the fields of its objects; `None` for a custom one whose schema says nothing.
fn checked(catalogue: &Catalogue, resource: &Resource) -> Option<CheckedKind> {
    let kind = kind_of(resource);
    if !resource.is_custom() {
        return Some(CheckedKind::new(kind, &resource.graph(), resource.ty()));
    }
    let (schema, _) = json::parse(&resource.strategy.published_schema()?).ok()?;
    CheckedKind::custom(kind, &schema, catalogue.graph())
}

fn kind_of(resource: &Resource) -> GroupVersionKind {
    GroupVersionKind {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
    }
}

/// The resources that the rules name one by one, in order of their kinds.
fn kinds<'c>(catalogue: &'c Catalogue, spec: &Value) -> Vec<&'c Resource> {
    let rules = spec.at(&["matchConstraints", "resourceRules"]).and_then(Value::as_list);
    let mut found: Vec<&Resource> = Vec::new();
    for rule in rules.unwrap_or_default() {
        let names = |field: &str| {
            let list = rule.get(field).and_then(Value::as_list).unwrap_or_default();
            let texts = list.iter().filter_map(Value::as_str);
            texts.filter(|text| !text.contains(['*', '/'])).collect::<BTreeSet<_>>()
        };
        let (groups, versions, resources) =
            (names("apiGroups"), names("apiVersions"), names("resources"));
        let named = groups.iter().flat_map(|group| {
            let versions = &versions;
            let resources = &resources;
            versions.iter().flat_map(move |version| {
                let named = resources.iter();
                named.filter_map(move |resource| catalogue.find(group, version, resource))
            })
        });
        found.extend(named.take(MAX_KINDS).map(|resource| &**resource));
    }
    let order = |resource: &&Resource| {
        (resource.group.clone(), resource.version.clone(), resource.kind.clone())
    };
    found.sort_by_key(order);
    found.dedup_by_key(|resource| order(resource));
    found
}

/// The resource of the parameters; `None` when it is not served, or there are none.
fn param_resource<'c>(catalogue: &'c Catalogue, spec: &Value) -> Option<&'c Resource> {
    let version = spec.str_at(&["paramKind", "apiVersion"])?;
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = spec.str_at(&["paramKind", "kind"])?;
    catalogue.find_kind(group, version, kind).map(|resource| &**resource)
}

#[cfg(test)]
mod tests {
    use quorate_kinds::builtin;
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_policies_get_wrong() {
        let names = Naming::Svc.names();
        let (environments, catalogue) = (Environments::new(names), builtin::catalogue_of(names));
        let check = |groups: &[&str], resources: &[&str], expression: &str, expect: &[&str]| {
            let rule = json!({"apiGroups": groups, "apiVersions": ["v1"], "resources": resources});
            let policy = json!({"spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": expression, "messageExpression": "'a ' + object.kind"}],
            }});
            let found = findings(&environments, &catalogue, &policy.into());
            let warnings = found.get("expressionWarnings").and_then(Value::as_list);
            let texts: Vec<String> = warnings
                .unwrap_or_default()
                .iter()
                .map(|warning| {
                    let text = |field: &str| warning.str_at(&[field]).unwrap_or_default();
                    let kinds = text("warning").lines().filter(|line| line.contains("Kind="));
                    let kinds: Vec<&str> = kinds.collect();
                    format!("{}: {}", text("fieldRef"), kinds.join("; "))
                })
                .collect();
            assert_eq!(texts, expect, "{expression}");
        };
        let at = "spec.validations[0].expression";
        check(&["apps"], &["deployments"], "object.spec.replicas > 1", &[]);
        let unfit = format!(
            "{at}: apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'"
        );
        check(&["apps"], &["deployments"], "object.spec.replicas > '1'", &[&unfit]);
        check(&["apps"], &["*"], "object.spec.replicaz > 1", &[]);
        check(&["apps"], &["deployments/scale"], "object.spec.replicaz > 1", &[]);
        let both = format!(
            "{at}: /v1, Kind=ConfigMap: ERROR: <input>:1:31: undefined field 'spec'; apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'data'"
        );
        check(
            &["apps", ""],
            &["configmaps", "deployments"],
            "object.data.x == 'a' || object.spec.y",
            &[&both],
        );
    }
}
