//! The grammar as an automaton, in the form in which ANTLR builds it.
//!
//! Invariants: states have ANTLR's kinds, since recovery depends on the kind of state at which an error is met; what can
//! follow a state is computed without the callers of its rule (then the set has [`Tokens::EPSILON`]) or with them. Not here:
//! choice among alternatives (`predict`).

use super::grammar::{Body, Label, Part, RULES, Rule, body};
use crate::parser::token::TokenKind;

/// Number of a state.
pub(super) type StateId = u16;

/// A set of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tokens(pub(super) u64);

impl Tokens {
    /// Marks that the end of the rule can be reached without a token.
    pub(super) const EPSILON: Tokens = Tokens(1 << 63);

    pub(super) fn of(kind: TokenKind) -> Tokens {
        Tokens(1 << kind as u8)
    }

    pub(super) fn has(self, kind: TokenKind) -> bool {
        self.0 & Tokens::of(kind).0 != 0
    }

    pub(super) fn has_epsilon(self) -> bool {
        self.0 & Tokens::EPSILON.0 != 0
    }

    pub(super) fn without_epsilon(self) -> Tokens {
        Tokens(self.0 & !Tokens::EPSILON.0)
    }

    pub(super) fn and(self, other: Tokens) -> Tokens {
        Tokens(self.0 | other.0)
    }

    /// `'x'` or `{'x', IDENTIFIER}`.
    pub(super) fn names(self) -> String {
        let names: Vec<_> = TOKEN_NAMES
            .iter()
            .enumerate()
            .filter(|(index, _)| self.0 >> index & 1 == 1)
            .map(|(_, name)| *name)
            .collect();
        if names.len() == 1 { names[0].to_owned() } else { format!("{{{}}}", names.join(", ")) }
    }
}

/// Names of tokens in errors, by kind.
pub(super) const TOKEN_NAMES: [&str; 36] = [
    "<EOF>",
    "'=='",
    "'!='",
    "'in'",
    "'<'",
    "'<='",
    "'>='",
    "'>'",
    "'&&'",
    "'||'",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'('",
    "')'",
    "'.'",
    "','",
    "'-'",
    "'!'",
    "'?'",
    "':'",
    "'+'",
    "'*'",
    "'/'",
    "'%'",
    "'true'",
    "'false'",
    "'null'",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER",
];

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
pub(super) struct Decision {
    pub(super) state: StateId,
    pub(super) by_token: Option<Vec<Tokens>>,
    /// Whether it is the loop of a left-recursive rule.
    pub(super) is_precedence: bool,
}

/// A part of an alternative, with its states.
#[derive(Debug)]
pub(super) enum Step {
    Token { state: StateId, label: Label, kind: TokenKind },
    Set { state: StateId, label: Label, of: Tokens },
    Rule { state: StateId, label: Label, rule: Rule, precedence: u8 },
    Optional { decision: usize, body: Vec<Step> },
    Star { decision: usize, back: StateId, body: Vec<Step> },
    Plus { start: StateId, decision: usize, body: Vec<Step> },
    Choice { decision: usize, alternatives: Vec<Vec<Step>> },
    Recursion { decision: usize, back: StateId, inner: Option<usize>, alternatives: Vec<Vec<Step>> },
}

