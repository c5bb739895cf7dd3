//! The grammar, by recursive descent, for expressions without syntax errors.
//!
//! Invariants: stops at the first syntax error and at the recursion limits, and then says nothing of what is wrong:
//! `recovery` reads the source again and does. Ids, macros and errors that are no syntax errors are as the reference engine
//! has them. Recursion is bounded by [`RECURSION_MAX`]. Not here: operators' names beyond those of the language.

use super::RECURSION_MAX;
use super::build::Builder;
use super::primary::UNSUPPORTED_ESCAPE;
use super::token::{Token, TokenKind};
use crate::ast::{Expr, Literal};

/// A syntax error, or nesting beyond the limit.
pub(super) struct Stop;

pub(super) type Parsed<T> = Result<T, Stop>;

pub(super) struct Descent<'s, 't> {
    pub(super) builder: Builder<'s>,
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    /// How many `expr`, `relation` and `calc` rules are open: the deepest of all rules is always one of them.
    exprs: u32,
    relations: u32,
    calcs: u32,
    /// How deeply operators, selections and member calls nest in the expression read last.
    pub(super) height: u32,
}

impl<'s, 't> Descent<'s, 't> {
    pub(super) fn new(builder: Builder<'s>, tokens: &'t [Token]) -> Descent<'s, 't> {
        Descent { builder, tokens, at: 0, exprs: 0, relations: 0, calcs: 0, height: 0 }
    }

