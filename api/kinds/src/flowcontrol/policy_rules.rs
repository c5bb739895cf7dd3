//! PolicyRulesWithSubjects: which subjects and which requests a FlowSchema matches.

use quorate_meta::{Cause, name};

use crate::field::Field;
use crate::rules;

const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

const NOT_A_NAMESPACE: &str = "each member of this list must be '*' or a DNS-1123 label";

/// Checks a rule.
pub(super) fn check(rule: &Field<'_>, causes: &mut Vec<Cause>) {
    let (subjects, resources, paths) =
        (rule.get("subjects"), rule.get("resourceRules"), rule.get("nonResourceRules"));
    if subjects.is_empty() {
        causes.push(subjects.required("subjects must contain at least one value"));
    }
    subjects.items().for_each(|subject| check_subject(&subject, causes));
    if resources.is_empty() && paths.is_empty() {
        causes.push(
            rule.required("at least one of resourceRules and nonResourceRules has to be non-empty"),
        );
    }
    resources.items().for_each(|rule| check_resources(&rule, causes));
    paths.items().for_each(|rule| check_paths(&rule, causes));
}

fn check_subject(subject: &Field<'_>, causes: &mut Vec<Cause>) {
    const BODIES: [(&str, &str); 3] =
        [("User", "user"), ("Group", "group"), ("ServiceAccount", "serviceAccount")];
    let kind = subject.get("kind");
    let Some((_, own)) = BODIES.iter().find(|(known, _)| *known == kind.text()) else {
        causes.push(Cause::not_supported(
            kind.path(),
            kind.text(),
            &["Group", "ServiceAccount", "User"],
        ));
        return;
    };
    let body = subject.get(own);
    if body.is_set() {
        rules::required(&body.get("name"), causes);
    } else {
        causes.push(
            body.required(&format!("{own} is required when subject kind is '{}'", kind.text())),
        );
    }
    if *own == "serviceAccount" && body.is_set() {
        if body.get("name").text() != "*" {
            rules::optional_name(&body.get("name"), name::dns_subdomain, causes);
        }
        let namespace = body.get("namespace");
        if namespace.is_empty() {
            causes.push(namespace.required("must specify namespace for service account"));
        } else {
            causes.extend(namespace.invalid_for(&name::dns_label(namespace.text())));
        }
    }
    for (other, field) in BODIES.iter().filter(|(_, field)| field != own) {
        if subject.get(field).is_set() {
            let why = format!("{field} is forbidden when subject kind is not '{other}'");
            causes.push(subject.get(field).forbidden(&why));
        }
    }
}

