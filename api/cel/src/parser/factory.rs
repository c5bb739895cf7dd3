//! The nodes that macros are made of.
//!
//! Invariants: every node has a new id, at the place of the macro's call; copies stand where what they copy stands. Not
//! here: which macro makes which nodes of its arguments (`macros`).

use super::build::Builder;
use super::macros::{ACCUMULATOR, Expander, Failure, UNUSED_VARIABLE};
use crate::ast::{Comprehension, Entry, Expr, ExprKind, FieldEntry, Literal, Name};

/// Name of the variable that holds the list `sortBy` sorts.
const SORT_INPUT: &str = "@__sortBy_input__";
pub(super) const NOT_AN_IDENTIFIER: &str = "argument is not an identifier";
pub(super) const NOT_A_SIMPLE_NAME: &str = "argument must be a simple name";
const OVERWRITES: &str = "iteration variable overwrites accumulator variable";

/// A fold before its parts are put together.
pub(super) struct FoldParts {
    variable: Name,
    second_variable: Option<Name>,
    initial: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
}

/// Makes nodes at the place of the macro's call.
pub(super) struct Factory<'b, 's> {
    pub(super) builder: &'b mut Builder<'s>,
    pub(super) at: u32,
}

impl Factory<'_, '_> {
    pub(super) fn node(&mut self, kind: ExprKind) -> Expr {
        Expr { id: self.builder.id(self.at), kind }
    }

    pub(super) fn ident(&mut self, name: &str) -> Expr {
        self.builder.ident(self.at, name)
    }

    pub(super) fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    pub(super) fn literal(&mut self, literal: Literal) -> Expr {
        self.node(ExprKind::Literal(literal))
    }

    pub(super) fn call(&mut self, function: &str, arguments: Vec<Expr>) -> Expr {
        let function = self.builder.name(function);
        self.node(ExprKind::Call { function, target: None, arguments })
    }

    pub(super) fn member_call(
        &mut self,
        target: Expr,
        function: &str,
        arguments: Vec<Expr>,
    ) -> Expr {
        let function = self.builder.name(function);
        self.node(ExprKind::Call { function, target: Some(Box::new(target)), arguments })
    }

