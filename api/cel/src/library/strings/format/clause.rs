//! The clauses of format strings: `%s`, `%.3f`, `%%`.
//!
//! Invariant: a format string is read byte by byte, so that a clause that is none is named by its byte.

use crate::library::number::parse_int;

/// Most digits after the point that a clause may ask for.
const MAX_PRECISION: i64 = 32_767;

/// What an argument is printed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    /// `%s`.
    Text,
    /// `%d`.
    Decimal,
    /// `%f`, with digits after the point.
    Fixed(Option<usize>),
    /// `%e`, with the least width.
    Scientific(Option<usize>),
    /// `%b`.
    Binary,
    /// `%x`, and `%X` when `upper`.
    Hexadecimal {
        /// Whether digits above 9 are upper-case.
        upper: bool,
    },
    /// `%o`.
    Octal,
}

/// A piece of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'f> {
    /// Text that is copied.
    Copied(&'f str),
    /// The next argument; an error says why the clause is none.
    Clause(Result<Clause, String>),
    /// A percent sign at the end.
    Unfinished,
}

/// The pieces of a format string; nothing follows a clause that is none.
#[derive(Debug)]
pub(super) struct Pieces<'f> {
    rest: &'f str,
}

impl<'f> Pieces<'f> {
    pub(super) fn of(format: &'f str) -> Self {
        Self { rest: format }
    }
}

impl<'f> Iterator for Pieces<'f> {
    type Item = Piece<'f>;

    fn next(&mut self) -> Option<Piece<'f>> {
        let rest = self.rest;
        if rest.is_empty() {
            return None;
        }
        let Some(after) = rest.strip_prefix('%') else {
            let (copied, rest) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            self.rest = rest;
            return Some(Piece::Copied(copied));
        };
        self.rest = "";
        Some(match after.as_bytes() {
            [] => Piece::Unfinished,
            [b'%', ..] => {
                self.rest = &after[1..];
                Piece::Copied("%")
            }
            _ => Piece::Clause(read(after).map(|(clause, rest)| {
                self.rest = rest;
                clause
            })),
        })
    }
}

/// The clause that text after a percent sign begins with, and what follows.
fn read(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) =
        read_precision(text).map_err(|error| format!("error while parsing precision: {error}"))?;
    let byte = rest.as_bytes().first().copied().unwrap_or_default();
    let clause = match byte {
        b's' => Clause::Text,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'x' | b'X' => Clause::Hexadecimal { upper: byte == b'X' },
        b'o' => Clause::Octal,
        other => {
            return Err(format!("unrecognized formatting clause \"{}\"", char::from(other)));
        }
    };
    Ok((clause, &rest[1..]))
}

fn read_precision(text: &str) -> Result<(Option<usize>, &str), String> {
    let Some(after) = text.strip_prefix('.') else {
        return Ok((None, text));
    };
    let end = after.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = after.split_at(end.ok_or("could not find end of precision specifier")?);
    let precision = parse_int("Atoi", digits)
        .map_err(|error| format!("error while converting precision to integer: {error}"))?;
    if precision > MAX_PRECISION {
        return Err(format!("precision is above {MAX_PRECISION}"));
    }
    let precision = usize::try_from(precision).map_err(|_| "precision is below zero")?;
    Ok((Some(precision), rest))
}
