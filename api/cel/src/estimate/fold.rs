//! Estimates of folds: what one turn costs times the size of the range.

use super::{Coster, EntrySizes, LocalVariable, add, multiply, step};
use crate::ast::{Comprehension, Expr, ExprKind, Literal};
use crate::overload::Range;
use crate::parser::ACCUMULATOR;
use crate::types::Type;

impl<'c> Coster<'c> {
    pub(super) fn fold(&mut self, expr: &'c Expr, fold: &'c Comprehension) -> Range {
        let cost = add(self.cost(&fold.range), self.cost(&fold.initial));
        let (path, size) = (self.path(&fold.initial), self.size(&fold.initial));
        let entries = self.entry_sizes(&fold.initial);
        let outside = self.locals.len();
        self.locals.push(LocalVariable { name: &fold.accumulator, path, size, entries });
        let is_binding = is_binding(fold);
        let mut turn = Range { min: 0, max: 0 };
        if !is_binding {
            self.push_variables(fold);
            turn = add(self.cost(&fold.condition), self.cost(&fold.step));
            self.locals.truncate(outside + 1);
        }
        let cost = add(cost, self.cost(&fold.result));
        if is_binding {
            self.copy_sizes(expr, &fold.result);
            self.locals.truncate(outside);
            return cost;
        }
        self.locals.truncate(outside);
        let range = self.size_or_unknown(&fold.range);
        match &fold.initial.kind {
            ExprKind::Literal(_) => {
                let size = self.size(&fold.initial);
                self.set_size(expr, size);
            }
            ExprKind::List { .. } | ExprKind::Map(_) => {
                self.set_size(expr, Some(range));
                let entries = self.entry_sizes(&fold.step);
                self.set_entry_sizes(expr, entries);
            }
            _ => {}
        }
        add(cost, multiply(range, turn))
    }

    fn push_variables(&mut self, fold: &'c Comprehension) {
        let (path, entries) = (self.path(&fold.range), self.entry_sizes(&fold.range));
        let is_list = match entries {
            Some(EntrySizes { is_list, .. }) => is_list,
            None => matches!(self.checked.type_of(fold.range.id), Type::List(_)),
        };
        let key = |name: &'c str, part| {
            let (path, size) = (step(path.clone(), part), entries.map(|entries| entries.key));
            LocalVariable { name, path, size, entries: None }
        };
        let value = |name: &'c str, part| {
            let (path, size) = (step(path.clone(), part), entries.map(|entries| entries.value));
            LocalVariable { name, path, size, entries: None }
        };
        match (&fold.second_variable, is_list) {
            (Some(second), true) => {
                self.locals.extend([key(&fold.variable, "@indices"), value(second, "@items")])
            }
            (Some(second), false) => {
                self.locals.extend([key(&fold.variable, "@keys"), value(second, "@values")])
            }
            (None, true) => self.locals.push(value(&fold.variable, "@items")),
            (None, false) => self.locals.push(key(&fold.variable, "@keys")),
        }
    }
}

/// Whether a fold goes through nothing and only binds a variable.
fn is_binding(fold: &Comprehension) -> bool {
    let is_empty =
        matches!(&fold.range.kind, ExprKind::List { elements, .. } if elements.is_empty());
    let is_false = matches!(fold.condition.kind, ExprKind::Literal(Literal::Bool(false)));
    is_empty && is_false && *fold.accumulator != *ACCUMULATOR
}