/// The automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    pub(super) states: Vec<State>,
    pub(super) decisions: Vec<Decision>,
    pub(super) rules: Vec<Vec<Step>>,
    next_tokens: Vec<Tokens>,
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
        automaton.next_tokens = (0..automaton.states.len()).map(|id| automaton.look(id as StateId, None)).collect();
        for index in 0..automaton.decisions.len() {
            automaton.decisions[index].by_token = automaton.tokens_of_alternatives(automaton.decisions[index].state);
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
        self.decisions.push(Decision { state, by_token: None, is_precedence });
        self.decisions.len() - 1
    }

    fn rule(&mut self, rule: Rule) -> (Vec<Step>, Ends) {
        match body(rule) {
            Body::Alternatives([only]) => self.sequence(rule, only),
            Body::Alternatives(alternatives) => self.choice(rule, alternatives),
            Body::LeftRecursive(prefix, alternatives) => self.recursion(rule, prefix, alternatives),
        }
    }

    fn sequence(&mut self, rule: Rule, parts: &[Part]) -> (Vec<Step>, Ends) {
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

    fn part(&mut self, rule: Rule, part: &Part) -> (Step, Ends) {
        match *part {
            Part::Token(label, kind) => {
                let (state, end) = self.pair(rule, Transition::Tokens { of: Tokens::of(kind), to: 0 });
                (Step::Token { state, label, kind }, (state, end))
            }
            Part::Set(label, kinds) => {
                let of = kinds.iter().fold(Tokens::default(), |set, kind| set.and(Tokens::of(*kind)));
                let (state, end) = self.pair(rule, Transition::Tokens { of, to: 0 });
                (Step::Set { state, label, of }, (state, end))
            }
            Part::Rule(label, called, precedence) => {
                let transition = Transition::Rule { rule: called, precedence, follow: 0 };
                let (state, end) = self.pair(rule, transition);
                (Step::Rule { state, label, rule: called, precedence }, (state, end))
            }
            Part::Optional(parts) => {
                let (start, end) = (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
                let decision = self.decision(start, false);
                let (body, (first, last)) = self.sequence(rule, parts);
                self.epsilon(start, first);
                self.epsilon(last, end);
                self.epsilon(start, end);
                (Step::Optional { decision, body }, (start, end))
            }
            Part::Star(parts) => {
                let (body, ends) = self.sequence(rule, parts);
                let (entry, back, end) = self.star(rule, ends);
                let decision = self.decision(entry, false);
                (Step::Star { decision, back, body }, (entry, end))
            }
            Part::Plus(parts) => {
                let (start, end) = (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
                let back = self.state(StateKind::LoopBack, rule);
                let decision = self.decision(back, false);
                let (body, (first, last)) = self.sequence(rule, parts);
                self.epsilon(start, first);
                self.epsilon(last, back);
                self.epsilon(back, start);
                self.epsilon(back, end);
                (Step::Plus { start, decision, body }, (start, end))
            }
        }
    }

    /// Two states with one transition between them.
    fn pair(&mut self, rule: Rule, transition: Transition) -> Ends {
        let (from, end) = (self.state(StateKind::Basic, rule), self.state(StateKind::Basic, rule));
        let transition = match transition {
            Transition::Tokens { of, .. } => Transition::Tokens { of, to: end },
            Transition::Rule { rule, precedence, .. } => Transition::Rule { rule, precedence, follow: end },
            other => other,
        };
        self.add(from, transition);
        (from, end)
    }

    /// Entry, way back and end of a star loop around a body.
    fn star(&mut self, rule: Rule, (first, last): Ends) -> (StateId, StateId, StateId) {
        let (entry, end) = (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
        let back = self.state(StateKind::LoopBack, rule);
        self.epsilon(entry, first);
        self.epsilon(entry, end);
        self.epsilon(last, back);
        self.epsilon(back, entry);
        (entry, back, end)
    }

    fn choice(&mut self, rule: Rule, parts: &[&[Part]]) -> (Vec<Step>, Ends) {
        let (start, end) = (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
        let decision = self.decision(start, false);
        let mut alternatives = Vec::new();
        for parts in parts {
            let (steps, (first, last)) = self.sequence(rule, parts);
            self.epsilon(start, first);
            self.epsilon(last, end);
            alternatives.push(steps);
        }
        (vec![Step::Choice { decision, alternatives }], (start, end))
    }

    fn recursion(&mut self, rule: Rule, prefix: &[Part], parts: &[(u8, &[Part])]) -> (Vec<Step>, Ends) {
        let (mut steps, (first, prefix_end)) = self.sequence(rule, prefix);
        let (start, end) = (self.state(StateKind::Decision, rule), self.state(StateKind::BlockEnd, rule));
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
        steps.push(Step::Recursion { decision, back, inner, alternatives });
        (steps, (first, after))
    }

    /// From the end of every rule to what follows its calls.
    fn connect_returns(&mut self) {
        for id in 0..self.states.len() {
            for index in 0..self.states[id].transitions.len() {
                let Transition::Rule { rule, precedence, follow } = self.states[id].transitions[index] else {
                    continue;
                };
                let is_recursive = matches!(body(rule), Body::LeftRecursive(..));
                let returned = (is_recursive && precedence == 0).then_some(rule);
                self.add(stop_of(rule), Transition::Epsilon { to: follow, returned });
            }
        }
    }

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
        let mut look = Look { automaton: self, found: Tokens::default(), visited: Vec::new(), called: 0 };
        let mut stack: Vec<StateId> = callers.unwrap_or_default().to_vec();
        look.from(state, &mut stack, callers.is_some());
        look.found
    }

    /// The tokens of each alternative of a decision, when no token belongs to two.
    fn tokens_of_alternatives(&self, decision: StateId) -> Option<Vec<Tokens>> {
        let mut sets = Vec::new();
        for transition in &self.states[decision as usize].transitions {
            let Transition::Epsilon { to, .. } = transition else { return None };
            let mut reached = vec![false; self.states.len()];
            let mut set = Tokens::default();
            if !self.first_tokens(*to, &mut reached, &mut set) {
                return None;
            }
            sets.push(set);
        }
        let is_disjoint =
            sets.iter().enumerate().all(|(index, set)| sets[..index].iter().all(|one| one.0 & set.0 == 0));
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

/// Where a rule starts.
pub(super) fn start_of(rule: Rule) -> StateId {
    rule as StateId
}

/// Where a rule ends.
pub(super) fn stop_of(rule: Rule) -> StateId {
    (RULES + rule as usize) as StateId
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
                Transition::Epsilon { to, .. } | Transition::Precedence { to, .. } => self.from(to, stack, to_the_end),
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
