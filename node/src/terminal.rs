//! The terminal output of commands: lines on standard output, and one on standard error when a
//! command fails.
//!
//! Invariant: a closed output (`quorate ... | head`) is not an error. Logs go elsewhere
//! ([`crate::telemetry`]).

use std::fmt::Display;
use std::io::Write;

/// Prints a line.
pub(crate) fn print_line(line: impl Display) {
    // A closed pipe is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints the one line that ends a failed command.
pub(crate) fn print_error(line: impl Display) {
    // The exit code says the same when standard error is closed.
    let _ = writeln!(std::io::stderr(), "quorate: {line}");
}

/// Prints a line about a command that goes on.
pub(crate) fn print_warning(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "quorate: warning: {line}");
}

/// Prints rows under a heading, columns aligned.
pub(crate) fn print_table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) {
    let mut widths = heading.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |cells: &[String; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        print_line(padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(&heading.map(str::to_owned));
    rows.iter().for_each(line);
}

/// Prints a line for the user that is no part of the answer.
pub(crate) fn print_note(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
