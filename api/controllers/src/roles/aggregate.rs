//! The rules of aggregated ClusterRoles (`aggregationRule`).
//!
//! Invariants: an aggregated role holds the rules of every other role that one of its selectors
//! matches, in the order of their names and each once, and nothing else, whatever a client writes
//! into it. Where it matches another aggregated role, it takes the rules that this one has to hold
//! and not those that it holds now, so roles that aggregate each other come to rest. A change costs
//! what it concerns: of every role the labels, rules and selectors are kept in memory. A role that
//! cannot be read or written delays no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use quorate_meta::{LabelSelector, Map, Time, Value};
use quorate_schema::apply::Config;
use quorate_store::{Entry, Revision};

use crate::context::{Context, is_conflict, is_settled};
use crate::retry_queue::RetryQueue;
use quorate_access::authorization::rbac::{self, Rule};
use quorate_registry::error::Error;
use quorate_registry::ownership::FieldManager;
use quorate_registry::write::{Target, UpdateOptions};
use quorate_registry::{Part, Resource, selector, stored_codec};

/// The parts of a role that aggregation reads.
#[derive(Debug, Default, PartialEq)]
struct RoleState {
    labels: Map,
    rules: Vec<Value>,
    /// The roles that it aggregates; `None` when it does not aggregate.
    selectors: Option<Vec<LabelSelector>>,
    /// The revision at which it was read.
    revision: Revision,
}

/// Aggregates for ever; returns only with an error.
pub(crate) async fn run(context: &Context) -> Result<(), Error> {
    let resource = context.find(&context.names.group(rbac::GROUP), "v1", "clusterroles");
    let resource = &resource.ok_or_else(|| Error::internal("roles are not served"))?;
    let snapshot = context.current().await?;
    let prefix = resource.prefix(None);
    let mut watch = context.store.watch(prefix.clone(), snapshot.revision())?;
    let mut roles = BTreeMap::new();
    for (key, entry) in snapshot.range(&prefix, None) {
        let Some((_, name)) = resource.parse_key(key) else {
            continue;
        };
        tokio::task::consume_budget().await;
        roles.extend(read(resource, name, entry).map(|role| (name.to_owned(), role)));
    }
    let mut touched: BTreeSet<String> = roles.keys().cloned().collect();
    let mut retries = RetryQueue::default();
    drop(snapshot);
    loop {
        context.work.waits(touched.len());
        for name in std::mem::take(&mut touched) {
            let done = context.work.item(reconcile(context, resource, &roles, &name)).await;
            retries.record(name, done)?;
        }
        let mut batch = tokio::select! {
            batch = watch.next() => Some(batch?),
            due = retries.due() => {
                touched.extend(due);
                None
            }
        };
        while let Some(changes) = batch {
            for event in changes.events() {
                let Some((_, name)) = resource.parse_key(&event.key) else {
                    continue;
                };
                let now = event.current.as_ref().and_then(|entry| read(resource, name, entry));
                observe(&mut roles, name, now, &mut touched);
            }
            batch = watch.try_next()?;
        }
    }
}

/// Observes what a role is now, and adds the roles that this concerns.
fn observe(
    roles: &mut BTreeMap<String, RoleState>,
    name: &str,
    now: Option<RoleState>,
    touched: &mut BTreeSet<String>,
) {
    let before = roles.remove(name);
    // The roles that aggregate it, those that aggregate these, and so on.
    let mut ahead: Vec<&Map> =
        [&before, &now].into_iter().flatten().map(|role| &role.labels).collect();
    while let Some(labels) = ahead.pop() {
        for (name, role) in roles.iter().filter(|(_, role)| role.selects(labels)) {
            if touched.insert(name.clone()) {
                ahead.push(&role.labels);
            }
        }
    }
    if let Some(now) = now {
        touched.insert(name.to_owned());
        roles.insert(name.to_owned(), now);
    }
}

/// Writes the rules that an aggregating role should have; does nothing for any other.
async fn reconcile(
    context: &Context,
    resource: &Arc<Resource>,
    roles: &BTreeMap<String, RoleState>,
    name: &str,
) -> Result<(), Error> {
    tokio::task::consume_budget().await;
    let (Some(rules), Some(role)) = (aggregated_rules(roles, name), roles.get(name)) else {
        return Ok(());
    };
    if role.rules == rules {
        return Ok(());
    }
    let target = Target { resource, namespace: None, name };
    apply(context, target, role.revision, rules).await
}

