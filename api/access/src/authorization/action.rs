//! Actions: the attributes of a request that authorization rules match (SubjectAccessReview).
//!
//! Invariants: group names are canonical; an empty text means none or all, as SubjectAccessReview
//! says of each attribute. Selectors are parsed, and one that does not parse is left out, because a
//! selector can only narrow an action.

use std::borrow::Cow;

use quorate_meta::{FieldSelector, LabelOperator, LabelSelector, Names};

use crate::request::{RequestInfo, Verb};

/// An action on a resource, or on a path that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<'a> {
    /// On a resource.
    Resource(ResourceAction<'a>),
    /// On another path.
    Path {
        /// The HTTP method in lower case.
        verb: &'a str,
        /// The path.
        path: &'a str,
    },
}

/// An action on a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceAction<'a> {
    /// For example `get`.
    pub verb: &'a str,
    /// Full group name; empty for the core group.
    pub group: &'a str,
    /// For example `v1`.
    pub version: &'a str,
    /// Plural name.
    pub resource: &'a str,
    /// Empty for the resource itself.
    pub subresource: &'a str,
    /// Empty for cluster-scoped resources and across all namespaces.
    pub namespace: &'a str,
    /// Empty for new objects and for collections, unless a field selector leaves only one name.
    pub name: Cow<'a, str>,
    /// What narrows the action by fields.
    pub fields: Vec<Requirement>,
    /// What narrows the action by labels.
    pub labels: Vec<Requirement>,
}

/// One requirement of a selector.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label or field.
    pub key: String,
    /// How the label or field is compared.
    pub operator: Operator,
    /// What it is compared with.
    pub values: Vec<String>,
}

/// The operator of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values.
    NotIn,
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
}

impl Operator {
    /// Its name in reviews.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
        }
    }
}

/// The kind of an action, as far as it says how new the rules must be that allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    /// A read or a review: the rules are as old as what is read.
    Read,
    /// A watch, which goes on: rules that the quorum has confirmed within a second, if there is a
    /// quorum.
    Watch,
    /// A write: rules that the quorum has confirmed within a second.
    Write,
}