    pub(super) fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(ExprKind::List { elements, optional: Vec::new() })
    }

    pub(super) fn failure(&self, argument: &Expr, message: impl Into<String>) -> Failure {
        Failure { at: self.builder.positions[argument.id as usize], message: message.into() }
    }

    pub(super) fn variable(&self, argument: &Expr, message: &str) -> Result<Name, Failure> {
        match &argument.kind {
            ExprKind::Ident(name) if **name == *ACCUMULATOR => {
                Err(self.failure(argument, OVERWRITES))
            }
            ExprKind::Ident(name) => Ok(name.clone()),
            _ => Err(self.failure(argument, message)),
        }
    }

    pub(super) fn fold(&mut self, range: Expr, fold: FoldParts) -> Expr {
        let accumulator = self.builder.name(ACCUMULATOR);
        let FoldParts { variable, second_variable, initial, condition, step, result } = fold;
        let fold = Comprehension {
            range,
            variable,
            second_variable,
            accumulator,
            initial,
            condition,
            step,
            result,
        };
        self.node(ExprKind::Comprehension(Box::new(fold)))
    }

    pub(super) fn has(&mut self, argument: Expr) -> Result<Expr, Failure> {
        match argument.kind {
            ExprKind::Select { operand, field, .. } => {
                Ok(self.node(ExprKind::Select { operand, field, test_only: true }))
            }
            _ => Err(self.failure(&argument, "invalid argument to has() macro")),
        }
    }

    pub(super) fn quantifier(
        &mut self,
        of: Expander,
        variable: Name,
        second_variable: Option<Name>,
        predicate: Expr,
    ) -> FoldParts {
        let (initial, condition, step, result);
        match of {
            Expander::All | Expander::AllOfTwo => {
                initial = self.literal(Literal::Bool(true));
                let accumulator = self.accumulator();
                condition = self.call("@not_strictly_false", vec![accumulator]);
                let accumulator = self.accumulator();
                step = self.call("_&&_", vec![accumulator, predicate]);
                result = self.accumulator();
            }
            Expander::Exists | Expander::ExistsOfTwo => {
                initial = self.literal(Literal::Bool(false));
                let accumulator = self.accumulator();
                let negated = self.call("!_", vec![accumulator]);
                condition = self.call("@not_strictly_false", vec![negated]);
                let accumulator = self.accumulator();
                step = self.call("_||_", vec![accumulator, predicate]);
                result = self.accumulator();
            }
            _ => {
                initial = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (accumulator, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let sum = self.call("_+_", vec![accumulator, one]);
                let accumulator = self.accumulator();
                step = self.call("_?_:_", vec![predicate, sum, accumulator]);
                let (accumulator, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call("_==_", vec![accumulator, one]);
            }
        }
        FoldParts { variable, second_variable, initial, condition, step, result }
    }

    /// `map` and `transformList`: with a second argument the first is a filter.
    pub(super) fn map(
        &mut self,
        variable: Name,
        second_variable: Option<Name>,
        first: Expr,
        second: Option<Expr>,
    ) -> FoldParts {
        let (filter, transform) = match second {
            Some(transform) => (Some(first), transform),
            None => (None, first),
        };
        let initial = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let (accumulator, element) = (self.accumulator(), self.list(vec![transform]));
        let step = self.call("_+_", vec![accumulator, element]);
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        FoldParts { variable, second_variable, initial, condition, step, result }
    }

    pub(super) fn filter(&mut self, variable: Name, element: Expr, filter: Expr) -> FoldParts {
        let initial = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let (accumulator, element) = (self.accumulator(), self.list(vec![element]));
        let step = self.call("_+_", vec![accumulator, element]);
        let step = self.filtered(Some(filter), step);
        let result = self.accumulator();
        FoldParts { variable, second_variable: None, initial, condition, step, result }
    }

    /// `transformMap` inserts under the range's key, `transformMapEntry` (without a key) the entries of a map.
    pub(super) fn insert(
        &mut self,
        variable: Name,
        second_variable: Name,
        key: Option<Expr>,
        first: Expr,
        second: Option<Expr>,
    ) -> FoldParts {
        let (filter, transform) = match second {
            Some(transform) => (Some(first), transform),
            None => (None, first),
        };
        let initial = self.node(ExprKind::Map(Vec::new()));
        let condition = self.literal(Literal::Bool(true));
        let accumulator = self.accumulator();
        let arguments = [Some(accumulator), key, Some(transform)].into_iter().flatten().collect();
        let step = self.call("cel.@mapInsert", arguments);
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        FoldParts {
            variable,
            second_variable: Some(second_variable),
            initial,
            condition,
            step,
            result,
        }
    }

    pub(super) fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        let Some(filter) = filter else { return step };
        let accumulator = self.accumulator();
        self.call("_?_:_", vec![filter, step, accumulator])
    }

    pub(super) fn optional_map(
        &mut self,
        target: Expr,
        variable: Expr,
        value: Expr,
        of: &str,
    ) -> Result<Expr, Failure> {
        let ExprKind::Ident(name) = &variable.kind else {
            return Err(self
                .failure(&variable, format!("{of}() variable name must be a simple identifier")));
        };
        let copy = self.copy(&target)?;
        let has_value = self.member_call(target, "hasValue", Vec::new());
        let range = self.list(Vec::new());
        let initial = self.member_call(copy, "value", Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(name);
        let bound = self.binding(range, name.clone(), initial, condition, step, value);
        let then = if of == "optMap" { self.call("optional.of", vec![bound]) } else { bound };
        let otherwise = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![has_value, then, otherwise]))
    }

    pub(super) fn bind(
        &mut self,
        variable: Expr,
        initial: Expr,
        body: Expr,
    ) -> Result<Expr, Failure> {
        let ExprKind::Ident(name) = &variable.kind else {
            let message = "cel.bind() variable names must be simple identifiers".to_owned();
            return Err(self.failure(&variable, message));
        };
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(name);
        Ok(self.binding(range, name.clone(), initial, condition, step, body))
    }

    pub(super) fn sort_by(
        &mut self,
        target: Expr,
        variable: Expr,
        key: Expr,
    ) -> Result<Expr, Failure> {
        if matches!(target.kind, ExprKind::Literal(_) | ExprKind::Map(_) | ExprKind::Message { .. })
        {
            const MESSAGE: &str = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err(self.failure(&target, MESSAGE));
        }
        let step = self.ident(SORT_INPUT);
        let range = self.ident(SORT_INPUT);
        let variable = self.variable(&variable, NOT_AN_IDENTIFIER)?;
        let keys = self.map(variable, None, key, None);
        let keys = self.fold(range, keys);
        let input = self.ident(SORT_INPUT);
        let sorted = self.member_call(input, "@sortByAssociatedKeys", vec![keys]);
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let name = self.builder.name(SORT_INPUT);
        Ok(self.binding(range, name, target, condition, step, sorted))
    }

    /// A fold that goes through nothing: its result, with one variable bound.
    pub(super) fn binding(
        &mut self,
        range: Expr,
        name: Name,
        initial: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
    ) -> Expr {
        let variable = self.builder.name(UNUSED_VARIABLE);
        let fold = Comprehension {
            range,
            variable,
            second_variable: None,
            accumulator: name,
            initial,
            condition,
            step,
            result,
        };
        self.node(ExprKind::Comprehension(Box::new(fold)))
    }

    /// The same expression with new ids.
    pub(super) fn copy(&mut self, expr: &Expr) -> Result<Expr, Failure> {
        if self.builder.is_full() {
            return Err(self.failure(expr, "expression is too large after macro expansion"));
        }
        let id = self.builder.id(self.builder.positions[expr.id as usize]);
        let kind = match &expr.kind {
            ExprKind::Literal(literal) => ExprKind::Literal(literal.clone()),
            ExprKind::Ident(name) => ExprKind::Ident(name.clone()),
            ExprKind::Select { operand, field, test_only } => ExprKind::Select {
                operand: Box::new(self.copy(operand)?),
                field: field.clone(),
                test_only: *test_only,
            },
            ExprKind::Call { function, target, arguments } => ExprKind::Call {
                function: function.clone(),
                target: match target {
                    Some(target) => Some(Box::new(self.copy(target)?)),
                    None => None,
                },
                arguments: arguments
                    .iter()
                    .map(|argument| self.copy(argument))
                    .collect::<Result<_, _>>()?,
            },
            ExprKind::List { elements, optional } => ExprKind::List {
                elements: elements
                    .iter()
                    .map(|element| self.copy(element))
                    .collect::<Result<_, _>>()?,
                optional: optional.clone(),
            },
            ExprKind::Map(entries) => ExprKind::Map(
                entries.iter().map(|entry| self.copy_entry(entry)).collect::<Result<_, _>>()?,
            ),
            ExprKind::Message { type_name, fields } => ExprKind::Message {
                type_name: type_name.clone(),
                fields: fields
                    .iter()
                    .map(|field| self.copy_field(field))
                    .collect::<Result<_, _>>()?,
            },
            ExprKind::Comprehension(fold) => {
                ExprKind::Comprehension(Box::new(self.copy_fold(fold)?))
            }
        };
        Ok(Expr { id, kind })
    }

    pub(super) fn copy_entry(&mut self, entry: &Entry) -> Result<Entry, Failure> {
        let id = self.builder.id(self.at);
        Ok(Entry {
            id,
            key: self.copy(&entry.key)?,
            value: self.copy(&entry.value)?,
            optional: entry.optional,
        })
    }

    pub(super) fn copy_field(&mut self, field: &FieldEntry) -> Result<FieldEntry, Failure> {
        let id = self.builder.id(self.at);
        Ok(FieldEntry {
            id,
            name: field.name.clone(),
            value: self.copy(&field.value)?,
            optional: field.optional,
        })
    }

    pub(super) fn copy_fold(&mut self, fold: &Comprehension) -> Result<Comprehension, Failure> {
        Ok(Comprehension {
            range: self.copy(&fold.range)?,
            variable: fold.variable.clone(),
            second_variable: fold.second_variable.clone(),
            accumulator: fold.accumulator.clone(),
            initial: self.copy(&fold.initial)?,
            condition: self.copy(&fold.condition)?,
            step: self.copy(&fold.step)?,
            result: self.copy(&fold.result)?,
        })
    }
}
