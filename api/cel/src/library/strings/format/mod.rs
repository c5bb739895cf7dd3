//! `format`: text with arguments put in.
//!
//! Numbers follow the English locale. Not here: what is checked before the expression runs ([`check`]).

mod check;
mod clause;
mod number;
mod print;

#[cfg(test)]
mod tests;

pub(crate) use check::check;

use self::clause::{Piece, Pieces};
use self::print::print;
use super::text::MAX_TEXT_BYTES;
use crate::value::List;

/// The text with the arguments put in; arguments that it has no place for are left out.
pub(super) fn format(text: &str, arguments: &List<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut next = 0;
    for piece in Pieces::of(text) {
        if let Piece::Copied(text) = piece {
            out.push_str(text);
            continue;
        }
        let argument = arguments.get(next).ok_or_else(|| format!("index {next} out of range"))?;
        next += 1;
        let clause = match piece {
            Piece::Clause(clause) => {
                clause.map_err(|error| format!("could not parse formatting clause: {error}"))?
            }
            Piece::Copied(_) | Piece::Unfinished => {
                return Err("unexpected end of string".to_owned());
            }
        };
        out.push_str(
            &print(clause, &argument)
                .map_err(|error| format!("error during formatting: {error}"))?,
        );
        if out.len() > MAX_TEXT_BYTES {
            return Err(format!("text is longer than {MAX_TEXT_BYTES} bytes"));
        }
    }
    Ok(out)
}