impl<'a> Action<'a> {
    /// The action of a request.
    #[must_use]
    pub fn of(info: &'a RequestInfo) -> Self {
        if !info.is_resource {
            return Self::Path { verb: info.verb.method_name(), path: &info.path };
        }
        let narrowed = matches!(info.verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
        let query = |name: &str| if narrowed { info.query.text(name) } else { "" };
        let fields = fields(query("fieldSelector")).unwrap_or_default();
        let name = match (&info.name, info.verb) {
            (Some(name), _) => name.as_str().into(),
            (None, Verb::List | Verb::Watch) => {
                only_name(&fields).unwrap_or_default().to_owned().into()
            }
            (None, _) => Cow::default(),
        };
        Self::Resource(ResourceAction {
            verb: info.verb.name(),
            group: &info.group,
            version: &info.version,
            resource: &info.resource,
            subresource: info.subresource.as_deref().unwrap_or_default(),
            namespace: namespace(info).unwrap_or_default(),
            name,
            fields,
            labels: labels(query("labelSelector")).unwrap_or_default(),
        })
    }

    /// Whether it is a review of the user who makes it.
    pub(crate) fn is_self_review(&self, names: &Names) -> bool {
        let Self::Resource(on) = self else {
            return false;
        };
        let is_whole = on.subresource.is_empty() && on.namespace.is_empty() && on.name.is_empty();
        on.verb == "create"
            && is_whole
            && SELF_REVIEWS.contains(&(names.neutral(on.group), on.resource))
    }

    /// The kind of the action. Reviews are created, but not stored: they are reads.
    pub(crate) fn kind(&self, names: &Names) -> ActionKind {
        match self {
            Self::Path { .. } => ActionKind::Read,
            Self::Resource(on) => match (on.verb, names.neutral(on.group)) {
                ("get" | "list", _) | ("create", "authorization" | "authentication") => {
                    ActionKind::Read
                }
                ("watch", _) => ActionKind::Watch,
                _ => ActionKind::Write,
            },
        }
    }
}

/// Reviews that users make about themselves, with their API group.
const SELF_REVIEWS: [(&str, &str); 3] = [
    ("authentication", "selfsubjectreviews"),
    ("authorization", "selfsubjectaccessreviews"),
    ("authorization", "selfsubjectrulesreviews"),
];

/// The namespace that rules see: a request for one namespace object counts as one in that
/// namespace.
fn namespace(info: &RequestInfo) -> Option<&str> {
    let own = if info.group.is_empty() && info.resource == "namespaces" {
        info.name.as_deref()
    } else {
        None
    };
    info.namespace.as_deref().or(own)
}

/// The name that a selector leaves: a list of one object is as good as a get.
fn only_name(fields: &[Requirement]) -> Option<&str> {
    let named = fields
        .iter()
        .find(|field| field.operator == Operator::In && field.key == "metadata.name")?;
    named
        .values
        .first()
        .map(String::as_str)
        .filter(|name| quorate_meta::name::path_segment(name).is_empty())
}

/// The requirements of a field selector's text.
///
/// # Errors
/// What is wrong with the text.
pub fn fields(text: &str) -> Result<Vec<Requirement>, String> {
    let selector = FieldSelector::parse(text).map_err(|error| error.to_string())?;
    let requirement = |term: &quorate_meta::FieldTerm| Requirement {
        key: term.field.clone(),
        operator: if term.equal { Operator::In } else { Operator::NotIn },
        values: vec![term.value.clone()],
    };
    Ok(selector.terms().iter().map(requirement).collect())
}

/// The requirements of a label selector's text. Comparisons of numbers have no form here and are
/// left out.
///
/// # Errors
/// What is wrong with the text.
pub fn labels(text: &str) -> Result<Vec<Requirement>, String> {
    let selector = LabelSelector::parse(text).map_err(|error| error.to_string())?;
    let requirement = |found: &quorate_meta::LabelRequirement| {
        let operator = match found.operator() {
            LabelOperator::In => Operator::In,
            LabelOperator::NotIn => Operator::NotIn,
            LabelOperator::Exists => Operator::Exists,
            LabelOperator::Missing => Operator::DoesNotExist,
            LabelOperator::Above | LabelOperator::Below => return None,
        };
        Some(Requirement { key: found.key().to_owned(), operator, values: found.values().to_vec() })
    };
    Ok(selector.requirements().iter().filter_map(requirement).collect())
}

#[cfg(test)]
mod tests {
    use http::Method;
    use quorate_meta::Naming;

    use super::*;

    #[track_caller]
    fn check(method: Method, uri: &str, expect: &str) {
        let info = RequestInfo::parse(Naming::Svc.names(), &method, &uri.parse().unwrap());
        let got = match Action::of(&info) {
            Action::Path { verb, path } => format!("{verb} {path}"),
            Action::Resource(on) => {
                let ResourceAction {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                    fields,
                    labels,
                    ..
                } = on;
                format!(
                    "{verb} {group}/{resource}/{subresource} {namespace}/{name} {}+{}",
                    fields.len(),
                    labels.len()
                )
            }
        };
        assert_eq!(got, expect, "{method} {uri}");
    }

