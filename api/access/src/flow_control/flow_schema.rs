//! One flow schema, compiled: the users and the requests that it matches (API Priority and
//! Fairness).

use std::sync::Arc;

use http::HeaderValue;
use quorate_meta::Value;

use super::flow_schemas::uid;
use crate::authentication::User;
use crate::authorization::{Action, ResourceAction};

const ALL: &str = "*";

/// A flow schema.
#[derive(Debug)]
pub(super) struct FlowSchema {
    /// `None` when it has none that a header can hold.
    pub(super) uid: Option<HeaderValue>,
    /// Its own name.
    pub(super) name: Arc<str>,
    /// The name of its priority level.
    pub(super) level: String,
    /// What tells the flows of it apart.
    pub(super) distinguisher: Distinguisher,
    /// Its `matchingPrecedence`.
    pub(super) precedence: i64,
    rules: Vec<PolicyRules>,
}

/// What tells the flows of a schema apart (`distinguisherMethod`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distinguisher {
    /// The name of the user.
    User,
    /// The namespace of the request.
    Namespace,
    /// All requests are one flow.
    None,
}

/// One entry of its rules: any of these subjects doing any of these things
/// (`PolicyRulesWithSubjects`).
#[derive(Debug)]
struct PolicyRules {
    subjects: Vec<FlowSubject>,
    resources: Vec<ResourceRule>,
    paths: Vec<NonResourceRule>,
}

#[derive(Debug)]
enum FlowSubject {
    User(String),
    Group(String),
    /// The namespace and the name of a service account.
    ServiceAccount(String, String),
}

#[derive(Debug)]
struct ResourceRule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    namespaces: Vec<String>,
    /// Whether it also matches requests that are in no namespace.
    cluster_scope: bool,
}

#[derive(Debug)]
struct NonResourceRule {
    verbs: Vec<String>,
    urls: Vec<String>,
}

impl FlowSchema {
    pub(super) fn compile(name: &str, object: &Value) -> Self {
        let level =
            object.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
        let rules = object.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
        Self {
            uid: uid(object),
            name: name.into(),
            level: level.to_owned(),
            distinguisher: match object.str_at(&["spec", "distinguisherMethod", "type"]) {
                Some("ByUser") => Distinguisher::User,
                Some("ByNamespace") => Distinguisher::Namespace,
                _ => Distinguisher::None,
            },
            precedence: object
                .at(&["spec", "matchingPrecedence"])
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            rules: rules.iter().map(PolicyRules::read).collect(),
        }
    }

    /// Whether it matches a request.
    pub(super) fn matches(&self, user: &User, action: &Action<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(user, action))
    }
}

impl PolicyRules {
    fn read(rule: &Value) -> Self {
        Self {
            subjects: list(rule, "subjects").iter().filter_map(FlowSubject::read).collect(),
            resources: list(rule, "resourceRules").iter().map(ResourceRule::read).collect(),
            paths: list(rule, "nonResourceRules").iter().map(NonResourceRule::read).collect(),
        }
    }

    fn matches(&self, user: &User, action: &Action<'_>) -> bool {
        let named = match action {
            Action::Resource(on) => self.resources.iter().any(|rule| rule.matches(on)),
            Action::Path { verb, path } => self.paths.iter().any(|rule| rule.matches(verb, path)),
        };
        named && self.subjects.iter().any(|subject| subject.has(user))
    }
}

impl FlowSubject {
    fn read(subject: &Value) -> Option<Self> {
        let text = |path: &[&str]| subject.str_at(path).map(str::to_owned);
        match subject.str_at(&["kind"])? {
            "User" => text(&["user", "name"]).map(Self::User),
            "Group" => text(&["group", "name"]).map(Self::Group),
            "ServiceAccount" => Some(Self::ServiceAccount(
                text(&["serviceAccount", "namespace"])?,
                text(&["serviceAccount", "name"])?,
            )),
            _ => None,
        }
    }

    fn has(&self, user: &User) -> bool {
        match self {
            Self::User(name) => name == ALL || *name == user.name,
            Self::Group(group) => group == ALL || user.is_in(group),
            Self::ServiceAccount(namespace, name) => {
                let account = user
                    .name
                    .strip_prefix("system:serviceaccount:")
                    .and_then(|own| own.split_once(':'));
                account.is_some_and(|own| own.0 == namespace && (name == ALL || own.1 == name))
            }
        }
    }
}

impl ResourceRule {
    fn read(rule: &Value) -> Self {
        Self {
            verbs: texts(rule, "verbs"),
            groups: texts(rule, "apiGroups"),
            resources: texts(rule, "resources"),
            namespaces: texts(rule, "namespaces"),
            cluster_scope: rule.at(&["clusterScope"]).and_then(Value::as_bool) == Some(true),
        }
    }

    fn matches(&self, on: &ResourceAction<'_>) -> bool {
        let has_resource = || {
            self.resources.iter().any(|own| match own.split_once('/') {
                Some((resource, part)) => resource == on.resource && part == on.subresource,
                None => own == ALL || (on.subresource.is_empty() && own == on.resource),
            })
        };
        let has_scope = || {
            if on.namespace.is_empty() {
                self.cluster_scope
            } else {
                has(&self.namespaces, on.namespace)
            }
        };
        has(&self.verbs, on.verb) && has(&self.groups, on.group) && has_resource() && has_scope()
    }
}