/// Applies rules to a role (server-side apply), if it is still what was read; when not, its change
/// has it reconciled again.
async fn apply(
    context: &Context,
    target: Target<'_>,
    seen: Revision,
    rules: Vec<Value>,
) -> Result<(), Error> {
    let resource = target.resource;
    let mut fields = Value::Map(Map::from([("rules", Value::List(rules))]));
    fields.set_at(&["apiVersion"], resource.api_version.as_str());
    fields.set_at(&["kind"], resource.kind.as_str());
    fields.set_at(&["metadata", "name"], target.name);
    let config = Config::new(&resource.graph(), resource.ty(), fields)
        .map_err(|unfit| Error::internal(unfit.to_string()))?;
    let (seen, now) = (seen.to_string(), Time::from_ms(context.env.clock.now_ms()));
    let options = UpdateOptions { if_match: Some(&seen), ..context.update_options(Part::Main) };
    let manager = FieldManager { resource, part: Part::Main, manager: context.manager, now };
    let change = |live: Option<&Value>| {
        let applied = manager.apply(live, &config, true);
        let mut object = applied.map_err(|why| Error::internal(why.to_string()))?;
        context.complete(resource, &mut object)?;
        Ok(object)
    };
    // A role that is gone is not made again.
    let creation =
        || -> BoxFuture<'_, Result<(), Error>> { Box::pin(async { Err(Error::no_such_path()) }) };
    match context.writer.apply(target, options, &creation, change).await {
        Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
        applied => applied.map(drop),
    }
}

/// The rules that a role should have; `None` when it does not aggregate.
fn aggregated_rules(roles: &BTreeMap<String, RoleState>, name: &str) -> Option<Vec<Value>> {
    let mut rules = Vec::new();
    let (mut held, mut met) = (BTreeSet::new(), BTreeSet::from([name]));
    let mut ahead = roles.get(name)?.matched(roles)?;
    // A stack, whose top is the first one.
    ahead.reverse();
    while let Some((other, role)) = ahead.pop() {
        if !met.insert(other) {
            continue;
        }
        match role.matched(roles) {
            Some(matched) => ahead.extend(matched.into_iter().rev()),
            None => rules
                .extend(role.rules.iter().filter(|rule| held.insert(Rule::read(rule))).cloned()),
        }
    }
    Some(rules)
}

fn selects(selector: &LabelSelector, labels: &Map) -> bool {
    selector.matches(labels.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default())))
}

impl RoleState {
    fn selects(&self, labels: &Map) -> bool {
        self.selectors.iter().flatten().any(|selector| selects(selector, labels))
    }

    /// The roles that its selectors match, in their order; `None` when it does not aggregate.
    fn matched<'r>(&self, roles: &'r BTreeMap<String, Self>) -> Option<Vec<(&'r str, &'r Self)>> {
        let of = |selector: &LabelSelector| {
            roles.iter().filter(|(_, role)| selects(selector, &role.labels)).collect::<Vec<_>>()
        };
        let matched = self.selectors.as_ref()?.iter().flat_map(of);
        Some(matched.map(|(name, role)| (name.as_str(), role)).collect())
    }
}

/// A role that cannot be read gives no rules and aggregates none.
fn read(resource: &Resource, name: &str, entry: &Entry) -> Option<RoleState> {
    let role = stored_codec::decode(resource, entry);
    let role = role
        .inspect_err(|error| tracing::error!(%error, name, "a role is left out of aggregation"))
        .ok()?;
    Some(RoleState { revision: entry.modified, ..role_state(&role) })
}

