//! Lock-out: warnings of webhooks and policies that can refuse what the cluster itself needs, or the
//! repair of a webhook.
//!
//! A webhook with the failure policy `Fail` refuses while it does not answer. Where it covers the
//! pods of its own service, they cannot come back; where it covers leases and nodes, controllers
//! lose their leadership and nodes their heartbeats.
//!
//! Invariants: a rule is judged by its lists, a selector by an object or a namespace that has no
//! labels but those that the server sets; match conditions are taken to exclude what has to be
//! excluded.
//!
//! Not here: configurations of webhooks, policies and bindings, of which admission is never asked.

use quorate_meta::{LabelSelector, Names, Value};

use crate::field::Field;

/// What the cluster needs in its own namespaces, by neutral group: neutral group and plural name.
const NEEDED: [(&str, &str); 1] = [("coordination", "leases")];
/// The same of resources without a namespace.
const NEEDED_EVERYWHERE: [(&str, &str); 2] = [("", "nodes"), ("", "nodes/status")];
/// What must be written for the pods of a service to come back.
const REPAIR: [(&str, &str); 5] = [
    ("", "pods"),
    ("", "pods/status"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("discovery", "endpointslices"),
];

/// The warnings of a webhook configuration.
pub(super) fn of_webhooks(names: &Names, configuration: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for hook in Field::root(configuration).get("webhooks").items() {
        let scope = Scope::of_webhook(names, &hook);
        let Some(scope) = scope.filter(|_| hook.get("failurePolicy").text() != "Ignore") else {
            continue;
        };
        let what = format!(
            "{}: while webhook {:?} does not answer,",
            hook.path(),
            hook.get("name").text()
        );
        warnings.extend(scope.essentials().into_iter().map(|(needed, exclude)| {
            format!("{what} {needed} cannot be written, which the cluster needs: exclude {exclude}")
        }));
        let service = hook.get("clientConfig.service.namespace");
        let refused = scope.repair(service.text());
        if !service.is_empty() && !refused.is_empty() {
            warnings.push(format!(
                "{what} {} in the namespace {:?} of its own service cannot be written, so that it cannot come back: exclude {}",
                refused.join(", "),
                service.text(),
                scope.exclusion(service.text())
            ));
        }
    }
    warnings
}

/// The warnings of an admission policy.
pub(super) fn of_policy(names: &Names, policy: &Value) -> Vec<String> {
    let spec = Field::root(policy).get("spec");
    let Some(scope) = Scope::of_policy(names, &spec) else {
        return Vec::new();
    };
    let path = spec.get("matchConstraints");
    let warn = |(needed, exclude): (String, String)| {
        format!(
            "{}: covers {needed}, which the cluster needs: exclude {exclude} here or in every binding",
            path.path()
        )
    };
    scope.essentials().into_iter().map(warn).collect()
}

/// The objects that a webhook or policy covers.
struct Scope<'v> {
    names: &'v Names,
    rules: Field<'v>,
    excluded: Field<'v>,
    namespaces: LabelSelector,
}

impl<'v> Scope<'v> {
    fn of_webhook(names: &'v Names, hook: &Field<'v>) -> Option<Self> {
        Self::new(names, hook, hook.get("rules"), hook.get("matchConditions"))
    }

    fn of_policy(names: &'v Names, spec: &Field<'v>) -> Option<Self> {
        let constraints = spec.get("matchConstraints");
        let rules = constraints.get("resourceRules");
        Self::new(names, &constraints, rules, spec.get("matchConditions"))
    }

    /// `None` when conditions or labels decide about each object.
    fn new(
        names: &'v Names,
        selectors: &Field<'v>,
        rules: Field<'v>,
        conditions: Field<'v>,
    ) -> Option<Self> {
        let selector = |field: &str| {
            let given = selectors.get(field);
            if given.is_set() {
                LabelSelector::from_object(given.value())
            } else {
                Some(LabelSelector::new(Vec::new()))
            }
        };
        let takes_all =
            conditions.is_empty() && selector("objectSelector")?.matches(std::iter::empty());
        let excluded = selectors.get("excludeResourceRules");
        takes_all.then_some(Self {
            names,
            rules,
            excluded,
            namespaces: selector("namespaceSelector")?,
        })
    }

    /// What the cluster needs of it, and what has to be excluded.
    fn essentials(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for namespace in [self.names.namespace_system, self.names.namespace_node_lease] {
            let covers = |needed| self.has_namespace(namespace) && self.covers(needed, true);
            found.extend(NEEDED.iter().filter(|needed| covers(needed)).map(|(_, plural)| {
                (format!("{plural} in the namespace {namespace:?}"), self.exclusion(namespace))
            }));
        }
        let everywhere = NEEDED_EVERYWHERE.iter().filter(|needed| self.covers(needed, false));
        found.extend(
            everywhere.map(|(_, plural)| ((*plural).to_owned(), "the resource".to_owned())),
        );
        found
    }

    /// What of the repair of a service in a namespace it covers.
    fn repair(&self, namespace: &str) -> Vec<&'static str> {
        if !self.has_namespace(namespace) {
            return Vec::new();
        }
        let covered = REPAIR.iter().filter(|needed| self.covers(needed, true));
        covered.map(|(_, plural)| *plural).collect()
    }

    /// The words for a namespace that has to be excluded.
    fn exclusion(&self, namespace: &str) -> String {
        format!(
            "it with the namespaceSelector {} NotIn [{namespace}]",
            self.names.label_metadata_name
        )
    }

    fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.matches([(self.names.label_metadata_name, namespace)].into_iter())
    }

    fn covers(&self, needed: &(&str, &str), namespaced: bool) -> bool {
        let (group, plural) = (self.names.group(needed.0), needed.1);
        let matches = |rule: &Field<'_>| matches(rule, &group, plural, namespaced);
        let excluded = self
            .excluded
            .items()
            .any(|rule| rule.get("resourceNames").is_empty() && matches(&rule));
        let named = self.rules.items().filter(|rule| rule.get("resourceNames").is_empty());
        !excluded && named.into_iter().any(|rule| matches(&rule))
    }
}

