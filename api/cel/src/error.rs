//! Errors found in an expression before it runs, with the place they stand at.
//!
//! Invariants: printed in source order, each with its line and a pointer under the place, in the reference engine's form.
//! Not here: errors while an expression runs (`eval`).

use std::fmt;
use std::sync::Arc;

/// Errors printed at most; of the others only the number is printed.
const PRINTED_ERRORS_MAX: usize = 100;
/// Longest source line (in bytes) that is printed under an error.
const SNIPPET_BYTES_MAX: usize = 16_384;

/// At which step an expression was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Syntax, or a macro's arguments.
    Parse,
    /// Types, references, or literal arguments.
    Check,
}

/// A place in the source: line from 1, column from 0 in code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: i32,
    /// Column.
    pub column: i32,
}

impl Place {
    /// Of an error that stands at no place.
    pub const NONE: Place = Place { line: -1, column: -1 };

    /// The place of a byte of the source.
    pub fn of(source: &str, byte: usize) -> Place {
        let before = &source[..byte.min(source.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        Place { line: line as i32, column: before[line_start..].chars().count() as i32 }
    }
}

/// One error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Where it stands.
    pub place: Place,
    /// What is wrong.
    pub message: String,
}

/// All errors of an expression.
#[derive(Debug, Clone)]
pub struct Issues {
    /// At which step they were found.
    pub stage: Stage,
    /// The errors, in source order.
    pub issues: Vec<Issue>,
    source: Arc<str>,
}

impl Issues {
    /// Errors in any order.
    pub fn new(stage: Stage, source: Arc<str>, mut issues: Vec<Issue>) -> Issues {
        issues.sort_by_key(|issue| issue.place);
        Issues { stage, issues, source }
    }
}

impl std::error::Error for Issues {}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.issues.iter().take(PRINTED_ERRORS_MAX).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(
                f,
                "ERROR: <input>:{}:{}: {}",
                issue.place.line,
                issue.place.column + 1,
                issue.message
            )?;
            write_snippet(f, &self.source, issue.place)?;
        }
        match self.issues.len().saturating_sub(PRINTED_ERRORS_MAX) {
            0 => Ok(()),
            more => write!(f, "\n{more} more errors were truncated"),
        }
    }
}

/// The line of a place and a pointer under it; full-width marks stand under characters beyond ASCII.
fn write_snippet(f: &mut fmt::Formatter<'_>, source: &str, place: Place) -> fmt::Result {
    let Some(line) =
        usize::try_from(place.line - 1).ok().and_then(|index| source.split('\n').nth(index))
    else {
        return Ok(());
    };
    if source.is_empty() || line.len() > SNIPPET_BYTES_MAX {
        return Ok(());
    }
    let line = line.replace('\t', " ");
    write!(f, "\n | {line}\n | ")?;
    let mut characters = line.chars();
    for character in characters.by_ref().take(place.column.max(0) as usize) {
        f.write_str(if character.is_ascii() { "." } else { "\u{ff0e}" })?;
    }
    f.write_str(if characters.next().is_none_or(|character| character.is_ascii()) {
        "^"
    } else {
        "\u{ff3e}"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, byte: usize, expect: &str) {
        let issue = Issue { place: Place::of(source, byte), message: "bad".to_owned() };
        assert_eq!(Issues::new(Stage::Parse, source.into(), vec![issue]).to_string(), expect);
    }

    #[test]
    fn an_error_points_at_its_place() {
        check("a + b", 4, "ERROR: <input>:1:5: bad\n | a + b\n | ....^");
        check("a\n\tbc", 3, "ERROR: <input>:2:2: bad\n |  bc\n | .^");
        check("'é' +", 5, "ERROR: <input>:1:5: bad\n | 'é' +\n | .\u{ff0e}..^");
        check("é", 0, "ERROR: <input>:1:1: bad\n | é\n | \u{ff3e}");
        check("a", 1, "ERROR: <input>:1:2: bad\n | a\n | .^");
    }

    #[test]
    fn errors_are_sorted_and_counted_beyond_a_hundred() {
        let issues = (0..102)
            .rev()
            .map(|line| Issue { place: Place { line, column: 0 }, message: String::new() });
        let text = Issues::new(Stage::Check, "".into(), issues.collect()).to_string();
        assert!(text.starts_with("ERROR: <input>:0:1: \nERROR: <input>:1:1: "), "{text}");
        assert!(text.ends_with("\n2 more errors were truncated"), "{text}");
    }
}