fn check_resources(rule: &Field<'_>, causes: &mut Vec<Cause>) {
    check_verbs(&rule.get("verbs"), causes);
    for (field, one, many) in
        [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")]
    {
        let list = rule.get(field);
        if list.is_empty() {
            causes.push(list.required(&format!("resource rules must supply at least one {one}")));
        }
        star_alone(&list, many, causes);
    }
    let namespaces = rule.get("namespaces");
    if namespaces.is_empty() && !rule.get("clusterScope").is_true() {
        let why = "resource rules that are not cluster scoped must supply at least one namespace";
        causes.push(namespaces.required(why));
    }
    if star_alone(&namespaces, "namespaces", causes) {
        return;
    }
    for namespace in namespaces.items() {
        let wrong = name::dns_label(namespace.text());
        causes.extend(
            wrong.iter().map(|why| namespace.invalid(&format!("{NOT_A_NAMESPACE}; {why}"))),
        );
    }
}

fn check_paths(rule: &Field<'_>, causes: &mut Vec<Cause>) {
    check_verbs(&rule.get("verbs"), causes);
    let urls = rule.get("nonResourceURLs");
    if urls.is_empty() {
        causes.push(urls.required("nonResourceURLs must contain at least one value"));
    }
    if star_alone(&urls, "non-resource URLs", causes) {
        return;
    }
    for url in urls.items() {
        let text = url.text();
        let inner = text.strip_suffix("/*").unwrap_or(text);
        match text {
            "" => causes.push(url.invalid("must not be empty")),
            "/" => {}
            _ if !text.starts_with('/') => causes.push(url.invalid("must start with slash")),
            _ if text.contains(' ') => causes.push(url.invalid("must not contain white-space")),
            _ if text.contains("//") => causes.push(url.invalid("must not contain double slash")),
            _ if inner.contains('*') => {
                causes.push(url.invalid("wildcard can only do suffix matching"))
            }
            _ => {}
        }
    }
}

/// Checks verbs; rules of non-resource URLs have the same verbs as rules of resources.
fn check_verbs(verbs: &Field<'_>, causes: &mut Vec<Cause>) {
    if verbs.is_empty() {
        causes.push(verbs.required("verbs must contain at least one value"));
    } else if !star_alone(verbs, "verbs", causes)
        && verbs.items().any(|verb| !VERBS.contains(&verb.text()))
    {
        causes.push(Cause::not_supported(verbs.path(), verbs.value().clone(), &VERBS));
    }
}

/// Whether the list has a `*`, which must be its only item.
fn star_alone(list: &Field<'_>, what: &str, causes: &mut Vec<Cause>) -> bool {
    let has_star = list.items().any(|item| item.text() == "*");
    if has_star && list.items().len() > 1 {
        causes.push(list.invalid(&format!("if '*' is present, must not specify other {what}")));
    }
    has_star
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check_with(pointer: &str, value: Json, expect: &[&str]) {
        let resources = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["x"]});
        let paths = json!({"verbs": ["get"], "nonResourceURLs": ["/x/*"]});
        let subject = json!({"kind": "User", "user": {"name": "u"}});
        let rule = json!({"subjects": [subject], "resourceRules": [resources], "nonResourceRules": [paths]});
        let object = patched(&rule, &[(pointer, value)]);
        let mut causes = Vec::new();
        check(&Field::root(&object), &mut causes);
        assert_eq!(shown(&causes), expect, "{pointer}");
    }

    #[test]
    fn subjects() {
        let subject = |subject: Json, expect: &[&str]| check_with("/subjects/0", subject, expect);
        check_with("/subjects", json!([]), &["Required subjects"]);
        subject(json!({"kind": "Group", "group": {"name": "g"}}), &[]);
        subject(
            json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "*"}}),
            &[],
        );
        subject(json!({"kind": "Robot"}), &["NotSupported subjects[0].kind"]);
        subject(json!({"kind": "User"}), &["Required subjects[0].user"]);
        subject(json!({"kind": "User", "user": {"name": ""}}), &["Required subjects[0].user.name"]);
        let both = json!({"kind": "User", "user": {"name": "u"}, "group": {"name": "g"}});
        subject(both, &["Forbidden subjects[0].group"]);
        let account =
            json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": "A", "name": "a b"}});
        subject(
            account,
            &[
                "Invalid subjects[0].serviceAccount.name",
                "Invalid subjects[0].serviceAccount.namespace",
            ],
        );
    }

    #[test]
    fn requested_devices() {
        check_with("/resourceRules", json!([]), &[]);
        check_with("/resourceRules/0/verbs", json!([]), &["Required resourceRules[0].verbs"]);
        check_with(
            "/resourceRules/0/verbs",
            json!(["*", "get"]),
            &["Invalid resourceRules[0].verbs"],
        );
        check_with(
            "/resourceRules/0/verbs",
            json!(["look"]),
            &["NotSupported resourceRules[0].verbs"],
        );
        check_with(
            "/resourceRules/0/apiGroups",
            json!([]),
            &["Required resourceRules[0].apiGroups"],
        );
        check_with(
            "/resourceRules/0/resources",
            json!(["*", "x"]),
            &["Invalid resourceRules[0].resources"],
        );
        check_with(
            "/resourceRules/0/namespaces",
            json!([]),
            &["Required resourceRules[0].namespaces"],
        );
        check_with(
            "/resourceRules/0/namespaces",
            json!(["A"]),
            &["Invalid resourceRules[0].namespaces[0]"],
        );
        for bad in ["", "x", "/a b", "/a//b", "/a/*/b"] {
            check_with(
                "/nonResourceRules/0/nonResourceURLs",
                json!([bad]),
                &["Invalid nonResourceRules[0].nonResourceURLs[0]"],
            );
        }
        check_with(
            "/nonResourceRules/0/nonResourceURLs",
            json!(["*", "/"]),
            &["Invalid nonResourceRules[0].nonResourceURLs"],
        );
        check_with("/nonResourceRules/0/verbs", json!(["list"]), &[]);
        check_with(
            "/nonResourceRules/0/verbs",
            json!(["head"]),
            &["NotSupported nonResourceRules[0].verbs"],
        );
    }
}
