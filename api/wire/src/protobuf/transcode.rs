//! The transcoder from JSON to protobuf: two passes over flat tables, without a tree.
//!
//! The first pass reads the text onto a tape and knows the length of every message at its end; the
//! second one writes the messages in the order of their field numbers, each byte once.
//!
//! Invariant: what it writes is what the encoder makes of the text's tree, to the byte. What it
//! does not read (`JsonReader`) it leaves to the encoder.

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;
use std::sync::Arc;

use quorate_schema::{Graph, TypeId};

use super::decode::{ENTRY_KEY, ENTRY_VALUE, WRAPPED_ITEMS};
use super::json_reader::JsonReader;
use super::lengths::{entry_len, steps_len};
use super::plan::{MessagePlan, Plans, ShapePlan, Step};
use super::tape::{Content, Tape, TapeNode};
use super::writer;

/// Writes messages of the types of a graph. Shared by all requests.
pub struct Transcoder {
    plans: Plans,
}

impl Transcoder {
    /// A transcoder for a graph.
    #[must_use]
    pub fn new(graph: Arc<Graph>) -> Self {
        Self { plans: Plans::new(graph) }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Arc<Graph> {
        &self.plans.graph
    }

    /// The message of a type, without apiVersion and kind, of a text that `json::write` has
    /// written. `None` where the text is not of that form or does not fit the type:
    /// `encode_message` says what is wrong, if anything is.
    #[must_use]
    pub fn message(&self, ty: TypeId, text: &[u8]) -> Option<Vec<u8>> {
        let message = self.read(ty, text)?;
        let mut out = Vec::with_capacity(message.size());
        message.write(&mut out);
        Some(out)
    }

    /// The same, which is still to be written.
    #[must_use]
    pub fn read<'t>(&'t self, ty: TypeId, text: &'t [u8]) -> Option<ReadMessage<'t>> {
        let (root, tape) = JsonReader::read(&self.plans, ty, text)?;
        Some(ReadMessage { plans: &self.plans, ty, root, tape })
    }
}

/// A message whose text has been read: its size is known, and nothing of it is written yet.
pub struct ReadMessage<'t> {
    plans: &'t Plans,
    ty: TypeId,
    root: TapeNode,
    tape: Tape<'t>,
}

impl ReadMessage<'_> {
    /// Bytes of the message.
    #[must_use]
    pub fn size(&self) -> usize {
        self.root.len as usize
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        MessageWriter { plans: self.plans, tape: &self.tape }.content(self.ty, &self.root, out);
        debug_assert_eq!(out.len() - start, self.size(), "lengths were known before");
    }
}

/// Writes what is on a tape.
struct MessageWriter<'t> {
    plans: &'t Plans,
    tape: &'t Tape<'t>,
}

impl MessageWriter<'_> {
    fn content(&self, ty: TypeId, message: &TapeNode, out: &mut Vec<u8>) {
        let (Content::Message(parts), Some(plan)) = (message.content, self.plans.message(ty))
        else {
            return;
        };
        let parts = self.tape.nodes(parts);
        let end = plan.steps.len();
        if plan.has_inline {
            return self.steps(plan, 0..end, &mut parts.iter().peekable(), out);
        }
        let mut next = 0;
        for part in parts {
            let at = usize::from(part.step);
            if let Some(Step::Field(field)) = plan.steps.get(at) {
                out.extend_from_slice(plan.zeros.of(next..at));
                self.field(field.tag, &field.shape, part, out);
                next = at + 1;
            }
        }
        out.extend_from_slice(plan.zeros.of(next..end));
    }

    /// What some steps write.
    fn steps(
        &self,
        plan: &MessagePlan,
        steps: Range<usize>,
        parts: &mut Peekable<Iter<'_, TapeNode>>,
        out: &mut Vec<u8>,
    ) {
        let mut at = steps.start;
        while at < steps.end {
            match &plan.steps[at] {
                Step::Field(field) => match parts.next_if(|part| usize::from(part.step) == at) {
                    Some(part) => self.field(field.tag, &field.shape, part, out),
                    None => out.extend_from_slice(plan.zeros.of(at..at + 1)),
                },
                Step::Inline { tag, steps } => {
                    let inner = at + 1..at + 1 + steps;
                    let len = steps_len(plan, inner.clone(), &mut parts.clone());
                    writer::bytes_head(*tag, len as u64, out);
                    self.steps(plan, inner, parts, out);
                    at += steps;
                }
            }
            at += 1;
        }
    }

    fn field(&self, tag: u32, shape: &ShapePlan, part: &TapeNode, out: &mut Vec<u8>) {
        match (shape, part.content) {
            (ShapePlan::List(inner), Content::List(elements)) => {
                for element in self.tape.nodes(elements) {
                    self.value(tag, inner, element, out);
                }
            }
            (ShapePlan::Map(inner), Content::Map(entries)) => {
                for pair in self.tape.nodes(entries).chunks_exact(2) {
                    writer::bytes_head(tag, entry_len(&pair[0], &pair[1]) as u64, out);
                    self.value(ENTRY_KEY, &ShapePlan::Wrapped, &pair[0], out);
                    self.value(ENTRY_VALUE, inner, &pair[1], out);
                }
            }
            (single, _) => self.value(tag, single, part, out),
        }
    }

    /// A field with a single value, a list element or a map value.
    fn value(&self, tag: u32, shape: &ShapePlan, node: &TapeNode, out: &mut Vec<u8>) {
        match node.content {
            Content::Number(number) => writer::number(tag, number.cast_signed(), out),
            Content::Double(number) => writer::double(tag, number, out),
            _ => {
                writer::bytes_head(tag, node.len.into(), out);
                self.delimited(shape, node, out);
            }
        }
    }

    /// What comes after a length.
    fn delimited(&self, shape: &ShapePlan, node: &TapeNode, out: &mut Vec<u8>) {
        match node.content {
            Content::Text(text) => out.extend_from_slice(self.tape.text(text)),
            Content::Quoted(text) => writer::bytes(1, self.tape.text(text), out),
            Content::Time { seconds, nanos } => {
                writer::number(1, seconds, out);
                writer::number(2, nanos.into(), out);
            }
            Content::Integer(number) => {
                writer::number(1, 0, out);
                writer::number(2, number, out);
                writer::bytes(3, &[], out);
            }
            Content::IntegerText(text) => {
                writer::number(1, 1, out);
                writer::number(2, 0, out);
                writer::bytes(3, self.tape.text(text), out);
            }
            Content::Wrapped(texts) => {
                for text in self.tape.nodes(texts) {
                    self.value(WRAPPED_ITEMS, shape, text, out);
                }
            }
            Content::Message(_) => {
                if let ShapePlan::Message(ty) = shape {
                    self.content(*ty, node, out);
                }
            }
            // These have a key for each part.
            Content::Number(_) | Content::Double(_) | Content::List(_) | Content::Map(_) => {}
        }
    }
}