impl NonResourceRule {
    fn read(rule: &Value) -> Self {
        Self { verbs: texts(rule, "verbs"), urls: texts(rule, "nonResourceURLs") }
    }

    fn matches(&self, verb: &str, path: &str) -> bool {
        let is_path = |url: &String| {
            url == path || url.strip_suffix(ALL).is_some_and(|start| path.starts_with(start))
        };
        has(&self.verbs, verb) && self.urls.iter().any(is_path)
    }
}

/// Whether a list has a text or `*`.
fn has(own: &[String], text: &str) -> bool {
    own.iter().any(|own| own == ALL || own == text)
}

fn list<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object.get(field).and_then(Value::as_list).unwrap_or_default()
}

fn texts(object: &Value, field: &str) -> Vec<String> {
    list(object, field).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use http::Method;
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;
    use crate::request::RequestInfo;

    fn schema(rule: serde_json::Value) -> FlowSchema {
        FlowSchema::compile("s", &json!({"spec": {"rules": [rule]}}).into())
    }

    #[track_caller]
    fn matches(
        schema: &FlowSchema,
        user: &str,
        groups: &[&str],
        (method, uri): (Method, &str),
    ) -> bool {
        let user = User::new(user, groups.iter().map(|group| (*group).to_owned()));
        let info = RequestInfo::parse(Naming::Svc.names(), &method, &uri.parse().unwrap());
        schema.matches(&user, &Action::of(&info))
    }

    #[test]
    fn subjects_match_users() {
        let check = |subject: serde_json::Value, user: &str, groups: &[&str], expect: bool| {
            let paths = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
            let schema = schema(json!({"subjects": [subject], "nonResourceRules": paths}));
            assert_eq!(
                matches(&schema, user, groups, (Method::GET, "/version")),
                expect,
                "{user} {groups:?}"
            );
        };
        let user = |name: &str| json!({"kind": "User", "user": {"name": name}});
        check(user("ann"), "ann", &[], true);
        check(user("ann"), "bob", &[], false);
        check(user("*"), "bob", &[], true);
        let group = |name: &str| json!({"kind": "Group", "group": {"name": name}});
        check(group("dev"), "ann", &["dev"], true);
        check(group("dev"), "dev", &[], false);
        check(group("*"), "ann", &[], true);
        let account = |name: &str| json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": name}});
        check(account("s"), "system:serviceaccount:a:s", &[], true);
        check(account("s"), "system:serviceaccount:a:t", &[], false);
        check(account("*"), "system:serviceaccount:a:t", &[], true);
        check(account("*"), "system:serviceaccount:b:t", &[], false);
        check(account("*"), "ann", &[], false);
    }

    #[test]
    fn resource_rules_match_requests() {
        let check = |rule: serde_json::Value, uri: &str, expect: bool| {
            let mut whole = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["*"], "namespaces": ["*"]});
            whole.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
            let subjects = json!([{"kind": "User", "user": {"name": "*"}}]);
            let schema = schema(json!({"subjects": subjects, "resourceRules": [whole.clone()]}));
            assert_eq!(matches(&schema, "ann", &[], (Method::GET, uri)), expect, "{whole} {uri}");
        };
        let pods = "/api/v1/namespaces/a/pods";
        check(json!({}), pods, true);
        check(json!({}), &format!("{pods}?watch=1"), false);
        check(json!({"verbs": ["*"]}), &format!("{pods}?watch=1"), true);
        check(json!({}), "/apis/apps/v1/namespaces/a/deployments", false);
        check(json!({"resources": ["pods"]}), pods, true);
        check(json!({"resources": ["pods"]}), &format!("{pods}/p/status"), false);
        check(json!({"resources": ["pods/status"]}), &format!("{pods}/p/status"), true);
        check(json!({"resources": ["nodes"]}), pods, false);
        check(json!({"namespaces": ["a"]}), pods, true);
        check(json!({"namespaces": ["b"]}), pods, false);
        check(json!({}), "/api/v1/pods", false);
        check(json!({"clusterScope": true, "namespaces": ["b"]}), "/api/v1/pods", true);
        check(json!({"clusterScope": true, "namespaces": ["b"]}), pods, false);
        check(json!({}), "/version", false);
    }

    #[test]
    fn non_resource_rules_match_paths() {
        let check = |url: &str, path: &str, expect: bool| {
            let paths = json!([{"verbs": ["get"], "nonResourceURLs": [url]}]);
            let subjects = json!([{"kind": "Group", "group": {"name": "*"}}]);
            let schema = schema(json!({"subjects": subjects, "nonResourceRules": paths}));
            assert_eq!(
                matches(&schema, "ann", &["dev"], (Method::GET, path)),
                expect,
                "{url} {path}"
            );
            assert!(!matches(&schema, "ann", &["dev"], (Method::POST, path)), "{url} {path}");
        };
        check("/healthz", "/healthz", true);
        check("/healthz", "/healthz/ping", false);
        check("/healthz/*", "/healthz/ping", true);
        check("/healthz/*", "/healthz", false);
        check("*", "/version", true);
        check("*", "/api/v1/pods", false);
    }
}
