//! The parser: text to syntax tree, macros expanded.
//!
//! Invariants: errors are those of the reference engine, to the letter; an expression has at most [`CODE_POINTS_MAX`] code
//! points and nests at most [`RECURSION_MAX`] deep. Not here: names and types (`checker`).

mod build;
mod descent;
mod factory;
mod lexer;
mod literal;
mod macros;
mod primary;
mod recovery;
mod token;

use std::sync::Arc;

use crate::ast::Ast;
use crate::error::{Issue, Issues, Place, Stage};
use build::Builder;
use descent::Descent;

pub use build::EXPRESSION_NODES_MAX;
pub use macros::{ACCUMULATOR, Macros, UNUSED_VARIABLE};

/// Length of an expression in code points at most.
pub const CODE_POINTS_MAX: usize = 100_000;
/// How deeply a rule of the grammar may nest in itself.
pub const RECURSION_MAX: u32 = 250;

/// Parses an expression with all macros.
pub fn parse(source: &str) -> Result<Ast, Issues> {
    parse_with(source, Macros::default())
}

/// Parses an expression with the macros that its environment has.
pub fn parse_with(source: &str, macros: Macros) -> Result<Ast, Issues> {
    let refused = |issues| Issues::new(Stage::Parse, Arc::from(source), issues);
    let code_points = if source.len() > CODE_POINTS_MAX { source.chars().count() } else { 0 };
    if code_points > CODE_POINTS_MAX {
        let message = format!(
            "expression code point size exceeds limit: size: {code_points}, limit {CODE_POINTS_MAX}"
        );
        return Err(refused(vec![Issue { place: Place::NONE, message }]));
    }
    let lexed = lexer::lex(source);
    let mut descent = Descent::new(Builder::new(source, macros), &lexed.tokens);
    if lexed.errors.is_empty()
        && let Ok(root) = descent.start()
    {
        let builder = descent.builder;
        return if builder.issues.is_empty() {
            Ok(Ast { root, positions: builder.positions, source: Arc::from(source) })
        } else {
            Err(refused(builder.issues))
        };
    }
    Err(refused(recovery::issues(Builder::new(source, macros), source, &lexed)))
}

#[cfg(test)]
mod tests;
