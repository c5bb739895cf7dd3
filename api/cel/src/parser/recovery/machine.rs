//! The parser that goes on after syntax errors, as a parser made by ANTLR does.
//!
//! Invariants: errors are found, reported and recovered from at the same places and in the same way; at most
//! [`SYNTAX_ERRORS_MAX`] are reported, [`RECOVERIES_MAX`] recovered from, and [`SKIPPED_TOKENS_MAX`] tokens skipped in each;
//! it does not recurse. Not here: the errors' order and form (`error`).

use super::automaton::{Automaton, StateId, StateKind, Step, TOKEN_NAMES, Tokens, start_of};
use super::grammar::{Label, RULES, Rule};
use super::predict::{Failure, Predictor, Situation, by_token};
use super::tree::{Leaf, Node, NodeId, NodePart};
use crate::error::{Issue, Place};
use crate::parser::RECURSION_MAX;
use crate::parser::lexer::Lexed;
use crate::parser::token::TokenKind;

/// Syntax errors reported at most.
const SYNTAX_ERRORS_MAX: usize = 100;
/// Attempts to recover at most.
const RECOVERIES_MAX: usize = 30;
/// Tokens skipped in one attempt at most.
const SKIPPED_TOKENS_MAX: usize = 256;

/// Parsing is given up: all errors are reported.
pub(super) struct GivenUp;

/// What is wrong at a token.
enum Exception {
    Mismatch { expected: Tokens },
    NoAlternative { start: usize, at: usize },
}

/// Why a step cannot be done.
enum Trouble {
    Exception(Exception),
    GivenUp,
}

impl From<GivenUp> for Trouble {
    fn from(_: GivenUp) -> Trouble {
        Trouble::GivenUp
    }
}

