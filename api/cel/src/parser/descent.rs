//! The grammar, by recursive descent, for expressions without syntax errors.
//!
//! Invariants: stops at the first syntax error and at the recursion limits, and then says nothing of what is wrong:
//! `recovery` reads the source again and does. Ids, macros and errors that are no syntax errors are as the reference engine
//! has them. Recursion is bounded by [`RECURSION_MAX`]. Not here: operators' names beyond those of the language.

use std::sync::Arc;

use super::RECURSION_MAX;
use super::build::Builder;
use super::literal;
use super::token::{Token, TokenKind};
use crate::ast::{Entry, Expr, ExprKind, FieldEntry, Literal, Name};

/// A syntax error, or nesting beyond the limit.
pub(super) struct Stop;

type Parsed<T> = Result<T, Stop>;

pub(super) struct Descent<'s, 't> {
    pub(super) builder: Builder<'s>,
    tokens: &'t [Token],
    at: usize,
    /// How many `expr`, `relation` and `calc` rules are open: the deepest of all rules is always one of them.
    exprs: u32,
    relations: u32,
    calcs: u32,
    /// How deeply operators, selections and member calls nest in the expression read last.
    height: u32,
}

impl<'s, 't> Descent<'s, 't> {
    pub(super) fn new(builder: Builder<'s>, tokens: &'t [Token]) -> Descent<'s, 't> {
        Descent { builder, tokens, at: 0, exprs: 0, relations: 0, calcs: 0, height: 0 }
    }

    /// The whole source.
    pub(super) fn start(&mut self) -> Parsed<Expr> {
        let expr = self.expr()?;
        self.expect(TokenKind::End)?;
        if self.height > RECURSION_MAX || self.builder.is_full() { Err(Stop) } else { Ok(expr) }
    }

