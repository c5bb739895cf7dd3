//! Loops of macros.

use super::Planner;
use super::node::{Fold, FoldKind, GeneralFold, Node};
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
        let kind = match quantifier(fold) {
            Some((exists, predicate)) => FoldKind::Quantifier { predicate: self.node(predicate)?, exists },
            None => self.general(fold, initial, accumulator, inner)?,
        };
        self.scope.truncate(outer);
        Ok(Node::Fold(Box::new(Fold { range, variable, second, accumulator, kind })))
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

/// Whether a fold is `exists` or `all`, and its predicate.
fn quantifier(fold: &Comprehension) -> Option<(bool, &Expr)> {
    let ExprKind::Literal(Literal::Bool(initial)) = fold.initial.kind else { return None };
    let operator = if initial { "_&&_" } else { "_||_" };
    let ExprKind::Call { function, arguments, .. } = &fold.step.kind else { return None };
    let ([accumulated, predicate], true) = (&arguments[..], **function == *operator) else { return None };
    let named = |expression: &Expr| is_name(expression, &fold.accumulator);
    let tested = operand(&fold.condition, "@not_strictly_false")?;
    let tested = if initial { tested } else { operand(tested, "!_")? };
    (named(accumulated) && named(tested) && named(&fold.result)).then_some((!initial, predicate))
}

fn is_name(expression: &Expr, name: &Name) -> bool {
    matches!(&expression.kind, ExprKind::Ident(known) if known == name)
}

/// The operand of a call of `function`.
fn operand<'e>(expression: &'e Expr, function: &str) -> Option<&'e Expr> {
    match &expression.kind {
        ExprKind::Call { function: called, arguments, .. } if **called == *function => arguments.first(),
        _ => None,
    }
}
