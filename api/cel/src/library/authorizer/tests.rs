//! Checks that expressions ask, and answers that are waited for.

use std::sync::{Arc, Mutex};

use super::*;
use crate::environment::{Environment, Library};
use crate::eval::{Activation, EvalError};
use crate::library::names;
use crate::program::{Budget, Program};
use crate::value::Value;

/// Decides by the verb, and keeps what was asked.
#[derive(Debug, Default)]
struct ByVerb {
    asked: Arc<Mutex<Vec<Check>>>,
}

impl Authorizer for ByVerb {
    fn decide(&self, check: &Check) -> Option<Decision> {
        self.asked.lock().unwrap().push(check.clone());
        let error = (check.verb == "fail").then(|| "broken".to_owned());
        Some(Decision {
            allowed: check.verb == "get",
            reason: format!("verb {}", check.verb),
            error,
        })
    }
}

/// The value of an expression, or the error's text.
fn evaluate(expression: &str, answers: &Arc<Answers>) -> Result<String, EvalError> {
    let environment = Environment::new(Arc::new(Library::stored()))
        .with_variable("authorizer", names::object(names::AUTHORIZER))
        .with_variable("request", names::object(names::RESOURCE_CHECK));
    let program = Program::compile(&environment, expression).unwrap();
    let target = ResourceTarget {
        resource: "pods".to_owned(),
        name: "web".to_owned(),
        ..ResourceTarget::default()
    };
    let activation = Activation::new(&environment)
        .with(0, authorizer(Arc::clone(answers)))
        .with(1, request_resource(Arc::clone(answers), target));
    let evaluation = program.evaluate(&activation, &mut Budget::new(10_000_000));
    evaluation.result.map(|value| match value {
        Value::Bool(value) => value.to_string(),
        Value::String(text) => text.to_string(),
        value => value.type_name().to_owned(),
    })
}

#[test]
fn decisions() {
    let check = |expression: &str, expect: &str| {
        let answers = Arc::new(Answers::of(ByVerb::default()));
        assert_eq!(evaluate(expression, &answers).as_deref(), Ok(expect), "{expression}");
    };
    check("authorizer.path('/healthz').check('get').allowed()", "true");
    check("authorizer.group('apps').resource('deployments').check('create').allowed()", "false");
    check("authorizer.group('').resource('pods').check('list').reason()", "verb list");
    check("authorizer.group('').resource('pods').check('list').errored()", "false");
    check("authorizer.group('').resource('pods').check('fail').error()", "broken");
    check("request.check('get').error()", "");
    check("authorizer.serviceAccount('ns', 'sa').path('/x').check('get').allowed()", "true");
}

#[test]
fn questions_name_everything() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::new(Answers::of(ByVerb { asked: Arc::clone(&asked) }));
    let expression = "authorizer.serviceAccount('ns', 'sa').group('g').resource('r').subresource('s').namespace('n')\
        .name('m').fieldSelector('a=b').labelSelector('c').check('get').allowed() \
        && request.subresource('log').check('get').allowed()";
    assert_eq!(evaluate(expression, &answers).as_deref(), Ok("true"));
    let own = |text: &str| text.to_owned();
    let first = ResourceTarget {
        group: own("g"),
        resource: own("r"),
        subresource: own("s"),
        namespace: own("n"),
        name: own("m"),
        field_selector: own("a=b"),
        label_selector: own("c"),
    };
    let second = ResourceTarget {
        resource: own("pods"),
        subresource: own("log"),
        name: own("web"),
        ..ResourceTarget::default()
    };
    let account = Subject::ServiceAccount { namespace: own("ns"), name: own("sa") };
    let expect = [(account, first), (Subject::Requester, second)].map(|(subject, target)| Check {
        subject,
        target: CheckTarget::Resource(target),
        verb: own("get"),
    });
    assert_eq!(*asked.lock().unwrap(), expect);
}

#[test]
fn what_is_no_check() {
    let check = |expression: &str, expect: &str| {
        let answers = Arc::new(Answers::of(ByVerb::default()));
        assert_eq!(evaluate(expression, &answers).unwrap_err().to_string(), expect, "{expression}");
    };
    check("authorizer.path(' ')", "path must not be empty");
    check("authorizer.group('').resource('')", "resource must not be empty");
    check("authorizer.serviceAccount('ns', 'A')", "Invalid service account name");
    check("authorizer.serviceAccount('n.s', 'a')", "Invalid service account namespace");
    check("authorizer == authorizer", "no such overload");
}

#[test]
fn a_check_is_asked_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::new(Answers::of(ByVerb { asked: Arc::clone(&asked) }));
    let expression = "authorizer.path('/x').check('get').allowed() && authorizer.path('/x').check('get').allowed()";
    for _ in 0..2 {
        assert_eq!(evaluate(expression, &answers).as_deref(), Ok("true"));
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(answers.take_questions().is_empty());
}

#[test]
fn answers_that_have_to_be_waited_for() {
    let answers = Arc::new(Answers::of(Undecided));
    // What is pending is neither true nor false: `||` does not absorb it.
    let expression = "authorizer.path('/x').check('get').allowed() || true";
    assert_eq!(evaluate(expression, &answers), Err(EvalError::Pending));
    assert_eq!(evaluate(expression, &answers), Err(EvalError::Pending));
    let questions = answers.take_questions();
    let path = Check {
        subject: Subject::Requester,
        target: CheckTarget::Path("/x".to_owned()),
        verb: "get".to_owned(),
    };
    assert_eq!(questions, std::slice::from_ref(&path));
    assert!(answers.take_questions().is_empty());
    answers.insert(path, Decision { allowed: true, ..Decision::default() });
    assert_eq!(evaluate(expression, &answers).as_deref(), Ok("true"));
    assert!(answers.take_questions().is_empty());
}
