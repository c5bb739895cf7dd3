//! `quorate cel run`: records in, answers out, a line each.
//!
//! Invariant: every line that is not blank has an answer, in the order of the lines. A line that is no record has an answer with
//! an error of the stage `record`, and the command fails at its end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use quorate_cel::answer::{Answer, AnswerFailure, answer};
use quorate_meta::Value;
use serde::Serialize;

use super::library;
use crate::cli::Run;
use crate::error::{Error, at};

/// The stage of an error that says that a line is no record.
const STAGE_RECORD: &str = "record";

/// The line of an answer.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<LineError<'a>>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    result_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<[u64; 2]>,
}

/// The error of an answer.
#[derive(Serialize)]
struct LineError<'a> {
    stage: &'a str,
    text: &'a str,
}

/// Answers every record of the file.
pub(super) fn run(options: &Run) -> Result<(), Error> {
    let input: Box<dyn BufRead> = if options.file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(&options.file).map_err(at(&options.file))?))
    };
    let library = library(&options.environment);
    let mut output = BufWriter::new(io::stdout().lock());
    let mut malformed = 0_u64;
    for line in input.split(b'\n') {
        let line = line.map_err(at(&options.file))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record = serde_json::from_slice::<Value>(&line);
        let answered = match &record {
            Ok(record) => answer(&library, record, options.environment.naming)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        malformed += u64::from(answered.is_err());
        let id = record.as_ref().ok().and_then(|record| record.as_map()?.get("id"));
        let printed = serde_json::to_writer(&mut output, &as_line(id, &answered))
            .map_err(io::Error::from)
            .and_then(|()| output.write_all(b"\n"));
        if printed.is_err() {
            return Ok(()); // A closed pipe is the reader's choice.
        }
    }
    if output.flush().is_err() || malformed == 0 {
        return Ok(());
    }
    Err(Error::config(format_args!("{malformed} lines are not records")))
}

fn as_line<'a>(id: Option<&'a Value>, answered: &'a Result<Answer, String>) -> Line<'a> {
    let id = id.unwrap_or(&Value::Null);
    match answered {
        Ok(answer) => Line {
            id,
            result: answer.result.as_ref().ok(),
            error: answer.result.as_ref().err().map(as_error),
            result_type: answer.result_type.as_deref(),
            cost: answer.cost,
            estimate: answer.estimate.map(|range| [range.min, range.max]),
        },
        Err(text) => Line {
            id,
            result: None,
            error: Some(LineError { stage: STAGE_RECORD, text }),
            result_type: None,
            cost: None,
            estimate: None,
        },
    }
}

fn as_error(failure: &AnswerFailure) -> LineError<'_> {
    LineError { stage: failure.stage, text: &failure.text }
}
