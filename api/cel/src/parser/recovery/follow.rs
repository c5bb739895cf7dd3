//! Tokens that can follow a state of the automaton.
//!
//! Invariants: with the callers of a rule the ends of rules are passed, and the end of the source can follow the outermost;
//! without them the end of the rule is [`Tokens::EPSILON`]. Not here: choice among alternatives (`predict`).

use super::automaton::{Automaton, State, StateId, StateKind, Tokens, Transition, start_of};
use crate::parser::token::TokenKind;

impl Automaton {
    /// Tokens that can follow a state within its rule.
    pub(super) fn next_tokens(&self, state: StateId) -> Tokens {
        self.next_tokens[state as usize]
    }

    /// The state after the call that a state makes.
    pub(super) fn follow(&self, caller: StateId) -> Option<StateId> {
        match self.states[caller as usize].transitions.first() {
            Some(Transition::Rule { follow, .. }) => Some(*follow),
            _ => None,
        }
    }

    /// Tokens that can follow a state; with the calls that led to its rule, innermost last, across the ends of rules too.
    pub(super) fn look(&self, state: StateId, callers: Option<&[StateId]>) -> Tokens {
        let mut look =
            Look { automaton: self, found: Tokens::default(), visited: Vec::new(), called: 0 };
        let mut stack: Vec<StateId> = callers.unwrap_or_default().to_vec();
        look.from(state, &mut stack, callers.is_some());
        look.found
    }

    /// The tokens of each alternative of a decision, when no token belongs to two.
    pub(super) fn tokens_of_alternatives(&self, decision: StateId) -> Option<Vec<Tokens>> {
        let mut sets = Vec::new();
        for transition in &self.states[decision as usize].transitions {
            let Transition::Epsilon { to, .. } = transition else {
                return None;
            };
            let mut reached = vec![false; self.states.len()];
            let mut set = Tokens::default();
            if !self.first_tokens(*to, &mut reached, &mut set) {
                return None;
            }
            sets.push(set);
        }
        let is_disjoint = sets
            .iter()
            .enumerate()
            .all(|(index, set)| sets[..index].iter().all(|one| one.0 & set.0 == 0));
        is_disjoint.then_some(sets)
    }

    /// Adds the tokens that can come first from a state, whatever calls its rule; false when a precedence decides.
    fn first_tokens(&self, state: StateId, reached: &mut [bool], set: &mut Tokens) -> bool {
        if std::mem::replace(&mut reached[state as usize], true) {
            return true;
        }
        self.states[state as usize].transitions.iter().all(|transition| match *transition {
            Transition::Epsilon { to, .. } => self.first_tokens(to, reached, set),
            Transition::Tokens { of, .. } => {
                *set = set.and(of);
                true
            }
            Transition::Rule { rule, .. } => self.first_tokens(start_of(rule), reached, set),
            Transition::Precedence { .. } => false,
        })
    }
}

/// A search for the tokens that can follow a state.
struct Look<'a> {
    automaton: &'a Automaton,
    found: Tokens,
    visited: Vec<(StateId, Vec<StateId>)>,
    /// Rules being looked into, as bits.
    called: u32,
}

impl Look<'_> {
    fn from(&mut self, state: StateId, stack: &mut Vec<StateId>, to_the_end: bool) {
        if self.visited.iter().any(|(known, at)| *known == state && at == stack) {
            return;
        }
        self.visited.push((state, stack.clone()));
        let State { kind, rule, transitions } = &self.automaton.states[state as usize];
        if *kind == StateKind::RuleStop {
            match stack.pop() {
                Some(follow) => {
                    let called = self.called;
                    self.called &= !(1 << *rule as u32);
                    self.from(follow, stack, to_the_end);
                    self.called = called;
                    stack.push(follow);
                }
                None if to_the_end => self.found = self.found.and(Tokens::of(TokenKind::End)),
                None => self.found = self.found.and(Tokens::EPSILON),
            }
            return;
        }
        for transition in transitions {
            match *transition {
                Transition::Epsilon { to, .. } | Transition::Precedence { to, .. } => {
                    self.from(to, stack, to_the_end)
                }
                Transition::Tokens { of, .. } => self.found = self.found.and(of),
                Transition::Rule { rule, follow, .. } => {
                    let bit = 1 << rule as u32;
                    if self.called & bit != 0 {
                        continue;
                    }
                    self.called |= bit;
                    stack.push(follow);
                    self.from(start_of(rule), stack, to_the_end);
                    stack.pop();
                    self.called &= !bit;
                }
            }
        }
    }
}
