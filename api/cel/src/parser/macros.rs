//! Macros: calls that become other expressions while they are parsed.
//!
//! Invariants: the expansion has the reference engine's shape, since costs depend on it; every node made by a macro stands
//! at the call's opening parenthesis. Not here: which macros an environment has (the caller says it in [`Macros`]).

use super::build::Builder;
use crate::ast::{Comprehension, Entry, Expr, ExprKind, FieldEntry, Literal, Name};

/// Name of the variable in which a fold collects its result; no macro's own variable may have it.
pub const ACCUMULATOR: &str = "__result__";
/// Name of the variable of a fold that goes through nothing.
pub const UNUSED_VARIABLE: &str = "#unused";
/// Name of the variable that holds the list `sortBy` sorts.
const SORT_INPUT: &str = "@__sortBy_input__";

/// Which macros an expression may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Macros {
    /// `all`, `exists`, `existsOne`, `exists_one`, `transformList`, `transformMap`, `transformMapEntry` with two variables.
    pub two_variables: bool,
    /// `optMap` and `optFlatMap`.
    pub optional: bool,
    /// `sortBy`.
    pub sort_by: bool,
}

impl Default for Macros {
    fn default() -> Macros {
        Macros { two_variables: true, optional: true, sort_by: true }
    }
}

/// What a macro becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expander {
    Has,
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    AllOfTwo,
    ExistsOfTwo,
    ExistsOneOfTwo,
    TransformList,
    TransformMap,
    TransformMapEntry,
    OptionalMap,
    OptionalFlatMap,
    SortBy,
}

impl Macros {
    pub(super) fn find(self, function: &str, has_target: bool, arguments: usize) -> Option<Expander> {
        if !has_target {
            return (function == "has" && arguments == 1).then_some(Expander::Has);
        }
        let expander = match (function, arguments) {
            ("all", 2) => return Some(Expander::All),
            ("exists", 2) => return Some(Expander::Exists),
            ("exists_one", 2) => return Some(Expander::ExistsOne),
            ("map", 2 | 3) => return Some(Expander::Map),
            ("filter", 2) => return Some(Expander::Filter),
            ("optMap", 2) => return self.optional.then_some(Expander::OptionalMap),
            ("optFlatMap", 2) => return self.optional.then_some(Expander::OptionalFlatMap),
            ("sortBy", 2) => return self.sort_by.then_some(Expander::SortBy),
            ("all", 3) => Expander::AllOfTwo,
            ("exists", 3) => Expander::ExistsOfTwo,
            ("existsOne" | "exists_one", 3) => Expander::ExistsOneOfTwo,
            ("transformList", 3 | 4) => Expander::TransformList,
            ("transformMap", 3 | 4) => Expander::TransformMap,
            ("transformMapEntry", 3 | 4) => Expander::TransformMapEntry,
            _ => return None,
        };
        self.two_variables.then_some(expander)
    }
}

/// Why a macro's arguments are refused.
pub(super) struct Failure {
    pub(super) at: u32,
    pub(super) message: String,
}

/// A fold before its parts are put together.
struct Fold {
    variable: Name,
    second_variable: Option<Name>,
    initial: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
}

