//! The parser of paths, in braces and in the text around them.

use super::{Filter, InvalidJsonPath, Operator, Segment, Slice, Step, quoted};
use crate::{SmolStr, Value};

/// Levels of paths in unions, quoted fields and filters.
const MAX_DEPTH: usize = 8;

type Parsed<T> = Result<T, InvalidJsonPath>;

fn invalid<T>(why: impl Into<String>) -> Parsed<T> {
    Err(InvalidJsonPath(why.into()))
}

/// Parses text with paths in braces; `depth` is the number of paths around it.
pub(super) fn template(text: &str, depth: usize) -> Parsed<Vec<Segment>> {
    if depth > MAX_DEPTH {
        return invalid("paths are nested too deeply");
    }
    let mut cursor = Cursor { text, at: 0, depth };
    let mut segments = Vec::new();
    while let Some((before, _)) = cursor.rest().split_once('{') {
        segments.extend(plain(before));
        cursor.at += before.len() + 1;
        segments.push(Segment::Steps(cursor.steps()?));
    }
    segments.extend(plain(cursor.rest()));
    Ok(segments)
}

fn plain(text: &str) -> Option<Segment> {
    (!text.is_empty()).then(|| Segment::Text(text.into()))
}

/// The steps of a path without braces that stands in another one. What follows a brace that closes
/// early is parsed, and counts for nothing.
fn nested(text: &str, depth: usize) -> Parsed<Vec<Step>> {
    match template(&format!("{{{text}}}"), depth + 1)?.into_iter().next() {
        Some(Segment::Steps(steps)) => Ok(steps),
        _ => invalid("there is no path"),
    }
}

