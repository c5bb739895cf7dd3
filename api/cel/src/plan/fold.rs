//! Loops of macros.

use super::Planner;
use super::node::{FoldKind, FoldNode, GeneralFold, Node};
use crate::ast::{Comprehension, Expr, ExprKind, Literal, Name};
use crate::eval::EvalError;

impl Planner<'_> {
    pub(super) fn fold(&mut self, fold: &Comprehension) -> Result<Node, EvalError> {
        let initial = self.node(&fold.initial)?;
        let range = self.node(&fold.range)?;
        let accumulator = self.place();
        let variable = self.place();
        let second = fold.second_variable.as_ref().map(|_| self.place());
        let outer = self.scope.len();
        self.scope.push((fold.accumulator.clone(), accumulator));
        let inner = self.scope.len();
        self.scope.push((fold.variable.clone(), variable));
        self.scope.extend(fold.second_variable.clone().zip(second));
        let kind = match shape(fold) {
            FoldShape::Quantifier { exists, predicate } => {
                FoldKind::Quantifier { predicate: self.node(predicate)?, exists }
            }
            FoldShape::One { predicate } => FoldKind::One { predicate: self.node(predicate)? },
            FoldShape::Collect { filter, element } => FoldKind::Collect {
                filter: filter.map(|filter| self.node(filter)).transpose()?,
                element: self.node(element)?,
            },
            FoldShape::General => self.general(fold, initial, accumulator, inner)?,
        };
        self.scope.truncate(outer);
        Ok(Node::Fold(Box::new(FoldNode { range, variable, second, accumulator, kind })))
    }

    fn general(
        &mut self,
        fold: &Comprehension,
        initial: Node,
        accumulator: u32,
        inner: usize,
    ) -> Result<FoldKind, EvalError> {
        let condition = self.node(&fold.condition)?;
        let collects = matches!(fold.initial.kind, ExprKind::List { .. } | ExprKind::Map(_));
        let before = self.taken;
        self.taken = collects.then_some(accumulator);
        let step = self.node(&fold.step);
        self.taken = before;
        let step = step?;
        // The answer sees the accumulator, not the element.
        self.scope.truncate(inner);
        let result = self.node(&fold.result)?;
        Ok(FoldKind::General(Box::new(GeneralFold { initial, condition, step, result })))
    }

    fn place(&mut self) -> u32 {
        self.locals += 1;
        self.locals - 1
    }
}

/// What a fold does, as far as it has a node of its own.
enum FoldShape<'e> {
    Quantifier { exists: bool, predicate: &'e Expr },
    One { predicate: &'e Expr },
    Collect { filter: Option<&'e Expr>, element: &'e Expr },
    General,
}

fn shape(fold: &Comprehension) -> FoldShape<'_> {
    quantifier(fold).or_else(|| one(fold)).or_else(|| collect(fold)).unwrap_or(FoldShape::General)
}

/// `all` and `exists`.
fn quantifier(fold: &Comprehension) -> Option<FoldShape<'_>> {
    let ExprKind::Literal(Literal::Bool(initial)) = fold.initial.kind else {
        return None;
    };
    let operator = if initial { "_&&_" } else { "_||_" };
    let [accumulated, predicate] = operands(&fold.step, operator)? else {
        return None;
    };
    let named = |expression: &Expr| is_name(expression, &fold.accumulator);
    let [tested] = operands(&fold.condition, "@not_strictly_false")? else {
        return None;
    };
    let tested = if initial { tested } else { operands(tested, "!_")?.first()? };
    let matches = named(accumulated) && named(tested) && named(&fold.result);
    matches.then_some(FoldShape::Quantifier { exists: !initial, predicate })
}

/// `exists_one`: counts, and compares the count with 1.
fn one(fold: &Comprehension) -> Option<FoldShape<'_>> {
    let named = |expression: &Expr| is_name(expression, &fold.accumulator);
    let is_int =
        |expression: &Expr, value| expression.kind == ExprKind::Literal(Literal::Int(value));
    let [predicate, counted, same] = operands(&fold.step, "_?_:_")? else {
        return None;
    };
    let [before, added] = operands(counted, "_+_")? else {
        return None;
    };
    let [count, expected] = operands(&fold.result, "_==_")? else {
        return None;
    };
    let matches = is_true(&fold.condition)
        && is_int(&fold.initial, 0)
        && is_int(added, 1)
        && is_int(expected, 1)
        && [before, same, count].into_iter().all(named);
    matches.then_some(FoldShape::One { predicate })
}

/// `map`, `filter` and `transformList`: adds lists of one element.
fn collect(fold: &Comprehension) -> Option<FoldShape<'_>> {
    let named = |expression: &Expr| is_name(expression, &fold.accumulator);
    let empty =
        matches!(&fold.initial.kind, ExprKind::List { elements, .. } if elements.is_empty());
    if !(empty && is_true(&fold.condition) && named(&fold.result)) {
        return None;
    }
    let (filter, added) = match operands(&fold.step, "_?_:_") {
        Some([filter, added, same]) if named(same) => (Some(filter), added),
        Some(_) => return None,
        None => (None, &fold.step),
    };
    let [before, list] = operands(added, "_+_")? else {
        return None;
    };
    match &list.kind {
        ExprKind::List { elements, optional } if optional.is_empty() && named(before) => {
            match &elements[..] {
                [element] => Some(FoldShape::Collect { filter, element }),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_true(expression: &Expr) -> bool {
    expression.kind == ExprKind::Literal(Literal::Bool(true))
}

fn is_name(expression: &Expr, name: &Name) -> bool {
    matches!(&expression.kind, ExprKind::Ident(known) if known == name)
}

/// The operands of a call of the operator `function`.
fn operands<'e>(expression: &'e Expr, function: &str) -> Option<&'e [Expr]> {
    match &expression.kind {
        ExprKind::Call { function: called, target: None, arguments } if **called == *function => {
            Some(arguments)
        }
        _ => None,
    }
}