    /// The whole source.
    pub(super) fn start(&mut self) -> Parsed<Expr> {
        let expr = self.expr()?;
        self.expect(TokenKind::End)?;
        if self.builder.is_full() { Err(Stop) } else { Ok(expr) }
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    pub(super) fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::End, |token| token.kind)
    }

    pub(super) fn bump(&mut self) -> Token {
        let token = self.tokens[self.at];
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn expect(&mut self, kind: TokenKind) -> Parsed<Token> {
        if self.peek() == kind { Ok(self.bump()) } else { Err(Stop) }
    }

    pub(super) fn text(&self, token: Token) -> &'s str {
        &self.builder.source[token.start as usize..token.end as usize]
    }

    /// Counts an operator, selection or member call around parts of which the highest before the last was this high.
    fn rise(&mut self, height: u32) -> Parsed<()> {
        self.height = height.max(self.height) + 1;
        if self.height > RECURSION_MAX { Err(Stop) } else { Ok(()) }
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.exprs += 1;
        if self.exprs > RECURSION_MAX {
            return Err(Stop);
        }
        let mut expr = self.or()?;
        if self.peek() == TokenKind::Question {
            expr = self.conditional(expr)?;
        }
        self.exprs -= 1;
        Ok(expr)
    }

    fn conditional(&mut self, condition: Expr) -> Parsed<Expr> {
        let mut height = self.height;
        let operator = self.bump();
        let id = self.builder.id(operator.start);
        let then = self.or()?;
        height = height.max(self.height);
        self.expect(TokenKind::Colon)?;
        let otherwise = self.expr()?;
        self.rise(height)?;
        Ok(self.builder.call(id, "_?_:_", vec![condition, then, otherwise]))
    }

    fn or(&mut self) -> Parsed<Expr> {
        let first = self.and()?;
        if self.peek() != TokenKind::Or {
            Ok(first)
        } else {
            self.chain(TokenKind::Or, "_||_", first)
        }
    }

    fn and(&mut self) -> Parsed<Expr> {
        let first = self.relation()?;
        if self.peek() != TokenKind::And {
            Ok(first)
        } else {
            self.chain(TokenKind::And, "_&&_", first)
        }
    }

    fn chain(&mut self, kind: TokenKind, function: &str, first: Expr) -> Parsed<Expr> {
        let mut height = self.height;
        let (mut terms, mut operators) = (vec![first], Vec::new());
        while self.peek() == kind {
            let operator = self.bump();
            terms.push(if kind == TokenKind::Or { self.and()? } else { self.relation()? });
            height = height.max(self.height);
            operators.push(self.builder.id(operator.start));
        }
        self.height = height;
        Ok(self.builder.balanced(function, terms, &operators))
    }

    fn relation(&mut self) -> Parsed<Expr> {
        self.relations += 1;
        let mut left = self.calc(0)?;
        while let Some(function) = relation_operator(self.peek()) {
            self.relations += 1;
            if self.relations > RECURSION_MAX {
                return Err(Stop);
            }
            left = self.binary(left, function, 0)?;
            self.relations -= 1;
        }
        if self.relations > RECURSION_MAX {
            return Err(Stop);
        }
        self.relations -= 1;
        Ok(left)
    }

    fn calc(&mut self, precedence: u8) -> Parsed<Expr> {
        self.calcs += 1;
        if self.calcs > RECURSION_MAX {
            return Err(Stop);
        }
        let mut left = self.unary()?;
        while let Some((function, binds)) = calc_operator(self.peek())
            && binds >= precedence
        {
            left = self.binary(left, function, binds + 1)?;
        }
        self.calcs -= 1;
        Ok(left)
    }

    fn binary(&mut self, left: Expr, function: &str, right_precedence: u8) -> Parsed<Expr> {
        let height = self.height;
        let operator = self.bump();
        let id = self.builder.id(operator.start);
        let right = self.calc(right_precedence)?;
        self.rise(height)?;
        Ok(self.builder.call(id, function, vec![left, right]))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        match self.peek() {
            TokenKind::Exclamation => self.prefixed(TokenKind::Exclamation, "!_"),
            TokenKind::Minus if !matches!(self.peek_at(1), TokenKind::Int | TokenKind::Float) => {
                self.prefixed(TokenKind::Minus, "-_")
            }
            _ => self.member(),
        }
    }

    /// `!!!a` or `--a`: pairs cancel.
    fn prefixed(&mut self, kind: TokenKind, function: &str) -> Parsed<Expr> {
        let first = self.bump();
        let mut count = 1_u32;
        while self.eat(kind) {
            count += 1;
        }
        if count.is_multiple_of(2) {
            return self.member();
        }
        let id = self.builder.id(first.start);
        let operand = self.member()?;
        Ok(self.builder.call(id, function, vec![operand]))
    }

    fn member(&mut self) -> Parsed<Expr> {
        let mut operand = self.primary()?;
        loop {
            operand = match self.peek() {
                TokenKind::Dot => self.select_or_call(operand)?,
                TokenKind::LeftBracket => self.index(operand)?,
                _ => return Ok(operand),
            };
        }
    }

    fn select_or_call(&mut self, operand: Expr) -> Parsed<Expr> {
        let dot = self.bump();
        let optional = self.eat(TokenKind::Question);
        let token = self.bump();
        let name = match token.kind {
            TokenKind::Identifier => self.text(token),
            TokenKind::EscapedIdentifier => {
                self.builder.report(token.start, UNSUPPORTED_ESCAPE);
                ""
            }
            _ => return Err(Stop),
        };
        if token.kind == TokenKind::Identifier && !optional && self.peek() == TokenKind::LeftParen {
            let height = self.height;
            let open = self.bump();
            let id = self.builder.id(open.start);
            let arguments = self.arguments()?;
            self.rise(height)?;
            return Ok(self.builder.call_or_macro(id, name, Some(operand), arguments));
        }
        self.rise(0)?;
        if !optional {
            return Ok(self.builder.select(dot.start, operand, name));
        }
        let field = Literal::String(self.builder.name(name));
        let field = self.builder.literal(token.start, field);
        let id = self.builder.id(dot.start);
        Ok(self.builder.call(id, "_?._", vec![operand, field]))
    }

    fn index(&mut self, operand: Expr) -> Parsed<Expr> {
        let height = self.height;
        let open = self.bump();
        let function = if self.eat(TokenKind::Question) { "_[?_]" } else { "_[_]" };
        let id = self.builder.id(open.start);
        let index = self.expr()?;
        self.expect(TokenKind::RightBracket)?;
        self.rise(height)?;
        Ok(self.builder.call(id, function, vec![operand, index]))
    }

    /// The arguments of a call, and the closing parenthesis.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        self.height = 0;
        if self.eat(TokenKind::RightParen) {
            return Ok(arguments);
        }
        let mut height = 0;
        loop {
            arguments.push(self.expr()?);
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.height = height;
        self.expect(TokenKind::RightParen)?;
        Ok(arguments)
    }
}

pub(super) fn relation_operator(kind: TokenKind) -> Option<&'static str> {
    Some(match kind {
        TokenKind::Less => "_<_",
        TokenKind::LessEquals => "_<=_",
        TokenKind::GreaterEquals => "_>=_",
        TokenKind::Greater => "_>_",
        TokenKind::Equals => "_==_",
        TokenKind::NotEquals => "_!=_",
        TokenKind::In => "@in",
        _ => return None,
    })
}

/// The function of an operator and how strongly it binds.
pub(super) fn calc_operator(kind: TokenKind) -> Option<(&'static str, u8)> {
    Some(match kind {
        TokenKind::Star => ("_*_", 2),
        TokenKind::Slash => ("_/_", 2),
        TokenKind::Percent => ("_%_", 2),
        TokenKind::Plus => ("_+_", 1),
        TokenKind::Minus => ("_-_", 1),
        _ => return None,
    })
}
