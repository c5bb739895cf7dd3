//! A PolicyRule of a role, compiled.
//!
//! Invariant: a rule grants actions on resources or on other paths, never on both; one that names
//! both (the API accepts none) grants nothing on paths.

use std::fmt;

use quorate_meta::{Map, Value};

use crate::authorization::ResourceAction;

const ALL: &str = "*";

/// A PolicyRule, compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    pub(crate) groups: Texts,
    pub(crate) resources: Texts,
    pub(crate) urls: Texts,
    pub(crate) names: Texts,
    pub(crate) verbs: Texts,
}

/// A list of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Texts(Box<[Box<str>]>);

impl Texts {
    /// The list at a field of an object; empty when it is absent.
    fn read(object: &Value, field: &str) -> Self {
        let list = object.get(field).and_then(Value::as_list).unwrap_or_default();
        list.iter().filter_map(Value::as_str).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.iter().any(|own| own == text)
    }

    /// Whether the list names the text or, by `*`, everything.
    pub(crate) fn has_or_all(&self, text: &str) -> bool {
        self.iter().any(|own| own == ALL || own == text)
    }

    fn to_value(&self) -> Value {
        Value::List(self.iter().map(Value::from).collect())
    }
}

impl<'t> FromIterator<&'t str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'t str>>(texts: I) -> Self {
        Self(texts.into_iter().map(Into::into).collect())
    }
}

impl Rule {
    /// The rules that allow everything.
    pub(crate) fn everything() -> [Self; 2] {
        let all = || Texts::from_iter([ALL]);
        let resources = Self { groups: all(), resources: all(), verbs: all(), ..Self::default() };
        [resources, Self { urls: all(), verbs: all(), ..Self::default() }]
    }

    /// Reads a rule of a role.
    pub fn read(rule: &Value) -> Self {
        Self {
            groups: Texts::read(rule, "apiGroups"),
            resources: Texts::read(rule, "resources"),
            urls: Texts::read(rule, "nonResourceURLs"),
            names: Texts::read(rule, "resourceNames"),
            verbs: Texts::read(rule, "verbs"),
        }
    }

    /// The rules of a role.
    pub(crate) fn of_role(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_list).unwrap_or_default();
        rules.iter().map(Self::read).collect()
    }

    /// Whether it is about resources, not about other paths.
    pub(crate) fn is_about_resources(&self) -> bool {
        !self.resources.is_empty()
    }

    /// Whether it grants an action on a resource.
    pub(crate) fn allows_resource(&self, on: &ResourceAction<'_>) -> bool {
        self.verbs.has_or_all(on.verb)
            && self.groups.has_or_all(on.group)
            && self.resources.iter().any(|own| is_resource(own, on.resource, on.subresource))
            && (self.names.is_empty() || self.names.has(&on.name))
    }

    /// Whether it grants a method on a path.
    pub(crate) fn allows_path(&self, verb: &str, path: &str) -> bool {
        !self.is_about_resources()
            && self.verbs.has_or_all(verb)
            && self.urls.iter().any(|own| is_path(own, path))
    }

    /// The rule as a role has it.
    pub(crate) fn to_value(&self) -> Value {
        self.with(&self.names, &self.urls)
    }

    /// The rule as SelfSubjectRulesReview shows it. The name `*` is the name of one object in a
    /// PolicyRule and means everything in a ResourceRule, so it is left out. So is a path that ends
    /// with `*` where that is not its whole last segment: it is one path in a PolicyRule, and
    /// clients take it for all paths with that prefix in a NonResourceRule. `None` when nothing is
    /// left.
    pub(crate) fn to_review_rule(&self) -> Option<Value> {
        let names: Texts = self.names.iter().filter(|name| *name != ALL).collect();
        let urls: Texts = self
            .urls
            .iter()
            .filter(|url| !url.ends_with(ALL) || prefix_of(url).is_some())
            .collect();
        let says = |own: &Texts, left: &Texts| own.is_empty() || !left.is_empty();
        (says(&self.names, &names) && says(&self.urls, &urls)).then(|| self.with(&names, &urls))
    }

    fn with(&self, names: &Texts, urls: &Texts) -> Value {
        let lists: [(&str, &Texts); 5] = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", names),
            ("nonResourceURLs", urls),
        ];
        let given = lists.into_iter().filter(|(name, texts)| *name == "verbs" || !texts.is_empty());
        let mut map = Map::new();
        for (name, texts) in given {
            map.insert(name, texts.to_value());
        }
        Value::Map(map)
    }
}

/// Whether what a rule names (`pods`, `pods/log`, `*/scale`, `*`) is this resource.
pub(super) fn is_resource(named: &str, resource: &str, subresource: &str) -> bool {
    if named == ALL {
        return true;
    }
    if subresource.is_empty() {
        return named == resource;
    }
    let Some((own, sub)) = named.split_once('/') else {
        return false;
    };
    sub == subresource && (own == ALL || own == resource)
}

