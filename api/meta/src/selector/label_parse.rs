//! The parser of label selectors, whose grammar is:
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = [ "!" ] key
//!             | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ]
//!             | key ( "in" | "notin" ) "(" values ")"
//! values      = [ value ] { "," [ value ] }
//! ```
//!
//! Space between tokens is ignored. Keys, values and the words `in` and `notin` are runs of other
//! characters.

use super::label::{LabelOperator, LabelRequirement, check_key};
use super::{MAX_REQUIREMENTS, too_many};

#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    End,
    /// A run of characters that are neither space nor symbol.
    Word(&'a str),
    /// `( ) , ! = == != > <`.
    Symbol(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::End => "",
            Self::Word(text) | Self::Symbol(text) => text,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

/// Reads the requirements; the error is the message for the client.
pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, String> {
    let mut parser = Parser { rest: text };
    let mut requirements = Vec::new();
    match parser.peek() {
        Token::End => return Ok(requirements),
        Token::Word(_) | Token::Symbol("!") => {}
        other => {
            return Err(format!(
                "found '{}', expected: !, identifier, or 'end of string'",
                other.text()
            ));
        }
    }
    loop {
        let requirement = parser
            .requirement()
            .map_err(|error| format!("unable to parse requirement: {error}"))?;
        requirements.push(requirement);
        if requirements.len() > MAX_REQUIREMENTS {
            return Err(too_many());
        }
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {}
            other => {
                return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
            }
        }
        if !matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) {
            return Err(format!(
                "found '{}', expected: identifier after ','",
                parser.peek().text()
            ));
        }
    }
}

impl<'a> Parser<'a> {
    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        check_key(key)?;
        if negated {
            return make(key, LabelOperator::Missing, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return make(key, LabelOperator::Exists, Vec::new());
        }
        let operator = match self.next() {
            Token::Word("in") => return make(key, LabelOperator::In, self.values()?),
            Token::Word("notin") => return make(key, LabelOperator::NotIn, self.values()?),
            Token::Symbol("=" | "==") => LabelOperator::In,
            Token::Symbol("!=") => LabelOperator::NotIn,
            Token::Symbol(">") => LabelOperator::Above,
            Token::Symbol("<") => LabelOperator::Below,
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.text()
                ));
            }
        };
        make(key, operator, vec![self.value()?.to_owned()])
    }

    /// The value after an operator; nothing stands for the empty value.
    fn value(&mut self) -> Result<&'a str, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok("");
        }
        match self.next() {
            Token::Word(value) => Ok(value),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// Values in parentheses; nothing between two of `( , )` is the empty value, so that `()` holds
    /// that one.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        match self.peek() {
            Token::Word(_) | Token::Symbol("," | ")") => {}
            other => {
                return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
            }
        }
        let mut values = Vec::new();
        loop {
            if let Token::Word(value) = self.peek() {
                values.push(value.to_owned());
                self.next();
            } else {
                values.push(String::new());
            }
            match self.next() {
                Token::Symbol(")") => return Ok(values),
                Token::Symbol(",") => {}
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }

    fn next(&mut self) -> Token<'a> {
        let (token, rest) = split(self.rest);
        self.rest = rest;
        token
    }

    fn peek(&self) -> Token<'a> {
        split(self.rest).0
    }
}

fn make(
    key: &str,
    operator: LabelOperator,
    values: Vec<String>,
) -> Result<LabelRequirement, String> {
    LabelRequirement::new(key, operator, values).map_err(|error| error.0)
}

/// The first token and what follows it.
fn split(text: &str) -> (Token<'_>, &str) {
    let text = text.trim_start_matches(is_space);
    let Some(first) = text.chars().next() else {
        return (Token::End, "");
    };
    if !is_symbol(first) {
        let end = text.find(|char| is_symbol(char) || is_space(char)).unwrap_or(text.len());
        return (Token::Word(&text[..end]), &text[end..]);
    }
    let len = if text.starts_with("==") || text.starts_with("!=") { 2 } else { 1 };
    (Token::Symbol(&text[..len]), &text[len..])
}

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(char: char) -> bool {
    matches!(char, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
