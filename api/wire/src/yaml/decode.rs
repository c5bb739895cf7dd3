//! A document's nodes to a `Value`.
//!
//! Invariants: the last of duplicate keys wins, whether a map gives it twice or merges it (`<<`)
//! before or after; each is reported, up to `MAX_DUPLICATES`. Aliases expand within
//! `allowed_ratio` and `MAX_ALIASED_BYTES`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use quorate_meta::{Map, SmolStr, Value};

use super::error::Error;
use super::key::Key;
use super::nodes::{Document, Node, NodeId, NodeKind};
use super::read::MAX_DEPTH;
use super::resolve::{Resolved, resolve};
use crate::json::MAX_DUPLICATES;

/// Most bytes of text that aliases may repeat in one document.
const MAX_ALIASED_BYTES: usize = super::MAX_BYTES;
/// What begins and ends the range of nodes over which fewer and fewer may come from aliases.
const ALIAS_RANGE: (usize, usize) = (400_000, 4_000_000);

/// A key that its map already had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Line of the later value, counted from one.
    pub line: u64,
    /// The key: a text in quotes, anything else as it is.
    pub key: String,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: key {} already set in map", self.line, self.key)
    }
}

/// The document's value, and its duplicate keys in order of appearance.
pub(super) fn decode(document: &Document) -> Result<(Value, Vec<Duplicate>), Error> {
    let mut composer = Composer {
        document,
        duplicates: Vec::new(),
        within: Vec::new(),
        depth: 0,
        nodes: 0,
        aliased: 0,
        aliased_bytes: 0,
    };
    let value = match document.root() {
        Some(root) => composer.value(root)?,
        None => Value::Null,
    };
    Ok((value, composer.duplicates))
}

struct Composer<'d> {
    document: &'d Document,
    duplicates: Vec<Duplicate>,
    /// The aliases that are being expanded.
    within: Vec<NodeId>,
    depth: usize,
    nodes: usize,
    /// Nodes that came from aliases, and the bytes of their texts.
    aliased: usize,
    aliased_bytes: usize,
}

/// The entries of a map, in the order of their first appearance.
#[derive(Default)]
struct Entries {
    places: HashMap<Key, usize>,
    entries: Vec<(Key, Value)>,
}

