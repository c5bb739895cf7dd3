//! Errors of expressions that the grammar refuses, as a parser made by ANTLR finds, reports and recovers from them.
//!
//! Invariants: bounded in time by the limits of `recover` and `predict`; always finds an error. Not here: expressions
//! without syntax errors, which `descent` reads.

mod automaton;
mod config;
mod follow;
mod grammar;
mod machine;
mod predict;
mod recover;
mod token_set;
mod tree;
mod visit;

use std::sync::LazyLock;

use super::build::Builder;
use super::lexer::Lexed;
use crate::error::{Issue, Place};
use automaton::Automaton;
use machine::{GivenUp, Machine};
use visit::Visitor;

static AUTOMATON: LazyLock<Automaton> = LazyLock::new(Automaton::new);

/// All errors of a source that `descent` cannot read.
pub(super) fn issues(mut builder: Builder<'_>, source: &str, lexed: &Lexed) -> Vec<Issue> {
    let mut machine = Machine::new(&AUTOMATON, source, lexed);
    let read = machine.run();
    let mut issues = std::mem::take(&mut machine.issues);
    if let Ok(()) = read {
        Visitor::new(&mut builder, &machine.nodes, &lexed.tokens).root();
        issues.append(&mut builder.issues);
    }
    if let (true, Ok(()) | Err(GivenUp)) = (issues.is_empty(), read) {
        issues.push(Issue { place: Place::NONE, message: "expression cannot be read".to_owned() });
    }
    issues
}
