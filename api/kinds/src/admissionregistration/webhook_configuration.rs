//! MutatingWebhookConfiguration and ValidatingWebhookConfiguration: lists of webhooks with unique
//! names.
//!
//! A single webhook is checked in `webhook`.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Value};

use super::{lockout, suspended, webhook};
use crate::field::Field;
use quorate_registry::Strategy;

/// The strategy of both kinds of webhook configurations.
#[derive(Debug)]
pub(super) struct WebhookConfiguration {
    /// Whether its webhooks may change objects.
    pub(super) mutating: bool,
}

impl Strategy for WebhookConfiguration {
    fn checks_structure(&self) -> bool {
        false
    }

    fn is_admission_rule(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
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

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let suspended = suspended::warning(names, old, new);
        suspended.into_iter().chain(lockout::of_webhooks(names, new)).collect()
    }
}
