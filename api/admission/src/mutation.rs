//! The mutating sequence: the order of the steps that may change an object, and what the steps keep
//! between its two rounds.
//!
//! A round is: the built-in plugins, the mutating policies, the mutating webhooks. A second and last
//! round follows when a policy or a webhook has changed the object. The plugins run in it again; of
//! policies and webhooks only those with `reinvocationPolicy: IfNeeded` that were asked before, and
//! after which something has changed the object.
//!
//! Invariants: a step gives back an object that is pruned and has its defaults
//! (`Attributes::settle`); nothing is asked for the first time in the second round.
//!
//! Not here: what the steps ask.

use std::collections::BTreeSet;

use quorate_meta::Value;

/// One write on its way through the sequence.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    is_second: bool,
    /// Whether a policy or a webhook has changed the object.
    is_patched: bool,
    policies: AskedBefore,
    webhooks: AskedBefore,
}

/// What a step keeps between the rounds. Policies and webhooks are named by keys that the step
/// chooses.
#[derive(Debug, Default)]
struct AskedBefore {
    /// Those that may be asked again, and since which nothing has changed the object.
    before: BTreeSet<String>,
    /// Those that have to be asked again.
    again: BTreeSet<String>,
    /// The object as the step has left it; only kept where something may be asked again.
    left: Option<Value>,
}

/// One step in one round.
#[derive(Debug)]
pub(crate) struct StepPass<'p> {
    is_second: bool,
    is_patched: &'p mut bool,
    asked: &'p mut AskedBefore,
}

impl Pass {
    /// The step of the mutating policies.
    pub(crate) fn policies(&mut self) -> StepPass<'_> {
        let Self { is_second, is_patched, policies, .. } = self;
        StepPass { is_second: *is_second, is_patched, asked: policies }
    }

    /// The step of the mutating webhooks.
    pub(crate) fn webhooks(&mut self) -> StepPass<'_> {
        let Self { is_second, is_patched, webhooks, .. } = self;
        StepPass { is_second: *is_second, is_patched, asked: webhooks }
    }

    /// Begins the second round; false when there is none.
    pub(crate) fn begin_second(&mut self) -> bool {
        let begins = self.is_patched && !self.is_second;
        self.is_second |= begins;
        begins
    }
}

impl StepPass<'_> {
    /// The number of the round, from 0.
    pub(crate) fn round(&self) -> usize {
        usize::from(self.is_second)
    }

    /// Begins the step with the object as the step before has left it. In the second round, what
    /// other steps have changed since makes this one ask again.
    pub(crate) fn begin(&mut self, object: &Value) {
        if self.is_second && self.asked.left.as_ref().is_some_and(|left| left != object) {
            self.asked.require();
        }
    }

    /// Whether a policy or webhook is asked in this round.
    pub(crate) fn asks(&self, key: &str) -> bool {
        !self.is_second || self.asked.again.contains(key)
    }

    /// Takes note that one has changed the object: those that were asked before it are asked again.
    /// To be called before [`StepPass::asked`] of the same key.
    pub(crate) fn changed(&mut self) {
        *self.is_patched = true;
        self.asked.require();
    }

    /// Takes note that one with `reinvocationPolicy: IfNeeded` was asked.
    pub(crate) fn asked(&mut self, key: String) {
        self.asked.before.insert(key);
    }

    /// Ends the step.
    pub(crate) fn end(&mut self, object: &Value) {
        let may_ask_again = !self.is_second && !self.asked.before.is_empty();
        self.asked.left = may_ask_again.then(|| object.clone());
    }
}

impl AskedBefore {
    fn require(&mut self) {
        self.again.append(&mut self.before);
    }
}
