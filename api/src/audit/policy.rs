//! The audit policy: which rule fits a request, and how much events tell of it.
//!
//! The first rule that fits decides; without one nothing is told.

use quorate_meta::Names;

use quorate_access::authentication::User;
use quorate_access::request::{RequestInfo, Verb};

/// How much events tell of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// The user, the request, the times, and how it ended.
    Metadata,
    /// The body of the request as well.
    Request,
    /// The body of the answer as well.
    RequestResponse,
}

impl Level {
    /// Every level by its name.
    pub(super) const NAMES: [(&'static str, Self); 4] = [
        ("None", Self::None),
        ("Metadata", Self::Metadata),
        ("Request", Self::Request),
        ("RequestResponse", Self::RequestResponse),
    ];
}

/// A moment in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has come in, and its user is known.
    RequestReceived,
    /// The head of the answer has been sent, and the rest takes long: watches only.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The server has failed to make one.
    Panic,
}

impl Stage {
    /// Every stage by its name.
    pub(super) const NAMES: [(&'static str, Self); 4] = [
        ("RequestReceived", Self::RequestReceived),
        ("ResponseStarted", Self::ResponseStarted),
        ("ResponseComplete", Self::ResponseComplete),
        ("Panic", Self::Panic),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// A set of stages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stages(u8);

impl Stages {
    /// Those of both.
    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u8) != 0
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        Self(stages.into_iter().fold(0, |set, stage| set | 1 << stage as u8))
    }
}

/// Some resources of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Resources {
    pub(super) group: String,
    /// `pods`, `pods/log`, `pods/*`, `*/status`, `*`; none means all.
    pub(super) resources: Vec<String>,
    /// None means all.
    pub(super) names: Vec<String>,
}

/// What one rule is about, and how much it lets be told. An empty list fits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) level: Level,
    pub(super) users: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) resources: Vec<Resources>,
    pub(super) namespaces: Vec<String>,
    pub(super) paths: Vec<String>,
    pub(super) omit_stages: Stages,
    pub(super) omit_managed_fields: Option<bool>,
}

/// Every rule, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub(super) rules: Vec<Rule>,
    pub(super) omit_stages: Stages,
    pub(super) omit_managed_fields: bool,
}

/// What the policy says about one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) level: Level,
    pub(super) omit_stages: Stages,
    pub(super) omit_managed_fields: bool,
    /// Whether bodies hold secrets or tokens: neither they nor what is said about their content may
    /// be told.
    pub(super) private: bool,
}

impl Policy {
    /// What is told of a request; the user is `None` when authentication has failed.
    pub(super) fn scope(&self, names: &Names, user: Option<&User>, info: &RequestInfo) -> Scope {
        let Some(rule) = self.rules.iter().find(|rule| rule.fits(user, info)) else {
            return Scope::default();
        };
        let private = carries_secrets(names, info);
        Scope {
            level: rule.level.min(if private { Level::Metadata } else { Level::RequestResponse }),
            omit_stages: self.omit_stages.and(rule.omit_stages),
            omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
            private,
        }
    }
}

/// Whether bodies of such requests and answers hold secrets or tokens.
fn carries_secrets(names: &Names, info: &RequestInfo) -> bool {
    let resource =
        (names.neutral(&info.group), info.resource.as_str(), info.subresource.as_deref());
    matches!(
        resource,
        ("", "secrets", _)
            | ("", "serviceaccounts", Some("token"))
            | ("authentication", "tokenreviews", _)
    )
}

impl Rule {
    fn fits(&self, user: Option<&User>, info: &RequestInfo) -> bool {
        let named =
            |list: &[String], text: &str| list.is_empty() || list.iter().any(|own| own == text);
        let user_fits =
            self.users.is_empty() || user.is_some_and(|user| self.users.contains(&user.name));
        let group_fits = self.groups.is_empty()
            || user.is_some_and(|user| self.groups.iter().any(|g| user.is_in(g)));
        if !user_fits || !group_fits || !named(&self.verbs, verb(info)) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            let namespace = info.namespace.as_deref().unwrap_or_default();
            let resource_fits =
                self.resources.is_empty() || self.resources.iter().any(|some| some.hold(info));
            return info.is_resource && named(&self.namespaces, namespace) && resource_fits;
        }
        if self.paths.is_empty() {
            return true;
        }
        !info.is_resource
            && self.paths.iter().any(|path| match path.strip_suffix('*') {
                Some(prefix) => info.path.starts_with(prefix),
                None => *path == info.path,
            })
    }
}