/// Whether a rule matches creations or updates of a resource, `PLURAL` or `PLURAL/SUBRESOURCE`.
fn matches(rule: &Field<'_>, group: &str, plural: &str, namespaced: bool) -> bool {
    let has = |field: &str, texts: &[&str]| {
        let given = rule.get(field);
        given.items().any(|item| item.text() == "*" || texts.contains(&item.text()))
    };
    let in_scope = match rule.get("scope").text() {
        "Namespaced" => namespaced,
        "Cluster" => !namespaced,
        _ => true,
    };
    let (resource, below) = plural.split_once('/').unwrap_or((plural, ""));
    let resources = rule.get("resources");
    let is_named = resources.items().any(|item| {
        let (own, own_below) = item.text().split_once('/').unwrap_or((item.text(), ""));
        (own == "*" || own == resource)
            && (own_below == below
                || (own_below == "*" && !below.is_empty())
                || item.text() == "*/*")
    });
    in_scope && is_named && has("apiGroups", &[group]) && has("operations", &["CREATE", "UPDATE"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn rule(group: &str, resource: &str) -> Json {
        json!({"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]})
    }

    #[track_caller]
    fn check(fields: Json, expect: &[&str]) {
        let mut hook = json!({
            "name": "a.example.com", "rules": [rule("*", "*")],
            "clientConfig": {"service": {"namespace": "hooks", "name": "h"}},
        });
        for (field, value) in fields.as_object().unwrap() {
            hook[field] = value.clone();
        }
        let warnings = of_webhooks(Naming::Svc.names(), &json!({"webhooks": [hook]}).into());
        let found = warnings.iter().map(|warning| {
            let (_, rest) = warning.split_once("does not answer, ").unwrap();
            rest.split_once(" cannot be written").unwrap().0
        });
        assert_eq!(found.collect::<Vec<_>>(), expect);
    }

    const SYSTEM: &str = "leases in the namespace \"svc-system\"";
    const NODES: &str = "leases in the namespace \"svc-node-lease\"";
    const OWN: &str = "pods, deployments, replicasets, endpointslices in the namespace \"hooks\" of its own service";

    #[test]
    fn what_a_webhook_covers() {
        check(json!({}), &[SYSTEM, NODES, "nodes", OWN]);
        check(json!({"failurePolicy": "Ignore"}), &[]);
        check(json!({"rules": [rule("", "configmaps")]}), &[]);
        check(
            json!({"rules": [rule("", "pods")]}),
            &["pods in the namespace \"hooks\" of its own service"],
        );
        check(json!({"rules": [rule("", "nodes/status")]}), &["nodes/status"]);
        check(
            json!({"rules": [rule("*", "*/*")], "clientConfig": {"url": "https://a"}}),
            &[SYSTEM, NODES, "nodes", "nodes/status"],
        );
        check(json!({"rules": [rule("coordination.svc.io", "leases")]}), &[SYSTEM, NODES]);
        check(json!({"rules": [rule("coordination.k8s.io", "leases")]}), &[]);
        check(json!({"matchConditions": [{"name": "a", "expression": "true"}]}), &[]);
        let mut watched = rule("*", "*");
        watched["operations"] = json!(["DELETE"]);
        check(json!({"rules": [watched]}), &[]);
        for (scope, expect) in [("Cluster", &["nodes"][..]), ("Namespaced", &[SYSTEM, NODES, OWN])]
        {
            let mut scoped = rule("*", "*");
            scoped["scope"] = json!(scope);
            check(json!({"rules": [scoped]}), expect);
        }
    }

    #[test]
    fn what_selectors_exclude() {
        let not_in = |names: &[&str]| json!({"matchExpressions": [{"key": "svc.io/metadata.name", "operator": "NotIn", "values": names}]});
        check(json!({"namespaceSelector": not_in(&["hooks"])}), &[SYSTEM, NODES, "nodes"]);
        check(
            json!({"namespaceSelector": not_in(&["svc-system", "svc-node-lease"])}),
            &["nodes", OWN],
        );
        check(json!({"namespaceSelector": {"matchLabels": {"guarded": "yes"}}}), &["nodes"]);
        check(json!({"objectSelector": {"matchLabels": {"guarded": "yes"}}}), &[]);
    }

    #[test]
    fn what_a_policy_covers() {
        let check = |spec: Json, expect: usize| {
            let warnings = of_policy(Naming::Svc.names(), &json!({"spec": spec}).into());
            assert_eq!(warnings.len(), expect, "{warnings:?}");
        };
        check(json!({"matchConstraints": {"resourceRules": [rule("*", "*")]}}), 3);
        check(json!({"matchConstraints": {"resourceRules": [rule("apps", "*")]}}), 0);
        let excluded = [rule("coordination.svc.io", "leases"), rule("", "nodes")];
        check(
            json!({"matchConstraints": {"resourceRules": [rule("*", "*")], "excludeResourceRules": excluded}}),
            0,
        );
        let mut named = rule("*", "*");
        named["resourceNames"] = json!(["one"]);
        check(json!({"matchConstraints": {"resourceRules": [named]}}), 0);
    }
}
