//! The reader of the transcoder: JSON to a tape, by the plan of the type.
//!
//! Invariant: what is not as `json::write` writes it, or does not fit its type, is not read at all;
//! the encoder of trees says then what it is. Depth is bounded.

use base64::Engine;
use quorate_meta::{Time, Value};
use quorate_schema::{Scalar, TypeId};

use super::lengths::{key_len, list_len, map_len, message_len, varint_len, wrapped_len};
use super::plan::{MessagePlan, Plans, Property, ShapePlan, Step, prefix};
use super::scalar::{BASE64, NANOS_PER_MICRO};
use super::tape::{Content, Span, Tape, TapeNode};
use crate::json::Lexer;

/// Levels of nesting up to which JSON is read here.
const MAX_LEVELS: usize = 128;

/// Reads one text.
pub(super) struct JsonReader<'p, 'j> {
    plans: &'p Plans,
    lexer: Lexer<'j>,
    json: &'j [u8],
    tape: Tape<'j>,
    depth: usize,
}

impl<'p, 'j> JsonReader<'p, 'j> {
    /// The message of a type that the text is, and the tape that it is on.
    pub(super) fn read(
        plans: &'p Plans,
        id: TypeId,
        json: &'j [u8],
    ) -> Option<(TapeNode, Tape<'j>)> {
        let (lexer, tape) = (Lexer::new(json).ok()?, Tape::new(json));
        let mut reader = Self { plans, lexer, json, tape, depth: 0 };
        let root = reader.message(id)?;
        reader.lexer.end().ok()?;
        Some((root, reader.tape))
    }

    fn message(&mut self, id: TypeId) -> Option<TapeNode> {
        let plan = self.plans.message(id)?;
        let from = self.tape.open.len();
        match plan.mixed {
            Some(_) => self.alternative(plan)?,
            None => self.properties(plan)?,
        }
        let parts = &mut self.tape.open[from..];
        if !parts.is_sorted_by_key(|node| node.step) {
            parts.sort_unstable_by_key(|node| node.step);
        }
        let parts = self.tape.close(from);
        let len = message_len(plan, self.tape.nodes(parts));
        node(len, Content::Message(parts))
    }

    /// The properties of a message that are there, as open nodes.
    fn properties(&mut self, plan: &'p MessagePlan) -> Option<()> {
        let mut passed = 0;
        self.open(b'{')?;
        while !self.is_at_end(b'}')? {
            let name = self.lexer.string_place(&mut self.tape.unescaped).ok()??;
            let name = &self.json[name];
            self.colon()?;
            let known = find(&plan.properties, &mut passed, name)?;
            match known.and_then(|property| property.step) {
                Some(step) if self.lexer.peek() != Some(b'n') => self.property(plan, step)?,
                _ => self.lexer.skip_value().ok()?,
            }
            self.separate()?;
        }
        Some(())
    }

    fn property(&mut self, plan: &'p MessagePlan, step: u16) -> Option<()> {
        let Step::Field(field) = plan.steps.get(usize::from(step))? else { return None };
        let value = self.field(field.tag, &field.shape)?;
        self.tape.open.push(TapeNode { step, ..value });
        Some(())
    }

    /// The alternative that a value with a special form is, as open nodes: a schema has a boolean
    /// beside it set.
    fn alternative(&mut self, plan: &'p MessagePlan) -> Option<()> {
        let first = self.lexer.peek()?;
        for (step, part) in (0..).zip(&plan.steps) {
            let Step::Field(field) = part else { return None };
            match (&field.shape, first) {
                (ShapePlan::Message(_), b'{')
                | (ShapePlan::List(_), b'[')
                | (ShapePlan::Scalar(Scalar::Bool), b't' | b'f') => self.property(plan, step)?,
                (ShapePlan::Scalar(Scalar::Bool), b'{') => {
                    self.tape.open.push(TapeNode { step, ..node(1, Content::Number(1))? });
                }
                _ => {}
            }
        }
        // Nothing else has been read.
        matches!(first, b'{' | b'[' | b't' | b'f').then_some(())
    }

