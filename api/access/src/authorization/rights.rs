//! The rules that apply to a user, as far as they can be listed (SelfSubjectRulesReview).

use quorate_meta::Value;

use super::rbac::Rule;

/// What a user may do in a namespace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rights {
    /// Rules about resources, as reviews show them.
    pub resources: Vec<Value>,
    /// Rules about other paths.
    pub paths: Vec<Value>,
    /// Why there may be more; empty when there is not.
    pub incomplete: Vec<String>,
    /// What is wrong with bindings of the user.
    pub errors: Vec<String>,
}

impl Rights {
    pub(super) fn add<'r>(&mut self, rules: impl IntoIterator<Item = &'r Rule>) {
        for rule in rules {
            let list =
                if rule.is_about_resources() { &mut self.resources } else { &mut self.paths };
            list.extend(rule.to_review_rule());
        }
    }
}
