//! Comparison of results, run-time costs, and errors of planning and evaluation.

use quorate_cel::checker::Checked;
use quorate_cel::environment::Environment;
use quorate_cel::eval::Activation;
use quorate_cel::program::{Limits, Program};
use quorate_cel::record::{decode, encode};
use quorate_meta::{Naming, Value as Tree};

use crate::record::{Record, tree};

/// Plans and evaluates a checked record.
pub(crate) fn compare(
    record: &Record,
    environment: &Environment,
    checked: &Checked,
    differ: &mut impl FnMut(&'static str, String, String),
) {
    let expected_error = record.error();
    let crash = matches!(expected_error, Some(("crash", _)));
    let program = match Program::plan(environment, checked) {
        Ok(program) => program,
        Err(error) if crash => return assert_eq!(error.stage(), "program"),
        Err(error) => {
            let found = (error.stage().to_owned(), error.to_string());
            return differ_error(expected_error, Some(&found), differ);
        }
    };
    let activation = activation(record, environment);
    let evaluation = program.evaluate_within(&activation, Limits::default());
    if crash {
        return;
    }
    match &evaluation.result {
        Ok(value) => match record.json.get("result") {
            Some(expected) => {
                differ(
                    "result",
                    canonical(&tree(expected)),
                    canonical(&encode(value, Naming::Svc)),
                );
            }
            None => differ_error(expected_error, None, differ),
        },
        Err(error) => {
            differ_error(expected_error, Some(&("eval".to_owned(), error.to_string())), differ)
        }
    }
    if let Some(cost) = record.json.get("cost").and_then(serde_json::Value::as_u64) {
        differ("cost", cost.to_string(), evaluation.cost.to_string());
    }
}

fn differ_error(
    expected: Option<(&str, &str)>,
    found: Option<&(String, String)>,
    differ: &mut impl FnMut(&'static str, String, String),
) {
    let none = ("none".to_owned(), String::new());
    let (stage, text) = found.unwrap_or(&none);
    let Some((expected_stage, expected_text)) = expected else {
        return differ("stage", "none".to_owned(), format!("{stage} {text}"));
    };
    if expected_stage != stage {
        return differ(
            "stage",
            format!("{expected_stage} {expected_text}"),
            format!("{stage} {text}"),
        );
    }
    if !expected_text.starts_with("internal error: ") {
        differ("text", expected_text.to_owned(), text.clone());
    }
}

/// The record's variables, those that have a value bound.
fn activation<'a>(record: &Record, environment: &'a Environment) -> Activation<'a> {
    let mut activation = Activation::new(environment);
    for (name, variable) in record.json["vars"].as_object().into_iter().flatten() {
        if let Some(value) = variable.get("value") {
            let slot = environment.slot(name).expect("declared");
            activation
                .bind(slot, decode(&tree(value), Naming::Svc).expect("a value of the corpus"));
        }
    }
    activation
}

/// One text for values that are the same: the order of a map's entries does not count.
pub(crate) fn canonical(value: &Tree) -> String {
    match value {
        Tree::Map(map) => {
            let mut parts: Vec<String> = map
                .iter()
                .map(|(tag, held)| match (tag, held) {
                    ("map", Tree::List(entries)) => {
                        let mut entries: Vec<String> = entries.iter().map(canonical).collect();
                        entries.sort();
                        format!("map{entries:?}")
                    }
                    _ => format!("{tag}: {}", canonical(held)),
                })
                .collect();
            parts.sort();
            format!("{{{}}}", parts.join(", "))
        }
        Tree::List(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    }
}
