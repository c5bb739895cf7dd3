//! Static cost estimates: what an expression costs at least and at most, before it runs.
//!
//! Invariants: sums and products saturate, so that `u64::MAX` means that there is no bound; sizes are those of literals, of
//! what is made of them, and of what a [`SizeEstimator`] knows; constants are not folded. Not here: estimates of single
//! functions (their overloads).

mod call;
mod fold;
mod size;

use std::rc::Rc;

use crate::ast::{Expr, ExprKind, Literal};
use crate::checker::Checked;
use crate::overload::Range;
use crate::types::Type;

/// Cost of a variable, and of a field.
const NAME_COST: Range = Range { min: 1, max: 1 };
/// Cost of a list literal besides its elements.
const LIST_COST: Range = Range { min: 10, max: 10 };
/// Cost of a map literal besides its entries.
const MAP_COST: Range = Range { min: 30, max: 30 };
/// Cost of a message besides its fields.
const MESSAGE_COST: Range = Range { min: 40, max: 40 };

/// What is known of the sizes of data, such as a schema's limits.
pub trait SizeEstimator {
    /// The size (code points, bytes, elements, entries) of the data at a path: a variable, then names of fields, `@items`,
    /// `@keys`, `@values` and `@indices`. The path is empty for what is no part of a variable.
    fn size(&self, path: &[&str], value_type: &Type) -> Option<Range>;
}

/// Knows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnknownSizes;

impl SizeEstimator for UnknownSizes {
    fn size(&self, _path: &[&str], _value_type: &Type) -> Option<Range> {
        None
    }
}

/// What a checked expression costs at least and at most.
pub fn estimate(checked: &Checked, sizes: &dyn SizeEstimator) -> Range {
    let expressions = checked.ast.positions.len();
    let mut coster = Coster {
        checked,
        estimator: sizes,
        paths: vec![None; expressions],
        sizes: vec![None; expressions],
        entries: vec![None; expressions],
        locals: Vec::new(),
    };
    coster.cost(&checked.ast.root)
}

/// A part of a path, and the path before it.
#[derive(Debug)]
struct PathStep<'c> {
    name: &'c str,
    before: Path<'c>,
}

/// Where data lies, from its variable on; none for what is no part of a variable.
type Path<'c> = Option<Rc<PathStep<'c>>>;

fn step<'c>(before: Path<'c>, name: &'c str) -> Path<'c> {
    Some(Rc::new(PathStep { name, before }))
}

/// Sizes of the keys and values of a list or map.
#[derive(Debug, Clone, Copy)]
struct EntrySizes {
    is_list: bool,
    key: Range,
    value: Range,
}

/// A variable of a fold.
#[derive(Debug)]
struct LocalVariable<'c> {
    name: &'c str,
    path: Path<'c>,
    size: Option<Range>,
    entries: Option<EntrySizes>,
}

/// Estimates one expression.
struct Coster<'c> {
    checked: &'c Checked,
    estimator: &'c dyn SizeEstimator,
    /// By id.
    paths: Vec<Path<'c>>,
    sizes: Vec<Option<Range>>,
    entries: Vec<Option<EntrySizes>>,
    locals: Vec<LocalVariable<'c>>,
}

impl<'c> Coster<'c> {
    fn cost(&mut self, expr: &'c Expr) -> Range {
        match &expr.kind {
            ExprKind::Literal(_) => exactly(0),
            ExprKind::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => step(None, name),
                };
                self.paths[expr.id as usize] = path;
                NAME_COST
            }
            ExprKind::Select { operand, field, test_only } => {
                self.select(expr, operand, field, *test_only)
            }
            ExprKind::Call { function, target, arguments } => {
                self.call(expr, function, target.as_deref(), arguments)
            }
            ExprKind::List { elements, .. } => self.list(expr, elements),
            ExprKind::Map(_) | ExprKind::Message { .. } => self.entries(expr),
            ExprKind::Comprehension(fold) => self.fold(expr, fold),
        }
    }

    fn select(
        &mut self,
        expr: &'c Expr,
        operand: &'c Expr,
        field: &'c str,
        test_only: bool,
    ) -> Range {
        let cost = self.cost(operand);
        if test_only {
            return cost;
        }
        self.paths[expr.id as usize] = step(self.path(operand), field);
        match self.checked.type_of(operand.id) {
            Type::Map(..) | Type::Object(_) => add(cost, NAME_COST),
            _ => cost,
        }
    }

    fn list(&mut self, expr: &'c Expr, elements: &'c [Expr]) -> Range {
        let mut value = if elements.is_empty() { exactly(0) } else { NOTHING };
        let mut cost = LIST_COST;
        for element in elements {
            cost = add(cost, self.cost(element));
            value = union(value, self.size_or_unknown(element));
        }
        self.entries[expr.id as usize] = Some(EntrySizes { is_list: true, key: exactly(1), value });
        cost
    }

    fn entries(&mut self, expr: &'c Expr) -> Range {
        let entries = match &expr.kind {
            ExprKind::Map(entries) => entries,
            ExprKind::Message { fields, .. } => {
                return fields
                    .iter()
                    .fold(MESSAGE_COST, |cost, field| add(cost, self.cost(&field.value)));
            }
            _ => return exactly(0),
        };
        let none = if entries.is_empty() { exactly(0) } else { NOTHING };
        let (mut key, mut value, mut cost) = (none, none, MAP_COST);
        for entry in entries {
            cost = add(cost, self.cost(&entry.key));
            cost = add(cost, self.cost(&entry.value));
            key = union(key, self.size_or_unknown(&entry.key));
            value = union(value, self.size_or_unknown(&entry.value));
        }
        self.entries[expr.id as usize] = Some(EntrySizes { is_list: false, key, value });
        cost
    }
}

/// Of which every union is the other part.
const NOTHING: Range = Range { min: u64::MAX, max: 0 };
/// Nothing is known.
const UNKNOWN: Range = Range { min: 0, max: u64::MAX };

fn exactly(value: u64) -> Range {
    Range { min: value, max: value }
}

fn add(left: Range, right: Range) -> Range {
    Range { min: left.min.saturating_add(right.min), max: left.max.saturating_add(right.max) }
}

fn multiply(left: Range, right: Range) -> Range {
    Range { min: left.min.saturating_mul(right.min), max: left.max.saturating_mul(right.max) }
}

fn union(left: Range, right: Range) -> Range {
    Range { min: left.min.min(right.min), max: left.max.max(right.max) }
}

/// The size that an expression shows.
fn shown_size(expr: &Expr) -> Option<Range> {
    let size = match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => text.chars().count(),
        ExprKind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        ExprKind::Literal(_) => 1,
        ExprKind::List { elements, .. } => elements.len(),
        ExprKind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(exactly(size as u64))
}

#[cfg(test)]
mod tests;