    #[test]
    fn only_what_is_stored_is_a_write() {
        let check = |method: Method, uri: &str, expect: ActionKind| {
            let names = Naming::Svc.names();
            let info = RequestInfo::parse(names, &method, &uri.parse().unwrap());
            assert_eq!(Action::of(&info).kind(names), expect, "{method} {uri}");
        };
        check(Method::GET, "/api/v1/pods", ActionKind::Read);
        check(Method::GET, "/api/v1/namespaces/a/pods/p", ActionKind::Read);
        check(Method::POST, "/version", ActionKind::Read);
        check(Method::GET, "/api/v1/pods?watch=1", ActionKind::Watch);
        check(Method::POST, "/api/v1/namespaces/a/pods", ActionKind::Write);
        check(Method::DELETE, "/api/v1/pods", ActionKind::Write);
        check(Method::POST, "/api/v1/namespaces/a/serviceaccounts/s/token", ActionKind::Write);
        for review in [
            "authorization.svc.io/v1/selfsubjectaccessreviews",
            "authentication.svc.io/v1/tokenreviews",
        ] {
            check(Method::POST, &format!("/apis/{review}"), ActionKind::Read);
        }
        check(
            Method::POST,
            "/apis/authorization.svc.io/v1/namespaces/a/localsubjectaccessreviews",
            ActionKind::Read,
        );
        check(Method::POST, "/apis/rbac.authorization.svc.io/v1/clusterroles", ActionKind::Write);
    }

    #[test]
    fn self_reviews() {
        let check = |naming: Naming, method: Method, uri: &str, expect: bool| {
            let info = RequestInfo::parse(naming.names(), &method, &uri.parse().unwrap());
            assert_eq!(Action::of(&info).is_self_review(naming.names()), expect, "{method} {uri}");
        };
        for (naming, suffix) in [(Naming::Svc, "svc.io"), (Naming::Kubernetes, "k8s.io")] {
            let access = format!("/apis/authorization.{suffix}/v1");
            let check =
                |method: Method, uri: String, expect: bool| check(naming, method, &uri, expect);
            check(Method::POST, format!("{access}/selfsubjectaccessreviews"), true);
            check(Method::POST, format!("{access}/selfsubjectrulesreviews"), true);
            check(
                Method::POST,
                format!("/apis/authentication.{suffix}/v1/selfsubjectreviews"),
                true,
            );
            check(Method::GET, format!("{access}/selfsubjectaccessreviews"), false);
            check(Method::PUT, format!("{access}/selfsubjectaccessreviews/a"), false);
            check(Method::POST, format!("{access}/namespaces/a/selfsubjectaccessreviews"), false);
            check(Method::POST, format!("{access}/subjectaccessreviews"), false);
            check(Method::POST, format!("{access}/selfsubjectreviews"), false);
            check(Method::POST, format!("/apis/authentication.{suffix}/v1/tokenreviews"), false);
        }
        check(
            Naming::Svc,
            Method::POST,
            "/apis/authorization.example.com/v1/selfsubjectrulesreviews",
            false,
        );
        check(Naming::Svc, Method::POST, "/selfsubjectrulesreviews", false);
    }

    #[test]
    fn requests_as_rules_see_them() {
        check(Method::POST, "/logs/x", "post /logs/x");
        check(Method::GET, "/api/v1/namespaces/a", "get /namespaces/ a/a 0+0");
        check(Method::GET, "/api/v1/namespaces", "list /namespaces/ / 0+0");
        check(
            Method::PUT,
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
            "update apps/deployments/scale a/b 0+0",
        );
        check(
            Method::GET,
            "/api/v1/pods?fieldSelector=a%3Db,c!%3Dd&labelSelector=x",
            "list /pods/ / 2+1",
        );
        check(Method::GET, "/api/v1/pods?fieldSelector=metadata.name%3Dx", "list /pods/ /x 1+0");
        check(
            Method::DELETE,
            "/api/v1/pods?fieldSelector=metadata.name%3Dx",
            "deletecollection /pods/ / 1+0",
        );
        check(
            Method::GET,
            "/api/v1/pods?fieldSelector=bad&labelSelector=x+in+(",
            "list /pods/ / 0+0",
        );
        check(Method::GET, "/api/v1/namespaces/a/pods/p?fieldSelector=a%3Db", "get /pods/ a/p 0+0");
    }
}
