//! Sizes of expressions, as far as they are known.

use super::{Coster, EntrySizes, LocalVariable, Path, UNKNOWN, shown_size};
use crate::ast::{Expr, ExprKind};
use crate::overload::Range;
use crate::parser::ACCUMULATOR;
use crate::types::Type;

impl<'c> Coster<'c> {
    pub(super) fn local(&self, name: &str) -> Option<&LocalVariable<'c>> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn local_of(&self, expr: &Expr) -> Option<&LocalVariable<'c>> {
        match &expr.kind {
            ExprKind::Ident(name) => self.local(name),
            _ => None,
        }
    }

    pub(super) fn path(&self, expr: &Expr) -> Path<'c> {
        match self.local_of(expr) {
            Some(local) => local.path.clone(),
            None => self.paths[expr.id as usize].clone(),
        }
    }

    /// What the estimator knows of the data at a path.
    pub(super) fn declared_size(
        &self,
        path: &Path<'c>,
        value_type: &Type,
        of_items: usize,
    ) -> Option<Range> {
        let mut names = vec!["@items"; of_items];
        let mut step = path.as_ref();
        while let Some(current) = step {
            names.push(current.name);
            step = current.before.as_ref();
        }
        if names.last().is_none_or(|variable| *variable == ACCUMULATOR) || path.is_none() {
            names.clear();
        }
        names.reverse();
        self.estimator.size(&names, value_type)
    }

    pub(super) fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes[expr.id as usize] {
            return Some(size);
        }
        if let Some(size) = shown_size(expr) {
            return Some(size);
        }
        let value_type = self.checked.type_of(expr.id);
        if let Some(size) = self.declared_size(&self.path(expr), value_type, 0) {
            self.sizes[expr.id as usize] = Some(size);
            return Some(size);
        }
        if is_scalar(value_type) {
            return Some(Range { min: 1, max: 1 });
        }
        self.local_of(expr).and_then(|local| local.size)
    }

    pub(super) fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(UNKNOWN)
    }

    pub(super) fn set_size(&mut self, expr: &Expr, size: Option<Range>) {
        if size.is_some() {
            self.sizes[expr.id as usize] = size;
        }
    }

    pub(super) fn entry_sizes(&self, expr: &Expr) -> Option<EntrySizes> {
        self.entries[expr.id as usize].or_else(|| self.local_of(expr)?.entries)
    }

    pub(super) fn set_entry_sizes(&mut self, expr: &Expr, sizes: Option<EntrySizes>) {
        if sizes.is_some() {
            self.entries[expr.id as usize] = sizes;
        }
    }

    /// Gives an expression the sizes of another.
    pub(super) fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        let size = self.size(from);
        self.set_size(to, size);
        let entries = self.entry_sizes(from);
        self.set_entry_sizes(to, entries);
    }
}

/// Whether all values of a type have size 1.
fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Optional(inner) | Type::Wrapper(inner) => is_scalar(inner),
        _ => matches!(
            of,
            Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint
        ),
    }
}
