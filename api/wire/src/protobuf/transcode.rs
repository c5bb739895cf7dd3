//! The transcoder from JSON to protobuf: two passes over flat tables, without a tree.
//!
//! The first pass reads the text onto a tape and knows the length of every message at its end; the
//! second one writes the messages in the order of their field numbers, each byte once.
//!
//! Invariant: what it writes is what the encoder makes of the text's tree, to the byte. What it
//! does not read (`JsonReader`) it leaves to the encoder.

use std::iter::Peekable;
use std::slice::Iter;
use std::sync::Arc;

use quorate_schema::{Graph, TypeId};

use super::decode::{ENTRY_KEY, ENTRY_VALUE, WRAPPED_ITEMS};
use super::json_reader::JsonReader;
use super::lengths::{entry_len, steps_len};
use super::plan::{Plans, ShapePlan, Step};
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
        let (root, tape) = JsonReader::read(&self.plans, ty, text)?;
        let mut out = Vec::with_capacity(root.len as usize);
        MessageWriter { plans: &self.plans, tape: &tape }.content(ty, &root, &mut out);
        debug_assert_eq!(out.len(), root.len as usize, "lengths were known before");
        Some(out)
    }
}

/// Writes what is on a tape.
struct MessageWriter<'t> {
    plans: &'t Plans,
    tape: &'t Tape<'t>,
}

impl MessageWriter<'_> {
    fn content(&self, ty: TypeId, message: &TapeNode, out: &mut Vec<u8>) {
        if let (Content::Message(parts), Some(plan)) = (message.content, self.plans.message(ty)) {
            self.steps(&plan.steps, 0, &mut self.tape.nodes(parts).iter().peekable(), out);
        }
    }

    /// What some steps write, of which the first is the step `at` of its message.
    fn steps(
        &self,
        steps: &[Step],
        mut at: usize,
        parts: &mut Peekable<Iter<'_, TapeNode>>,
        out: &mut Vec<u8>,
    ) {
        let mut rest = steps;
        while let Some((step, after)) = rest.split_first() {
            rest = after;
            match step {
                Step::Field(field) => match parts.next_if(|part| usize::from(part.step) == at) {
                    Some(part) => self.field(field.tag, &field.shape, part, out),
                    None => out.extend_from_slice(&field.zero),
                },
                Step::Inline { tag, steps } => {
                    let (inner, after) = rest.split_at(*steps);
                    let len = steps_len(inner, at + 1, &mut parts.clone());
                    writer::bytes_head(*tag, len as u64, out);
                    self.steps(inner, at + 1, parts, out);
                    rest = after;
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
            Content::IntOrText(value) => {
                let text = value.err().map_or(&[][..], |text| self.tape.text(text));
                writer::number(1, i64::from(value.is_err()), out);
                writer::number(2, value.unwrap_or_default(), out);
                writer::bytes(3, text, out);
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
