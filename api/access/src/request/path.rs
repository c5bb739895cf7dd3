//! Resource paths: group, version, namespace, resource, name and subresource of a URI.
//!
//! Invariants: segments are split before they are decoded, so that `%2F` inside a segment never
//! becomes a separator. A segment that decodes to text with a slash makes the path unknown, and so
//! does an empty one: `/namespaces//configmaps` must not mean all namespaces. A trailing slash is
//! ignored. Nothing is looked up.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use quorate_meta::SmolStr;
use smallvec::SmallVec;

/// Segments of a path that need no memory of their own: those of a subresource.
const ORDINARY_SEGMENTS: usize = 8;

/// The parts of a resource path, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ResourcePath {
    pub(super) group: SmolStr,
    pub(super) version: SmolStr,
    pub(super) resource: SmolStr,
    pub(super) namespace: Option<SmolStr>,
    pub(super) name: Option<SmolStr>,
    pub(super) subresource: Option<SmolStr>,
    /// The old `/watch/` form: a watch by path instead of by parameter.
    pub(super) watch: bool,
    /// Segments are left over, or one is empty or hides a slash: no such path exists.
    pub(super) excess: bool,
}

impl ResourcePath {
    /// Whether it leads through a pod, a Service or a node to another server.
    fn is_proxy(&self) -> bool {
        self.subresource.as_deref() == Some("proxy")
            && (self.group.is_empty() && !self.watch)
            && matches!(self.resource.as_str(), "nodes" | "pods" | "services")
    }
}

/// The parts of a path below a version; `None` for every other path.
pub(super) fn parse(path: &str) -> Option<ResourcePath> {
    let segments = segments(path)?;
    let mut rest = segments.iter().map(AsRef::as_ref).peekable();
    let group = match rest.next()? {
        "api" => SmolStr::default(),
        "apis" => rest.next()?.into(),
        _ => return None,
    };
    let mut found = ResourcePath { group, version: rest.next()?.into(), ..ResourcePath::default() };
    found.watch = rest.next_if_eq(&"watch").is_some();
    let first = rest.next()?;
    match (first, rest.next()) {
        // A namespace's own subresources belong to the namespace, everything else below it is an
        // object in it.
        ("namespaces", Some(namespace)) => match rest.next() {
            None => (found.resource, found.name) = ("namespaces".into(), Some(namespace.into())),
            Some(sub @ ("status" | "finalize")) => {
                (found.resource, found.name) = ("namespaces".into(), Some(namespace.into()));
                found.subresource = Some(sub.into());
            }
            Some(resource) => {
                (found.namespace, found.resource) = (Some(namespace.into()), resource.into());
                found.name = rest.next().map(Into::into);
                found.subresource = rest.next().map(Into::into);
            }
        },
        (resource, name) => {
            (found.resource, found.name) = (resource.into(), name.map(Into::into));
            found.subresource = rest.next().map(Into::into);
        }
    }
    let mut own = segments.as_slice();
    let mut is_excess = rest.next().is_some();
    // The path below a proxy is that of another server.
    if found.is_proxy() {
        is_excess = false;
        own = &own[..own.len().min(if found.namespace.is_some() { 7 } else { 5 })];
    }
    found.excess =
        is_excess || own.iter().any(|segment| segment.is_empty() || segment.contains('/'));
    Some(found)
}

/// The decoded segments; `None` when one is not text.
fn segments(path: &str) -> Option<SmallVec<[Cow<'_, str>; ORDINARY_SEGMENTS]>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').map(|segment| percent_decode_str(segment).decode_utf8().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: &str) {
        let got = parse(path).map_or_else(
            || "none".into(),
            |p| {
                let or = |o: &Option<SmolStr>| o.clone().unwrap_or_else(|| "-".into());
                let flags = format!(
                    "{}{}",
                    if p.watch { " watch" } else { "" },
                    if p.excess { " excess" } else { "" }
                );
                format!(
                    "{}/{} {} {} {} {}{flags}",
                    p.group,
                    p.version,
                    p.resource,
                    or(&p.namespace),
                    or(&p.name),
                    or(&p.subresource)
                )
            },
        );
        assert_eq!(got, expect, "{path}");
    }

    #[test]
    fn shapes() {
        check("/api/v1/namespaces", "/v1 namespaces - - -");
        check("/api/v1/namespaces/a", "/v1 namespaces - a -");
        check("/api/v1/namespaces/a/status", "/v1 namespaces - a status");
        check("/api/v1/namespaces/a/finalize", "/v1 namespaces - a finalize");
        check("/api/v1/namespaces/a/configmaps", "/v1 configmaps a - -");
        check("/api/v1/namespaces/a/configmaps/b/", "/v1 configmaps a b -");
        check("/api/v1/namespaces/a/configmaps/b/status", "/v1 configmaps a b status");
        check("/api/v1/namespaces/a/configmaps/b/c/d", "/v1 configmaps a b c excess");
        check("/api/v1/namespaces/a/pods/p/proxy/b//c/", "/v1 pods a p proxy");
        check("/api/v1/nodes/n/proxy/b%2Fc/d", "/v1 nodes - n proxy");
        check("/api/v1/namespaces/a/pods/p/log/b", "/v1 pods a p log excess");
        check("/api/v1/namespaces/a/pods//proxy/b", "/v1 pods a  proxy excess");
        check("/apis/g/v1/namespaces/a/pods/p/proxy/b", "g/v1 pods a p proxy excess");
        check("/api/v1/configmaps", "/v1 configmaps - - -");
        check("/apis/g.example/v2/things/x", "g.example/v2 things - x -");
        check("/api/v1/watch/namespaces/a/secrets/s", "/v1 secrets a s - watch");
    }

    #[test]
    fn encoded_segments() {
        check("/api/v1/namespaces/a/configmaps/%61", "/v1 configmaps a a -");
        check("/api/v1/namespaces/a/configmaps/a+b", "/v1 configmaps a a+b -");
        check("/api/v1/namespaces/a/configmaps/a%2Fb", "/v1 configmaps a a/b - excess");
        check("/api/v1/namespaces/a/configmaps/%FF", "none");
    }

    #[test]
    fn empty_segments() {
        check("/api/v1/namespaces//configmaps", "/v1 configmaps  - - excess");
        check("/api/v1/namespaces/a/configmaps//", "/v1 configmaps a  - excess");
        check("/api/v1//configmaps", "/v1  - configmaps - excess");
        check("/apis//v1/things", "/v1 things - - - excess");
        check("/api/v1/namespaces//", "/v1 namespaces -  - excess");
    }

    #[test]
    fn other_paths() {
        for path in [
            "/",
            "/version",
            "/api",
            "/api/v1",
            "/api/v1/",
            "/apis",
            "/apis/g",
            "/apis/g/v1",
            "/livez/ping",
        ] {
            check(path, "none");
        }
    }
}
