//! `FieldsV1`, the serialized form of a field set in `managedFields`:
//! `{"f:data":{".":{},"f:k":{}}}`.

use quorate_meta::{Map, Value};

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
        let entries = self.nodes.iter().map(|(element, node)| {
            let mut below = node.below.encode();
            if let (true, Value::Map(map)) = (node.member && !node.below.is_empty(), &mut below) {
                map.insert(SELF, Map::new());
            }
            (element.written(), below)
        });
        Value::Map(entries.collect())
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