/// Makes the expression that a macro stands for.
pub(super) fn expand(
    builder: &mut Builder<'_>,
    expander: Expander,
    at: u32,
    target: Option<Expr>,
    arguments: Vec<Expr>,
) -> Result<Expr, Failure> {
    let mut factory = Factory { builder, at };
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().expect("a macro is found by the number of its arguments");
    let Some(target) = target else { return factory.has(next()) };
    let fold = match expander {
        Expander::Has => return factory.has(target),
        Expander::OptionalMap => return factory.optional_map(target, next(), next(), "optMap"),
        Expander::OptionalFlatMap => return factory.optional_map(target, next(), next(), "optFlatMap"),
        Expander::SortBy => return factory.sort_by(target, next(), next()),
        Expander::Map => {
            let variable = factory.variable(&next(), NOT_AN_IDENTIFIER)?;
            factory.map(variable, None, next(), arguments.next())
        }
        Expander::Filter => {
            let element = next();
            let variable = factory.variable(&element, NOT_AN_IDENTIFIER)?;
            factory.filter(variable, element, next())
        }
        Expander::All | Expander::Exists | Expander::ExistsOne => {
            let variable = factory.variable(&next(), NOT_A_SIMPLE_NAME)?;
            factory.quantifier(expander, variable, None, next())
        }
        _ => {
            let (first, second) = (next(), next());
            let variable = factory.variable(&first, NOT_A_SIMPLE_NAME)?;
            let second_variable = factory.variable(&second, NOT_A_SIMPLE_NAME)?;
            if variable == second_variable {
                return Err(factory.failure(&second, format!("duplicate variable name: {variable}")));
            }
            match expander {
                Expander::TransformList => factory.map(variable, Some(second_variable), next(), arguments.next()),
                Expander::TransformMap => {
                    factory.insert(variable, second_variable, Some(first), next(), arguments.next())
                }
                Expander::TransformMapEntry => {
                    factory.insert(variable, second_variable, None, next(), arguments.next())
                }
                _ => factory.quantifier(expander, variable, Some(second_variable), next()),
            }
        }
    };
    Ok(factory.fold(target, fold))
}

const NOT_AN_IDENTIFIER: &str = "argument is not an identifier";
const NOT_A_SIMPLE_NAME: &str = "argument must be a simple name";
const OVERWRITES: &str = "iteration variable overwrites accumulator variable";

/// Makes nodes at the place of the macro's call.
struct Factory<'b, 's> {
    builder: &'b mut Builder<'s>,
    at: u32,
}

impl Factory<'_, '_> {
    fn node(&mut self, kind: ExprKind) -> Expr {
        Expr { id: self.builder.id(self.at), kind }
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.builder.ident(self.at, name)
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(ExprKind::Literal(literal))
    }

    fn call(&mut self, function: &str, arguments: Vec<Expr>) -> Expr {
        let function = self.builder.name(function);
        self.node(ExprKind::Call { function, target: None, arguments })
    }

    fn member_call(&mut self, target: Expr, function: &str, arguments: Vec<Expr>) -> Expr {
        let function = self.builder.name(function);
        self.node(ExprKind::Call { function, target: Some(Box::new(target)), arguments })
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(ExprKind::List { elements, optional: Vec::new() })
    }

    fn failure(&self, argument: &Expr, message: impl Into<String>) -> Failure {
        Failure { at: self.builder.positions[argument.id as usize], message: message.into() }
    }

    fn variable(&self, argument: &Expr, message: &str) -> Result<Name, Failure> {
        match &argument.kind {
            ExprKind::Ident(name) if **name == *ACCUMULATOR => Err(self.failure(argument, OVERWRITES)),
            ExprKind::Ident(name) => Ok(name.clone()),
            _ => Err(self.failure(argument, message)),
        }
    }

    fn fold(&mut self, range: Expr, fold: Fold) -> Expr {
        let accumulator = self.builder.name(ACCUMULATOR);
        let Fold { variable, second_variable, initial, condition, step, result } = fold;
        let fold = Comprehension { range, variable, second_variable, accumulator, initial, condition, step, result };
        self.node(ExprKind::Comprehension(Box::new(fold)))
    }

    fn has(&mut self, argument: Expr) -> Result<Expr, Failure> {
        match argument.kind {
            ExprKind::Select { operand, field, .. } => {
                Ok(self.node(ExprKind::Select { operand, field, test_only: true }))
            }
            _ => Err(self.failure(&argument, "invalid argument to has() macro")),
        }
    }

    fn quantifier(&mut self, of: Expander, variable: Name, second_variable: Option<Name>, predicate: Expr) -> Fold {
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
        Fold { variable, second_variable, initial, condition, step, result }
    }

    /// `map` and `transformList`: with a second argument the first is a filter.
    fn map(&mut self, variable: Name, second_variable: Option<Name>, first: Expr, second: Option<Expr>) -> Fold {
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
        Fold { variable, second_variable, initial, condition, step, result }
    }

