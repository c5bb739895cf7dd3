//! `quorate cel`: the corpus through the command in both profiles, and what people see.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::quorate;

/// The names of types that differ between the profiles.
const TYPES: [&str; 9] = [
    "URL",
    "Quantity",
    "Semver",
    "NamedFormat",
    "authorization.Authorizer",
    "authorization.PathCheck",
    "authorization.GroupCheck",
    "authorization.ResourceCheck",
    "authorization.Decision",
];

fn output(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

/// The lines of `quorate cel run -` for these records.
fn answers(records: &str, options: &[&str]) -> Vec<Value> {
    let output = output(quorate(&["cel", "run", "-"]).args(options), records);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The value with the entries of every map in one order; that of the language's maps is free.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(tag, held)| {
                let mut held = canonical(held);
                if let ("map", Value::Array(entries)) = (tag.as_str(), &mut held) {
                    entries.sort_by_key(Value::to_string);
                }
                (tag.clone(), held)
            })
            .collect(),
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

/// What of a record's answer is wrong; nothing is expected of the engine where the reference crashed.
fn difference(record: &Value, answer: &Value) -> Option<String> {
    let expected = &record["error"];
    if expected["stage"] == "crash" {
        return None;
    }
    let is_internal = |error: &Value| {
        error["text"].as_str().is_some_and(|text| text.starts_with("internal error: "))
    };
    let same = |member: &str| match record.get(member) {
        None if member == "cost" || member == "estimate" || member == "type" => true,
        None => answer.get(member).is_none(),
        Some(Value::Object(_)) if member == "error" && is_internal(expected) => {
            answer["error"]["stage"] == expected["stage"]
        }
        Some(value) => answer.get(member).map(canonical) == Some(canonical(value)),
    };
    ["id", "result", "error", "type", "cost", "estimate"]
        .into_iter()
        .find(|member| !same(member))
        .map(|member| format!("{member}: {record} {answer}"))
}

#[test]
fn the_corpus_is_answered_in_both_profiles() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cel/corpus");
    let Ok(files) = std::fs::read_dir(&corpus) else {
        return println!("skipped: there is no {}", corpus.display());
    };
    let records: String =
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let renamed = TYPES.iter().fold(records.clone(), |records, name| {
        records.replace(&format!("svc.{name}"), &format!("kubernetes.{name}"))
    });
    for (naming, records) in [("svc", &records), ("kubernetes", &renamed)] {
        let answers = answers(records, &["--naming", naming]);
        let records: Vec<Value> =
            records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), records.len());
        assert!(records.len() > 7000, "{} records", records.len());
        let wrong: Vec<_> = records
            .iter()
            .zip(&answers)
            .filter_map(|(record, answer)| difference(record, answer))
            .collect();
        assert!(wrong.is_empty(), "{naming}: {} are wrong, such as {}", wrong.len(), wrong[0]);
    }
}

#[test]
fn lines_that_are_no_records_lose_nothing() {
    let records = "{\"id\": \"a\", \"expr\": \"1\"}\nnothing\n\n{\"id\": \"b\"}\n{\"id\": \"c\", \"expr\": \"2\"}";
    let output = output(&mut quorate(&["cel", "run", "-"]), records);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "quorate: 2 lines are not records\n");
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["result"], json!({"int64": "1"}));
    assert_eq!((&lines[1]["id"], &lines[1]["error"]["stage"]), (&Value::Null, &json!("record")));
    let text = "not of the form of records: a record has a text `expr`";
    assert_eq!(lines[2], json!({"id": "b", "error": {"stage": "record", "text": text}}));
    assert_eq!(lines[3]["result"], json!({"int64": "2"}));
    let missing = quorate(&["cel", "run", "/nowhere"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).starts_with("quorate: /nowhere: "));
}

#[test]
fn an_expression_is_evaluated_for_people() {
    let check = |arguments: &[&str], code: i32, out: &str, error: &str| {
        let output = quorate(&["cel", "eval"]).args(arguments).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), error, "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), out, "{arguments:?}");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    };
    let replicas = "self={\"replicas\": 3}";
    check(&["self.replicas <= 5", "--var", replicas], 0, "true\n", "");
    check(
        &["[self.replicas, n]", "--var", replicas, "--var", "n=1.5", "--type", "--cost"],
        0,
        "[3, 1.5]\ntype: list(dyn)\ncost: 13\nestimate: 12 to 12\n",
        "",
    );
    let undeclared = "quorate: ERROR: <input>:1:5: undeclared reference to 'b' (in container '')\n | 1 + b\n | ....^\n";
    check(&["1 + b"], 2, "", undeclared);
    check(&["1 / 0"], 1, "", "quorate: division by zero\n");
    check(&["type(quantity('1k'))"], 0, "svc.Quantity\n", "");
    check(&["type(quantity('1k'))", "--naming", "kubernetes"], 0, "kubernetes.Quantity\n", "");
    check(&["isSemver('1.0.0')", "--emulated-version", "1.35"], 0, "true\n", "");
    let output =
        quorate(&["cel", "eval", "isSemver('1.0.0')", "--emulated-version", "1.33"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("undeclared reference to 'isSemver'"));
}
