//! The checker of admission policies against the committed history: no change commits that a policy
//! refuses which is in force at that revision.
//!
//! A policy is in force from the transaction on after which it and a binding of it that denies are
//! both there. What a node told of objects is judged as without policies (`checkers::api`).

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_store::{Batch, Retention};
use serde_json::Value;

use super::api::object_history::{Change, ObjectHistory};
use super::api::times::Times;
use super::api::{objects, reads, watches, writes};
use super::retention::KeptHistory;
use crate::api::{ResourceKind, Verb};
use crate::workload::api::ApiRecords;
use crate::workload::policies::color_of;

/// Everything that is wrong with what the API told clients, and with what it admitted.
pub(crate) fn check(
    history: &[Arc<Batch>],
    records: &ApiRecords,
    retention: Retention,
) -> Vec<String> {
    let past = match ObjectHistory::read(history) {
        Ok(past) => past,
        Err(unreadable) => return vec![unreadable],
    };
    let times = Times::new(&past, records);
    let kept = KeptHistory::new(history, retention, times.begun().to_vec());
    let mut violations: Vec<String> =
        past.changes.iter().filter_map(|change| check_admitted(&past, change)).collect();
    violations.extend(objects::check(&past, &times, records));
    violations.extend(writes::check_done(&past, &times, records));
    violations.extend(reads::check(&past, &times, &kept, records));
    violations.extend(watches::check(&past, &times, &kept, records));
    violations
}

/// What is wrong with a change that gives an object a color.
fn check_admitted(past: &ObjectHistory, change: &Change) -> Option<String> {
    let kinds = [ResourceKind::ConfigMaps, ResourceKind::Secrets, ResourceKind::Services];
    let is_guarded = kinds.iter().any(|kind| change.key.starts_with(&kind.key("", "")));
    let color = change.now.as_deref().and_then(color).filter(|_| is_guarded)?;
    if change.before.as_deref().and_then(self::color) == Some(color) {
        return None;
    }
    let before = change.revision - 1;
    let prefix = ResourceKind::PolicyBindings.key("", "");
    let mut bindings = past.list(&prefix, before).filter(|(_, binding)| denies(binding));
    let (_, binding) = bindings.find(|(_, binding)| {
        let policy = binding["spec"]["policyName"].as_str().unwrap_or_default();
        color_of(policy) == Some(color)
            && past.get(&ResourceKind::Policies.key("", policy), before).is_some()
    })?;
    let (key, at) = (&change.key, change.revision);
    let policy = &binding["spec"]["policyName"];
    Some(format!("policies: {key} at {at} becomes {color}, which {policy} refuses at {before}"))
}

/// The color of an object.
fn color(object: &Value) -> Option<&str> {
    object["metadata"]["labels"]["color"].as_str()
}

fn denies(binding: &Value) -> bool {
    let actions = binding["spec"]["validationActions"].as_array();
    actions.into_iter().flatten().any(|action| action == "Deny")
}

/// How often clients did what to policies, and how often policies refused.
pub(crate) fn counts(records: &ApiRecords) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut count = |name: &str| *counts.entry(name.to_owned()).or_default() += 1;
    for exchange in &records.exchanges {
        let ask = &exchange.what.ask;
        let Some(reply) = &exchange.what.reply else { continue };
        let is_rule = matches!(ask.kind, ResourceKind::Policies | ResourceKind::PolicyBindings);
        let message = reply.body["message"].as_str().unwrap_or_default();
        match ask.verb {
            _ if message.contains("ValidatingAdmissionPolicy") => count("refused by policies"),
            _ if !is_rule || !reply.is_success() => {}
            Verb::Create => count("policies and bindings created"),
            Verb::MergePatch => count("bindings changed"),
            Verb::Delete => count("policies and bindings deleted"),
            _ => {}
        }
    }
    counts
}