    fn field(&mut self, tag: u32, shape: &'p ShapePlan) -> Option<TapeNode> {
        let from = self.tape.open.len();
        match shape {
            ShapePlan::List(inner) => {
                self.open(b'[')?;
                while !self.is_at_end(b']')? {
                    let element = self.element(inner)?;
                    self.tape.open.push(element);
                    self.separate()?;
                }
                let parts = self.tape.close(from);
                node(list_len(key_len(tag), self.tape.nodes(parts)), Content::List(parts))
            }
            ShapePlan::Map(inner) => {
                self.entries(inner)?;
                let parts = self.tape.close(from);
                node(map_len(key_len(tag), self.tape.nodes(parts)), Content::Map(parts))
            }
            single => self.element(single),
        }
    }

    /// The entries of a map, as open nodes. Keys ascend.
    fn entries(&mut self, inner: &'p ShapePlan) -> Option<()> {
        let mut before: Option<Span> = None;
        self.open(b'{')?;
        while !self.is_at_end(b'}')? {
            let key = self.text()?;
            if before.is_some_and(|before| self.tape.text(before) >= self.tape.text(key)) {
                return None;
            }
            before = Some(key);
            self.colon()?;
            self.tape.open.push(node(key.len(), Content::Text(key))?);
            let value = self.element(inner)?;
            self.tape.open.push(value);
            self.separate()?;
        }
        Some(())
    }

    /// A single value, a list element or a map value.
    fn element(&mut self, shape: &'p ShapePlan) -> Option<TapeNode> {
        match shape {
            ShapePlan::Scalar(kind) => self.scalar(*kind),
            ShapePlan::Message(id) => self.message(*id),
            ShapePlan::Wrapped => {
                let from = self.tape.open.len();
                self.open(b'[')?;
                while !self.is_at_end(b']')? {
                    let text = self.text()?;
                    self.tape.open.push(node(text.len(), Content::Text(text))?);
                    self.separate()?;
                }
                let parts = self.tape.close(from);
                node(wrapped_len(self.tape.nodes(parts)), Content::Wrapped(parts))
            }
            ShapePlan::List(_) | ShapePlan::Map(_) | ShapePlan::Unwritable => None,
        }
    }

