//! What a job says of its work: how much, how often it may fail, and what its pods are like.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, name};

use crate::registry::kinds::core::pod::template;
use crate::registry::kinds::field::Field;
use crate::registry::kinds::{rules, workload};

const MODES: [&str; 2] = ["NonIndexed", "Indexed"];
const COUNTS: [&str; 7] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];
/// Pods of an indexed job side by side.
const MAX_PARALLEL: i64 = 100_000;
/// Rules of a policy.
const MAX_RULES: usize = 20;
/// Exit codes in a rule.
const MAX_CODES: usize = 255;
/// Bytes of the name of who runs the job instead of the cluster.
const MAX_MANAGER: usize = 63;

/// What is wrong with the work; the selector is a matter of those who have one.
pub(super) fn check(names: &Names, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    workload::not_negative(spec, &COUNTS, causes);
    check_mode(spec, causes);
    check_manager(&spec.get("managedBy"), causes);
    check_failure_policy(spec, causes);
    check_success_policy(spec, causes);
    check_replacement(spec, causes);
    let template = spec.get("template");
    template::check(names, &template, causes);
    let policy = template.get("spec.restartPolicy");
    if !matches!(policy.text(), "OnFailure" | "Never") {
        causes.push(policy.required("valid values: \"OnFailure\", \"Never\""));
    } else if spec.get("podFailurePolicy").is_set() && policy.text() != "Never" {
        causes.push(policy.invalid("only \"Never\" is supported when podFailurePolicy is specified"));
    }
}

fn check_mode(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let mode = spec.get("completionMode");
    rules::optional_one_of(&mode, &MODES, causes);
    if mode.text() == "Indexed" {
        let (completions, parallelism) = (spec.get("completions"), spec.get("parallelism"));
        if !completions.is_set() {
            causes.push(completions.required("when completion mode is Indexed"));
        }
        if parallelism.int().is_some_and(|pods| pods > MAX_PARALLEL) {
            causes.push(
                parallelism
                    .invalid(&format!("must be less than or equal to {MAX_PARALLEL} when completion mode is Indexed")),
            );
        }
        let (most, completions) = (spec.get("maxFailedIndexes"), completions.int().unwrap_or_default());
        if most.int().is_some_and(|most| most > completions) {
            causes.push(most.invalid("must be less than or equal to completions"));
        }
    } else {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if spec.get(field).is_set() {
                causes.push(spec.get(field).invalid("requires indexed completion mode"));
            }
        }
    }
    let most = spec.get("maxFailedIndexes");
    if most.is_set() && !spec.get("backoffLimitPerIndex").is_set() {
        let limit = spec.get("backoffLimitPerIndex");
        causes.push(limit.required("when maxFailedIndexes is specified"));
    }
}

fn check_manager(manager: &Field<'_>, causes: &mut Vec<Cause>) {
    if !manager.is_set() {
        return;
    }
    if manager.text().len() > MAX_MANAGER {
        causes.push(Cause::too_long(manager.path(), MAX_MANAGER));
    }
    let parts = manager.text().split_once('/');
    match parts {
        Some((domain, path)) if !path.is_empty() => causes.extend(manager.invalid_for(&name::dns_subdomain(domain))),
        _ => causes.push(manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")")),
    }
}