impl<'d> Composer<'d> {
    fn value(&mut self, id: NodeId) -> Result<Value, Error> {
        let node = self.count(id)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH + 1 {
            return Err(Error::yaml(format!("exceeded max depth of {MAX_DEPTH}")));
        }
        let value = match &node.kind {
            NodeKind::Scalar(scalar) => plain_value(resolve(scalar)?)?,
            NodeKind::List(items) => items
                .iter()
                .map(|item| self.value(*item))
                .collect::<Result<_, _>>()
                .map(Value::List)?,
            NodeKind::Map(children) => {
                let mut entries = Entries::default();
                self.fill(children, &mut entries)?;
                entries.into_value()?
            }
            NodeKind::Alias { target, .. } => {
                self.enter(id, node)?;
                let value = self.value(*target)?;
                self.within.pop();
                value
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    /// The node, counted as one more.
    fn count(&mut self, id: NodeId) -> Result<&'d Node, Error> {
        let node = self.document.node(id);
        self.nodes += 1;
        if !self.within.is_empty() {
            self.aliased += 1;
            if let NodeKind::Scalar(scalar) = &node.kind {
                self.aliased_bytes += scalar.text.len();
            }
        }
        let many = self.aliased > 100
            && self.nodes > 1000
            && ratio(self.aliased, self.nodes) > allowed_ratio(self.nodes);
        if many || self.aliased_bytes > MAX_ALIASED_BYTES {
            return Err(Error::yaml("document contains excessive aliasing"));
        }
        Ok(node)
    }

    /// Begins to expand an alias.
    fn enter(&mut self, id: NodeId, alias: &Node) -> Result<(), Error> {
        if let NodeKind::Alias { anchor, .. } = &alias.kind
            && self.within.contains(&id)
        {
            return Err(Error::yaml(format!("anchor '{anchor}' value contains itself")));
        }
        self.within.push(id);
        Ok(())
    }

    /// Adds the entries of a map node, with those that it merges.
    fn fill(&mut self, children: &[NodeId], entries: &mut Entries) -> Result<(), Error> {
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge(key) {
                self.merge(value, entries)?;
                continue;
            }
            let key = self.key(key)?;
            let line = self.document.node(value).line;
            let value = self.value(value)?;
            if !entries.set(key.clone(), value) && self.duplicates.len() < MAX_DUPLICATES {
                self.duplicates.push(Duplicate { line: line.into(), key: key.to_string() });
            }
        }
        Ok(())
    }

    /// A node that is the key of a map.
    fn key(&mut self, id: NodeId) -> Result<Key, Error> {
        let node = self.count(id)?;
        match &node.kind {
            NodeKind::Scalar(scalar) => Ok(Key::new(resolve(scalar)?)),
            NodeKind::List(_) | NodeKind::Map(_) => Err(Error::yaml("invalid map key")),
            NodeKind::Alias { target, .. } => {
                self.enter(id, node)?;
                let key = self.key(*target)?;
                self.within.pop();
                Ok(key)
            }
        }
    }

    /// Whether a key means that other maps are merged into its own.
    fn is_merge(&self, key: NodeId) -> bool {
        let NodeKind::Scalar(scalar) = &self.document.node(key).kind else {
            return false;
        };
        let tagged = scalar.tag.as_deref() == Some("tag:yaml.org,2002:merge");
        &*scalar.text == "<<" && (scalar.plain || tagged)
    }

    /// Merges a map, or maps of which the first has precedence.
    fn merge(&mut self, id: NodeId, entries: &mut Entries) -> Result<(), Error> {
        match &self.document.node(id).kind {
            NodeKind::List(items) => {
                items.iter().rev().try_for_each(|item| self.merge_map(*item, entries))
            }
            _ => self.merge_map(id, entries),
        }
    }

    fn merge_map(&mut self, id: NodeId, entries: &mut Entries) -> Result<(), Error> {
        let node = self.count(id)?;
        let (children, alias) = match &node.kind {
            NodeKind::Map(children) => (children, false),
            NodeKind::Alias { target, .. } => match &self.document.node(*target).kind {
                NodeKind::Map(children) => (children, true),
                _ => return Err(not_a_map()),
            },
            _ => return Err(not_a_map()),
        };
        if alias {
            self.enter(id, node)?;
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH + 1 {
            return Err(Error::yaml(format!("exceeded max depth of {MAX_DEPTH}")));
        }
        self.fill(children, entries)?;
        self.depth -= 1;
        if alias {
            self.within.pop();
        }
        Ok(())
    }
}

impl Entries {
    /// Sets the value of a key; answers whether the key is new.
    fn set(&mut self, key: Key, value: Value) -> bool {
        match self.places.entry(key) {
            Entry::Occupied(place) => {
                self.entries[*place.get()].1 = value;
                false
            }
            Entry::Vacant(place) => {
                self.entries.push((place.key().clone(), value));
                place.insert(self.entries.len() - 1);
                true
            }
        }
    }

    fn into_value(self) -> Result<Value, Error> {
        let entries = self.entries.into_iter().map(|(key, value)| Ok((key.into_text()?, value)));
        let entries = entries.collect::<Result<Vec<(SmolStr, Value)>, Error>>()?;
        Ok(Value::Map(Map::from_entries(entries).0))
    }
}

fn plain_value(scalar: Resolved<'_>) -> Result<Value, Error> {
    Ok(match scalar {
        Resolved::Null => Value::Null,
        Resolved::Bool(value) => Value::Bool(value),
        Resolved::Int(value) => Value::Int(value),
        Resolved::UInt(value) => Value::UInt(value),
        Resolved::Float(value) => float(value)?,
        Resolved::Text(text) => Value::String(text.into_owned()),
    })
}

/// A float as JSON has it: a number without a fraction is an integer, unless it is so large that
/// JSON writes it with an exponent.
pub(super) fn float(value: f64) -> Result<Value, Error> {
    /// From here on JSON writes a float with an exponent.
    const EXPONENT: f64 = 1e21;
    if value.is_nan() {
        return Err(Error::value("json: unsupported value: NaN"));
    }
    if value.is_infinite() {
        let sign = if value > 0.0 { '+' } else { '-' };
        return Err(Error::value(format!("json: unsupported value: {sign}Inf")));
    }
    if value.fract() != 0.0 || value.abs() >= EXPONENT {
        return Ok(Value::Float(value));
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 1e21 and without a fraction")]
    let whole = value as i128;
    Ok(i64::try_from(whole)
        .map(Value::Int)
        .or_else(|_| u64::try_from(whole).map(Value::UInt))
        .unwrap_or(Value::Float(value)))
}

fn not_a_map() -> Error {
    Error::yaml("map merge requires map or sequence of maps as the value")
}

#[expect(clippy::cast_precision_loss, reason = "counts of nodes are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The part of so many nodes that may come from aliases: 99 % of few, 10 % of very many.
fn allowed_ratio(nodes: usize) -> f64 {
    let (begin, end) = ALIAS_RANGE;
    let within = nodes.clamp(begin, end) - begin;
    0.99 - 0.89 * ratio(within, end - begin)
}
