//! Comparison of every record's answer with the one that this crate gives.
//!
//! Invariants: an answer differs only where `known_differences.txt` says so and why, and everything listed there differs, so
//! that the list only shrinks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use quorate_cel::checker;
use quorate_cel::environment::Library;
use quorate_cel::error::{Issues, Stage};
use quorate_cel::estimate::{UnknownSizes, estimate};
use quorate_cel::parser;

use crate::evaluation;
use crate::record::{Record, corpus_directory, files};

/// One answer that is not as expected.
struct Difference {
    id: String,
    aspect: &'static str,
    expected: String,
    found: String,
}

#[test]
fn every_record_is_answered_as_the_reference_answers_it() {
    let Some(directory) = corpus_directory() else {
        return eprintln!("skipped: no corpus beside the workspace");
    };
    let library = Arc::new(Library::stored());
    let (mut differences, mut counts) = (Vec::new(), BTreeMap::new());
    for (file, records) in files(&directory) {
        let found = differences.len();
        records.iter().for_each(|record| compare(record, &library, &mut differences));
        let wrong: BTreeSet<_> =
            differences[found..].iter().map(|difference| &difference.id).collect();
        counts.insert(file, (records.len() - wrong.len(), records.len()));
    }
    eprintln!("{}", report(&counts, &differences));
    let known: BTreeSet<(&str, &str)> = include_str!("known_differences.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let mut words = line.split_whitespace();
            (words.next().expect("an id"), words.next().expect("an aspect"))
        })
        .collect();
    let found: BTreeSet<(&str, &str)> =
        differences.iter().map(|difference| (&*difference.id, difference.aspect)).collect();
    let unexpected: Vec<_> = found.difference(&known).collect();
    let vanished: Vec<_> = known.difference(&found).collect();
    assert!(
        unexpected.is_empty(),
        "{} answers differ, such as {:?}",
        unexpected.len(),
        &unexpected[..unexpected.len().min(5)]
    );
    assert!(vanished.is_empty(), "no longer different, to be taken off the list: {vanished:?}");
}

/// Counts of right answers, by file; writes all differences to a file and names it.
fn report(counts: &BTreeMap<String, (usize, usize)>, differences: &[Difference]) -> String {
    let all = counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let line =
        |file: &str, (right, all): (usize, usize)| format!("{file:16} {right:4} of {all:4}\n");
    let mut text: String = counts.iter().map(|(file, count)| line(file, *count)).collect();
    text += &line("all", all);
    let lines = differences.iter().map(|Difference { id, aspect, expected, found }| {
        serde_json::json!({"id": id, "aspect": aspect, "expected": expected, "found": found})
            .to_string()
            + "\n"
    });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cel_differences.jsonl");
    std::fs::write(&path, lines.collect::<String>()).expect("the report can be written");
    text + &format!("differences: {}", path.display())
}

fn compare(record: &Record, library: &Arc<Library>, differences: &mut Vec<Difference>) {
    let mut differ = |aspect, expected: String, found: String| {
        if expected != found {
            differences.push(Difference { id: record.id.clone(), aspect, expected, found });
        }
    };
    let environment = record.environment(library);
    let checked = parser::parse(&record.expr).and_then(|ast| checker::check(&environment, ast));
    let refused = record.error().filter(|(stage, _)| matches!(*stage, "parse" | "check"));
    match (checked, refused) {
        (Err(issues), Some((stage, text))) => {
            differ("stage", stage.to_owned(), stage_name(&issues).to_owned());
            differ("text", text.to_owned(), issues.to_string());
        }
        (Err(issues), None) => {
            if !matches!(record.error(), Some(("crash", _))) {
                differ("stage", "none".to_owned(), issues.to_string());
            }
        }
        (Ok(_), Some((stage, text))) => {
            differ("stage", format!("{stage} {text}"), "none".to_owned())
        }
        (Ok(checked), None) => {
            evaluation::compare(record, &environment, &checked, &mut differ);
            if let Some(expected) = record.json["type"].as_str() {
                differ("type", expected.to_owned(), checked.result_type().to_string());
            }
            if let Some([min, max]) = record.json["estimate"].as_array().map(Vec::as_slice) {
                let found = estimate(&checked, &UnknownSizes);
                differ(
                    "estimate",
                    format!("[{min}, {max}]"),
                    format!("[{}, {}]", found.min, found.max),
                );
            }
        }
    }
}

fn stage_name(issues: &Issues) -> &'static str {
    match issues.stage {
        Stage::Parse => "parse",
        Stage::Check => "check",
    }
}
