//! Answers of an authorizer for the expressions of one request.
//!
//! Invariants: a distinct check is asked once, however many expressions ask it and however often they are evaluated; a check
//! that cannot be answered at once ends the evaluation with [`EvalError::Pending`](crate::eval::EvalError::Pending) and is kept
//! as a question.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Check, Decision};

/// Who decides, as far as that needs no waiting.
///
/// A server whose authorizers all answer from memory decides every check here. One that asks a webhook leaves those checks
/// undecided, evaluates, asks what [`Answers::take_questions`] holds, gives the answers to [`Answers::insert`] and evaluates
/// again.
pub trait Authorizer: std::fmt::Debug + Send + Sync {
    /// The decision; `None` when it has to be waited for.
    fn decide(&self, check: &Check) -> Option<Decision>;
}

/// Decides nothing itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Undecided;

impl Authorizer for Undecided {
    fn decide(&self, _check: &Check) -> Option<Decision> {
        None
    }
}

/// The answers so far.
#[derive(Debug)]
pub struct Answers {
    authorizer: Box<dyn Authorizer>,
    /// What was asked; `None` while it has to be waited for.
    known: Mutex<HashMap<Check, Option<Decision>>>,
    questions: Mutex<Vec<Check>>,
}

impl Answers {
    /// No answer yet.
    #[must_use]
    pub fn of(authorizer: impl Authorizer + 'static) -> Self {
        Self {
            authorizer: Box::new(authorizer),
            known: Mutex::default(),
            questions: Mutex::default(),
        }
    }

    /// The answer; `None` when it has to be waited for.
    #[must_use]
    pub fn answer(&self, check: &Check) -> Option<Decision> {
        let mut known = locked(&self.known);
        match known.entry(check.clone()) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => {
                let decision = self.authorizer.decide(check);
                if decision.is_none() {
                    locked(&self.questions).push(check.clone());
                }
                entry.insert(decision).clone()
            }
        }
    }

    /// The checks that have to be waited for and were not taken yet, in the order in which they were met.
    #[must_use]
    pub fn take_questions(&self) -> Vec<Check> {
        std::mem::take(&mut locked(&self.questions))
    }

    /// Adds an answer.
    pub fn insert(&self, check: Check, decision: Decision) {
        locked(&self.known).insert(check, Some(decision));
    }
}

/// A map that is whole between any two operations, so that a panic elsewhere does not spoil it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
