//! A tape: what a message holds, read off its JSON without a tree.
//!
//! Invariant: the parts of a message, list or map follow each other, those of a message in the
//! order of its steps, with the lengths that they have in protobuf; texts stay where they are, and
//! only those with escapes are copied.

use std::ops::Range;

/// Where a text is: in the JSON, or among the unescaped ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u32,
    end: u32,
    unescaped: bool,
}

/// Consecutive nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nodes {
    start: u32,
    end: u32,
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub(super) struct TapeNode {
    /// The step of its message that writes it.
    pub(super) step: u16,
    /// Bytes of what it holds, without key and length; of lists and maps of the parts with theirs.
    pub(super) len: u32,
    pub(super) content: Content,
}

/// What a node holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A number in base 128.
    Number(u64),
    Double(f64),
    /// Text or bytes.
    Text(Span),
    /// A message with a text.
    Quoted(Span),
    Time {
        seconds: i64,
        nanos: u32,
    },
    IntOrText(Result<i64, Span>),
    Message(Nodes),
    List(Nodes),
    /// A message around texts.
    Wrapped(Nodes),
    /// Keys and values in turn.
    Map(Nodes),
}

/// The nodes of one value.
pub(super) struct Tape<'j> {
    json: &'j [u8],
    /// Of values that are complete.
    nodes: Vec<TapeNode>,
    /// Of the values that are being read, outer ones first.
    pub(super) open: Vec<TapeNode>,
    /// Texts without their escapes, and decoded bytes.
    pub(super) unescaped: Vec<u8>,
}

/// Nodes of an ordinary object.
const NODES: usize = 256;

impl<'j> Tape<'j> {
    pub(super) fn new(json: &'j [u8]) -> Self {
        Self {
            json,
            nodes: Vec::with_capacity(NODES),
            open: Vec::with_capacity(NODES / 4),
            unescaped: Vec::new(),
        }
    }

    /// The text at a place of the JSON, or what has been unescaped from a place on.
    pub(super) fn span(&self, place: Option<Range<usize>>, unescaped_from: usize) -> Option<Span> {
        let unescaped = place.is_none();
        let place = place.unwrap_or(unescaped_from..self.unescaped.len());
        let [start, end] = [place.start, place.end].map(u32::try_from);
        Some(Span { start: start.ok()?, end: end.ok()?, unescaped })
    }

    pub(super) fn text(&self, span: Span) -> &[u8] {
        let from = if span.unescaped { &self.unescaped } else { self.json };
        &from[span.start as usize..span.end as usize]
    }

    pub(super) fn nodes(&self, nodes: Nodes) -> &[TapeNode] {
        &self.nodes[nodes.start as usize..nodes.end as usize]
    }

    /// Makes the nodes that are open from a place on the parts of a value that is complete.
    pub(super) fn close(&mut self, from: usize) -> Nodes {
        let start = self.nodes.len();
        self.nodes.extend(self.open.drain(from..));
        let place = |at| u32::try_from(at).expect("a text has fewer than 2^32 values");
        Nodes { start: place(start), end: place(self.nodes.len()) }
    }
}

impl Span {
    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}
