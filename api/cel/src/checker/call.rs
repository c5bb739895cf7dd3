//! Calls: which overloads of a function go with the types of the arguments.
//!
//! Invariants: overloads are tried in order of declaration; all that fit are kept, and when their results differ the call is
//! `dyn`. Not here: what is chosen among them at run time (the planner).

use std::sync::Arc;

use smallvec::SmallVec;

use super::Reference;
use super::assign::{Bindings, is_exact};
use super::expression::Checker;
use super::scope::qualified_name;
use crate::ast::{Expr, ExprId, ExprKind, Name};
use crate::overload::Overload;
use crate::types::Type;

type Types = SmallVec<[Type; 4]>;

impl<'e> Checker<'e> {
    pub(super) fn call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let ExprKind::Call { function, target, arguments } = &mut expr.kind else {
            return;
        };
        if &**function == "_?._" {
            return self.optional_select(id, arguments);
        }
        for argument in arguments.iter_mut() {
            self.check(argument);
        }
        if let Some(receiver) = target {
            if let Some((name, overloads)) = self.namespaced(receiver, function) {
                *function = name;
                *target = None;
                return self.resolve(id, overloads, None, function, arguments);
            }
            self.check(receiver);
        }
        let Some(overloads) = self.scope.function(function) else {
            return self.undeclared(id, &function.clone());
        };
        if target.is_none()
            && let Some(first) = overloads.first()
            && *first.function != **function
        {
            *function = first.function.into();
        }
        self.resolve(id, overloads, target.as_deref(), function, arguments);
    }

    /// The function `a.b.c`, when `a.b` is the receiver and `c` the name, and when there is one.
    fn namespaced(
        &mut self,
        receiver: &Expr,
        function: &str,
    ) -> Option<(Name, &'e [Arc<Overload>])> {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        let overloads = if qualified_name(receiver, &mut name) {
            name.push('.');
            name.push_str(function);
            self.scope.function(&name)
        } else {
            None
        };
        self.name = name;
        overloads.map(|overloads| (overloads[0].function.into(), overloads))
    }

    fn resolve(
        &mut self,
        id: ExprId,
        overloads: &[Arc<Overload>],
        target: Option<&Expr>,
        function: &str,
        arguments: &[Expr],
    ) {
        let found: Types =
            target.into_iter().chain(arguments).map(|argument| self.type_of(argument)).collect();
        let is_logic = matches!(function, "_&&_" | "_||_");
        let (mut fitting, mut result): (SmallVec<[Arc<Overload>; 1]>, Option<Type>) =
            (SmallVec::new(), None);
        for overload in overloads.iter().filter(|overload| overload.member == target.is_some()) {
            if is_logic {
                let wrong = arguments.iter().filter(|argument| !self.expect_bool(argument)).count();
                self.set_type(id, if wrong == 0 { Type::Bool } else { Type::Error });
                return self
                    .refer(id, Reference::Overloads(SmallVec::from_iter([overload.clone()])));
            }
            let Some(returned) = fit(&mut self.bindings, overload, &found) else {
                continue;
            };
            fitting.push(overload.clone());
            result = Some(match result {
                Some(result) if result == Type::Dyn || is_exact(&result, &returned) => result,
                Some(_) => Type::Dyn,
                None => returned,
            });
        }
        match result {
            Some(result) => {
                self.set_type(id, result);
                self.refer(id, Reference::Overloads(fitting));
            }
            None => {
                self.report_no_overload(id, function, target.is_some(), &found);
                self.set_type(id, Type::Error);
            }
        }
    }

    fn report_no_overload(&mut self, id: ExprId, function: &str, is_member: bool, found: &[Type]) {
        let texts: Vec<String> = found
            .iter()
            .map(|found| self.bindings.substitute(found, true).short().to_string())
            .collect();
        let signature = match texts.split_first() {
            Some((receiver, arguments)) if is_member => {
                format!("{receiver}.({})", arguments.join(", "))
            }
            _ => format!("({})", texts.join(", ")),
        };
        self.report(
            id,
            format!("found no matching overload for '{function}' applied to '{signature}'"),
        );
    }
}

/// The result's type when an overload's parameters take the arguments.
fn fit(bindings: &mut Bindings, overload: &Overload, arguments: &[Type]) -> Option<Type> {
    let mut parameters = TypeParameters::default();
    if !overload.parameters.iter().any(has_parameters) && !has_parameters(&overload.result) {
        let fits = arguments.len() == overload.parameters.len()
            && bindings.assign_all(arguments.iter().zip(&overload.parameters));
        return fits.then(|| overload.result.clone());
    }
    let result = parameters.instantiate(bindings, &overload.result);
    let instances: Types = overload
        .parameters
        .iter()
        .map(|parameter| parameters.instantiate(bindings, parameter))
        .collect();
    let fits =
        arguments.len() == instances.len() && bindings.assign_all(arguments.iter().zip(&instances));
    fits.then(|| bindings.substitute(&result, false))
}

fn has_parameters(searched: &Type) -> bool {
    match searched {
        Type::Param(_) => true,
        Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => has_parameters(inner),
        Type::Map(key, value) => has_parameters(key) || has_parameters(value),
        _ => false,
    }
}

/// The type variables that stand for the parameters of one overload in one attempt.
#[derive(Default)]
struct TypeParameters(SmallVec<[(Arc<str>, Type); 4]>);

impl TypeParameters {
    fn instantiate(&mut self, bindings: &mut Bindings, declared: &Type) -> Type {
        match declared {
            Type::Param(name) => match self.0.iter().find(|(known, _)| known == name) {
                Some((_, variable)) => variable.clone(),
                None => {
                    let variable = bindings.variable();
                    self.0.push((name.clone(), variable.clone()));
                    variable
                }
            },
            Type::List(inner) => Type::List(self.inner(bindings, inner)),
            Type::Optional(inner) => Type::Optional(self.inner(bindings, inner)),
            Type::Type(inner) => Type::Type(self.inner(bindings, inner)),
            Type::Map(key, value) => {
                Type::Map(self.inner(bindings, key), self.inner(bindings, value))
            }
            other => other.clone(),
        }
    }

    fn inner(&mut self, bindings: &mut Bindings, declared: &Arc<Type>) -> Arc<Type> {
        if has_parameters(declared) {
            Arc::new(self.instantiate(bindings, declared))
        } else {
            declared.clone()
        }
    }
}
