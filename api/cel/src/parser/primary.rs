//! Operands: names, calls, messages, lists, maps and literals.
//!
//! Invariants: as in `descent`, of which this is the other half. Not here: operators and selections.

use std::sync::Arc;

use super::build::Builder;
use super::descent::{Descent, Parsed, Stop};
use super::literal;
use super::token::TokenKind;
use crate::ast::{Entry, Expr, ExprKind, FieldEntry, Literal, Name};

impl Descent<'_, '_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
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
        let name: Name =
            if leading_dot { Arc::from(format!(".{text}")) } else { self.builder.name(text) };
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
        while matches!(
            self.peek(),
            TokenKind::Question | TokenKind::Identifier | TokenKind::EscapedIdentifier
        ) {
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
            fields.push(FieldEntry {
                id: field_id,
                name: self.builder.name(text),
                value,
                optional,
            });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if fields.is_empty() {
            self.eat(TokenKind::Comma);
        }
        self.expect(TokenKind::RightBrace)?;
        self.height = height;
        Ok(Expr {
            id,
            kind: ExprKind::Message { type_name: self.builder.name(&type_name), fields },
        })
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
        TokenKind::Int => {
            literal::int(text, negative).map(Literal::Int).ok_or("invalid int literal")
        }
        TokenKind::Uint => {
            literal::uint(&text[..text.len() - 1]).map(Literal::Uint).ok_or("invalid uint literal")
        }
        TokenKind::Float => {
            literal::double(text, negative).map(Literal::Double).ok_or("invalid double literal")
        }
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
