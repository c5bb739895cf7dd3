//! The parser that goes on after syntax errors, as a parser made by ANTLR does.
//!
//! Invariants: errors are found, reported and recovered from at the same places and in the same way, up to the limits of
//! `recover`; it does not recurse. Not here: the errors' order and form (`error`).

use super::automaton::{Automaton, RuleStep, StateId, Tokens, start_of};
use super::grammar::{Label, RULES, Rule};
use super::predict::{NoAlternative, Predictor, Situation, by_token};
use super::tree::{Leaf, NodeId, NodePart, TreeNode};
use crate::error::{Issue, Place};
use crate::parser::RECURSION_MAX;
use crate::parser::lexer::Lexed;
use crate::parser::token::TokenKind;

/// Parsing is given up: all errors are reported.
pub(super) struct GivenUp;

/// What is wrong at a token.
pub(super) enum Exception {
    Mismatch { expected: Tokens },
    NoAlternative { start: usize, at: usize },
}

/// Why a step cannot be done.
pub(super) enum Trouble {
    Exception(Exception),
    GivenUp,
}

impl From<GivenUp> for Trouble {
    fn from(_: GivenUp) -> Trouble {
        Trouble::GivenUp
    }
}

/// What remains to be done.
pub(super) enum Frame<'a> {
    Sequence(&'a [RuleStep], usize),
    Again {
        decision: usize,
        back: StateId,
        body: &'a [RuleStep],
    },
    RecursionAgain {
        decision: usize,
        back: StateId,
        inner: Option<usize>,
        alternatives: &'a [Vec<RuleStep>],
    },
    Rule {
        label: Label,
        caller: Option<NodeId>,
        is_recursive: bool,
    },
}

pub(super) struct Machine<'a, 's> {
    pub(super) automaton: &'a Automaton,
    pub(super) predictor: Predictor<'a>,
    pub(super) source: &'s str,
    pub(super) lexed: &'s Lexed,
    pub(super) nodes: Vec<TreeNode>,
    pub(super) issues: Vec<Issue>,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) context: Option<NodeId>,
    pub(super) state: StateId,
    pub(super) at: usize,
    pub(super) precedences: Vec<u8>,
    pub(super) depths: [u32; RULES],
    pub(super) is_recovering: bool,
    pub(super) recoveries: usize,
    pub(super) last_error: Option<(usize, Vec<StateId>)>,
    pub(super) reported: usize,
    pub(super) lexical_reported: usize,
}