    fn scalar(&mut self, kind: Scalar) -> Option<TapeNode> {
        match (kind, self.lexer.peek()?) {
            (Scalar::Any, _) => {
                let start = self.lexer.at();
                self.lexer.skip_value().ok()?;
                let raw = self.tape.span(Some(start..self.lexer.at()), 0)?;
                quoted(raw)
            }
            (Scalar::Bool, b't') => self.word("true", 1),
            (Scalar::Bool, b'f') => self.word("false", 0),
            (Scalar::Int32 | Scalar::Int64, b'-' | b'0'..=b'9') => {
                let number = self.integer()?.cast_unsigned();
                node(varint_len(number), Content::Number(number))
            }
            (Scalar::IntOrString, b'-' | b'0'..=b'9') => {
                let number = self.integer()?;
                node(5 + varint_len(number.cast_unsigned()), Content::Integer(number))
            }
            (Scalar::Double, b'-' | b'0'..=b'9') => {
                node(8, Content::Double(self.lexer.number().ok()?.as_f64()?))
            }
            (Scalar::String, b'"') => {
                let text = self.text()?;
                node(text.len(), Content::Text(text))
            }
            (Scalar::Quantity, b'"') => quoted(self.text()?),
            (Scalar::IntOrString, b'"') => {
                let text = self.text()?;
                let len = 5 + varint_len(text.len() as u64) + text.len();
                node(len, Content::IntegerText(text))
            }
            (Scalar::Bytes, b'"') => self.bytes(),
            (Scalar::Time | Scalar::MicroTime, b'"') => self.time(kind),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<TapeNode> {
        let place = self.lexer.string_place(&mut self.tape.unescaped).ok()??;
        let from = self.tape.unescaped.len();
        BASE64.decode_vec(&self.json[place], &mut self.tape.unescaped).ok()?;
        let bytes = self.tape.span(None, from)?;
        node(bytes.len(), Content::Text(bytes))
    }

    fn time(&mut self, kind: Scalar) -> Option<TapeNode> {
        let text = self.text()?;
        let time = Time::parse(str::from_utf8(self.tape.text(text)).ok()?).ok()?;
        let (seconds, micros) = time.unix();
        let micros = if kind == Scalar::MicroTime { micros } else { 0 };
        let nanos = micros * u32::try_from(NANOS_PER_MICRO).ok()?;
        let len = 2 + varint_len(seconds.cast_unsigned()) + varint_len(nanos.into());
        node(len, Content::Time { seconds, nanos })
    }

    fn word(&mut self, word: &'static str, number: u64) -> Option<TapeNode> {
        self.lexer.word(word, Value::Null).ok()?;
        node(1, Content::Number(number))
    }

    fn integer(&mut self) -> Option<i64> {
        match self.lexer.number().ok()? {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<Span> {
        if self.lexer.peek() != Some(b'"') {
            return None;
        }
        let from = self.tape.unescaped.len();
        let place = self.lexer.string_place(&mut self.tape.unescaped).ok()?;
        self.tape.span(place, from)
    }

    /// Steps over an opening bracket.
    fn open(&mut self, bracket: u8) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_LEVELS || self.lexer.peek() != Some(bracket) {
            return None;
        }
        self.lexer.step();
        Some(())
    }

    /// Whether the list or map ends here; then its bracket is stepped over. What is there else
    /// begins an element.
    fn is_at_end(&mut self, bracket: u8) -> Option<bool> {
        let is_at_end = self.lexer.peek()? == bracket;
        if is_at_end {
            self.depth -= 1;
            self.lexer.step();
        } else if bracket == b'}' && self.lexer.peek() != Some(b'"') {
            return None;
        }
        Some(is_at_end)
    }

    fn colon(&mut self) -> Option<()> {
        let is_there = self.lexer.peek() == Some(b':');
        self.lexer.step();
        is_there.then_some(())
    }

    /// Steps over a comma, after which a further element comes.
    fn separate(&mut self) -> Option<()> {
        match self.lexer.peek()? {
            b',' => {
                self.lexer.step();
                (!matches!(self.lexer.peek()?, b'}' | b']')).then_some(())
            }
            b'}' | b']' => Some(()),
            _ => None,
        }
    }
}

/// The property of a name, if there is one. Names come in ascending order; `passed` are the
/// properties before the next one. `None` for a name that does not come in its order.
fn find<'p>(
    properties: &'p [Property],
    passed: &mut usize,
    name: &[u8],
) -> Option<Option<&'p Property>> {
    let prefix = prefix(name);
    while let Some(property) = properties.get(*passed) {
        let order = property.prefix.cmp(&prefix);
        match order.then_with(|| property.name.as_bytes().cmp(name)) {
            std::cmp::Ordering::Less => *passed += 1,
            std::cmp::Ordering::Equal => {
                *passed += 1;
                return Some(Some(property));
            }
            std::cmp::Ordering::Greater => break,
        }
    }
    let before = passed.checked_sub(1).and_then(|at| properties.get(at));
    before.is_none_or(|before| before.name.as_bytes() < name).then_some(None)
}

/// A value of a step that is not known yet.
fn node(len: usize, content: Content) -> Option<TapeNode> {
    Some(TapeNode { step: 0, len: u32::try_from(len).ok()?, content })
}

fn quoted(text: Span) -> Option<TapeNode> {
    node(1 + varint_len(text.len() as u64) + text.len(), Content::Quoted(text))
}