/// Whether what a rule names is this path. `*` stands for everything below, as the whole last
/// segment.
pub(super) fn is_path(named: &str, path: &str) -> bool {
    match prefix_of(named) {
        Some(prefix) => path.starts_with(prefix),
        None => named == path,
    }
}

/// What all paths begin with that a rule names by `*`; `None` where it names one path.
fn prefix_of(named: &str) -> Option<&str> {
    named.strip_suffix(ALL).filter(|prefix| prefix.is_empty() || prefix.ends_with('/'))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        f.write_str("{")?;
        for (turn, (name, texts)) in
            lists.into_iter().filter(|(_, texts)| !texts.is_empty()).enumerate()
        {
            let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
            write!(f, "{}{name}:[{}]", if turn == 0 { "" } else { ", " }, quoted.join(" "))?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn resources() {
        let check = |named: &str, resource: &str, subresource: &str, expect: bool| {
            assert_eq!(
                is_resource(named, resource, subresource),
                expect,
                "{named} {resource}/{subresource}"
            );
        };
        check("pods", "pods", "", true);
        check("pods", "pods", "log", false);
        check("pods/log", "pods", "log", true);
        check("pods/log", "pods", "", false);
        check("*/scale", "anything", "scale", true);
        check("*/scale", "anything", "autoscale", false);
        check("*/scale", "scale", "", false);
        check("*", "pods", "log", true);
        check("pods/*", "pods", "log", false);
    }

    #[test]
    fn paths() {
        let check = |named: &str, path: &str, expect: bool| {
            assert_eq!(is_path(named, path), expect, "{named} {path}")
        };
        check("/a", "/a", true);
        check("/a", "/a/", false);
        check("/a/*", "/a/", true);
        check("/a/*", "/a/b/c", true);
        check("/a/*", "/a", false);
        check("*", "/anything", true);
        check("/a*", "/ab", false);
        check("/a*", "/a*", true);
        check("/*/b", "/a/b", false);
    }

    #[test]
    fn names_limit_a_rule() {
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a", ""]});
        let rule = Rule::read(&rule.into());
        let check = |name: &'static str, expect: bool| {
            let on = ResourceAction {
                verb: "get",
                resource: "pods",
                name: name.into(),
                ..ResourceAction::default()
            };
            assert_eq!(rule.allows_resource(&on), expect, "{name}");
        };
        check("a", true);
        check("", true);
        check("b", false);
    }

    #[test]
    fn a_review_promises_no_more_than_a_rule_grants() {
        let check = |names: &[&str], expect: Option<&[&str]>| {
            let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": names});
            let shown = Rule::read(&rule.into()).to_review_rule();
            let names = |shown: &Value| -> Vec<String> {
                let names = shown.get("resourceNames").and_then(Value::as_list).unwrap_or_default();
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            };
            let expect: Option<Vec<String>> =
                expect.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(shown.as_ref().map(names), expect);
        };
        check(&[], Some(&[]));
        check(&["a", "b"], Some(&["a", "b"]));
        check(&["*", "a", "*"], Some(&["a"]));
        check(&["*"], None);
    }

    #[test]
    fn a_review_promises_no_path_that_the_rule_does_not_grant() {
        let check = |urls: &[&str], expect: Option<&[&str]>| {
            let rule = Rule::read(&json!({"verbs": ["get"], "nonResourceURLs": urls}).into());
            let shown =
                expect.map(|urls| Value::from(json!({"verbs": ["get"], "nonResourceURLs": urls})));
            assert_eq!(rule.to_review_rule(), shown, "{urls:?}");
            for path in
                ["/a", "/a*", "/ab", "/a/", "/a/*", "/a/b", "/a/b*", "/a/bc", "/a/**", "*", "/"]
            {
                // Clients take `*` at the end for anything at all.
                let begins = |url: &str| {
                    url.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
                };
                let promised =
                    expect.unwrap_or_default().iter().any(|url| *url == path || begins(url));
                assert!(!promised || rule.allows_path("get", path), "{urls:?} {path}");
            }
        };
        check(&["/a", "/a/*"], Some(&["/a", "/a/*"]));
        check(&["*"], Some(&["*"]));
        check(&["/*"], Some(&["/*"]));
        check(&["/a*"], None);
        check(&["/a*", "/a/b*", "/a/**", "/b"], Some(&["/b"]));
        check(&["/*/b", "/a"], Some(&["/*/b", "/a"]));
    }

    #[test]
    fn a_rule_as_people_read_it() {
        let rule = json!({"apiGroups": ["", "x"], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]});
        let expect =
            r#"{APIGroups:["" "x"], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}"#;
        assert_eq!(Rule::read(&rule.into()).to_string(), expect);
    }
}
