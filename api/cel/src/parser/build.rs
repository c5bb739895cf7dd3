//! The builder of syntax trees: gives ids and positions, shares names, expands macros.
//!
//! Invariants: ids are given in the order in which the reference engine gives them; a tree has at most
//! [`EXPRESSION_NODES_MAX`] ids. Not here: the grammar (`descent`), what each macro becomes (`macros`).

use std::sync::Arc;

use super::macros::{self, Macros};
use crate::ast::{Expr, ExprId, ExprKind, Literal, Name};
use crate::error::{Issue, Place};

/// Nodes of a tree at most, macros expanded. Chained `optMap` calls copy their receivers, so that the number of nodes grows
/// exponentially with the length of the chain.
pub const EXPRESSION_NODES_MAX: usize = 1_000_000;

/// Distinct names of one expression that are kept for sharing.
const SHARED_NAMES_MAX: usize = 48;

/// Words that no variable or function may be named.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Builds one tree.
pub(super) struct Builder<'s> {
    pub(super) source: &'s str,
    pub(super) positions: Vec<u32>,
    pub(super) issues: Vec<Issue>,
    names: Vec<Name>,
    macros: Macros,
}

impl<'s> Builder<'s> {
    pub(super) fn new(source: &'s str, macros: Macros) -> Builder<'s> {
        let mut positions = Vec::with_capacity(source.len() / 4 + 8);
        positions.push(0);
        Builder { source, positions, issues: Vec::new(), names: Vec::with_capacity(16), macros }
    }

    /// A new id, at a byte of the source.
    pub(super) fn id(&mut self, at: u32) -> ExprId {
        self.positions.push(at);
        (self.positions.len() - 1) as ExprId
    }

    /// Whether no further node may be made.
    pub(super) fn is_full(&self) -> bool {
        self.positions.len() > EXPRESSION_NODES_MAX
    }

    /// A name, shared with earlier uses of it.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.iter().find(|name| &***name == text) {
            return name.clone();
        }
        let name: Name = Arc::from(text);
        if self.names.len() < SHARED_NAMES_MAX {
            self.names.push(name.clone());
        }
        name
    }

    /// Reports an error at a byte, and stands in for the expression that has it.
    pub(super) fn report(&mut self, at: u32, message: impl Into<String>) -> Expr {
        let id = self.id(at);
        let place =
            if self.source.is_empty() { Place::NONE } else { Place::of(self.source, at as usize) };
        self.issues.push(Issue { place, message: message.into() });
        Expr { id, kind: ExprKind::Literal(Literal::Null) }
    }

    pub(super) fn literal(&mut self, at: u32, literal: Literal) -> Expr {
        Expr { id: self.id(at), kind: ExprKind::Literal(literal) }
    }

    pub(super) fn ident(&mut self, at: u32, name: &str) -> Expr {
        let kind = ExprKind::Ident(self.name(name));
        Expr { id: self.id(at), kind }
    }

    pub(super) fn select(&mut self, at: u32, operand: Expr, field: &str) -> Expr {
        let field = self.name(field);
        Expr {
            id: self.id(at),
            kind: ExprKind::Select { operand: Box::new(operand), field, test_only: false },
        }
    }

    /// A call of an operator or of a function that is no macro.
    pub(super) fn call(&mut self, id: ExprId, function: &str, arguments: Vec<Expr>) -> Expr {
        let function = self.name(function);
        Expr { id, kind: ExprKind::Call { function, target: None, arguments } }
    }

    /// A call, or what it becomes when it is a macro.
    pub(super) fn call_or_macro(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<Expr>,
        arguments: Vec<Expr>,
    ) -> Expr {
        let Some(expander) = self.macros.find(function, target.as_ref(), arguments.len()) else {
            let function = self.name(function);
            return Expr {
                id,
                kind: ExprKind::Call { function, target: target.map(Box::new), arguments },
            };
        };
        let at = self.positions[id as usize];
        let expanded = macros::expand(self, expander, at, target, arguments);
        expanded.unwrap_or_else(|failure| self.report(failure.at, failure.message))
    }

    /// A chain of `&&` or `||` as a balanced tree.
    pub(super) fn balanced(
        &mut self,
        function: &str,
        terms: Vec<Expr>,
        operators: &[ExprId],
    ) -> Expr {
        let function = self.name(function);
        balanced(&function, &mut terms.into_iter(), operators)
    }

    /// Reports the name of a variable or function that is a reserved word.
    pub(super) fn reserved(&mut self, at: u32, name: &str) -> Option<Expr> {
        RESERVED.contains(&name).then(|| self.report(at, format!("reserved identifier: {name}")))
    }
}

/// The middle operator becomes the root; its halves are balanced likewise. Terms are taken from left to right.
fn balanced(function: &Name, terms: &mut std::vec::IntoIter<Expr>, operators: &[ExprId]) -> Expr {
    let Some((id, left, right)) = split(operators) else {
        return terms.next().expect("a chain has one term more than operators");
    };
    let arguments = vec![balanced(function, terms, left), balanced(function, terms, right)];
    Expr { id, kind: ExprKind::Call { function: function.clone(), target: None, arguments } }
}

fn split(operators: &[ExprId]) -> Option<(ExprId, &[ExprId], &[ExprId])> {
    let middle = operators.len() / 2;
    let (left, rest) = operators.split_at(middle);
    let (id, right) = rest.split_first()?;
    Some((*id, left, right))
}
