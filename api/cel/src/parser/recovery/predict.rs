//! Choice among alternatives by looking ahead as far as needed: ANTLR's adaptive prediction.
//!
//! Invariants: first without the callers of the rule (remembered for the next time), and with them when that is ambiguous;
//! among alternatives that no look ahead tells apart the first is taken. Not here: errors' texts (`machine`).

use std::collections::{HashMap, HashSet};

use super::automaton::{
    Automaton, DecisionPoint, StateId, StateKind, Tokens, Transition, start_of,
};
use super::config::{Config, StackId, by_precedence, finished, is_conflict, single_viable, unique};
use super::grammar::Rule;
use crate::parser::token::{Token, TokenKind};

/// Configurations looked at in one choice that knows its callers, and in all such choices of a parse, at most. Beyond that
/// the first alternative is taken; only expressions made to be slow come so far.
const CONFIGURATIONS_MAX: usize = 50_000;
const ALL_CONFIGURATIONS_MAX: usize = 500_000;

/// A remembered set of places.
#[derive(Debug)]
struct Known {
    configs: Vec<Config>,
    chosen: Option<u8>,
    is_ambiguous: bool,
    next: HashMap<u8, Option<usize>>,
}

/// No alternative is left at this token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoAlternative(pub(super) usize);

/// Where a decision is made.
pub(super) struct Situation<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    /// Precedence of the left-recursive rule that is open.
    pub(super) precedence: u8,
    /// States after the open calls, outermost first.
    pub(super) callers: Vec<StateId>,
}

/// Makes decisions.
pub(super) struct Predictor<'a> {
    automaton: &'a Automaton,
    stacks: Vec<(StateId, StackId)>,
    stack_ids: HashMap<(StateId, StackId), StackId>,
    starts: HashMap<(usize, u8), usize>,
    known: Vec<Known>,
    known_ids: HashMap<(usize, Vec<Config>), usize>,
    looked_at: usize,
    /// The farthest token looked at.
    pub(super) farthest: usize,
}

