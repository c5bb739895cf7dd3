//! The grammar as an automaton, in the form in which ANTLR builds it.
//!
//! Invariants: states have ANTLR's kinds, since recovery depends on the kind of state at which an error is met; what can
//! follow a state is computed without the callers of its rule (then the set has [`Tokens::EPSILON`]) or with them. Not here:
//! choice among alternatives (`predict`).

use super::grammar::{Body, Label, Part, RULES, Rule, body};
pub(super) use super::token_set::{TOKEN_NAMES, Tokens};
use crate::parser::token::TokenKind;

/// Number of a state.
pub(super) type StateId = u16;

/// What kind of state one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateKind {
    Basic,
    RuleStart,
    RuleStop,
    /// Start of alternatives, optional parts and loop bodies, and entry to a star loop.
    Decision,
    BlockEnd,
    /// Where a loop goes back.
    LoopBack,
}

/// A way from a state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Transition {
    /// Without a token; `returned` is the rule from whose outermost call it returns.
    Epsilon { to: StateId, returned: Option<Rule> },
    /// With a token.
    Tokens { of: Tokens, to: StateId },
    /// Through a rule.
    Rule { rule: Rule, precedence: u8, follow: StateId },
    /// When the precedence of the rule allows it.
    Precedence { precedence: u8, to: StateId },
}

/// A state.
#[derive(Debug)]
pub(super) struct State {
    pub(super) kind: StateKind,
    pub(super) rule: Rule,
    pub(super) transitions: Vec<Transition>,
}

/// A decision: the state at which it is made, and, when one token decides, the tokens of each alternative.
#[derive(Debug)]
pub(super) struct DecisionPoint {
    pub(super) state: StateId,
    pub(super) by_token: Option<Vec<Tokens>>,
    /// Whether it is the loop of a left-recursive rule.
    pub(super) is_precedence: bool,
}

/// A part of an alternative, with its states.
#[derive(Debug)]
pub(super) enum RuleStep {
    Token {
        state: StateId,
        label: Label,
        kind: TokenKind,
    },
    Set {
        state: StateId,
        label: Label,
        of: Tokens,
    },
    Rule {
        state: StateId,
        label: Label,
        rule: Rule,
        precedence: u8,
    },
    Optional {
        decision: usize,
        body: Vec<RuleStep>,
    },
    Star {
        decision: usize,
        back: StateId,
        body: Vec<RuleStep>,
    },
    Plus {
        start: StateId,
        decision: usize,
        body: Vec<RuleStep>,
    },
    Choice {
        decision: usize,
        alternatives: Vec<Vec<RuleStep>>,
    },
    Recursion {
        decision: usize,
        back: StateId,
        inner: Option<usize>,
        alternatives: Vec<Vec<RuleStep>>,
    },
}

/// The automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    pub(super) states: Vec<State>,
    pub(super) decisions: Vec<DecisionPoint>,
    pub(super) rules: Vec<Vec<RuleStep>>,
    pub(super) next_tokens: Vec<Tokens>,
}

/// A rule's states before they are connected.
type Ends = (StateId, StateId);

impl Automaton {
    pub(super) fn new() -> Automaton {
        let (states, decisions, rules) = (Vec::new(), Vec::new(), Vec::new());
        let mut automaton = Automaton { states, decisions, rules, next_tokens: Vec::new() };
        for rule in Rule::ALL {
            automaton.state(StateKind::RuleStart, rule);
        }
        for rule in Rule::ALL {
            automaton.state(StateKind::RuleStop, rule);
        }
        for rule in Rule::ALL {
            let (steps, (first, last)) = automaton.rule(rule);
            automaton.rules.push(steps);
            automaton.epsilon(start_of(rule), first);
            automaton.epsilon(last, stop_of(rule));
        }
        automaton.connect_returns();
        automaton.next_tokens =
            (0..automaton.states.len()).map(|id| automaton.look(id as StateId, None)).collect();
        for index in 0..automaton.decisions.len() {
            automaton.decisions[index].by_token =
                automaton.tokens_of_alternatives(automaton.decisions[index].state);
        }
        automaton
    }

    fn state(&mut self, kind: StateKind, rule: Rule) -> StateId {
        self.states.push(State { kind, rule, transitions: Vec::new() });
        (self.states.len() - 1) as StateId
    }

    fn add(&mut self, from: StateId, transition: Transition) {
        self.states[from as usize].transitions.push(transition);
    }

    fn epsilon(&mut self, from: StateId, to: StateId) {
        self.add(from, Transition::Epsilon { to, returned: None });
    }

    fn decision(&mut self, state: StateId, is_precedence: bool) -> usize {
        self.decisions.push(DecisionPoint { state, by_token: None, is_precedence });
        self.decisions.len() - 1
    }

    fn rule(&mut self, rule: Rule) -> (Vec<RuleStep>, Ends) {
        match body(rule) {
            Body::Alternatives([only]) => self.sequence(rule, only),
            Body::Alternatives(alternatives) => self.choice(rule, alternatives),
            Body::LeftRecursive(prefix, alternatives) => self.recursion(rule, prefix, alternatives),
        }
    }

    fn sequence(&mut self, rule: Rule, parts: &[Part]) -> (Vec<RuleStep>, Ends) {
        let mut steps = Vec::with_capacity(parts.len());
        let mut ends: Option<Ends> = None;
        for part in parts {
            let (step, (first, last)) = self.part(rule, part);
            steps.push(step);
            ends = Some(match ends {
                Some((start, end)) => {
                    self.epsilon(end, first);
                    (start, last)
                }
                None => (first, last),
            });
        }
        (steps, ends.expect("no alternative of the grammar is empty"))
    }

