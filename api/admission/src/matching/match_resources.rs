//! Match resources: which writes a policy, binding or webhook is asked about.
//!
//! Invariants: the namespace's and the object's labels decide before the rules; a selector that
//! cannot be read is an error only of a write that the rules match. What is matched may be another
//! version of the resource than the one that is written, where the policy takes equivalents.

use std::sync::Arc;

use quorate_meta::{LabelSelector, Value};
use quorate_registry::Resource;

use super::subject::Subject;

/// Every group, version, resource or subresource.
const ALL: &str = "*";

/// The `matchConstraints` of a policy, `matchResources` of a binding, or rules and selectors of a
/// webhook.
#[derive(Debug, Default)]
pub(crate) struct MatchResources {
    rules: Vec<NamedRule>,
    excluded: Vec<NamedRule>,
    /// `None` for one that cannot be read.
    namespaces: Option<LabelSelector>,
    objects: Option<LabelSelector>,
    /// Whether rules may match an equivalent resource.
    equivalent: bool,
}

/// A rule for operations on resources, narrowed by names.
#[derive(Debug)]
struct NamedRule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resource and subresource.
    resources: Vec<(String, String)>,
    scope: RuleScope,
    /// Empty for all names.
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleScope {
    All,
    Namespaced,
    Cluster,
}

/// As what a write matches.
#[derive(Debug, Clone)]
pub(crate) enum MatchedAs {
    /// As the resource that is written.
    Itself,
    /// As another version of it.
    Equivalent(Arc<Resource>),
}

impl MatchedAs {
    /// The resource, of a write of `written`.
    pub(crate) fn resource<'r>(&'r self, written: &'r Resource) -> &'r Resource {
        match self {
            Self::Itself => written,
            Self::Equivalent(other) => other,
        }
    }
}

/// Why it cannot be said whether something matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) &'static str);

impl MatchResources {
    /// Reads the fields of a `MatchResources`; an absent one matches everything.
    pub(crate) fn read(fields: Option<&Value>) -> Self {
        Self::read_with(fields, "resourceRules")
    }

    /// Reads the same fields of a webhook, which has some `rules`.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Self::read_with(Some(webhook), "rules")
    }

    fn read_with(fields: Option<&Value>, rules_field: &str) -> Self {
        let rules = |field| {
            let list = fields.and_then(|fields| fields.get(field)?.as_list()).unwrap_or_default();
            list.iter().map(NamedRule::read).collect()
        };
        let selector = |field| match fields.and_then(|fields| fields.get(field)) {
            None | Some(Value::Null) => Some(LabelSelector::default()),
            Some(selector) => LabelSelector::from_object(selector),
        };
        let policy = fields.and_then(|fields| fields.str_at(&["matchPolicy"]));
        Self {
            rules: rules(rules_field),
            excluded: rules("excludeResourceRules"),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            equivalent: policy != Some("Exact"),
        }
    }

    /// The plural names of the resources that the rules may match; `None` for any.
    pub(crate) fn plurals(&self) -> Option<Vec<&str>> {
        let resources = self.rules.iter().flat_map(|rule| &rule.resources);
        let names: Option<Vec<&str>> =
            resources.map(|(name, _)| (name != ALL).then_some(name.as_str())).collect();
        names.filter(|names| !names.is_empty())
    }

    /// As what a write matches; `None` when it does not.
    ///
    /// # Errors
    /// When a selector cannot be read that has to decide.
    pub(crate) fn matched(&self, subject: &Subject<'_>) -> Result<Option<MatchedAs>, Unreadable> {
        // Rules are cheaper to look at than labels of a namespace.
        let Some(matched) = self.matched_by_rules(subject) else {
            return Ok(None);
        };
        let selects = |selector: &Option<LabelSelector>,
                       matches: &dyn Fn(&LabelSelector) -> bool| {
            selector.as_ref().map(|selector| selector.is_everything() || matches(selector))
        };
        let in_namespace =
            selects(&self.namespaces, &|selector| subject.is_in_namespace_of(selector));
        let of_object = selects(&self.objects, &|selector| subject.has_object_of(selector));
        match (in_namespace, of_object) {
            (Some(false), _) | (_, Some(false)) => Ok(None),
            (None, _) => Err(Unreadable("the namespaceSelector cannot be read")),
            (_, None) => Err(Unreadable("the objectSelector cannot be read")),
            (Some(true), Some(true)) => Ok(Some(matched)),
        }
    }

    fn matched_by_rules(&self, subject: &Subject<'_>) -> Option<MatchedAs> {
        if self.first_match(&self.excluded, subject).is_some() {
            return None;
        }
        if self.rules.is_empty() {
            return Some(MatchedAs::Itself);
        }
        self.first_match(&self.rules, subject)
    }

    /// As what one of the rules matches: what is written, else an equivalent of it.
    fn first_match(&self, rules: &[NamedRule], subject: &Subject<'_>) -> Option<MatchedAs> {
        let written = subject.attributes.target.resource;
        if rules.iter().any(|rule| rule.matches(subject, written)) {
            return Some(MatchedAs::Itself);
        }
        if !self.equivalent {
            return None;
        }
        rules.iter().filter(|rule| rule.may_match(subject)).find_map(|rule| {
            let mut equivalents = subject.equivalents().iter();
            let found = equivalents.find(|resource| rule.matches(subject, resource))?;
            Some(MatchedAs::Equivalent(found.clone()))
        })
    }
}

impl NamedRule {
    fn read(rule: &Value) -> Self {
        let texts = |field: &str| -> Vec<String> {
            let list = rule.get(field).and_then(Value::as_list).unwrap_or_default();
            list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let resources = texts("resources").into_iter().map(|text| match text.split_once('/') {
            Some((resource, subresource)) => (resource.to_owned(), subresource.to_owned()),
            None => (text, String::new()),
        });
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: resources.collect(),
            scope: match rule.str_at(&["scope"]) {
                Some("Namespaced") => RuleScope::Namespaced,
                Some("Cluster") => RuleScope::Cluster,
                _ => RuleScope::All,
            },
            names: texts("resourceNames"),
        }
    }

    fn matches(&self, subject: &Subject<'_>, resource: &Resource) -> bool {
        has(&self.groups, &resource.group)
            && has(&self.versions, &resource.version)
            && self.may_match(subject)
    }

    /// Whether the rule matches but for group and version.
    fn may_match(&self, subject: &Subject<'_>) -> bool {
        let attributes = subject.attributes;
        let plural = attributes.target.resource.plural.as_str();
        let is_of = |(resource, subresource): &(String, String)| {
            is(resource, plural) && is(subresource, attributes.subresource)
        };
        let namespaced = attributes.target.namespace.is_some();
        let in_scope = match self.scope {
            RuleScope::All => true,
            RuleScope::Namespaced => namespaced,
            RuleScope::Cluster => !namespaced,
        };
        in_scope
            && self.resources.iter().any(is_of)
            && has(&self.operations, subject.operation())
            && (self.names.is_empty() || self.names.iter().any(|name| name == subject.name()))
    }
}

fn is(pattern: &str, text: &str) -> bool {
    pattern == ALL || pattern == text
}

fn has(patterns: &[String], text: &str) -> bool {
    patterns.iter().any(|pattern| is(pattern, text))
}
