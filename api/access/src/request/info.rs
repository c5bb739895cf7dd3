//! Request info: the attributes of a request, from its method, path and query alone.
//!
//! Invariants: made before authentication, so everything in it is the client's claim; group names
//! are canonical (those of the cluster's naming profile), and [`RequestInfo::api_version`] is in
//! the name that the client asked for.

use std::time::Duration;

use http::{Method, Uri};
use quorate_meta::{Names, SmolStr};

use super::{DurationError, Query, Verb, duration, path};

/// A parsed request line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// What the client wants to do.
    pub verb: Verb,
    /// The path as it came, without the query.
    pub path: String,
    /// Whether the path has the shape of a resource's; else the fields below are empty.
    pub is_resource: bool,
    /// Canonical group name; empty for the core group.
    pub group: SmolStr,
    /// For example `v1`.
    pub version: SmolStr,
    /// `VERSION`, or `GROUP/VERSION` with the group's name as the client wrote it: answers use this
    /// name.
    pub api_version: SmolStr,
    /// The plural name.
    pub resource: SmolStr,
    /// The namespace of a namespaced request; `None` for cluster-scoped resources and across all
    /// namespaces.
    pub namespace: Option<SmolStr>,
    /// The object; `None` for a collection.
    pub name: Option<SmolStr>,
    /// For example `status`.
    pub subresource: Option<SmolStr>,
    /// Segments are left over: no such path exists.
    pub excess: bool,
    /// The query parameters.
    pub query: Query,
}

impl RequestInfo {
    /// Reads the request line. Never fails: what is no resource path is a plain path.
    #[must_use]
    pub fn parse(names: &Names, method: &Method, uri: &Uri) -> Self {
        let query = Query::parse(uri.query().unwrap_or_default());
        let mut info = Self {
            verb: Verb::of_method(method),
            path: uri.path().to_owned(),
            is_resource: false,
            group: SmolStr::default(),
            version: SmolStr::default(),
            api_version: SmolStr::default(),
            resource: SmolStr::default(),
            namespace: None,
            name: None,
            subresource: None,
            excess: false,
            query,
        };
        let Some(parts) = path::parse(&info.path) else {
            return info;
        };
        info.verb = match parts.watch {
            true if method == Method::GET => Verb::Watch,
            true => Verb::Other,
            false => Verb::of_resource(
                method,
                parts.name.is_some(),
                info.query.flag("watch") == Some(true),
            ),
        };
        info.api_version = match parts.group.as_str() {
            "" => parts.version.clone(),
            group => [group, "/", &parts.version].into_iter().collect(),
        };
        info.is_resource = true;
        info.group = names.edge_group(&parts.group).map_or(parts.group, SmolStr::from);
        info.version = parts.version;
        info.resource = parts.resource;
        info.namespace = parts.namespace;
        info.name = parts.name;
        info.subresource = parts.subresource;
        info.excess = parts.excess;
        info
    }

    /// How long the answer may take at most, as the client says: lists and watches by
    /// `timeoutSeconds`, all but watches by `timeout`.
    #[must_use]
    pub fn time_asked(&self) -> Option<Duration> {
        let seconds = match self.verb {
            Verb::List | Verb::Watch => self.query.int("timeoutSeconds").ok().flatten(),
            _ => None,
        };
        let seconds =
            seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
        let whole = self.timeout().ok().flatten();
        seconds.map(Duration::from_secs).into_iter().chain(whole).min()
    }

    /// The `timeout` parameter; `None` where it sets no limit. It does not limit a watch.
    pub fn timeout(&self) -> Result<Option<Duration>, DurationError> {
        let text = self.query.text("timeout");
        if self.verb == Verb::Watch || text.is_empty() {
            return Ok(None);
        }
        let nanoseconds = u64::try_from(duration::nanoseconds(text)?).unwrap_or_default();
        Ok((nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds)))
    }

    /// `PLURAL` for the core group, else `PLURAL.GROUP`: how messages name the resource.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_string()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;

    use super::*;

    fn parse(naming: Naming, method: &Method, uri: &str) -> RequestInfo {
        RequestInfo::parse(naming.names(), method, &uri.parse().unwrap())
    }

    #[test]
    fn verbs() {
        let check = |method: Method, uri: &str, expect: Verb| {
            assert_eq!(parse(Naming::Svc, &method, uri).verb, expect, "{method} {uri}");
        };
        check(Method::GET, "/api/v1/configmaps", Verb::List);
        check(Method::GET, "/api/v1/configmaps?watch", Verb::Watch);
        check(Method::GET, "/api/v1/configmaps?watch=0", Verb::List);
        check(Method::GET, "/api/v1/namespaces/a?watch=1", Verb::Get);
        check(Method::GET, "/api/v1/watch/namespaces/a", Verb::Watch);
        check(Method::POST, "/api/v1/watch/namespaces/a/configmaps", Verb::Other);
        check(Method::DELETE, "/api/v1/namespaces/a/configmaps", Verb::DeleteCollection);
        check(Method::DELETE, "/api/v1/namespaces/a/configmaps/b", Verb::Delete);
        check(Method::GET, "/apis", Verb::Get);
    }

    #[test]
    fn how_long_it_may_take() {
        let check = |query: &str, expect: Result<Option<u64>, &str>| {
            let info = parse(Naming::Svc, &Method::GET, &format!("/api/v1/configmaps?{query}"));
            let problem = info.timeout().err().map(|problem| problem.to_string());
            assert_eq!(
                problem.map_or(Ok(info.time_asked()), Err),
                expect.map(|asked| asked.map(Duration::from_millis)).map_err(str::to_owned),
                "{query}"
            );
        };
        check("", Ok(None));
        check("timeoutSeconds=5", Ok(Some(5000)));
        check("timeoutSeconds=0&timeout=", Ok(None));
        check("timeout=0s", Ok(None));
        check("timeout=-1s", Ok(None));
        check("timeout=1500ms", Ok(Some(1500)));
        check("timeout=1m&timeoutSeconds=5", Ok(Some(5000)));
        check("timeout=1s&timeoutSeconds=5&timeout=x", Ok(Some(1000)));
        check("timeout=abc", Err("time: invalid duration \"abc\""));
        check("timeout=5&watch=1", Ok(None));
        check("timeoutSeconds=5&watch=1", Ok(Some(5000)));
    }

    #[test]
    fn an_alias_means_the_canonical_group_and_keeps_its_name() {
        let check = |naming: Naming, uri: &str, group: &str, api_version: &str| {
            let info = parse(naming, &Method::GET, uri);
            assert_eq!(
                (info.group.as_str(), info.api_version.as_str()),
                (group, api_version),
                "{uri}"
            );
        };
        check(Naming::Svc, "/apis/events.k8s.io/v1/events", "events.svc.io", "events.k8s.io/v1");
        check(Naming::Svc, "/apis/events.svc.io/v1/events", "events.svc.io", "events.svc.io/v1");
        check(
            Naming::Kubernetes,
            "/apis/events.k8s.io/v1/events",
            "events.k8s.io",
            "events.k8s.io/v1",
        );
        check(
            Naming::Kubernetes,
            "/apis/events.svc.io/v1/events",
            "events.svc.io",
            "events.svc.io/v1",
        );
        check(Naming::Svc, "/api/v1/events", "", "v1");
    }
}
