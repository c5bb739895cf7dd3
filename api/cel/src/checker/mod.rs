//! The checker: gives every expression of a tree its type and every name its meaning.
//!
//! Invariants: typing is gradual (`dyn` goes with everything and comes out of everything); names that stand for variables,
//! types and functions are replaced in the tree by their full names; errors are those of the reference engine, to the letter.
//! Not here: declarations (`environment`), what literals are worth at run time.

mod assign;
mod call;
mod expression;
mod literals;
mod scope;
mod well_known;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ast::{Ast, ExprId, Literal, Name};
use crate::environment::Environment;
use crate::error::{Issues, Stage};
use crate::overload::Overload;
use crate::types::Type;

/// What a name or a call stands for.
#[derive(Debug, Clone)]
pub enum Reference {
    /// A variable of the environment or of a fold, by its name as declared.
    Variable(Name),
    /// A named constant.
    Constant(Literal),
    /// A type as a value, or the type that is constructed.
    Type(Type),
    /// The overloads that the arguments' types leave possible.
    Overloads(SmallVec<[Arc<Overload>; 1]>),
}

/// A tree whose expressions have types.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The tree; names are full names.
    pub ast: Ast,
    /// Types, by id; `dyn` for ids that are no expression's.
    pub types: Vec<Type>,
    /// What names and calls stand for, by id.
    pub references: Vec<Option<Reference>>,
}

impl Checked {
    /// Type of an expression.
    pub fn type_of(&self, id: ExprId) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::Dyn)
    }

    /// What a name or a call stands for.
    pub fn reference(&self, id: ExprId) -> Option<&Reference> {
        self.references.get(id as usize)?.as_ref()
    }

    /// Overloads that a call may be of; none for anything else.
    pub fn overloads(&self, id: ExprId) -> &[Arc<Overload>] {
        match self.reference(id) {
            Some(Reference::Overloads(overloads)) => overloads,
            _ => &[],
        }
    }

    /// The type of the whole expression.
    pub fn result_type(&self) -> &Type {
        self.type_of(self.ast.root.id)
    }
}

/// Checks a tree against the declarations of an environment.
///
/// # Errors
/// Wrong types, unknown names, and literal arguments that can never be right.
pub fn check(environment: &Environment, ast: Ast) -> Result<Checked, Issues> {
    let Ast { mut root, positions, source } = ast;
    let mut checker = expression::Checker::new(environment, &positions, &source);
    checker.check_root(&mut root);
    if !checker.issues.is_empty() {
        return Err(Issues::new(Stage::Check, source.clone(), checker.issues));
    }
    let (types, references) = checker.finish();
    let checked = Checked { ast: Ast { root, positions, source }, types, references };
    let issues = literals::issues(&checked);
    if issues.is_empty() {
        Ok(checked)
    } else {
        Err(Issues::new(Stage::Check, checked.ast.source.clone(), issues))
    }
}

#[cfg(test)]
mod tests;