impl<'a> Predictor<'a> {
    pub(super) fn new(automaton: &'a Automaton) -> Predictor<'a> {
        Predictor {
            automaton,
            stacks: vec![(0, 0)],
            stack_ids: HashMap::new(),
            starts: HashMap::new(),
            known: Vec::new(),
            known_ids: HashMap::new(),
            looked_at: 0,
            farthest: 0,
        }
    }

    /// The alternative to take, from 1.
    pub(super) fn choose(
        &mut self,
        decision: usize,
        situation: &Situation<'_>,
    ) -> Result<u8, NoAlternative> {
        let of = &self.automaton.decisions[decision];
        let precedence = if of.is_precedence { situation.precedence } else { 0 };
        let mut current = match self.starts.get(&(decision, precedence)) {
            Some(start) => *start,
            None => {
                let mut configs = self.start(of, 0, false, situation.precedence);
                if of.is_precedence {
                    configs = by_precedence(configs, situation.precedence);
                }
                let start = self.remember(decision, configs, false);
                self.starts.insert((decision, precedence), start);
                start
            }
        };
        let mut at = situation.at;
        loop {
            let kind = self.kind(situation, at);
            let next = match self.known[current].next.get(&(kind as u8)) {
                Some(next) => *next,
                None => {
                    let configs = self.known[current].configs.clone();
                    let reached = self.reach(of, &configs, kind, false);
                    let next =
                        (!reached.is_empty()).then(|| self.remember(decision, reached, true));
                    self.known[current].next.insert(kind as u8, next);
                    next
                }
            };
            let Some(next) = next else {
                return finished(self.automaton, &self.known[current].configs)
                    .ok_or(NoAlternative(at));
            };
            if self.known[next].is_ambiguous {
                return self.choose_in_context(of, situation);
            }
            if let Some(chosen) = self.known[next].chosen {
                return Ok(chosen);
            }
            current = next;
            at += usize::from(kind != TokenKind::End);
        }
    }

    fn choose_in_context(
        &mut self,
        of: &DecisionPoint,
        situation: &Situation<'_>,
    ) -> Result<u8, NoAlternative> {
        let stack = situation.callers.iter().fold(0, |stack, caller| self.push(*caller, stack));
        let mut configs = self.start(of, stack, true, situation.precedence);
        let (mut at, before) = (situation.at, self.looked_at);
        loop {
            let kind = self.kind(situation, at);
            if self.looked_at - before > CONFIGURATIONS_MAX
                || self.looked_at > ALL_CONFIGURATIONS_MAX
            {
                return Ok(1);
            }
            let reached = self.reach(of, &configs, kind, true);
            if reached.is_empty() {
                return finished(self.automaton, &configs).ok_or(NoAlternative(at));
            }
            if let Some(chosen) = unique(&reached).or_else(|| single_viable(&reached)) {
                return Ok(chosen);
            }
            configs = reached;
            at += usize::from(kind != TokenKind::End);
        }
    }

    fn kind(&mut self, situation: &Situation<'_>, at: usize) -> TokenKind {
        self.farthest = self.farthest.max(at);
        situation.tokens[at.min(situation.tokens.len() - 1)].kind
    }

    fn push(&mut self, follow: StateId, below: StackId) -> StackId {
        let (stacks, next) = (&mut self.stacks, self.stack_ids.len() as StackId + 1);
        *self.stack_ids.entry((follow, below)).or_insert_with(|| {
            stacks.push((follow, below));
            next
        })
    }

    fn remember(&mut self, decision: usize, mut configs: Vec<Config>, decides: bool) -> usize {
        configs.sort_by_key(|config| {
            (config.state, config.alternative, config.stack, config.is_outside)
        });
        if let Some(known) = self.known_ids.get(&(decision, configs.clone())) {
            return *known;
        }
        let chosen = if decides { unique(&configs) } else { None };
        let is_ambiguous = decides && chosen.is_none() && is_conflict(self.automaton, &configs);
        self.known.push(Known {
            configs: configs.clone(),
            chosen,
            is_ambiguous,
            next: HashMap::new(),
        });
        self.known_ids.insert((decision, configs), self.known.len() - 1);
        self.known.len() - 1
    }

    /// Places before the first token, of every alternative.
    fn start(
        &mut self,
        of: &DecisionPoint,
        stack: StackId,
        in_context: bool,
        precedence: u8,
    ) -> Vec<Config> {
        let mut closure = Closure::new(in_context, false, Some(precedence), of, self.automaton);
        for (index, transition) in
            self.automaton.states[of.state as usize].transitions.iter().enumerate()
        {
            let Transition::Epsilon { to, .. } = *transition else {
                continue;
            };
            let alternative = index as u8 + 1;
            let config = Config {
                state: to,
                alternative,
                stack,
                is_outside: false,
                precedence: None,
                is_unfiltered: false,
            };
            closure.close(self, config, 0);
        }
        closure.found
    }

    /// Places after a token.
    fn reach(
        &mut self,
        of: &DecisionPoint,
        from: &[Config],
        kind: TokenKind,
        in_context: bool,
    ) -> Vec<Config> {
        let (mut moved, mut stopped): (Vec<Config>, Vec<Config>) = (Vec::new(), Vec::new());
        let mut known = HashSet::new();
        for config in from {
            let state = &self.automaton.states[config.state as usize];
            if state.kind == StateKind::RuleStop {
                if in_context || kind == TokenKind::End {
                    stopped.push(*config);
                }
                continue;
            }
            for transition in &state.transitions {
                if let Transition::Tokens { of, to } = *transition
                    && of.has(kind)
                {
                    let next = Config { state: to, ..*config };
                    if known.insert(next) {
                        moved.push(next);
                    }
                }
            }
        }
        self.looked_at += from.len();
        if stopped.is_empty() && kind != TokenKind::End && unique(&moved).is_some() {
            return moved;
        }
        let mut closure =
            Closure::new(in_context, kind == TokenKind::End, None, of, self.automaton);
        for config in moved {
            closure.close(self, config, 0);
        }
        let mut reached = closure.found;
        if kind == TokenKind::End {
            reached.retain(|config| {
                self.automaton.states[config.state as usize].kind == StateKind::RuleStop
            });
        }
        let has_stop = || {
            reached.iter().any(|config| {
                self.automaton.states[config.state as usize].kind == StateKind::RuleStop
            })
        };
        if !stopped.is_empty() && (!in_context || !has_stop()) {
            reached.extend(stopped);
        }
        reached
    }
}

/// Everything that can be reached without a token.
struct Closure<'d> {
    found: Vec<Config>,
    known: HashSet<Config>,
    passed: HashSet<Config>,
    in_context: bool,
    end_is_free: bool,
    /// Precedence of the open rule, while the start of a decision is looked at.
    precedence: Option<u8>,
    /// The left-recursive rule whose loop is decided on.
    loop_rule: Option<Rule>,
    automaton: &'d Automaton,
}

