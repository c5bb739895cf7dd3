//! Rules that a ClusterRole takes over from others (document 000, `aggregationRule`).
//!
//! Invariants: an aggregating role holds the rules of every other role that one of its selectors matches, in the order of
//! their names and each once, and nothing else, whatever somebody writes into it. A change costs what it concerns: all
//! roles are kept in memory as far as that needs. Roles that aggregate each other come to rest, because a role never takes
//! over its own rules and nothing is written that is there already.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_meta::{LabelSelector, Map, Value};
use quorate_store::{Entry, Revision};

use crate::authorization::rbac;
use crate::controllers::context::Context;
use crate::error::Error;
use crate::registry::write::Target;
use crate::registry::{Resource, form, selector};

/// What matters of a role.
#[derive(Debug, Default, PartialEq)]
struct Known {
    labels: Map,
    rules: Vec<Value>,
    /// What it takes over; `None` when it does not aggregate.
    selectors: Option<Vec<LabelSelector>>,
    /// At which it was read.
    revision: Revision,
}

/// Aggregates for ever; returns only with an error.
pub(in crate::controllers) async fn run(context: &Context) -> Result<(), Error> {
    let resource = context.api.registry.find(&context.api.names.group(rbac::GROUP), "v1", "clusterroles");
    let resource = resource.ok_or_else(|| Error::internal("roles are not served"))?;
    let snapshot = context.current().await?;
    let prefix = resource.prefix(None);
    let mut watch = context.api.store.watch(prefix.clone(), snapshot.revision())?;
    let mut roles = BTreeMap::new();
    for (key, entry) in snapshot.range(&prefix, None) {
        let Some((_, name)) = resource.parse_key(key) else { continue };
        roles.insert(name.to_owned(), read(resource, entry)?);
    }
    let mut touched: BTreeSet<String> = roles.keys().cloned().collect();
    drop(snapshot);
    loop {
        for name in &touched {
            gather(context, resource, &roles, name).await?;
        }
        touched.clear();
        let mut batch = Some(watch.next().await?);
        while let Some(changes) = batch {
            for event in changes.events() {
                let Some((_, name)) = resource.parse_key(&event.key) else { continue };
                let now = event.current.as_ref().map(|entry| read(resource, entry)).transpose()?;
                take(&mut roles, name, now, &mut touched);
            }
            batch = watch.try_next()?;
        }
    }
}

/// Takes in what a role is now, and which roles that concerns.
fn take(roles: &mut BTreeMap<String, Known>, name: &str, now: Option<Known>, touched: &mut BTreeSet<String>) {
    let before = roles.remove(name);
    for labels in [&before, &now].into_iter().flatten().map(|role| &role.labels) {
        let concerned = roles.iter().filter(|(_, role)| role.gathers(labels));
        touched.extend(concerned.map(|(name, _)| name.clone()));
    }
    if let Some(now) = now {
        touched.insert(name.to_owned());
        roles.insert(name.to_owned(), now);
    }
}

/// Writes the rules that an aggregating role should have; does nothing for any other.
async fn gather(
    context: &Context,
    resource: &Arc<Resource>,
    roles: &BTreeMap<String, Known>,
    name: &str,
) -> Result<(), Error> {
    let (Some(rules), Some(role)) = (gathered(roles, name), roles.get(name)) else { return Ok(()) };
    if role.rules == rules {
        return Ok(());
    }
    let target = Target { resource, namespace: None, name };
    let change = |current: Option<&Value>| {
        let mut object = current.cloned().ok_or_else(Error::no_such_path)?;
        object.set_at(&["rules"], Value::List(rules.clone()));
        Ok(object)
    };
    context.change_seen(target, role.revision, change).await
}

/// The rules that a role should have; `None` when it does not aggregate.
fn gathered(roles: &BTreeMap<String, Known>, name: &str) -> Option<Vec<Value>> {
    let selectors = roles.get(name)?.selectors.as_ref()?;
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        let others = roles.iter().filter(|(other, role)| *other != name && selects(selector, &role.labels));
        for rule in others.flat_map(|(_, role)| &role.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

fn selects(selector: &LabelSelector, labels: &Map) -> bool {
    selector.matches(labels.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default())))
}

impl Known {
    fn gathers(&self, labels: &Map) -> bool {
        self.selectors.iter().flatten().any(|selector| selects(selector, labels))
    }
}

fn read(resource: &Resource, entry: &Entry) -> Result<Known, Error> {
    Ok(Known { revision: entry.modified, ..known(&form::decode(resource, entry)?) })
}

fn known(role: &Value) -> Known {
    let list = |path: &[&str]| role.at(path).and_then(Value::as_list).unwrap_or_default();
    let aggregation = role.get("aggregationRule").filter(|rule| !rule.is_null());
    let selectors = list(&["aggregationRule", "clusterRoleSelectors"]);
    Known {
        labels: role.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_default(),
        rules: list(&["rules"]).to_vec(),
        // A selector that cannot be read (none can be written) matches nothing.
        selectors: aggregation.map(|_| selectors.iter().filter_map(|one| selector::of(one).ok()).collect()),
        revision: Revision::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn role(labels: serde_json::Value, rules: &[&str], gathers: &[&str]) -> Known {
        let rules: Vec<_> = rules.iter().map(|verb| json!({"verbs": [verb]})).collect();
        let selectors: Vec<_> = gathers.iter().map(|label| json!({"matchLabels": {*label: "1"}})).collect();
        let mut role = json!({"metadata": {"labels": labels}, "rules": rules});
        if !gathers.is_empty() {
            role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        }
        known(&role.into())
    }

    fn verbs(roles: &BTreeMap<String, Known>, name: &str) -> Option<Vec<String>> {
        let text = |rule: &Value| rule.get("verbs").unwrap().as_list().unwrap()[0].as_str().unwrap().to_owned();
        gathered(roles, name).map(|rules| rules.iter().map(text).collect())
    }

    #[test]
    fn rules_are_gathered_in_order_and_once() {
        let roles = BTreeMap::from([
            ("a".into(), role(json!({"x": "1"}), &["get", "list"], &[])),
            ("b".into(), role(json!({"y": "1"}), &["list", "watch"], &[])),
            ("c".into(), role(json!({}), &["delete"], &[])),
            ("total".into(), role(json!({"x": "1"}), &["own"], &["y", "x"])),
        ]);
        assert_eq!(verbs(&roles, "total"), Some(["list", "watch", "get"].map(str::to_owned).to_vec()));
        assert_eq!(verbs(&roles, "a"), None);
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
        take(&mut roles, "a", Some(role(json!({"y": "1"}), &["get"], &[])), &mut touched);
        assert_eq!(touched.iter().collect::<Vec<_>>(), ["a", "of-x", "of-y"]);
        touched.clear();
        take(&mut roles, "a", None, &mut touched);
        assert_eq!(touched.iter().collect::<Vec<_>>(), ["of-y"]);
        assert_eq!(verbs(&roles, "of-y"), Some(Vec::new()));
    }
}
