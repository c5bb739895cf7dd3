//! A tape: what a message holds, read off its JSON without a tree.
//!
//! Invariant: the parts of a message, list or map follow each other, those of a message in the
//! order of its steps, with the lengths that they have in protobuf; texts stay where they are, and
//! only those with escapes are copied.

use std::ops::Range;

/// Where a text is: in the JSON, or among the unescaped ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// With [`UNESCAPED`] where it is among those.
    start: u32,
    len: u32,
}

/// The highest bit of a place: texts are shorter.
const UNESCAPED: u32 = 1 << 31;

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
    /// An integer where a text might be.
    Integer(i64),
    /// A text where an integer might be.
    IntegerText(Span),
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

const _: () = assert!(size_of::<TapeNode>() == 24, "nodes are copied once for each level");

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
        let from = if place.is_none() { UNESCAPED } else { 0 };
        let place = place.unwrap_or(unescaped_from..self.unescaped.len());
        let [start, len] = [place.start, place.len()].map(u32::try_from);
        let start = start.ok().filter(|start| start & UNESCAPED == 0)?;
        Some(Span { start: start | from, len: len.ok()? })
    }

    pub(super) fn text(&self, span: Span) -> &[u8] {
        let is_unescaped = span.start & UNESCAPED != 0;
        let from = if is_unescaped { &self.unescaped } else { self.json };
        let start = (span.start & !UNESCAPED) as usize;
        &from[start..start + span.len()]
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
        self.len as usize
    }
}