impl Resources {
    fn hold(&self, info: &RequestInfo) -> bool {
        let subresource = info.subresource.as_deref().unwrap_or_default();
        let named = || {
            self.names.is_empty()
                || info.name.as_ref().is_some_and(|name| self.names.iter().any(|own| own == name))
        };
        let fits = |own: &String| match own.split_once('/') {
            None if own == "*" => true,
            None => *own == info.resource && subresource.is_empty(),
            Some(("*", of)) => !subresource.is_empty() && of == subresource,
            Some((resource, "*")) => resource == info.resource,
            Some((resource, of)) => resource == info.resource && of == subresource,
        };
        self.group == info.group
            && (self.resources.is_empty() || (named() && self.resources.iter().any(fits)))
    }
}

/// What a request does, as rules and events call it.
pub(super) fn verb(info: &RequestInfo) -> &'static str {
    if info.is_resource { info.verb.name() } else { info.verb.method_name() }
}

/// Whether the answer to a request goes on for as long as its client likes.
pub(super) fn is_long(info: &RequestInfo) -> bool {
    info.is_resource && info.verb == Verb::Watch
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use quorate_meta::Naming;

    fn info(method: &Method, uri: &str) -> RequestInfo {
        RequestInfo::parse(Naming::Svc.names(), method, &uri.parse().unwrap())
    }

    #[track_caller]
    fn check(rule: &str, uri: &str, expect: Level) {
        let policy = crate::audit::parse_policy(Naming::Svc.names(), rule.as_bytes()).unwrap();
        let user = User::new("ann", ["dev".to_owned()]);
        let scope = policy.scope(Naming::Svc.names(), Some(&user), &info(&Method::GET, uri));
        assert_eq!(scope.level, expect, "{rule} {uri}");
    }

    fn rules(rules: &str) -> String {
        format!("apiVersion: audit.svc.io/v1\nkind: Policy\nrules: {rules}")
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let all = rules("[{level: None, users: [ann], verbs: [list]}, {level: Request}]");
        check(&all, "/api/v1/configmaps", Level::None);
        check(&all, "/api/v1/namespaces/a/configmaps/b", Level::Request);
        let some = rules(
            "[{level: Metadata, users: [bob]}, {level: Request, userGroups: [dev], verbs: [get]}]",
        );
        check(&some, "/api/v1/namespaces/a/configmaps/b", Level::Request);
        check(&some, "/api/v1/configmaps", Level::None);
        check(&some, "/version", Level::Request);
    }

    #[test]
    fn resources_are_named_with_their_subresources() {
        let check = |resources: &str, uri: &str, expect: bool| {
            let text = rules(&format!("[{{level: Metadata, resources: [{resources}]}}]"));
            check(&text, uri, if expect { Level::Metadata } else { Level::None });
        };
        let (pods, log) = ("/api/v1/namespaces/a/pods/p", "/api/v1/namespaces/a/pods/p/log");
        for (resources, on_pods, on_log) in [
            ("pods", true, false),
            ("pods/log", false, true),
            ("pods/*", true, true),
            ("'*/log'", false, true),
            ("'*'", true, true),
            ("services", false, false),
        ] {
            check(&format!("{{group: '', resources: [{resources}]}}"), pods, on_pods);
            check(&format!("{{group: '', resources: [{resources}]}}"), log, on_log);
        }
        check("{group: ''}", log, true);
        check("{group: apps}", log, false);
        check("{group: '', resources: [pods], resourceNames: [p]}", pods, true);
        check("{group: '', resources: [pods], resourceNames: [q]}", pods, false);
        check("{group: ''}", "/version", false);
    }

    #[test]
    fn namespaces_and_paths() {
        let namespaces = rules("[{level: Metadata, namespaces: [a, '']}]");
        check(&namespaces, "/api/v1/namespaces/a/pods/p", Level::Metadata);
        check(&namespaces, "/api/v1/namespaces/b/pods/p", Level::None);
        check(&namespaces, "/api/v1/nodes/n", Level::Metadata);
        let paths = rules("[{level: Metadata, nonResourceURLs: ['/healthz*', /version]}]");
        check(&paths, "/healthz/etc", Level::Metadata);
        check(&paths, "/version", Level::Metadata);
        check(&paths, "/version/x", Level::None);
        check(&paths, "/api/v1/nodes/n", Level::None);
    }

    #[test]
    fn bodies_with_secrets_are_never_told() {
        let all = rules("[{level: RequestResponse}]");
        check(&all, "/api/v1/namespaces/a/secrets/s", Level::Metadata);
        check(&all, "/api/v1/namespaces/a/serviceaccounts/s/token", Level::Metadata);
        check(&all, "/apis/authentication.svc.io/v1/tokenreviews", Level::Metadata);
        check(&all, "/api/v1/namespaces/a/serviceaccounts/s", Level::RequestResponse);
    }
}
