//! Macros: calls that become other expressions while they are parsed.
//!
//! Invariants: the expansion has the reference engine's shape, since costs depend on it; every node made by a macro stands
//! at the call's opening parenthesis. Not here: which macros an environment has (the caller says it in [`Macros`]).

use super::build::Builder;
use super::factory::{Factory, NOT_A_SIMPLE_NAME, NOT_AN_IDENTIFIER};
use crate::ast::{Expr, ExprKind};
use crate::environment::Release;

/// Name of the variable in which a fold collects its result; no macro's own variable may have it.
pub const ACCUMULATOR: &str = "__result__";
/// Name of the variable of a fold that goes through nothing.
pub const UNUSED_VARIABLE: &str = "#unused";

/// Which macros an expression may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Macros {
    /// `all`, `exists`, `existsOne`, `exists_one`, `transformList`, `transformMap`, `transformMapEntry` with two variables.
    pub two_variables: bool,
    /// `optMap` and `optFlatMap`.
    pub optional: bool,
    /// `sortBy`.
    pub sort_by: bool,
    /// `cel.bind`.
    pub bind: bool,
}

impl Macros {
    /// The macros that had appeared by a release.
    pub fn at(release: Release) -> Macros {
        Macros {
            two_variables: release >= Release(32),
            optional: release >= Release(29),
            sort_by: release >= Release(34),
            bind: false,
        }
    }
}

impl Default for Macros {
    fn default() -> Macros {
        Macros { two_variables: true, optional: true, sort_by: true, bind: false }
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
    Bind,
}

impl Macros {
    pub(super) fn find(
        self,
        function: &str,
        target: Option<&Expr>,
        arguments: usize,
    ) -> Option<Expander> {
        let Some(target) = target else {
            return (function == "has" && arguments == 1).then_some(Expander::Has);
        };
        if (function, arguments) == ("bind", 3) {
            let is_cel = matches!(&target.kind, ExprKind::Ident(name) if **name == *"cel");
            return (self.bind && is_cel).then_some(Expander::Bind);
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
    let Some(target) = target else {
        return factory.has(next());
    };
    let fold = match expander {
        Expander::Has => return factory.has(target),
        Expander::OptionalMap => return factory.optional_map(target, next(), next(), "optMap"),
        Expander::OptionalFlatMap => {
            return factory.optional_map(target, next(), next(), "optFlatMap");
        }
        Expander::SortBy => return factory.sort_by(target, next(), next()),
        Expander::Bind => return factory.bind(next(), next(), next()),
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
                return Err(
                    factory.failure(&second, format!("duplicate variable name: {variable}"))
                );
            }
            match expander {
                Expander::TransformList => {
                    factory.map(variable, Some(second_variable), next(), arguments.next())
                }
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