/// What remains to be done.
enum Frame<'a> {
    Sequence(&'a [Step], usize),
    Again { decision: usize, back: StateId, body: &'a [Step] },
    RecursionAgain { decision: usize, back: StateId, inner: Option<usize>, alternatives: &'a [Vec<Step>] },
    Rule { label: Label, caller: Option<NodeId>, is_recursive: bool },
}

pub(super) struct Machine<'a, 's> {
    automaton: &'a Automaton,
    predictor: Predictor<'a>,
    source: &'s str,
    lexed: &'s Lexed,
    pub(super) nodes: Vec<Node>,
    pub(super) issues: Vec<Issue>,
    frames: Vec<Frame<'a>>,
    context: Option<NodeId>,
    state: StateId,
    at: usize,
    precedences: Vec<u8>,
    depths: [u32; RULES],
    is_recovering: bool,
    recoveries: usize,
    last_error: Option<(usize, Vec<StateId>)>,
    reported: usize,
    lexical_reported: usize,
}

impl<'a, 's> Machine<'a, 's> {
    pub(super) fn new(automaton: &'a Automaton, source: &'s str, lexed: &'s Lexed) -> Machine<'a, 's> {
        Machine {
            automaton,
            predictor: Predictor::new(automaton),
            source,
            lexed,
            nodes: Vec::new(),
            issues: Vec::new(),
            frames: Vec::new(),
            context: None,
            state: 0,
            at: 0,
            precedences: vec![0],
            depths: [0; RULES],
            is_recovering: false,
            recoveries: 0,
            last_error: None,
            reported: 0,
            lexical_reported: 0,
        }
    }

    /// Reads the whole source; the first node is the root.
    pub(super) fn run(&mut self) -> Result<(), GivenUp> {
        self.fetch(0)?;
        self.enter(Rule::Start, 0, Label::None, None)?;
        while let Some(frame) = self.frames.last_mut() {
            let done = match frame {
                Frame::Sequence(steps, next) => {
                    let (steps, index) = (*steps, *next);
                    *next += 1;
                    match steps.get(index) {
                        Some(step) => self.step(step),
                        None => {
                            self.frames.pop();
                            Ok(())
                        }
                    }
                }
                Frame::Again { decision, back, body } => {
                    let (decision, back, body) = (*decision, *back, *body);
                    self.again(decision, back, body)
                }
                Frame::RecursionAgain { decision, back, inner, alternatives } => {
                    let (decision, back, inner, alternatives) = (*decision, *back, *inner, *alternatives);
                    self.recurse(decision, back, inner, alternatives)
                }
                Frame::Rule { .. } => {
                    self.leave();
                    Ok(())
                }
            };
            match done {
                Ok(()) => {}
                Err(Trouble::GivenUp) => return Err(GivenUp),
                Err(Trouble::Exception(exception)) => self.recover_from(exception)?,
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &'a Step) -> Result<(), Trouble> {
        match step {
            Step::Token { state, label, kind } => {
                self.state = *state;
                self.match_tokens(*label, Tokens::of(*kind))
            }
            Step::Set { state, label, of } => {
                self.state = *state;
                self.match_tokens(*label, *of)
            }
            Step::Rule { state, label, rule, precedence } => {
                self.state = *state;
                let caller = *state;
                Ok(self.enter(*rule, *precedence, *label, Some(caller))?)
            }
            Step::Optional { decision, body } => {
                if self.decide(*decision, None)? == Some(1) {
                    self.frames.push(Frame::Sequence(body, 0));
                }
                Ok(())
            }
            Step::Choice { decision, alternatives } => {
                let chosen = self.decide(*decision, None)?;
                let Some(chosen) = chosen else { return Err(self.no_alternative(self.at)) };
                if let Some(context) = self.context {
                    self.nodes[context].alternative = chosen;
                }
                self.frames.push(Frame::Sequence(&alternatives[usize::from(chosen) - 1], 0));
                Ok(())
            }
            Step::Star { decision, back, body } => {
                if self.decide(*decision, None)? == Some(1) {
                    self.frames.push(Frame::Again { decision: *decision, back: *back, body });
                    self.frames.push(Frame::Sequence(body, 0));
                }
                Ok(())
            }
            Step::Plus { start, decision, body } => {
                self.state = *start;
                self.synchronize()?;
                let back = self.automaton.decisions[*decision].state;
                self.frames.push(Frame::Again { decision: *decision, back, body });
                self.frames.push(Frame::Sequence(body, 0));
                Ok(())
            }
            Step::Recursion { decision, back, inner, alternatives } => {
                let state = self.automaton.decisions[*decision].state;
                self.frames.push(Frame::RecursionAgain {
                    decision: *decision,
                    back: *back,
                    inner: *inner,
                    alternatives,
                });
                self.recurse(*decision, state, *inner, alternatives)
            }
        }
    }

    fn again(&mut self, decision: usize, back: StateId, body: &'a [Step]) -> Result<(), Trouble> {
        if self.decide(decision, Some(back))? == Some(1) {
            self.frames.push(Frame::Sequence(body, 0));
        } else {
            self.frames.pop();
        }
        Ok(())
    }

    /// One turn of the loop of a left-recursive rule.
    fn recurse(
        &mut self,
        decision: usize,
        state: StateId,
        inner: Option<usize>,
        alternatives: &'a [Vec<Step>],
    ) -> Result<(), Trouble> {
        if self.decide(decision, Some(state))? != Some(1) {
            self.frames.pop();
            return Ok(());
        }
        let previous = self.context.expect("a loop belongs to an open rule");
        let rule = self.nodes[previous].rule;
        self.count_exit(rule);
        let chosen = match inner {
            Some(inner) => self.decide(inner, None)?.unwrap_or(1),
            None => 1,
        };
        let Node { parent, caller, start, .. } = self.nodes[previous];
        let parts = Vec::new();
        self.nodes.push(Node { rule, alternative: chosen + 1, parent, caller, start, parts, children: vec![previous] });
        let node = self.nodes.len() - 1;
        self.nodes[previous].parent = Some(node);
        self.context = Some(node);
        self.count_entry(rule)?;
        self.frames.push(Frame::Sequence(&alternatives[usize::from(chosen) - 1], 0));
        Ok(())
    }

    fn enter(&mut self, rule: Rule, precedence: u8, label: Label, caller: Option<StateId>) -> Result<(), GivenUp> {
        let is_recursive = matches!(rule, Rule::Relation | Rule::Calc | Rule::Member);
        let parent = self.context;
        let alternative = u8::from(is_recursive);
        let (parts, children) = (Vec::new(), Vec::new());
        self.nodes.push(Node { rule, alternative, parent, caller, start: self.at, parts, children });
        let node = self.nodes.len() - 1;
        self.state = start_of(rule);
        self.context = Some(node);
        if is_recursive {
            self.precedences.push(precedence);
        }
        self.count_entry(rule)?;
        self.frames.push(Frame::Rule { label, caller: parent, is_recursive });
        self.frames.push(Frame::Sequence(&self.automaton.rules[rule as usize], 0));
        Ok(())
    }

    fn leave(&mut self) {
        let (Some(Frame::Rule { label, caller, is_recursive }), Some(node)) = (self.frames.pop(), self.context) else {
            return;
        };
        let rule = self.nodes[node].rule;
        self.count_exit(rule);
        if is_recursive {
            self.precedences.pop();
            self.nodes[node].parent = caller;
        } else if let Some(state) = self.nodes[node].caller {
            self.state = state;
        }
        if let Some(parent) = caller {
            self.nodes[parent].children.push(node);
            self.nodes[parent].parts.push((label, NodePart::Node(node)));
        }
        self.context = caller;
    }

    fn count_entry(&mut self, rule: Rule) -> Result<(), GivenUp> {
        let depth = &mut self.depths[rule as usize];
        *depth += 1;
        if *depth > RECURSION_MAX {
            let message = format!("expression recursion limit exceeded: {RECURSION_MAX}");
            self.issues.push(Issue { place: Place::NONE, message });
            return Err(GivenUp);
        }
        Ok(())
    }

    fn count_exit(&mut self, rule: Rule) {
        let depth = &mut self.depths[rule as usize];
        *depth = depth.saturating_sub(1);
    }

    /// Makes a decision, at its own state or at the end of a loop's turn.
    fn decide(&mut self, decision: usize, state: Option<StateId>) -> Result<Option<u8>, Trouble> {
        let of = &self.automaton.decisions[decision];
        self.state = state.unwrap_or(of.state);
        self.synchronize()?;
        if let Some(sets) = &of.by_token {
            return Ok(by_token(sets, self.kind(0)));
        }
        let precedence = self.precedences.last().copied().unwrap_or(0);
        let situation = Situation { tokens: &self.lexed.tokens, at: self.at, precedence, callers: self.follows() };
        let chosen = self.predictor.choose(decision, &situation);
        self.fetch(self.predictor.farthest)?;
        match chosen {
            Ok(chosen) => Ok(Some(chosen)),
            Err(Failure::NoAlternative(at)) => Err(self.no_alternative(at)),
            Err(Failure::TooSlow) => {
                let message = "expression takes too long to parse".to_owned();
                self.issues.push(Issue { place: Place::NONE, message });
                Err(Trouble::GivenUp)
            }
        }
    }

    fn no_alternative(&self, at: usize) -> Trouble {
        Trouble::Exception(Exception::NoAlternative { start: self.at, at })
    }

    fn kind(&self, ahead: usize) -> TokenKind {
        let last = self.lexed.tokens.len() - 1;
        self.lexed.tokens[(self.at + ahead).min(last)].kind
    }

    /// Reports what the lexer could not read before a token.
    fn fetch(&mut self, index: usize) -> Result<(), GivenUp> {
        while let Some(error) = self.lexed.errors.get(self.lexical_reported)
            && error.tokens_before as usize <= index
        {
            self.lexical_reported += 1;
            let text = &self.source[error.start as usize..error.end as usize];
            self.report_at(error.start as usize, &format!("token recognition error at: '{text}'"))?;
        }
        Ok(())
    }

    fn report_at(&mut self, byte: usize, message: &str) -> Result<(), GivenUp> {
        let place = match self.source.is_empty() {
            true => Place { line: 1, column: -1 },
            false => Place::of(self.source, byte),
        };
        let is_last = self.reported == SYNTAX_ERRORS_MAX;
        let message = match is_last {
            true => format!("Syntax error: More than {SYNTAX_ERRORS_MAX} syntax errors"),
            false => format!("Syntax error: {message}"),
        };
        self.issues.push(Issue { place, message });
        self.reported += 1;
        if is_last { Err(GivenUp) } else { Ok(()) }
    }

    fn report_token(&mut self, token: usize, message: &str) -> Result<(), GivenUp> {
        self.report_at(self.lexed.tokens[token].start as usize, message)
    }

    fn consume(&mut self) -> Result<(), GivenUp> {
        if self.kind(0) != TokenKind::End {
            self.at += 1;
            self.fetch(self.at)?;
        }
        Ok(())
    }

    fn matched(&mut self) {
        self.is_recovering = false;
        self.last_error = None;
    }

    fn name(&mut self, label: Label, leaf: Leaf) {
        if let (Some(context), true) = (self.context, label != Label::None) {
            self.nodes[context].parts.push((label, NodePart::Leaf(leaf)));
        }
    }

    fn match_tokens(&mut self, label: Label, of: Tokens) -> Result<(), Trouble> {
        let read = self.at;
        if of.has(self.kind(0)) {
            self.matched();
            self.consume()?;
            self.name(label, Leaf::Read(read));
            return Ok(());
        }
        self.count_recovery()?;
        if self.delete_token()? {
            let read = self.at;
            self.consume()?;
            self.name(label, Leaf::Read(read));
            return Ok(());
        }
        let next = match self.automaton.states[self.state as usize].transitions.first() {
            Some(super::automaton::Transition::Tokens { to, .. }) => *to,
            _ => self.state,
        };
        if self.automaton.look(next, Some(&self.follows())).has(self.kind(0)) {
            self.report_missing()?;
            self.name(label, Leaf::Missing(self.at));
            return Ok(());
        }
        Err(self.mismatch())
    }

    fn mismatch(&self) -> Trouble {
        Trouble::Exception(Exception::Mismatch { expected: self.expected() })
    }

    /// The states after the open calls, outermost first.
    fn follows(&self) -> Vec<StateId> {
        let mut follows = Vec::new();
        let mut context = self.context;
        while let Some(node) = context {
            follows.extend(self.nodes[node].caller.and_then(|caller| self.automaton.follow(caller)));
            context = self.nodes[node].parent;
        }
        follows.reverse();
        follows
    }

    /// Tokens that can stand at this place.
    fn expected(&self) -> Tokens {
        let mut following = self.automaton.next_tokens(self.state);
        let mut expected = following.without_epsilon();
        for follow in self.follows().iter().rev() {
            if !following.has_epsilon() {
                break;
            }
            following = self.automaton.next_tokens(*follow);
            expected = expected.and(following.without_epsilon());
        }
        if following.has_epsilon() { expected.and(Tokens::of(TokenKind::End)) } else { expected }
    }

    /// Tokens that can follow this rule or one of those that called it.
    fn recovery_set(&self) -> Tokens {
        let sets = self.follows().into_iter().map(|follow| self.automaton.next_tokens(follow).without_epsilon());
        sets.fold(Tokens::default(), Tokens::and)
    }

    /// Makes sure that the next token can stand before or after an optional part.
    fn synchronize(&mut self) -> Result<(), Trouble> {
        if self.is_recovering {
            return Ok(());
        }
        let next = self.automaton.next_tokens(self.state);
        if next.has_epsilon() || next.has(self.kind(0)) {
            return Ok(());
        }
        match self.automaton.states[self.state as usize].kind {
            StateKind::Decision => {
                if self.delete_token()? {
                    return Ok(());
                }
                Err(self.mismatch())
            }
            StateKind::LoopBack => {
                self.report_unwanted()?;
                let until = self.expected().and(self.recovery_set());
                self.skip(until, usize::MAX)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Skips one token when the one after it is expected.
    fn delete_token(&mut self) -> Result<bool, GivenUp> {
        self.fetch((self.at + 1).min(self.lexed.tokens.len() - 1))?;
        if !self.expected().has(self.kind(1)) {
            return Ok(false);
        }
        self.report_unwanted()?;
        self.consume()?;
        self.matched();
        Ok(true)
    }

    fn display(&self, token: usize) -> String {
        let token = self.lexed.tokens[token];
        if token.kind == TokenKind::End { "'<EOF>'".to_owned() } else { self.quoted(token.start, token.end) }
    }

    fn quoted(&self, start: u32, end: u32) -> String {
        let text = self.source[start as usize..end as usize].replace('\t', "\\t");
        format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r"))
    }

    fn report_unwanted(&mut self) -> Result<(), GivenUp> {
        if self.is_recovering {
            return Ok(());
        }
        self.is_recovering = true;
        let message = format!("extraneous input {} expecting {}", self.display(self.at), self.expected().names());
        self.report_token(self.at, &message)
    }

    fn report_missing(&mut self) -> Result<(), GivenUp> {
        if self.is_recovering {
            return Ok(());
        }
        self.is_recovering = true;
        let message = format!("missing {} at {}", self.expected().names(), self.display(self.at));
        self.report_token(self.at, &message)
    }

    fn count_recovery(&mut self) -> Result<(), GivenUp> {
        if self.recoveries == RECOVERIES_MAX {
            self.recoveries += 1;
            self.report_token(self.at, &format!("error recovery attempt limit exceeded: {RECOVERIES_MAX}"))?;
            return Err(GivenUp);
        }
        self.recoveries += 1;
        Ok(())
    }

    /// Reports an error and skips what cannot follow the rule in which it is.
    fn recover_from(&mut self, exception: Exception) -> Result<(), GivenUp> {
        while !matches!(self.frames.last(), Some(Frame::Rule { .. }) | None) {
            self.frames.pop();
        }
        self.report_exception(exception)?;
        self.count_recovery()?;
        let mut skipped = 0;
        let mut states = match self.last_error.take() {
            Some((at, states)) if at == self.at && states.contains(&self.state) => {
                self.consume()?;
                skipped += 1;
                states
            }
            Some((_, states)) => states,
            None => Vec::new(),
        };
        states.push(self.state);
        self.last_error = Some((self.at, states));
        self.skip(self.recovery_set(), SKIPPED_TOKENS_MAX - skipped)
    }

    fn report_exception(&mut self, exception: Exception) -> Result<(), GivenUp> {
        if self.is_recovering {
            return Ok(());
        }
        self.is_recovering = true;
        match exception {
            Exception::Mismatch { expected } => {
                let message = format!("mismatched input {} expecting {}", self.display(self.at), expected.names());
                self.report_token(self.at, &message)
            }
            Exception::NoAlternative { start, at } => {
                let message = self.no_alternative_text(start, at);
                self.report_token(at, &message)
            }
        }
    }

    fn no_alternative_text(&self, start: usize, at: usize) -> String {
        let tokens = &self.lexed.tokens;
        if tokens[start].kind == TokenKind::End {
            return "no viable alternative at input '<EOF>'".to_owned();
        }
        let reserved = matches!(tokens[at].kind, TokenKind::True | TokenKind::False | TokenKind::Null);
        if reserved && tokens[at].start == tokens[start].start + 1 {
            return format!("mismatched input {} expecting IDENTIFIER", TOKEN_NAMES[tokens[at].kind as usize]);
        }
        let mut text = String::new();
        let (mut from, end) = (tokens[start].start, tokens[at].end);
        for error in &self.lexed.errors {
            if error.start < from || error.end > end {
                continue;
            }
            text.push_str(&self.source[from as usize..error.start as usize]);
            from = error.end;
        }
        text.push_str(&self.source[from as usize..end as usize]);
        let text = text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        format!("no viable alternative at input '{text}'")
    }

    fn skip(&mut self, until: Tokens, limit: usize) -> Result<(), GivenUp> {
        let mut skipped = 0;
        while self.kind(0) != TokenKind::End && !until.has(self.kind(0)) {
            if skipped >= limit {
                let message = format!("error recovery token lookahead limit exceeded: {SKIPPED_TOKENS_MAX}");
                self.issues.push(Issue { place: Place::NONE, message });
                return Err(GivenUp);
            }
            skipped += 1;
            self.consume()?;
        }
        Ok(())
    }
}
