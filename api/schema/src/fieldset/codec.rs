//! `FieldsV1`, the serialized form of a field set in `managedFields`:
//! `{"f:data":{".":{},"f:k":{}}}`.

use quorate_meta::{Map, SmolStr, Value};

use super::nodes::Nodes;
use super::set::Node;
use super::{Element, FieldSet};

/// The key of an element that is a member itself and has members below.
const SELF: &str = ".";

/// Why a text is no field set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a field set: {0}")]
pub struct BadFields(String);

impl BadFields {
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl FieldSet {
    /// Writes the set.
    pub fn encode(&self) -> Value {
        self.encode_below(false)
    }

    /// Writes the members below an element, which may be a member itself.
    fn encode_below(&self, is_member: bool) -> Value {
        let is_marked = is_member && !self.is_empty();
        let mut entries = Vec::with_capacity(self.nodes.len() + usize::from(is_marked));
        if is_marked {
            // It comes before all elements.
            entries.push((SmolStr::new_static(SELF), Value::Map(Map::new())));
        }
        let written = self
            .nodes
            .iter()
            .map(|(element, node)| (element.written(), node.below.encode_below(node.member)));
        entries.extend(written);
        Value::Map(Map::from_entries(entries).0)
    }

    /// Reads a serialized set.
    ///
    /// # Errors
    /// Something is neither an element nor a map.
    pub fn decode(value: &Value) -> Result<Self, BadFields> {
        let Value::Map(map) = value else {
            return Err(BadFields(format!("{} instead of object", value.type_name())));
        };
        let mut parts = Vec::with_capacity(map.len());
        for (key, below) in map.iter().filter(|(key, _)| *key != SELF) {
            let element =
                Element::parse(key).ok_or_else(|| BadFields(format!("element {key:?}")))?;
            let marked = below.as_map().is_some_and(|map| map.is_empty() || map.contains_key(SELF));
            let node = Node { member: marked, below: Self::decode(below)? };
            parts.push((element, node));
        }
        // One element may have several serialized forms.
        Ok(Self { nodes: Nodes::of_parts(parts, |node, later| *node = later) })
    }
}
