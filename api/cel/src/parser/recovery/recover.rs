//! Recovery from syntax errors, and their texts.
//!
//! Invariants: as [`super::machine`] says. Not here: what is read when nothing is wrong.

use super::automaton::{StateKind, TOKEN_NAMES, Tokens, Transition};
use super::grammar::Label;
use super::machine::{Exception, Frame, GivenUp, Machine, Trouble};
use super::tree::Leaf;
use crate::error::{Issue, Place};
use crate::parser::token::TokenKind;

/// Syntax errors reported at most.
const SYNTAX_ERRORS_MAX: usize = 100;
/// Attempts to recover at most.
const RECOVERIES_MAX: usize = 30;
/// Tokens skipped in one attempt at most.
const SKIPPED_TOKENS_MAX: usize = 256;

impl Machine<'_, '_> {
    pub(super) fn report_at(&mut self, byte: usize, message: &str) -> Result<(), GivenUp> {
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

    pub(super) fn report_token(&mut self, token: usize, message: &str) -> Result<(), GivenUp> {
        self.report_at(self.lexed.tokens[token].start as usize, message)
    }

    pub(super) fn match_tokens(&mut self, label: Label, of: Tokens) -> Result<(), Trouble> {
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
            Some(Transition::Tokens { to, .. }) => *to,
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
        let sets = self
            .follows()
            .into_iter()
            .map(|follow| self.automaton.next_tokens(follow).without_epsilon());
        sets.fold(Tokens::default(), Tokens::and)
    }

    /// Makes sure that the next token can stand before or after an optional part.
    pub(super) fn synchronize(&mut self) -> Result<(), Trouble> {
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
        if token.kind == TokenKind::End {
            "'<EOF>'".to_owned()
        } else {
            self.quoted(token.start, token.end)
        }
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
        let message = format!(
            "extraneous input {} expecting {}",
            self.display(self.at),
            self.expected().names()
        );
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
            self.report_token(
                self.at,
                &format!("error recovery attempt limit exceeded: {RECOVERIES_MAX}"),
            )?;
            return Err(GivenUp);
        }
        self.recoveries += 1;
        Ok(())
    }

    /// Reports an error and skips what cannot follow the rule in which it is.
    pub(super) fn recover_from(&mut self, exception: Exception) -> Result<(), GivenUp> {
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
                let message = format!(
                    "mismatched input {} expecting {}",
                    self.display(self.at),
                    expected.names()
                );
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
        let reserved =
            matches!(tokens[at].kind, TokenKind::True | TokenKind::False | TokenKind::Null);
        if reserved && tokens[at].start == tokens[start].start + 1 {
            return format!(
                "mismatched input {} expecting IDENTIFIER",
                TOKEN_NAMES[tokens[at].kind as usize]
            );
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
                let message =
                    format!("error recovery token lookahead limit exceeded: {SKIPPED_TOKENS_MAX}");
                self.issues.push(Issue { place: Place::NONE, message });
                return Err(GivenUp);
            }
            skipped += 1;
            self.consume()?;
        }
        Ok(())
    }
}
