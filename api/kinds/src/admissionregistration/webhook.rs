//! Admission webhooks: the client configuration, rules, policies and timeout of one webhook.

use std::collections::HashSet;

use quorate_meta::{Cause, name};
use quorate_webhook::check_client_config;

use super::{expressions, match_resources};
use crate::field::Field;
use crate::rules;

/// The versions of AdmissionReview that the server can send.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// Seconds that a webhook may take, at most.
const MAX_TIMEOUT: i64 = 30;

/// Checks a webhook.
pub(super) fn check(hook: &Field<'_>, mutating: bool, causes: &mut Vec<Cause>) {
    rules::name(&hook.get("name"), full_name, causes);
    hook.get("rules").items().for_each(|rule| match_resources::rule_with_operations(&rule, causes));
    for (field, supported) in
        [("failurePolicy", ["Fail", "Ignore"]), ("matchPolicy", ["Equivalent", "Exact"])]
    {
        rules::optional_one_of(&hook.get(field), &supported, causes);
    }
    let effects = hook.get("sideEffects");
    if effects.is_set() {
        rules::optional_one_of(&effects, &["None", "NoneOnDryRun"], causes);
    } else {
        causes.push(effects.required("must specify one of None, NoneOnDryRun"));
    }
    let timeout = hook.get("timeoutSeconds");
    if timeout.is_set() {
        rules::between(
            &timeout,
            1,
            MAX_TIMEOUT,
            "the timeout value must be between 1 and 30 seconds",
            causes,
        );
    }
    rules::selector(&hook.get("namespaceSelector"), causes);
    rules::selector(&hook.get("objectSelector"), causes);
    let client = hook.get("clientConfig");
    check_client_config(client.path(), client.value(), causes);
    if mutating {
        rules::optional_one_of(&hook.get("reinvocationPolicy"), &["IfNeeded", "Never"], causes);
    }
    expressions::match_conditions(&hook.get("matchConditions"), causes);
    check_review_versions(&hook.get("admissionReviewVersions"), causes);
}

/// Why a text is no domain name with at least three labels.
fn full_name(text: &str) -> Vec<String> {
    let wrong = name::dns_subdomain(text);
    if wrong.is_empty() && text.split('.').count() < 3 {
        return vec![
            "should be a domain with at least three segments separated by dots".to_owned(),
        ];
    }
    wrong
}

fn check_review_versions(versions: &Field<'_>, causes: &mut Vec<Cause>) {
    if versions.is_empty() {
        causes.push(versions.required("must specify one of v1, v1beta1"));
        return;
    }
    let mut seen = HashSet::new();
    for version in versions.items() {
        causes.extend(version.invalid_for(&name::dns_1035_label(version.text())));
        if !seen.insert(version.text()) {
            causes.push(version.invalid("duplicate version"));
        }
    }
    if !REVIEW_VERSIONS.iter().any(|known| seen.contains(known)) {
        causes.push(versions.invalid("must include at least one of v1, v1beta1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check_with(pointer: &str, value: Json, expect: &[&str]) {
        let rule = json!({"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["b"], "scope": "*"});
        let hook = json!({
            "name": "one.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": [rule], "timeoutSeconds": 10, "failurePolicy": "Fail"
        });
        let object = patched(&hook, &[(pointer, value)]);
        let mut causes = Vec::new();
        check(&Field::root(&object), true, &mut causes);
        assert_eq!(shown(&causes), expect, "{pointer}");
    }

    #[test]
    fn webhooks() {
        check_with("/matchPolicy", json!("Exact"), &[]);
        check_with("/name", json!("one"), &["Invalid name"]);
        check_with("/sideEffects", json!(null), &["Required sideEffects"]);
        check_with("/sideEffects", json!("Some"), &["NotSupported sideEffects"]);
        check_with("/failurePolicy", json!("Maybe"), &["NotSupported failurePolicy"]);
        check_with("/reinvocationPolicy", json!("Maybe"), &["NotSupported reinvocationPolicy"]);
        for seconds in [0, 31] {
            check_with("/timeoutSeconds", json!(seconds), &["Invalid timeoutSeconds"]);
        }
        check_with(
            "/objectSelector",
            json!({"matchLabels": {"a b": "c"}}),
            &["Invalid objectSelector.matchLabels"],
        );
    }

    #[test]
    fn versions_of_reviews() {
        check_with("/admissionReviewVersions", json!(null), &["Required admissionReviewVersions"]);
        check_with("/admissionReviewVersions", json!(["v2", "v1"]), &[]);
        check_with("/admissionReviewVersions", json!(["v9"]), &["Invalid admissionReviewVersions"]);
        check_with(
            "/admissionReviewVersions",
            json!(["v1", "v1"]),
            &["Invalid admissionReviewVersions[1]"],
        );
    }

    #[test]
    fn places() {
        let client = |client: Json, expect: &[&str]| check_with("/clientConfig", client, expect);
        client(json!({}), &["Required clientConfig"]);
        client(json!({"url": "x"}), &["Invalid clientConfig.url", "Invalid clientConfig.url"]);
        client(
            json!({"service": {"namespace": "n"}}),
            &["Required clientConfig.service.namespace"],
        );
    }
}
