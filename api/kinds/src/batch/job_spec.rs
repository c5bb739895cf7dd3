//! JobSpec: parallelism, completions, failure and success policies, and the pod template.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, name};

use super::completion_indexes;
use crate::core::pod::template;
use crate::field::Field;
use crate::{rules, workload};

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
/// Parallelism and failed indexes of an Indexed job, at most.
const MAX_PARALLEL: i64 = 100_000;
/// Completions of a job with `backoffLimitPerIndex` above which the lower limits hold.
const MANY_COMPLETIONS: i64 = 100_000;
/// Parallelism and failed indexes above that many completions, at most.
const MAX_OF_MANY: i64 = 10_000;
/// Rules of a policy, at most.
const MAX_RULES: usize = 20;
/// Exit codes of a rule, at most.
const MAX_CODES: usize = 255;
/// Pod conditions of a rule, at most.
const MAX_CONDITIONS: usize = 20;
/// Bytes of a list of indexes, at most.
const MAX_INDEXES: usize = 64 << 10;
/// Bytes of `managedBy`, at most.
const MAX_MANAGER: usize = 63;
/// What the path in `managedBy` may have besides letters and digits.
const PATH_MARKS: &[u8] = b"/-._~%!$&'()*+,;=:";
const BAD_PATH: &str =
    "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/// The warning about an Indexed job of very many completions and much parallelism.
pub(super) fn warning(spec: &Field<'_>) -> Option<String> {
    const WHY: &str = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
    let above = |field: &str, limit: i64| spec.get(field).int().is_some_and(|count| count > limit);
    let is_told = spec.get("completionMode").text() == "Indexed"
        && above("completions", MANY_COMPLETIONS)
        && above("parallelism", MAX_OF_MANY);
    is_told.then(|| WHY.to_owned())
}

/// Checks a specification; the selector is checked by the strategy of Job, as a job template has
/// none.
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
        causes
            .push(policy.invalid("only \"Never\" is supported when podFailurePolicy is specified"));
    }
}

fn check_mode(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let mode = spec.get("completionMode");
    rules::optional_one_of(&mode, &MODES, causes);
    if mode.text() == "Indexed" {
        check_indexed(spec, causes);
    } else {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if spec.get(field).is_set() {
                causes.push(spec.get(field).invalid("requires indexed completion mode"));
            }
        }
    }
    let (limit, failed) = (spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes"));
    if failed.is_set() && !limit.is_set() {
        causes.push(limit.required("when maxFailedIndexes is specified"));
    }
}

fn check_indexed(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (completions, parallelism) = (spec.get("completions"), spec.get("parallelism"));
    let failed = spec.get("maxFailedIndexes");
    let mut at_most = |field: &Field<'_>, most: i64, when: &str| {
        if field.int().is_some_and(|number| number > most) {
            causes.push(field.invalid(&format!("must be less than or equal to {most}{when}")));
        }
    };
    at_most(&parallelism, MAX_PARALLEL, " when completion mode is Indexed");
    at_most(&failed, MAX_PARALLEL, "");
    let many = completions.int().is_some_and(|completions| completions > MANY_COMPLETIONS)
        && spec.get("backoffLimitPerIndex").is_set();
    if many {
        let when = format!(
            " when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
        );
        at_most(&parallelism, MAX_OF_MANY, &when);
        at_most(&failed, MAX_OF_MANY, &when);
        if !failed.is_set() {
            causes.push(failed.required(&format!(
                "must be specified when completions is above {MANY_COMPLETIONS}"
            )));
        }
    }
    if !completions.is_set() {
        causes.push(completions.required("when completion mode is Indexed"));
    } else if failed.int() > completions.int() {
        causes.push(failed.invalid("must be less than or equal to completions"));
    }
}

