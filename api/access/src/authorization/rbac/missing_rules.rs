//! The difference between the rules that a user holds and rules that they want to grant, for
//! privilege escalation prevention.
//!
//! A wanted rule is broken down into single permissions (one verb on one resource of one group,
//! with one name if any; or one verb on one path), and each of them must be covered by one rule
//! that is held. A small rule may have very many of them, so the work is bounded.

use std::collections::BTreeMap;

use quorate_meta::Value;

use super::Rule;
use super::rule::Texts;

const ALL: &str = "*";

/// Comparisons that a missing permission counts as, since the refusal shows it.
const MISSING_COST: u64 = 10_000;

/// One verb on one resource or path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SinglePermission<'r> {
    Resource { verb: &'r str, group: &'r str, resource: &'r str, name: Option<&'r str> },
    Path { verb: &'r str, url: &'r str },
}

/// The wanted rules that are not held: one for each resource or path. `None` when that takes more
/// than `work` comparisons of texts, each missing permission counting as `MISSING_COST` of them.
pub fn missing<'r>(
    held: &[&Rule],
    wanted: impl Iterator<Item = &'r Rule>,
    mut work: u64,
) -> Option<Vec<Rule>> {
    // Verbs in the order of the wanted rules, by group, resource, path and name.
    let mut missing: BTreeMap<(&str, &str, &str, Option<&str>), Vec<&str>> = BTreeMap::new();
    for grant in wanted.flat_map(grants) {
        work = work.checked_sub(1)?;
        let mut is_held = false;
        for rule in held {
            work = work.checked_sub(texts(rule))?;
            is_held = contains(rule, grant);
            if is_held {
                break;
            }
        }
        if is_held {
            continue;
        }
        work = work.checked_sub(MISSING_COST)?;
        let (verb, key) = match grant {
            SinglePermission::Resource { verb, group, resource, name } => {
                (verb, (group, resource, "", name))
            }
            SinglePermission::Path { verb, url } => (verb, ("", "", url, None)),
        };
        let verbs = missing.entry(key).or_default();
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    let rules = missing
        .into_iter()
        .map(|((group, resource, url, name), verbs)| rule(group, resource, url, name, &verbs));
    Some(rules.collect())
}

/// The rules of a wanted role that another role does not have.
pub fn missing_rules(held: &Value, wanted: &Value) -> Vec<Value> {
    let (held, wanted) = (Rule::of_role(held), Rule::of_role(wanted));
    let missing = missing(&held.iter().collect::<Vec<_>>(), wanted.iter(), u64::MAX);
    missing.iter().flatten().map(Rule::to_value).collect()
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

/// The single permissions of a rule, made one by one.
fn grants(rule: &Rule) -> impl Iterator<Item = SinglePermission<'_>> {
    let names = move || {
        rule.names.is_empty().then_some(None).into_iter().chain(rule.names.iter().map(Some))
    };
    let on = move |verb, group, resource| {
        names().map(move |name| SinglePermission::Resource { verb, group, resource, name })
    };
    let on_resources = rule.verbs.iter().flat_map(move |verb| {
        let groups = rule.groups.iter();
        groups.flat_map(move |group| {
            rule.resources.iter().flat_map(move |resource| on(verb, group, resource))
        })
    });
    let on_paths = rule.verbs.iter().flat_map(move |verb| {
        rule.urls.iter().map(move |url| SinglePermission::Path { verb, url })
    });
    on_resources.chain(on_paths)
}

/// How many texts of a rule a permission may be compared with.
fn texts(rule: &Rule) -> u64 {
    [&rule.groups, &rule.resources, &rule.urls, &rule.names, &rule.verbs]
        .iter()
        .map(|texts| texts.len() as u64)
        .sum()
}

/// Whether a held rule grants all of that. What is wanted may itself stand for many things: `*` is
/// only in `*`, and `*/scale` only in `*/scale` and `*`.
fn contains(held: &Rule, grant: SinglePermission<'_>) -> bool {
    match grant {
        SinglePermission::Resource { verb, group, resource, name } => {
            let names = held.names.is_empty() || name.is_some_and(|name| held.names.has(name));
            held.verbs.has_or_all(verb)
                && held.groups.has_or_all(group)
                && has_resource(held, resource)
                && names
        }
        SinglePermission::Path { verb, url } => {
            let is_held = |own: &str| own == url || includes_path(own, url);
            !held.is_about_resources()
                && held.verbs.has_or_all(verb)
                && held.urls.iter().any(is_held)
        }
    }
}

fn has_resource(held: &Rule, wanted: &str) -> bool {
    let any_owner = wanted.split_once('/').map(|(_, sub)| sub);
    held.resources.iter().any(|own| {
        own == ALL
            || own == wanted
            || any_owner.is_some_and(|sub| own.strip_prefix("*/") == Some(sub))
    })
}

/// Whether every path that `wanted` stands for is one that `own` stands for.
fn includes_path(own: &str, wanted: &str) -> bool {
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
        let read = |rules: &[Value]| {
            rules.iter().map(|rule| Rule::read(&rule.clone().into())).collect::<Vec<_>>()
        };
        let (held, wanted) = (read(held), read(wanted));
        let missing = missing(&held.iter().collect::<Vec<_>>(), wanted.iter(), u64::MAX).unwrap();
        assert_eq!(missing.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn what_is_held_is_not_missing() {
        let all = on(&["*"], &["*"], &["*"], &[]);
        check(
            std::slice::from_ref(&all),
            &[on(&["get"], &["x"], &["a/b"], &["n"]), all.clone()],
            &[],
        );
        check(&[], &[], &[]);
        let own =
            [on(&["get"], &[""], &["pods"], &[]), on(&["list"], &[""], &["pods", "*/scale"], &[])];
        check(&own, &[on(&["get", "list"], &[""], &["pods"], &[])], &[]);
        check(&own, &[on(&["get"], &[""], &["pods"], &["a"])], &[]);
        check(&own, &[on(&["list"], &[""], &["x/scale"], &[])], &[]);
    }

    #[test]
    fn what_is_not_held_is_missing() {
        let own = [on(&["get"], &[""], &["pods"], &["a"]), on(&["*"], &["x"], &["y"], &[])];
        let check = |wanted: Value, expect: &[&str]| check(&own, &[wanted], expect);
        check(on(&["get"], &[""], &["pods"], &["a"]), &[]);
        let whole = r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#;
        check(on(&["get"], &[""], &["pods"], &[]), &[whole]);
        let two =
            r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list" "watch"]}"#;
        check(on(&["list", "get", "watch"], &[""], &["pods"], &["a"]), &[two]);
        check(
            on(&["*"], &["x"], &["*"], &[]),
            &[r#"{APIGroups:["x"], Resources:["*"], Verbs:["*"]}"#],
        );
        check(
            on(&["*"], &["x"], &["*/y"], &[]),
            &[r#"{APIGroups:["x"], Resources:["*/y"], Verbs:["*"]}"#],
        );
    }

    #[test]
    fn a_small_rule_with_very_many_permissions_is_given_up() {
        let many: Vec<String> = (0..200).map(|number| format!("t{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let check = |held: &[Value], wanted: Value, work, expect: Option<usize>| {
            let read = |rules: &[Value]| {
                rules.iter().map(|rule| Rule::read(&rule.clone().into())).collect::<Vec<_>>()
            };
            let (held, wanted) = (read(held), read(&[wanted]));
            let missing = missing(&held.iter().collect::<Vec<_>>(), wanted.iter(), work);
            assert_eq!(missing.map(|missing| missing.len()), expect);
        };
        let (hostile, all) = (on(&many, &many, &many, &many), on(&["*"], &["*"], &["*"], &[]));
        check(&[], hostile.clone(), 1_000_000, None);
        check(std::slice::from_ref(&all), hostile.clone(), 1_000_000, None);
        check(&[hostile], on(&many, &many[..10], &["t1"], &["t1"]), 1_000_000, None);
        check(&[all], on(&many, &many[..100], &["t1"], &[]), 1_000_000, Some(0));
        check(&[], on(&["get"], &[""], &many[..100], &[]), 100 * (MISSING_COST + 1), Some(100));
        check(&[], on(&["get"], &[""], &many[..101], &[]), 100 * (MISSING_COST + 1), None);
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
