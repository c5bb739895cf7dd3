//! Names: which variable, type, constant or function a name stands for.
//!
//! Invariants: variables of folds hide those around them and the environment's; a leading dot means the name as it is,
//! without the container. Not here: overloads (`call`).

use std::sync::Arc;

use super::{Reference, well_known};
use crate::ast::{Expr, ExprKind, Name};
use crate::environment::Environment;
use crate::overload::Overload;
use crate::types::Type;

/// The names that can be used at one place of an expression.
#[derive(Debug)]
pub(super) struct Scope<'e> {
    environment: &'e Environment,
    /// Variables of the folds around the place, innermost last.
    locals: Vec<(Name, Type)>,
}

/// What a name was found to be.
pub(super) struct Found {
    pub(super) name: Name,
    pub(super) value_type: Type,
    pub(super) reference: Reference,
}

impl<'e> Scope<'e> {
    pub(super) fn new(environment: &'e Environment) -> Scope<'e> {
        Scope { environment, locals: Vec::new() }
    }

    pub(super) fn container(&self) -> &str {
        self.environment.container()
    }

    pub(super) fn declare(&mut self, name: Name, value_type: Type) {
        self.locals.push((name, value_type));
    }

    /// How many variables of folds are declared, to leave their scope later.
    pub(super) fn depth(&self) -> usize {
        self.locals.len()
    }

    pub(super) fn leave(&mut self, depth: usize) {
        self.locals.truncate(depth);
    }

    /// What a name stands for.
    pub(super) fn lookup(&self, name: &str) -> Option<Found> {
        candidates(self.environment.container(), name, |candidate| self.find(candidate))
    }

    fn find(&self, name: &str) -> Option<Found> {
        if let Some((name, value_type)) =
            self.locals.iter().rev().find(|(local, _)| **local == *name)
        {
            return Some(Found {
                name: name.clone(),
                value_type: value_type.clone(),
                reference: Reference::Variable(name.clone()),
            });
        }
        if let Some(variable) =
            self.environment.variables().iter().find(|variable| *variable.name == *name)
        {
            return Some(Found {
                name: variable.name.clone(),
                value_type: variable.value_type.clone(),
                reference: Reference::Variable(variable.name.clone()),
            });
        }
        let library = self.environment.library();
        let object =
            || self.environment.object(name).map(|object| Type::Object(object.name.clone()));
        let message = || library.built_type(name).or_else(|| well_known::named(name));
        let Some(named) = library.named_type(name).cloned().or_else(object).or_else(message) else {
            let reference = Reference::Constant(well_known::constant(name)?);
            return Some(Found { name: name.into(), value_type: Type::Int, reference });
        };
        let value_type = Type::Type(Arc::new(named.clone()));
        Some(Found { name: name.into(), value_type, reference: Reference::Type(named) })
    }

    /// The full name and the overloads of a function.
    pub(super) fn function(&self, name: &str) -> Option<&'e [Arc<Overload>]> {
        let library = self.environment.library();
        candidates(self.environment.container(), name, |candidate| {
            let overloads = library.overloads(candidate);
            (!overloads.is_empty()).then_some(overloads)
        })
    }

    /// The type of a declared field; none when the type is not known, `Some(None)` when it has no such field.
    pub(super) fn field(&self, of: &str, field: &str) -> Option<Option<Type>> {
        if let Some(object) = self.environment.object(of) {
            return Some(object.field(field).map(|field| field.shape.to_type()));
        }
        self.environment.library().built_field(of, field).or_else(|| well_known::field(of, field))
    }
}

/// Tries a name within a container and the containers around it, then by itself.
fn candidates<T>(
    container: &str,
    name: &str,
    mut find: impl FnMut(&str) -> Option<T>,
) -> Option<T> {
    if let Some(absolute) = name.strip_prefix('.') {
        return find(absolute);
    }
    let mut container = container;
    while !container.is_empty() {
        if let Some(found) = find(&format!("{container}.{name}")) {
            return Some(found);
        }
        container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
    }
    find(name)
}

/// Writes `a.b.c` when an expression is a chain of selections from a name; says whether it is.
pub(super) fn qualified_name(expr: &Expr, to: &mut String) -> bool {
    match &expr.kind {
        ExprKind::Ident(name) => {
            to.push_str(name);
            true
        }
        ExprKind::Select { operand, field, test_only: false } => {
            if !qualified_name(operand, to) {
                return false;
            }
            to.push('.');
            to.push_str(field);
            true
        }
        _ => false,
    }
}