fn check_failure_policy(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let list = spec.get("podFailurePolicy.rules");
    if list.items().len() > MAX_RULES {
        causes.push(Cause::too_many(list.path(), list.items().len(), MAX_RULES));
    }
    let containers: HashSet<String> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| {
            let list = spec.get("template.spec").get(field);
            list.items().map(|container| container.get("name").text().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    for rule in list.items() {
        let (action, codes, conditions) = (rule.get("action"), rule.get("onExitCodes"), rule.get("onPodConditions"));
        rules::one_of(&action, &["Count", "FailIndex", "FailJob", "Ignore"], causes);
        if action.text() == "FailIndex" && !spec.get("backoffLimitPerIndex").is_set() {
            causes.push(action.invalid("requires the backoffLimitPerIndex to be set"));
        }
        match (codes.is_set(), conditions.is_empty()) {
            (true, false) => {
                causes.push(rule.invalid("specifying both OnExitCodes and OnPodConditions is not supported"))
            }
            (false, true) => causes.push(rule.invalid("specifying one of OnExitCodes and OnPodConditions is required")),
            (true, true) => check_codes(&codes, &containers, causes),
            (false, false) => {
                for condition in conditions.items() {
                    causes
                        .extend(condition.get("type").invalid_for(&name::qualified_name(condition.get("type").text())));
                    rules::one_of(&condition.get("status"), &["False", "True", "Unknown"], causes);
                }
            }
        }
    }
}

fn check_codes(codes: &Field<'_>, containers: &HashSet<String>, causes: &mut Vec<Cause>) {
    let (operator, values, container) = (codes.get("operator"), codes.get("values"), codes.get("containerName"));
    rules::one_of(&operator, &["In", "NotIn"], causes);
    if container.is_set() && !containers.contains(container.text()) {
        causes.push(container.invalid("must be one of the container or initContainer names in the pod template"));
    }
    match values.items().len() {
        0 => causes.push(values.invalid("at least one value is required")),
        count if count > MAX_CODES => causes.push(Cause::too_many(values.path(), count, MAX_CODES)),
        _ => {}
    }
    let mut before: Option<i64> = None;
    for code in values.items() {
        let number = code.int().unwrap_or_default();
        if operator.text() == "In" && number == 0 {
            causes.push(code.invalid("must not be 0 for the In operator"));
        }
        match before {
            Some(last) if last == number => causes.push(code.duplicate()),
            Some(last) if last > number => causes.push(values.invalid("must be ordered")),
            _ => {}
        }
        before = Some(number);
    }
}

fn check_success_policy(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let policy = spec.get("successPolicy");
    if !policy.is_set() {
        return;
    }
    if spec.get("completionMode").text() != "Indexed" {
        causes.push(policy.invalid("requires indexed completion mode"));
    }
    let list = policy.get("rules");
    match list.items().len() {
        0 => causes.push(list.required("at least one rules must be specified when the successPolicy is specified")),
        count if count > MAX_RULES => causes.push(Cause::too_many(list.path(), count, MAX_RULES)),
        _ => {}
    }
    for rule in list.items() {
        let (indexes, count) = (rule.get("succeededIndexes"), rule.get("succeededCount"));
        if !indexes.is_set() && !count.is_set() {
            causes.push(rule.required("at least one of succeededCount or succeededIndexes must be specified"));
        }
        rules::not_negative(&count, causes);
        if indexes.is_set() && !are_indexes(indexes.text(), spec.get("completions").int().unwrap_or_default()) {
            causes.push(indexes.invalid("error parsing succeededIndexes"));
        }
    }
}

/// Whether a text is a list of ascending numbers and ranges below a bound: `1,3-5`.
fn are_indexes(text: &str, bound: i64) -> bool {
    let mut last = -1;
    text.split(',').all(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) else { return false };
        let ascends = from > last && to >= from && to < bound;
        last = to;
        ascends
    })
}

fn check_replacement(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let policy = spec.get("podReplacementPolicy");
    if spec.get("podFailurePolicy").is_set() {
        rules::optional_one_of(&policy, &["Failed"], causes);
    } else {
        rules::optional_one_of(&policy, &["Failed", "TerminatingOrFailed"], causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds::rules::testing::shown;
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    #[test]
    fn specifications() {
        let run = |change: serde_json::Value, expect: &[&str]| {
            let container =
                json!({"name": "c", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
            let template =
                json!({"spec": {"containers": [container], "restartPolicy": "Never", "dnsPolicy": "Default"}});
            let mut object = Value::from(json!({"spec": {"template": template, "completions": 4}}));
            crate::patch::merge(&mut object, json!({ "spec": change }).into());
            let mut causes = Vec::new();
            check(Naming::Svc.names(), &Field::root(&object).get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect, "{change}");
        };
        run(json!({}), &[]);
        run(
            json!({"parallelism": -1, "ttlSecondsAfterFinished": -1}),
            &["Invalid spec.parallelism", "Invalid spec.ttlSecondsAfterFinished"],
        );
        run(json!({"completionMode": "Odd"}), &["NotSupported spec.completionMode"]);
        run(json!({"completionMode": "Indexed", "completions": null}), &["Required spec.completions"]);
        run(json!({"backoffLimitPerIndex": 1}), &["Invalid spec.backoffLimitPerIndex"]);
        run(json!({"template": {"spec": {"restartPolicy": "Always"}}}), &["Required spec.template.spec.restartPolicy"]);
        let rule =
            json!({"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [3, 4]}});
        run(json!({"podFailurePolicy": {"rules": [rule]}, "podReplacementPolicy": "Failed"}), &[]);
        run(
            json!({"podFailurePolicy": {"rules": [rule]}, "template": {"spec": {"restartPolicy": "OnFailure"}}}),
            &["Invalid spec.template.spec.restartPolicy"],
        );
        let odd = json!({"action": "Odd", "onExitCodes": {"containerName": "d", "operator": "In", "values": [0]}});
        let at = "spec.podFailurePolicy.rules[0]";
        run(
            json!({"podFailurePolicy": {"rules": [odd]}}),
            &[
                &format!("NotSupported {at}.action"),
                &format!("Invalid {at}.onExitCodes.containerName"),
                &format!("Invalid {at}.onExitCodes.values[0]"),
            ],
        );
        run(json!({"podReplacementPolicy": "Soon"}), &["NotSupported spec.podReplacementPolicy"]);
        run(
            json!({"successPolicy": {"rules": []}}),
            &["Invalid spec.successPolicy", "Required spec.successPolicy.rules"],
        );
        run(json!({"managedBy": "me"}), &["Invalid spec.managedBy"]);
    }

    #[test]
    fn indexes() {
        for (text, expect) in [("0-1", true), ("0,2-3", true), ("1,0", false), ("4", false), ("x", false), ("", false)]
        {
            assert_eq!(are_indexes(text, 4), expect, "{text}");
        }
    }
}
