//! What policies find in a request.

use std::sync::Arc;

use quorate_cel::library::authorizer::{
    Answers, Authorizer, Check, CheckTarget, Decision, ResourceTarget, Undecided,
};
use quorate_meta::Value;
use serde_json::{Value as Json, json};

use super::{environments, validations};
use crate::expression::OUT_OF_BUDGET;
use crate::{Findings, Inputs, Pending, Policy};

/// Decides by the verb alone.
#[derive(Debug)]
struct OnlyGet;

impl Authorizer for OnlyGet {
    fn decide(&self, check: &Check) -> Option<Decision> {
        let allowed = check.verb == "get";
        Some(Decision { allowed, ..Decision::default() })
    }
}

fn evaluate_with(spec: &Json, object: Json, answers: &Arc<Answers>) -> Result<Findings, Pending> {
    let environments = environments();
    let (policy, problems) = Policy::compile(&environments, &spec.clone().into(), None);
    assert_eq!(problems, []);
    let object: Value = object.into();
    let request: Value = json!({
        "operation": "CREATE", "name": "a", "namespace": "n", "dryRun": false,
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "userInfo": {"username": "jane", "groups": ["devs"]},
    })
    .into();
    let namespace: Value = json!({"metadata": {"name": "n", "labels": {"stage": "test"}}}).into();
    policy.evaluate(
        &environments,
        &Inputs {
            object: &object,
            old_object: &Value::Null,
            request: &request,
            namespace: &namespace,
            params: &Value::Null,
            answers,
            request_resource: &ResourceTarget::default(),
        },
    )
}

fn evaluate(spec: &Json, object: Json) -> Findings {
    evaluate_with(spec, object, &Arc::new(Answers::of(OnlyGet))).unwrap()
}

#[track_caller]
fn check_messages(spec: &Json, object: Json, expect: &[&str]) {
    let findings = evaluate(spec, object);
    let messages: Vec<&str> =
        findings.denials.iter().map(|denial| denial.message.as_str()).collect();
    assert_eq!(messages, expect);
}

#[test]
fn messages() {
    let check = |mut validation: Json, expect: &str| {
        validation["expression"] = json!("  object.metadata.name != 'a'\n");
        let spec = json!({"validations": [validation]});
        check_messages(&spec, json!({"metadata": {"name": "a"}}), &[expect]);
        check_messages(&spec, json!({"metadata": {"name": "b"}}), &[]);
    };
    check(json!({"message": "as told"}), "as told");
    check(json!({}), "failed expression: object.metadata.name != 'a'");
    check(json!({"message": "  trimmed  "}), "trimmed");
    check(json!({"message": "m", "messageExpression": "'the expression'"}), "the expression");
    let said = "'name ' + object.metadata.name + ' by ' + request.operation";
    check(json!({"messageExpression": said}), "name a by CREATE");
    let errs = "'x' + string(object.data.nothing)";
    check(json!({"message": "instead", "messageExpression": errs}), "instead");
    check(json!({"messageExpression": errs}), "failed expression: object.metadata.name != 'a'");
    check(json!({"message": "not empty", "messageExpression": "'' + '  '"}), "not empty");
    check(json!({"message": "one line", "messageExpression": "'a\\nb'"}), "one line");
    check(json!({"messageExpression": "'  around  '"}), "around");
}

#[test]
fn errors_follow_the_failure_policy() {
    let check = |failure: &str, object: Json, expect: &[&str]| {
        let spec = json!({
            "failurePolicy": failure,
            "validations": [{"expression": "object.data.a == 'x'", "message": "a is not x"}],
        });
        check_messages(&spec, object, expect);
    };
    let error = "expression 'object.data.a == 'x'' resulted in error: no such key: data";
    for (failure, on_error) in [("Fail", [error].as_slice()), ("Ignore", [].as_slice())] {
        check(failure, json!({"data": {"a": "x"}}), &[]);
        check(failure, json!({"data": {"a": "y"}}), &["a is not x"]);
        check(failure, json!({}), on_error);
    }
}

#[test]
fn a_false_condition_goes_before_errors() {
    let check = |failure: &str, data: Json, expect: &[&str]| {
        let spec = json!({
            "failurePolicy": failure,
            "matchConditions": [
                {"name": "a", "expression": "object.data.a == 'x'"},
                {"name": "b", "expression": "object.data.b == 'x'"},
            ],
            "validations": [{"expression": "false", "message": "evaluated"}],
        });
        check_messages(&spec, json!({ "data": data }), expect);
    };
    let error = "expression 'object.data.b == 'x'' resulted in error: no such key: b";
    let both = format!("[{}, {error}]", error.replace("b ==", "a ==").replace("key: b", "key: a"));
    check("Fail", json!({"a": "x", "b": "x"}), &["evaluated"]);
    check("Fail", json!({"a": "x"}), &[error]);
    check("Fail", json!({"b": "y"}), &[]);
    check("Fail", json!({}), &[&both]);
    check("Ignore", json!({"a": "x", "b": "x"}), &["evaluated"]);
    check("Ignore", json!({"a": "x"}), &[]);
    check("Ignore", json!({"b": "y"}), &[]);
}