impl<'a, 's> Machine<'a, 's> {
    pub(super) fn new(
        automaton: &'a Automaton,
        source: &'s str,
        lexed: &'s Lexed,
    ) -> Machine<'a, 's> {
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
                    let (decision, back, inner, alternatives) =
                        (*decision, *back, *inner, *alternatives);
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

    fn step(&mut self, step: &'a RuleStep) -> Result<(), Trouble> {
        match step {
            RuleStep::Token { state, label, kind } => {
                self.state = *state;
                self.match_tokens(*label, Tokens::of(*kind))
            }
            RuleStep::Set { state, label, of } => {
                self.state = *state;
                self.match_tokens(*label, *of)
            }
            RuleStep::Rule { state, label, rule, precedence } => {
                self.state = *state;
                let caller = *state;
                Ok(self.enter(*rule, *precedence, *label, Some(caller))?)
            }
            RuleStep::Optional { decision, body } => {
                if self.decide(*decision, None)? == Some(1) {
                    self.frames.push(Frame::Sequence(body, 0));
                }
                Ok(())
            }
            RuleStep::Choice { decision, alternatives } => {
                let chosen = self.decide(*decision, None)?;
                let Some(chosen) = chosen else {
                    return Err(self.no_alternative(self.at));
                };
                if let Some(context) = self.context {
                    self.nodes[context].alternative = chosen;
                }
                self.frames.push(Frame::Sequence(&alternatives[usize::from(chosen) - 1], 0));
                Ok(())
            }
            RuleStep::Star { decision, back, body } => {
                if self.decide(*decision, None)? == Some(1) {
                    self.frames.push(Frame::Again { decision: *decision, back: *back, body });
                    self.frames.push(Frame::Sequence(body, 0));
                }
                Ok(())
            }
            RuleStep::Plus { start, decision, body } => {
                self.state = *start;
                self.synchronize()?;
                let back = self.automaton.decisions[*decision].state;
                self.frames.push(Frame::Again { decision: *decision, back, body });
                self.frames.push(Frame::Sequence(body, 0));
                Ok(())
            }
            RuleStep::Recursion { decision, back, inner, alternatives } => {
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

    fn again(
        &mut self,
        decision: usize,
        back: StateId,
        body: &'a [RuleStep],
    ) -> Result<(), Trouble> {
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
        alternatives: &'a [Vec<RuleStep>],
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
        let TreeNode { parent, caller, start, .. } = self.nodes[previous];
        let parts = Vec::new();
        self.nodes.push(TreeNode {
            rule,
            alternative: chosen + 1,
            parent,
            caller,
            start,
            parts,
            children: vec![previous],
        });
        let node = self.nodes.len() - 1;
        self.nodes[previous].parent = Some(node);
        self.context = Some(node);
        self.count_entry(rule)?;
        self.frames.push(Frame::Sequence(&alternatives[usize::from(chosen) - 1], 0));
        Ok(())
    }

    fn enter(
        &mut self,
        rule: Rule,
        precedence: u8,
        label: Label,
        caller: Option<StateId>,
    ) -> Result<(), GivenUp> {
        let is_recursive = matches!(rule, Rule::Relation | Rule::Calc | Rule::Member);
        let parent = self.context;
        let alternative = u8::from(is_recursive);
        let (parts, children) = (Vec::new(), Vec::new());
        self.nodes.push(TreeNode {
            rule,
            alternative,
            parent,
            caller,
            start: self.at,
            parts,
            children,
        });
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
        let (Some(Frame::Rule { label, caller, is_recursive }), Some(node)) =
            (self.frames.pop(), self.context)
        else {
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
        let situation = Situation {
            tokens: &self.lexed.tokens,
            at: self.at,
            precedence,
            callers: self.follows(),
        };
        let chosen = self.predictor.choose(decision, &situation);
        self.fetch(self.predictor.farthest)?;
        match chosen {
            Ok(chosen) => Ok(Some(chosen)),
            Err(NoAlternative(at)) => Err(self.no_alternative(at)),
        }
    }

    pub(super) fn no_alternative(&self, at: usize) -> Trouble {
        Trouble::Exception(Exception::NoAlternative { start: self.at, at })
    }

    pub(super) fn kind(&self, ahead: usize) -> TokenKind {
        let last = self.lexed.tokens.len() - 1;
        self.lexed.tokens[(self.at + ahead).min(last)].kind
    }

    /// Reports what the lexer could not read before a token.
    pub(super) fn fetch(&mut self, index: usize) -> Result<(), GivenUp> {
        while let Some(error) = self.lexed.errors.get(self.lexical_reported)
            && error.tokens_before as usize <= index
        {
            self.lexical_reported += 1;
            let text = &self.source[error.start as usize..error.end as usize];
            self.report_at(error.start as usize, &format!("token recognition error at: '{text}'"))?;
        }
        Ok(())
    }

    pub(super) fn consume(&mut self) -> Result<(), GivenUp> {
        if self.kind(0) != TokenKind::End {
            self.at += 1;
            self.fetch(self.at)?;
        }
        Ok(())
    }

    pub(super) fn matched(&mut self) {
        self.is_recovering = false;
        self.last_error = None;
    }

    pub(super) fn name(&mut self, label: Label, leaf: Leaf) {
        if let (Some(context), true) = (self.context, label != Label::None) {
            self.nodes[context].parts.push((label, NodePart::Leaf(leaf)));
        }
    }

    /// The states after the open calls, outermost first.
    pub(super) fn follows(&self) -> Vec<StateId> {
        let mut follows = Vec::new();
        let mut context = self.context;
        while let Some(node) = context {
            follows
                .extend(self.nodes[node].caller.and_then(|caller| self.automaton.follow(caller)));
            context = self.nodes[node].parent;
        }
        follows.reverse();
        follows
    }
}
