//! Answers to records: an expression with its variables goes through every step, and all that is told of it is kept.
//!
//! A record is an object: `expr`, and `vars`, which has a `type` and mostly a `value` for each variable, both in the form of
//! [`crate::record`]. A variable without a value is declared and not bound.
//!
//! Not here: where records come from, how answers are written.

use std::sync::Arc;

use quorate_meta as data;
use quorate_meta::Naming;

use crate::checker;
use crate::environment::{Environment, Library};
use crate::estimate::{UnknownSizes, estimate};
use crate::eval::Activation;
use crate::naming::in_profile;
use crate::overload::Range;
use crate::parser;
use crate::program::{CompileError, Limits, Program};
use crate::record::{MalformedRecord, decode, decode_type, encode};
use crate::types::Type;
use crate::value::Value;

/// The answer to a record.
#[derive(Debug)]
pub struct Answer {
    /// The value, in the form of [`crate::record`].
    pub result: Result<data::Value, AnswerFailure>,
    /// Static type; `None` when checking failed.
    pub result_type: Option<String>,
    /// Cost of the evaluation; `None` when there was none.
    pub cost: Option<u64>,
    /// Least and most that an evaluation can cost, for variables of any size; `None` when checking failed.
    pub estimate: Option<Range>,
}

/// Why an expression has no value.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerFailure {
    /// `parse`, `check`, `program` or `eval`.
    pub stage: &'static str,
    /// The error, of one line or several.
    pub text: String,
}

/// Answers a record with the functions of `library`; types have the names of `naming`, in the record and in the answer.
///
/// # Errors
/// When it is not a record.
pub fn answer(
    library: &Arc<Library>,
    record: &data::Value,
    naming: Naming,
) -> Result<Answer, MalformedRecord> {
    let malformed = |text: &str| MalformedRecord(text.to_owned());
    let record = record.as_map().ok_or_else(|| malformed("a record is an object"))?;
    let source = record.get("expr").and_then(data::Value::as_str);
    let source = source.ok_or_else(|| malformed("a record has a text `expr`"))?;
    let variables = match record.get("vars") {
        None => Vec::new(),
        Some(variables) => read_variables(variables, naming)?,
    };
    let environment =
        variables.iter().fold(Environment::new(library.clone()), |environment, variable| {
            environment.with_variable(variable.name, variable.value_type.clone())
        });
    let mut activation = Activation::new(&environment);
    for (slot, variable) in variables.iter().enumerate() {
        if let Some(value) = &variable.value {
            activation.bind(slot, value.clone());
        }
    }
    Ok(answer_within(&environment, &activation, source, naming))
}

/// Answers an expression of an environment.
pub fn answer_within(
    environment: &Environment,
    activation: &Activation<'_>,
    source: &str,
    naming: Naming,
) -> Answer {
    let failure =
        |stage, text: String| AnswerFailure { stage, text: in_profile(naming, &text).into_owned() };
    let refusal = |error: &CompileError| Err(failure(error.stage(), error.to_string()));
    let checked = parser::parse_with(source, environment.library().macros())
        .and_then(|ast| checker::check(environment, ast));
    let checked = match checked {
        Ok(checked) => checked,
        Err(issues) => {
            let result = refusal(&CompileError::Source(issues));
            return Answer { result, result_type: None, cost: None, estimate: None };
        }
    };
    let result_type = in_profile(naming, &checked.result_type().to_string()).into_owned();
    let known = |result, cost| Answer {
        result,
        result_type: Some(result_type),
        cost,
        estimate: Some(estimate(&checked, &UnknownSizes)),
    };
    let program = match Program::plan(environment, &checked) {
        Ok(program) => program,
        Err(error) => return known(refusal(&error), None),
    };
    let evaluation = program.evaluate_within(activation, Limits::default());
    let result = match &evaluation.result {
        Ok(value) => Ok(encode(value, naming)),
        Err(error) => Err(failure("eval", error.to_string())),
    };
    known(result, Some(evaluation.cost))
}

/// A variable of a record.
struct RecordVariable<'r> {
    name: &'r str,
    value_type: Type,
    value: Option<Value<'static>>,
}