#[test]
fn variables_are_evaluated_when_they_are_read() {
    let spec = json!({
        "variables": [
            {"name": "data", "expression": "has(object.data) ? object.data : {}"},
            {"name": "size", "expression": "'n' in variables.data ? int(variables.data.n) : 0"},
            {"name": "odd", "expression": "variables.size % 2 == 1"},
            {"name": "list", "expression": "variables.data.map(k, k)"},
            {"name": "unused", "expression": "int(object.metadata.name) > 0"},
        ],
        "validations": [
            {"expression": "variables.size < 10", "messageExpression": "'size ' + string(variables.size)"},
            {"expression": "!variables.odd", "message": "odd"},
            {"expression": "size(variables.list) < 3", "message": "too many"},
            {"expression": "has(variables.data)"},
        ],
    });
    let check = |data: Json, expect: &[&str]| check_messages(&spec, json!({"data": data}), expect);
    check_messages(&spec, json!({}), &[]);
    check(json!({"n": "4"}), &[]);
    check(json!({"n": "5"}), &["odd"]);
    check(json!({"n": "12"}), &["size 12"]);
    check(json!({"a": "", "b": "", "c": ""}), &["too many"]);
    check(
        json!({"n": "x"}),
        &[
            "expression 'variables.size < 10' resulted in error: composited variable \"size\" fails to evaluate: type conversion error from 'string' to 'int'",
            "expression '!variables.odd' resulted in error: composited variable \"odd\" fails to evaluate: composited variable \"size\" fails to evaluate: type conversion error from 'string' to 'int'",
        ],
    );
}

#[test]
fn budgets() {
    let nest = |depth: usize| {
        let open: String = (0..depth).map(|at| format!("variables.l.all(x{at}, ")).collect();
        format!("{open}x{} != 'z'{}", depth - 1, ")".repeat(depth))
    };
    let check = |failure: &str, validations: Vec<Json>, words: usize, expect: &[&str]| {
        let spec = json!({
            "failurePolicy": failure,
            "variables": [{"name": "l", "expression": "object.data.l.split(',')"}],
            "validations": validations,
        });
        check_messages(&spec, json!({"data": {"l": vec!["abc"; words].join(",")}}), expect);
    };
    let of =
        |expression: String, message: &str| json!({"expression": expression, "message": message});
    let one = || vec![of(nest(3), "evaluated"), of("false".to_owned(), "the next")];
    let limit = format!(
        "expression '{}' resulted in error: operation cancelled: actual cost limit exceeded",
        nest(3)
    );
    check("Fail", one(), 20, &["the next"]);
    check("Fail", one(), 400, &[&limit, "the next"]);
    check("Ignore", one(), 400, &["the next"]);
    let sum = || {
        let parts = (0..40).map(|at| of(nest(2), &format!("part {at}")));
        std::iter::once(of("false".to_owned(), "the first")).chain(parts).collect()
    };
    check("Fail", sum(), 20, &["the first"]);
    check("Fail", sum(), 350, &[OUT_OF_BUDGET]);
    check("Ignore", sum(), 350, &[]);
}

#[test]
fn audit_annotations() {
    let check = |failure: &str, expression: &str, expect: &[&str], errors: usize| {
        let spec = json!({
            "failurePolicy": failure,
            "auditAnnotations": [{"key": "k", "valueExpression": expression}],
        });
        let findings = evaluate(&spec, json!({"metadata": {"name": "a"}}));
        let values: Vec<&str> =
            findings.annotations.iter().map(|annotation| annotation.value.as_str()).collect();
        assert_eq!((values.as_slice(), findings.annotation_errors.len()), (expect, errors));
    };
    check("Fail", "'  name ' + object.metadata.name + ' '", &["name a"], 0);
    check("Fail", "' '", &[], 0);
    check("Fail", "null", &[], 0);
    check("Fail", "'x' + string(object.data.x)", &[], 1);
    check("Ignore", "'x' + string(object.data.x)", &[], 0);
}

#[test]
fn what_expressions_see() {
    let check = |expression: &str, expect: bool| {
        let spec = validations(&[expression]);
        let findings = evaluate(&spec, json!({"kind": "ConfigMap", "metadata": {"name": "a"}}));
        assert_eq!(findings.denials.is_empty(), expect, "{expression}: {findings:?}");
    };
    check("oldObject == null && object != null", true);
    check("request.namespace == 'n' && request.kind.kind == object.kind", true);
    check("has(request.subResource)", false);
    check("!request.dryRun && 'devs' in request.userInfo.groups", true);
    check("namespaceObject.metadata.labels.stage == 'test'", true);
    check("authorizer.path('/x').check('get').allowed()", true);
    check("authorizer.requestResource.check('delete').allowed()", false);
    check(
        "authorizer.serviceAccount('n', 's').group('').resource('pods').check('get').allowed()",
        true,
    );
}

#[test]
fn missing_answers_are_asked_for() {
    let spec = json!({
        "variables": [{"name": "may", "expression": "authorizer.path('/x').check('get').allowed()"}],
        "validations": [{"expression": "variables.may", "message": "may not"}],
    });
    let answers = Arc::new(Answers::of(Undecided));
    assert_eq!(evaluate_with(&spec, json!({}), &answers), Err(Pending));
    let questions = answers.take_questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].target, CheckTarget::Path("/x".to_owned()));
    answers.insert(questions[0].clone(), Decision::default());
    let findings = evaluate_with(&spec, json!({}), &answers).unwrap();
    assert_eq!(findings.denials[0].message, "may not");
}

#[test]
fn variables_nested_deeply_end_with_an_error() {
    let parens = |inner: &str| format!("{}{inner}{}", "[".repeat(20), "][0]".repeat(20));
    let variables: Vec<Json> = (0..100)
        .map(|at| {
            let before = if at == 0 { "1".to_owned() } else { format!("variables.v{}", at - 1) };
            json!({"name": format!("v{at}"), "expression": parens(&before)})
        })
        .collect();
    let check = |last: usize, expect: bool| {
        let spec = json!({
            "variables": variables,
            "validations": [{"expression": format!("variables.v{last} == 1")}],
        });
        assert_eq!(evaluate(&spec, json!({})).denials.is_empty(), expect, "{last}");
    };
    check(20, true);
    check(99, false);
}
