//! Estimates of calls, by the overloads that they may be of.

use smallvec::SmallVec;

use super::{Coster, EntrySizes, NOTHING, UNKNOWN, add, exactly, step, union};
use crate::ast::{Expr, ExprKind};
use crate::overload::{ArgumentEstimate, CallEstimate, Estimate, Overload, Range};
use crate::types::Type;

/// Cost of joining text or bytes, for each code point or byte of the result.
const TEXT_FACTOR: f64 = 0.1;

type Ranges = SmallVec<[Range; 4]>;

impl<'c> Coster<'c> {
    pub(super) fn call(
        &mut self,
        expr: &'c Expr,
        function: &str,
        target: Option<&'c Expr>,
        arguments: &'c [Expr],
    ) -> Range {
        if let ("dyn", [argument]) = (function, arguments) {
            let cost = add(self.cost(argument), exactly(1));
            self.copy_sizes(expr, argument);
            return cost;
        }
        let costs: Ranges = arguments.iter().map(|argument| self.cost(argument)).collect();
        let overloads = self.checked.overloads(expr.id);
        if overloads.is_empty() {
            return exactly(0);
        }
        let target_cost = target.map_or(exactly(0), |target| self.cost(target));
        let (mut cost, mut size) = (NOTHING, None);
        for overload in overloads {
            let of_overload = self.overload(expr, overload, target, arguments, &costs);
            cost = union(cost, of_overload.cost);
            size = match (size, of_overload.size) {
                (Some(one), Some(other)) => Some(union(one, other)),
                (one, other) => one.or(other),
            };
            let part = match overload.id {
                "index_list" => "@items",
                "index_map" => "@values",
                _ => "",
            };
            if let (false, Some(indexed)) = (part.is_empty(), arguments.first()) {
                size = self.entry_sizes(indexed).map(|entries| entries.value);
                self.paths[expr.id as usize] = step(self.path(indexed), part);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        self.set_size(expr, size);
        add(target_cost, cost)
    }

    /// What a call costs if it is of one overload, with its arguments but without its receiver.
    fn overload(
        &mut self,
        expr: &'c Expr,
        overload: &'c Overload,
        target: Option<&'c Expr>,
        arguments: &'c [Expr],
        costs: &[Range],
    ) -> CallEstimate {
        let of_arguments = costs.iter().copied().fold(exactly(0), add);
        match (overload.id, arguments, costs) {
            ("logical_and" | "logical_or", _, [left, right]) => CallEstimate {
                cost: Range { min: left.min, max: add(*left, *right).max },
                size: None,
            },
            ("conditional", [_, then, otherwise], [condition, of_then, of_otherwise]) => {
                let size = union(self.size_or_unknown(then), self.size_or_unknown(otherwise));
                let entries = self.joined_entries(then, otherwise);
                self.set_entry_sizes(expr, entries);
                CallEstimate {
                    cost: add(*condition, union(*of_then, *of_otherwise)),
                    size: Some(size),
                }
            }
            ("add_string" | "add_bytes" | "add_list", [left, right], _) => {
                let size = add(self.size_or_unknown(left), self.size_or_unknown(right));
                let entries = self.joined_entries(left, right);
                self.set_entry_sizes(expr, entries);
                let cost =
                    if overload.id == "add_list" { exactly(1) } else { size.scaled(TEXT_FACTOR) };
                CallEstimate { cost: add(cost, of_arguments), size: Some(size) }
            }
            _ => {
                let estimate = match overload.estimate {
                    Estimate::Fixed(cost) => CallEstimate { cost: exactly(cost), size: None },
                    Estimate::Of(of) => {
                        let known: SmallVec<[ArgumentEstimate<'_>; 4]> = target
                            .into_iter()
                            .chain(arguments)
                            .map(|argument| self.argument(argument))
                            .collect();
                        of(&known)
                    }
                };
                CallEstimate { cost: add(estimate.cost, of_arguments), size: estimate.size }
            }
        }
    }

    /// Sizes of what two lists or maps hold together.
    fn joined_entries(&self, left: &Expr, right: &Expr) -> Option<EntrySizes> {
        let (left, right) = (self.entry_sizes(left)?, self.entry_sizes(right)?);
        let (key, value) = (union(left.key, right.key), union(left.value, right.value));
        Some(EntrySizes { is_list: left.is_list, key, value })
    }

    fn argument(&mut self, expr: &'c Expr) -> ArgumentEstimate<'c> {
        let value_type = self.checked.type_of(expr.id);
        let size = self.size_or_unknown(expr);
        let literal = match &expr.kind {
            ExprKind::Literal(literal) => Some(literal),
            _ => None,
        };
        ArgumentEstimate {
            value_type,
            size,
            element_sizes: self.element_sizes(expr, value_type),
            literal,
        }
    }

    /// What is declared of the sizes of a list's elements, and of theirs.
    fn element_sizes(&self, expr: &Expr, of: &Type) -> Vec<Range> {
        let (path, mut sizes, mut list) = (self.path(expr), Vec::new(), of);
        while let Type::List(element) = list {
            sizes.push(self.declared_size(&path, element, sizes.len() + 1).unwrap_or(UNKNOWN));
            list = element;
        }
        sizes
    }
}
