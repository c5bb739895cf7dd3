//! A YAML document as it stands in the text: scalars with their tags, lists, maps and aliases.
//!
//! Invariants: an alias points at a node whose anchor stands before it; nothing is nested deeper
//! than `MAX_DEPTH`; there are at most `MAX_NODES` nodes.

use std::collections::HashMap;

use libyaml_safer::{Event, EventData};

use super::error::Error;
use super::events::Events;
use super::read::{MAX_DEPTH, MAX_NODES};

/// The place of a node among the nodes of its document.
pub(super) type NodeId = u32;

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    /// Its line, counted from one.
    pub(super) line: u32,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Scalar(Scalar),
    List(Vec<NodeId>),
    /// Keys and values by turns.
    Map(Vec<NodeId>),
    Alias {
        anchor: Box<str>,
        target: NodeId,
    },
}

/// The text of a scalar and what is said of its type.
#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: Box<str>,
    /// The whole tag, if one is given.
    pub(super) tag: Option<Box<str>>,
    /// Whether the text says what type it has: it is plain, or has the tag `!`.
    pub(super) plain: bool,
}

/// The nodes of the first document of a text.
#[derive(Debug, Default)]
pub(super) struct Document {
    nodes: Vec<Node>,
    anchors: HashMap<String, NodeId>,
    /// Lists and maps that are not complete, from the outermost to the innermost.
    open: Vec<NodeId>,
}

impl Document {
    /// Reads the first document; text without one has no node.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let mut events = Events::new(text);
        let mut document = Self::default();
        loop {
            let event = events.next_event()?;
            match event.data {
                EventData::StreamEnd | EventData::DocumentEnd { .. } => return Ok(document),
                EventData::SequenceEnd | EventData::MappingEnd => {
                    document.open.pop();
                }
                EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
                _ => document.add(event)?,
            }
        }
    }

    /// The outermost node.
    pub(super) fn root(&self) -> Option<NodeId> {
        (!self.nodes.is_empty()).then_some(0)
    }

    /// A node of this document.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Adds the node that begins with the event.
    fn add(&mut self, event: Event) -> Result<(), Error> {
        let Some(id) =
            NodeId::try_from(self.nodes.len()).ok().filter(|_| self.nodes.len() < MAX_NODES)
        else {
            return Err(Error::too_many(MAX_NODES));
        };
        let line = u32::try_from(event.start_mark.line + 1).unwrap_or(u32::MAX);
        let (anchor, kind) = match event.data {
            EventData::Alias { anchor } => {
                let target =
                    self.anchors.get(&anchor).copied().ok_or_else(|| {
                        Error::yaml(format!("unknown anchor '{anchor}' referenced"))
                    })?;
                (None, NodeKind::Alias { anchor: anchor.into(), target })
            }
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                let tag = tag.filter(|tag| !tag.is_empty() && tag != "!").map(Into::into);
                let text = value.into();
                (anchor, NodeKind::Scalar(Scalar { text, tag, plain: plain_implicit }))
            }
            EventData::SequenceStart { anchor, .. } => (anchor, NodeKind::List(Vec::new())),
            EventData::MappingStart { anchor, .. } => (anchor, NodeKind::Map(Vec::new())),
            _ => return Ok(()),
        };
        if let Some(parent) = self.open.last() {
            match &mut self.nodes[*parent as usize].kind {
                NodeKind::List(children) | NodeKind::Map(children) => children.push(id),
                NodeKind::Scalar(_) | NodeKind::Alias { .. } => {}
            }
        }
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        if matches!(kind, NodeKind::List(_) | NodeKind::Map(_)) {
            self.open.push(id);
            if self.open.len() > MAX_DEPTH {
                return Err(Error::yaml(format!("exceeded max depth of {MAX_DEPTH}")));
            }
        }
        if self.nodes.len() == self.nodes.capacity() {
            self.nodes.reserve_exact(self.nodes.len() / 4 + 16);
        }
        self.nodes.push(Node { line, kind });
        Ok(())
    }
}