fn read_variables(
    variables: &data::Value,
    naming: Naming,
) -> Result<Vec<RecordVariable<'_>>, MalformedRecord> {
    let variables =
        variables.as_map().ok_or_else(|| MalformedRecord("`vars` is an object".to_owned()))?;
    let read = |(name, variable): (&'_ str, &'_ data::Value)| {
        let at =
            |error: MalformedRecord| MalformedRecord(format!("variable `{name}`: {}", error.0));
        let fields = variable.as_map();
        let value_type = fields.and_then(|fields| fields.get("type"));
        let value_type =
            value_type.ok_or_else(|| at(MalformedRecord("it has no `type`".to_owned())))?;
        let value_type = decode_type(value_type, naming).map_err(at)?;
        let value = fields.and_then(|fields| fields.get("value"));
        let value = value.map(|value| decode(value, naming)).transpose().map_err(at)?;
        Ok((value_type, value))
    };
    variables
        .iter()
        .map(|(name, variable)| {
            let (value_type, value) = read((name, variable))?;
            Ok(RecordVariable { name, value_type, value })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(json: &str) -> data::Value {
        serde_json::from_str(json).unwrap()
    }

    fn check(naming: Naming, json: &str, expect: Result<&str, (&'static str, &str)>) -> Answer {
        let answer = answer(&Arc::new(Library::stored()), &record(json), naming).unwrap();
        match expect {
            Ok(value) => assert_eq!(answer.result, Ok(record(value)), "{json}"),
            Err((stage, text)) => {
                let failure = answer.result.as_ref().unwrap_err();
                assert_eq!((failure.stage, failure.text.as_str()), (stage, text), "{json}");
            }
        }
        answer
    }

    #[test]
    fn everything_known_is_told() {
        let told = check(
            Naming::Svc,
            r#"{"expr": "a + 1", "vars": {"a": {"type": "int", "value": {"int64": "2"}}}}"#,
            Ok(r#"{"int64": "3"}"#),
        );
        assert_eq!((told.result_type.as_deref(), told.cost), (Some("int"), Some(2)));
        assert_eq!(told.estimate, Some(Range { min: 2, max: 2 }));
        let told = check(
            Naming::Svc,
            r#"{"expr": "a", "vars": {"a": {"type": "dyn"}}}"#,
            Err(("eval", "no such attribute(s): a")),
        );
        assert!(told.cost.is_some() && told.estimate.is_some());
        let unknown =
            "ERROR: <input>:1:1: undeclared reference to 'b' (in container '')\n | b\n | ^";
        let told = check(Naming::Svc, r#"{"expr": "b"}"#, Err(("check", unknown)));
        assert!(told.result_type.is_none() && told.cost.is_none() && told.estimate.is_none());
    }

    #[test]
    fn types_have_the_names_of_the_profile() {
        let quantity = r#"{"expr": "type(quantity('1'))"}"#;
        check(Naming::Svc, quantity, Ok(r#"{"type": "svc.Quantity"}"#));
        let told = check(Naming::Kubernetes, quantity, Ok(r#"{"type": "kubernetes.Quantity"}"#));
        assert_eq!(told.result_type.as_deref(), Some("type(kubernetes.Quantity)"));
        let decision = r#"{"expr": "d", "vars": {"d": {"type": {"message": "kubernetes.authorization.Decision"}}}}"#;
        let told = check(Naming::Kubernetes, decision, Err(("eval", "no such attribute(s): d")));
        assert_eq!(told.result_type.as_deref(), Some("kubernetes.authorization.Decision"));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let check = |json: &str, expect: &str| {
            let error =
                answer(&Arc::new(Library::stored()), &record(json), Naming::Svc).unwrap_err();
            assert_eq!(error.0, expect, "{json}");
        };
        check("1", "a record is an object");
        check("{}", "a record has a text `expr`");
        check(r#"{"expr": "a", "vars": []}"#, "`vars` is an object");
        check(r#"{"expr": "a", "vars": {"a": {}}}"#, "variable `a`: it has no `type`");
        check(
            r#"{"expr": "a", "vars": {"a": {"type": "float"}}}"#,
            "variable `a`: a type has a known name or one known key",
        );
    }
}