    fn part(&mut self, rule: Rule, part: &Part) -> (RuleStep, Ends) {
        match *part {
            Part::Token(label, kind) => {
                let (state, end) =
                    self.pair(rule, Transition::Tokens { of: Tokens::of(kind), to: 0 });
                (RuleStep::Token { state, label, kind }, (state, end))
            }
            Part::Set(label, kinds) => {
                let of =
                    kinds.iter().fold(Tokens::default(), |set, kind| set.and(Tokens::of(*kind)));
                let (state, end) = self.pair(rule, Transition::Tokens { of, to: 0 });
                (RuleStep::Set { state, label, of }, (state, end))
            }
            Part::Rule(label, called, precedence) => {
                let transition = Transition::Rule { rule: called, precedence, follow: 0 };
                let (state, end) = self.pair(rule, transition);
                (RuleStep::Rule { state, label, rule: called, precedence }, (state, end))
            }
            Part::Optional(parts) => {
                let (start, end) =
                    (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
                let decision = self.decision(start, false);
                let (body, (first, last)) = self.sequence(rule, parts);
                self.epsilon(start, first);
                self.epsilon(last, end);
                self.epsilon(start, end);
                (RuleStep::Optional { decision, body }, (start, end))
            }
            Part::Star(parts) => {
                let (body, ends) = self.sequence(rule, parts);
                let (entry, back, end) = self.star(rule, ends);
                let decision = self.decision(entry, false);
                (RuleStep::Star { decision, back, body }, (entry, end))
            }
            Part::Plus(parts) => {
                let (start, end) =
                    (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
                let back = self.state(StateKind::LoopBack, rule);
                let decision = self.decision(back, false);
                let (body, (first, last)) = self.sequence(rule, parts);
                self.epsilon(start, first);
                self.epsilon(last, back);
                self.epsilon(back, start);
                self.epsilon(back, end);
                (RuleStep::Plus { start, decision, body }, (start, end))
            }
        }
    }

    /// Two states with one transition between them.
    fn pair(&mut self, rule: Rule, transition: Transition) -> Ends {
        let (from, end) = (self.state(StateKind::Basic, rule), self.state(StateKind::Basic, rule));
        let transition = match transition {
            Transition::Tokens { of, .. } => Transition::Tokens { of, to: end },
            Transition::Rule { rule, precedence, .. } => {
                Transition::Rule { rule, precedence, follow: end }
            }
            other => other,
        };
        self.add(from, transition);
        (from, end)
    }

    /// Entry, way back and end of a star loop around a body.
    fn star(&mut self, rule: Rule, (first, last): Ends) -> (StateId, StateId, StateId) {
        let (entry, end) =
            (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
        let back = self.state(StateKind::LoopBack, rule);
        self.epsilon(entry, first);
        self.epsilon(entry, end);
        self.epsilon(last, back);
        self.epsilon(back, entry);
        (entry, back, end)
    }

    fn choice(&mut self, rule: Rule, parts: &[&[Part]]) -> (Vec<RuleStep>, Ends) {
        let (start, end) =
            (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
        let decision = self.decision(start, false);
        let mut alternatives = Vec::new();
        for parts in parts {
            let (steps, (first, last)) = self.sequence(rule, parts);
            self.epsilon(start, first);
            self.epsilon(last, end);
            alternatives.push(steps);
        }
        (vec![RuleStep::Choice { decision, alternatives }], (start, end))
    }

    fn recursion(
        &mut self,
        rule: Rule,
        prefix: &[Part],
        parts: &[(u8, &[Part])],
    ) -> (Vec<RuleStep>, Ends) {
        let (mut steps, (first, prefix_end)) = self.sequence(rule, prefix);
        let (start, end) =
            (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
        let inner = (parts.len() > 1).then(|| self.decision(start, false));
        let mut alternatives = Vec::new();
        for (precedence, parts) in parts {
            let guard = self.state(StateKind::Basic, rule);
            let (steps, (first, last)) = self.sequence(rule, parts);
            self.epsilon(start, guard);
            self.add(guard, Transition::Precedence { precedence: *precedence, to: first });
            self.epsilon(last, end);
            alternatives.push(steps);
        }
        let (entry, back, after) = self.star(rule, (start, end));
        let decision = self.decision(entry, true);
        self.epsilon(prefix_end, entry);
        steps.push(RuleStep::Recursion { decision, back, inner, alternatives });
        (steps, (first, after))
    }

    /// From the end of every rule to what follows its calls.
    fn connect_returns(&mut self) {
        for id in 0..self.states.len() {
            for index in 0..self.states[id].transitions.len() {
                let Transition::Rule { rule, precedence, follow } =
                    self.states[id].transitions[index]
                else {
                    continue;
                };
                let is_recursive = matches!(body(rule), Body::LeftRecursive(..));
                let returned = (is_recursive && precedence == 0).then_some(rule);
                self.add(stop_of(rule), Transition::Epsilon { to: follow, returned });
            }
        }
    }
}

/// Where a rule starts.
pub(super) fn start_of(rule: Rule) -> StateId {
    rule as StateId
}

/// Where a rule ends.
pub(super) fn stop_of(rule: Rule) -> StateId {
    (RULES + rule as usize) as StateId
}