fn check_manager(manager: &Field<'_>, causes: &mut Vec<Cause>) {
    if !manager.is_set() {
        return;
    }
    let parts = manager.text().split_once('/');
    match parts {
        _ if manager.is_empty() => causes.push(manager.required("")),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            let wrong = name::dns_subdomain(domain);
            causes.extend(wrong.iter().map(|why| Cause::invalid(manager.path(), domain, why)));
            if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || PATH_MARKS.contains(&byte))
            {
                causes.push(Cause::invalid(manager.path(), path, BAD_PATH));
            }
        }
        _ => {
            causes.push(manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"))
        }
    }
    if manager.text().len() > MAX_MANAGER {
        causes.push(Cause::too_long(manager.path(), MAX_MANAGER));
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
            list.items()
                .map(|container| container.get("name").text().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    for rule in list.items() {
        let (action, codes, conditions) =
            (rule.get("action"), rule.get("onExitCodes"), rule.get("onPodConditions"));
        rules::one_of(&action, &["Count", "FailIndex", "FailJob", "Ignore"], causes);
        if action.text() == "FailIndex" && !spec.get("backoffLimitPerIndex").is_set() {
            causes.push(action.invalid("requires the backoffLimitPerIndex to be set"));
        }
        match (codes.is_set(), conditions.is_empty()) {
            (true, false) => causes.push(
                rule.invalid("specifying both OnExitCodes and OnPodConditions is not supported"),
            ),
            (false, true) => causes.push(
                rule.invalid("specifying one of OnExitCodes and OnPodConditions is required"),
            ),
            (true, true) => check_codes(&codes, &containers, causes),
            (false, false) => {
                if conditions.items().len() > MAX_CONDITIONS {
                    causes.push(Cause::too_many(
                        conditions.path(),
                        conditions.items().len(),
                        MAX_CONDITIONS,
                    ));
                }
                for condition in conditions.items() {
                    causes.extend(
                        condition
                            .get("type")
                            .invalid_for(&name::qualified_name(condition.get("type").text())),
                    );
                    rules::one_of(&condition.get("status"), &["False", "True", "Unknown"], causes);
                }
            }
        }
    }
}

fn check_codes(codes: &Field<'_>, containers: &HashSet<String>, causes: &mut Vec<Cause>) {
    let (operator, values, container) =
        (codes.get("operator"), codes.get("values"), codes.get("containerName"));
    rules::one_of(&operator, &["In", "NotIn"], causes);
    if container.is_set() && !containers.contains(container.text()) {
        causes
            .push(container.invalid(
                "must be one of the container or initContainer names in the pod template",
            ));
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
        return;
    }
    let list = policy.get("rules");
    match list.items().len() {
        0 => {
            causes.push(list.required(
                "at least one rules must be specified when the successPolicy is specified",
            ))
        }
        count if count > MAX_RULES => causes.push(Cause::too_many(list.path(), count, MAX_RULES)),
        _ => {}
    }
    let completions = spec.get("completions").int().unwrap_or_default();
    list.items().for_each(|rule| check_success_rule(&rule, completions, causes));
}

fn check_success_rule(rule: &Field<'_>, completions: i64, causes: &mut Vec<Cause>) {
    let (list, count) = (rule.get("succeededIndexes"), rule.get("succeededCount"));
    if !list.is_set() && !count.is_set() {
        causes.push(
            rule.required("at least one of succeededCount or succeededIndexes must be specified"),
        );
    }
    if list.text().len() > MAX_INDEXES {
        causes.push(Cause::too_long(list.path(), MAX_INDEXES));
    }
    let listed = completion_indexes::count(list.text(), completions);
    if let Err(why) = &listed {
        causes.push(list.invalid(&format!("error parsing succeededIndexes: {why}")));
    }
    rules::not_negative(&count, causes);
    let mut at_most = |most: i64, what: &str| {
        if count.int().is_some_and(|count| count > most) {
            causes.push(count.invalid(&format!("must be less than or equal to {most} ({what})")));
        }
    };
    at_most(completions, "the number of specified completions");
    if list.is_set() {
        let what = "the number of indexes in the specified succeededIndexes field";
        at_most(listed.unwrap_or_default(), what);
    }
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
    use crate::rules::tests::shown;
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    #[test]
    fn specifications() {
        let run = |change: serde_json::Value, expect: &[&str]| {
            let container = json!({"name": "c", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
            let template = json!({"spec": {"containers": [container], "restartPolicy": "Never", "dnsPolicy": "Default"}});
            let mut object = Value::from(json!({"spec": {"template": template, "completions": 4}}));
            quorate_registry::patch::merge(&mut object, json!({ "spec": change }).into());
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
        run(
            json!({"completionMode": "Indexed", "completions": null}),
            &["Required spec.completions"],
        );
        run(json!({"backoffLimitPerIndex": 1}), &["Invalid spec.backoffLimitPerIndex"]);
        run(
            json!({"template": {"spec": {"restartPolicy": "Always"}}}),
            &["Required spec.template.spec.restartPolicy"],
        );
        let rule = json!({"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [3, 4]}});
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
        run(json!({"successPolicy": {"rules": []}}), &["Invalid spec.successPolicy"]);
        run(json!({"managedBy": "me"}), &["Invalid spec.managedBy"]);
        run(json!({"managedBy": ""}), &["Required spec.managedBy"]);
        run(json!({"managedBy": "A_b/c d"}), &["Invalid spec.managedBy", "Invalid spec.managedBy"]);
    }

    #[test]
    fn indexed_jobs() {
        let run = |change: serde_json::Value, expect: &[&str]| {
            let mut object = Value::from(json!({"completionMode": "Indexed", "completions": 4}));
            quorate_registry::patch::merge(&mut object, change.clone().into());
            let mut causes = Vec::new();
            check_mode(&Field::root(&object), &mut causes);
            check_success_policy(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect, "{change}");
        };
        run(json!({}), &[]);
        run(
            json!({"maxFailedIndexes": 5, "backoffLimitPerIndex": 1}),
            &["Invalid maxFailedIndexes"],
        );
        let many = |change: serde_json::Value, expect: &[&str]| {
            let mut all = json!({"completions": 200_000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10_000});
            for (key, value) in change.as_object().unwrap() {
                all[key] = value.clone();
            }
            run(all, expect);
        };
        many(json!({"parallelism": 10_000}), &[]);
        many(
            json!({"parallelism": 20_000, "maxFailedIndexes": null}),
            &["Invalid parallelism", "Required maxFailedIndexes"],
        );
        many(json!({"maxFailedIndexes": 10_001}), &["Invalid maxFailedIndexes"]);
        many(json!({"maxFailedIndexes": 100_001}), &["Invalid maxFailedIndexes"; 2]);
        many(
            json!({"backoffLimitPerIndex": null, "maxFailedIndexes": null, "parallelism": 20_000}),
            &[],
        );
        let rule = |rule: serde_json::Value, expect: &[&str]| {
            run(json!({"successPolicy": {"rules": [rule]}}), expect)
        };
        let (list, count) = (
            "Invalid successPolicy.rules[0].succeededIndexes",
            "Invalid successPolicy.rules[0].succeededCount",
        );
        rule(json!({"succeededIndexes": "0,2-3", "succeededCount": 3}), &[]);
        rule(json!({"succeededIndexes": "0-1", "succeededCount": 3}), &[count]);
        rule(json!({"succeededCount": 5}), &[count]);
        rule(json!({"succeededIndexes": "4"}), &[list]);
        rule(json!({}), &["Required successPolicy.rules[0]"]);
    }

    #[test]
    fn very_many_indexes_are_warned_of() {
        let check = |mode: &str, completions: i64, parallelism: i64, expect: bool| {
            let spec = json!({"completionMode": mode, "completions": completions, "parallelism": parallelism});
            let object = Value::from(spec);
            assert_eq!(warning(&Field::root(&object)).is_some(), expect, "{object:?}");
        };
        check("Indexed", 100_001, 10_001, true);
        check("Indexed", 100_000, 10_001, false);
        check("Indexed", 100_001, 10_000, false);
        check("NonIndexed", 100_001, 10_001, false);
    }
}
