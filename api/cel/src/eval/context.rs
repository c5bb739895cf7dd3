//! The state of one evaluation.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_meta as data;

use super::scalar::Scalar;
use super::truth::Truth;
use super::{EvalError, Evaluated, LazyVariables, evaluate};
use crate::plan::node::{Base, Node};
use crate::value::{Shape, Value};

/// So many elements are copied, compared and searched at most in one evaluation. The language counts 1 for the sum of two lists
/// and for lists in lists, so that an expression of little cost could otherwise take any time and memory.
const STEPS_MAX: u64 = 20_000_000;

/// After so many iterations of loops it is asked whether the evaluation has to stop.
const ITERATIONS_BETWEEN_CHECKS: u32 = 100;

/// Values of variables.
#[derive(Debug, Clone)]
pub struct Activation<'a> {
    /// Name and value, by slot.
    slots: Vec<(&'a str, Option<Value<'a>>)>,
}

/// The state of one evaluation.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    activation: &'a Activation<'a>,
    locals: Vec<FoldVariable<'a>>,
    cost: u64,
    limit: u64,
    iterations: u32,
    interrupted: Option<&'a AtomicBool>,
    failure: Option<EvalError>,
    /// Steps that work may still take which costs less than it takes.
    steps: u64,
    /// Variables without a value in the activation.
    lazy: Option<Rc<LazyVariables<'a>>>,
}

