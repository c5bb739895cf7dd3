//! What rules grant that other rules do not: nobody gives away more than they hold.
//!
//! A rule is taken apart into its single grants (one verb on one resource of one group, with one name if any; or one verb on
//! one path), and each of them must be contained in one rule that is held.

use std::collections::BTreeMap;

use quorate_meta::Value;

use super::Rule;
use super::rule::Texts;

const ALL: &str = "*";

/// One verb on one thing, as small as a grant can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant<'r> {
    Resource { verb: &'r str, group: &'r str, resource: &'r str, name: Option<&'r str> },
    Path { verb: &'r str, url: &'r str },
}

/// What of the wanted rules is not held, as rules for people to read: one for each resource or path.
pub(crate) fn missing<'r>(held: &[&Rule], wanted: impl Iterator<Item = &'r Rule>) -> Vec<Rule> {
    // Verbs in the order asked for, by what stays the same.
    let mut missing: BTreeMap<(&str, &str, &str, Option<&str>), Vec<&str>> = BTreeMap::new();
    for grant in wanted.flat_map(grants) {
        if held.iter().any(|rule| contains(rule, grant)) {
            continue;
        }
        let (verb, key) = match grant {
            Grant::Resource { verb, group, resource, name } => (verb, (group, resource, "", name)),
            Grant::Path { verb, url } => (verb, ("", "", url, None)),
        };
        let verbs = missing.entry(key).or_default();
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    missing.into_iter().map(|((group, resource, url, name), verbs)| rule(group, resource, url, name, &verbs)).collect()
}

/// What of a wanted role's rules another role does not have.
pub(crate) fn missing_rules(held: &Value, wanted: &Value) -> Vec<Value> {
    let (held, wanted) = (Rule::of_role(held), Rule::of_role(wanted));
    missing(&held.iter().collect::<Vec<_>>(), wanted.iter()).iter().map(Rule::to_value).collect()
}

fn rule(group: &str, resource: &str, url: &str, name: Option<&str>, verbs: &[&str]) -> Rule {
    let verbs: Texts = verbs.iter().copied().collect();
    if !url.is_empty() {
        return Rule { urls: [url].into_iter().collect(), verbs, ..Rule::default() };
    }
    Rule {
        groups: [group].into_iter().collect(),
        resources: [resource].into_iter().collect(),
        names: name.into_iter().collect(),
        verbs,
        ..Rule::default()
    }
}

/// The single grants of a rule.
fn grants(rule: &Rule) -> impl Iterator<Item = Grant<'_>> {
    let names: Vec<Option<&str>> =
        if rule.names.is_empty() { vec![None] } else { rule.names.iter().map(Some).collect() };
    let mut grants = Vec::new();
    for verb in rule.verbs.iter() {
        for group in rule.groups.iter() {
            for resource in rule.resources.iter() {
                grants.extend(names.iter().map(|name| Grant::Resource { verb, group, resource, name: *name }));
            }
        }
        grants.extend(rule.urls.iter().map(|url| Grant::Path { verb, url }));
    }
    grants.into_iter()
}

/// Whether a held rule grants all of that. What is wanted may itself stand for many things: `*` is only in `*`, and
/// `*/scale` only in `*/scale` and `*`.
fn contains(held: &Rule, grant: Grant<'_>) -> bool {
    match grant {
        Grant::Resource { verb, group, resource, name } => {
            let names = held.names.is_empty() || name.is_some_and(|name| held.names.has(name));
            held.verbs.has_or_all(verb) && held.groups.has_or_all(group) && has_resource(held, resource) && names
        }
        Grant::Path { verb, url } => {
            let is_held = |own: &str| own == url || covers_path(own, url);
            !held.is_about_resources() && held.verbs.has_or_all(verb) && held.urls.iter().any(is_held)
        }
    }
}

fn has_resource(held: &Rule, wanted: &str) -> bool {
    let any_owner = wanted.split_once('/').map(|(_, sub)| sub);
    held.resources
        .iter()
        .any(|own| own == ALL || own == wanted || any_owner.is_some_and(|sub| own.strip_prefix("*/") == Some(sub)))
}

/// Whether every path that `wanted` stands for is one that `own` stands for.
fn covers_path(own: &str, wanted: &str) -> bool {
    match own.strip_suffix(ALL) {
        Some("") => true,
        Some(prefix) if prefix.ends_with('/') => wanted.starts_with(prefix),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn on(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Value {
        json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names})
    }

    #[track_caller]
    fn check(held: &[Value], wanted: &[Value], expect: &[&str]) {
        let read = |rules: &[Value]| rules.iter().map(|rule| Rule::read(&rule.clone().into())).collect::<Vec<_>>();
        let (held, wanted) = (read(held), read(wanted));
        let missing = missing(&held.iter().collect::<Vec<_>>(), wanted.iter());
        assert_eq!(missing.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn what_is_held_may_be_given() {
        let all = on(&["*"], &["*"], &["*"], &[]);
        check(std::slice::from_ref(&all), &[on(&["get"], &["x"], &["a/b"], &["n"]), all.clone()], &[]);
        check(&[], &[], &[]);
        let own = [on(&["get"], &[""], &["pods"], &[]), on(&["list"], &[""], &["pods", "*/scale"], &[])];
        check(&own, &[on(&["get", "list"], &[""], &["pods"], &[])], &[]);
        check(&own, &[on(&["get"], &[""], &["pods"], &["a"])], &[]);
        check(&own, &[on(&["list"], &[""], &["x/scale"], &[])], &[]);
    }

    #[test]
    fn what_is_not_held_is_told() {
        let own = [on(&["get"], &[""], &["pods"], &["a"]), on(&["*"], &["x"], &["y"], &[])];
        let check = |wanted: Value, expect: &[&str]| check(&own, &[wanted], expect);
        check(on(&["get"], &[""], &["pods"], &["a"]), &[]);
        let whole = r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#;
        check(on(&["get"], &[""], &["pods"], &[]), &[whole]);
        let two = r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list" "watch"]}"#;
        check(on(&["list", "get", "watch"], &[""], &["pods"], &["a"]), &[two]);
        check(on(&["*"], &["x"], &["*"], &[]), &[r#"{APIGroups:["x"], Resources:["*"], Verbs:["*"]}"#]);
        check(on(&["*"], &["x"], &["*/y"], &[]), &[r#"{APIGroups:["x"], Resources:["*/y"], Verbs:["*"]}"#]);
    }

    #[test]
    fn paths() {
        let urls = |urls: &[&str]| json!({"verbs": ["get"], "nonResourceURLs": urls});
        let own = [urls(&["/a/*", "/b"])];
        let check = |wanted: &str, expect: &[&str]| check(&own, &[urls(&[wanted])], expect);
        check("/a/b", &[]);
        check("/a/b/*", &[]);
        check("/a/*", &[]);
        check("/b", &[]);
        check("/a", &[r#"{NonResourceURLs:["/a"], Verbs:["get"]}"#]);
        check("/b/*", &[r#"{NonResourceURLs:["/b/*"], Verbs:["get"]}"#]);
        check("*", &[r#"{NonResourceURLs:["*"], Verbs:["get"]}"#]);
    }
}