    fn peek(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::End, |token| token.kind)
    }

    fn bump(&mut self) -> Token {
        let token = self.tokens[self.at];
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<Token> {
        if self.peek() == kind { Ok(self.bump()) } else { Err(Stop) }
    }

    fn text(&self, token: Token) -> &'s str {
        &self.builder.source[token.start as usize..token.end as usize]
    }

    fn expr(&mut self) -> Parsed<Expr> {
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
        self.height = height.max(self.height) + 1;
        Ok(self.builder.call(id, "_?_:_", vec![condition, then, otherwise]))
    }

    fn or(&mut self) -> Parsed<Expr> {
        let first = self.and()?;
        if self.peek() != TokenKind::Or { Ok(first) } else { self.chain(TokenKind::Or, "_||_", first) }
    }

    fn and(&mut self) -> Parsed<Expr> {
        let first = self.relation()?;
        if self.peek() != TokenKind::And { Ok(first) } else { self.chain(TokenKind::And, "_&&_", first) }
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
        self.height = height.max(self.height) + 1;
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
        let mut count = 1;
        while self.eat(kind) {
            count += 1;
        }
        if count % 2 == 0 {
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
            self.height = height.max(self.height) + 1;
            return Ok(self.builder.call_or_macro(id, name, Some(operand), arguments));
        }
        self.height += 1;
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
        self.height = height.max(self.height) + 1;
        Ok(self.builder.call(id, function, vec![operand, index]))
    }

    /// The arguments of a call, and the closing parenthesis.
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
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

    fn primary(&mut self) -> Parsed<Expr> {
        self.height = 0;
        match self.peek() {
            TokenKind::Dot | TokenKind::Identifier => self.named(),
            TokenKind::LeftParen => {
                self.bump();
                let nested = self.expr()?;
                self.expect(TokenKind::RightParen)?;
                Ok(nested)
            }
            TokenKind::LeftBracket => self.list(),
            TokenKind::LeftBrace => self.map(),
            _ => self.literal(),
        }
    }

    /// A variable, a call of a function, or a message.
    fn named(&mut self) -> Parsed<Expr> {
        if self.is_message() {
            return self.message();
        }
        let start = self.tokens[self.at].start;
        let leading_dot = self.eat(TokenKind::Dot);
        let token = self.expect(TokenKind::Identifier)?;
        let text = self.text(token);
        let name: Name = if leading_dot { Arc::from(format!(".{text}")) } else { self.builder.name(text) };
        let reserved = self.builder.reserved(start, text);
        if self.peek() != TokenKind::LeftParen {
            return Ok(reserved.unwrap_or_else(|| self.builder.ident(token.start, &name)));
        }
        let open = self.bump();
        if let Some(error) = reserved {
            let issues = self.builder.issues.len();
            self.arguments()?;
            self.builder.issues.truncate(issues);
            return Ok(error);
        }
        let id = self.builder.id(open.start);
        let arguments = self.arguments()?;
        Ok(self.builder.call_or_macro(id, &name, None, arguments))
    }

    /// Whether a qualified name and an opening brace follow.
    fn is_message(&self) -> bool {
        let mut ahead = usize::from(self.peek() == TokenKind::Dot);
        while self.peek_at(ahead) == TokenKind::Identifier {
            match self.peek_at(ahead + 1) {
                TokenKind::LeftBrace => return true,
                TokenKind::Dot => ahead += 2,
                _ => return false,
            }
        }
        false
    }

    fn message(&mut self) -> Parsed<Expr> {
        let mut type_name = String::new();
        while self.peek() != TokenKind::LeftBrace {
            let part = self.bump();
            type_name.push_str(self.text(part));
        }
        let open = self.bump();
        let id = self.builder.id(open.start);
        let first = self.tokens[self.at].start;
        let (mut fields, mut height) = (Vec::new(), 0);
        while matches!(self.peek(), TokenKind::Question | TokenKind::Identifier | TokenKind::EscapedIdentifier) {
            let optional = self.eat(TokenKind::Question);
            let token = self.bump();
            let colon = self.expect(TokenKind::Colon)?;
            let field_id = self.builder.id(colon.start);
            if token.kind == TokenKind::EscapedIdentifier {
                self.builder.report(first, UNSUPPORTED_ESCAPE);
            } else if token.kind != TokenKind::Identifier {
                return Err(Stop);
            }
            let value = self.expr()?;
            height = height.max(self.height);
            let text = self.text(token);
            fields.push(FieldEntry { id: field_id, name: self.builder.name(text), value, optional });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if fields.is_empty() {
            self.eat(TokenKind::Comma);
        }
        self.expect(TokenKind::RightBrace)?;
        self.height = height;
        Ok(Expr { id, kind: ExprKind::Message { type_name: self.builder.name(&type_name), fields } })
    }

    fn list(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        let id = self.builder.id(open.start);
        let (mut elements, mut optional, mut height) = (Vec::new(), Vec::new(), 0);
        if !self.eat(TokenKind::Comma) {
            while self.peek() != TokenKind::RightBracket {
                if self.eat(TokenKind::Question) {
                    optional.push(elements.len() as u32);
                }
                elements.push(self.expr()?);
                height = height.max(self.height);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.expect(TokenKind::RightBracket)?;
        self.height = height;
        Ok(Expr { id, kind: ExprKind::List { elements, optional } })
    }

    fn map(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        let id = self.builder.id(open.start);
        let (mut entries, mut height) = (Vec::new(), 0);
        if !self.eat(TokenKind::Comma) {
            while self.peek() != TokenKind::RightBrace {
                let optional = self.eat(TokenKind::Question);
                let id = self.builder.id(0);
                let key = self.expr()?;
                height = height.max(self.height);
                let colon = self.expect(TokenKind::Colon)?;
                self.builder.positions[id as usize] = colon.start;
                let value = self.expr()?;
                height = height.max(self.height);
                entries.push(Entry { id, key, value, optional });
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.expect(TokenKind::RightBrace)?;
        self.height = height;
        Ok(Expr { id, kind: ExprKind::Map(entries) })
    }

    fn literal(&mut self) -> Parsed<Expr> {
        let at = self.tokens[self.at].start;
        let negative = self.eat(TokenKind::Minus);
        let token = self.bump();
        if negative && !matches!(token.kind, TokenKind::Int | TokenKind::Float) {
            return Err(Stop);
        }
        let text = self.text(token);
        literal_expr(&mut self.builder, at, token.kind, text, negative).ok_or(Stop)
    }
}

/// What is said of names in backticks, which the environment does not know.
pub(super) const UNSUPPORTED_ESCAPE: &str = "unsupported syntax: '`'";

/// A literal; none when the token is no literal.
pub(super) fn literal_expr(
    builder: &mut Builder<'_>,
    at: u32,
    kind: TokenKind,
    text: &str,
    negative: bool,
) -> Option<Expr> {
    let literal = match kind {
        TokenKind::Int => literal::int(text, negative).map(Literal::Int).ok_or("invalid int literal"),
        TokenKind::Uint => literal::uint(&text[..text.len() - 1]).map(Literal::Uint).ok_or("invalid uint literal"),
        TokenKind::Float => literal::double(text, negative).map(Literal::Double).ok_or("invalid double literal"),
        TokenKind::String => literal::string(text).map(|text| Literal::String(text.into())),
        TokenKind::Bytes => literal::bytes(&text[1..]).map(|bytes| Literal::Bytes(bytes.into())),
        TokenKind::True => Ok(Literal::Bool(true)),
        TokenKind::False => Ok(Literal::Bool(false)),
        TokenKind::Null => Ok(Literal::Null),
        _ => return None,
    };
    Some(match literal {
        Ok(literal) => builder.literal(at, literal),
        Err(message) => builder.report(at, message),
    })
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
