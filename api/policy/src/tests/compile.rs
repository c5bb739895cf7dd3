//! Which expressions compile, and what is said of the others.

use quorate_meta::Naming;
use serde_json::{Value as Json, json};

use super::{environments, validations};
use crate::{Environments, Policy};

/// The paths of what is wrong with a policy's expressions.
#[track_caller]
fn check_problems(spec: Json, expect: &[&str]) {
    let (_, problems) = Policy::compile(&environments(), &spec.into(), None);
    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, expect, "{problems:?}");
}

#[test]
fn expressions_that_do_not_compile() {
    let at = ["spec.validations[0].expression"];
    for refused in [
        "object.",
        "true false",
        "'text'",
        "1",
        "object",
        "null",
        "has(object)",
        "size(1) == 1",
        "'a' == 1",
        "nothing == 1",
        "self.metadata.name == \"a\"",
        "params.x == 1",
        "variables.x == 1",
        "request.nothing == 1",
        "request.userInfo.name == \"a\"",
        "request.operation == 1",
        "namespaceObject.metadata.owner == \"a\"",
        "authorizer.nothing()",
        "authorizer.group('').resource('pods').allowed()",
    ] {
        check_problems(validations(&[refused]), &at);
    }
    for accepted in [
        "object.metadata.name == 1",
        "object.spec.anything > 1",
        "oldObject == null || object.x == oldObject.x",
        "request.userInfo.groups.exists(g, g == 'x')",
        "authorizer.group('').resource('pods').check('get').allowed()",
        "authorizer.requestResource.check('get').allowed()",
        "namespaceObject.metadata.namespace == request.namespace",
    ] {
        check_problems(validations(&[accepted]), &[]);
    }
}

#[test]
fn every_bad_expression_is_named() {
    let spec = json!({
        "matchConditions": [{"name": "c", "expression": "2"}],
        "variables": [{"name": "v", "expression": "nothing"}],
        "validations": [{"expression": "true"}, {"expression": "a.b"}, {"expression": "1"},
            {"expression": "true", "messageExpression": "object."}],
        "auditAnnotations": [{"key": "k", "valueExpression": "true"}],
    });
    check_problems(
        spec,
        &[
            "spec.matchConditions[0].expression",
            "spec.variables[0].expression",
            "spec.validations[1].expression",
            "spec.validations[2].expression",
            "spec.validations[3].messageExpression",
            "spec.auditAnnotations[0].valueExpression",
        ],
    );
}

#[test]
fn texts_of_what_does_not_compile() {
    let check = |naming: Naming, spec: Json, expect: &str| {
        let (_, problems) = Policy::compile(&Environments::new(naming.names()), &spec.into(), None);
        assert_eq!(problems[0].text, expect);
    };
    check(Naming::Svc, validations(&["1"]), "must evaluate to bool but got int");
    check(
        Naming::Svc,
        validations(&["object.x == nothing"]),
        "compilation failed: ERROR: <input>:1:13: undeclared reference to 'nothing' (in container '')\n | object.x == nothing\n | ............^",
    );
    check(
        Naming::Kubernetes,
        validations(&["request == 1"]),
        "compilation failed: ERROR: <input>:1:9: found no matching overload for '_==_' applied to '(kubernetes.AdmissionRequest, int)'\n | request == 1\n | ........^",
    );
    let annotation = json!({"auditAnnotations": [{"key": "k", "valueExpression": "1"}]});
    check(Naming::Svc, annotation, "must evaluate to one of [string null_type] but got int");
}

#[test]
fn messages_and_annotations_have_types_and_no_authorizer() {
    let message = |text: &str, expect: &[&str]| {
        let spec = json!({
            "variables": [{"name": "v", "expression": "'x'"}],
            "validations": [{"expression": "true", "messageExpression": text}],
        });
        check_problems(spec, expect);
    };
    let at = ["spec.validations[0].messageExpression"];
    message("'name ' + object.metadata.name", &[]);
    message("variables.v", &[]);
    for refused in ["1", "object.metadata.name", "'a", "authorizer.path('/').check('get').reason()"]
    {
        message(refused, &at);
    }
    let annotation = |text: &str, expect: &[&str]| {
        check_problems(
            json!({"auditAnnotations": [{"key": "k", "valueExpression": text}]}),
            expect,
        );
    };
    let at = ["spec.auditAnnotations[0].valueExpression"];
    annotation("'v'", &[]);
    annotation("null", &[]);
    for refused in
        ["object.metadata.name == 'a' ? 'x' : null", "object.metadata.name", "1", "true", "x +"]
    {
        annotation(refused, &at);
    }
}

#[test]
fn variables_see_those_before_them() {
    let check = |variables: &[(&str, &str)], used: &str, expect: &[&str]| {
        let list: Vec<Json> = variables
            .iter()
            .map(|(name, expression)| json!({"name": name, "expression": expression}))
            .collect();
        check_problems(json!({"variables": list, "validations": [{"expression": used}]}), expect);
    };
    let validation = ["spec.validations[0].expression"];
    check(&[("v", "1")], "variables.v == 1", &[]);
    check(&[("v", "nothing")], "true", &["spec.variables[0].expression"]);
    check(&[("v", "variables.w"), ("w", "1")], "true", &["spec.variables[0].expression"]);
    check(&[("v", "1"), ("w", "variables.v + 1")], "variables.w == 2", &[]);
    check(&[("v", "'text'")], "variables.v == 1", &validation);
    check(&[("v", "1")], "variables.w == 1", &validation);
    check(&[("v", "1"), ("v", "'a'")], "variables.v == 'a'", &[]);
    check(&[("v", "1")], "has(variables.v)", &[]);
}

#[test]
fn conditions_know_params_but_no_variables() {
    let check = |expression: &str, with_params: bool, expect: &[&str]| {
        let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        check_problems(
            json!({
                "paramKind": if with_params { kind } else { Json::Null },
                "variables": [{"name": "v", "expression": "true"}],
                "matchConditions": [{"name": "a", "expression": expression}],
            }),
            expect,
        );
    };
    let at = ["spec.matchConditions[0].expression"];
    check("params.x == 'y'", true, &[]);
    check("params.x == 'y'", false, &at);
    check("variables.v", false, &at);
    check("'x'", false, &at);
    check("authorizer.path('/').check('get').allowed()", false, &[]);
}

#[test]
fn stored_expressions_may_use_what_is_newer() {
    // `math.` and the like have been there for long; comprehensions over two variables are newer.
    let newer = validations(&["[1].all(i, v, v == 1)"]).into();
    let known = Policy::compile(&environments(), &newer, Some(&newer)).1;
    assert_eq!(known, []);
}
