//! Types of expressions, from the leaves to the root.
//!
//! Invariants: an expression is checked once, after its operands; after an error its type is `Error`, which goes with
//! everything, so that one mistake is reported once. Not here: calls (`call`).

use super::assign::{Bindings, TYPE_PARTS_MAX, is_too_large, most_general};
use super::scope::{Found, Scope, qualified_name};
use super::{Reference, well_known};
use crate::ast::{Comprehension, Entry, Expr, ExprId, ExprKind, FieldEntry, Literal, Name};
use crate::environment::Environment;
use crate::error::{Issue, Place};
use crate::types::Type;
use std::sync::Arc;

/// Checks one tree.
pub(super) struct Checker<'e> {
    pub(super) scope: Scope<'e>,
    pub(super) bindings: Bindings,
    pub(super) issues: Vec<Issue>,
    pub(super) types: Vec<Type>,
    pub(super) references: Vec<Option<Reference>>,
    /// Room for a qualified name.
    pub(super) name: String,
    positions: &'e [u32],
    source: &'e str,
}

impl<'e> Checker<'e> {
    pub(super) fn new(
        environment: &'e Environment,
        positions: &'e [u32],
        source: &'e str,
    ) -> Checker<'e> {
        Checker {
            scope: Scope::new(environment),
            bindings: Bindings::default(),
            issues: Vec::new(),
            types: vec![Type::Dyn; positions.len()],
            references: vec![None; positions.len()],
            name: String::new(),
            positions,
            source,
        }
    }

    /// All types, with variables replaced by what they stand for, and all references.
    pub(super) fn finish(self) -> (Vec<Type>, Vec<Option<Reference>>) {
        let Checker { bindings, mut types, references, .. } = self;
        for found in &mut types {
            if matches!(
                found,
                Type::Variable(_)
                    | Type::List(_)
                    | Type::Map(..)
                    | Type::Optional(_)
                    | Type::Type(_)
            ) {
                *found = bindings.substitute(found, true);
            }
        }
        (types, references)
    }

    pub(super) fn report(&mut self, at: ExprId, message: String) {
        let position = self.positions.get(at as usize).map_or(0, |position| *position as usize);
        self.issues.push(Issue { place: Place::of(self.source, position), message });
    }

    pub(super) fn set_type(&mut self, of: ExprId, value_type: Type) {
        let is_compound =
            matches!(value_type, Type::List(_) | Type::Map(..) | Type::Optional(_) | Type::Type(_));
        if is_compound && is_too_large(&value_type) {
            self.types[of as usize] = Type::Error;
            return self
                .report(of, format!("type of expression has more than {TYPE_PARTS_MAX} parts"));
        }
        self.types[of as usize] = value_type;
    }

    /// Checks a whole tree.
    pub(super) fn check_root(&mut self, root: &mut Expr) {
        self.check(root);
        if self.bindings.is_exhausted() && self.issues.is_empty() {
            self.report(root.id, "types of expression are too large to be compared".to_owned());
        }
    }

    pub(super) fn type_of(&self, expr: &Expr) -> Type {
        self.types[expr.id as usize].clone()
    }

    pub(super) fn refer(&mut self, from: ExprId, to: Reference) {
        self.references[from as usize] = Some(to);
    }

    pub(super) fn undeclared(&mut self, at: ExprId, name: &str) {
        let container = self.scope.container().to_owned();
        self.report(at, format!("undeclared reference to '{name}' (in container '{container}')"));
        self.set_type(at, Type::Error);
    }

    fn mismatch(&mut self, at: ExprId, expected: &Type, found: &Type) {
        self.report(
            at,
            format!("expected type '{}' but found '{}'", expected.short(), found.short()),
        );
    }

    /// Gives an expression and all its parts their types.
    pub(super) fn check(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Literal(literal) => self.types[expr.id as usize] = literal_type(literal),
            ExprKind::Ident(name) => self.ident(expr.id, name),
            ExprKind::Select { .. } => self.select(expr),
            ExprKind::Call { .. } => self.call(expr),
            ExprKind::List { elements, optional } => self.list(expr.id, elements, optional),
            ExprKind::Map(entries) => self.map(expr.id, entries),
            ExprKind::Message { type_name, fields } => self.message(expr.id, type_name, fields),
            ExprKind::Comprehension(fold) => self.comprehension(expr.id, fold),
        }
    }

    fn ident(&mut self, id: ExprId, name: &mut Name) {
        match self.scope.lookup(name) {
            Some(found) => {
                self.set_type(id, found.value_type);
                self.refer(id, found.reference);
                *name = found.name;
            }
            None => self.undeclared(id, &name.clone()),
        }
    }

    fn select(&mut self, expr: &mut Expr) {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        let found = if qualified_name(expr, &mut name) { self.scope.lookup(&name) } else { None };
        self.name = name;
        if let Some(Found { name, value_type, reference }) = found {
            self.set_type(expr.id, value_type);
            self.refer(expr.id, reference);
            expr.kind = ExprKind::Ident(name);
            return;
        }
        let ExprKind::Select { operand, field, test_only } = &mut expr.kind else {
            return;
        };
        let (field, test_only) = (field.clone(), *test_only);
        let selected = self.field(expr.id, operand, &field, false);
        let selected =
            if test_only { Type::Bool } else { self.bindings.substitute(&selected, false) };
        self.set_type(expr.id, selected);
    }

    /// `operand.?field`.
    pub(super) fn optional_select(&mut self, id: ExprId, arguments: &mut [Expr]) {
        let [operand, Expr { kind: ExprKind::Literal(Literal::String(field)), .. }] = arguments
        else {
            return;
        };
        let field = field.clone();
        let selected = self.field(id, operand, &field, true);
        let selected = self.bindings.substitute(&selected, false);
        self.set_type(id, selected);
        if let Some(overloads) = self.scope.function("_?._") {
            self.refer(id, Reference::Overloads(overloads.iter().cloned().collect()));
        }
    }

    fn field(&mut self, id: ExprId, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.bindings.substitute(&self.types[operand.id as usize], false);
        let (target, is_optional) = match &operand_type {
            Type::Optional(inner) => (&**inner, true),
            other => (other, false),
        };
        let selected = match target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(name) => self.declared_field(id, name, field),
            Type::Variable(_) => {
                self.bindings.assign(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            _ => {
                self.report(
                    id,
                    format!("type '{}' does not support field selection", target.short()),
                );
                Type::Dyn
            }
        };
        if is_optional || optional { Type::Optional(Arc::new(selected)) } else { selected }
    }

    fn declared_field(&mut self, id: ExprId, of: &str, field: &str) -> Type {
        match self.scope.field(of, field) {
            Some(Some(found)) => return found,
            Some(None) => self.report(id, format!("undefined field '{field}'")),
            None => self.report(id, format!("unexpected failed resolution of '{of}'")),
        }
        Type::Error
    }

    /// The type of a value marked with `?`: what its optional holds.
    fn held(&mut self, expr: &Expr) -> Type {
        match self.type_of(expr) {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                self.mismatch(expr.id, &Type::Optional(Arc::new(other.clone())), &other);
                other
            }
        }
    }

    /// The type of elements of which some are of one type and one is of another.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else {
            return current;
        };
        if self.bindings.assign(&previous, &current) {
            most_general(&previous, &current).clone()
        } else {
            Type::Dyn
        }
    }

    fn list(&mut self, id: ExprId, elements: &mut [Expr], optional: &[u32]) {
        let mut joined = None;
        for (index, element) in elements.iter_mut().enumerate() {
            self.check(element);
            let found = if optional.contains(&(index as u32)) {
                self.held(element)
            } else {
                self.type_of(element)
            };
            joined = Some(self.join(joined, found));
        }
        let element = joined.unwrap_or_else(|| self.bindings.variable());
        self.set_type(id, Type::List(Arc::new(element)));
    }

    fn map(&mut self, id: ExprId, entries: &mut [Entry]) {
        let (mut keys, mut values) = (None, None);
        for Entry { key, value, optional, .. } in entries {
            self.check(key);
            let found = self.type_of(key);
            keys = Some(self.join(keys, found));
            self.check(value);
            let found = if *optional { self.held(value) } else { self.type_of(value) };
            values = Some(self.join(values, found));
        }
        let key = keys.unwrap_or_else(|| self.bindings.variable());
        let value = values.unwrap_or_else(|| self.bindings.variable());
        self.set_type(id, Type::Map(Arc::new(key), Arc::new(value)));
    }

    fn message(&mut self, id: ExprId, type_name: &mut Name, fields: &mut [FieldEntry]) {
        let Some(found) = self.scope.lookup(type_name) else {
            return self.undeclared(id, &type_name.clone());
        };
        *type_name = found.name;
        let mut built = Type::Error;
        let mut message = type_name.to_string();
        match (&found.value_type, found.reference) {
            (Type::Type(_), Reference::Type(named)) => {
                match well_known::message_name(&named) {
                    Some(name) => {
                        message = name.to_owned();
                        built = named.clone();
                    }
                    None => self.report(id, format!("'{named}' is not a message type")),
                }
                self.refer(id, Reference::Type(named));
            }
            (Type::Error, _) => {}
            (other, _) => self.report(id, format!("'{other}' is not a type")),
        }
        self.set_type(id, built);
        for field in fields {
            self.check(&mut field.value);
            let declared = self.declared_field(field.id, &message, &field.name);
            let given =
                if field.optional { self.held(&field.value) } else { self.type_of(&field.value) };
            if !self.bindings.assign(&declared, &given) {
                let (declared, given) = (declared.short(), given.short());
                let name = &field.name;
                self.report(
                    field.id,
                    format!("expected type of field '{name}' is '{declared}' but provided type is '{given}'"),
                );
            }
        }
    }

    fn comprehension(&mut self, id: ExprId, fold: &mut Comprehension) {
        self.check(&mut fold.range);
        self.check(&mut fold.initial);
        let range = self.bindings.substitute(&self.types[fold.range.id as usize], false);
        let accumulator = self.type_of(&fold.initial);
        let outside = self.scope.depth();
        self.scope.declare(fold.accumulator.clone(), accumulator.clone());
        let inside = self.scope.depth();
        self.declare_variables(fold, &range);
        self.check(&mut fold.condition);
        self.expect(&fold.condition, &Type::Bool);
        self.check(&mut fold.step);
        self.expect(&fold.step, &accumulator);
        self.scope.leave(inside);
        self.check(&mut fold.result);
        self.scope.leave(outside);
        let result = self.bindings.substitute(&self.types[fold.result.id as usize], false);
        self.set_type(id, result);
    }

    fn declare_variables(&mut self, fold: &Comprehension, range: &Type) {
        let two = fold.second_variable.is_some();
        let (first, second) = match range {
            Type::List(element) if two => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.bindings.assign(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            _ => {
                let message = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.report(
                    fold.range.id,
                    format!("expression of type '{}' {message}", range.short()),
                );
                (Type::Error, Type::Error)
            }
        };
        self.scope.declare(fold.variable.clone(), first);
        if let Some(name) = &fold.second_variable {
            self.scope.declare(name.clone(), second);
        }
    }

    fn expect(&mut self, expr: &Expr, expected: &Type) {
        let found = self.type_of(expr);
        if !self.bindings.assign(expected, &found) {
            self.mismatch(expr.id, expected, &found);
        }
    }

    /// Reports an operand of `&&` or `||` that is no boolean.
    pub(super) fn expect_bool(&mut self, expr: &Expr) -> bool {
        let issues = self.issues.len();
        let found = self.type_of(expr);
        if !self.bindings.assign(&found, &Type::Bool) {
            self.mismatch(expr.id, &Type::Bool, &found);
        }
        self.issues.len() == issues
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
