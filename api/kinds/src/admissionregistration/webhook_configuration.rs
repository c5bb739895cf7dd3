//! MutatingWebhookConfiguration and ValidatingWebhookConfiguration: lists of webhooks with unique
//! names.
//!
//! A single webhook is checked in `webhook`.

use std::collections::HashSet;
use std::sync::OnceLock;

use quorate_meta::{Cause, Names, Path, Value};
use quorate_policy::{Environments, MatchConditions};

use super::rule::Rule;
use super::{lockout, suspended, webhook};
use crate::field::Field;

/// The strategy of both kinds of webhook configurations.
#[derive(Debug)]
pub(super) struct WebhookConfiguration {
    /// Whether its webhooks may change objects.
    mutating: bool,
    /// What expressions may use; made when the first one is written.
    environments: OnceLock<Environments>,
}

impl WebhookConfiguration {
    pub(super) const fn new(mutating: bool) -> Self {
        Self { mutating, environments: OnceLock::new() }
    }
}

fn webhooks(configuration: &Value) -> &[Value] {
    configuration.get("webhooks").and_then(Value::as_list).unwrap_or_default()
}

fn conditions(webhook: &Value) -> &[Value] {
    webhook.get("matchConditions").and_then(Value::as_list).unwrap_or_default()
}

impl Rule for WebhookConfiguration {
    fn check(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let mut names = HashSet::new();
        for hook in Field::root(object).get("webhooks").items() {
            webhook::check(&hook, self.mutating, &mut causes);
            let own = hook.get("name");
            if !own.is_empty() && !names.insert(own.text()) {
                causes.push(own.duplicate());
            }
        }
        causes
    }

    /// The match conditions that do not compile. What the configuration before has of expressions may
    /// use every library version.
    fn check_expressions(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<Cause> {
        if old.is_some_and(|old| old.get("webhooks") == new.get("webhooks")) {
            return Vec::new();
        }
        let stored: HashSet<&str> = old
            .into_iter()
            .flat_map(|old| webhooks(old).iter().flat_map(conditions))
            .filter_map(|condition| condition.str_at(&["expression"]))
            .map(str::trim)
            .collect();
        let mut causes = Vec::new();
        for (index, hook) in webhooks(new).iter().enumerate() {
            let list = conditions(hook);
            if list.is_empty() {
                continue;
            }
            let environments =
                self.environments.get_or_init(|| Environments::new(names.naming.names()));
            let path = Path::new("webhooks").index(index).child("matchConditions");
            let (_, problems) = MatchConditions::compile(environments, list, &path, false, &stored);
            causes.extend(
                problems
                    .into_iter()
                    .map(|problem| Cause::invalid(problem.path, problem.source, &problem.text)),
            );
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let suspended = suspended::warning(names, old, new);
        suspended.into_iter().chain(lockout::of_webhooks(names, new)).collect()
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_compile() {
        let check = |expression: &str, expect: bool| {
            let condition = json!({"name": "c", "expression": expression});
            let object = json!({"webhooks": [{}, {"matchConditions": [condition]}]}).into();
            let strategy = WebhookConfiguration::new(true);
            let causes = strategy.check_expressions(Naming::Svc.names(), None, &object);
            assert_eq!(causes.is_empty(), expect, "{expression}");
            for cause in causes {
                assert_eq!(cause.field, "webhooks[1].matchConditions[0].expression");
            }
        };
        check("true", true);
        check("authorizer.path('/x').check('get').allowed()", true);
        for bad in ["1", "true &&", "params == null", "variables.x", "request.nothing == 'x'"] {
            check(bad, false);
        }
    }
}