    fn filter(&mut self, variable: Name, element: Expr, filter: Expr) -> Fold {
        let initial = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let (accumulator, element) = (self.accumulator(), self.list(vec![element]));
        let step = self.call("_+_", vec![accumulator, element]);
        let step = self.filtered(Some(filter), step);
        let result = self.accumulator();
        Fold { variable, second_variable: None, initial, condition, step, result }
    }

    /// `transformMap` inserts under the range's key, `transformMapEntry` (without a key) the entries of a map.
    fn insert(
        &mut self,
        variable: Name,
        second_variable: Name,
        key: Option<Expr>,
        first: Expr,
        second: Option<Expr>,
    ) -> Fold {
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
        Fold { variable, second_variable: Some(second_variable), initial, condition, step, result }
    }

    fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        let Some(filter) = filter else { return step };
        let accumulator = self.accumulator();
        self.call("_?_:_", vec![filter, step, accumulator])
    }

    fn optional_map(&mut self, target: Expr, variable: Expr, value: Expr, of: &str) -> Result<Expr, Failure> {
        let ExprKind::Ident(name) = &variable.kind else {
            return Err(self.failure(&variable, format!("{of}() variable name must be a simple identifier")));
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

    fn sort_by(&mut self, target: Expr, variable: Expr, key: Expr) -> Result<Expr, Failure> {
        if matches!(target.kind, ExprKind::Literal(_) | ExprKind::Map(_) | ExprKind::Message { .. }) {
            const MESSAGE: &str =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
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
    fn binding(&mut self, range: Expr, name: Name, initial: Expr, condition: Expr, step: Expr, result: Expr) -> Expr {
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
    fn copy(&mut self, expr: &Expr) -> Result<Expr, Failure> {
        if self.builder.is_full() {
            return Err(self.failure(expr, "expression is too large after macro expansion"));
        }
        let id = self.builder.id(self.builder.positions[expr.id as usize]);
        let kind = match &expr.kind {
            ExprKind::Literal(literal) => ExprKind::Literal(literal.clone()),
            ExprKind::Ident(name) => ExprKind::Ident(name.clone()),
            ExprKind::Select { operand, field, test_only } => {
                ExprKind::Select { operand: Box::new(self.copy(operand)?), field: field.clone(), test_only: *test_only }
            }
            ExprKind::Call { function, target, arguments } => ExprKind::Call {
                function: function.clone(),
                target: match target {
                    Some(target) => Some(Box::new(self.copy(target)?)),
                    None => None,
                },
                arguments: arguments.iter().map(|argument| self.copy(argument)).collect::<Result<_, _>>()?,
            },
            ExprKind::List { elements, optional } => ExprKind::List {
                elements: elements.iter().map(|element| self.copy(element)).collect::<Result<_, _>>()?,
                optional: optional.clone(),
            },
            ExprKind::Map(entries) => {
                ExprKind::Map(entries.iter().map(|entry| self.copy_entry(entry)).collect::<Result<_, _>>()?)
            }
            ExprKind::Message { type_name, fields } => ExprKind::Message {
                type_name: type_name.clone(),
                fields: fields.iter().map(|field| self.copy_field(field)).collect::<Result<_, _>>()?,
            },
            ExprKind::Comprehension(fold) => ExprKind::Comprehension(Box::new(self.copy_fold(fold)?)),
        };
        Ok(Expr { id, kind })
    }

    fn copy_entry(&mut self, entry: &Entry) -> Result<Entry, Failure> {
        let id = self.builder.id(self.at);
        Ok(Entry { id, key: self.copy(&entry.key)?, value: self.copy(&entry.value)?, optional: entry.optional })
    }

    fn copy_field(&mut self, field: &FieldEntry) -> Result<FieldEntry, Failure> {
        let id = self.builder.id(self.at);
        Ok(FieldEntry { id, name: field.name.clone(), value: self.copy(&field.value)?, optional: field.optional })
    }

    fn copy_fold(&mut self, fold: &Comprehension) -> Result<Comprehension, Failure> {
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
