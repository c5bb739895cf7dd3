//! IngressRule: a host, its paths and their backends.

use quorate_meta::{Cause, name};

use crate::field::Field;
use crate::rules;
use quorate_meta::net;

/// Substrings that a path must not have.
const NOT_IN_PATHS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
/// Suffixes that a path must not have.
const NOT_AT_END: [&str; 2] = ["/..", "/."];
const NOT_ABSOLUTE: &str = "must be an absolute path";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case \
                        alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for \
                        validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Checks a rule.
pub(super) fn rule(rule: &Field<'_>, causes: &mut Vec<Cause>) {
    let host = rule.get("host");
    if !host.text().is_empty() {
        if net::address(host.text()).is_some() {
            causes.push(host.invalid("must be a DNS name, not an IP address"));
        }
        causes.extend(host.invalid_for(&host_problems(host.text())));
    }
    let http = rule.get("http");
    if !http.is_set() {
        return;
    }
    rules::required(&http.get("paths"), causes);
    for path in http.get("paths").items() {
        check_path(&path, causes);
    }
}

fn check_path(entry: &Field<'_>, causes: &mut Vec<Cause>) {
    let (kind, path) = (entry.get("pathType"), entry.get("path"));
    let text = path.text();
    let relative = || Cause::invalid(path.path(), text, NOT_ABSOLUTE);
    match kind.text() {
        _ if !kind.is_set() => {
            causes.push(kind.required("pathType must be specified"));
            return;
        }
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                causes.push(relative());
            }
            let inside = NOT_IN_PATHS.iter().filter(|part| text.contains(**part));
            causes.extend(inside.map(|part| path.invalid(&format!("must not contain '{part}'"))));
            let end = NOT_AT_END.iter().filter(|part| text.ends_with(**part));
            causes.extend(end.map(|part| path.invalid(&format!("cannot end with '{part}'"))));
        }
        "ImplementationSpecific" if text.is_empty() || text.starts_with('/') => {}
        "ImplementationSpecific" => causes.push(relative()),
        _ => causes.push(kind.not_supported(&["Exact", "ImplementationSpecific", "Prefix"])),
    }
    backend(&entry.get("backend"), causes);
}

/// Checks a backend: a Service or a reference to another object.
pub(super) fn backend(backend: &Field<'_>, causes: &mut Vec<Cause>) {
    let (service, resource) = (backend.get("service"), backend.get("resource"));
    let wrong = |why: &str| Cause::invalid(backend.path(), "", why);
    match (service.is_set(), resource.is_set()) {
        (true, true) => causes.push(wrong("cannot set both resource and service backends")),
        (false, false) => causes.push(wrong("resource or service backend is required")),
        (false, true) => typed_reference(&resource, causes),
        (true, false) => {
            rules::name(&service.get("name"), name::dns_1035_label, causes);
            let (port_name, number) = (service.get("port.name"), service.get("port.number"));
            match (port_name.is_empty(), number.int().unwrap_or_default() == 0) {
                (false, false) => causes.push(wrong("cannot set both port name & port number")),
                (true, true) => causes.push(backend.required("port name or number is required")),
                (false, true) => {
                    causes.extend(port_name.invalid_for(&rules::port_name(port_name.text())))
                }
                (true, false) => rules::port(&number, causes),
            }
        }
    }
}

/// Checks a TypedLocalObjectReference: optional group, kind and name.
pub(super) fn typed_reference(reference: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::optional_name(&reference.get("apiGroup"), name::dns_subdomain, causes);
    for field in ["kind", "name"] {
        rules::name(&reference.get(field), name::path_segment, causes);
    }
}

/// Why a text is no host; it may begin with `*.`.
pub(super) fn host_problems(host: &str) -> Vec<String> {
    if !host.contains('*') {
        return name::dns_subdomain(host);
    }
    let fits = host.strip_prefix("*.").is_some_and(|rest| name::dns_subdomain(rest).is_empty());
    if fits { Vec::new() } else { vec![WILDCARD.to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(change: &[(&str, Json)], expect: &[&str]) {
        let path = json!({"path": "/p", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"name": "http"}}}});
        let object = patched(&json!({"host": "x.example.com", "http": {"paths": [path]}}), change);
        let mut causes = Vec::new();
        rule(&Field::root(&object), &mut causes);
        assert_eq!(shown(&causes), expect, "{change:?}");
    }

    #[test]
    fn hosts() {
        check(&[], &[]);
        check(&[("/host", json!("*.example.com"))], &[]);
        check(&[("/host", json!("")), ("/http", json!(null))], &[]);
        for bad in ["A_b", "1.2.3.4", "a.*.com", "*", "*."] {
            check(&[("/host", json!(bad))], &["Invalid host"]);
        }
    }

    #[test]
    fn paths() {
        const PATH: &str = "/http/paths/0/path";
        check(&[("/http/paths", json!([]))], &["Required http.paths"]);
        check(&[("/http/paths/0/pathType", json!(null))], &["Required http.paths[0].pathType"]);
        check(
            &[("/http/paths/0/pathType", json!("Regex"))],
            &["NotSupported http.paths[0].pathType"],
        );
        for bad in ["p", "", "/a/../b", "/a//b", "/a/.", "/a%2Fb"] {
            check(&[(PATH, json!(bad))], &["Invalid http.paths[0].path"]);
        }
        let kind = ("/http/paths/0/pathType", json!("ImplementationSpecific"));
        check(&[kind.clone(), (PATH, json!(""))], &[]);
        check(&[kind.clone(), (PATH, json!("/a//b"))], &[]);
        check(&[kind, (PATH, json!("a"))], &["Invalid http.paths[0].path"]);
    }

    #[test]
    fn backends() {
        let with =
            |backend: Json, expect: &[&str]| check(&[("/http/paths/0/backend", backend)], expect);
        const AT: &str = "http.paths[0].backend";
        with(json!({}), &[&format!("Invalid {AT}")]);
        with(json!({"resource": {"apiGroup": "example.com", "kind": "K", "name": "n"}}), &[]);
        with(
            json!({"resource": {"kind": "", "name": ""}}),
            &[&format!("Required {AT}.resource.kind"), &format!("Required {AT}.resource.name")],
        );
        let service = |name: &str, port: Json| json!({"service": {"name": name, "port": port}});
        with(service("s", json!({})), &[&format!("Required {AT}")]);
        with(service("s", json!({"name": "a", "number": 1})), &[&format!("Invalid {AT}")]);
        with(
            service("s", json!({"number": 70000})),
            &[&format!("Invalid {AT}.service.port.number")],
        );
        with(service("s", json!({"name": "A_b"})), &[&format!("Invalid {AT}.service.port.name")]);
        with(service("", json!({"number": 1})), &[&format!("Required {AT}.service.name")]);
        with(service("1a", json!({"number": 1})), &[&format!("Invalid {AT}.service.name")]);
        let mut both = service("s", json!({"number": 1}));
        both["resource"] = json!({"kind": "K", "name": "n"});
        with(both, &[&format!("Invalid {AT}")]);
    }
}