/// A variable of a fold.
#[derive(Debug, Clone)]
enum FoldVariable<'a> {
    /// It has a value; that of an accumulator may be an error.
    Value(Value<'a>),
    /// It gets its value when it is first read.
    Pending(&'a Node),
}

impl<'a> Activation<'a> {
    pub(super) const fn of_slots(slots: Vec<(&'a str, Option<Value<'a>>)>) -> Self {
        Self { slots }
    }

    /// For an expression of an environment with these variables, nothing bound.
    pub fn named(variables: &[&'a str]) -> Self {
        Self::of_slots(variables.iter().map(|name| (*name, None)).collect())
    }

    /// Gives the variable in `slot` a value; a slot that the environment does not have is left out.
    #[must_use]
    pub fn with(mut self, slot: usize, value: Value<'a>) -> Self {
        self.bind(slot, value);
        self
    }

    /// Gives the variable in `slot` a value; a slot that the environment does not have is left out.
    pub fn bind(&mut self, slot: usize, value: Value<'a>) {
        if let Some((_, bound)) = self.slots.get_mut(slot) {
            *bound = Some(value);
        }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        activation: &'a Activation<'a>,
        locals: u32,
        limit: u64,
        interrupted: Option<&'a AtomicBool>,
    ) -> Self {
        // Without folds nothing is allocated.
        let locals = (0..locals).map(|_| FoldVariable::Value(Value::Null)).collect();
        Self {
            activation,
            locals,
            cost: 0,
            limit,
            iterations: 0,
            interrupted,
            failure: None,
            steps: STEPS_MAX,
            lazy: None,
        }
    }

    /// The same, with variables that are evaluated when they are read.
    pub(crate) fn with_lazy_variables(mut self, lazy: Rc<LazyVariables<'a>>) -> Self {
        self.lazy = Some(lazy);
        self
    }

    /// What the evaluation has cost so far.
    pub(crate) const fn cost(&self) -> u64 {
        self.cost
    }

    /// Counts `cost`.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::CostLimit) } else { Ok(()) }
    }

    /// Counts the cost of a condition and gives its truth; a final failure costs no more.
    #[inline]
    pub(super) fn charged(&mut self, cost: u64, truth: Truth) -> Truth {
        if truth == Truth::Failed && self.has_final_failure() {
            return truth;
        }
        match self.charge(cost) {
            Ok(()) => truth,
            Err(error) => self.fail(error),
        }
    }

    /// Keeps why a condition has failed.
    #[cold]
    pub(super) fn fail(&mut self, error: EvalError) -> Truth {
        self.failure = Some(error);
        Truth::Failed
    }

    /// Why the last condition has failed.
    pub(super) fn failure(&mut self) -> EvalError {
        self.failure.take().unwrap_or_else(EvalError::no_such_overload)
    }

    /// Whether the last condition has failed for good.
    pub(super) fn has_final_failure(&self) -> bool {
        self.failure.as_ref().is_some_and(EvalError::is_final)
    }

    /// The truth of a condition as a result.
    #[inline]
    pub(super) fn outcome(&mut self, truth: Truth) -> Evaluated<'a> {
        match truth {
            Truth::False => Ok(Value::Bool(false)),
            Truth::True => Ok(Value::Bool(true)),
            Truth::Failed => Err(self.failure()),
        }
    }

    /// Counts the steps of a path, when that does not exceed the limit.
    #[inline]
    pub(super) const fn charge_path(&mut self, steps: u64) {
        self.cost += steps;
    }

    /// Whether so many steps can be counted at once.
    #[inline]
    pub(super) const fn affords(&self, steps: u64) -> bool {
        self.cost.saturating_add(steps) <= self.limit
    }

    /// The scalar that a variable is.
    #[inline]
    pub(super) fn scalar(&self, base: &Base) -> Option<Scalar<'a>> {
        match base {
            Base::Variable(slot) => {
                Scalar::of_kept(self.activation.slots.get(*slot as usize)?.1.as_ref()?)
            }
            Base::Local(place) => match self.locals.get(*place as usize)? {
                FoldVariable::Value(value) => Scalar::of(value),
                FoldVariable::Pending(_) => None,
            },
            _ => None,
        }
    }

    /// The value of a variable that needs no rebuilding and is no error.
    #[inline]
    pub(super) fn plain(&self, base: &Base) -> Option<Value<'a>> {
        let special = |value: &Value<'_>| matches!(value, Value::Optional(_) | Value::Error(_));
        match base {
            Base::Variable(slot) => {
                let value = self.activation.slots.get(*slot as usize)?.1.as_ref()?;
                (!special(value)).then(|| value.lent())
            }
            Base::Local(place) => match self.locals.get(*place as usize)? {
                FoldVariable::Value(value) if !special(value) => Some(value.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The data that a variable is bound to.
    #[inline]
    pub(super) fn tree_of(&self, base: &Base) -> Option<(&'a data::Map, &'a Shape)> {
        let value = match base {
            Base::Variable(slot) => self.activation.slots.get(*slot as usize)?.1.as_ref()?,
            Base::Local(place) => match self.locals.get(*place as usize)? {
                FoldVariable::Value(value) => value,
                FoldVariable::Pending(_) => return None,
            },
            _ => return None,
        };
        match value {
            Value::Map(map) => map.as_tree(),
            _ => None,
        }
    }

    /// Steps left for work that costs less than it takes.
    pub(super) const fn steps(&mut self) -> &mut u64 {
        &mut self.steps
    }

    /// Counts steps of work that costs less than it takes.
    pub(super) fn work(&mut self, steps: u64) -> Result<(), EvalError> {
        self.steps = self.steps.checked_sub(steps).ok_or(EvalError::CostLimit)?;
        Ok(())
    }

    /// Takes back what a test of presence does not cost.
    pub(super) const fn discharge(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    /// Counts an iteration of a loop.
    pub(super) fn iterate(&mut self) -> Result<(), EvalError> {
        self.iterations = self.iterations.wrapping_add(1);
        let checked = self.iterations.is_multiple_of(ITERATIONS_BETWEEN_CHECKS);
        match self.interrupted {
            Some(interrupted) if checked && interrupted.load(Ordering::Relaxed) => {
                Err(EvalError::Interrupted)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn variable(&mut self, slot: u32) -> Evaluated<'a> {
        match self.activation.slots.get(slot as usize) {
            Some((_, Some(value))) => Ok(value.lent()),
            Some((name, None)) => self.lazy_variable(slot, name),
            None => Err(EvalError::new("no such attribute(s)")),
        }
    }

    /// The value of a variable that is not bound; that it has a qualified name counts as the step to a field.
    #[cold]
    fn lazy_variable(&mut self, slot: u32, name: &str) -> Evaluated<'a> {
        match self.lazy.as_ref().and_then(|lazy| lazy.value(slot)) {
            Some(value) => {
                self.charge(1)?;
                value
            }
            None => Err(EvalError::new(format!("no such attribute(s): {name}"))),
        }
    }

    pub(super) fn local(&mut self, place: u32) -> Evaluated<'a> {
        match self.locals.get(place as usize) {
            Some(FoldVariable::Value(Value::Error(error))) => Err((**error).clone()),
            Some(FoldVariable::Value(value)) => Ok(value.clone()),
            Some(FoldVariable::Pending(_)) => {
                self.settle(place)?;
                self.local(place)
            }
            None => Err(EvalError::new("no such attribute(s)")),
        }
    }

    /// The value of a variable that is set again before it is read again.
    pub(super) fn take_local(&mut self, place: u32) -> Evaluated<'a> {
        self.settle(place)?;
        match self
            .locals
            .get_mut(place as usize)
            .map(|local| std::mem::replace(local, FoldVariable::Value(Value::Null)))
        {
            Some(FoldVariable::Value(Value::Error(error))) => Err((*error).clone()),
            Some(FoldVariable::Value(value)) => Ok(value),
            _ => Err(EvalError::new("no such attribute(s)")),
        }
    }

    pub(super) fn set_local(&mut self, place: u32, value: Value<'a>) {
        if let Some(local) = self.locals.get_mut(place as usize) {
            *local = FoldVariable::Value(value);
        }
    }

    pub(super) fn set_pending(&mut self, place: u32, node: &'a Node) {
        if let Some(local) = self.locals.get_mut(place as usize) {
            *local = FoldVariable::Pending(node);
        }
    }

    /// Evaluates the first value of an accumulator, if it has none yet.
    fn settle(&mut self, place: u32) -> Result<(), EvalError> {
        let Some(FoldVariable::Pending(node)) = self.locals.get(place as usize) else {
            return Ok(());
        };
        let value = settled(evaluate(node, self))?;
        self.set_local(place, value);
        Ok(())
    }
}

/// A result as an accumulator holds it; a final error goes on.
pub(super) fn settled(result: Evaluated<'_>) -> Evaluated<'_> {
    match result {
        Err(error) if !error.is_final() => Ok(Value::Error(error.into())),
        result => result,
    }
}