impl<'d> Closure<'d> {
    fn new(
        in_context: bool,
        end_is_free: bool,
        precedence: Option<u8>,
        of: &DecisionPoint,
        automaton: &'d Automaton,
    ) -> Closure<'d> {
        let loop_rule = of.is_precedence.then(|| automaton.states[of.state as usize].rule);
        let (known, passed) = (HashSet::new(), HashSet::new());
        Closure {
            found: Vec::new(),
            known,
            passed,
            in_context,
            end_is_free,
            precedence,
            loop_rule,
            automaton,
        }
    }

    fn add(&mut self, config: Config) {
        if self.known.insert(config) {
            self.found.push(config);
        }
    }

    fn close(&mut self, predictor: &mut Predictor<'_>, first: Config, depth: i32) {
        let mut open = vec![(first, depth)];
        while let Some((config, depth)) = open.pop() {
            predictor.looked_at += 1;
            let state = &self.automaton.states[config.state as usize];
            let is_stop = state.kind == StateKind::RuleStop;
            if is_stop && config.stack != 0 {
                let (follow, below) = predictor.stacks[config.stack as usize];
                open.push((Config { state: follow, stack: below, ..config }, depth - 1));
                continue;
            }
            if is_stop && self.in_context {
                self.add(config);
                continue;
            }
            if state.transitions.is_empty()
                || state.transitions.iter().any(|way| matches!(way, Transition::Tokens { .. }))
            {
                self.add(config);
            }
            for transition in &state.transitions {
                self.step(predictor, config, depth, *transition, is_stop, &mut open);
            }
        }
    }

    fn step(
        &mut self,
        predictor: &mut Predictor<'_>,
        config: Config,
        depth: i32,
        transition: Transition,
        is_stop: bool,
        open: &mut Vec<(Config, i32)>,
    ) {
        match transition {
            Transition::Epsilon { to, returned } if is_stop => {
                let is_unfiltered =
                    config.is_unfiltered || (returned.is_some() && returned == self.loop_rule);
                let next = Config { state: to, is_outside: true, is_unfiltered, ..config };
                if self.passed.insert(next) {
                    open.push((next, depth - 1));
                }
            }
            Transition::Epsilon { to, .. } => open.push((Config { state: to, ..config }, depth)),
            Transition::Rule { rule, follow, .. } => {
                let stack = predictor.push(follow, config.stack);
                open.push((
                    Config { state: start_of(rule), stack, ..config },
                    if depth >= 0 { depth + 1 } else { depth },
                ));
            }
            Transition::Precedence { precedence, to } => match self.precedence {
                Some(open_precedence) if depth == 0 && self.in_context => {
                    if precedence >= open_precedence {
                        open.push((Config { state: to, ..config }, depth));
                    }
                }
                Some(_) if depth == 0 => {
                    open.push((Config { state: to, precedence: Some(precedence), ..config }, depth))
                }
                _ => open.push((Config { state: to, ..config }, depth)),
            },
            Transition::Tokens { of, to } => {
                if self.end_is_free && of.has(TokenKind::End) {
                    let next = Config { state: to, ..config };
                    if self.passed.insert(next) {
                        open.push((next, depth));
                    }
                }
            }
        }
    }
}

/// The tokens that one token decides on.
pub(super) fn by_token(sets: &[Tokens], kind: TokenKind) -> Option<u8> {
    sets.iter().position(|set| set.has(kind)).map(|index| index as u8 + 1)
}
