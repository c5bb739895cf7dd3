//! The state of one evaluation.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{EvalError, Evaluated, evaluate};
use crate::plan::node::Node;
use crate::value::Value;

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
    locals: Vec<Local<'a>>,
    cost: u64,
    limit: u64,
    iterations: u32,
    interrupted: Option<&'a AtomicBool>,
}

/// A variable of a fold.
#[derive(Debug, Clone)]
enum Local<'a> {
    /// It has a value; that of an accumulator may be an error.
    Value(Value<'a>),
    /// It gets its value when it is first read.
    Pending(&'a Node),
}

impl<'a> Activation<'a> {
    pub(super) const fn of_slots(slots: Vec<(&'a str, Option<Value<'a>>)>) -> Self {
        Self { slots }
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
        let locals = (0..locals).map(|_| Local::Value(Value::Null)).collect();
        Self { activation, locals, cost: 0, limit, iterations: 0, interrupted }
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

    /// Takes back what a test of presence does not cost.
    pub(super) const fn discharge(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    /// Counts an iteration of a loop.
    pub(super) fn iterate(&mut self) -> Result<(), EvalError> {
        self.iterations = self.iterations.wrapping_add(1);
        let checked = self.iterations.is_multiple_of(ITERATIONS_BETWEEN_CHECKS);
        match self.interrupted {
            Some(interrupted) if checked && interrupted.load(Ordering::Relaxed) => Err(EvalError::Interrupted),
            _ => Ok(()),
        }
    }

    pub(super) fn variable(&self, slot: u32) -> Evaluated<'a> {
        match self.activation.slots.get(slot as usize) {
            Some((_, Some(value))) => Ok(value.lent()),
            Some((name, None)) => Err(EvalError::new(format!("no such attribute(s): {name}"))),
            None => Err(EvalError::new("no such attribute(s)")),
        }
    }

    pub(super) fn local(&mut self, place: u32) -> Evaluated<'a> {
        match self.locals.get(place as usize) {
            Some(Local::Value(Value::Error(error))) => Err((**error).clone()),
            Some(Local::Value(value)) => Ok(value.clone()),
            Some(Local::Pending(_)) => {
                self.settle(place)?;
                self.local(place)
            }
            None => Err(EvalError::new("no such attribute(s)")),
        }
    }

    /// The value of a variable that is set again before it is read again.
    pub(super) fn take_local(&mut self, place: u32) -> Evaluated<'a> {
        self.settle(place)?;
        match self.locals.get_mut(place as usize).map(|local| std::mem::replace(local, Local::Value(Value::Null))) {
            Some(Local::Value(Value::Error(error))) => Err((*error).clone()),
            Some(Local::Value(value)) => Ok(value),
            _ => Err(EvalError::new("no such attribute(s)")),
        }
    }

    pub(super) fn set_local(&mut self, place: u32, value: Value<'a>) {
        if let Some(local) = self.locals.get_mut(place as usize) {
            *local = Local::Value(value);
        }
    }

    pub(super) fn set_pending(&mut self, place: u32, node: &'a Node) {
        if let Some(local) = self.locals.get_mut(place as usize) {
            *local = Local::Pending(node);
        }
    }

    /// Evaluates the first value of an accumulator, if it has none yet.
    fn settle(&mut self, place: u32) -> Result<(), EvalError> {
        let Some(Local::Pending(node)) = self.locals.get(place as usize) else { return Ok(()) };
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