/// Where in the text the parser is.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let is_there = self.rest().starts_with(prefix);
        self.at += if is_there { prefix.len() } else { 0 };
        is_there
    }

    /// What stands before the first such character, or before the end.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let text = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += text.len();
        text
    }

    /// Everything up to the closing brace.
    fn steps(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        while !self.skip("}") {
            if self.skip("[?(") {
                steps.push(self.filter()?);
                continue;
            }
            if self.skip("..") {
                if steps.last() == Some(&Step::Descent) {
                    return invalid("two recursive descents follow each other");
                }
                steps.push(Step::Descent);
                if self.rest().starts_with(is_word) {
                    steps.push(self.field());
                }
                continue;
            }
            let start = self.at;
            match self.next() {
                None | Some('\r' | '\n') => return invalid("a brace is not closed"),
                Some(' ' | '@' | '$') => {}
                Some('[') => self.brackets(&mut steps)?,
                Some(quote @ ('"' | '\'')) => steps.push(self.quoted(start, quote)?),
                Some('.') => steps.push(self.field()),
                Some(sign) if matches!(sign, '+' | '-') || sign.is_ascii_digit() => {
                    self.until(|c| c != '.' && !c.is_ascii_digit());
                    steps.push(number(&self.text[start..self.at])?);
                }
                Some(word) if is_word(word) => {
                    self.until(is_end);
                    steps.push(match &self.text[start..self.at] {
                        "true" => Step::Constant(true.into()),
                        "false" => Step::Constant(false.into()),
                        "range" => Step::Range,
                        "end" => Step::End,
                        _ => Step::Unknown,
                    });
                }
                Some(other) => return invalid(format!("{other:?} has no meaning here")),
            }
        }
        Ok(steps)
    }

    /// A name, in which a backslash takes the meaning from the character after it.
    fn field(&mut self) -> Step {
        let start = self.at;
        loop {
            self.until(|c| c == '\\' || is_end(c));
            if !self.skip("\\") {
                break;
            }
            self.next();
        }
        match &self.text[start..self.at] {
            "*" => Step::Wildcard,
            name if name.contains('\\') => Step::Field(name.replace('\\', "").into()),
            name => Step::Field(SmolStr::new(name)),
        }
    }

    /// What stands in brackets: a union, a quoted field or a slice.
    fn brackets(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        let text = self.until(|c| matches!(c, ']' | '\n'));
        if !self.skip("]") {
            return invalid("a bracket is not closed");
        }
        if text.contains(',') {
            let members = text
                .split(',')
                .map(|member| nested(&format!("[{}]", member.trim_matches(' ')), self.depth));
            steps.push(Step::Union(members.collect::<Parsed<_>>()?));
            return Ok(());
        }
        let name = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        match name.filter(|name| !name.contains('\'')) {
            Some(name) => steps.extend(nested(&format!(".{name}"), self.depth)?),
            None => steps.push(Step::Elements(slice(text)?)),
        }
        Ok(())
    }

    fn quoted(&mut self, start: usize, quote: char) -> Parsed<Step> {
        loop {
            self.until(|c| c == quote || c == '\n');
            let is_escaped = self.text[..self.at].ends_with('\\');
            if self.next() != Some(quote) {
                return invalid("a quoted text is not closed");
            }
            if !is_escaped {
                break;
            }
        }
        let text = &self.text[start + 1..self.at - 1];
        match quoted::unquote(text, quote) {
            Some(text) => Ok(Step::Text(text.into())),
            None => invalid("a quoted text is malformed"),
        }
    }

    fn filter(&mut self) -> Parsed<Step> {
        let start = self.at;
        let (mut opened, mut closed): (Option<char>, bool) = (None, false);
        loop {
            match self.next() {
                None | Some('\n') => return invalid("a filter is not closed"),
                Some(quote @ ('"' | '\'')) => match opened {
                    None => opened = Some(quote),
                    Some(pair) => {
                        let is_escaped = self.text[..self.at - 1].ends_with('\\');
                        closed |= quote == pair && !is_escaped;
                    }
                },
                Some(')') if opened.is_some() == closed => break,
                Some(_) => {}
            }
        }
        let text = &self.text[start..self.at - 1];
        if !self.skip("]") {
            return invalid("a filter is not followed by a bracket");
        }
        let is_operator = |c: char| "!<>=".contains(c);
        let left = &text[..text.find(is_operator).unwrap_or(text.len())];
        let after = &text[left.len()..];
        let right = after.trim_start_matches(is_operator);
        let operator = &after[..after.len() - right.len()];
        if left.is_empty() || operator.is_empty() || (right.is_empty() && operator.len() == 1) {
            let left = nested(text, self.depth)?;
            return Ok(Step::Filter(Box::new(Filter { left, right: None })));
        }
        if right.is_empty() {
            return invalid("a filter compares with nothing");
        }
        let left = nested(left, self.depth)?;
        let right = Some((comparison(operator), nested(right, self.depth)?));
        Ok(Step::Filter(Box::new(Filter { left, right })))
    }
}

fn comparison(text: &str) -> Operator {
    match text {
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        ">=" => Operator::GreaterOrEqual,
        ">" => Operator::Greater,
        _ => Operator::Unknown,
    }
}

fn number(text: &str) -> Parsed<Step> {
    let whole = text.parse::<i64>().map(Value::Int).ok();
    let number = whole.or_else(|| text.parse::<f64>().map(Value::Float).ok());
    number.map_or_else(|| invalid(format!("{text:?} is no number")), |n| Ok(Step::Constant(n)))
}

fn slice(text: &str) -> Parsed<Slice> {
    let text = if text == "*" { ":" } else { text };
    let bound = |text: &str| match text {
        "" => Ok(None),
        text if text.starts_with('+') => invalid(format!("{text:?} is no index")),
        text => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => invalid(format!("{text:?} is no index")),
        },
    };
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        [at] => Ok(Slice { from: bound(at)?, single: true, ..Slice::default() }),
        [from, to] => Ok(Slice { from: bound(from)?, to: bound(to)?, ..Slice::default() }),
        [from, to, step] => {
            Ok(Slice { from: bound(from)?, to: bound(to)?, single: false, step: bound(step)? })
        }
        _ => invalid(format!("{text:?} is no index")),
    }
}

/// Whether a character ends a name.
fn is_end(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