fn role_state(role: &Value) -> RoleState {
    let list = |path: &[&str]| role.at(path).and_then(Value::as_list).unwrap_or_default();
    let aggregation = role.get("aggregationRule").filter(|rule| !rule.is_null());
    let selectors = list(&["aggregationRule", "clusterRoleSelectors"]);
    RoleState {
        labels: role
            .at(&["metadata", "labels"])
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default(),
        rules: list(&["rules"]).to_vec(),
        // A selector that cannot be read (none can be written) matches nothing.
        selectors: aggregation
            .map(|_| selectors.iter().filter_map(|one| selector::of(one).ok()).collect()),
        revision: Revision::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn role(labels: serde_json::Value, rules: &[&str], gathers: &[&str]) -> RoleState {
        let rules: Vec<_> = rules.iter().map(|verb| json!({"verbs": [verb]})).collect();
        let selectors: Vec<_> =
            gathers.iter().map(|label| json!({"matchLabels": {*label: "1"}})).collect();
        let mut role = json!({"metadata": {"labels": labels}, "rules": rules});
        if !gathers.is_empty() {
            role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        }
        role_state(&role.into())
    }

    fn verbs(roles: &BTreeMap<String, RoleState>, name: &str) -> Option<Vec<String>> {
        let text = |rule: &Value| {
            rule.get("verbs").unwrap().as_list().unwrap()[0].as_str().unwrap().to_owned()
        };
        aggregated_rules(roles, name).map(|rules| rules.iter().map(text).collect())
    }

    #[test]
    fn rules_are_gathered_in_order_and_once() {
        let roles = BTreeMap::from([
            ("a".into(), role(json!({"x": "1"}), &["get", "list"], &[])),
            ("b".into(), role(json!({"y": "1"}), &["list", "watch"], &[])),
            ("c".into(), role(json!({}), &["delete"], &[])),
            ("total".into(), role(json!({"x": "1"}), &["own"], &["y", "x"])),
        ]);
        assert_eq!(
            verbs(&roles, "total"),
            Some(["list", "watch", "get"].map(str::to_owned).to_vec())
        );
        assert_eq!(verbs(&roles, "a"), None);
    }

    #[test]
    fn roles_that_gather_each_other_hold_what_all_of_them_find() {
        let ring = |held: [&[&str]; 3]| {
            BTreeMap::from([
                ("a".into(), role(json!({"y": "1"}), held[0], &["x"])),
                ("b".into(), role(json!({"x": "1"}), held[1], &["z"])),
                ("c".into(), role(json!({"z": "1"}), held[2], &["y", "z"])),
                ("given".into(), role(json!({"z": "1"}), &["get"], &[])),
            ])
        };
        for held in [
            [&["list"][..], &[], &[]],
            [&[], &["watch", "get"], &["get"]],
            [&["get"], &["get"], &["get"]],
        ] {
            for name in ["a", "b", "c"] {
                assert_eq!(
                    verbs(&ring(held), name),
                    Some(vec!["get".to_owned()]),
                    "{name} of {held:?}"
                );
            }
        }
    }

    #[test]
    fn a_role_gathers_what_those_that_it_gathers_gather() {
        let roles = BTreeMap::from([
            ("admin".into(), role(json!({}), &[], &["to-admin", "to-edit"])),
            ("edit".into(), role(json!({"to-admin": "1"}), &["stale"], &["to-edit", "to-view"])),
            ("edits".into(), role(json!({"to-edit": "1"}), &["create", "get"], &[])),
            ("own".into(), role(json!({"to-admin": "1"}), &["bind"], &[])),
            ("views".into(), role(json!({"to-view": "1"}), &["get", "list"], &[])),
        ]);
        assert_eq!(
            verbs(&roles, "admin"),
            Some(["create", "get", "list", "bind"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn a_change_concerns_who_gathers_it_before_or_after() {
        let mut roles = BTreeMap::from([
            ("a".to_owned(), role(json!({"x": "1"}), &["get"], &[])),
            ("of-x".into(), role(json!({}), &[], &["x"])),
            ("of-y".into(), role(json!({}), &[], &["y"])),
            ("of-z".into(), role(json!({}), &[], &["z"])),
        ]);
        let mut touched = BTreeSet::new();
        observe(&mut roles, "a", Some(role(json!({"y": "1"}), &["get"], &[])), &mut touched);
        assert_eq!(touched.iter().collect::<Vec<_>>(), ["a", "of-x", "of-y"]);
        touched.clear();
        observe(&mut roles, "a", None, &mut touched);
        assert_eq!(touched.iter().collect::<Vec<_>>(), ["of-y"]);
        assert_eq!(verbs(&roles, "of-y"), Some(Vec::new()));
        roles.insert("of-of-y".into(), role(json!({}), &[], &["w"]));
        roles.insert("of-y".into(), role(json!({"w": "1"}), &[], &["y"]));
        touched.clear();
        observe(&mut roles, "a", Some(role(json!({"y": "1"}), &["get"], &[])), &mut touched);
        assert_eq!(touched.iter().collect::<Vec<_>>(), ["a", "of-of-y", "of-y"]);
    }
}
