//! The public conformance suite of the language, with release 1.35's answers where they are others.
//!
//! Invariant: every record that uses no protocol buffers and declares no functions is answered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_cel::environment::{Environment, Library};
use quorate_cel::eval::Activation;
use quorate_cel::program::{Limits, Program};
use quorate_cel::record::{decode, encode};
use quorate_meta::Naming;
use serde_json::Value as Json;

use crate::evaluation::canonical;
use crate::record::{read_type, tree};

#[test]
fn the_public_suite_is_answered() {
    let Some(directory) = suite_directory() else {
        return eprintln!("skipped: no suite beside the workspace");
    };
    let differences = read(&directory.join("differences.json"));
    let library = Arc::new(Library::stored());
    let (mut wrong, mut all) = (Vec::new(), 0);
    let mut paths: Vec<_> = std::fs::read_dir(&directory)
        .expect("the suite can be listed")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| !path.ends_with("differences.json") && !path.ends_with("INDEX.json"))
        .collect();
    paths.sort();
    for path in paths {
        for test in read(&path).as_array().expect("a list of tests") {
            if test["uses_proto"] == true || declares_functions(test) {
                continue;
            }
            all += 1;
            let words = ["file", "section", "name"]
                .map(|word| test[word].as_str().expect("a test has a name"));
            let id = words.join("/");
            let answer = differences.get(&id).filter(|answer| answer["expr"] == test["expr"]);
            if let Err(why) = check(test, answer, &library) {
                wrong.push(format!(
                    "--- {id} | {}\n{why}",
                    test["expr"].as_str().unwrap_or_default()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {all} differ\n{}", wrong.len(), wrong.join("\n"));
}

fn suite_directory() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cel/spec");
    directory.is_dir().then_some(directory)
}

fn read(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).expect("a file of the suite can be read");
    serde_json::from_str(&text).expect("a file of the suite is JSON")
}

fn declares_functions(test: &Json) -> bool {
    test["type_env"]
        .as_array()
        .is_some_and(|declared| declared.iter().any(|one| one["kind"] == "function"))
}

/// Compares one answer: with that of release 1.35 where the suite's is another.
fn check(test: &Json, answer: Option<&Json>, library: &Arc<Library>) -> Result<(), String> {
    let environment = environment(test, library);
    let source = test["expr"].as_str().expect("a test has an expression");
    let found = Program::compile(&environment, source);
    let expected_error = answer.map_or(&test["expect"]["error"], |answer| &answer["error"]);
    let program = match found {
        Ok(program) => program,
        // A server always checks: what a test evaluates without a check may be refused.
        Err(error) if test["disable_check"] == true && error.stage() == "check" => return Ok(()),
        Err(error) => {
            return expect_error(answer, expected_error, error.stage(), &error.to_string());
        }
    };
    if let Some(expected) = answer.and_then(|answer| answer["type"].as_str()) {
        same("type", expected, &program.result_type().to_string())?;
    }
    if test["check_only"] == true {
        return Ok(());
    }
    let mut activation = Activation::new(&environment);
    for (name, value) in test["bindings"].as_object().into_iter().flatten() {
        // What is bound and not declared is not seen.
        if let Some(slot) = environment.slot(name) {
            activation
                .bind(slot, decode(&tree(value), Naming::Svc).map_err(|error| error.to_string())?);
        }
    }
    let evaluation = program.evaluate_within(&activation, Limits::default());
    if let Some(expected) = answer.and_then(|answer| answer["cost"].as_u64()) {
        same("cost", &expected.to_string(), &evaluation.cost.to_string())?;
    }
    match evaluation.result {
        Err(error) => expect_error(answer, expected_error, "eval", &error.to_string()),
        Ok(value) => {
            let expected = answer.map_or(&test["expect"], |answer| &answer["result"]);
            if !expected_error.is_null() {
                return Err(format!("expected {expected_error}, found {value:?}"));
            }
            let expected = decode(&tree(expected), Naming::Svc)
                .map(|expected| canonical(&encode(&expected, Naming::Svc)));
            same(
                "result",
                &expected.map_err(|error| error.to_string())?,
                &canonical(&encode(&value, Naming::Svc)),
            )
        }
    }
}

fn environment(test: &Json, library: &Arc<Library>) -> Environment {
    let declared = test["type_env"].as_array().into_iter().flatten();
    let environment =
        declared.fold(Environment::new(Arc::clone(library)), |environment, variable| {
            let name = variable["name"].as_str().expect("a variable has a name");
            environment.with_variable(name, read_type(&variable["type"]))
        });
    match test["container"].as_str() {
        Some(container) => environment.in_container(container),
        None => environment,
    }
}

/// An error is as release 1.35 gives it; the suite itself only says that there is one.
fn expect_error(
    answer: Option<&Json>,
    expected: &Json,
    stage: &str,
    text: &str,
) -> Result<(), String> {
    match (answer, expected) {
        (_, Json::Null) => Err(format!("expected a value, found {stage}: {text}")),
        (None, _) => Ok(()),
        (Some(_), expected) => {
            same("stage", expected["stage"].as_str().unwrap_or_default(), stage)?;
            same("text", expected["text"].as_str().unwrap_or_default(), text)
        }
    }
}

fn same(what: &str, expected: &str, found: &str) -> Result<(), String> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}\nfound {found}"))
    }
}
